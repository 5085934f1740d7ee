//! Measures the cost of a start with many leases: seconds and memory, in this process and in whole
//! servers.
//!
//! ```text
//! cargo run --release -p dhcp-store --example start_up -- [--leases N] [--family 4|6] [--names]
//!     [--threads N] [--server PROGRAM]... [--limit SECONDS]
//! ```
//!
//! Writes a lease file of N leases (by default a million of DHCPv4) as Kea 2.2 has it after a
//! cleanup, in a folder that is removed afterwards, and loads it: first it only reads the file,
//! then it loads the leases into the table that the server serves from. With `--names` every lease
//! has a host name. The example then starts each PROGRAM (`kea-dhcp4`, or a `godwit`, called with
//! `dhcp4` or `dhcp6`) on a copy of the same file, one after the other, and sends requests until
//! the program renews the first lease, SECONDS (300) at most; then it renews the last lease.

mod lease_file;
mod servers;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use std::vec::Drain;

use counters::parse_resident_bytes;
use dhcp_lease::v4::{self, V4};
use dhcp_lease::v6::{self, V6};
use dhcp_lease::{LeaseTable, PoolSpec};
use dhcp_store::memfile::{FileRow, Intake, LeaseFileFamily};
use dhcp_store::storage::DiskStorage;
use dhcp_store::{LoadReport, Memfile, OpenOptions};
use testbed::proc::process_stat;

use lease_file::{LeaseFileContents, StartUpFamily};

/// Parsed arguments of the command line.
struct StartUpArgs {
    file: LeaseFileContents,
    threads: usize,
    servers: Vec<String>,
    limit_s: u64,
}

impl StartUpArgs {
    fn parse() -> Self {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let file = LeaseFileContents {
            family: StartUpFamily::V4,
            leases: 1_000_000,
            has_names: false,
            now_s,
        };
        let mut arguments = Self { file, threads: 0, servers: Vec::new(), limit_s: 300 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
            let number = |text: String| text.parse::<u64>().expect("a number");
            match word.as_str() {
                "--leases" => arguments.file.leases = number(value()) as u32,
                "--family" if value() == "6" => arguments.file.family = StartUpFamily::V6,
                "--family" => {}
                "--names" => arguments.file.has_names = true,
                "--threads" => arguments.threads = number(value()) as usize,
                "--server" => arguments.servers.push(value()),
                "--limit" => arguments.limit_s = number(value()),
                _ => panic!("not known: {word}"),
            }
        }
        arguments
    }
}

/// Folder of a run, removed when the value is dropped.
struct StartUpFolder(std::path::PathBuf);

impl Drop for StartUpFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn main() {
    let arguments = StartUpArgs::parse();
    let name = format!("godwit-start-up-{}", std::process::id());
    let folder = StartUpFolder(std::env::temp_dir().join(name));
    std::fs::create_dir_all(&folder.0).expect("the temporary folder can be written");
    let path = folder.0.join("leases.csv");
    let octets = arguments.file.write(&path);
    println!(
        "{} leases of {}{}, {octets} octets, {} processors",
        arguments.file.leases,
        arguments.file.family.name(),
        if arguments.file.has_names { " with names" } else { "" },
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    );
    match arguments.file.family {
        StartUpFamily::V4 => load::<V4>(&path, &arguments, v4_pool()),
        StartUpFamily::V6 => load::<V6>(&path, &arguments, v6_pool()),
    }
    for server in &arguments.servers {
        servers::measure(server, &arguments.file, &path, arguments.limit_s);
    }
}

fn v4_pool() -> v4::PoolSpec {
    v4::PoolSpec {
        first: lease_file::V4_FIRST.into(),
        last: lease_file::V4_LAST.into(),
        subnet_id: 1,
        pool_id: 0,
        allocator: dhcp_lease::Allocator::Iterative,
    }
}

fn v6_pool() -> v6::PoolSpec {
    v6::PoolSpec {
        first: v6::Resource::address(lease_file::V6_FIRST.into()),
        last: v6::Resource::address(lease_file::V6_LAST.into()),
        subnet_id: 1,
        pool_id: 0,
        allocator: dhcp_lease::Allocator::Iterative,
    }
}

/// Intake that only counts the rows.
#[derive(Default)]
struct RowCountIntake(AtomicU64);

impl<F: LeaseFileFamily> Intake<F> for RowCountIntake {
    fn take(&self, rows: Drain<'_, FileRow<F>>) {
        self.0.fetch_add(rows.count() as u64, Ordering::Relaxed);
    }
}

/// Time, processor time and memory that this process has used so far.
struct ProcessUsage {
    at: Instant,
    processor_s: f64,
    resident_bytes: u64,
}

impl ProcessUsage {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ticks = process_stat(std::process::id()).map_or(0, |times| times.used_ticks());
        Self {
            at: Instant::now(),
            processor_s: ticks as f64 / 100.0,
            resident_bytes: parse_resident_bytes(&status).unwrap_or(0),
        }
    }

    /// Prints the time and memory that a step has taken since `self`.
    fn print(&self, step: &str, leases: u32) {
        let now = Self::now();
        let elapsed_s = (now.at - self.at).as_secs_f64();
        let processor_s = now.processor_s - self.processor_s;
        let bytes = now.resident_bytes as f64 - self.resident_bytes as f64;
        println!(
            "{step:<28} {elapsed_s:>7.2} s, {processor_s:>6.2} s of a processor, {:>5.0} ns a lease of \
             that; {:>6.1} bytes a lease resident, {} MiB at most",
            processor_s * 1e9 / f64::from(leases),
            bytes / f64::from(leases),
            highest_mib(),
        );
    }
}

/// Returns the most memory that this process has had at once, in mebibytes.
fn highest_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0_u64) / 1024
}

fn open<F: LeaseFileFamily>(path: &Path, threads: usize, intake: &impl Intake<F>) -> LoadReport {
    let options = OpenOptions { max_row_errors: 1, threads, ..OpenOptions::default() };
    let opened = Memfile::open_into::<F>(Arc::new(DiskStorage), path, options, intake);
    opened.expect("the lease file opens").1
}

fn load<F: LeaseFileFamily>(path: &Path, arguments: &StartUpArgs, pool: PoolSpec<F>) {
    let leases = arguments.file.leases;
    let before = ProcessUsage::now();
    open::<F>(path, arguments.threads, &RowCountIntake::default());
    before.print("read and parsed", leases);

    let before = ProcessUsage::now();
    let table = LeaseTable::<F>::new(7);
    table.configure(&[pool], &[]);
    before.print("pools opened", leases);
    let report = open::<F>(path, arguments.threads, &table);
    before.print("and loaded into the table", leases);
    let usage = table.usage();
    assert_eq!((report.rows, usage.leased), (u64::from(leases), u64::from(leases)));
    let memory = table.memory();
    let each = |bytes: usize| bytes as f64 / f64::from(leases);
    println!(
        "bytes a lease by structure: {:.1} slots, {:.1} to slots outside the pools, {:.1} indexes, \
         {:.1} places, {:.1} free bits, {:.1} texts; {:.1} together",
        each(memory.slots_bytes),
        each(memory.sparse_bytes),
        each(memory.indexes_bytes),
        each(memory.slot_number_map_bytes),
        each(memory.map_bytes),
        each(memory.texts_bytes),
        each(memory.total_bytes()),
    );
}
