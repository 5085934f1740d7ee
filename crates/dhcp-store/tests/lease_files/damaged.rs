//! Tests of damaged lease files and of files with arbitrary contents: no panic occurs, the sound
//! rows load, and the loaded leases can be written.
//!
//! `GODWIT_FUZZ_CASES=n` tries more, `GODWIT_SIM_SEED=s` starts with another seed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use base::Random;
use dhcp_lease::Lease;
use dhcp_store::memfile::{OpenError, RowFileFormat, newest};
use dhcp_store::storage::{PowerCutStorage, Storage, StorageFaults, write_all_at};
use dhcp_store::{LoadReport, Memfile, OpenOptions};

use super::family::KeaFamily;
use super::rows_of;

const LIVE: &str = "/leases/leases.csv";

/// Returns the seeds of the cases.
fn seeds() -> Range<u64> {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = number("GODWIT_SIM_SEED", 1);
    first..first + number("GODWIT_FUZZ_CASES", 3_000)
}

fn load<F: KeaFamily>(octets: &[u8]) -> Result<(Vec<Lease<F>>, LoadReport), OpenError> {
    let storage = Arc::new(PowerCutStorage::new(1, StorageFaults::default()));
    let file = storage.create(Path::new(LIVE)).expect("the disk is sound");
    write_all_at(&*file, 0, octets).expect("the disk is sound");
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let (_, mut leases, report) = Memfile::open::<F>(storage, Path::new(LIVE), options)?;
    leases.sort_by_key(|lease| lease.address);
    Ok((leases, report))
}

fn header<F: KeaFamily>() -> Vec<u8> {
    let mut header = Vec::new();
    newest::<F>().encode_header(&RowFileFormat::for_family::<F>(), &mut header);
    header
}

/// Checks that `leases` are equal after they were written and loaded again.
fn assert_writable<F: KeaFamily>(leases: &[Lease<F>], seed: u64) {
    let text = [header::<F>(), rows_of::<F>(leases, newest::<F>())].concat();
    let (again, report) = load::<F>(&text).expect("written here");
    assert_eq!((report.bad_rows, report.rubbish_rows), (0, 0), "seed {seed}");
    assert_eq!(again, leases, "seed {seed}");
}

/// Bytes that have a meaning in a row, and some that never do.
const TELLING: &[u8] = b",:&#x\r\t\"{}-.09afZ\0\x1f\x7f\xc3\xff";

/// Changes up to four places of `octets`.
fn damage(octets: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(octets.len() as u64 + 1) as usize;
        let octet = if random.chance(1, 4) {
            random.next_u32() as u8
        } else {
            *random.pick(TELLING).expect("some")
        };
        let end = octets.len().min(at + random.below(9) as usize);
        match random.below(5) {
            0 => drop(octets.drain(at..end)),
            1 => octets.insert(at, octet),
            2 => {
                let far = octets.len().min(at + random.below(400) as usize);
                let again = octets[at..far].to_vec();
                octets.splice(at..at, again);
            }
            3 => octets.truncate(at),
            _ if at < octets.len() => octets[at] = octet,
            _ => {}
        }
    }
}

/// Checks rows with damage only after their addresses: the other rows must load unchanged.
pub(crate) fn rows_beside_damaged_ones_load<F: KeaFamily>() {
    for seed in seeds() {
        let mut random = Random::from_seed(seed);
        let mut text = header::<F>();
        // `None` means any remains of damaged rows.
        let mut expected = BTreeMap::new();
        let mut damaged = 0;
        let count = random.below(40);
        for _ in 0..count {
            let number = random.below(12);
            let lease = F::lease(&mut random, number);
            let mut row = rows_of::<F>(std::slice::from_ref(&lease), newest::<F>());
            let key = lease.address;
            if random.chance(1, 4) {
                let start = 1 + row.iter().position(|&octet| octet == b',').expect("a separator");
                let mut rest = row.split_off(start);
                rest.pop();
                damage(&mut rest, &mut random);
                // A line end would make two rows of one.
                row.extend(rest.into_iter().filter(|&octet| octet != b'\n'));
                row.push(b'\n');
                damaged += 1;
                expected.insert(key, None);
            } else if lease.is_deleted() {
                expected.remove(&key);
            } else {
                expected.insert(key, Some(lease));
            }
            text.extend(row);
        }
        let (leases, report) = load::<F>(&text).expect("the header is whole");
        assert_eq!(report.rows, count, "seed {seed}");
        assert!(report.bad_rows + report.rubbish_rows <= damaged, "seed {seed}: {report:?}");
        assert_writable::<F>(&leases, seed);
        let mut loaded: BTreeMap<_, _> =
            leases.into_iter().map(|lease| (lease.address, lease)).collect();
        for (key, lease) in expected {
            let loaded = loaded.remove(&key);
            assert!(lease.is_none() || loaded == lease, "seed {seed}: {loaded:?} {lease:?}");
        }
        // A remaining lease is from a damaged row with a damaged prefix length.
        assert!(loaded.len() as u64 <= damaged, "seed {seed}: {loaded:?}");
    }
}

/// Checks files with damage anywhere, the header included, and files that never were lease files.
pub(crate) fn any_file_loads_or_is_refused<F: KeaFamily>() {
    let [mut refused, mut loaded] = [0; 2];
    for seed in seeds() {
        let mut random = Random::from_seed(seed);
        let mut octets = if random.chance(1, 2) { F::written() } else { header::<F>() };
        if random.chance(1, 2) {
            octets.drain(..random.below(octets.len() as u64) as usize / 16);
        }
        let mut noise = vec![0; random.below(600) as usize];
        random.fill(&mut noise);
        let at = random.below(octets.len() as u64 + 1) as usize;
        match random.below(4) {
            0 => octets.extend(noise),
            1 => drop(octets.splice(at..at, noise)),
            2 => octets = noise,
            _ => damage(&mut octets, &mut random),
        }
        match load::<F>(&octets) {
            Ok((leases, _)) => {
                assert_writable::<F>(&leases, seed);
                loaded += 1;
            }
            Err(OpenError::NotALeaseFile(_)) => refused += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(refused > 100 && loaded > 100, "{refused} refused, {loaded} loaded");
}
