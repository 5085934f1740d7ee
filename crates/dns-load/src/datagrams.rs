//! Content of an Ethernet frame: one UDP datagram, or several that a kernel has joined (UDP
//! segmentation).

use std::net::{IpAddr, SocketAddr};

use netio::ReceivedFrame;
use packet_wire::{ethernet, ipv4, ipv6, protocol, udp};

/// UDP datagrams of an Ethernet frame, all between the same two endpoints.
pub(crate) struct FrameDatagrams<'f> {
    pub(crate) ethernet: ethernet::EthernetHeader,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    payload: &'f [u8],
    /// Length of each datagram's payload but the last, in bytes.
    each_bytes: usize,
}

impl<'f> FrameDatagrams<'f> {
    /// Reads the UDP datagrams of an Ethernet frame. Returns `None` for a frame without a whole
    /// datagram, for a damaged one, and for one that is not wanted (`is_accepted`) by its source
    /// and destination.
    pub(crate) fn from_frame(
        frame: ReceivedFrame<'f>,
        is_accepted: impl FnOnce(SocketAddr, SocketAddr) -> bool,
    ) -> Option<Self> {
        let (ethernet, packet) = ethernet::EthernetHeader::parse(frame.octets).ok()?;
        let (source, destination, datagram): (IpAddr, IpAddr, &[u8]) = match ethernet.ether_type {
            ethernet::TYPE_IPV4 => {
                let (ip, datagram) = ipv4::Header::parse(packet).ok()?;
                let is_whole = ip.protocol == protocol::UDP && !ip.is_fragment();
                is_whole.then_some((ip.source.into(), ip.destination.into(), datagram))?
            }
            ethernet::TYPE_IPV6 => {
                let (ip, datagram) = ipv6::Header::parse(packet).ok()?;
                let is_udp = ip.next_header == protocol::UDP;
                is_udp.then_some((ip.source.into(), ip.destination.into(), datagram))?
            }
            _ => return None,
        };
        let (header, payload) = udp::UdpHeader::parse(datagram).ok()?;
        // A checksum that was left to a device counts as right, because the device computes it.
        let is_sound =
            || frame.checksum.is_some() || udp::is_checksum_right(source, destination, datagram);
        let each_bytes = frame.train.map_or(payload.len(), |train| train.payload_bytes).max(1);
        let source = SocketAddr::new(source, header.source_port);
        let destination = SocketAddr::new(destination, header.destination_port);
        (is_accepted(source, destination) && is_sound()).then_some(Self {
            ethernet,
            source,
            destination,
            payload,
            each_bytes,
        })
    }

    /// Returns the payload of each datagram of the frame.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &'f [u8]> {
        self.payload.chunks(self.each_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netio::frame::{PendingChecksum, Train, TrainKind};
    use packet_wire::ethernet::MacAddress;

    /// Returns a frame with `payload` from 10.0.0.1:4000 to `to`.
    fn frame(to: &str, payload: &[u8]) -> Vec<u8> {
        let (from, to): (std::net::SocketAddrV4, std::net::SocketAddrV4) =
            ("10.0.0.1:4000".parse().unwrap(), to.parse().unwrap());
        let endpoints = packet_wire::frame::Endpoints {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress([2, 0, 0, 0, 0, 5]),
            source: from,
            destination: to,
        };
        let at = packet_wire::frame::HEADROOM;
        let mut octets = vec![0; at + payload.len()];
        octets[at..].copy_from_slice(payload);
        packet_wire::frame::seal(&mut octets, payload.len(), &endpoints);
        octets
    }

    /// Returns the datagrams of a frame for 10.0.0.2:53.
    fn ours(frame: ReceivedFrame<'_>) -> Option<FrameDatagrams<'_>> {
        FrameDatagrams::from_frame(frame, |_, to| to == "10.0.0.2:53".parse().unwrap())
    }

    fn plain(octets: &[u8]) -> ReceivedFrame<'_> {
        ReceivedFrame { octets, checksum: None, train: None }
    }

    #[test]
    fn only_sound_datagrams_that_are_wanted_are_taken() {
        let mut octets = frame("10.0.0.2:53", b"abcdefg");
        let datagrams = ours(plain(&octets)).unwrap();
        assert_eq!(datagrams.payloads().collect::<Vec<_>>(), [b"abcdefg"]);
        assert_eq!(datagrams.source, "10.0.0.1:4000".parse().unwrap());
        assert_eq!(datagrams.destination, "10.0.0.2:53".parse().unwrap());
        for other in ["10.0.0.2:54", "10.0.0.3:53"] {
            assert!(ours(plain(&frame(other, b"x"))).is_none(), "{other}");
        }
        *octets.last_mut().unwrap() ^= 1;
        assert!(ours(plain(&octets)).is_none(), "a wrong checksum");
        let train = Train { kind: TrainKind::Udp, payload_bytes: 3 };
        let pending = PendingChecksum { start: 34, offset: 6 };
        let whole = ReceivedFrame { octets: &octets, checksum: Some(pending), train: Some(train) };
        let parts: Vec<_> = ours(whole).unwrap().payloads().map(<[u8]>::len).collect();
        assert_eq!(parts, [3, 3, 1]);
        for cut in 0..octets.len() {
            assert!(ours(plain(&octets[..cut])).is_none(), "{cut}");
        }
    }
}
