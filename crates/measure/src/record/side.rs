//! Counts of the kernel for one side, the server's or the generator's: its interface, UDP in its
//! network, its processes.

use serde::{Deserialize, Serialize};

/// One direction of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficCounts {
    /// Packets; with segmentation one can be many datagrams.
    pub packets: u64,
    /// Bytes of frames.
    pub bytes: u64,
    /// Packets that were damaged, or failed to leave.
    pub errors: u64,
    /// Packets dropped for lack of buffer space.
    pub drops: u64,
}

/// Counts of one side over an interval or a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SideCounts {
    /// Traffic that its interface received; on loopback both sides have the same interface.
    pub received: TrafficCounts,
    /// Traffic that its interface sent.
    pub sent: TrafficCounts,
    /// Datagrams for a port without a socket.
    pub no_port: u64,
    /// Datagrams dropped because the receive buffer of a socket was full.
    pub receive_full: u64,
    /// Datagrams dropped because the send buffer of a socket was full.
    pub send_full: u64,
    /// Processor seconds of its processes in user mode, interrupts left out.
    pub user_s: f64,
    /// Processor seconds that the kernel used on behalf of its processes.
    pub system_s: f64,
}

impl TrafficCounts {
    const fn add(&mut self, more: &Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
        self.errors += more.errors;
        self.drops += more.drops;
    }
}

impl SideCounts {
    /// Adds the counts of a further interval.
    pub fn add(&mut self, more: &Self) {
        self.received.add(&more.received);
        self.sent.add(&more.sent);
        self.no_port += more.no_port;
        self.receive_full += more.receive_full;
        self.send_full += more.send_full;
        self.user_s += more.user_s;
        self.system_s += more.system_s;
    }

    /// Returns true if nothing is known, as in records of versions that did not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the processor seconds that the side's processes used.
    #[must_use]
    pub fn process_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}
