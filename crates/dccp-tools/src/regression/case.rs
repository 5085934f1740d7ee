//! Cases of a regression plan: their emulated links, the desired rates, and the rates that Linux
//! reached in 2007.

use std::sync::LazyLock;

use dccp::ccid::ccid3::equation;
use measure::regression::{CasePlan, RegressionCarrier, RegressionPlan};

use crate::options::CarrierName;

/// Largest size of an Ethernet frame's payload, in bytes.
const FRAME_BYTES: usize = 1_500;
/// Bytes of a frame's Ethernet header, which `tc` counts, too.
const ETHERNET_HEADER_BYTES: usize = 14;
/// Bytes of the DCCP header of a Data packet.
const DCCP_BYTES: usize = 16;
/// Bytes by which an IPv6 header is longer than an IPv4 header.
const V6_BYTES: usize = 20;
/// Least accepted share of a link's capacity, such as 94.5 of 95.06 Mbit/s.
const FILLED: f64 = 0.994;

/// Returns the regression plan that Godwit ships: the cases by which Linux was measured in 2007.
pub(super) fn shipped() -> &'static RegressionPlan {
    static PLAN: LazyLock<RegressionPlan> = LazyLock::new(|| {
        let text = include_str!("../../../../plans/dccp-regression.toml");
        RegressionPlan::parse("dccp-regression.toml", text).expect("a test reads it")
    });
    &PLAN
}

/// Returns the names of the cases in the plan that Godwit ships.
pub(super) fn shipped_names() -> Vec<&'static str> {
    shipped().cases.iter().map(|case| case.name.as_str()).collect()
}

pub(super) const fn carrier_name(carrier: RegressionCarrier) -> CarrierName {
    match carrier {
        RegressionCarrier::Raw => CarrierName::Raw,
        RegressionCarrier::Udp => CarrierName::Udp,
    }
}

/// Carrier, IP version and length of a measurement's datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatagramHeaders {
    pub(super) carrier: CarrierName,
    pub(super) is_v6: bool,
    /// Length of a DCCP datagram over IPv4, in bytes.
    pub(super) v4_bytes: usize,
}

impl DatagramHeaders {
    /// Returns the number of bytes before the DCCP header in a frame's payload.
    pub(super) const fn headers_bytes(self) -> usize {
        let ip_bytes = if self.is_v6 { 20 + V6_BYTES } else { 20 };
        match self.carrier {
            CarrierName::Raw => ip_bytes,
            CarrierName::Udp => ip_bytes + 8,
        }
    }

    /// Returns the length of a DCCP packet that fills a frame, in bytes.
    pub(super) const fn packet_bytes_max(self) -> usize {
        FRAME_BYTES - self.headers_bytes()
    }

    /// Returns the length of a datagram over the IP version in use, in bytes.
    pub(super) const fn datagram_bytes(self) -> usize {
        over_ip(self.v4_bytes, self.is_v6)
    }

    /// Returns a description of the carrier and IP version, for users.
    pub(super) const fn words(self) -> &'static str {
        match (self.carrier, self.is_v6) {
            (CarrierName::Raw, false) => "over IPv4",
            (CarrierName::Raw, true) => "over IPv6",
            (CarrierName::Udp, false) => "in UDP over IPv4",
            (CarrierName::Udp, true) => "in UDP over IPv6",
        }
    }
}

/// Returns the length in bytes of datagrams that have `v4_bytes` over IPv4: less over IPv6 if
/// packets with options would not fit into a frame.
pub(crate) const fn over_ip(v4_bytes: usize, is_v6: bool) -> usize {
    let longest = crate::perf::DATAGRAM_BYTES - V6_BYTES;
    if is_v6 && v4_bytes > longest { longest } else { v4_bytes }
}

/// Case of a regression: a link, or two with a router between them, with the desired rate.
#[derive(Clone, Debug)]
pub(super) struct RegressionCase {
    /// Name of the case on the command line.
    pub(super) name: String,
    /// Description of the case, for users.
    pub(super) words: String,
    /// Settings of the emulated link in each direction, in the words of `tc`.
    pub(super) link: String,
    pub(super) is_routed: bool,
    line: Option<LinkRateLimit>,
    /// Round-trip time in seconds and share of lost packets; `None` for a link without losses.
    loss: Option<(f64, f64)>,
    /// Rates that Linux reached with CCID 3 in 2007, in bits per second.
    pub(super) linux_bits_per_s: Option<Vec<f64>>,
    /// Accepted range of the mean of CCID 3 over IPv4, in bits per second.
    accepted: Option<[f64; 2]>,
}

/// Rate and overhead of a case's link.
#[derive(Clone, Debug)]
struct LinkRateLimit {
    bits_per_s: f64,
    overhead_bytes: usize,
    /// Settings of the link without the overhead, in the words of `tc`.
    bare: String,
}

impl RegressionCase {
    pub(super) fn from_plan(plan: &CasePlan) -> Self {
        let mut bare = format!("delay {}", plan.delay.words());
        if let Some(percent) = plan.loss_percent {
            bare += &format!(" loss {percent}%");
        }
        if let Some(rate) = &plan.rate {
            bare += &format!(" rate {}", rate.words());
        }
        let link = match plan.overhead_bytes {
            0 => bare.clone(),
            bytes => format!("{bare} {bytes}"),
        };
        let hops = if plan.is_routed { 2 } else { 1 };
        let bits = |mbps: &f64| (mbps * 1e6).round();
        Self {
            name: plan.name.clone(),
            words: plan.title.clone(),
            link,
            is_routed: plan.is_routed,
            line: plan.rate.as_ref().map(|rate| LinkRateLimit {
                bits_per_s: rate.bits_per_s(),
                overhead_bytes: plan.overhead_bytes as usize,
                bare,
            }),
            loss: plan.loss_percent.map(|percent| {
                let each = percent / 100.0;
                let loss = if hops == 1 { each } else { 1.0 - (1.0 - each).powi(hops) };
                (2.0 * f64::from(hops) * plan.delay.seconds(), loss)
            }),
            linux_bits_per_s: (!plan.linux_2007_mbps.is_empty())
                .then(|| plan.linux_2007_mbps.iter().map(bits).collect()),
            accepted: plan.accepted_mbps.map(|range| range.map(|mbps| bits(&mbps))),
        }
    }

    /// Returns the desired rate of data in bits per second: that of TFRC's equation, or the
    /// capacity of the link if that is less.
    pub(super) fn desired(&self, wrapping: DatagramHeaders) -> f64 {
        let data_bytes = wrapping.datagram_bytes();
        let by_losses = self.loss.map_or(f64::INFINITY, |(rtt_s, loss)| {
            equation::rate(data_bytes as f64, rtt_s, loss) * 8.0
        });
        let by_line = self.line.as_ref().map_or(f64::INFINITY, |line| {
            let headers_bytes =
                line.overhead_bytes + ETHERNET_HEADER_BYTES + wrapping.headers_bytes() + DCCP_BYTES;
            line.bits_per_s * data_bytes as f64 / (data_bytes + headers_bytes) as f64
        });
        by_losses.min(by_line)
    }

    /// Returns the round-trip time in seconds and the share of lost packets, if losses limit the
    /// desired rate.
    pub(super) fn limiting_loss(&self, wrapping: DatagramHeaders) -> Option<(f64, f64)> {
        let data_bytes = wrapping.datagram_bytes() as f64;
        let limits = |&(rtt_s, loss): &(f64, f64)| {
            equation::rate(data_bytes, rtt_s, loss) * 8.0 <= self.desired(wrapping)
        };
        self.loss.filter(limits)
    }

    /// Returns the least and the greatest accepted mean of CCID 3, in bits per second.
    pub(super) fn accepted(&self, wrapping: DatagramHeaders) -> Option<[f64; 2]> {
        let [least, most] = self.accepted?;
        // Longer headers leave less of the line.
        if wrapping.is_v6 && self.limiting_loss(wrapping).is_none() {
            return Some([self.desired(wrapping) * FILLED, most]);
        }
        Some([least, most])
    }

    /// Returns the link settings for the virtual clock, one per hop: packets there begin with the
    /// DCCP header, so the settings add the length of the lower headers.
    pub(super) fn hops(&self, wrapping: DatagramHeaders) -> Vec<String> {
        let hop = match &self.line {
            Some(LinkRateLimit { overhead_bytes, bare, .. }) => {
                let bytes = overhead_bytes + ETHERNET_HEADER_BYTES + wrapping.headers_bytes();
                format!("{bare} {bytes}")
            }
            None => self.link.clone(),
        };
        vec![hop; if self.is_routed { 2 } else { 1 }]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const RAW: DatagramHeaders =
        DatagramHeaders { carrier: CarrierName::Raw, is_v6: false, v4_bytes: 1_424 };

    /// Returns the case of this name of the shipped plan.
    pub(in super::super) fn named(name: &str) -> RegressionCase {
        RegressionCase::from_plan(shipped().cases.iter().find(|case| case.name == name).unwrap())
    }

    #[test]
    fn what_is_desired_is_what_the_table_of_2007_says() {
        let desired = |name: &str, wrapping| named(name).desired(wrapping);
        // 131 Kbit and 3.05 Mbit there are binary.
        assert!((desired("loss10", RAW) / 1_024.0 - 131.28).abs() < 0.01);
        assert!((desired("loss1", RAW) / 1_048_576.0 - 3.051).abs() < 0.001);
        assert!((desired("direct", RAW) - 95.06e6).abs() < 5e3);
        let udp = DatagramHeaders { carrier: CarrierName::Udp, ..RAW };
        assert!((desired("routed", udp) - 94.56e6).abs() < 5e3);
        // 1,404 bytes of data in frames of 1,498.
        let v6 = DatagramHeaders { is_v6: true, ..RAW };
        assert!((desired("direct", v6) - 1e8 * 1_404.0 / 1_498.0).abs() < 1.0);
    }

    #[test]
    fn the_plan_has_what_linux_reached_and_what_is_accepted() {
        assert_eq!(shipped_names(), ["direct", "routed", "loss10", "loss1"]);
        let plan = shipped();
        assert_eq!((plan.seconds, plan.runs, plan.tx_qlen), (60.0, 3, 5));
        assert_eq!(
            (&plan.ccids[..], plan.datagram_bytes, plan.quick_seconds),
            (&[3, 2][..], 1_424, 10.0)
        );
        for (name, linux, accepted) in [
            ("direct", [92.6e6, 94.9e6, 94.9e6], [94.5e6, 1e8]),
            ("routed", [94.9e6; 3], [94.5e6, 1e8]),
            ("loss10", [172e3, 199e3, 151e3], [125e3, 215e3]),
            ("loss1", [3.28e6, 3.08e6, 3.03e6], [2.9e6, 3.7e6]),
        ] {
            let case = named(name);
            assert_eq!(case.linux_bits_per_s.as_deref(), Some(&linux[..]), "{name}");
            assert_eq!(case.accepted(RAW), Some(accepted), "{name}");
            assert_eq!(case.limiting_loss(RAW).is_some(), name.starts_with("loss"));
        }
        assert_eq!(named("loss10").limiting_loss(RAW), Some((0.15, 0.1)));
    }

    #[test]
    fn a_line_of_the_virtual_clock_takes_what_a_real_one_takes() {
        assert_eq!(named("direct").link, "delay 100us rate 100mbit 24");
        assert_eq!(named("direct").hops(RAW), ["delay 100us rate 100mbit 58"]);
        assert_eq!(named("routed").hops(RAW).len(), 2);
        assert_eq!(named("loss1").hops(RAW), ["delay 20ms loss 1%"]);
        assert_eq!(
            (named("loss10").link.as_str(), named("loss10").is_routed),
            ("delay 75ms loss 10%", false)
        );
    }

    #[test]
    fn what_limits_most_is_what_is_desired() {
        let case = |words: &str| {
            let head =
                "name = 'x'\ntitle = 'X'\nprotocol = 'dccp'\n[[case]]\nname = 'a'\ntitle = 'A'\n";
            let plan = RegressionPlan::parse("x", &format!("{head}{words}")).unwrap();
            RegressionCase::from_plan(&plan.cases[0])
        };
        let both = case("delay = '20ms'\nloss_percent = 1\nrate = '1mbit'\n");
        assert_eq!(both.link, "delay 20ms loss 1% rate 1mbit");
        assert_eq!(both.hops(RAW), ["delay 20ms loss 1% rate 1mbit 34"]);
        // 1,424 bytes in 1,474.
        assert!((both.desired(RAW) - 1e6 * 1_424.0 / 1_474.0).abs() < 1e-3);
        assert_eq!((both.limiting_loss(RAW), both.accepted(RAW)), (None, None));
        let wide = case("delay = '20ms'\nloss_percent = 1\nrate = '1gbit'\n");
        assert_eq!(wide.desired(RAW).to_bits(), named("loss1").desired(RAW).to_bits());
        let routed = case("delay = '20ms'\nloss_percent = 10\nrouted = true\n");
        let (rtt_s, loss) = routed.limiting_loss(RAW).unwrap();
        assert!((rtt_s - 0.08).abs() < 1e-12 && (loss - 0.19).abs() < 1e-12);
    }
}
