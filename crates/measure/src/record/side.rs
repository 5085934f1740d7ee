//! Counts of the kernel for the server or the generator, one side of a trial: its interface, UDP in
//! its network namespace, its processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of the traffic of a network interface in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrafficCounts {
    /// Number of packets that the interface counted; with UDP segmentation one packet can be many
    /// datagrams.
    pub packets: u64,
    /// Bytes of the frames that the interface counted.
    pub bytes: u64,
    /// Number of packets that arrived damaged, or failed to leave the interface.
    pub errors: u64,
    /// Number of packets that the interface dropped for lack of buffer space.
    pub drops: u64,
}

/// Counts of the kernel for one side of a trial, the server's or the generator's, over an interval
/// or the whole trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SideCounts {
    /// Traffic that the interface of the server or generator received; on loopback both have the
    /// same interface.
    pub received: TrafficCounts,
    /// Traffic that the interface of the server or generator sent.
    pub sent: TrafficCounts,
    /// Number of datagrams that came for a UDP port without a socket.
    pub no_port: u64,
    /// Number of datagrams dropped because the receive buffer of a UDP socket was full.
    pub receive_full: u64,
    /// Number of datagrams dropped because the send buffer of a UDP socket was full.
    pub send_full: u64,
    /// Processor seconds in user mode of the server's or generator's processes, interrupts left
    /// out.
    pub user_s: f64,
    /// Processor seconds that the kernel used on behalf of the server's or generator's processes.
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
    /// Adds the counts of a further interval of the same side (server or generator).
    pub fn add(&mut self, more: &Self) {
        self.received.add(&more.received);
        self.sent.add(&more.sent);
        self.no_port += more.no_port;
        self.receive_full += more.receive_full;
        self.send_full += more.send_full;
        self.user_s += more.user_s;
        self.system_s += more.system_s;
    }

    /// Returns true if no count of the side (server or generator) is known, as in records of
    /// versions that did not count.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the processor seconds that the processes of the side (server or generator) used in
    /// user mode and in the kernel.
    pub fn process_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}
