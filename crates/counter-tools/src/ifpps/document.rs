//! JSON documents of `ifpps --json`: one for each interval, on a line each.

use counters::{CpuShares, Traffic};
use serde::Serialize;

use super::look::{CounterDifference, CounterReading, CpuLook};

/// Name and version of the JSON documents of `godwit ifpps`.
pub(crate) const SCHEMA: &str = "godwit.ifpps.v1";

/// JSON document of `godwit ifpps` for one interval.
#[derive(Debug, Serialize)]
pub(crate) struct IfppsDocument<'a> {
    schema: &'static str,
    interface: &'a str,
    /// Time at the end of the interval, in milliseconds since 1970.
    unixtime_ms: u64,
    /// Real length of the interval in seconds.
    interval_s: f64,
    /// True if the interface's counters began again: its traffic in the interval is not known and
    /// shown as 0.
    went_back: bool,
    received: DirectionTraffic,
    sent: DirectionTraffic,
    context_switches: u64,
    processes: u64,
    running: u64,
    blocked: u64,
    memory_kb: MemoryKb,
    /// Load of all processors together, in per cent of their time.
    all: CpuShares,
    cpus: Vec<ProcessorDocument>,
}

/// Traffic of the interface in one direction: amounts of the interval, rates, and totals since the
/// interface was made.
#[derive(Debug, Serialize)]
struct DirectionTraffic {
    #[serde(flatten)]
    amount: Traffic,
    bytes_per_s: f64,
    packets_per_s: f64,
    total: Traffic,
}

#[derive(Debug, Serialize)]
struct MemoryKb {
    total: u64,
    free: u64,
    used: u64,
    available: u64,
    swap_total: u64,
    swap_free: u64,
}

#[derive(Debug, Serialize)]
struct ProcessorDocument {
    cpu: u32,
    #[serde(flatten)]
    load: CpuShares,
    net_interrupts: u64,
    net_rx_softirqs: u64,
    net_tx_softirqs: u64,
    backlog_drops: u64,
    backlog_squeezes: u64,
}

impl<'a> IfppsDocument<'a> {
    pub(crate) fn of(interface: &'a str, now: &CounterReading, step: &CounterDifference) -> Self {
        let traffic = |amount: Traffic, total: Traffic| DirectionTraffic {
            amount,
            bytes_per_s: step.per_s(amount.bytes),
            packets_per_s: step.per_s(amount.packets),
            total,
        };
        let memory = &now.memory;
        Self {
            schema: SCHEMA,
            interface,
            unixtime_ms: now.wall_ms,
            interval_s: step.interval_s,
            went_back: step.went_back,
            received: traffic(step.carried.received, now.interface.received),
            sent: traffic(step.carried.sent, now.interface.sent),
            context_switches: step.context_switches,
            processes: now.processes,
            running: now.running,
            blocked: now.blocked,
            memory_kb: MemoryKb {
                total: memory.total_kb,
                free: memory.free_kb,
                used: memory.used_kb(),
                available: memory.available_kb,
                swap_total: memory.swap_total_kb,
                swap_free: memory.swap_free_kb,
            },
            all: step.all_cpus(),
            cpus: step.cpus.iter().map(processor).collect(),
        }
    }
}

fn processor(step: &CpuLook) -> ProcessorDocument {
    ProcessorDocument {
        cpu: step.times.cpu,
        load: CpuShares::of(&step.times),
        net_interrupts: step.net.interrupts,
        net_rx_softirqs: step.net.receive_softirqs,
        net_tx_softirqs: step.net.transmit_softirqs,
        backlog_drops: step.net.backlog_drops,
        backlog_squeezes: step.net.squeezes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::tests::recorded;
    use super::*;

    #[test]
    fn a_document_has_exact_amounts_and_real_rates() {
        let [before, now] = recorded();
        let step = CounterDifference::between(&before, &now, 2.0);
        let json = serde_json::to_value(IfppsDocument::of("eth0", &now, &step)).unwrap();
        assert_eq!((&json["schema"], &json["interface"]), (&SCHEMA.into(), &"eth0".into()));
        assert_eq!(
            (&json["received"]["packets"], &json["sent"]["packets"]),
            (&20.into(), &20.into())
        );
        assert_eq!(json["received"]["packets_per_s"], 10.0);
        assert_eq!(json["received"]["total"]["drops"], 4);
        assert_eq!((&json["cpus"][0]["soft"], &json["all"]["soft"]), (&20.0.into(), &10.0.into()));
        assert_eq!(json["cpus"][0]["backlog_drops"], 3);
        assert_eq!(json["went_back"], false);
    }
}
