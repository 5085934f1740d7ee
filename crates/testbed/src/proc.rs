//! Readers of `/proc`: text in, numbers out (proc(5)), and thin functions that open the files.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// Clock ticks per second in `/proc`: fixed at 100 by the Linux ABI on every architecture that
/// Debian has.
pub const TICKS_PER_S: u64 = 100;

/// How one processor has spent its time since boot, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The kernel's number of the processor.
    pub cpu: u32,
    /// Everything that is neither idle nor stolen.
    pub busy: u64,
    /// Idle, waiting for input and output included.
    pub idle: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// The part of `busy` in software interrupts.
    pub softirq: u64,
}

/// The processors in `/proc/stat`.
#[must_use]
pub fn parse_cpu_times(text: &str) -> Vec<CpuTimes> {
    text.lines().filter_map(parse_cpu_line).collect()
}

fn parse_cpu_line(line: &str) -> Option<CpuTimes> {
    let mut fields = line.split_ascii_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut next = || fields.next().and_then(|f| f.parse::<u64>().ok());
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Later columns came with later kernels. Guest time, after steal, is within user time already.
    let (iowait, irq, softirq, steal) =
        (next().unwrap_or(0), next().unwrap_or(0), next().unwrap_or(0), next().unwrap_or(0));
    let busy = user + nice + system + irq + softirq;
    Some(CpuTimes { cpu, busy, idle: idle + iowait, steal, softirq })
}

/// What `/proc/PID/stat` tells about the time of a process, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTimes {
    /// Process group.
    pub group: u32,
    /// Used in user and kernel mode by all its threads, ended ones included.
    pub used_ticks: u64,
    /// Start, since boot.
    pub started_ticks: u64,
}

/// Reads the text of `/proc/PID/stat`; the name in it may contain spaces and parentheses.
#[must_use]
pub fn parse_process_times(text: &str) -> Option<ProcessTimes> {
    let after_name = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    // Field 3 of proc(5), the state, is the first one here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessTimes {
        group: u32::try_from(number(5)?).ok()?,
        used_ticks: number(14)? + number(15)?,
        started_ticks: number(22)?,
    })
}

/// Times of process `pid`, or `None` when there is none.
#[must_use]
pub fn process_times(pid: u32) -> Option<ProcessTimes> {
    parse_process_times(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// True while a process of `group` is there that is not just waiting to be reaped.
pub(crate) fn group_exists(group: u32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    entries.flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        !stat.contains(") Z ") && parse_process_times(&stat).is_some_and(|t| t.group == group)
    })
}

/// Resident memory in `/proc/PID/status`, bytes.
#[must_use]
pub fn parse_resident_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Process `pid` and everything it started that is still below it.
#[must_use]
pub fn process_tree(pid: u32) -> Vec<u32> {
    let mut tree = vec![pid];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        next += 1;
        let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for thread in threads.flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            tree.extend(children.split_ascii_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
    }
    tree
}

/// The kernel's receive backlog, all processors together, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Packets dropped because a processor's backlog was full.
    pub dropped: u64,
    /// Times that a processor left packets for later.
    pub squeezed: u64,
}

/// Adds up `/proc/net/softnet_stat`: one line per processor, hexadecimal columns.
#[must_use]
pub fn parse_softnet(text: &str) -> Softnet {
    let mut total = Softnet::default();
    for line in text.lines() {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let mut next = || columns.next().and_then(|c| u64::from_str_radix(c, 16).ok()).unwrap_or(0);
        total.dropped += next();
        total.squeezed += next();
    }
    total
}

/// One row of `/proc/net/udp` or `udp6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpRow {
    /// Bound to.
    pub local: SocketAddr,
    /// Octets waiting to be read, the kernel's overhead included.
    pub waiting_bytes: u64,
    /// Datagrams dropped at this socket since it was opened.
    pub drops: u64,
}

/// The sockets in `/proc/net/udp` or `udp6`.
#[must_use]
pub fn parse_udp_rows(text: &str) -> Vec<UdpRow> {
    text.lines().skip(1).filter_map(parse_udp_row).collect()
}

fn parse_udp_row(line: &str) -> Option<UdpRow> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    let local = SocketAddr::new(parse_ip(address)?, u16::from_str_radix(port, 16).ok()?);
    let (_, waiting) = fields.get(4)?.split_once(':')?;
    Some(UdpRow {
        local,
        waiting_bytes: u64::from_str_radix(waiting, 16).ok()?,
        drops: fields.last()?.parse().ok()?,
    })
}

/// The kernel prints every four octets as one number of the machine's own order.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let word = |at| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut octets = [0; 16];
            for (at, place) in octets.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(at)?);
            }
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

/// Drops at the sockets that take what is sent to `address`, and how many sockets those are.
#[must_use]
pub fn drops_at(rows: &[UdpRow], address: SocketAddr) -> (u64, usize) {
    rows.iter()
        .filter(|row| row.local.port() == address.port())
        .filter(|row| row.local.ip() == address.ip() || row.local.ip().is_unspecified())
        .fold((0, 0), |(drops, sockets), row| (drops + row.drops, sockets + 1))
}

/// Counters of one interface since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Received packets; with segmentation offload one packet can be many datagrams.
    pub received_packets: u64,
    /// Packets dropped on receive.
    pub received_drops: u64,
    /// Sent packets, with the same caution.
    pub sent_packets: u64,
    /// Packets dropped on send.
    pub sent_drops: u64,
}

/// The line of `interface` in `/proc/net/dev`.
#[must_use]
pub fn parse_interface(text: &str, interface: &str) -> Option<InterfaceCounters> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    let columns: Vec<u64> = line.split_ascii_whitespace().filter_map(|c| c.parse().ok()).collect();
    Some(InterfaceCounters {
        received_packets: *columns.get(1)?,
        received_drops: *columns.get(3)?,
        sent_packets: *columns.get(9)?,
        sent_drops: *columns.get(11)?,
    })
}

/// The text of a file of `/proc`; empty when it is not there (a process that has ended).
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_add_up() {
        let text = "cpu  10 0 0 0 0 0 0 0 0 0\n\
                    cpu0 4523 7 3903 228156 1706 11 313 1301 99 1\n\
                    cpu13 1 2 3 4\nintr 5 6\n";
        assert_eq!(
            parse_cpu_times(text),
            [
                CpuTimes { cpu: 0, busy: 8757, idle: 229_862, steal: 1301, softirq: 313 },
                CpuTimes { cpu: 13, busy: 6, idle: 4, steal: 0, softirq: 0 },
            ]
        );
    }

    #[test]
    fn process_times_survive_a_hostile_name() {
        let text = "9848 (a) R 1 (b) R 9846 9840 3710 0 -1 4194304 98 0 0 0 25 17 0 0 20 0 1 0 \
                    160281 3133440 375";
        assert_eq!(
            parse_process_times(text),
            Some(ProcessTimes { group: 9840, used_ticks: 42, started_ticks: 160_281 })
        );
        assert_eq!(parse_process_times("9848 (a) R 1"), None);
        assert_eq!(parse_process_times(""), None);
        assert!(process_times(std::process::id()).is_some());
    }

    #[test]
    fn memory_is_in_bytes() {
        let text = "Name:\tcat\nVmHWM:\t    1700 kB\nVmRSS:\t    1640 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(parse_resident_bytes(text), Some(1640 * 1024));
        assert_eq!(parse_resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn softnet_is_hexadecimal() {
        let text = "00000011 0000000a 00000002 00000000\n00000de4 00000010 00000001 00000000\n";
        assert_eq!(parse_softnet(text), Softnet { dropped: 26, squeezed: 3 });
    }

    #[test]
    fn sockets_are_told_apart_by_address_and_port() {
        let text = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                    uid  timeout inode ref pointer drops\n  \
            12: 0100000A:0043 00000000:0000 07 00000000:00000D00 00:00000000 00000000     0        \
                    0 36105 2 0000000000000000 41\n  \
            13: 00000000:0043 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                    0 36106 2 0000000000000000 1\n  \
            14: 0200000A:0043 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                    0 36107 2 0000000000000000 500\n";
        let rows = parse_udp_rows(text);
        assert_eq!(rows.len(), 3);
        let expected = IpAddr::from(0x0100_000A_u32.to_ne_bytes());
        assert_eq!((rows[0].local.ip(), rows[0].waiting_bytes), (expected, 0xd00));
        if cfg!(target_endian = "little") {
            let server = SocketAddr::from(([10, 0, 0, 1], 67));
            assert_eq!(drops_at(&rows, server), (42, 2));
        }
    }

    #[test]
    fn sockets_of_ipv6_are_read_too() {
        // Printed by Linux 6.12 for sockets at [2001:db8::1]:547 and [::]:547.
        let text = "  sl  local_address                         remote_address                        st\n \
            9: B80D0120000000000000000001000000:0223 00000000000000000000000000000000:0000 07 \
            00000000:00000300 00:00000000 00000000     0        0 36105 2 0000000000000000 7\n \
            10: 00000000000000000000000000000000:0223 00000000000000000000000000000000:0000 07 \
            00000000:00000000 00:00000000 00000000     0        0 36106 2 0000000000000000 1\n";
        let rows = parse_udp_rows(text);
        assert_eq!(rows.len(), 2);
        if cfg!(target_endian = "little") {
            let server = "[2001:db8::1]:547".parse().unwrap();
            assert_eq!((rows[0].local, rows[0].waiting_bytes), (server, 0x300));
            assert_eq!(drops_at(&rows, server), (8, 2));
        }
    }

    #[test]
    fn interfaces_are_found_by_their_whole_name() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs\n  \
                    gw01:  1 1 1 1 0 0 0 0 1 1 0 1 0 0 0 0\n   \
                    gw0:3193 29 0 4 0 0 0 0 3193 28 0 5 0 0 0 0\n";
        assert_eq!(
            parse_interface(text, "gw0"),
            Some(InterfaceCounters {
                received_packets: 29,
                received_drops: 4,
                sent_packets: 28,
                sent_drops: 5
            })
        );
        assert_eq!(parse_interface(text, "eth0"), None);
    }

    #[test]
    fn the_tree_of_a_process_has_its_children() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let tree = process_tree(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(tree[0], std::process::id());
        assert!(tree.contains(&child.id()), "{tree:?}");
    }
}
