//! Reading of the counters that mpstat shows.

use counters::{CountTable, CpuTimes, parse_counts, parse_stat};
use netio::Clock;
use testbed::proc;

use super::super::UptimeClock;
use super::super::number_list::NumberList;
use crate::clock;
use crate::cpustat::none;

/// Path of the folder with a folder for each NUMA node.
const NODES: &str = "/sys/devices/system/node";

/// Reading of all counters that mpstat shows.
#[derive(Clone, Debug, Default)]
pub(super) struct MpstatReading {
    /// Time of the reading in seconds since boot.
    pub(super) seconds: f64,
    /// Local time of day of the reading.
    pub(super) time: String,
    pub(super) cpus: Vec<CpuTimes>,
    /// Time use of NUMA nodes, with the number of the node as the processor number.
    pub(super) nodes: Vec<CpuTimes>,
    /// Number of interrupts of all processors since boot.
    pub(super) interrupt_count: u64,
    pub(super) interrupts: CountTable,
    pub(super) soft_interrupts: CountTable,
}

impl MpstatReading {
    /// Reads the counters of mpstat now.
    pub(super) fn take(uptime: &UptimeClock) -> Self {
        let stat = parse_stat(&proc::read("/proc/stat"));
        let (time, _) = clock::local(Clock::now().wall_us / 1_000_000);
        Self {
            seconds: uptime.seconds(),
            time,
            nodes: node_times(&nodes(), &stat.cpus),
            cpus: stat.cpus,
            interrupt_count: stat.interrupts,
            interrupts: parse_counts(&proc::read("/proc/interrupts")),
            soft_interrupts: parse_counts(&proc::read("/proc/softirqs")),
        }
    }

    /// Returns the reading as it would have been at boot: all counters 0.
    pub(super) fn at_boot(&self) -> Self {
        let without_times = |times: &[CpuTimes]| times.iter().copied().map(none).collect();
        Self {
            time: self.time.clone(),
            cpus: without_times(&self.cpus),
            nodes: without_times(&self.nodes),
            ..Self::default()
        }
    }

    /// Returns the numbers of the processors in use.
    pub(super) fn processors(&self) -> Vec<u32> {
        self.cpus.iter().map(|times| times.cpu).collect()
    }

    /// Returns the numbers of the NUMA nodes that have processors.
    pub(super) fn node_numbers(&self) -> Vec<u32> {
        self.nodes.iter().map(|times| times.cpu).collect()
    }
}

/// NUMA node with the processors that belong to it.
struct NumaNode {
    number: u32,
    processors: NumberList,
}

/// Returns the NUMA nodes of the machine, ascending; none on a kernel without them.
fn nodes() -> Vec<NumaNode> {
    let Ok(entries) = std::fs::read_dir(NODES) else { return Vec::new() };
    let node = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let processors = NumberList::parse(proc::read(entry.path().join("cpulist")).trim()).ok()?;
        Some(NumaNode { number, processors })
    };
    let mut nodes: Vec<NumaNode> = entries.flatten().filter_map(node).collect();
    nodes.sort_unstable_by_key(|node| node.number);
    nodes
}

/// Returns the sum of the processors' time use for each NUMA node.
fn node_times(nodes: &[NumaNode], cpus: &[CpuTimes]) -> Vec<CpuTimes> {
    let sum = |node: &NumaNode| {
        let own = cpus.iter().filter(|times| node.processors.contains(times.cpu));
        let start = CpuTimes { cpu: node.number, ..CpuTimes::default() };
        own.fold(start, |sum, times| sum.plus(times))
    };
    nodes.iter().map(sum).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a reading of two processors on one NUMA node.
    pub(in super::super) fn reading() -> MpstatReading {
        let times = |cpu, user, idle| CpuTimes { cpu, user, idle, ..CpuTimes::default() };
        let cpus = vec![times(0, 30, 70), times(1, 10, 90)];
        let node = NumaNode { number: 0, processors: NumberList::parse("0-1").unwrap_or_default() };
        MpstatReading {
            seconds: 2.0,
            time: "10:00:02".to_owned(),
            nodes: node_times(&[node], &cpus),
            cpus,
            interrupt_count: 500,
            interrupts: parse_counts(
                "       CPU0 CPU1\n 24:   100  0  IO-APIC 5-edge ACPI:Ged\nLOC: 200 50 Local\nERR: 0\n",
            ),
            soft_interrupts: parse_counts("     CPU0 CPU1\n  NET_RX:  7  9\n"),
        }
    }

    #[test]
    fn nodes_have_the_times_of_their_processors() {
        let reading = reading();
        assert_eq!((reading.nodes[0].user, reading.nodes[0].idle), (40, 160));
        assert_eq!((reading.processors(), reading.node_numbers()), (vec![0, 1], vec![0]));
        let boot = reading.at_boot();
        assert_eq!((boot.cpus[1], boot.interrupt_count), (none(reading.cpus[1]), 0));
    }

    #[test]
    fn this_machine_has_processors_and_interrupts() {
        let reading = MpstatReading::take(&UptimeClock::start());
        assert!(!reading.cpus.is_empty() && reading.interrupt_count > 0);
        assert!(reading.seconds > 0.0 && !reading.soft_interrupts.rows.is_empty());
    }
}
