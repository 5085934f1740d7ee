//! Reader of `/proc/net/dev`: the traffic of the interfaces of a network namespace.

use serde::Serialize;

use crate::advance;

/// Traffic of an interface in one direction, since the interface was made or over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of bytes in the frames, without their check sequences.
    pub bytes: u64,
    /// Number of packets; with segmentation offload one packet can be many datagrams.
    pub packets: u64,
    /// Number of packets that were dropped because a queue was full.
    pub drops: u64,
    /// Number of packets that were damaged on arrival or failed to leave.
    pub errors: u64,
}

/// Traffic counters of one interface since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Traffic that the interface received.
    pub received: Traffic,
    /// Traffic that the interface sent.
    pub sent: Traffic,
}

/// Traffic of an interface between two readings of its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficStep {
    /// Traffic between the readings in both directions; all zero if a counter went back.
    pub amounts: InterfaceCounters,
    /// True if a counter of the interface went back: the interface was made anew, or its driver
    /// began again. The traffic between the readings is not known then.
    pub went_back: bool,
}

impl Traffic {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            bytes: advance(before.bytes, self.bytes)?,
            packets: advance(before.packets, self.packets)?,
            errors: advance(before.errors, self.errors)?,
            drops: advance(before.drops, self.drops)?,
        })
    }
}

impl InterfaceCounters {
    /// Returns the traffic of the interface since the earlier reading `before`.
    pub fn since(&self, before: &Self) -> TrafficStep {
        let received = self.received.since(&before.received);
        let sent = self.sent.since(&before.sent);
        match (received, sent) {
            (Some(received), Some(sent)) => {
                TrafficStep { amounts: Self { received, sent }, went_back: false }
            }
            _ => TrafficStep { amounts: Self::default(), went_back: true },
        }
    }
}

/// Returns the names of the interfaces in `/proc/net/dev`, in the kernel's order.
pub fn parse_interface_names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect()
}

/// Returns the counters in the line of `interface` in `/proc/net/dev`; `None` if there is no such
/// line.
pub fn parse_interface(text: &str, interface: &str) -> Option<InterfaceCounters> {
    let columns = text.lines().find_map(|line| {
        let (name, columns) = line.split_once(':')?;
        (name.trim() == interface).then_some(columns)
    })?;
    let columns: Vec<u64> =
        columns.split_ascii_whitespace().filter_map(|column| column.parse().ok()).collect();
    let traffic = |first: usize| {
        Some(Traffic {
            bytes: *columns.get(first)?,
            packets: *columns.get(first + 1)?,
            errors: *columns.get(first + 2)?,
            drops: *columns.get(first + 3)?,
        })
    };
    Some(InterfaceCounters { received: traffic(0)?, sent: traffic(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text printed by Linux 6.18, with one more line in the form of older kernels.
    const DEVICES: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 66171533152 40154604    0    0    0     0          0         0 66171533152 40154604    0    0    0     0       0          0
  gw01:       1       1    1    1    0    0          0         0        1       1    0    1    0     0       0          0
   gw0:    3193      29    2    4    5    6          7         8     3194      28    9   10   11    12      13         14
  old0:17 3 0 0 0 0 0 0 18 4 0 0 0 0 0 0
";

    #[test]
    fn interfaces_are_found_by_their_whole_name() {
        let received = Traffic { bytes: 3193, packets: 29, errors: 2, drops: 4 };
        let sent = Traffic { bytes: 3194, packets: 28, errors: 9, drops: 10 };
        let found = parse_interface(DEVICES, "gw0");
        assert_eq!(found, Some(InterfaceCounters { received, sent }));
        assert_eq!(parse_interface(DEVICES, "lo").unwrap().sent.bytes, 66_171_533_152);
        assert_eq!(parse_interface(DEVICES, "old0").unwrap().received.packets, 3);
        for name in ["eth0", "gw", "w0", "", "face |bytes"] {
            assert_eq!(parse_interface(DEVICES, name), None, "{name}");
        }
        assert_eq!(parse_interface("eth0: 1 2 3 4 5 6 7 8 9", "eth0"), None, "it is cut off");
        assert_eq!(parse_interface_names(DEVICES), ["lo", "gw01", "gw0", "old0"]);
    }

    #[test]
    fn an_interface_that_was_made_anew_carried_nobody_knows_what() {
        let traffic = |bytes, packets| Traffic { bytes, packets, errors: 0, drops: 0 };
        let look = |received, sent| InterfaceCounters { received, sent };
        let before = look(traffic(3_000_000_000, 5_000), traffic(7, 1));
        let after = look(traffic(3_000_000_100, 5_001), traffic(14, 2));
        let step = after.since(&before);
        assert_eq!(step.amounts, look(traffic(100, 1), traffic(7, 1)));
        assert!(!step.went_back);
        // The bytes alone could have wrapped at 32 bits; the packets show that they have not.
        let anew = look(traffic(60, 1), traffic(0, 0));
        assert_eq!(anew.since(&before), TrafficStep { went_back: true, ..TrafficStep::default() });
        let wrapped = look(traffic(50, 5_010), traffic(7, 1));
        let step = wrapped.since(&look(traffic((1 << 32) - 50, 5_000), traffic(7, 1)));
        assert_eq!(step.amounts.received, traffic(100, 10));
    }
}
