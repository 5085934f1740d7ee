//! Tests of rounds and of the log thread: settling, failures, and a clean end.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use base::Now;
use base::time::NS_PER_MS;
use dhcp_lease::HardwareAddress;
use dhcp_lease::v4::{Lease, LeaseClient, LeaseState, V4};
use dhcp_store::log::{
    Clock, CoreOptions, LogCore, LogFailureReaction, LogThread, LogThreadOptions, ShardLog,
    SharedLogState,
};
use dhcp_store::memfile::{LoadReport, encode_row, newest};
use dhcp_store::storage::{DiskAfterCut, PowerCutStorage, Storage, StorageFaults, write_all_at};
use dhcp_store::{Memfile, OpenOptions, RowDurability};

pub(crate) const LIVE: &str = "/leases/leases4.csv";

pub(crate) fn lease(number: u32, cltt_s: u64) -> Lease {
    Lease {
        address: Ipv4Addr::from_bits(0x0a00_0000 + number),
        client: LeaseClient {
            hardware: HardwareAddress::new(1, &[2, 0, 0, 0, 0, 1]),
            client_id: None,
        },
        valid_lifetime_s: 60,
        cltt_s,
        subnet_id: 1,
        fqdn_fwd: false,
        fqdn_rev: false,
        hostname: "".into(),
        state: LeaseState::Assigned,
        user_context: "".into(),
        pool_id: 9,
        extra: (),
    }
}

/// Returns the lease as a row of a new file.
pub(crate) fn row(lease: &Lease) -> Vec<u8> {
    let mut row = Vec::new();
    encode_row(&lease.row(), newest::<V4>(), &mut row);
    row
}

/// Logs a row and returns its epoch.
pub(crate) fn log_row(log: &ShardLog, lease: &Lease) -> u64 {
    let mut buffer = log.buffer();
    let columns = buffer.columns();
    encode_row::<V4>(&lease.row(), columns, &mut buffer.rows);
    let epoch = buffer.epoch();
    drop(buffer);
    log.await_epoch(epoch);
    epoch
}

pub(crate) fn open(storage: &PowerCutStorage) -> (Memfile, Vec<Lease>, LoadReport) {
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let (memfile, mut leases, report) =
        Memfile::open::<V4>(Arc::new(storage.clone()), Path::new(LIVE), options)
            .expect("the simulated disk works");
    leases.sort_by_key(|lease| lease.address);
    (memfile, leases, report)
}

pub(crate) fn disk(faults: StorageFaults) -> PowerCutStorage {
    PowerCutStorage::new(1, faults)
}

/// Returns another disk with the same files, so that the first one can continue.
pub(crate) fn copy_of(storage: &PowerCutStorage) -> PowerCutStorage {
    let copy = disk(StorageFaults::default());
    for suffix in ["", ".1", ".2", ".completed", ".tmp"] {
        let path = format!("{LIVE}{suffix}");
        if let Some(octets) = storage.contents(Path::new(&path)) {
            let file = copy.create(Path::new(&path)).expect("the simulated disk works");
            write_all_at(&*file, 0, &octets).expect("it has room");
        }
    }
    copy
}

pub(crate) fn reopened(storage: &PowerCutStorage) -> (Vec<Lease>, LoadReport) {
    let (_, leases, report) =
        open(&storage.after(DiskAfterCut::ProcessDied, StorageFaults::default()));
    (leases, report)
}

pub(crate) const fn at_ms(ms: u64) -> Now {
    Now { mono_ns: ms * NS_PER_MS, wall_us: 0 }
}

fn core(
    storage: &PowerCutStorage,
    shards: &Arc<SharedLogState>,
    durability: RowDurability,
) -> LogCore {
    let options = CoreOptions { durability, lfc_interval_s: 0 };
    LogCore::new(shards.clone(), open(storage).0, options, at_ms(0))
}

#[test]
fn a_round_settles_the_rows_of_all_shards_and_wakes_who_waits() {
    let woken = Arc::new([const { AtomicU64::new(0) }; 3]);
    let counts = woken.clone();
    let shards = SharedLogState::new(3, move |shard| {
        counts[shard].fetch_add(1, Ordering::SeqCst);
    });
    let storage = disk(StorageFaults::default());
    let mut core = core(&storage, &shards, RowDurability::Always);
    let logs = [0, 1].map(|shard| ShardLog::new(shards.clone(), shard));
    let epochs = [log_row(&logs[0], &lease(1, 5)), log_row(&logs[1], &lease(2, 5))];
    assert_eq!(epochs, [1, 1]);
    assert_eq!(shards.settled(), 0);
    core.round(at_ms(1));
    assert_eq!(shards.settled(), 1);
    assert_eq!(woken.each_ref().map(|count| count.load(Ordering::SeqCst)), [1, 1, 0]);
    assert_eq!(log_row(&logs[0], &lease(1, 6)), 2);
    core.round(at_ms(2));
    assert_eq!(woken.each_ref().map(|count| count.load(Ordering::SeqCst)), [2, 1, 0]);
    assert_eq!(reopened(&storage).0, [lease(1, 6), lease(2, 5)]);
}

#[test]
fn a_failed_write_settles_nothing_any_more() {
    for (what, faults) in [
        ("write", StorageFaults { failing_writes: vec![2], ..StorageFaults::default() }),
        // Opening flushes twice, the first round once.
        ("flush", StorageFaults { failing_syncs: vec![2], ..StorageFaults::default() }),
    ] {
        let shards = SharedLogState::new(1, |_| {});
        let storage = disk(faults);
        let mut core = core(&storage, &shards, RowDurability::Always);
        let log = ShardLog::new(shards.clone(), 0);
        log_row(&log, &lease(1, 5));
        core.round(at_ms(1));
        assert_eq!((shards.settled(), shards.has_failed()), (1, false), "{what}");
        for round in 2..5 {
            log_row(&log, &lease(2, 5));
            core.round(at_ms(round));
            assert_eq!((shards.settled(), shards.has_failed()), (1, true), "{what}");
        }
        let message = core.failure().map(|failure| failure.to_string());
        assert_eq!(message, Some(format!("cannot {what} {LIVE}: a failure by plan")));
        let text = storage.contents(Path::new(LIVE)).unwrap();
        assert_eq!(text.iter().filter(|&&octet| octet == b'\n').count(), 2, "{what}");

        core.restart(at_ms(9), &mut |sink| sink(&row(&lease(7, 7)))).expect("it works again");
        assert!(!shards.has_failed() && shards.settled() > 1);
        let epoch = log_row(&log, &lease(8, 8));
        core.round(at_ms(10));
        assert_eq!(shards.settled(), epoch);
        assert_eq!(reopened(&storage).0, [lease(7, 7), lease(8, 8)], "{what}");
    }
}

/// Checks a disk that takes only a part of a batch: nothing of the batch is settled or loaded, and
/// when there is space again, the log continues from memory.
#[test]
fn a_disk_that_fills_within_a_batch_keeps_what_was_settled_and_no_more() {
    let all = [lease(1, 5), lease(2, 6), lease(3, 7)];
    let batch: usize = all[1..].iter().map(|lease| row(lease).len()).sum();
    for durability in [RowDurability::None, RowDurability::Interval(100), RowDurability::Always] {
        for room in 0..batch as u64 {
            let shards = SharedLogState::new(2, |_| {});
            let storage = disk(StorageFaults::default());
            let mut core = core(&storage, &shards, durability);
            let logs = [0, 1].map(|shard| ShardLog::new(shards.clone(), shard));
            log_row(&logs[0], &all[0]);
            core.round(at_ms(1));
            let before = storage.contents(Path::new(LIVE)).unwrap();
            storage.set_capacity(Some(before.len() as u64 + room));
            log_row(&logs[0], &all[1]);
            log_row(&logs[1], &all[2]);
            core.round(at_ms(2));
            assert_eq!((shards.settled(), shards.has_failed()), (1, true), "{room}");
            let message = core.failure().map(|failure| failure.to_string());
            let message = message.expect("it failed");
            assert!(message.starts_with(&format!("cannot write {LIVE}: ")), "{message}");
            assert_eq!(storage.contents(Path::new(LIVE)).unwrap(), before, "{room}");
            assert_eq!(reopened(&copy_of(&storage)).0, all[..1], "{room}");

            // Two more files do not fit: the log tries again.
            let snapshot = |sink: &mut dyn FnMut(&[u8])| all.iter().for_each(|l| sink(&row(l)));
            core.restart(at_ms(3), &mut |sink| snapshot(sink)).expect_err("there is no room");
            assert_eq!((shards.settled(), shards.has_failed()), (1, true), "{room}");
            assert_eq!(storage.contents(Path::new("/leases/leases4.csv.tmp")), None);
            assert_eq!(reopened(&copy_of(&storage)).0, all[..1], "{room}");
            storage.set_capacity(None);
            core.restart(at_ms(4), &mut |sink| snapshot(sink)).expect("there is room");
            assert!(shards.settled() > 1 && !shards.has_failed(), "{room}");
            assert_eq!(reopened(&storage).0, all, "{room}");
        }
    }
}

#[test]
fn a_flush_by_time_is_due_once_after_the_first_write() {
    let shards = SharedLogState::new(1, |_| {});
    let storage = disk(StorageFaults::default());
    let mut core = core(&storage, &shards, RowDurability::Interval(100));
    let log = ShardLog::new(shards.clone(), 0);
    assert_eq!(core.next_deadline_ns(), None);
    for ms in [10, 50] {
        let epoch = log_row(&log, &lease(1, ms));
        core.round(at_ms(ms));
        assert_eq!(shards.settled(), epoch);
    }
    assert_eq!(core.next_deadline_ns(), Some(110 * NS_PER_MS));
    assert!(core.flush_due(at_ms(109)).is_none());
    let file = core.flush_due(at_ms(110)).expect("it is due");
    assert!(core.flush_due(at_ms(110)).is_none());
    core.flushed(file.sync_data());
    assert_eq!(core.next_deadline_ns(), None);
    core.flushed(Err(std::io::Error::other("broken")));
    assert!(shards.has_failed());
}

#[test]
fn an_old_file_keeps_its_columns_until_it_is_rotated() {
    let storage = disk(StorageFaults::default());
    let old = b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
        hostname,state,user_context\n10.0.0.1,02:00:00:00:00:01,,60,65,1,0,0,,0,\n";
    write_all_at(&*storage.create(Path::new(LIVE)).unwrap(), 0, old).unwrap();
    let shards = SharedLogState::new(1, |_| {});
    let mut core = core(&storage, &shards, RowDurability::Always);
    let log = ShardLog::new(shards, 0);
    log_row(&log, &lease(2, 5));
    core.round(at_ms(1));
    log_row(&log, &lease(3, 5));
    let cleanup = core.rotate(at_ms(2)).expect("there is something to clean up");
    log_row(&log, &lease(4, 5));
    core.round(at_ms(3));
    let text = |path: &str| String::from_utf8(storage.contents(Path::new(path)).unwrap()).unwrap();
    let rotated = text("/leases/leases4.csv.1");
    assert!(rotated.ends_with("10.0.0.3,02:00:00:00:00:01,,60,65,1,0,0,,0,\n"), "{rotated}");
    assert!(rotated.lines().all(|line| line.split(',').count() == 11), "{rotated}");
    assert!(text(LIVE).ends_with("10.0.0.4,02:00:00:00:00:01,,60,65,1,0,0,,0,,9\n"));
    assert!(core.rotate(at_ms(4)).is_none(), "the clean-up runs");
    let cleaned = cleanup.run().unwrap();
    core.cleaned(true);
    assert_eq!((cleaned.leases, cleaned.report.rows), (3, 3));
    assert_eq!(text("/leases/leases4.csv.2").lines().count(), 4);
    assert_eq!(storage.contents(Path::new("/leases/leases4.csv.1")), None);
    assert_eq!(reopened(&storage).0.len(), 4);
}

#[test]
fn a_torn_row_is_cut_off_and_a_bad_one_named() {
    let storage = disk(StorageFaults::default());
    let text = b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
        hostname\n\n10.0.0.1,02:00,,60,65,1,0,0,\n10.0.0.2,xx,,60,65,1,0,0,\n10.0.0.3,02:00,,60";
    write_all_at(&*storage.create(Path::new(LIVE)).unwrap(), 0, text).unwrap();
    let (_, leases, report) = open(&storage);
    assert_eq!((leases.len(), report.rows, report.bad_rows, report.torn_octets), (1, 2, 1, 18));
    assert_eq!(report.errors[0].to_string(), "/leases/leases4.csv:4: cannot read hwaddr");
    assert_eq!(storage.contents(Path::new(LIVE)).unwrap(), text[..text.len() - 18]);

    let options = OpenOptions { max_row_errors: 1, ..OpenOptions::default() };
    let twice = [&text[..], b"\n10.0.0.2,xx,,60,65,1,0,0,\n"].concat();
    write_all_at(&*storage.create(Path::new(LIVE)).unwrap(), 0, &twice).unwrap();
    let refused = Memfile::open::<V4>(Arc::new(storage), Path::new(LIVE), options).unwrap_err();
    let message = refused.to_string();
    assert!(
        message.ends_with(
            ":5: the number of values does not match the header\n/leases/leases4.csv:6: cannot \
             read hwaddr"
        ),
        "{message}"
    );
}

#[test]
fn chunks_on_several_threads_load_as_one_does() {
    let mut text = b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
        hostname,state,user_context,pool_id\n"
        .to_vec();
    // The text has several chunks of 1 MiB, with every address many times, its last row before a
    // chunk of others.
    for number in 0..80_000_u32 {
        let lease = lease(number % 7_000, u64::from(number));
        text.extend(row(&lease));
    }
    let storage = disk(StorageFaults::default());
    write_all_at(&*storage.create(Path::new(LIVE)).unwrap(), 0, &text).unwrap();
    assert!(text.len() > 3 << 20);
    for threads in [1, 4] {
        let storage = storage.after(DiskAfterCut::ProcessDied, StorageFaults::default());
        let options = OpenOptions { threads, max_row_errors: 1, ..OpenOptions::default() };
        let (_, leases, report) =
            Memfile::open::<V4>(Arc::new(storage), Path::new(LIVE), options).unwrap();
        assert_eq!((leases.len(), report.rows), (7_000, 80_000));
        assert!(leases.iter().all(|lease| lease.cltt_s >= 73_000));
    }
}

/// Wake-up on which the shards of a test sleep.
#[derive(Default)]
pub(crate) struct ShardWakeup {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl ShardWakeup {
    /// Blocks until `is_so` returns true, and checks it at every ring.
    pub(crate) fn wait_until(&self, mut is_so: impl FnMut() -> bool) {
        let mut rings = self.rings.lock().expect("no panic");
        while !is_so() {
            rings = self.rung.wait(rings).expect("no panic");
        }
        drop(rings);
    }
}

pub(crate) fn start(
    storage: &PowerCutStorage,
    shards: usize,
    options: LogThreadOptions,
) -> (LogThread, Arc<ShardWakeup>) {
    let wakeup = Arc::new(ShardWakeup::default());
    let ringer = wakeup.clone();
    let shards = SharedLogState::new(shards, move |_| {
        *ringer.rings.lock().expect("no panic") += 1;
        ringer.rung.notify_all();
    });
    let ticks = AtomicU64::new(0);
    let clock: Clock = Box::new(move || at_ms(ticks.fetch_add(1, Ordering::Relaxed)));
    let thread = LogThread::start(shards, open(storage).0, options, clock);
    (thread.expect("a thread starts"), wakeup)
}

#[test]
fn all_that_shards_log_at_once_settles_and_is_there_after_a_clean_end() {
    for durability in [RowDurability::None, RowDurability::Interval(5), RowDurability::Always] {
        let storage = disk(StorageFaults { short_writes: true, ..StorageFaults::default() });
        let core = CoreOptions { durability, lfc_interval_s: 0 };
        let options = LogThreadOptions { core, on_fail: LogFailureReaction::Stop };
        let (thread, wakeup) = start(&storage, 3, options);
        std::thread::scope(|scope| {
            for shard in 0..3 {
                let (log, wakeup, thread) = (thread.shard(shard), &wakeup, &thread);
                scope.spawn(move || {
                    for batch in 0..200 {
                        let mut epoch = 0;
                        for row in 0..5 {
                            let number = shard as u32 * 10_000 + batch * 5 + row;
                            epoch = log_row(&log, &lease(number, 7));
                        }
                        if batch == 100 {
                            thread.request_cleanup();
                        }
                        log.submit(at_ms(u64::from(batch)));
                        wakeup.wait_until(|| log.settled() >= epoch);
                    }
                    log_row(&log, &lease(shard as u32 * 10_000 + 5_000, 7));
                });
            }
        });
        assert_eq!(thread.take_problems(), Vec::<String>::new());
        thread.stop().unwrap();
        // A clean end flushes with any durability.
        let storage = storage.after(DiskAfterCut::PowerFailed, StorageFaults::default());
        let (_, leases, report) = open(&storage);
        assert_eq!((leases.len(), report.bad_rows), (3_003, 0), "{durability:?}");
        // In the other cases the thread may not have rotated yet.
        let has_rotated = durability != RowDurability::Always || report.files.len() > 1;
        assert!(has_rotated, "{report:?}");
    }
}

#[test]
fn a_file_that_has_outgrown_the_table_is_cleaned_up_before_its_time() {
    let storage = disk(StorageFaults::default());
    let shards = SharedLogState::new(1, |_| {});
    let options = CoreOptions { durability: RowDurability::None, lfc_interval_s: 3_600 };
    let mut core = LogCore::new(shards.clone(), open(&storage).0, options, at_ms(0));
    let log = ShardLog::new(shards, 0);
    let wordy = Lease { user_context: "x".repeat(2_000).into(), ..lease(1, 5) };
    let grow = |core: &mut LogCore, rows: u32| {
        for _ in 0..rows {
            log_row(&log, &wordy);
        }
        core.round(at_ms(1));
    };
    grow(&mut core, 2_000);
    assert!(core.rotate_due(at_ms(2)).is_none(), "it is small");
    grow(&mut core, 200);
    let cleanup = core.rotate_due(at_ms(3)).expect("one lease has 4 MiB");
    assert!(cleanup.run().is_ok());
    core.cleaned(true);
    assert!(storage.contents(Path::new(&format!("{LIVE}.2"))).unwrap().len() < 3_000);
    // The size causes no second rotation within seconds, and none where cleanups are off.
    grow(&mut core, 2_200);
    assert!(core.rotate_due(at_ms(4)).is_none());
    assert!(core.rotate_due(at_ms(11_000)).is_some());
}

#[test]
fn a_log_that_failed_goes_on_from_a_snapshot() {
    for durability in [RowDurability::None, RowDurability::Always] {
        let storage = disk(StorageFaults { failing_writes: vec![5], ..StorageFaults::default() });
        let leases = Arc::new(Mutex::new(Vec::<Lease>::new()));
        let table = leases.clone();
        let on_fail = LogFailureReaction::Restart {
            snapshot: Box::new(move |sink| {
                table.lock().unwrap().iter().for_each(|lease| sink(&row(lease)));
            }),
            retry_ms: 1,
            tries_max: None,
        };
        let core = CoreOptions { durability, lfc_interval_s: 0 };
        let (thread, wakeup) = start(&storage, 1, LogThreadOptions { core, on_fail });
        let log = thread.shard(0);
        for number in 0..50 {
            let lease = lease(number, 3);
            leases.lock().unwrap().push(lease.clone());
            let epoch = log_row(&log, &lease);
            log.submit(at_ms(1));
            wakeup.wait_until(|| log.settled() >= epoch);
        }
        assert_eq!(
            thread.take_problems(),
            [
                format!("cannot write {LIVE}: a failure by plan"),
                "lease file rewritten from the leases in memory".to_owned()
            ]
        );
        thread.stop().unwrap();
        assert_eq!(reopened(&storage).0, *leases.lock().unwrap());
    }
}
