//! Queues in which messages waited or were dropped on their way between generator and server: the
//! server's sockets, and the queueing disciplines at both ends of the link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the queues between generator and server in a trial as measured, whatever the plan
/// requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queues {
    /// Number of sockets at which the server received messages; 0 when the lab could not inspect
    /// them.
    pub sockets: u32,
    /// Smallest receive buffer of the server's sockets at the begin and the end of the trial, in
    /// bytes of the kernel's memory.
    pub receive_buffer_least_bytes: u64,
    /// Largest receive buffer of the server's sockets at the begin and the end of the trial, in
    /// bytes of the kernel's memory.
    pub receive_buffer_most_bytes: u64,
    /// Queueing discipline for packets that leave the generator's end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_server: Option<Qdisc>,
    /// Queueing discipline for packets that leave the server's end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_server: Option<Qdisc>,
}

/// Queueing discipline of a network interface and its counts in a trial. A discipline without a
/// queue counts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Qdisc {
    /// Kind of the queueing discipline, as `tc` names it.
    pub kind: String,
    /// Number of packets that the queueing discipline holds before it drops; 0 if it reports no
    /// limit.
    pub limit_packets: u64,
    /// Number of packets that passed the queueing discipline; a group of datagrams is one.
    pub packets: u64,
    /// Number of packets that the queueing discipline dropped.
    pub drops: u64,
    /// Number of packets that the interface did not take from the queueing discipline at once, so
    /// that they were queued again.
    pub requeues: u64,
}

impl Queues {
    /// Records a UDP socket of the server with a receive buffer of `bytes`, at the beginning or at
    /// the end of the trial.
    pub fn note_socket(&mut self, bytes: u64) {
        let least = self.receive_buffer_least_bytes;
        self.receive_buffer_least_bytes = if least == 0 { bytes } else { least.min(bytes) };
        self.receive_buffer_most_bytes = self.receive_buffer_most_bytes.max(bytes);
    }
}

impl Qdisc {
    /// Returns the counts of the queueing discipline since `before`; all counts if `before` was
    /// another discipline.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        if (&self.kind, self.limit_packets) != (&before.kind, before.limit_packets) {
            return self.clone();
        }
        Self {
            packets: self.packets.saturating_sub(before.packets),
            drops: self.drops.saturating_sub(before.drops),
            requeues: self.requeues.saturating_sub(before.requeues),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_another_discipline_are_no_beginning() {
        let pfifo = |limit_packets, drops| Qdisc {
            kind: "pfifo".to_owned(),
            limit_packets,
            drops,
            packets: drops * 3,
            ..Qdisc::default()
        };
        assert_eq!(pfifo(16, 9).since(&pfifo(16, 5)), pfifo(16, 4));
        assert_eq!(pfifo(16, 2).since(&pfifo(1_000, 5)), pfifo(16, 2));
    }

    #[test]
    fn receive_buffers_have_a_range() {
        let mut queues = Queues::default();
        for bytes in [40, 10, 20] {
            queues.note_socket(bytes);
        }
        let range = (queues.receive_buffer_least_bytes, queues.receive_buffer_most_bytes);
        assert_eq!(range, (10, 40));
    }
}
