//! Choice of frames that can be sent as segments of one larger UDP datagram: those of one UDP/IP
//! flow and of one length, whose headers differ only in fields that segmentation writes anew.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use packet_wire::{ethernet, ipv4, ipv6, protocol, udp};

use crate::packet::PacketTemplate;
use crate::random::LibcRandom;
use crate::stream;

/// Offset of the IP header in an Ethernet frame without tags, in bytes.
pub(crate) const NETWORK_AT: usize = ethernet::HEADER_LEN;
/// Offset in the frame of the IPv4 identification, which each segment gets anew, in bytes; the next
/// constant is the offset of the IPv4 checksum.
const ID_AT: usize = NETWORK_AT + 4;
const HEADER_SUM_AT: usize = NETWORK_AT + 10;
/// Offset of the checksum in a UDP header, in bytes.
pub(crate) const UDP_SUM_AT: usize = 6;
/// Number of frames of each packet that [`Flows::from_packets`] checks: if a checksum is not
/// recomputed, it is wrong in the second frame.
const FRAMES: usize = 3;
/// Largest number of packets that an error message names.
const NAMED: usize = 3;

/// UDP/IP flow that the frames of a packet belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Number of the flow, equal for packets whose frames can be segments of one datagram.
    pub(crate) number: u32,
    /// Offset of the UDP header in the frame, in bytes.
    pub(crate) transport_at: usize,
    /// Number of bytes of the frame up to the UDP payload.
    pub(crate) header_bytes: usize,
    pub(crate) is_v6: bool,
}

/// Flows of the packets that one thread sends, in the order of the packets.
#[derive(Clone, Debug)]
pub(crate) struct Flows(Vec<Flow>);

impl Flows {
    /// Checks that all `packets` can be segments, and returns their flows; the packets are sent in
    /// turn, or in random order if `is_shuffled`.
    ///
    /// # Errors
    ///
    /// The reasons why packets cannot be segments, in words that follow "--segmentation: ".
    pub(crate) fn from_packets(
        packets: &[PacketTemplate],
        is_shuffled: bool,
    ) -> Result<Self, String> {
        let (mut flows, mut problems) = (Vec::new(), Vec::new());
        let mut numbers = BTreeMap::new();
        for (at, packet) in packets.iter().enumerate() {
            match check(packet) {
                Ok(shape) => {
                    let next = numbers.len() as u32;
                    let key = (shape.shared_headers(&packet.octets), packet.octets.len());
                    let number = *numbers.entry(key).or_insert(next);
                    flows.push(shape.flow(number));
                }
                Err(problem) => problems.push(format!("packet {} {problem}", at + 1)),
            }
        }
        if let Some(more) = problems.len().checked_sub(NAMED).filter(|more| *more > 0) {
            problems.truncate(NAMED);
            problems.push(format!("{more} more packets have such problems"));
        }
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let flows = Self(flows);
        if is_shuffled || flows.has_neighbours() { Ok(flows) } else { Err(difference(packets)) }
    }

    pub(crate) fn flow(&self, index: usize) -> Flow {
        self.0[index]
    }

    /// Returns true if any two consecutive frames are of one flow.
    fn has_neighbours(&self) -> bool {
        let next = self.0.iter().cycle().skip(1);
        self.0.iter().zip(next).any(|(one, other)| one == other)
    }
}

/// Positions of the headers of a UDP/IP frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UdpFrameLayout {
    transport_at: usize,
    is_v6: bool,
}

impl UdpFrameLayout {
    /// Returns the positions of the headers of a frame, or the reason why the frame cannot be a
    /// segment.
    fn from_frame(frame: &[u8]) -> Result<Self, String> {
        let text = |text: &str| Err(text.to_owned());
        let not_udp = || "is not a UDP datagram over IPv4 or IPv6".to_owned();
        let (ethernet, packet) = ethernet::EthernetHeader::parse(frame).map_err(|_| not_udp())?;
        if ethernet.tags[0].is_some() {
            return text(
                "has a VLAN tag, and the kernel does not segment such frames of packet sockets",
            );
        }
        let (source, destination, datagram, is_v6): (IpAddr, IpAddr, _, _) =
            match ethernet.ether_type {
                ethernet::TYPE_IPV4 => {
                    let (ip, datagram) = ipv4::Header::parse(packet)
                        .map_err(|malformed| format!("has an invalid IPv4 header ({malformed})"))?;
                    if ip.protocol != protocol::UDP {
                        return Err(not_udp());
                    }
                    if ip.is_fragment() {
                        return text("is a fragment");
                    }
                    (ip.source.into(), ip.destination.into(), datagram, false)
                }
                ethernet::TYPE_IPV6 => {
                    let (ip, datagram) = ipv6::Header::parse(packet)
                        .map_err(|malformed| format!("has an invalid IPv6 header ({malformed})"))?;
                    if ip.next_header != protocol::UDP {
                        return Err(not_udp());
                    }
                    (ip.source.into(), ip.destination.into(), datagram, true)
                }
                _ => return Err(not_udp()),
            };
        let (header, payload) = udp::UdpHeader::parse(datagram)
            .map_err(|malformed| format!("has an invalid UDP header ({malformed})"))?;
        if payload.is_empty() {
            return text("has no payload");
        }
        let transport_at = frame.len() - datagram.len();
        if udp::HEADER_LEN + payload.len() != datagram.len()
            || transport_at != headers_end(frame, is_v6)
        {
            return text("has bytes after its UDP datagram");
        }
        if header.checksum == 0 {
            return text("has no UDP checksum, but every segment gets one");
        }
        if !udp::is_checksum_right(source, destination, datagram) {
            return text("has a wrong UDP checksum, but every segment gets a correct one");
        }
        Ok(Self { transport_at, is_v6 })
    }

    /// Returns the ranges of the frame's bytes that may change from segment to segment.
    fn free(self, frame_bytes: usize) -> [Range<usize>; 4] {
        let payload = self.transport_at + udp::HEADER_LEN..frame_bytes;
        let udp_sum = self.transport_at + UDP_SUM_AT..self.transport_at + UDP_SUM_AT + 2;
        let pair = |at: usize| if self.is_v6 { at..at } else { at..at + 2 };
        [payload, udp_sum, pair(ID_AT), pair(HEADER_SUM_AT)]
    }

    /// Returns the bytes of the frame's headers that all segments share.
    fn shared_headers(self, frame: &[u8]) -> Vec<u8> {
        let mut headers = frame[..self.transport_at + udp::HEADER_LEN].to_vec();
        for range in &self.free(frame.len())[1..] {
            headers[range.clone()].fill(0);
        }
        headers
    }

    fn flow(self, number: u32) -> Flow {
        let Self { transport_at, is_v6 } = self;
        Flow { number, transport_at, header_bytes: transport_at + udp::HEADER_LEN, is_v6 }
    }
}

/// Returns the offset of the transport header of a frame, computed from its IP header.
fn headers_end(frame: &[u8], is_v6: bool) -> usize {
    let network_bytes =
        if is_v6 { ipv6::HEADER_LEN } else { usize::from(frame[NETWORK_AT] & 0xf) * 4 };
    NETWORK_AT + network_bytes
}

/// Checks that the frames of `packet` can be segments of one datagram, and returns the positions of
/// their headers.
fn check(packet: &PacketTemplate) -> Result<UdpFrameLayout, String> {
    let shape = UdpFrameLayout::from_frame(&packet.octets)?;
    let free = shape.free(packet.octets.len());
    let counters = packet.counters.iter().map(|counter| (counter.at, 1));
    let fields = packet.fields.iter().map(|field| (field.slot.at, field.slot.len));
    for (at, len) in counters.chain(packet.randoms.iter().copied()).chain(fields) {
        let is_free = |at| free.iter().any(|range: &Range<usize>| range.contains(&at));
        if let Some(at) = (at..at + len).find(|at| !is_free(*at)) {
            return Err(format!(
                "changes its {} from frame to frame, but all segments of a datagram share it; only \
                 payload, IPv4 identification and checksums may change",
                name_of(at, shape)
            ));
        }
    }
    let (mut changing, mut random) = (packet.clone(), LibcRandom::from_seed(1));
    for _ in 0..if packet.is_dynamic() { FRAMES } else { 0 } {
        stream::change(&mut changing, &mut random);
        UdpFrameLayout::from_frame(&changing.octets)
            .map_err(|problem| format!("{problem} in a later frame"))?;
    }
    Ok(shape)
}

/// Returns the name of the header field that byte `at` of the frame belongs to.
fn name_of(at: usize, shape: UdpFrameLayout) -> &'static str {
    let in_udp = at.checked_sub(shape.transport_at);
    match (at, in_udp, shape.is_v6) {
        (_, Some(0 | 1), _) => "UDP source port",
        (_, Some(2 | 3), _) => "UDP destination port",
        (_, Some(_), _) => "UDP length",
        (..=5, ..) => "Ethernet destination",
        (6..=11, ..) => "Ethernet source",
        (12 | 13, ..) => "Ethernet type",
        (15, _, false) => "IPv4 type of service",
        (20 | 21, _, false) => "IPv4 fragment field",
        (22, _, false) => "time to live",
        (26..30, _, false) => "IPv4 source address",
        (30..34, _, false) => "IPv4 destination address",
        (21, _, true) => "hop limit",
        (22..38, _, true) => "IPv6 source address",
        (38..54, _, true) => "IPv6 destination address",
        _ => "IP header",
    }
}

/// Returns the reason why frames of consecutive packets, each of which could be a segment, are not
/// of one UDP/IP flow.
fn difference(packets: &[PacketTemplate]) -> String {
    let [first, second, ..] = packets else {
        // Frames of one packet are of one flow.
        return "there are no two consecutive frames".to_owned();
    };
    let end = |packet: &PacketTemplate| UdpFrameLayout::from_frame(&packet.octets).ok();
    let what = match (end(first), end(second)) {
        _ if first.octets.len() != second.octets.len() => "length".to_owned(),
        (Some(one), Some(other)) if one == other => {
            let pairs = one
                .shared_headers(&first.octets)
                .into_iter()
                .zip(other.shared_headers(&second.octets));
            let at = pairs.enumerate().find(|(_, (one, other))| one != other);
            at.map_or_else(|| "flow".to_owned(), |(at, _)| name_of(at, one).to_owned())
        }
        _ => "headers".to_owned(),
    };
    format!(
        "no two consecutive packets have the same UDP/IP flow and length; packets 1 and 2 differ \
         in their {what}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{PacketParserSettings, compile};

    fn of(text: &str) -> Result<Flows, String> {
        let settings = PacketParserSettings {
            quirks: text.contains("QUIRK"),
            ..PacketParserSettings::default()
        };
        Flows::from_packets(&compile(text.as_bytes(), &settings).unwrap().packets, false)
    }

    #[test]
    fn frames_of_one_flow_share_a_number_whatever_their_payload() {
        let text = "{ ipv4(id=dinc()), udp(dp=7), drnd(4), fill(1, 6) } \
                    { ipv4(id=9), udp(dp=7), fill(2, 10) } { udp(dp=8), fill(2, 10) } \
                    { udp(dp=7), fill(2, 11) } { udp(dp=7), \"0123456789\" }";
        let flows = of(text).unwrap();
        let numbers: Vec<_> = flows.0.iter().map(|flow| flow.number).collect();
        assert_eq!(numbers, [0, 0, 1, 2, 0]);
        let flow = Flow { number: 0, transport_at: 34, header_bytes: 42, is_v6: false };
        assert_eq!(flows.flow(4), flow);
        let v6 = of("{ ipv6(da=2001:db8::1), udp(dp=7), drnd(9) }").unwrap();
        let flow = Flow { number: 0, transport_at: 54, header_bytes: 62, is_v6: true };
        assert_eq!(v6.flow(0), flow);
    }

    #[test]
    fn what_segments_cannot_carry_is_named() {
        for (text, complaint) in [
            ("{ udp(sp=drnd()), 1 }", "packet 1 changes its UDP source port from frame to frame"),
            ("{ udp(), 1 } { ipv4(ttl=dinc()), udp(), 1 }", "packet 2 changes its time to live"),
            ("{ ipv4(da[3]=dinc()), udp(), 1 }", "its IPv4 destination address from"),
            ("{ eth(sa=drnd()), udp(), 1 }", "changes its Ethernet source from frame to frame"),
            ("{ ipv6(da=drnd()), udp(), 1 }", "changes its IPv6 destination address"),
            ("{ udp(csum=0), 1 }", "has no UDP checksum, but every segment gets one"),
            ("{ udp(csum=7), 1 }", "has a wrong UDP checksum"),
            ("{ udp() }", "has no payload"),
            ("{ tcp(), 1 }", "is not a UDP datagram"),
            ("{ eth(), 1, 2 }", "is not a UDP datagram"),
            ("{ ipv4(mf), udp(), 1 }", "is a fragment"),
            ("{ ipv4(csum=1), udp(), 1 }", "invalid IPv4 header (checksum)"),
            ("{ vlan(id=3), udp(), 1 }", "has a VLAN tag"),
            ("{ ipv4(len=29), udp(len=9), 1, 2 }", "has bytes after its UDP datagram"),
            ("{ udp(dp=1), 1 } { udp(dp=2), 1 }", "1 and 2 differ in their UDP destination port"),
            ("{ udp(), 1 } { udp(), 1, 2 }", "packets 1 and 2 differ in their length"),
            // Nothing recomputes the checksum, so that a segment would differ from the frame.
            (
                "{ udp(), drnd(4) } # QUIRK",
                "wrong UDP checksum, but every segment gets a correct one",
            ),
        ] {
            let problem = of(text).unwrap_err();
            assert!(problem.contains(complaint), "{text}: {problem}");
        }
        let problem = of(&"{ tcp() }".repeat(5)).unwrap_err();
        assert!(
            problem.ends_with(
                "packet 3 is not a UDP datagram over IPv4 or IPv6; 2 more packets have \
                 such problems"
            ),
            "{problem}"
        );
    }
}
