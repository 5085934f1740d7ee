//! Durability proved by the kernel's own account: a trace of system calls of the running server
//! shows that no acknowledgment is sent before a flush that covers its row has returned. The same
//! check finds fault with a server that does not flush, so it can fail.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use common::{ServerProcess, TempFolder, configuration, require, run_bounded};

const LEASES: usize = 60;

#[test]
fn no_acknowledgment_is_sent_before_its_row_is_flushed() {
    if !require(&["strace", "perfdhcp"]) {
        return;
    }
    let trace = traced_run("always");
    let verdict = Verdict::of(&trace);
    assert_eq!(verdict.acknowledged.len(), LEASES, "{verdict:?}");
    assert_eq!(verdict.too_early, BTreeSet::new(), "acknowledged before the flush");
    assert!(verdict.flushes > 0);
}

#[test]
fn the_check_finds_fault_with_a_server_that_does_not_flush() {
    if !require(&["strace", "perfdhcp"]) {
        return;
    }
    let verdict = Verdict::of(&traced_run("none"));
    assert_eq!(verdict.acknowledged.len(), LEASES, "{verdict:?}");
    assert_eq!(verdict.too_early.len(), LEASES, "{verdict:?}");
}

/// Serves [`LEASES`] exchanges under strace and gives the trace.
fn traced_run(durability: &str) -> String {
    let folder = TempFolder::new(&format!("trace-{durability}"));
    let trace = folder.path().join("trace");
    let config = configuration(folder.path(), durability, 1);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-xx", "-s", "65536", "-e"])
        .arg("trace=write,pwrite64,writev,pwritev,fdatasync,fsync,sync_file_range,sendto,sendmsg,sendmmsg")
        .arg("-o")
        .arg(&trace);
    let server = ServerProcess::start_under(strace, &config, folder.path());
    let (port, relay_port) = (server.port, server.relay_port);
    let output = run_bounded(
        Command::new("perfdhcp")
            .args(["-4", "-r", "200", "-R", "100000", "-d", "5", "-d", "5", "-W", "3000000"])
            .args(["-n", &LEASES.to_string(), "-n", &LEASES.to_string()])
            .args(["-l", "127.0.0.1", "-L", &relay_port.to_string()])
            .args(["-N", &port.to_string(), "127.0.0.1"]),
    );
    server.stop();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(report.contains("received packets: 60"), "{report}");
    read(&trace)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("strace wrote its output")
}

/// What a trace says.
#[derive(Debug, Default)]
struct Verdict {
    acknowledged: BTreeSet<Ipv4Addr>,
    too_early: BTreeSet<Ipv4Addr>,
    flushes: usize,
    written: BTreeSet<Ipv4Addr>,
    durable: BTreeSet<Ipv4Addr>,
    /// Per thread: what its flush in progress covers.
    flushing: Vec<(String, BTreeSet<Ipv4Addr>)>,
    /// Per thread: what was durable when its send in progress began. strace shows what is sent
    /// only when the call returns.
    sending: Vec<(String, BTreeSet<Ipv4Addr>)>,
    /// Per thread: rows of its write in progress.
    writing: Vec<(String, BTreeSet<Ipv4Addr>)>,
}

impl Verdict {
    fn of(trace: &str) -> Self {
        let mut verdict = Self::default();
        for line in trace.lines() {
            let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
            verdict.take(thread, call.trim_start());
        }
        verdict
    }

    fn take(&mut self, thread: &str, call: &str) {
        let is_unfinished = call.ends_with("<unfinished ...>");
        if let Some(rest) = call.strip_prefix("<... ") {
            self.finish(thread, rest);
        } else if call.starts_with("fdatasync(") || call.starts_with("fsync(") {
            let covered = self.written.clone();
            self.flushing.push((thread.to_owned(), covered));
            if !is_unfinished {
                self.finish(thread, call);
            }
        } else if call.starts_with("send") {
            let durable = self.durable.clone();
            if is_unfinished {
                self.sending.push((thread.to_owned(), durable.clone()));
            }
            self.acknowledge(call, &durable);
        } else if call.contains("write") {
            self.writing.push((thread.to_owned(), rows(call)));
            if !is_unfinished {
                self.finish(thread, call);
            }
        }
    }

    fn finish(&mut self, thread: &str, call: &str) {
        let succeeded = !call.contains("= -1 ");
        if call.starts_with("fdatasync") || call.starts_with("fsync") {
            let Some(at) = self.flushing.iter().position(|(owner, _)| owner == thread) else {
                return;
            };
            let (_, covered) = self.flushing.remove(at);
            if succeeded {
                self.flushes += 1;
                self.durable.extend(covered);
            }
        } else if call.starts_with("send") {
            let mine = self.sending.iter().position(|(owner, _)| owner == thread);
            let Some(at) = mine else { return };
            let (_, durable) = self.sending.remove(at);
            self.acknowledge(call, &durable);
        } else if call.contains("write") {
            let Some(at) = self.writing.iter().position(|(owner, _)| owner == thread) else {
                return;
            };
            let (_, rows) = self.writing.remove(at);
            if succeeded {
                self.written.extend(rows);
            }
        }
    }

    /// Takes in what `call` sent when only `durable` was safe.
    fn acknowledge(&mut self, call: &str, durable: &BTreeSet<Ipv4Addr>) {
        for octets in strings(call) {
            // Magic cookie, then option 53 with value 5 somewhere behind it.
            let is_ack = octets.len() > 243
                && octets[236..240] == [99, 130, 83, 99]
                && octets[240..].windows(3).any(|window| window == [53, 1, 5]);
            if is_ack {
                let address = Ipv4Addr::new(octets[16], octets[17], octets[18], octets[19]);
                self.acknowledged.insert(address);
                if !durable.contains(&address) {
                    self.too_early.insert(address);
                }
            }
        }
    }
}

/// Addresses of the lease rows in the data of a write.
fn rows(call: &str) -> BTreeSet<Ipv4Addr> {
    strings(call)
        .iter()
        .flat_map(|octets| octets.split(|&octet| octet == b'\n'))
        .filter_map(|row| std::str::from_utf8(row).ok()?.split(',').next()?.parse().ok())
        .collect()
}

/// The quoted strings of a call, decoded from `\xNN`.
fn strings(call: &str) -> Vec<Vec<u8>> {
    call.split('"')
        .skip(1)
        .step_by(2)
        .map(|text| {
            text.split("\\x")
                .filter(|digits| digits.len() == 2)
                .filter_map(|digits| u8::from_str_radix(digits, 16).ok())
                .collect()
        })
        .collect()
}
