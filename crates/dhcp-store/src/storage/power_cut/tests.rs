//! Tests of the simulated disk itself.

use super::*;
use crate::storage::write_all_at;

fn path(name: &str) -> PathBuf {
    Path::new("/leases").join(name)
}

fn folder() -> &'static Path {
    Path::new("/leases")
}

/// Writes 200 bytes, flushes 100 of them, and returns the bytes that survive.
fn survivors(seed: u64, faults: StorageFaults) -> Option<Vec<u8>> {
    let storage = PowerCutStorage::new(seed, faults);
    let file = storage.create(&path("a")).unwrap();
    write_all_at(&*file, 0, &[b'x'; 100]).unwrap();
    let _ = file.sync_data();
    storage.sync_folder(folder()).unwrap();
    write_all_at(&*file, 100, &[b'y'; 100]).unwrap();
    let next = storage.after(DiskAfterCut::PowerFailed, StorageFaults::default());
    next.contents(&path("a"))
}

#[test]
fn what_was_flushed_survives_and_the_rest_in_every_way() {
    let mut lengths = BTreeSet::new();
    let mut holes = 0;
    for seed in 0..200 {
        let survivor = survivors(seed, StorageFaults::default()).unwrap();
        assert_eq!(survivor[..100], [b'x'; 100]);
        lengths.insert(survivor.len());
        holes += usize::from(survivor[100..].iter().any(|&octet| octet != b'y'));
    }
    assert!(lengths.len() > 20 && lengths.contains(&100) && lengths.contains(&200));
    assert!(holes > 20);
}

#[test]
fn a_lying_flush_loses_what_it_said_to_have_kept() {
    let faults = StorageFaults { lying_syncs: true, ..StorageFaults::default() };
    let failed_count = (0..50).filter(|&seed| survivors(seed, faults.clone()).is_none()).count();
    assert!(failed_count > 5);
}

#[test]
fn a_failed_flush_is_not_repaired_by_the_next_one() {
    let mut lost_count = 0;
    for seed in 0..50 {
        let faults = StorageFaults { failing_syncs: vec![0], ..StorageFaults::default() };
        let storage = PowerCutStorage::new(seed, faults);
        let file = storage.create(&path("a")).unwrap();
        storage.sync_folder(folder()).unwrap();
        write_all_at(&*file, 0, &[b'x'; 5120]).unwrap();
        file.sync_data().unwrap_err();
        file.sync_data().unwrap();
        assert_eq!(storage.contents(&path("a")).unwrap(), [b'x'; 5120]);
        let next = storage.after(DiskAfterCut::PowerFailed, StorageFaults::default());
        lost_count += usize::from(next.contents(&path("a")).unwrap().contains(&0));
    }
    assert!(lost_count > 40);
}

#[test]
fn unflushed_names_may_be_lost_one_by_one() {
    let mut name_sets = BTreeSet::new();
    for seed in 0..200 {
        let storage = PowerCutStorage::new(seed, StorageFaults::default());
        storage.create(&path("a")).unwrap();
        storage.sync_folder(folder()).unwrap();
        storage.rename(&path("a"), &path("b")).unwrap();
        storage.create(&path("a")).unwrap();
        let next = storage.after(DiskAfterCut::PowerFailed, StorageFaults::default());
        name_sets.insert(next.list(folder()).unwrap());
    }
    for expected in [&["a"][..], &["b"], &["a", "b"]] {
        assert!(name_sets.iter().any(|names| names == expected), "{expected:?} in {name_sets:?}");
    }
}

#[test]
fn a_full_disk_takes_what_fits_and_a_lock_is_exclusive() {
    let faults = StorageFaults { capacity_bytes: Some(10), ..StorageFaults::default() };
    let storage = PowerCutStorage::new(1, faults);
    let file = storage.create(&path("a")).unwrap();
    assert_eq!(file.write_at(0, &[1; 8]).unwrap(), 8);
    assert_eq!(file.write_at(8, &[1; 8]).unwrap(), 2);
    assert_eq!(file.write_at(10, &[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    let lock = storage.lock(&path("l")).unwrap();
    assert!(lock.is_some() && storage.lock(&path("l")).unwrap().is_none());
    drop(lock);
    assert!(storage.lock(&path("l")).unwrap().is_some());
}

#[test]
fn nothing_works_once_the_power_is_off() {
    let storage =
        PowerCutStorage::new(3, StorageFaults { cut_at_step: Some(1), ..StorageFaults::default() });
    let file = storage.create(&path("a")).unwrap();
    file.write_at(0, b"row").unwrap_err();
    assert!(!storage.is_on());
    file.len().unwrap_err();
    storage.open(&path("a")).unwrap_err();
}
