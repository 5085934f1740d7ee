//! Counts of packets dropped between both ends of a part, layer by layer: they explain a loss on a
//! path without impairment.

use std::fmt;

use super::machine::{TAP, VirtualMachine};

/// Numbers of packets dropped between both ends, by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LayerDrops {
    /// Drops at the host's end of the interface, whose queue the machine reads.
    tap: u64,
    /// Drops in the queues of the machine's interfaces.
    queues: u64,
    /// Drops in the queue of packets that the machine's processor has not processed yet.
    backlog: u64,
    /// Drops in sockets of the gateway.
    pub(super) gateway: u64,
    /// Drops in the receive queue of the reading end: its own or that of its socket.
    pub(super) receiver: u64,
}

impl LayerDrops {
    /// Returns the number of packets dropped in all layers.
    pub(super) const fn sum(self) -> u64 {
        self.tap + self.queues + self.backlog + self.gateway + self.receiver
    }

    /// Reads the counters between the ends.
    pub(super) fn read(machine: &mut VirtualMachine) -> Self {
        let mut command = machine.here();
        let counter =
            |direction: &str| format!("/sys/class/net/{TAP}/statistics/{direction}_dropped");
        let output = command.arg("cat").args(["rx", "tx"].map(counter)).output();
        let text = String::from_utf8(output.expect("cat runs").stdout).expect("it is text");
        let tap = text.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum();
        let text = machine.run(
            "/bin/tc -s qdisc show; while read -r _ dropped _; do echo backlog $dropped; done \
             </proc/net/softnet_stat",
        );
        let backlog = text.lines().filter_map(|line| line.strip_prefix("backlog "));
        let backlog = backlog.filter_map(|count| u64::from_str_radix(count, 16).ok()).sum();
        Self { tap, queues: dropped_by_queues(&text), backlog, ..Self::default() }
    }

    /// Returns the drops since `before`. The queues were recreated then, so their count stays.
    pub(super) const fn since(self, before: Self) -> Self {
        let (tap, backlog) = (self.tap - before.tap, self.backlog - before.backlog);
        Self { tap, backlog, ..self }
    }
}

/// Returns the sum of `(dropped 3, overlimits 0 requeues 0)` over all queues.
fn dropped_by_queues(text: &str) -> u64 {
    let counts = text.split("(dropped ").skip(1);
    counts.filter_map(|rest| rest.split(',').next()?.parse::<u64>().ok()).sum()
}

impl fmt::Display for LayerDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tap, queues, backlog, gateway, receiver } = self;
        write!(
            f,
            "dropped by the tap {tap}, by queues {queues}, by the machine's backlog {backlog}, in \
             the gateway {gateway}, at the receiver {receiver}"
        )
    }
}

/// Returns the number of drops that `godwit dccp recv` prints.
pub(super) fn unread_drops(output_text: &str) -> u64 {
    let line =
        output_text.lines().find(|line| line.contains(" more datagrams arrived and were dropped"));
    line.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn drops_are_read_where_they_are_told() {
    let text = " Sent 1 bytes 1 pkt (dropped 3, overlimits 0 requeues 0)\n\
                 Sent 2 bytes 2 pkt (dropped 24, overlimits 0 requeues 0)\n";
    assert_eq!(dropped_by_queues(text), 27);
    let output_text = "received 1 bytes in 1 datagrams\n\
                10 more datagrams arrived and were dropped, because the earlier ones were not \
                written in time\n";
    assert_eq!((unread_drops(output_text), unread_drops("received")), (10, 0));
}
