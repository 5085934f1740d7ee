//! Counts of the kernel for one side, the server's or the generator's: its interface, UDP in its
//! network, its processes.

use serde::{Deserialize, Serialize};

/// Counts of the traffic of an interface in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficCounts {
    /// Number of packets; with segmentation one packet can be many datagrams.
    pub packets: u64,
    /// Bytes of the frames that the interface counted.
    pub bytes: u64,
    /// Number of packets that were damaged, or failed to leave.
    pub errors: u64,
    /// Number of packets dropped for lack of buffer space.
    pub drops: u64,
}

/// Counts of the kernel for one side, the server's or the generator's, over an interval or a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SideCounts {
    /// Traffic that the side's interface received; on loopback both sides have the same interface.
    pub received: TrafficCounts,
    /// Traffic that the side's interface sent.
    pub sent: TrafficCounts,
    /// Number of datagrams that came for a port without a socket.
    pub no_port: u64,
    /// Number of datagrams dropped because the receive buffer of a socket was full.
    pub receive_full: u64,
    /// Number of datagrams dropped because the send buffer of a socket was full.
    pub send_full: u64,
    /// Processor seconds of the side's processes in user mode, interrupts left out.
    pub user_s: f64,
    /// Processor seconds that the kernel used on behalf of the side's processes.
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
    /// Adds the side's counts of a further interval.
    pub fn add(&mut self, more: &Self) {
        self.received.add(&more.received);
        self.sent.add(&more.sent);
        self.no_port += more.no_port;
        self.receive_full += more.receive_full;
        self.send_full += more.send_full;
        self.user_s += more.user_s;
        self.system_s += more.system_s;
    }

    /// Returns true if no count of the side is known, as in records of versions that did not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the processor seconds that the side's processes used in user mode and in the kernel.
    #[must_use]
    pub fn process_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}
