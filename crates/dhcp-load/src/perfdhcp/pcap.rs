//! Capture file of a perfdhcp run (`--pcap`): bare IP packets with times in nanoseconds, whose
//! addresses and ports are those of the command line (a server may reply from another one); frames
//! for clients on the generator's link.

use std::net::{IpAddr, SocketAddr};

use base::ByteWriter;
use packet_wire::pcap::{self, ByteOrder, LINK_ETHERNET, LINK_RAW_IP, Resolution};
use packet_wire::{frame, ipv4, ipv6, protocol, udp};

use super::capture::CapturedMessage;

/// Length of IPv6 and UDP headers, in bytes.
const HEADROOM: usize = 48;

/// Returns the bytes of the capture file of `messages` between `local` and `server`, whose times
/// are `wall_ns` before those since 1970; with `has_frames`, of the messages whose frames are
/// known.
pub(crate) fn file(
    messages: &[CapturedMessage],
    [local, server]: [SocketAddr; 2],
    wall_ns: u64,
    has_frames: bool,
) -> Vec<u8> {
    let link = if has_frames { LINK_ETHERNET } else { LINK_RAW_IP };
    let mut file = pcap::CaptureWriter::new(link, ByteOrder::Little, Resolution::Nanoseconds);
    let mut buffer = Vec::new();
    for message in messages {
        if has_frames {
            let Some(endpoints) = message.endpoints else { continue };
            let len = message.octets.len();
            buffer.resize(frame::HEADROOM + len, 0);
            buffer[frame::HEADROOM..].copy_from_slice(&message.octets);
            let len = frame::seal(&mut buffer, len, &endpoints);
            file.packet(wall_ns.wrapping_add(message.at_ns), &buffer[..len]);
            continue;
        }
        let (source, destination) = if message.is_sent { (local, server) } else { (server, local) };
        buffer.resize(HEADROOM + message.octets.len(), 0);
        let mut writer = ByteWriter::new(&mut buffer);
        put(source, destination, &message.octets, &mut writer);
        file.packet(wall_ns.wrapping_add(message.at_ns), writer.written());
    }
    file.into_octets()
}

fn put(source: SocketAddr, destination: SocketAddr, payload: &[u8], writer: &mut ByteWriter<'_>) {
    let len = udp::HEADER_LEN + payload.len();
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            ipv4::Header::new(protocol::UDP, from, to).emit(len, writer);
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            ipv6::Header::new(protocol::UDP, from, to).emit(len, writer);
        }
        _ => unreachable!("a socket and its peer are of one family"),
    }
    writer.put(&udp::header_for(source, destination, payload)).put(payload);
}
