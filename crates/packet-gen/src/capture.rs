//! Reader of captures as input of the packet generator: the frames to send, with their times.

use std::fmt::Write as _;

use packet_wire::captured::SkipReason;
use packet_wire::ethernet::{HEADER_LEN, TAG_LEN, TYPE_IPV4, TYPE_IPV6, TYPE_VLAN};
use packet_wire::link::{self, LinkError};
use packet_wire::pcap::{CaptureReader, CapturedPacket, LINK_ETHERNET, PcapError};

use crate::input::GeneratorInput;
use crate::language::{PacketParserSettings, PacketProgram};
use crate::packet::PacketTemplate;
use crate::random::LibcRandom;
use crate::schedule::FrameSchedule;

/// Counts of a capture's packets by their use: sent, shortened or left out.
#[derive(Debug, Default)]
struct CaptureCounts {
    /// Number of all packets of the capture.
    read: usize,
    /// Number of packets of the capture without any bytes.
    empty: usize,
    /// Number of frames longer than the interface accepts; the next field counts frames shorter
    /// than an Ethernet header.
    too_long: usize,
    too_short: usize,
    /// Numbers of packets that are left out, by the reasons of [`SkipReason::ALL`].
    skipped: [usize; SkipReason::ALL.len()],
    /// Number of packets that are sent without the bytes that the capture cut off.
    cut: usize,
    /// Number of packets of links other than Ethernet, which get an Ethernet header.
    framed: usize,
    /// True if the capture file ends inside a packet.
    ends_early: bool,
}

impl CaptureCounts {
    /// Returns a sentence such as `3 of 9 packets are used; left out: 6 not of IP`.
    fn sentence(&self, used: usize) -> String {
        let mut text = format!("{used} of {} packets are used", self.read);
        let reasons = SkipReason::ALL.into_iter().map(|reason| {
            (self.skipped.get(reason.index()).copied().unwrap_or(0), reason.to_string())
        });
        let by_length = [
            (self.empty, "without bytes"),
            (self.too_long, "longer than the interface accepts"),
            (self.too_short, "shorter than an Ethernet header"),
        ];
        let by_length = by_length.map(|(count, reason)| (count, reason.to_owned()));
        let left_out = reasons.chain(by_length);
        let mut separator = "; left out: ";
        for (count, reason) in left_out.filter(|(count, _)| *count > 0) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{count} {reason}");
            separator = ", ";
        }
        if self.ends_early {
            text += "; the file ends in the middle of a packet";
        }
        text
    }

    /// Returns sentences about packets of the capture that are left out or are not sent as they
    /// were.
    fn notices(&self, used: usize, mac: [u8; 6]) -> Vec<String> {
        let mut notices = Vec::new();
        if used < self.read || self.ends_early {
            notices.push(self.sentence(used));
        }
        if self.framed > 0 {
            let mac = mac.map(|octet| format!("{octet:02x}")).join(":");
            notices.push(format!(
                "{} packets have no Ethernet header in the capture and are sent with one, from \
                 {mac} to 00:00:00:00:00:00",
                self.framed
            ));
        }
        if self.cut > 0 {
            notices.push(format!(
                "{} packets are sent without the bytes that the capture cut off (tcpdump -s 0 \
                 keeps all)",
                self.cut
            ));
        }
        notices
    }
}

/// Reads the packets of a capture. An Ethernet frame is sent unchanged; an IP packet of any other
/// link gets the Ethernet header that the packet language gives to IP by default. When packets are
/// sent repeatedly, the time from the last packet to the first is the mean gap. An interface
/// accepts IP packets of at most `mtu_bytes`.
///
/// # Errors
///
/// Returns a text when `octets` is no capture or has no packet to send.
pub(crate) fn read(
    octets: &[u8],
    settings: &PacketParserSettings,
    mtu_bytes: Option<usize>,
) -> Result<GeneratorInput, String> {
    let reader = CaptureReader::new(octets).map_err(|error| error.to_string())?;
    let (mut packets, mut offsets_ns, mut first_ns) = (Vec::new(), Vec::new(), None);
    let mut counts = CaptureCounts::default();
    for record in reader {
        let record = match record {
            Ok(record) => record,
            // The packets before the cut are whole.
            Err(PcapError::Truncated) => {
                counts.ends_early = true;
                break;
            }
            Err(error) => return Err(error.to_string()),
        };
        counts.read += 1;
        let Some(octets) = frame(&record, settings.device.mac, &mut counts) else { continue };
        if mtu_bytes.is_some_and(|mtu_bytes| !fits(&octets, mtu_bytes, &mut counts)) {
            continue;
        }
        counts.cut += usize::from(is_cut(&record));
        counts.framed += usize::from(record.link_type != LINK_ETHERNET);
        let first_ns = *first_ns.get_or_insert(record.time_ns);
        let last_ns = offsets_ns.last().copied().unwrap_or(0);
        // Clocks that went back hold nothing up.
        offsets_ns.push(record.time_ns.saturating_sub(first_ns).max(last_ns));
        packets.push(PacketTemplate { octets, ..PacketTemplate::default() });
    }
    let Some(last_ns) = offsets_ns.last().copied() else {
        return Err(format!("has no packets to send: {}", counts.sentence(0)));
    };
    let gaps = (offsets_ns.len() as u64 - 1).max(1);
    let times = FrameSchedule::Times { offsets_ns, round_ns: last_ns + last_ns / gaps };
    let notices = counts.notices(packets.len(), settings.device.mac);
    let random = LibcRandom::from_seed(settings.seed);
    let program = PacketProgram { packets, random, warnings: Vec::new() };
    Ok(GeneratorInput { program, times: Some(times), notices })
}

/// Returns true for a packet of which the capture kept only the beginning.
const fn is_cut(record: &CapturedPacket<'_>) -> bool {
    record.octets.len() < record.original_len as usize
}

/// Returns true if an interface accepts the frame; otherwise counts the frame by the reason.
fn fits(frame: &[u8], mtu_bytes: usize, counts: &mut CaptureCounts) -> bool {
    let is_tagged = frame.get(12..14) == Some(&TYPE_VLAN.to_be_bytes());
    let most = mtu_bytes + HEADER_LEN + if is_tagged { TAG_LEN } else { 0 };
    let (is_short, is_long) = (frame.len() < HEADER_LEN, frame.len() > most);
    counts.too_short += usize::from(is_short);
    counts.too_long += usize::from(is_long);
    !is_short && !is_long
}

/// Returns the frame to send for the captured packet `record`; returns `None`, and counts the
/// reason, if there is none.
fn frame(record: &CapturedPacket<'_>, mac: [u8; 6], counts: &mut CaptureCounts) -> Option<Vec<u8>> {
    if record.octets.is_empty() {
        counts.empty += 1;
        return None;
    }
    if record.link_type == LINK_ETHERNET {
        return Some(record.octets.to_vec());
    }
    match link::ip_packet(record.link_type, record.octets) {
        Ok(packet) => {
            let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
            let ether_type = if is_ipv6 { TYPE_IPV6 } else { TYPE_IPV4 };
            Some([&[0; 6][..], &mac, &ether_type.to_be_bytes(), packet].concat())
        }
        Err(error) => {
            let reason = match error {
                LinkError::Truncated if is_cut(record) => SkipReason::Cut,
                LinkError::Truncated | LinkError::Header => SkipReason::Header,
                LinkError::LinkType(_) => SkipReason::LinkType,
                LinkError::NotIp => SkipReason::NotIp,
            };
            if let Some(count) = counts.skipped.get_mut(reason.index()) {
                *count += 1;
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet_wire::pcap::{ByteOrder, CaptureWriter, Resolution};

    #[test]
    fn a_capture_gives_packets_and_times() {
        let mut writer = CaptureWriter::new(LINK_ETHERNET, ByteOrder::Big, Resolution::Nanoseconds);
        for (time_ns, octet) in [(1_000, 1), (1_400, 2), (1_200, 3), (1_800, 4)] {
            writer.packet(time_ns, &[octet; 20]);
        }
        let input = read(writer.octets(), &PacketParserSettings::default(), None).unwrap();
        assert_eq!(input.program.packets.len(), 4);
        assert_eq!(input.program.packets[2].octets, [3; 20]);
        let times = input.times.unwrap();
        let due: Vec<_> = (0..5).map(|number| times.due_ns(number).unwrap()).collect();
        assert_eq!(due, [0, 400, 400, 800, 800 + 266]);
        assert!(
            read(b"no capture at all, really", &PacketParserSettings::default(), None).is_err()
        );
    }

    #[test]
    fn a_capture_of_the_newer_format_gives_the_same() {
        // As editcap 4.0 writes it, without the names of programs: 20 octets, and 0.88 s later 19.
        let words: [u32; 41] = [
            0x0a0d_0d0a,
            28,
            0x1a2b_3c4d,
            1,
            0xffff_ffff,
            0xffff_ffff,
            28,
            1,
            32,
            1,
            0x0004_0000,
            0x0001_0009,
            9,
            0,
            32,
            6,
            52,
            0,
            0x1797_9cfe,
            0x3d85_cd15,
            20,
            23,
            0x0302_0100,
            0x0706_0504,
            0x0b0a_0908,
            0x0f0e_0d0c,
            0x1312_1110,
            52,
            6,
            52,
            0,
            0x1797_9cfe,
            0x71c4_ca01,
            19,
            22,
            0xaaaa_aaaa,
            0xaaaa_aaaa,
            0xaaaa_aaaa,
            0x6568_aaaa,
            0x006f_6c6c,
            52,
        ];
        let file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let input = read(&file, &PacketParserSettings::default(), None).unwrap();
        let octets: Vec<_> = input.program.packets.iter().map(|packet| &packet.octets).collect();
        assert_eq!(octets[0][..], (0..20).collect::<Vec<u8>>());
        assert_eq!((octets[1].len(), &octets[1][14..]), (19, &b"hello"[..]));
        let times = input.times.unwrap();
        assert_eq!(times.due_ns(1), Some(0x71c4_ca01 - 0x3d85_cd15));
    }
}
