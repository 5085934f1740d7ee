//! What is measured: the links, what is desired of them, and what Linux reached.

use std::ops::RangeInclusive;

use dccp::ccid::ccid3::equation;

use crate::options::CarrierName;

/// Octets of a datagram over IPv4.
const DATAGRAM_BYTES: usize = 1_424;
/// Octets of a frame of Ethernet behind its header.
const FRAME_BYTES: usize = 1_500;
/// 100 Mbit/s Ethernet. What `tc` does not see of a frame: preamble, check sequence and gap, 24 octets.
const ETHERNET: &str = "delay 100us rate 100mbit 24";
/// Its words without those octets.
const ETHERNET_BARE: &str = "delay 100us rate 100mbit";
/// Its bits in a second.
const LINE_RATE: f64 = 1e8;
/// Ethernet with all that belongs to it.
const ETHERNET_BYTES: usize = 38;
/// The header of a Data packet.
const DCCP_BYTES: usize = 16;
/// The least of what a line takes that is accepted, as 94.5 of 95.06 Mbit/s.
const FILLED: f64 = 0.994;

/// What packets of DCCP are inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrapping {
    pub(super) carrier: CarrierName,
    pub(super) is_v6: bool,
}

impl Wrapping {
    /// Octets in front of a packet of DCCP within a frame.
    pub(super) const fn headers_bytes(self) -> usize {
        let ip_bytes = if self.is_v6 { 40 } else { 20 };
        match self.carrier {
            CarrierName::Raw => ip_bytes,
            CarrierName::Udp => ip_bytes + 8,
        }
    }

    /// Octets of a packet of DCCP that fills a frame.
    pub(super) const fn packet_bytes_max(self) -> usize {
        FRAME_BYTES - self.headers_bytes()
    }

    /// Octets of a datagram: over IPv6 less, so that packets with options fit a frame.
    pub(super) const fn datagram_bytes(self) -> usize {
        if self.is_v6 { DATAGRAM_BYTES - 20 } else { DATAGRAM_BYTES }
    }

    /// For people.
    pub(super) const fn words(self) -> &'static str {
        match (self.carrier, self.is_v6) {
            (CarrierName::Raw, false) => "over IPv4",
            (CarrierName::Raw, true) => "over IPv6",
            (CarrierName::Udp, false) => "inside of UDP over IPv4",
            (CarrierName::Udp, true) => "inside of UDP over IPv6",
        }
    }
}

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
    pub(super) loss: Option<(f64, f64)>,
    /// What three runs of CCID 3 reached with Linux in 2007, in Mbit/s.
    pub(super) linux_mbps: [f64; 3],
    /// The mean of CCID 3 lies in here, in bit/s, over IPv4.
    accepted: RangeInclusive<f64>,
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
    pub(super) fn desired(&self, wrapping: Wrapping) -> f64 {
        let data_bytes = wrapping.datagram_bytes();
        if let Some((rtt_s, loss)) = self.loss {
            return equation::rate(data_bytes as f64, rtt_s, loss) * 8.0;
        }
        let headers_bytes = ETHERNET_BYTES + wrapping.headers_bytes() + DCCP_BYTES;
        LINE_RATE * data_bytes as f64 / (data_bytes + headers_bytes) as f64
    }

    /// The least and the most that the mean of CCID 3 may be, in bit/s.
    pub(super) fn accepted(&self, wrapping: Wrapping) -> [f64; 2] {
        let least = match self.loss {
            // Longer headers leave less of the line.
            None if wrapping.is_v6 => self.desired(wrapping) * FILLED,
            _ => *self.accepted.start(),
        };
        [least, *self.accepted.end()]
    }

    /// What happens to packets from the DCCP header on, each way, hop by hop: on the virtual clock nothing is
    /// around them, and what is on a line has to be said.
    pub(super) fn hops(&self, wrapping: Wrapping) -> Vec<String> {
        let hop = if self.link == ETHERNET {
            format!("{ETHERNET_BARE} {}", ETHERNET_BYTES + wrapping.headers_bytes())
        } else {
            self.link.to_owned()
        };
        vec![hop; if self.is_routed { 2 } else { 1 }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: Wrapping = Wrapping { carrier: CarrierName::Raw, is_v6: false };

    #[test]
    fn what_is_desired_is_what_the_table_of_2007_says() {
        let desired = |name: &str, wrapping| {
            let case = all().into_iter().find(|case| case.name == name).unwrap();
            case.desired(wrapping)
        };
        // 131 Kbit and 3.05 Mbit there are binary.
        assert!((desired("loss10", RAW) / 1_024.0 - 131.28).abs() < 0.01);
        assert!((desired("loss1", RAW) / 1_048_576.0 - 3.051).abs() < 0.001);
        assert!((desired("direct", RAW) - 95.06e6).abs() < 5e3);
        let udp = Wrapping { carrier: CarrierName::Udp, is_v6: false };
        assert!((desired("routed", udp) - 94.56e6).abs() < 5e3);
        // 1,404 octets of data in frames of 1,498.
        let v6 = Wrapping { is_v6: true, ..RAW };
        assert!((desired("direct", v6) - 1e8 * 1_404.0 / 1_498.0).abs() < 1.0);
    }

    #[test]
    fn a_line_of_the_virtual_clock_takes_what_a_real_one_takes() {
        let hops = all().map(|case| case.hops(RAW));
        assert_eq!(hops[0], ["delay 100us rate 100mbit 58"]);
        assert_eq!(hops[1].len(), 2);
        assert_eq!(hops[3], ["delay 20ms loss 1%"]);
    }
}
