//! Thread that reads the machine's counters at a fixed interval while a trial runs.
//!
//! It keeps the readings unchanged; its users compute differences and judge them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use counters::{
    CpuTimes, InterfaceCounters, Softnet, UdpCounters, drops_at, parse_interface,
    parse_resident_bytes, parse_softnet, parse_stat, parse_udp_counters, parse_udp_rows,
};

use crate::proc;

/// Process that the sampler watches on one side of a measurement: a server or a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerTarget {
    /// Process ID of the root of the watched process tree.
    pub pid: u32,
    /// Address at which the watched process receives datagrams.
    pub address: SocketAddr,
    /// Name of the interface that carries the datagrams, in the network namespace of the watched
    /// process.
    pub interface: String,
    /// Process IDs of further processes that work for the watched one, with their trees: a
    /// database, a second server. Their processor time counts as its own, their memory does not.
    pub helpers: Vec<u32>,
}

/// Reading of the counters of one side, the server or the generator: of its process, its address
/// and its interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideReading {
    /// Resident memory of the process tree in bytes; 0 if the process does not exist.
    pub resident_bytes: u64,
    /// Processor time of the process tree in user mode so far, in clock ticks.
    pub user_ticks: u64,
    /// Processor time of the kernel for the process tree so far, in clock ticks.
    pub system_ticks: u64,
    /// Processor time of the watched process tree and of its helpers so far, in nanoseconds. It
    /// includes the kernel's work for them, but not time stolen by the hypervisor.
    pub processor_ns: u64,
    /// Number of datagrams dropped at the sockets of the watched address so far.
    pub socket_drops: u64,
    /// Counters of the watched interface.
    pub interface: InterfaceCounters,
    /// Counters of UDP in the network namespace of the watched process.
    pub udp: UdpCounters,
}

/// Reading of the whole machine's counters. All count since boot, or since the creation of their
/// object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineReading {
    /// Time of the reading, counted from the origin given to [`Sampler::start`].
    pub at: Duration,
    /// Times of the watched processors.
    pub cpus: Vec<CpuTimes>,
    /// Counters of the receive backlog of all processors.
    pub softnet: Softnet,
    /// Readings of the watched processes (server, generator), in the order of the targets.
    pub sides: Vec<SideReading>,
}

/// Running sampler of the machine's counters. [`Sampler::finish`] ends it, and so does dropping it.
#[derive(Debug)]
pub struct Sampler {
    messages: Option<Sender<SamplerTarget>>,
    thread: Option<JoinHandle<Vec<MachineReading>>>,
}

impl Sampler {
    /// Starts to read the machine's counters every `interval`, the first time before it returns.
    /// Times count from `origin`. It keeps only processors in `cpus`; an empty list keeps all.
    #[must_use]
    pub fn start(
        origin: Instant,
        interval: Duration,
        cpus: Vec<usize>,
        mut targets: Vec<SamplerTarget>,
    ) -> Self {
        let (messages, inbox) = mpsc::channel();
        let mut readings = vec![read(origin, &cpus, &targets)];
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now() + interval;
            loop {
                match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(target) => {
                        targets.push(target);
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        readings.push(read(origin, &cpus, &targets));
                        return readings;
                    }
                }
                readings.push(read(origin, &cpus, &targets));
                // After a stall it makes no readings up: the next one is a whole interval away.
                next = (next + interval).max(Instant::now());
            }
        });
        Self { messages: Some(messages), thread: Some(thread) }
    }

    /// Adds `target` to the watched processes from now on: the generator, which starts after the
    /// sampler.
    pub fn watch(&self, target: SamplerTarget) {
        if let Some(messages) = &self.messages {
            // The thread ends only after this end of the channel is closed.
            let _ = messages.send(target);
        }
    }

    /// Reads the machine's counters a last time, ends the sampler's thread and returns all readings
    /// in order of time.
    #[must_use]
    pub fn finish(mut self) -> Vec<MachineReading> {
        self.messages = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads the machine's counters at this moment: those of `targets`, and the times of the processors
/// in `cpus`, or of all if `cpus` is empty. The time counts from `origin`.
pub fn read(origin: Instant, cpus: &[usize], targets: &[SamplerTarget]) -> MachineReading {
    let mut times = parse_stat(&proc::read("/proc/stat")).cpus;
    if !cpus.is_empty() {
        times.retain(|time| cpus.contains(&(time.cpu as usize)));
    }
    MachineReading {
        at: origin.elapsed(),
        cpus: times,
        softnet: parse_softnet(&proc::read("/proc/net/softnet_stat")),
        sides: targets.iter().map(read_side).collect(),
    }
}

fn read_side(target: &SamplerTarget) -> SideReading {
    let mut side = SideReading::default();
    for pid in proc::process_tree(target.pid) {
        let status = proc::read(format!("/proc/{pid}/status"));
        side.resident_bytes += parse_resident_bytes(&status).unwrap_or(0);
        if let Some(stat) = proc::process_stat(pid) {
            side.user_ticks += stat.user_ticks;
            side.system_ticks += stat.system_ticks;
        }
        side.processor_ns += proc::processor_ns(pid);
    }
    for pid in target.helpers.iter().flat_map(|&pid| proc::process_tree(pid)) {
        side.processor_ns += proc::processor_ns(pid);
    }
    let network = PathBuf::from(format!("/proc/{}/net", target.pid));
    let table = if target.address.is_ipv6() { "udp6" } else { "udp" };
    let rows = parse_udp_rows(&proc::read(network.join(table)));
    side.socket_drops = drops_at(&rows, target.address).0;
    let devices = proc::read(network.join("dev"));
    side.interface = parse_interface(&devices, &target.interface).unwrap_or_default();
    let read = |name: &str| proc::read(network.join(name));
    side.udp = parse_udp_counters(&read("snmp"), &read("snmp6"));
    side
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

    use super::*;

    #[test]
    fn drops_at_a_full_socket_are_seen() {
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
            drops_at_a_full_socket_of(ip);
        }
    }

    fn this_process(address: SocketAddr) -> SamplerTarget {
        let (pid, interface) = (std::process::id(), "lo".to_owned());
        SamplerTarget { pid, address, interface, helpers: Vec::new() }
    }

    #[test]
    fn processor_time_is_that_of_the_processes_and_of_no_other() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let start =
            |script: &str| std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let mut idle = start("exec sleep 100000");
        let mut busy = start("while :; do :; done");
        let of = |pid, helpers| {
            let target = SamplerTarget { pid, helpers, ..this_process(address) };
            read(Instant::now(), &[], &[target]).sides[0].processor_ns
        };
        // The busy process has used all of a tenth of a second when the idle one is read again.
        let before = of(idle.id(), vec![]);
        while of(busy.id(), vec![]) < 100_000_000 {
            std::thread::yield_now();
        }
        let (alone, with_helper) = (of(idle.id(), vec![]), of(idle.id(), vec![busy.id()]));
        for child in [&mut idle, &mut busy] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(alone - before < 50_000_000, "{before} {alone}");
        assert!(with_helper >= 100_000_000, "{with_helper}");
    }

    fn drops_at_a_full_socket_of(ip: IpAddr) {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let target = this_process(address);
        let origin = Instant::now();
        let targets = vec![target];
        let now = || read(origin, &[], &targets).sides[0];
        let begin = now().interface.received.packets;
        let sampler = Sampler::start(origin, Duration::from_secs(36_000), vec![], targets.clone());
        let sender = UdpSocket::bind((ip, 0)).unwrap();
        // Loopback drops packets while its own queue is full, and carries others' packets, too.
        while now().interface.received.packets < begin + 4_000 || now().socket_drops == 0 {
            for _ in 0..100 {
                sender.send_to(&[0; 1400], address).unwrap();
            }
        }
        let readings = sampler.finish();
        let (first, last) = (&readings[0], &readings[readings.len() - 1]);
        assert_eq!(readings.len(), 2);
        assert!(last.at > first.at);
        assert_eq!(first.sides[0].socket_drops, 0);
        assert!(last.sides[0].socket_drops > 0, "{last:?}");
        assert!(last.sides[0].resident_bytes > 0);
        let (was, is) = (first.sides[0].udp.receive_full, last.sides[0].udp.receive_full);
        assert!(is > was, "{last:?}");
        let packets = |reading: &MachineReading| reading.sides[0].interface.received.packets;
        assert!(packets(last) > packets(first));
        assert!(!last.cpus.is_empty());
    }

    #[test]
    fn targets_join_later() {
        let sampler = Sampler::start(Instant::now(), Duration::from_secs(3600), vec![], vec![]);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        sampler.watch(this_process(address));
        let readings = sampler.finish();
        assert_eq!(readings.iter().map(|r| r.sides.len()).collect::<Vec<_>>(), [0, 1]);
    }
}
