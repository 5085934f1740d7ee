//! Counters of the kernel during a trial, as part of the trial's row in the report's table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{SideCounts, TrialRecord};

/// Counters of the kernel over one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelCounts {
    /// Counts of the server's interface, network and processes in the trial.
    pub server: SideCounts,
    /// Counts of the generator's interface, network and processes, from the first sample with the
    /// generator until it ended.
    pub generator: SideCounts,
    /// Number of datagrams dropped at the generator's sockets in the trial.
    pub generator_socket_drops: u64,
    /// Number of packets dropped at a full processor backlog in the trial.
    pub softnet_drops: u64,
    /// Number of times in the trial that a processor stopped receiving with packets left over
    /// (`time_squeeze` in `/proc/net/softnet_stat`).
    pub softnet_squeezes: u64,
    /// Share of the time of the server's processors that went into software interrupts in the
    /// trial, 0 to 1; time taken by the hypervisor is left out.
    pub softirq_share: f64,
}

impl KernelCounts {
    /// Returns the kernel's counters over a trial; `None` when the lab did not read them.
    pub fn from_trial(trial: &TrialRecord) -> Option<Self> {
        let digest = &trial.digest;
        let is_known = !(digest.server_counts.is_empty() && digest.generator_counts.is_empty());
        is_known.then(|| Self {
            server: digest.server_counts,
            generator: digest.generator_counts,
            generator_socket_drops: digest.generator_socket_drops,
            softnet_drops: digest.softnet_drops,
            softnet_squeezes: digest.softnet_squeezes,
            softirq_share: softirq_share(trial),
        })
    }
}

fn softirq_share(trial: &TrialRecord) -> f64 {
    let cpus = trial.samples.iter().flat_map(|sample| &sample.cpus);
    let server_cpus = cpus.filter(|cpu| trial.server_cpus.contains(&cpu.cpu));
    let (softirq_s, all_s) = server_cpus.fold((0.0, 0.0), |(softirq_s, all_s), cpu| {
        (softirq_s + cpu.softirq_s, all_s + cpu.busy_s + cpu.idle_s)
    });
    if all_s > 0.0 { softirq_s / all_s } else { 0.0 }
}
