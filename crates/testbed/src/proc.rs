//! Functions that read files of `/proc`. The crate `counters` interprets the texts.

use std::path::Path;

use counters::{
    ProcessStat, TICKS_PER_S, parse_process_run_ns, parse_process_stat, parse_process_wait_ns,
};

/// Returns the text of the file `path` of `/proc` or `/sys`; empty if the file does not exist (a
/// process that has ended).
pub fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the kernel's data about process `pid`; `None` if the process does not exist.
pub fn process_stat(pid: u32) -> Option<ProcessStat> {
    parse_process_stat(&read(format!("/proc/{pid}/stat")))
}

/// Returns true while the process group `group` has a process that is not just waiting to be
/// reaped.
pub(crate) fn group_exists(group: u32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    entries.flatten().any(|entry| {
        let stat = read(entry.path().join("stat"));
        !stat.contains(") Z ") && parse_process_stat(&stat).is_some_and(|s| s.group == group)
    })
}

/// Returns true if a socket of the calling thread's network namespace has `port`, by UDP or TCP.
///
/// The kernel's tables tell. A socket that is bound to find out would be inherited by each program
/// that another thread starts at that moment, and would keep the port until that program runs.
pub fn is_port_taken(port: u16) -> bool {
    ["udp", "udp6", "tcp", "tcp6"].iter().any(|name| {
        let table = read(format!("/proc/thread-self/net/{name}"));
        table.lines().filter_map(local_port).any(|used| used == port)
    })
}

/// Returns the local port in `row`, a line of the kernel's tables of sockets such as
/// `/proc/net/udp`.
pub fn local_port(row: &str) -> Option<u16> {
    let (_, port) = row.split_whitespace().nth(1)?.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok()
}

/// Returns the number of the machine's processes.
pub fn process_count() -> u64 {
    processes().len() as u64
}

/// Returns the numbers of all processes of the machine, ascending.
pub fn processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut pids: Vec<u32> = entries.flatten().filter_map(number).collect();
    pids.sort_unstable();
    pids
}

/// Returns the time that each thread of process `pid` has waited for a processor so far
/// (`/proc/PID/task/TID/schedstat`): thread number and nanoseconds. Empty if the kernel does not
/// count it.
pub fn thread_waits_ns(pid: u32) -> Vec<(u32, u64)> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let wait = |entry: std::fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        Some((thread, parse_process_wait_ns(&read(entry.path().join("schedstat")))?))
    };
    threads.flatten().filter_map(wait).collect()
}

/// Returns the processor time that process `pid` has used so far, in nanoseconds; 0 if the process
/// does not exist.
///
/// The times of its threads are exact, but lack ended threads; the time of the process has all, in
/// steps of the clock's ticks. The larger one is more accurate.
pub fn processor_ns(pid: u32) -> u64 {
    let run_ns = |thread: u32| {
        parse_process_run_ns(&read(format!("/proc/{pid}/task/{thread}/schedstat"))).unwrap_or(0)
    };
    let exact_ns: u64 = threads(pid).into_iter().map(run_ns).sum();
    let ticks = process_stat(pid).map_or(0, |stat| stat.user_ticks + stat.system_ticks);
    exact_ns.max(ticks * (1_000_000_000 / TICKS_PER_S))
}

/// Returns the numbers of the threads of process `pid`, even if the kernel does not count their
/// times.
pub fn threads(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    threads.flatten().filter_map(number).collect()
}

/// Returns the numbers of process `pid` and of all its descendants.
pub fn process_tree(pid: u32) -> Vec<u32> {
    let mut tree = vec![pid];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        next += 1;
        let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for thread in threads.flatten() {
            let children = read(thread.path().join("children"));
            tree.extend(children.split_ascii_whitespace().filter_map(|c| c.parse::<u32>().ok()));
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_with_its_threads() {
        let pid = std::process::id();
        let stat = process_stat(pid).unwrap();
        assert!(stat.started_ticks > 0 && !stat.name.is_empty());
        assert_eq!(process_stat(u32::MAX), None);
        assert!(process_count() >= 1 && processes().contains(&pid));
        let threads: Vec<u32> =
            thread_waits_ns(pid).into_iter().map(|(thread, _)| thread).collect();
        // Kernels without CONFIG_SCHED_INFO have no such file.
        assert!(threads.is_empty() || threads.contains(&pid), "{threads:?}");
        assert!(thread_waits_ns(u32::MAX).is_empty());
        assert!(super::threads(pid).contains(&pid) && super::threads(u32::MAX).is_empty());
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

    #[test]
    fn a_port_that_a_socket_has_is_taken() {
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let tcp = std::net::TcpListener::bind("[::1]:0").unwrap();
        assert!(is_port_taken(udp.local_addr().unwrap().port()));
        assert!(is_port_taken(tcp.local_addr().unwrap().port()));
        assert_eq!(local_port("  sl  local_address rem_address   st tx_queue"), None);
        assert_eq!(local_port(" 9: 0100007F:0223 00000000:0000 07 00000000:00000000"), Some(547));
    }
}
