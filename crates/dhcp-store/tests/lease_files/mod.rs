//! Tests that lease files written by Kea load here, and that Kea can read files written here, for
//! both families.
//!
//! The shipped files were written by kea-dhcp4 and kea-dhcp6 2.2.0 under perfdhcp (`-f`, `-F` and
//! for DHCPv6 `-e address-and-prefix`: leases, renewals, releases, infinite lifetimes). The one of
//! DHCPv6 has more: clients with a name (`-o 39,...`), with a DUID-EN, hence without a hardware
//! address (`-b duid=...`), and behind a relay (`-A 1` under `store-extended-info`, hence with a
//! user context), and two declined addresses and a DUID of 128 bytes that were added by hand.
//! kea-lfc 2.2.0 made the cleaned files from them. Tests that run Kea are skipped if it is not
//! installed, unless `GODWIT_REQUIRE_TOOLS=1`.

mod damaged;
mod family;
mod killed;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use base::Random;
use damaged::{any_file_loads_or_is_refused, rows_beside_damaged_ones_load};
use dhcp_lease::Lease;
use dhcp_store::memfile::{Columns, RowFileFormat, encode_row, newest};
use dhcp_store::storage::DiskStorage;
use dhcp_store::{LoadReport, Memfile, OpenOptions};
use family::KeaFamily;
use killed::{
    kea_lfc, keas_clean_up_ends_what_ours_left, keas_clean_up_killed_at_any_call_leaves_what_loads,
    our_clean_up_killed_at_any_step_loses_nothing, what_keas_clean_up_leaves_at_any_step_loads,
};
use testkit::{TempFolder, waited_until};

macro_rules! for_both_families {
    ($($name:ident,)*) => {
        mod v4_files {
            $(#[test] fn $name() { super::$name::<dhcp_lease::v4::V4>(); })*
        }
        mod v6_files {
            $(#[test] fn $name() { super::$name::<dhcp_lease::v6::V6>(); })*
        }
    };
}

for_both_families! {
    a_file_of_kea_loads_as_kea_loads_it_and_is_appended_to_in_its_columns,
    a_second_server_is_told_which_file_is_taken,
    a_second_server_is_refused_the_file_under_any_name,
    no_file_is_loaded_while_keas_clean_up_runs,
    a_pid_file_that_a_dead_clean_up_has_left_keeps_nobody_from_starting,
    folders_next_to_the_live_file_are_set_aside,
    a_newer_file_is_put_away_and_its_known_columns_are_kept,
    keas_clean_up_keeps_the_leases_written_here,
    keas_server_loads_a_file_written_here,
    rows_beside_damaged_ones_load,
    any_file_loads_or_is_refused,
    our_clean_up_killed_at_any_step_loses_nothing,
    what_keas_clean_up_leaves_at_any_step_loads,
    keas_clean_up_killed_at_any_call_leaves_what_loads,
    keas_clean_up_ends_what_ours_left,
}

fn load<F: KeaFamily>(path: &Path) -> (Memfile, Vec<Lease<F>>, LoadReport) {
    let mut opened = None;
    // A program that another test starts has the lock of a server that has ended until it runs.
    let is_open = waited_until(|| {
        let options = OpenOptions { threads: 2, ..OpenOptions::default() };
        match Memfile::open::<F>(Arc::new(DiskStorage), path, options) {
            Err(error) if error.to_string().ends_with("is in use by another server") => false,
            result => {
                opened = Some(result.expect("the lease file opens"));
                true
            }
        }
    });
    assert!(is_open, "{} stays in use", path.display());
    let (memfile, mut leases, report) = opened.expect("it is open");
    leases.sort_by_key(F::key);
    (memfile, leases, report)
}

fn rows_of<F: KeaFamily>(leases: &[Lease<F>], columns: Columns) -> Vec<u8> {
    let mut rows = Vec::new();
    leases.iter().for_each(|lease| encode_row::<F>(&lease.row(), columns, &mut rows));
    rows
}

fn a_file_of_kea_loads_as_kea_loads_it_and_is_appended_to_in_its_columns<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("kea-file{}", F::NUMBER));
    let live = folder.path().join("leases.csv");
    let before = F::written();
    fs::write(&live, &before).unwrap();
    let (mut memfile, leases, report) = load::<F>(&live);
    assert_eq!((report.bad_rows, report.rubbish_rows, report.torn_octets), (0, 0, 0));
    assert_eq!(report.rows as usize, before.iter().filter(|&&octet| octet == b'\n').count() - 1);

    let mut again = Vec::new();
    memfile.columns().encode_header(&RowFileFormat::for_family::<F>(), &mut again);
    again.extend(rows_of::<F>(&leases, memfile.columns()));
    assert_eq!(String::from_utf8(again).unwrap(), F::cleaned());

    let row = rows_of::<F>(&leases[..1], memfile.columns());
    memfile.append(&row).unwrap();
    assert_eq!(fs::read(&live).unwrap(), [before, row].concat());
}

fn a_second_server_is_told_which_file_is_taken<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("second{}", F::NUMBER));
    let live = folder.path().join("leases.csv");
    let first = load::<F>(&live);
    let second = Memfile::open::<F>(Arc::new(DiskStorage), &live, OpenOptions::default());
    let message = second.unwrap_err().to_string();
    assert_eq!(message, format!("lease file {} is in use by another server", live.display()));
    drop(first);
    load::<F>(&live);
}

fn no_file_is_loaded_while_keas_clean_up_runs<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("pid{}", F::NUMBER));
    let live = folder.path().join("leases.csv");
    // The name of the program counts, here that of another one.
    let program = folder.path().join("kea-lfc");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("10000").spawn().unwrap();
    // A program that has just been started has its parent's name for a moment.
    let comm = format!("/proc/{}/comm", running.id());
    assert!(waited_until(|| fs::read_to_string(&comm).unwrap() == "kea-lfc\n"));
    fs::write(folder.path().join("leases.csv.pid"), format!("{}\n", running.id())).unwrap();
    let refused = Memfile::open::<F>(Arc::new(DiskStorage), &live, OpenOptions::default());
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(refused.unwrap_err().to_string().contains("kea-lfc"));
    fs::write(folder.path().join("leases.csv.pid"), "4194999\n").unwrap();
    load::<F>(&live);
}

fn a_pid_file_that_a_dead_clean_up_has_left_keeps_nobody_from_starting<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("stale-pid{}", F::NUMBER));
    // The number belongs to another program by now, or, in a container, to this process.
    for pid in [1, std::process::id()] {
        fs::write(folder.path().join("leases.csv.pid"), format!("{pid}\n")).unwrap();
        load::<F>(&folder.path().join("leases.csv"));
    }
    // Another kind of file under this name does not mean a running cleanup either.
    fs::remove_file(folder.path().join("leases.csv.pid")).unwrap();
    fs::create_dir(folder.path().join("leases.csv.pid")).unwrap();
    load::<F>(&folder.path().join("leases.csv"));
    fs::remove_dir(folder.path().join("leases.csv.pid")).unwrap();
    let pipe = Command::new("mkfifo").arg(folder.path().join("leases.csv.pid")).status().unwrap();
    assert!(pipe.success());
    load::<F>(&folder.path().join("leases.csv"));
}

fn folders_next_to_the_live_file_are_set_aside<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("folders{}", F::NUMBER));
    load::<F>(&folder.path().join("leases.csv"));
    let suffixes = [".1", ".2", ".completed", ".output", ".tmp"];
    for suffix in suffixes {
        fs::create_dir(folder.path().join(format!("leases.csv{suffix}"))).unwrap();
    }
    load::<F>(&folder.path().join("leases.csv"));
    for suffix in suffixes {
        assert!(folder.path().join(format!("leases.csv{suffix}.broken-1")).is_dir(), "{suffix}");
    }
}

fn a_second_server_is_refused_the_file_under_any_name<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("links{}", F::NUMBER));
    let live = folder.path().join("leases.csv");
    let (mut first, ..) = load::<F>(&live);
    fs::hard_link(&live, folder.path().join("hard.csv")).unwrap();
    std::os::unix::fs::symlink(&live, folder.path().join("soft.csv")).unwrap();
    let refused = |name: &str| {
        let path = folder.path().join(name);
        let opened = Memfile::open::<F>(Arc::new(DiskStorage), &path, OpenOptions::default());
        let message = opened.err().map(|error| error.to_string());
        let expected = format!("lease file {} is in use by another server", path.display());
        assert_eq!(message, Some(expected), "{name}");
    };
    refused("hard.csv");
    refused("soft.csv");
    fs::remove_file(folder.path().join("leases.csv.lock")).unwrap();
    refused("leases.csv");
    // The file that a rotation has created is locked, too.
    first.rotate().unwrap();
    fs::remove_file(folder.path().join("leases.csv.lock")).unwrap();
    refused("leases.csv");
    refused("soft.csv");
    drop(first);
    load::<F>(&live);
}

fn a_newer_file_is_put_away_and_its_known_columns_are_kept<F: KeaFamily>() {
    let folder = TempFolder::new(&format!("newer{}", F::NUMBER));
    let live = folder.path().join("leases.csv");
    let mut text = Vec::new();
    newest::<F>().encode_header(&RowFileFormat::for_family::<F>(), &mut text);
    text.splice(text.len() - 1.., *b",color\n");
    text.extend(F::NEWER_ROW.as_bytes());
    fs::write(&live, &text).unwrap();
    let (memfile, leases, report) = load::<F>(&live);
    assert_eq!((leases.len(), report.bad_rows), (1, 0));
    let row = rows_of::<F>(&leases, newest::<F>());
    assert_eq!(String::from_utf8(row).unwrap() + "red", F::NEWER_ROW.replace(",red\n", "\nred"));
    assert!(memfile.needs_cleanup());
    assert_eq!(fs::read(folder.path().join("leases.csv.1")).unwrap(), text);
    memfile.cleanup().run().unwrap();
    drop(memfile);
    assert_eq!(load::<F>(&live).1, leases);
}

/// Returns true if Kea is installed; without it the test ends, or fails if tools are required.
fn has_kea(tool: &str) -> bool {
    let is_installed = Command::new(tool).arg("-v").output().is_ok();
    is_installed || testkit::skip(format_args!("{tool} is not installed"))
}

/// Returns `rows` rows about the leases of `addresses` addresses, and the leases that result.
fn history<F: KeaFamily>(rows: u32, addresses: u64) -> (Vec<u8>, Vec<Lease<F>>) {
    let mut random = Random::from_seed(22);
    let mut text = Vec::new();
    newest::<F>().encode_header(&RowFileFormat::for_family::<F>(), &mut text);
    let mut last = std::collections::BTreeMap::new();
    for _ in 0..rows {
        let number = random.below(addresses);
        let lease = F::lease(&mut random, number);
        encode_row::<F>(&lease.row(), newest::<F>(), &mut text);
        last.insert(F::key(&lease), lease);
    }
    last.retain(|_, lease| !lease.is_deleted());
    (text, last.into_values().collect())
}

fn keas_clean_up_keeps_the_leases_written_here<F: KeaFamily>() {
    if !has_kea("kea-lfc") {
        return;
    }
    let folder = TempFolder::new(&format!("lfc{}", F::NUMBER));
    let (rows, expected) = history::<F>(3_000, 500);
    fs::write(folder.path().join("x.1"), &rows).unwrap();
    let output = kea_lfc::<F>(&folder, &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.path().join("x.1").exists(), "kea-lfc did not finish: {output:?}");

    // The result is the previous file of a lease file x, which need not exist.
    let (_, leases, report) = load::<F>(&folder.path().join("x"));
    assert_eq!(report.bad_rows, 0);
    assert_same(&leases, &expected);
}

fn keas_server_loads_a_file_written_here<F: KeaFamily>() {
    let program = format!("kea-dhcp{}", F::NUMBER);
    if !has_kea(&program) {
        return;
    }
    let folder = TempFolder::new(&format!("kea-server{}", F::NUMBER));
    let (rows, expected) = history::<F>(3_000, 500);
    let live = folder.path().join("leases.csv");
    fs::write(&live, &rows).unwrap();
    // Without interfaces Kea needs no privilege.
    let config = format!(
        r#"{{"Dhcp{}": {{"interfaces-config": {{"interfaces": []}}, "valid-lifetime": 60, {}
            "lease-database": {{"type": "memfile", "name": "{}", "lfc-interval": 0,
                "max-row-errors": 1}},
            "loggers": [{{"name": "{program}", "severity": "INFO",
                "output_options": [{{"output": "{}"}}]}}]}}}}"#,
        F::NUMBER,
        if F::NUMBER == 6 { r#""server-id": {"type": "LL", "persist": false},"# } else { "" },
        live.display(),
        folder.path().join("kea.log").display(),
    );
    fs::write(folder.path().join("kea.conf"), config).unwrap();
    let mut kea = Command::new(&program);
    kea.arg("-c")
        .arg(folder.path().join("kea.conf"))
        .args(["-p", if F::NUMBER == 6 { "10547" } else { "10067" }]);
    kea.env("KEA_PIDFILE_DIR", folder.path()).env("KEA_LOCKFILE_DIR", folder.path());
    let mut kea = kea.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Kea 2.2 sees a newer header and has kea-lfc write a file of its own version, perhaps before
    // it has started itself.
    let log = || fs::read_to_string(folder.path().join("kea.log")).unwrap_or_default();
    let started = format!("DHCP{}_STARTED", F::NUMBER);
    let is_ready = waited_until(|| {
        let is_there = |suffix: &str| folder.path().join(format!("leases.csv{suffix}")).exists();
        let has_converted =
            is_there(".2") && ![".1", ".pid", ".completed"].into_iter().any(is_there);
        has_converted && log().contains(&started)
    });
    kea.kill().unwrap();
    kea.wait().unwrap();
    let log = log();
    assert!(is_ready, "{log}");
    assert!(!log.contains("ROW_ERROR"), "{log}");
    let (_, leases, _) = load::<F>(&live);
    assert_same(&leases, &expected);
}

/// Compares leases as rows, and prints the first ones that differ.
fn assert_same<L: PartialEq + std::fmt::Debug>(leases: &[L], expected: &[L]) {
    for (leases, expected) in leases.iter().zip(expected) {
        assert_eq!(leases, expected);
    }
    assert_eq!(leases.len(), expected.len());
}
