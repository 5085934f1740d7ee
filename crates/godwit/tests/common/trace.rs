//! strace's record of a server: the leases that it acknowledged, and whether their rows were
//! flushed first.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use dhcp_wire::v6::{Ia, MessageType, Packet};

/// Function that returns the addresses and prefixes that sent bytes grant; empty if they grant
/// nothing.
type Granted = fn(&[u8]) -> Vec<IpAddr>;

/// Makes `command` run its further arguments under strace, which writes the input of
/// [`TraceVerdict::of`] to `trace`.
pub(crate) fn under_strace(mut command: Command, trace: &Path) -> Command {
    let calls = "trace=write,pwrite64,writev,pwritev,fdatasync,fsync,sync_file_range,\
                 sendto,sendmsg,sendmmsg";
    command.args(["strace", "-f", "-xx", "-s", "65536", "-e", calls, "-o"]).arg(trace);
    command
}

/// Verdict on a trace.
#[derive(Debug)]
pub(crate) struct TraceVerdict {
    /// Addresses that the server acknowledged, which must be in the lease file for good.
    pub(crate) acknowledged: BTreeSet<IpAddr>,
    /// Addresses that the server acknowledged before a flush that covers their row.
    pub(crate) too_early: BTreeSet<IpAddr>,
    /// Flushes that succeeded.
    pub(crate) flushes: usize,
    granted: Granted,
    written: BTreeSet<IpAddr>,
    durable: BTreeSet<IpAddr>,
    /// Addresses that the flush in progress of each thread of the server covers.
    flushing: Vec<(String, BTreeSet<IpAddr>)>,
    /// Addresses that were durable when each thread's send in progress began. strace shows the sent
    /// data only when the call returns.
    sending: Vec<(String, BTreeSet<IpAddr>)>,
    /// Addresses in the rows of each thread's write in progress.
    writing: Vec<(String, BTreeSet<IpAddr>)>,
}

impl TraceVerdict {
    /// Returns the verdict on the server of `trace`. `granted` reads the data that it sent.
    pub(crate) fn of(trace: &str, granted: Granted) -> Self {
        let mut verdict = Self {
            acknowledged: BTreeSet::new(),
            too_early: BTreeSet::new(),
            flushes: 0,
            granted,
            written: BTreeSet::new(),
            durable: BTreeSet::new(),
            flushing: Vec::new(),
            sending: Vec::new(),
            writing: Vec::new(),
        };
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

    /// Adds the addresses that `call` sent when only `durable` was durable.
    fn acknowledge(&mut self, call: &str, durable: &BTreeSet<IpAddr>) {
        for address in strings(call).iter().flat_map(|octets| (self.granted)(octets)) {
            self.acknowledged.insert(address);
            if !durable.contains(&address) {
                self.too_early.insert(address);
            }
        }
    }
}

/// Returns the address that the DHCPACK in a datagram or frame grants.
pub(crate) fn granted_by_ack(octets: &[u8]) -> Vec<IpAddr> {
    // The magic cookie is 236 bytes into the message.
    let cookie = [99, 130, 83, 99];
    let Some(at) = octets.windows(4).position(|window| window == cookie) else { return Vec::new() };
    let Some(start) = at.checked_sub(236) else { return Vec::new() };
    let is_ack = octets[at..].windows(3).any(|window| window == [53, 1, 5]);
    let yiaddr = octets[start + 16..].first_chunk::<4>().filter(|_| is_ack);
    yiaddr.map(|&yiaddr| IpAddr::from(yiaddr)).into_iter().collect()
}

/// Returns the addresses and prefixes that the REPLY in a datagram grants, relayed or not.
pub(crate) fn granted_by_reply(octets: &[u8]) -> Vec<IpAddr> {
    let Ok(packet) = Packet::parse(octets) else { return Vec::new() };
    let message = packet.message();
    if message.message_type() != MessageType::Reply {
        return Vec::new();
    }
    let of_ia = |ia: Ia<'_>| -> Vec<IpAddr> {
        let addresses = ia.addresses().filter(|a| a.valid_s > 0).map(|a| a.address.into());
        let prefixes = ia.prefixes().filter(|p| p.valid_s > 0).map(|p| p.prefix.into());
        addresses.chain(prefixes).collect()
    };
    message.ias().flat_map(of_ia).collect()
}

/// Returns the addresses of the lease rows in the data of a write.
fn rows(call: &str) -> BTreeSet<IpAddr> {
    strings(call)
        .iter()
        .flat_map(|octets| octets.split(|&octet| octet == b'\n'))
        .filter_map(|row| std::str::from_utf8(row).ok()?.split(',').next()?.parse().ok())
        .collect()
}

/// Returns the quoted strings of a call, decoded from `\xNN`.
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
