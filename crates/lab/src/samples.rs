//! Conversion of the testbed's readings (counters since boot) to records (amounts per interval).

use counters::{CpuTimes, InterfaceCounters, TICKS_PER_S, Traffic, advance};
use measure::record::{CpuSample, MachineSample, SideCounts, TrafficCounts};
use testbed::sampler::{MachineReading, SideReading};

/// Makes one sample per pair of neighboring readings of the machine. Times count from the beginning
/// of the run. If `has_server` is true, the first target of the sampler is the server; the
/// generator follows.
pub(crate) fn from_readings(readings: &[MachineReading], has_server: bool) -> Vec<MachineSample> {
    let Some((first, rest)) = readings.split_first() else { return Vec::new() };
    let mut sampling = SampleConverter::new(first.clone(), has_server);
    rest.iter().map(|reading| sampling.next(reading)).collect()
}

/// Converter that makes samples of the machine one by one, as readings come.
#[derive(Debug)]
pub(crate) struct SampleConverter {
    first: MachineReading,
    last: MachineReading,
    /// Used time of each processor in all samples made so far, in seconds.
    busy: Vec<f64>,
    has_server: bool,
}

impl SampleConverter {
    pub(crate) fn new(first: MachineReading, has_server: bool) -> Self {
        let busy = vec![0.0; first.cpus.len()];
        Self { last: first.clone(), first, busy, has_server }
    }

    /// Returns the sample from the reading before to `reading`.
    pub(crate) fn next(&mut self, reading: &MachineReading) -> MachineSample {
        let mut sample = sample(&self.last, reading, self.has_server);
        for (cpu, busy) in sample.cpus.iter_mut().zip(&mut self.busy) {
            cpu.busy_s = more_busy(&self.first, reading, cpu.cpu, busy);
        }
        self.last = reading.clone();
        sample
    }
}

/// Returns the increase of a processor's used time (elapsed minus idle minus steal since the first
/// reading), in seconds. The kernel reports idle time in steps of 10 ms, so the difference can seem
/// to step back; the highest value so far counts, which keeps the sum over a trial right to one
/// step.
fn more_busy(first: &MachineReading, now: &MachineReading, cpu: u32, highest: &mut f64) -> f64 {
    let find = |reading: &MachineReading| reading.cpus.iter().find(|c| c.cpu == cpu).copied();
    let (Some(was), Some(is)) = (find(first), find(now)) else { return 0.0 };
    let unused = seconds(is.unused(), was.unused()) + seconds(is.steal, was.steal);
    let used = now.at.saturating_sub(first.at).as_secs_f64() - unused;
    let more = (used - *highest).max(0.0);
    *highest += more;
    more
}

fn seconds(now: u64, was: u64) -> f64 {
    now.saturating_sub(was) as f64 / TICKS_PER_S as f64
}

/// Makes a sample from two readings without the used time of the processors.
fn sample(before: &MachineReading, after: &MachineReading, has_server: bool) -> MachineSample {
    let side = |index: usize| {
        let (was, is) = (before.sides.get(index).copied(), after.sides.get(index).copied());
        let is = is.unwrap_or_default();
        // A target that ended shows zeros: that is no step back of its counters.
        let drops = is.socket_drops.saturating_sub(was.unwrap_or_default().socket_drops);
        (is.resident_bytes, drops, counts(was, &is))
    };
    let server_process_s = if has_server { processes_s(before, after) } else { None };
    let (server_rss_bytes, server_socket_drops, server_counts) =
        if has_server { side(0) } else { Default::default() };
    let (generator_rss_bytes, generator_socket_drops, generator_counts) =
        side(usize::from(has_server));
    MachineSample {
        at_s: after.at.as_secs_f64(),
        interval_s: after.at.saturating_sub(before.at).as_secs_f64(),
        cpus: after.cpus.iter().filter_map(|cpu| cpu_sample(before, cpu)).collect(),
        server_process_s,
        server_rss_bytes,
        generator_rss_bytes,
        server_socket_drops,
        generator_socket_drops,
        softnet_drops: advance(before.softnet.dropped, after.softnet.dropped).unwrap_or(0),
        softnet_squeezes: advance(before.softnet.squeezed, after.softnet.squeezed).unwrap_or(0),
        server_counts,
        generator_counts,
    }
}

/// Returns the processor seconds of the server's processes from one reading to the next; `None`
/// when they do not exist any more.
fn processes_s(before: &MachineReading, after: &MachineReading) -> Option<f64> {
    let (was, is) = (before.sides.first()?.processor_ns, after.sides.first()?.processor_ns);
    (is > 0).then(|| is.saturating_sub(was) as f64 / 1e9)
}

/// Returns the kernel's counts of one side (server or generator) from one reading to the next. Its
/// processes have counted since they were started, its network since long before: the network's
/// counts are unknown until it has been read twice.
fn counts(was: Option<SideReading>, is: &SideReading) -> SideCounts {
    let none = InterfaceCounters::default();
    let first = was.unwrap_or_default();
    let mut counts = SideCounts {
        user_s: seconds(is.user_ticks, first.user_ticks),
        system_s: seconds(is.system_ticks, first.system_ticks),
        ..SideCounts::default()
    };
    // An interface that does not exist, or is not yet entered, shows zeros.
    if first.interface == none || is.interface == none {
        return counts;
    }
    let amounts = is.interface.since(&first.interface).amounts;
    (counts.received, counts.sent) = (traffic(amounts.received), traffic(amounts.sent));
    let more = |was: u64, is: u64| advance(was, is).unwrap_or(0);
    counts.no_port = more(first.udp.no_port, is.udp.no_port);
    counts.receive_full = more(first.udp.receive_full, is.udp.receive_full);
    counts.send_full = more(first.udp.send_full, is.udp.send_full);
    counts
}

fn traffic(of: Traffic) -> TrafficCounts {
    let Traffic { bytes, packets, errors, drops } = of;
    TrafficCounts { packets, bytes, errors, drops }
}

fn cpu_sample(before: &MachineReading, now: &CpuTimes) -> Option<CpuSample> {
    let was = before.cpus.iter().find(|cpu| cpu.cpu == now.cpu)?;
    Some(CpuSample {
        cpu: now.cpu,
        busy_s: 0.0,
        idle_s: seconds(now.unused(), was.unused()),
        steal_s: seconds(now.steal, was.steal),
        softirq_s: seconds(now.softirq, was.softirq),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use counters::{Softnet, UdpCounters};

    use super::*;

    #[test]
    fn what_a_side_counts_begins_when_its_network_was_seen() {
        let traffic = |packets| Traffic { packets, bytes: packets * 85, errors: 1, drops: 2 };
        let reading = |packets, no_port, user_ticks| SideReading {
            user_ticks,
            system_ticks: user_ticks * 2,
            interface: InterfaceCounters { received: traffic(packets), sent: traffic(packets + 1) },
            udp: UdpCounters { no_port, ..UdpCounters::default() },
            ..SideReading::default()
        };
        let first = counts(None, &reading(1_000, 50, 10));
        assert_eq!((first.received.packets, first.no_port, first.user_s), (0, 0, 0.1));
        let next = counts(Some(reading(1_000, 50, 10)), &reading(1_400, 57, 13));
        assert_eq!((next.received.packets, next.received.bytes), (400, 34_000));
        assert_eq!((next.sent.packets, next.received.drops, next.no_port), (400, 0, 7));
        assert_eq!((next.user_s, next.system_s, next.process_s()), (0.03, 0.06, 0.09));
        // The side has ended: nothing went back.
        let ended = counts(Some(reading(1_400, 57, 13)), &SideReading::default());
        assert!(ended.is_empty(), "{ended:?}");
        // The side was read before it had entered its network, where the interface is another
        // one's.
        let outside = SideReading { interface: InterfaceCounters::default(), ..reading(0, 3, 1) };
        assert_eq!(counts(Some(outside), &reading(9, 40, 1)).no_port, 0);
    }

    #[test]
    fn counters_become_amounts_per_interval() {
        let reading = |ms, busy: u64, idle, drops: &[u64], dropped| MachineReading {
            at: Duration::from_millis(ms),
            cpus: vec![CpuTimes {
                cpu: 1,
                user: busy - busy / 2,
                softirq: busy / 2,
                idle,
                steal: 2,
                ..CpuTimes::default()
            }],
            softnet: Softnet { dropped, squeezed: 0 },
            sides: drops
                .iter()
                .map(|&socket_drops| SideReading {
                    socket_drops,
                    resident_bytes: 4096,
                    ..SideReading::default()
                })
                .collect(),
        };
        let readings = [
            reading(1000, 100, 500, &[7], 3),
            reading(1100, 108, 502, &[9, 4], 3),
            reading(1200, 118, 513, &[9, 0], 5),
            reading(1300, 118, 520, &[9, 0], 5),
        ];
        let samples = from_readings(&readings, true);
        assert_eq!(samples.len(), 3);
        let busy: Vec<f64> = samples.iter().map(|s| (s.cpus[0].busy_s * 1e3).round()).collect();
        // 110 ms idle within 100 ms is the kernel's rounding; the sum is right all the same.
        assert_eq!(busy, [80.0, 0.0, 20.0]);
        assert_eq!((samples[0].cpus[0].idle_s, samples[0].cpus[0].softirq_s), (0.02, 0.04));
        assert_eq!((samples[0].server_socket_drops, samples[0].generator_socket_drops), (2, 4));
        assert_eq!((samples[1].server_socket_drops, samples[1].generator_socket_drops), (0, 0));
        assert_eq!((samples[0].softnet_drops, samples[1].softnet_drops), (0, 2));
        let alone = &from_readings(&readings, false)[0];
        assert_eq!((alone.server_socket_drops, alone.generator_socket_drops), (0, 2));
        assert_eq!((alone.server_rss_bytes, alone.generator_rss_bytes), (0, 4096));
        assert!((samples[1].at_s - 1.2).abs() < 1e-9 && (samples[1].interval_s - 0.1).abs() < 1e-9);
    }
}
