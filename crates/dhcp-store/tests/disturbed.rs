//! Lease files that another program changes while the server runs: within a second all leases are
//! in whole files and the operator is informed, and no acknowledged lease is lost.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dhcp_lease::v4::{Lease, V4};
use dhcp_store::log::{CoreOptions, LogFailureReaction, LogThread, LogThreadOptions};
use dhcp_store::memfile::{RowFileFormat, newest};
use dhcp_store::storage::{LogFile, PowerCutStorage, Storage, StorageFaults, write_all_at};
use dhcp_store::{Memfile, OpenOptions, RowDurability};

use crate::log::{LIVE, at_ms, copy_of, disk, lease, log_row, open, row, start};

/// Time limit for the work of a thread.
const DEADLINE: Duration = Duration::from_secs(300);

fn live() -> &'static Path {
    Path::new(LIVE)
}

fn beside(suffix: &str) -> PathBuf {
    PathBuf::from(format!("{LIVE}{suffix}"))
}

fn opened(storage: &PowerCutStorage, path: &Path) -> Arc<dyn LogFile> {
    storage.open(path).unwrap().unwrap()
}

/// Returns a log over `storage` with `leases` acknowledged, and its table.
fn acknowledged(
    storage: &PowerCutStorage,
    leases: u32,
    tries_max: Option<u32>,
) -> (LogThread, Arc<Mutex<Vec<Lease>>>) {
    let table = Arc::new(Mutex::new(Vec::<Lease>::new()));
    let source = table.clone();
    let on_fail = LogFailureReaction::Restart {
        snapshot: Box::new(move |sink| {
            source.lock().unwrap().iter().for_each(|lease| sink(&row(lease)));
        }),
        retry_ms: 100,
        tries_max,
    };
    let core = CoreOptions { durability: RowDurability::Always, lfc_interval_s: 0 };
    let (thread, wakeup) = start(storage, 1, LogThreadOptions { core, on_fail });
    let log = thread.shard(0);
    for number in 0..leases {
        let lease = lease(number, 3);
        table.lock().unwrap().push(lease.clone());
        let epoch = log_row(&log, &lease);
        log.submit(at_ms(1));
        wakeup.wait_until(|| log.settled() >= epoch);
    }
    (thread, table)
}

/// Has `thread` do rounds until `is_met`. Its time passes with the number of rounds, whose speed
/// depends on the load of the machine.
fn go_round_until(thread: &LogThread, mut is_met: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_met() {
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}");
        thread.wake();
        std::thread::yield_now();
    }
}

/// Returns the problems up to the one that contains `last`.
fn problems_until(thread: &LogThread, last: &str) -> Vec<String> {
    let mut problems = Vec::new();
    go_round_until(thread, || {
        problems.extend(thread.take_problems());
        problems.iter().any(|problem| problem.contains(last))
    });
    problems
}

type Disturb = fn(&PowerCutStorage);

const DISTURBANCES: [(&str, Disturb); 7] = [
    ("was removed", |storage| assert!(storage.remove(live()).unwrap())),
    ("was removed or renamed", |storage| storage.rename(live(), &beside(".old")).unwrap()),
    ("was replaced", |storage| {
        storage.create(&beside(".restored")).unwrap();
        storage.rename(&beside(".restored"), live()).unwrap();
    }),
    ("it has 0 bytes instead of", |storage| opened(storage, live()).truncate(0).unwrap()),
    ("bytes instead of", |storage| {
        let file = opened(storage, live());
        file.truncate(file.len().unwrap() / 2).unwrap();
    }),
    ("bytes instead of", |storage| {
        let file = opened(storage, live());
        write_all_at(&*file, file.len().unwrap(), b"10.0.0.9,not of this server\n").unwrap();
    }),
    ("its mode was changed", |storage| storage.close_to_owner(live())),
];

#[test]
fn files_changed_by_another_program_are_written_anew_from_memory() {
    for (problem_text, disturb) in DISTURBANCES {
        let storage = disk(StorageFaults::default());
        let (thread, table) = acknowledged(&storage, 20, Some(0));
        disturb(&storage);
        let problems = problems_until(&thread, "rewritten");
        assert!(problems[0].contains(problem_text), "{problems:?}");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(!thread.has_given_up());
        assert_eq!(open(&copy_of(&storage)).1, *table.lock().unwrap(), "{problem_text}");
        thread.stop().unwrap();
    }
}

#[test]
fn an_earlier_file_that_is_removed_is_missed() {
    let storage = disk(StorageFaults::default());
    let (thread, table) = acknowledged(&storage, 20, Some(0));
    thread.request_cleanup();
    // The thread records the state of the files when it sees that the cleanup has ended.
    go_round_until(&thread, || storage.contents(&beside(".2")).is_some() && !thread.is_cleaning());
    assert!(storage.remove(&beside(".2")).unwrap());
    let problems = problems_until(&thread, "rewritten");
    assert!(problems[0].contains(".2"), "{problems:?}");
    assert_eq!(open(&copy_of(&storage)).1, *table.lock().unwrap());
    thread.stop().unwrap();
}

#[test]
fn a_rotation_of_a_file_that_is_gone_is_no_failure() {
    let storage = disk(StorageFaults::default());
    let (thread, table) = acknowledged(&storage, 20, Some(0));
    storage.remove(live()).unwrap();
    thread.request_cleanup();
    problems_until(&thread, "rewritten");
    assert!(thread.failure().is_none() && !thread.has_given_up());
    assert_eq!(open(&copy_of(&storage)).1, *table.lock().unwrap());
    thread.stop().unwrap();
}

/// Checks a lease file that is a mount point, as in containers: it cannot be renamed.
#[test]
fn a_file_that_cannot_be_renamed_is_written_on() {
    let storage = disk(StorageFaults::default());
    let (thread, table) = acknowledged(&storage, 20, Some(0));
    storage.mount(live());
    for _ in 0..2 {
        thread.request_cleanup();
        problems_until(&thread, "lease file not rotated, so it keeps growing: cannot rename");
    }
    assert!(thread.failure().is_none() && !thread.has_given_up());
    let log = thread.shard(0);
    let lease = lease(20, 3);
    table.lock().unwrap().push(lease.clone());
    let epoch = log_row(&log, &lease);
    log.submit(at_ms(1));
    go_round_until(&thread, || log.settled() >= epoch);
    assert_eq!(open(&copy_of(&storage)).1, *table.lock().unwrap());
    thread.stop().unwrap();
}

#[test]
fn an_empty_file_that_cannot_be_renamed_is_begun_in_its_place() {
    for octets in [&b""[..], b"address,hw"] {
        let storage = disk(StorageFaults::default());
        let file = storage.create(live()).unwrap();
        write_all_at(&*file, 0, octets).unwrap();
        drop(file);
        storage.mount(live());
        let (mut memfile, leases, _) = open(&storage);
        assert!(leases.is_empty());
        let lease = lease(1, 3);
        memfile.append(&row(&lease)).unwrap();
        memfile.sync().unwrap();
        drop(memfile);
        assert_eq!(open(&copy_of(&storage)).1, [lease]);
    }
}

#[test]
fn a_file_that_another_server_has_taken_is_left_to_it() {
    let storage = disk(StorageFaults::default());
    let (thread, _) = acknowledged(&storage, 3, None);
    storage.create(&beside(".other")).unwrap();
    storage.rename(&beside(".other"), live()).unwrap();
    let other = opened(&storage, live());
    assert!(other.lock().unwrap());
    let problems = problems_until(&thread, "another server uses");
    assert!(!problems.iter().any(|problem| problem.contains("anew")), "{problems:?}");
    while !thread.has_given_up() {
        thread.wake();
    }
    assert_eq!(storage.contents(live()).unwrap(), b"");
}

#[test]
fn a_full_disk_is_tried_again_as_often_as_configured() {
    // The log gives up after all attempts.
    let storage = disk(StorageFaults::default());
    let (thread, _) = acknowledged(&storage, 3, Some(4));
    storage.set_capacity(Some(0));
    let log = thread.shard(0);
    log_row(&log, &lease(9, 3));
    log.submit(at_ms(2));
    while !thread.has_given_up() {
        thread.wake();
        std::thread::yield_now();
    }
    let problems = thread.take_problems();
    let tries = problems.iter().filter(|problem| problem.contains("not rewritten")).count();
    assert_eq!(tries, 4, "{problems:?}");
    // With space in time, the log continues.
    let storage = disk(StorageFaults::default());
    let (thread, table) = acknowledged(&storage, 3, Some(1_000));
    storage.set_capacity(Some(0));
    let log = thread.shard(0);
    table.lock().unwrap().push(lease(9, 3));
    let epoch = log_row(&log, &lease(9, 3));
    log.submit(at_ms(2));
    problems_until(&thread, "not rewritten");
    storage.set_capacity(None);
    problems_until(&thread, "rewritten from the leases in memory");
    assert!(log.settled() >= epoch && !thread.has_given_up());
    assert_eq!(open(&copy_of(&storage)).1, *table.lock().unwrap());
}

/// Opens a live file with `octets`; returns its leases, the path of the copy, and the disk.
fn load(octets: &[u8]) -> (Vec<Lease>, Option<PathBuf>, PowerCutStorage) {
    let storage = disk(StorageFaults::default());
    write_all_at(&*storage.create(live()).unwrap(), 0, octets).unwrap();
    let options = OpenOptions { threads: 1, wall_s: 77, ..OpenOptions::default() };
    let (_, mut leases, report) =
        Memfile::open::<V4>(Arc::new(storage.clone()), live(), options).unwrap();
    leases.sort_by_key(|lease| lease.address);
    assert!(report.damaged_copies.len() <= 1, "{:?}", report.damaged_copies);
    (leases, report.damaged_copies.into_iter().next(), storage)
}

#[test]
fn damaged_files_next_to_the_live_one_are_set_aside_too() {
    let mut header = Vec::new();
    newest::<V4>().encode_header(&RowFileFormat::for_family::<V4>(), &mut header);
    let rows: Vec<u8> = [lease(1, 5), lease(2, 6)].iter().flat_map(row).collect();
    let expected_leases = [lease(1, 5), lease(2, 6), lease(9, 7)];
    let garbage: Vec<u8> = (0..3_000_u32).map(|n| ((n * n) >> 3) as u8).collect();
    let cases: [(Vec<u8>, &[Lease]); 5] = [
        (vec![0; 5_000], &expected_leases[2..]),
        ([vec![0; 1_000], rows.clone()].concat(), &expected_leases),
        (rows.clone(), &expected_leases),
        (garbage, &expected_leases[2..]),
        (b"{ \"Dhcp4\": {\n} }\n".to_vec(), &expected_leases[2..]),
    ];
    for suffix in [".1", ".2", ".completed"] {
        for (octets, expected) in &cases {
            let storage = disk(StorageFaults::default());
            let put = |path: &Path, octets: &[u8]| {
                write_all_at(&*storage.create(path).unwrap(), 0, octets).unwrap();
            };
            put(live(), &[header.clone(), row(&lease(9, 7))].concat());
            put(&beside(suffix), octets);
            let options = OpenOptions { threads: 1, wall_s: 77, ..OpenOptions::default() };
            let opened = Memfile::open::<V4>(Arc::new(storage.clone()), live(), options);
            let (_, mut leases, report) = opened.unwrap_or_else(|error| panic!("{error}"));
            leases.sort_by_key(|lease| lease.address);
            assert_eq!(leases, *expected, "{suffix}");
            let copy = beside(&format!("{suffix}.broken-77"));
            assert_eq!(report.damaged_copies, std::slice::from_ref(&copy));
            assert_eq!(storage.contents(&copy).unwrap(), *octets);
            assert_eq!(open(&copy_of(&storage)).1, *expected, "{suffix}: and again");
        }
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_its_sound_rows_are_loaded() {
    let leases = [lease(1, 5), lease(2, 6), lease(3, 7)];
    let rows: Vec<u8> = leases.iter().flat_map(row).collect();
    let mut header = Vec::new();
    newest::<V4>().encode_header(&RowFileFormat::for_family::<V4>(), &mut header);
    let cases: [(Vec<u8>, &[Lease]); 4] = [
        // A hole up to the offset at which the server continued.
        ([vec![0; 1_000], rows.clone()].concat(), &leases),
        // Zeros that a power failure may have left: the bytes after them are the rest of a row.
        ([vec![0; 1_024], rows.clone()].concat(), &leases[1..]),
        // No header, or half of one.
        (rows.clone(), &leases),
        ([&header[9..], &rows[..]].concat(), &leases),
    ];
    for (octets, expected) in cases {
        let (expected_leases, copy, storage) = load(&octets);
        assert_eq!(expected_leases, expected);
        let copy = copy.expect("the file is set aside");
        assert_eq!(copy, beside(".broken-77"));
        assert_eq!(storage.contents(&copy).unwrap(), octets);
        assert_eq!(open(&copy_of(&storage)).1, expected, "the rows are in the new file");
    }
    assert_eq!(load(&[header, rows].concat()).1, None);
}
