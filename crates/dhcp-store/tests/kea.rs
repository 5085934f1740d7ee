//! Lease files that Kea wrote load here, and files written here are Kea's; for both families.
//!
//! The shipped files were written by kea-dhcp4 and kea-dhcp6 2.2.0 under perfdhcp (leases,
//! renewals, releases, infinite lifetimes; in v6 addresses and prefixes, and a few clients of a
//! kind that perfdhcp is not, with a name, other DUIDs, and a declined address); the cleaned ones
//! are what kea-lfc 2.2.0 made of them. Tests that run Kea are
//! skipped when it is not installed, unless `GODWIT_REQUIRE_TOOLS=1`.

#![cfg(test)]

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base::Random;
use dhcp_lease::v4::{self, V4};
use dhcp_lease::v6::{self, HardwareSource, Resource, V6};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use dhcp_store::memfile::Columns;
use dhcp_store::storage::DiskStorage;
use dhcp_store::{LoadReport, Memfile, OpenOptions, RowCodec};

/// A family of which Kea has a server.
trait Kea: RowCodec {
    /// 4 or 6.
    const NUMBER: u32;
    /// A row with a column that nobody knows yet.
    const NEWER_ROW: &'static str;

    /// The order of Kea's clean-up.
    fn order(lease: &Self::Lease) -> IpAddr;

    /// A lease of the address with `number` with everything in it that Kea 2.2 keeps.
    fn lease(random: &mut Random, number: u64) -> Self::Lease;

    /// What kea-lfc 2.2 made of the shipped file, as a newer Kea would write it.
    fn cleaned() -> String {
        fs::read_to_string(format!("{DATA}/kea-2.2-leases{}.cleaned.csv", Self::NUMBER)).unwrap()
    }
}

const DATA: &str = "../../conformance/data";

/// What both families' leases have.
struct Common {
    octets: [u8; 40],
    is_declined: bool,
    valid_lifetime_s: u32,
    cltt_s: u64,
    subnet_id: u32,
    hostname: &'static str,
    user_context: &'static str,
}

impl Common {
    fn draw(random: &mut Random) -> Self {
        let mut octets = [0; 40];
        random.fill(&mut octets);
        Self {
            octets,
            is_declined: random.chance(1, 10),
            valid_lifetime_s: [0, 60, 3600, u32::MAX][random.below(4) as usize],
            cltt_s: 1_800_000_000 + random.below(100_000),
            subnet_id: random.next_u32(),
            hostname: random.pick(&["", "host", "a,b&c", "x\u{1}\u{7f}y"]).unwrap(),
            user_context: random.pick(&["", "{ \"a\": 1, \"b\": 2 }"]).unwrap(),
        }
    }

    const fn state(&self) -> LeaseState {
        if self.is_declined { LeaseState::Declined } else { LeaseState::Assigned }
    }

    fn hardware(&self) -> HardwareAddress {
        match self.is_declined {
            true => HardwareAddress::NONE,
            false => HardwareAddress::new(1, &self.octets[30..36]),
        }
    }
}

impl Kea for V4 {
    const NUMBER: u32 = 4;
    const NEWER_ROW: &'static str = "10.0.0.1,02:00:00:00:00:01,,60,1800000060,1,0,0,a,0,,7,red\n";

    fn order(lease: &v4::Lease) -> IpAddr {
        lease.address.into()
    }

    fn lease(random: &mut Random, number: u64) -> v4::Lease {
        let common = Common::draw(random);
        let client_id = &common.octets[..2 + random.below(30) as usize];
        let has_client_id = !common.is_declined && random.chance(1, 2);
        v4::Lease {
            address: std::net::Ipv4Addr::from_bits(0x0a00_0000 + number as u32),
            hardware: common.hardware(),
            client_id: has_client_id.then(|| ClientId::new(client_id)),
            valid_lifetime_s: common.valid_lifetime_s,
            cltt_s: common.cltt_s,
            subnet_id: common.subnet_id,
            fqdn_fwd: random.chance(1, 2),
            fqdn_rev: random.chance(1, 2),
            hostname: common.hostname.into(),
            state: common.state(),
            user_context: common.user_context.into(),
            pool_id: 0,
        }
    }
}

impl Kea for V6 {
    const NUMBER: u32 = 6;
    const NEWER_ROW: &'static str =
        "2001:db8::1,00:01:02,60,1800000060,1,30,0,1,128,0,0,a,,0,,,,7,red\n";

    fn order(lease: &v6::Lease) -> IpAddr {
        lease.resource.address.into()
    }

    fn lease(random: &mut Random, number: u64) -> v6::Lease {
        let common = Common::draw(random);
        // Kea tells leases apart by the address alone.
        let prefix = (0x2001_0db8_0000 + u128::from(number)) << 80;
        let resource = match number % 2 {
            0 => Resource::address((prefix | 1).into()),
            _ => Resource::prefix(prefix.into(), 48 + (number % 16) as u8),
        };
        let duid =
            if common.is_declined { &[] } else { &common.octets[..4 + number as usize % 26] };
        let has_hardware = !common.is_declined && random.chance(2, 3);
        let source = HardwareSource::from_number(1 << random.below(8));
        v6::Lease {
            resource,
            duid: ClientId::new(duid),
            iaid: random.next_u32(),
            valid_lifetime_s: common.valid_lifetime_s,
            preferred_lifetime_s: common.valid_lifetime_s / 2,
            cltt_s: common.cltt_s,
            subnet_id: common.subnet_id,
            pool_id: 0,
            fqdn_fwd: random.chance(1, 2),
            fqdn_rev: random.chance(1, 2),
            hostname: common.hostname.into(),
            hardware: if has_hardware { common.hardware() } else { HardwareAddress::NONE },
            hardware_source: if has_hardware { source } else { HardwareSource::Unknown },
            state: common.state(),
            user_context: common.user_context.into(),
        }
    }

    fn cleaned() -> String {
        let text = fs::read_to_string(format!("{DATA}/kea-2.2-leases6.cleaned.csv")).unwrap();
        // The empty DUID had one octet.
        text.replace(",00,4294967295,", ",00:00:00,4294967295,")
    }
}

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
    no_file_is_loaded_while_keas_clean_up_runs,
    a_newer_file_is_put_away_and_its_known_columns_are_kept,
    a_file_of_the_other_family_is_refused,
    keas_clean_up_keeps_the_leases_written_here,
    keas_server_loads_a_file_written_here,
}

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

fn load<F: Kea>(path: &Path) -> (Memfile<F>, Vec<F::Lease>, LoadReport) {
    let options = OpenOptions { threads: 2, ..OpenOptions::default() };
    let (memfile, mut leases, report) =
        Memfile::<F>::open(Arc::new(DiskStorage), path, options).expect("the lease file opens");
    leases.sort_by_key(F::order);
    (memfile, leases, report)
}

fn rows_of<F: Kea>(leases: &[F::Lease], columns: Columns) -> Vec<u8> {
    let mut rows = Vec::new();
    leases.iter().for_each(|lease| F::encode(&F::row_of(lease), columns, &mut rows));
    rows
}

fn a_file_of_kea_loads_as_kea_loads_it_and_is_appended_to_in_its_columns<F: Kea>() {
    let folder = Folder::new(&format!("kea-file{}", F::NUMBER));
    let live = folder.file("leases.csv");
    fs::copy(format!("{DATA}/kea-2.2-leases{}.csv", F::NUMBER), &live).unwrap();
    let before = fs::read(&live).unwrap();
    let (mut memfile, leases, report) = load::<F>(&live);
    assert_eq!((report.bad_rows, report.rubbish_rows, report.torn_octets), (0, 0, 0));
    assert_eq!(report.rows as usize, before.iter().filter(|&&octet| octet == b'\n').count() - 1);

    let mut again = Vec::new();
    memfile.columns().encode_header::<F>(&mut again);
    again.extend(rows_of::<F>(&leases, memfile.columns()));
    assert_eq!(String::from_utf8(again).unwrap(), F::cleaned());

    let row = rows_of::<F>(&leases[..1], memfile.columns());
    memfile.append(&row).unwrap();
    assert_eq!(fs::read(&live).unwrap(), [before, row].concat());
}

fn a_second_server_is_told_which_file_is_taken<F: Kea>() {
    let folder = Folder::new(&format!("second{}", F::NUMBER));
    let live = folder.file("leases.csv");
    let first = load::<F>(&live);
    let second = Memfile::<F>::open(Arc::new(DiskStorage), &live, OpenOptions::default());
    let message = second.unwrap_err().to_string();
    assert_eq!(message, format!("lease file {} is in use by another server", live.display()));
    drop(first);
    load::<F>(&live);
}

fn no_file_is_loaded_while_keas_clean_up_runs<F: Kea>() {
    let folder = Folder::new(&format!("pid{}", F::NUMBER));
    let live = folder.file("leases.csv");
    fs::write(folder.file("leases.csv.pid"), format!("{}\n", std::process::id())).unwrap();
    let refused = Memfile::<F>::open(Arc::new(DiskStorage), &live, OpenOptions::default());
    assert!(refused.unwrap_err().to_string().contains("kea-lfc"));
    fs::write(folder.file("leases.csv.pid"), "4194999\n").unwrap();
    load::<F>(&live);
}

fn a_newer_file_is_put_away_and_its_known_columns_are_kept<F: Kea>() {
    let folder = Folder::new(&format!("newer{}", F::NUMBER));
    let live = folder.file("leases.csv");
    let mut text = Vec::new();
    Columns::NEWEST.encode_header::<F>(&mut text);
    text.splice(text.len() - 1.., *b",color\n");
    text.extend(F::NEWER_ROW.as_bytes());
    fs::write(&live, &text).unwrap();
    let (memfile, leases, report) = load::<F>(&live);
    assert_eq!((leases.len(), report.bad_rows), (1, 0));
    let row = rows_of::<F>(&leases, Columns::NEWEST);
    assert_eq!(String::from_utf8(row).unwrap() + "red", F::NEWER_ROW.replace(",red\n", "\nred"));
    assert!(memfile.needs_cleanup());
    assert_eq!(fs::read(folder.file("leases.csv.1")).unwrap(), text);
    memfile.cleanup().run().unwrap();
    drop(memfile);
    assert_eq!(load::<F>(&live).1, leases);
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

/// Leases and their history as rows.
fn history<F: Kea>() -> (Vec<u8>, Vec<F::Lease>) {
    let mut random = Random::from_seed(22);
    let mut rows = Vec::new();
    Columns::NEWEST.encode_header::<F>(&mut rows);
    let mut last = std::collections::BTreeMap::new();
    for _ in 0..3_000 {
        let number = random.below(500);
        let lease = F::lease(&mut random, number);
        F::encode(&F::row_of(&lease), Columns::NEWEST, &mut rows);
        last.insert(F::order(&lease), lease);
    }
    last.retain(|_, lease| !F::subject(lease).1);
    (rows, last.into_values().collect())
}

/// Such as two servers with one data folder would come upon.
fn a_file_of_the_other_family_is_refused<F: Kea>() {
    let folder = Folder::new(&format!("other{}", F::NUMBER));
    let live = folder.file("leases.csv");
    fs::copy(format!("{DATA}/kea-2.2-leases{}.csv", 10 - F::NUMBER), &live).unwrap();
    let refused = Memfile::<F>::open(Arc::new(DiskStorage), &live, OpenOptions::default());
    let message = refused.unwrap_err().to_string();
    let expected = format!("leases.csv:1: not the header of a {} lease file", F::NAME);
    assert!(message.ends_with(&expected), "{message}");
}

fn keas_clean_up_keeps_the_leases_written_here<F: Kea>() {
    if !has_kea("kea-lfc") {
        return;
    }
    let folder = Folder::new(&format!("lfc{}", F::NUMBER));
    let (rows, expected) = history::<F>();
    fs::write(folder.file("x.1"), &rows).unwrap();
    let mut lfc = Command::new("kea-lfc");
    lfc.arg(format!("-{}", F::NUMBER))
        .env("KEA_PIDFILE_DIR", &folder.0)
        .env("KEA_LOCKFILE_DIR", &folder.0);
    let names = ["config", "x.pid", "x.2", "x.1", "x.output", "x.completed"];
    for (flag, name) in ["-c", "-p", "-x", "-i", "-o", "-f"].iter().zip(names) {
        lfc.arg(flag).arg(folder.file(name));
    }
    let output = lfc.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.file("x.1").exists(), "kea-lfc did not finish: {output:?}");

    // The result is the previous file of a lease file x, which need not exist.
    let (_, kept, report) = load::<F>(&folder.file("x"));
    assert_eq!(report.bad_rows, 0);
    assert_same(&kept, &expected);
}

fn keas_server_loads_a_file_written_here<F: Kea>() {
    let program = format!("kea-dhcp{}", F::NUMBER);
    if !has_kea(&program) {
        return;
    }
    let folder = Folder::new(&format!("kea-server{}", F::NUMBER));
    let (rows, expected) = history::<F>();
    let live = folder.file("leases.csv");
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
        folder.file("kea.log").display(),
    );
    fs::write(folder.file("kea.conf"), config).unwrap();
    let mut kea = Command::new(&program);
    kea.arg("-c")
        .arg(folder.file("kea.conf"))
        .args(["-p", if F::NUMBER == 6 { "10547" } else { "10067" }]);
    kea.env("KEA_PIDFILE_DIR", &folder.0).env("KEA_LOCKFILE_DIR", &folder.0);
    let mut kea = kea.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Kea 2.2 sees a newer header and has kea-lfc make a file of its own version.
    let has_converted = wait_until(|| {
        let is_there = |suffix: &str| folder.file(&format!("leases.csv{suffix}")).exists();
        is_there(".2") && ![".1", ".pid", ".completed"].into_iter().any(is_there)
    });
    kea.kill().unwrap();
    kea.wait().unwrap();
    let log = fs::read_to_string(folder.file("kea.log")).unwrap();
    assert!(has_converted && log.contains(&format!("DHCP{}_STARTED", F::NUMBER)), "{log}");
    assert!(!log.contains("ROW_ERROR"), "{log}");
    let (_, leases, _) = load::<F>(&live);
    assert_same(&leases, &expected);
}

/// Compares leases as rows, and shows the first that differ.
fn assert_same<L: PartialEq + std::fmt::Debug>(found: &[L], expected: &[L]) {
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
