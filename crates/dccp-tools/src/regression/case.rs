//! What is measured: the links, what is desired of them, and what Linux reached.

use std::ops::RangeInclusive;

use dccp::ccid::ccid3::equation;

use crate::options::CarrierName;

/// Octets of a datagram.
pub(super) const DATAGRAM_BYTES: usize = 1_424;
/// 100 Mbit/s Ethernet. What `tc` does not see of a frame: preamble, check sequence and gap, 24 octets.
const ETHERNET: &str = "delay 100us rate 100mbit 24";
/// Its bits in a second.
const LINE_RATE: f64 = 1e8;
/// Ethernet with all that belongs to it, IPv4, and the header of a Data packet.
const HEADERS_BYTES: f64 = 38.0 + 20.0 + 16.0;
/// Those of the encapsulation.
const UDP_BYTES: f64 = 8.0;

/// A link, or two with a router between them.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// On the command line.
    pub(super) name: &'static str,
    /// For people.
    pub(super) words: &'static str,
    /// What happens to packets, each way, in the words of `tc`.
    pub(super) link: &'static str,
    pub(super) is_routed: bool,
    /// Round-trip time in seconds and packet loss, where it is the losses that limit.
    loss: Option<(f64, f64)>,
    /// What three runs of CCID 3 reached with Linux in 2007, in Mbit/s.
    pub(super) linux_mbps: [f64; 3],
    /// The mean of CCID 3 lies in here, in bit/s.
    pub(super) accepted: RangeInclusive<f64>,
}

/// The cases of 2007.
pub(super) fn all() -> [Case; 4] {
    let filled = 94.5e6..=LINE_RATE;
    [
        Case {
            name: "direct",
            words: "direct, 100 Mbit/s",
            link: ETHERNET,
            is_routed: false,
            loss: None,
            linux_mbps: [92.6, 94.9, 94.9],
            accepted: filled.clone(),
        },
        Case {
            name: "routed",
            words: "routed, 100 Mbit/s",
            link: ETHERNET,
            is_routed: true,
            loss: None,
            linux_mbps: [94.9; 3],
            accepted: filled,
        },
        Case {
            name: "loss10",
            words: "10 % loss, 150 ms RTT",
            link: "delay 75ms loss 10%",
            is_routed: false,
            loss: Some((0.15, 0.1)),
            linux_mbps: [0.172, 0.199, 0.151],
            accepted: 125e3..=215e3,
        },
        Case {
            name: "loss1",
            words: "1 % loss, 40 ms RTT",
            link: "delay 20ms loss 1%",
            is_routed: false,
            loss: Some((0.04, 0.01)),
            linux_mbps: [3.28, 3.08, 3.03],
            accepted: 2.9e6..=3.7e6,
        },
    ]
}

impl Case {
    /// Bits of data in a second: what the equation of TFRC gives, or what the line takes.
    pub(super) fn desired(&self, carrier: CarrierName) -> f64 {
        let data_bytes = DATAGRAM_BYTES as f64;
        if let Some((rtt_s, loss)) = self.loss {
            return equation::rate(data_bytes, rtt_s, loss) * 8.0;
        }
        let headers_bytes = match carrier {
            CarrierName::Raw => HEADERS_BYTES,
            CarrierName::Udp => HEADERS_BYTES + UDP_BYTES,
        };
        LINE_RATE * data_bytes / (data_bytes + headers_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_desired_is_what_the_table_of_2007_says() {
        let desired = |name: &str, carrier| {
            let case = all().into_iter().find(|case| case.name == name).unwrap();
            case.desired(carrier)
        };
        // 131 Kbit and 3.05 Mbit there are binary.
        assert!((desired("loss10", CarrierName::Raw) / 1_024.0 - 131.28).abs() < 0.01);
        assert!((desired("loss1", CarrierName::Raw) / 1_048_576.0 - 3.051).abs() < 0.001);
        assert!((desired("direct", CarrierName::Raw) - 95.06e6).abs() < 5e3);
        assert!((desired("routed", CarrierName::Udp) - 94.56e6).abs() < 5e3);
    }
}
