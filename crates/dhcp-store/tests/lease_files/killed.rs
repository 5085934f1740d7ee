//! Cleanups, ours and Kea's, that are killed at each of their steps: every remaining set of files
//! loads with no lease lost and no earlier lease restored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use dhcp_lease::Lease;
use dhcp_store::memfile::{LeaseFiles, Rotation, RowFileFormat, newest};
use dhcp_store::storage::DiskAfterCut::{PowerFailed, ProcessDied};
use dhcp_store::storage::{PowerCutStorage, Storage, StorageFaults, write_all_at};
use dhcp_store::{Memfile, OpenOptions};
use testkit::TempFolder;

use super::family::KeaFamily;
use super::{has_kea, history, rows_of};

const LIVE: &str = "/leases/x";
/// Number of seeds of the disk that each step is tried with.
const SEEDS: u64 = 3;

/// Files with the suffix of their names after that of the lease file.
type FileSet = Vec<(&'static str, Vec<u8>)>;

fn header<F: KeaFamily>() -> Vec<u8> {
    let mut header = Vec::new();
    newest::<F>().encode_header(&RowFileFormat::for_family::<F>(), &mut header);
    header
}

/// History in three parts: the result of a cleanup, the file rotated since, and the live file; with
/// the leases of the first two and of all.
struct LeaseFileHistory<F: KeaFamily> {
    parts: [Vec<u8>; 3],
    before: Vec<Lease<F>>,
    all: Vec<Lease<F>>,
}

impl<F: KeaFamily> LeaseFileHistory<F> {
    fn new() -> Self {
        let (text, all) = history::<F>(240, 40);
        let rows: Vec<&[u8]> = text.split_inclusive(|&octet| octet == b'\n').skip(1).collect();
        let third = rows.len() / 3;
        let part = |from: usize, to: usize| [header::<F>(), rows[from..to].concat()].concat();
        let parts = [part(0, third), part(third, 2 * third), part(2 * third, rows.len())];
        let before = opened::<F>(&disk(1, &[("", part(0, 2 * third))])).expect("a sound file").1;
        Self { parts, before, all }
    }

    /// Returns the file set that a server finds to clean up.
    fn file_set(&self) -> FileSet {
        let [previous, rotated, live] = self.parts.clone();
        vec![(".2", previous), (".1", rotated), ("", live)]
    }

    /// Returns the result of a cleanup of the first two parts.
    fn cleaned(&self) -> Vec<u8> {
        [header::<F>(), rows_of::<F>(&self.before, newest::<F>())].concat()
    }
}

fn path_of(suffix: &str) -> PathBuf {
    PathBuf::from(format!("{LIVE}{suffix}"))
}

/// Returns a disk with these files, all safe.
fn disk(seed: u64, files: &[(&str, Vec<u8>)]) -> PowerCutStorage {
    let storage = PowerCutStorage::new(seed, StorageFaults::default());
    for (suffix, octets) in files {
        let file = storage.create(&path_of(suffix)).expect("the disk is sound");
        write_all_at(&*file, 0, octets).expect("the disk is sound");
        file.sync_data().expect("the disk is sound");
    }
    storage.sync_folder(Path::new("/leases")).expect("the disk is sound");
    storage
}

/// Returns the leases in the files, sorted, or the reason why they do not load.
fn opened<F: KeaFamily>(storage: &PowerCutStorage) -> Result<(Memfile, Vec<Lease<F>>), String> {
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let opened = Memfile::open::<F>(Arc::new(storage.clone()), Path::new(LIVE), options);
    let (memfile, mut leases, report) = opened.map_err(|error| error.to_string())?;
    if report.bad_rows + report.rubbish_rows > 0 {
        return Err(format!("{:?}", report.errors));
    }
    leases.sort_by_key(F::key);
    Ok((memfile, leases))
}

/// Checks that the next start finds `expected`, and so does every start after that start or its
/// cleanup was killed at any step.
fn assert_loads<F: KeaFamily>(storage: &PowerCutStorage, expected: &[Lease<F>], what: &str) {
    for step in 0.. {
        let start = storage.after(ProcessDied, StorageFaults::default());
        start.cut_after(step);
        let done = opened::<F>(&start).and_then(|(memfile, leases)| {
            assert!(leases == expected, "{what}, then {step} steps");
            let cleaned = memfile.needs_cleanup().then(|| memfile.cleanup().run());
            cleaned.transpose().map_err(|error| error.to_string())
        });
        let was_killed = !start.is_on();
        assert!(was_killed || done.is_ok(), "{what}, then {step} steps: {done:?}");
        for survival in [ProcessDied, PowerFailed] {
            let next = start.after(survival, StorageFaults::default());
            let (_, leases) = opened::<F>(&next).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(leases == expected, "{what}, then {step} steps, {survival:?}");
        }
        if !was_killed {
            break;
        }
    }
}

/// Returns the disk after our cleanup, with a rotation before it if there is nothing to clean up
/// yet, was killed after `step` steps; `None` if it has ended by then.
fn killed_at<F: KeaFamily>(
    files: &[(&str, Vec<u8>)],
    seed: u64,
    step: u64,
) -> Option<PowerCutStorage> {
    let storage = disk(seed, files);
    let (mut memfile, _) = opened::<F>(&storage).expect("a sound file");
    storage.cut_after(step);
    let is_rotated = memfile.needs_cleanup() || matches!(memfile.rotate(), Ok(Rotation::Done));
    let is_done = is_rotated && memfile.cleanup().run().is_ok();
    assert!(is_done || !storage.is_on(), "step {step}");
    (!storage.is_on()).then_some(storage)
}

/// Returns the two states in which our cleanup begins.
fn beginnings<F: KeaFamily>(story: &LeaseFileHistory<F>) -> [FileSet; 2] {
    let [previous, rotated, live] = story.parts.clone();
    let rows = live[header::<F>().len()..].to_vec();
    [vec![(".2", previous), ("", [rotated, rows].concat())], story.file_set()]
}

pub(crate) fn our_clean_up_killed_at_any_step_loses_nothing<F: KeaFamily>() {
    let story = LeaseFileHistory::<F>::new();
    for (files, at_least) in beginnings(&story).iter().zip([13, 8]) {
        for seed in 0..SEEDS {
            let mut steps = 0;
            while let Some(storage) = killed_at::<F>(files, seed, steps) {
                for survival in [ProcessDied, PowerFailed] {
                    let next = storage.after(survival, StorageFaults::default());
                    let what = format!("seed {seed}, killed at step {steps}, {survival:?}");
                    assert_loads::<F>(&next, &story.all, &what);
                }
                steps += 1;
            }
            assert!(steps >= at_least, "{steps} steps");
        }
    }
}

/// Returns the states that Kea's server and its kea-lfc leave when they are killed, in the order of
/// their steps (`Memfile_LeaseMgr::lfcExecute`, `LFCController::launch` and `fileRotate`).
fn states_of_kea<F: KeaFamily>(story: &LeaseFileHistory<F>) -> Vec<(String, FileSet)> {
    let [previous, rotated, live] = story.parts.clone();
    let cleaned = story.cleaned();
    let pid = || (".pid", b"4194999\n".to_vec());
    let inputs = || vec![(".2", previous.clone()), (".1", rotated.clone())];
    let mut states = vec![("renamed, no new file".to_owned(), inputs())];
    let header_len = header::<F>().len();
    for len in [0, 1, header_len - 1, header_len, live.len()] {
        let files = [inputs(), vec![("", live[..len].to_vec())]].concat();
        states.push((format!("{len} octets of the new file"), files));
    }
    let begun = || [inputs(), vec![("", live.clone()), pid()]].concat();
    states.push(("the PID file".to_owned(), begun()));
    let torn = cleaned.len() - 3;
    for len in
        [0, header_len - 1, header_len, header_len + 9, cleaned.len() / 2, torn, cleaned.len()]
    {
        let files = [begun(), vec![(".output", cleaned[..len].to_vec())]].concat();
        states.push((format!("{len} octets of the output"), files));
    }
    let rest = || vec![("", live.clone()), pid(), (".completed", cleaned.clone())];
    states.push(("completed".to_owned(), [inputs(), rest()].concat()));
    states.push(("previous removed".to_owned(), [inputs()[1..].to_vec(), rest()].concat()));
    states.push(("copy removed".to_owned(), rest()));
    let renamed_files = vec![("", live.clone()), pid(), (".2", cleaned.clone())];
    states.push(("completed renamed".to_owned(), renamed_files.clone()));
    states.push(("done".to_owned(), [&renamed_files[..1], &renamed_files[2..]].concat()));
    states
}

pub(crate) fn what_keas_clean_up_leaves_at_any_step_loads<F: KeaFamily>() {
    let story = LeaseFileHistory::<F>::new();
    for (what, files) in states_of_kea(&story) {
        let live = files.iter().find(|(suffix, _)| suffix.is_empty());
        let has_rows = live.is_some_and(|(_, octets)| octets.len() > header::<F>().len());
        let expected = if has_rows { &story.all } else { &story.before };
        for seed in 0..SEEDS {
            assert_loads::<F>(&disk(seed, &files), expected, &format!("{what}, seed {seed}"));
        }
    }
}

/// Writes files around the lease file `x` in `folder`.
fn write_to(folder: &TempFolder, files: &[(&str, Vec<u8>)]) {
    for (suffix, octets) in files {
        fs::write(folder.path().join(format!("x{suffix}")), octets)
            .expect("the folder can be written");
    }
}

/// Returns the command for kea-lfc over the lease file `x` in `folder`, after the words of
/// `wrapper`.
pub(crate) fn kea_lfc<F: KeaFamily>(folder: &TempFolder, wrapper: &[&str]) -> Command {
    let words = [wrapper, &["kea-lfc"]].concat();
    let mut lfc = Command::new(words[0]);
    lfc.args(&words[1..]).arg(format!("-{}", F::NUMBER));
    lfc.env("KEA_PIDFILE_DIR", folder.path()).env("KEA_LOCKFILE_DIR", folder.path());
    // Cargo sets this variable for the tests that it runs: the loader would look for each of Kea's
    // libraries in every one of these folders first, with more calls than the test counts.
    lfc.env_remove("LD_LIBRARY_PATH");
    let names = ["config", "x.pid", "x.2", "x.1", "x.output", "x.completed"];
    for (flag, name) in ["-c", "-p", "-x", "-i", "-o", "-f"].iter().zip(names) {
        lfc.arg(flag).arg(folder.path().join(name));
    }
    lfc
}

/// Returns the leases that this server finds in `folder`.
fn loaded_from<F: KeaFamily>(folder: &TempFolder) -> Vec<Lease<F>> {
    let (_, leases, report) = super::load::<F>(&folder.path().join("x"));
    assert_eq!((report.bad_rows, report.rubbish_rows), (0, 0), "{report:?}");
    leases
}

/// System calls by which kea-lfc changes files.
const CHANGING: [&str; 4] = ["write", "rename", "unlink", "openat"];
/// Most calls of one kind that the test tries.
const CALLS_MAX: u32 = 400;

pub(crate) fn keas_clean_up_killed_at_any_call_leaves_what_loads<F: KeaFamily>() {
    if !has_kea("kea-lfc") || !has_kea("strace") {
        return;
    }
    let story = LeaseFileHistory::<F>::new();
    let mut sets = BTreeMap::new();
    for call in CHANGING {
        let mut is_killed = true;
        for number in 1..CALLS_MAX {
            let folder = TempFolder::new(&format!("lfc-killed{}", F::NUMBER));
            write_to(&folder, &story.file_set());
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let wrapper = ["strace", "-qq", "-o", "/dev/null", "-e", &inject];
            let output = kea_lfc::<F>(&folder, &wrapper).output().expect("strace runs");
            is_killed = !output.status.success();
            *sets.entry(names_in(&folder)).or_insert(0) += 1;
            assert!(loaded_from::<F>(&folder) == story.all, "{call} {number}: {output:?}");
            if !is_killed {
                break;
            }
        }
        assert!(!is_killed, "kea-lfc calls {call} less often than that");
    }
    for expected in
        ["x x.1 x.2", "x x.1 x.2 x.output x.pid", "x x.1 x.2 x.completed x.pid", "x x.2"]
    {
        assert!(sets.contains_key(expected), "{expected}: {sets:?}");
    }
}

/// Returns the names of the existing files among the lease file and those around it.
fn names_in(folder: &TempFolder) -> String {
    let files = LeaseFiles::new(&folder.path().join("x"));
    let all =
        [&files.live, &files.rotated, &files.previous, &files.completed, &files.output, &files.pid];
    let name = |path: &&&PathBuf| path.exists();
    let names = all.iter().filter(name).filter_map(|path| path.file_name()?.to_str());
    names.collect::<Vec<_>>().join(" ")
}

/// Checks that Kea can take over from our cleanup, killed at any step: its cleanup completes ours.
pub(crate) fn keas_clean_up_ends_what_ours_left<F: KeaFamily>() {
    if !has_kea("kea-lfc") {
        return;
    }
    let story = LeaseFileHistory::<F>::new();
    for (at, files) in beginnings(&story).iter().enumerate() {
        let mut steps = 0;
        while let Some(storage) = killed_at::<F>(files, 1, steps) {
            let folder = TempFolder::new(&format!("lfc-after{}", F::NUMBER));
            for suffix in ["", ".1", ".2", ".completed", ".tmp"] {
                if let Some(octets) = storage.contents(&path_of(suffix)) {
                    write_to(&folder, &[(suffix, octets)]);
                }
            }
            // Kea's server creates the new file that our rotation had not created yet.
            let output = kea_lfc::<F>(&folder, &[]).output().expect("kea-lfc runs");
            assert!(output.status.success(), "{output:?}");
            assert!(loaded_from::<F>(&folder) == story.all, "beginning {at}, step {steps}");
            steps += 1;
        }
    }
}
