//! Measures the cost of a row and of a batch:
//! `cargo run --release -p dhcp-store --example log_cost -- FOLDER`.
//!
//! Prints the cost of an encoded row, then of a batch of 64 rows from the first row to the moment
//! when all are settled: once with the rounds done inline by the shard, once with the rounds left
//! to the log thread. Run it under `taskset -c 0` to see the cost on one shared processor.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use base::Now;
use dhcp_lease::v4::{LeaseClient, LeaseState, RowView, V4};
use dhcp_lease::{ClientId, HardwareAddress};
use dhcp_store::log::{CoreOptions, LogCore, LogThreadOptions, ShardLog, SharedLogState};
use dhcp_store::memfile::{encode_row, newest};
use dhcp_store::storage::DiskStorage;
use dhcp_store::{LogThread, Memfile, OpenOptions, RowDurability};

const ROWS: u32 = 64;
const BATCHES: u32 = 20_000;

/// Logs a row and returns its epoch.
fn log_row(log: &ShardLog, client: &LeaseClient, number: u32) -> u64 {
    let mut buffer = log.buffer();
    let columns = buffer.columns();
    encode_row::<V4>(&row(client, number), columns, &mut buffer.rows);
    buffer.epoch()
}

fn row(client: &LeaseClient, number: u32) -> RowView<'_> {
    RowView {
        address: Ipv4Addr::from_bits(0x0a09_0000 + number),
        client,
        valid_lifetime_s: 3600,
        cltt_s: 1_795_293_786,
        subnet_id: 7,
        fqdn_fwd: false,
        fqdn_rev: false,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
        pool_id: 0,
        extra: (),
    }
}

fn open(folder: &Path) -> Memfile {
    let options = OpenOptions::default();
    let opened = Memfile::open::<V4>(Arc::new(DiskStorage), &folder.join("log-cost.csv"), options);
    opened.expect("the lease file opens").0
}

/// Timed stretch of work: wall time, and processor time because other users share the machine.
struct WorkTimer {
    started: Instant,
    cpu_ns: u64,
}

/// Returns the processor time that all threads have used so far, in nanoseconds.
fn cpu_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has /proc");
    let of_task = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.filter_map(of_task).sum()
}

impl WorkTimer {
    fn start() -> Self {
        Self { cpu_ns: cpu_ns(), started: Instant::now() }
    }

    fn print(&self, what: &str, count: u32, unit: &str) {
        let wall_us = self.started.elapsed().as_secs_f64() * 1e6 / f64::from(count);
        let cpu_us = (cpu_ns() - self.cpu_ns) as f64 / 1e3 / f64::from(count);
        println!("{what}: {cpu_us:.3} us of processor, {wall_us:.3} us elapsed, per {unit}");
    }
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder to write to"));
    let client = LeaseClient {
        hardware: HardwareAddress::new(1, &[0, 0x0c, 1, 2, 3, 4]),
        client_id: Some(ClientId::new(&[1, 0, 0x0c, 1, 2, 3, 4])),
    };

    let mut rows = Vec::new();
    let timed = WorkTimer::start();
    for batch in 0..BATCHES {
        rows.clear();
        for number in 0..ROWS {
            encode_row::<V4>(&row(&client, batch ^ number), newest::<V4>(), &mut rows);
        }
        black_box(&rows);
    }
    timed.print("encode", BATCHES * ROWS, "row");

    let shards = SharedLogState::new(1, |_| {});
    let options = CoreOptions { durability: RowDurability::None, lfc_interval_s: 0 };
    let mut core = LogCore::new(shards.clone(), open(&folder), options, Now::default());
    let log = ShardLog::new(shards, 0);
    let timed = WorkTimer::start();
    for _ in 0..BATCHES {
        for number in 0..ROWS {
            log_row(&log, &client, number);
        }
        core.round(Now::default());
    }
    timed.print("round by the shard itself", BATCHES, "batch");
    drop(core);

    for (name, durability, written_by_thread, batches) in [
        ("none, with the thread beside", RowDurability::None, false, BATCHES),
        ("interval of 100 ms", RowDurability::Interval(100), false, BATCHES),
        ("always", RowDurability::Always, false, 200),
        ("none, rounds left to the thread", RowDurability::None, true, BATCHES),
    ] {
        let timed = with_thread(&folder, &client, durability, written_by_thread, batches);
        timed.print(name, batches, "batch");
    }
    let _ = std::fs::remove_file(folder.join("log-cost.csv"));
    let _ = std::fs::remove_file(folder.join("log-cost.csv.lock"));
}

/// Sends batches through the log thread and waits for each; with `written_by_thread` the thread
/// does the rounds.
fn with_thread(
    folder: &Path,
    client: &LeaseClient,
    durability: RowDurability,
    written_by_thread: bool,
    batches: u32,
) -> WorkTimer {
    let woken = Arc::new((Mutex::new(false), Condvar::new()));
    let waker = woken.clone();
    let shards = SharedLogState::new(2, move |_| {
        *waker.0.lock().expect("no panic") = true;
        waker.1.notify_one();
    });
    let options = LogThreadOptions {
        core: CoreOptions { durability, lfc_interval_s: 0 },
        ..LogThreadOptions::default()
    };
    let origin = Instant::now();
    let clock = Box::new(move || Now { mono_ns: origin.elapsed().as_nanos() as u64, wall_us: 0 });
    let thread =
        LogThread::start(shards.clone(), open(folder), options, clock).expect("a thread starts");
    let log = thread.shard(0);
    let timed = WorkTimer::start();
    for _ in 0..batches {
        let epoch = (0..ROWS).map(|number| log_row(&log, client, number)).max();
        let epoch = epoch.expect("a batch has rows");
        log.await_epoch(epoch);
        if written_by_thread {
            thread.wake();
        } else {
            log.submit(Now { mono_ns: origin.elapsed().as_nanos() as u64, wall_us: 0 });
        }
        while log.settled() < epoch {
            let mut is_woken = woken.0.lock().expect("no panic");
            while !*is_woken && log.settled() < epoch {
                is_woken = woken.1.wait(is_woken).expect("no panic");
            }
            *is_woken = false;
        }
    }
    thread.stop().expect("the log ends well");
    timed
}
