//! Where messages waited on their way between generator and server, and were dropped: at the server's
//! sockets and at the queueing disciplines of both ends of the link.

use serde::{Deserialize, Serialize};

/// The queues of a trial as they really were, whatever was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queues {
    /// Sockets at which the server took messages; 0 when they could not be looked at.
    pub sockets: u32,
    /// The smallest receive buffer among them when the trial began and when it ended, octets of the
    /// kernel's memory.
    pub receive_buffer_least_bytes: u64,
    /// The largest.
    pub receive_buffer_most_bytes: u64,
    /// What was where packets leave the generator's end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_server: Option<Qdisc>,
    /// What was where packets leave the server's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_server: Option<Qdisc>,
}

/// A queueing discipline and what it counted in a trial. One that has no queue counts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Qdisc {
    /// Its kind, as `tc` names it.
    pub kind: String,
    /// Packets that it takes before it drops; 0 where it does not say.
    pub limit_packets: u64,
    /// Packets that passed; a group of datagrams is one.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: u64,
    /// Packets that the interface did not take at once.
    pub requeues: u64,
}

impl Queues {
    /// Notes a socket with a receive buffer of `bytes`, at the beginning or at the end.
    pub fn note_socket(&mut self, bytes: u64) {
        let least = self.receive_buffer_least_bytes;
        self.receive_buffer_least_bytes = if least == 0 { bytes } else { least.min(bytes) };
        self.receive_buffer_most_bytes = self.receive_buffer_most_bytes.max(bytes);
    }
}

impl Qdisc {
    /// What was counted since it was `before`; all of it when another one was there.
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
