//! Samples of the kernel's counters, read at intervals while a trial runs, and their digest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SideCounts;

/// State of the machine over one sampling interval of a trial. Amounts are those of the interval,
/// not since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineSample {
    /// End of the sampling interval, in seconds since the run began.
    pub at_s: f64,
    /// Length of the sampling interval, in seconds.
    pub interval_s: f64,
    /// Times of the watched processors in the interval, one entry each.
    pub cpus: Vec<CpuSample>,
    /// Processor seconds in the interval of the server's own processes, and of those that work for
    /// it, such as its database; `None` in records of versions that did not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_process_s: Option<f64>,
    /// Resident memory of the server with its children, in bytes; 0 when unknown.
    pub server_rss_bytes: u64,
    /// Resident memory of the generator, in bytes; 0 when unknown.
    pub generator_rss_bytes: u64,
    /// Number of datagrams dropped at the server's sockets (full receive buffer) in the interval.
    pub server_socket_drops: u64,
    /// Number of datagrams dropped at the generator's sockets in the interval.
    pub generator_socket_drops: u64,
    /// Number of packets dropped in the interval because a processor's backlog was full
    /// (`/proc/net/softnet_stat`, second column), on all processors.
    pub softnet_drops: u64,
    /// Number of times in the interval that a processor stopped receiving with packets left over
    /// (`/proc/net/softnet_stat`, third column, `time_squeeze`).
    pub softnet_squeezes: u64,
    /// Counts of the server's interface, network and processes in the interval.
    #[serde(skip_serializing_if = "SideCounts::is_empty")]
    pub server_counts: SideCounts,
    /// Counts of the generator's interface, network and processes in the interval, while the
    /// generator existed.
    #[serde(skip_serializing_if = "SideCounts::is_empty")]
    pub generator_counts: SideCounts,
}

/// Time of one processor in a sampling interval by its use, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuSample {
    /// Number by which the kernel knows the processor.
    pub cpu: u32,
    /// Time that the processor was used, in seconds: elapsed minus idle minus steal (taken by the
    /// hypervisor).
    pub busy_s: f64,
    /// Idle time of the processor, in seconds, waiting for input and output included.
    pub idle_s: f64,
    /// Time that the hypervisor took from the processor, in seconds.
    pub steal_s: f64,
    /// Part of `busy_s` that the processor spent in software interrupts (network receive, mostly),
    /// in seconds.
    pub softirq_s: f64,
}

/// Returns the processor seconds of the server over `samples`, on the processors that the lab gave
/// to the server.
///
/// The sum is the time of the server's own processes, and its share of the time in software
/// interrupts, which is the share of its processes in everything else that ran on these processors.
/// So neither the use of other programs counts nor the time stolen by the hypervisor. The result is
/// at most all time used (elapsed minus idle minus steal); it is that time when the samples have no
/// processes.
pub fn server_cpu_s<'s>(
    samples: impl Iterator<Item = &'s MachineSample>,
    server_cpus: &[u32],
) -> f64 {
    let (mut busy_s, mut softirq_s, mut process_s) = (0.0, 0.0, Some(0.0));
    for sample in samples {
        for cpu in sample.cpus.iter().filter(|cpu| server_cpus.contains(&cpu.cpu)) {
            busy_s += cpu.busy_s;
            softirq_s += cpu.softirq_s;
        }
        process_s = process_s.zip(sample.server_process_s).map(|(sum, more)| sum + more);
    }
    let Some(process_s) = process_s else { return busy_s };
    let others_s = busy_s - softirq_s;
    let share = if others_s > process_s { process_s / others_s } else { 1.0 };
    f64::min(process_s + softirq_s * share, busy_s)
}

/// Digest of a trial's samples of the machine: sums over the trial, and the largest sizes of
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SampleDigest {
    /// Processor seconds of the server in the trial; see [`server_cpu_s`].
    pub server_cpu_s: f64,
    /// Time that the generator's processors were used in the trial, in seconds: elapsed minus idle
    /// minus steal.
    pub generator_cpu_s: f64,
    /// Seconds of the trial that the hypervisor took from all watched processors together.
    pub steal_s: f64,
    /// Share of the watched processors' time that the hypervisor took in the trial, 0 to 1.
    pub steal_share: f64,
    /// Largest resident memory of the server in the trial, in bytes.
    pub server_rss_bytes: u64,
    /// Largest resident memory of the generator in the trial, in bytes.
    pub generator_rss_bytes: u64,
    /// Number of datagrams dropped at the server's sockets in the trial.
    pub server_socket_drops: u64,
    /// Number of datagrams dropped at the generator's sockets in the trial.
    pub generator_socket_drops: u64,
    /// Number of packets dropped at a full processor backlog in the trial.
    pub softnet_drops: u64,
    /// Number of times in the trial that a processor stopped receiving with packets left over
    /// (`time_squeeze` in `/proc/net/softnet_stat`).
    pub softnet_squeezes: u64,
    /// Counts of the server's interface, network and processes in the trial.
    #[serde(skip_serializing_if = "SideCounts::is_empty")]
    pub server_counts: SideCounts,
    /// Counts of the generator's interface, network and processes, from the first sample with the
    /// generator until it ended: packets of its first and last interval may be missing.
    #[serde(skip_serializing_if = "SideCounts::is_empty")]
    pub generator_counts: SideCounts,
}

impl SampleDigest {
    /// Adds up `samples` of a trial. When server and generator share processors (`server_cpus` and
    /// `generator_cpus` overlap), the time used on the shared ones is charged to both: the caller
    /// should know that and warn.
    pub fn from_samples(
        samples: &[MachineSample],
        server_cpus: &[u32],
        generator_cpus: &[u32],
    ) -> Self {
        let mut digest = Self::default();
        let mut elapsed_s = 0.0;
        for sample in samples {
            for cpu in &sample.cpus {
                elapsed_s += cpu.busy_s + cpu.idle_s + cpu.steal_s;
                digest.steal_s += cpu.steal_s;
                if generator_cpus.contains(&cpu.cpu) {
                    digest.generator_cpu_s += cpu.busy_s;
                }
            }
            digest.server_rss_bytes = digest.server_rss_bytes.max(sample.server_rss_bytes);
            digest.generator_rss_bytes = digest.generator_rss_bytes.max(sample.generator_rss_bytes);
            digest.server_socket_drops += sample.server_socket_drops;
            digest.generator_socket_drops += sample.generator_socket_drops;
            digest.softnet_drops += sample.softnet_drops;
            digest.softnet_squeezes += sample.softnet_squeezes;
            digest.server_counts.add(&sample.server_counts);
            digest.generator_counts.add(&sample.generator_counts);
        }
        digest.server_cpu_s = server_cpu_s(samples.iter(), server_cpus);
        if elapsed_s > 0.0 {
            digest.steal_share = digest.steal_s / elapsed_s;
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::TrafficCounts;
    use super::*;

    #[test]
    fn the_load_of_a_server_is_its_own_not_its_processors() {
        let cpu = |busy_s, softirq_s| CpuSample {
            cpu: 1,
            busy_s,
            idle_s: 1.0 - busy_s,
            softirq_s,
            ..CpuSample::default()
        };
        let of = |busy_s, softirq_s, server_process_s| {
            let (cpus, other) = (vec![cpu(busy_s, softirq_s)], cpu(1.0, 0.5));
            let cpus = [cpus, vec![CpuSample { cpu: 0, ..other }]].concat();
            let sample = MachineSample { cpus, server_process_s, ..MachineSample::default() };
            server_cpu_s([sample].iter(), &[1])
        };
        let is = |actual: f64, expected: f64| assert!((actual - expected).abs() < 1e-9, "{actual}");
        // The server is alone on its processor, so all of the time is the server's.
        is(of(0.5, 0.125, Some(0.375)), 0.5);
        // Another program fills the processor: a fifth of the interrupts is the server's.
        is(of(1.0, 0.25, Some(0.15)), 0.2);
        // The processes' times are more exact than idle time.
        is(of(0.5, 0.125, Some(0.5)), 0.5);
        is(of(0.5, 0.125, Some(0.0)), 0.0);
        is(of(0.5, 0.125, None), 0.5);
    }

    #[test]
    fn adds_up_by_the_processors_given() {
        let cpu = |cpu, busy_s, steal_s| CpuSample {
            cpu,
            busy_s,
            steal_s,
            idle_s: 1.0 - busy_s - steal_s,
            softirq_s: 0.0,
        };
        let counts = |packets, user_s| SideCounts {
            sent: TrafficCounts { packets, ..TrafficCounts::default() },
            user_s,
            ..SideCounts::default()
        };
        let samples = [
            MachineSample {
                cpus: vec![cpu(0, 0.5, 0.25), cpu(1, 0.125, 0.0)],
                server_rss_bytes: 10,
                softnet_drops: 3,
                server_counts: counts(7, 0.25),
                ..MachineSample::default()
            },
            MachineSample {
                cpus: vec![cpu(0, 0.25, 0.25), cpu(1, 0.5, 0.0)],
                server_rss_bytes: 7,
                softnet_drops: 1,
                server_counts: counts(5, 0.5),
                ..MachineSample::default()
            },
        ];
        let digest = SampleDigest::from_samples(&samples, &[0], &[1]);
        assert_eq!(digest.server_cpu_s, 0.75);
        assert_eq!(digest.generator_cpu_s, 0.625);
        assert_eq!(digest.steal_s, 0.5);
        assert_eq!(digest.steal_share, 0.125);
        assert_eq!((digest.server_rss_bytes, digest.softnet_drops), (10, 4));
        assert_eq!(digest.server_counts, counts(12, 0.75));
        assert!(digest.generator_counts.is_empty());
        assert_eq!(SampleDigest::from_samples(&[], &[0], &[1]), SampleDigest::default());
    }
}
