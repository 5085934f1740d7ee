//! Lease files that Kea wrote load here, and files written here are Kea's.
//!
//! The shipped file was written by kea-dhcp4 2.2.0 under perfdhcp (leases, renewals, releases,
//! infinite lifetimes); the cleaned one is what kea-lfc 2.2.0 made of it. Tests that run Kea are
//! skipped when it is not installed, unless `GODWIT_REQUIRE_TOOLS=1`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base::Random;
use dhcp_lease::v4::{Lease, LeaseState, V4};
use dhcp_lease::{ClientId, HardwareAddress};
use dhcp_store::memfile::{Columns, Format, Rows, encode_row, newest};
use dhcp_store::storage::DiskStorage;
use dhcp_store::{LoadReport, Memfile, OpenOptions};

const WRITTEN_BY_KEA: &str = "../../conformance/data/kea-2.2-leases4.csv";
const CLEANED_BY_KEA: &str = "../../conformance/data/kea-2.2-leases4.cleaned.csv";

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("godwit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder for the test");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn load(path: &Path) -> (Memfile, Vec<Lease>, LoadReport) {
    let options = OpenOptions { threads: 2, ..OpenOptions::default() };
    let (memfile, mut leases, report) =
        Memfile::open::<V4>(Arc::new(DiskStorage), path, options).expect("the lease file opens");
    leases.sort_by_key(|lease| lease.address);
    (memfile, leases, report)
}

fn rows_of(leases: &[Lease], columns: Columns) -> Vec<u8> {
    let mut rows = Vec::new();
    leases.iter().for_each(|lease| encode_row::<V4>(&V4::row_of(lease), columns, &mut rows));
    rows
}

#[test]
fn a_file_of_kea_loads_as_kea_loads_it_and_is_appended_to_in_its_columns() {
    let folder = Folder::new("kea-file");
    let live = folder.file("leases4.csv");
    fs::copy(WRITTEN_BY_KEA, &live).unwrap();
    let before = fs::read(&live).unwrap();
    let (mut memfile, leases, report) = load(&live);
    assert_eq!((report.bad_rows, report.rubbish_rows, report.torn_octets), (0, 0, 0));
    assert_eq!(report.rows as usize, before.iter().filter(|&&octet| octet == b'\n').count() - 1);

    let cleaned = fs::read(CLEANED_BY_KEA).unwrap();
    let mut again = Vec::new();
    memfile.columns().encode_header(&Format::of::<V4>(), &mut again);
    again.extend(rows_of(&leases, memfile.columns()));
    assert_eq!(String::from_utf8(again).unwrap(), String::from_utf8(cleaned).unwrap());

    let row = rows_of(&leases[..1], memfile.columns());
    memfile.append(&row).unwrap();
    assert_eq!(fs::read(&live).unwrap(), [before, row].concat());
}

#[test]
fn a_second_server_is_told_which_file_is_taken() {
    let folder = Folder::new("second");
    let live = folder.file("leases4.csv");
    let first = load(&live);
    let second = Memfile::open::<V4>(Arc::new(DiskStorage), &live, OpenOptions::default());
    let message = second.unwrap_err().to_string();
    assert_eq!(message, format!("lease file {} is in use by another server", live.display()));
    drop(first);
    load(&live);
}

#[test]
fn no_file_is_loaded_while_keas_clean_up_runs() {
    let folder = Folder::new("pid");
    let live = folder.file("leases4.csv");
    fs::write(folder.file("leases4.csv.pid"), format!("{}\n", std::process::id())).unwrap();
    let refused = Memfile::open::<V4>(Arc::new(DiskStorage), &live, OpenOptions::default());
    assert!(refused.unwrap_err().to_string().contains("kea-lfc"));
    fs::write(folder.file("leases4.csv.pid"), "4194999\n").unwrap();
    load(&live);
}

#[test]
fn a_newer_file_is_put_away_and_its_known_columns_are_kept() {
    let folder = Folder::new("newer");
    let live = folder.file("leases4.csv");
    let mut text = Vec::new();
    newest::<V4>().encode_header(&Format::of::<V4>(), &mut text);
    text.splice(text.len() - 1.., *b",color\n");
    text.extend(b"10.0.0.1,02:00:00:00:00:01,,60,1800000060,1,0,0,a,0,,7,red\n");
    fs::write(&live, &text).unwrap();
    let (memfile, leases, report) = load(&live);
    assert_eq!((leases.len(), leases[0].pool_id, report.bad_rows), (1, 7, 0));
    assert!(memfile.needs_cleanup());
    assert_eq!(fs::read(folder.file("leases4.csv.1")).unwrap(), text);
    memfile.cleanup().run().unwrap();
    drop(memfile);
    assert_eq!(load(&live).1, leases);
}

/// Whether Kea is there; without it the test ends, or fails when tools are required.
fn has_kea(tool: &str) -> bool {
    let found = Command::new(tool).arg("-v").output().is_ok();
    let required = std::env::var("GODWIT_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(found || !required, "{tool} is required but not installed");
    if !found {
        println!("skipped: {tool} is not installed");
    }
    found
}

/// Leases with everything in them that Kea 2.2 keeps, and their history as rows.
fn history() -> (Vec<u8>, Vec<Lease>) {
    let mut random = Random::from_seed(22);
    let pick = |values: &[&'static str], random: &mut Random| {
        values[random.below(values.len() as u64) as usize]
    };
    let mut rows = Vec::new();
    newest::<V4>().encode_header(&Format::of::<V4>(), &mut rows);
    let mut last = std::collections::BTreeMap::new();
    for _ in 0..3_000 {
        let number = random.below(500);
        let mut octets = [0; 40];
        random.fill(&mut octets);
        let is_declined = random.chance(1, 10);
        let client_id = &octets[..2 + random.below(30) as usize];
        let lease = Lease {
            address: std::net::Ipv4Addr::from_bits(0x0a00_0000 + number as u32),
            hardware: match is_declined {
                true => HardwareAddress::default(),
                false => HardwareAddress::new(1, &octets[30..36]),
            },
            client_id: (!is_declined && random.chance(1, 2)).then(|| ClientId::new(client_id)),
            valid_lifetime_s: [0, 60, 3600, u32::MAX][random.below(4) as usize],
            cltt_s: 1_800_000_000 + random.below(100_000),
            subnet_id: random.next_u32(),
            fqdn_fwd: random.chance(1, 2),
            fqdn_rev: random.chance(1, 2),
            hostname: pick(&["", "host", "a,b&c", "x\u{1}\u{7f}y"], &mut random).into(),
            state: if is_declined { LeaseState::Declined } else { LeaseState::Assigned },
            user_context: pick(&["", "{ \"a\": 1, \"b\": 2 }"], &mut random).into(),
            pool_id: 0,
        };
        encode_row::<V4>(&V4::row_of(&lease), newest::<V4>(), &mut rows);
        last.insert(lease.address, lease);
    }
    last.retain(|_, lease| lease.valid_lifetime_s > 0);
    (rows, last.into_values().collect())
}

#[test]
fn keas_clean_up_keeps_the_leases_written_here() {
    if !has_kea("kea-lfc") {
        return;
    }
    let folder = Folder::new("lfc");
    let (rows, expected) = history();
    fs::write(folder.file("x.1"), &rows).unwrap();
    let mut lfc = Command::new("kea-lfc");
    lfc.arg("-4").env("KEA_PIDFILE_DIR", &folder.0).env("KEA_LOCKFILE_DIR", &folder.0);
    let names = ["config", "x.pid", "x.2", "x.1", "x.output", "x.completed"];
    for (flag, name) in ["-c", "-p", "-x", "-i", "-o", "-f"].iter().zip(names) {
        lfc.arg(flag).arg(folder.file(name));
    }
    let output = lfc.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.file("x.1").exists(), "kea-lfc did not finish: {output:?}");

    // The result is the previous file of a lease file x, which need not exist.
    let (_, kept, report) = load(&folder.file("x"));
    assert_eq!(report.bad_rows, 0);
    assert_same(&kept, &expected);
}

#[test]
fn keas_server_loads_a_file_written_here() {
    if !has_kea("kea-dhcp4") {
        return;
    }
    let folder = Folder::new("kea-dhcp4");
    let (rows, expected) = history();
    let live = folder.file("leases4.csv");
    fs::write(&live, &rows).unwrap();
    // Without interfaces Kea needs no privilege.
    let config = format!(
        r#"{{"Dhcp4": {{"interfaces-config": {{"interfaces": []}}, "valid-lifetime": 60,
            "lease-database": {{"type": "memfile", "name": "{}", "lfc-interval": 0,
                "max-row-errors": 1}},
            "loggers": [{{"name": "kea-dhcp4", "severity": "INFO",
                "output_options": [{{"output": "{}"}}]}}]}}}}"#,
        live.display(),
        folder.file("kea.log").display(),
    );
    fs::write(folder.file("kea.conf"), config).unwrap();
    let mut kea = Command::new("kea-dhcp4");
    kea.arg("-c").arg(folder.file("kea.conf")).args(["-p", "10067"]);
    kea.env("KEA_PIDFILE_DIR", &folder.0).env("KEA_LOCKFILE_DIR", &folder.0);
    let mut kea = kea.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Kea 2.2 sees a newer header and has kea-lfc make a file of its own version.
    let has_converted = wait_until(|| {
        let is_there = |suffix: &str| folder.file(&format!("leases4.csv{suffix}")).exists();
        is_there(".2") && ![".1", ".pid", ".completed"].into_iter().any(is_there)
    });
    kea.kill().unwrap();
    kea.wait().unwrap();
    let log = fs::read_to_string(folder.file("kea.log")).unwrap();
    assert!(has_converted && log.contains("DHCP4_STARTED"), "{log}");
    assert!(!log.contains("ROW_ERROR"), "{log}");
    let (_, leases, _) = load(&live);
    assert_same(&leases, &expected);
}

/// Compares leases as rows, and shows the first that differ.
fn assert_same(found: &[Lease], expected: &[Lease]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

/// Looks every 50 ms, for 20 seconds at most: what another program does makes no sound.
fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    (0..400).any(|_| {
        let done = is_so();
        if !done {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        done
    })
}
