//! DHCPv4 packets from files (`-T`): messages in hexadecimal digits, in which the generator
//! overwrites only the fields that change from one message to the next.

use std::net::Ipv4Addr;

use crate::v4::answer::{Dhcp4Reply, kind};
use crate::v4::protocol::OfferedAddress;

const GIADDR: usize = 24;
const CHADDR: usize = 28;

/// Offsets of the changing fields of a DHCPv4 packet from a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp4PacketOffsets {
    /// Offset of the transaction identifier in the packet.
    pub xid: usize,
    /// Offset of the last byte of the client's hardware address in the packet.
    pub client_end: usize,
    /// Offset of the field `secs`, in the second packet.
    pub secs: usize,
    /// Offset of the server identifier option in the second packet, in bytes.
    pub server: usize,
    /// Offset of the requested address option in the second packet, in bytes.
    pub address: usize,
}

/// DHCPv4 packet from a file, with the offsets of its changing fields.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dhcp4PacketTemplate {
    octets: Vec<u8>,
    offsets: Dhcp4PacketOffsets,
}

/// DHCPv4 packets from files that a run sends: a DISCOVER, and perhaps a REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dhcp4PacketTemplates {
    first: Dhcp4PacketTemplate,
    second: Option<Dhcp4PacketTemplate>,
}

/// Parses hexadecimal digits with white space anywhere between them. Returns `None` for any other
/// character, for an odd number of digits, and for none.
pub fn read(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    let is_even = pairs.remainder().is_empty() && !digits.is_empty();
    is_even.then(|| pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

impl Dhcp4PacketTemplate {
    fn write<'b>(&self, buffer: &'b mut [u8], xid: u32, mac: [u8; 6]) -> &'b mut [u8] {
        let octets = &mut buffer[..self.octets.len()];
        octets.copy_from_slice(&self.octets);
        self.change(octets, xid, mac);
        octets
    }

    fn change(&self, octets: &mut [u8], xid: u32, mac: [u8; 6]) {
        let Dhcp4PacketOffsets { xid: at, client_end, .. } = self.offsets;
        octets[at..at + 4].copy_from_slice(&xid.to_be_bytes());
        octets[client_end - 5..=client_end].copy_from_slice(&mac);
    }

    /// Returns the switch for the offset of a field that lies outside of the packet, or that the
    /// packet's end cuts; `None` when all fields fit.
    fn misplaced(&self, is_second: bool) -> Option<&'static str> {
        let (at, len) = (self.offsets, self.octets.len());
        let mut field_ends = vec![(at.xid + 4, "-X"), (at.client_end + 1, "-O")];
        if is_second {
            field_ends.extend([(at.secs + 2, "-E"), (at.server + 6, "-S"), (at.address + 6, "-I")]);
        }
        field_ends
            .into_iter()
            .find(|&(end, _)| end > len)
            .map(|(_, name)| name)
            .or_else(|| (at.client_end < 5).then_some("-O"))
    }
}

impl Dhcp4PacketTemplates {
    /// Creates the packets `first` and `second` with the offsets of the fields to overwrite.
    ///
    /// # Errors
    ///
    /// Returns a message when an offset lies outside of its packet, or when a packet with its
    /// fields overwritten is no DISCOVER or REQUEST.
    pub fn new(
        first: (Vec<u8>, Dhcp4PacketOffsets),
        second: Option<(Vec<u8>, Dhcp4PacketOffsets)>,
    ) -> Result<Self, String> {
        let packet = |(octets, offsets)| Dhcp4PacketTemplate { octets, offsets };
        let packets = Self { first: packet(first), second: second.map(packet) };
        let misplaced = packets.first.misplaced(false);
        let misplaced =
            misplaced.or_else(|| packets.second.as_ref().and_then(|second| second.misplaced(true)));
        if let Some(name) = misplaced {
            return Err(format!("-T: {name} lies outside of the packet"));
        }
        let (mac, xid) = ([2, 0x67, 0xff, 0xfe, 0xfd, 0xfc], 0xfefd_fcfb);
        let mut buffer = vec![0; packets.bytes_max()];
        let len = packets.first(&mut buffer, xid, mac);
        let is_discover =
            |answer: Dhcp4Reply<'_>| answer.kind == kind::DISCOVER && answer.xid == xid;
        if !Dhcp4Reply::read(&buffer[..len]).is_ok_and(is_discover) {
            return Err(
                "-T: with a transaction identifier at -X and a client's identity at -O the first \
                 packet is not a DISCOVER"
                    .into(),
            );
        }
        let address = Ipv4Addr::new(192, 0, 2, 9);
        let offered = OfferedAddress { address, server: Ipv4Addr::new(192, 0, 2, 1) };
        let is_request = |answer: Dhcp4Reply<'_>| {
            answer.kind == kind::REQUEST
                && answer.xid == xid
                && answer.server == Some(offered.server)
                && answer.mac == packets.chaddr(mac)
        };
        if let Some(len) = packets.second(&mut buffer, xid, mac, 0, offered)
            && !Dhcp4Reply::read(&buffer[..len]).is_ok_and(is_request)
        {
            return Err(
                "-T: with the values at -X, -O, -E, -S and -I the second packet is not a REQUEST \
                 to the server"
                    .into(),
            );
        }
        Ok(packets)
    }

    /// Returns the length of the longer of both packets, in bytes.
    pub fn bytes_max(&self) -> usize {
        let second = self.second.as_ref().map_or(0, |second| second.octets.len());
        self.first.octets.len().max(second)
    }

    /// Returns the hardware address that a server sees of the client with `mac`: the content of
    /// `chaddr` in the first packet.
    pub fn chaddr(&self, mac: [u8; 6]) -> [u8; 6] {
        let mut chaddr = [0; 6];
        let begin = self.first.offsets.client_end - 5;
        for (index, octet) in chaddr.iter_mut().enumerate() {
            let at = CHADDR + index;
            let own = at.checked_sub(begin).and_then(|index| mac.get(index));
            *octet = own.copied().or_else(|| self.first.octets.get(at).copied()).unwrap_or(0);
        }
        chaddr
    }

    /// Returns the relay address (`giaddr`) of the first packet.
    pub fn giaddr(&self) -> Ipv4Addr {
        let octets = self.first.octets.get(GIADDR..).and_then(|octets| octets.first_chunk::<4>());
        octets.copied().map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from)
    }

    /// Writes the first packet for the client with hardware address `mac` into `buffer`; returns
    /// its length in bytes.
    pub fn first(&self, buffer: &mut [u8], xid: u32, mac: [u8; 6]) -> usize {
        self.first.write(buffer, xid, mac).len()
    }

    /// Writes the second packet, if there is one, for the client with hardware address `mac` into
    /// `buffer`; returns its length in bytes.
    pub fn second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        mac: [u8; 6],
        secs: u16,
        offered: OfferedAddress,
    ) -> Option<usize> {
        let packet = self.second.as_ref()?;
        let octets = packet.write(buffer, xid, mac);
        let Dhcp4PacketOffsets { secs: secs_at, server, address, .. } = packet.offsets;
        if let Some(field) = octets.get_mut(CHADDR..CHADDR + 6) {
            field.copy_from_slice(&self.chaddr(mac));
        }
        octets[secs_at..secs_at + 2].copy_from_slice(&secs.to_be_bytes());
        for (at, code, value) in [(server, 54, offered.server), (address, 50, offered.address)] {
            octets[at..at + 2].copy_from_slice(&[code, 4]);
            octets[at + 2..at + 6].copy_from_slice(&value.octets());
        }
        Some(octets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v4::template::Templates;

    const MAC: [u8; 6] = [0, 0x0c, 1, 2, 3, 5];
    const OFFERED: OfferedAddress =
        OfferedAddress { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::new(10, 9, 8, 1) };

    fn offsets(client_end: usize) -> Dhcp4PacketOffsets {
        Dhcp4PacketOffsets { xid: 4, client_end, secs: 8, server: 249, address: 243 }
    }

    /// Returns the built-in messages of another client as packets, for tests.
    fn built_in() -> (Vec<u8>, Vec<u8>) {
        let templates = Templates::new(Ipv4Addr::LOCALHOST);
        let nothing =
            OfferedAddress { address: Ipv4Addr::UNSPECIFIED, server: Ipv4Addr::UNSPECIFIED };
        let (mut discover, mut request) = (vec![0; 400], vec![0; 400]);
        let len = templates.discover(&mut discover, 0, [0; 6]);
        discover.truncate(len);
        let len = templates.request(&mut request, 0, [0; 6], 0, nothing);
        request.truncate(len);
        (discover, request)
    }

    #[test]
    fn only_what_changes_is_overwritten() {
        let (discover, request) = built_in();
        let packets = Dhcp4PacketTemplates::new(
            (discover.clone(), offsets(33)),
            Some((request, offsets(33))),
        )
        .unwrap();
        let mut buffer = [0; 400];
        let len = packets.first(&mut buffer, 0x0102_0304, MAC);
        let mut expected = discover;
        expected[4..8].copy_from_slice(&[1, 2, 3, 4]);
        expected[28..34].copy_from_slice(&MAC);
        assert_eq!(buffer[..len], expected);
        assert_eq!((packets.chaddr(MAC), packets.giaddr()), (MAC, Ipv4Addr::LOCALHOST));
        let len = packets.second(&mut buffer, 7, MAC, 258, OFFERED).unwrap();
        let answer = Dhcp4Reply::read(&buffer[..len]).unwrap();
        assert_eq!((answer.mac, answer.xid, answer.server), (MAC, 7, Some(OFFERED.server)));
        assert_eq!(
            (buffer[8..10].to_vec(), buffer[245..249].to_vec()),
            (vec![1, 2], vec![10, 9, 8, 7])
        );
    }

    #[test]
    fn an_address_written_elsewhere_changes_what_the_server_sees() {
        let (discover, _) = built_in();
        // perfdhcp's default: two bytes after the end of an Ethernet address.
        let packets = Dhcp4PacketTemplates::new((discover, offsets(35)), None).unwrap();
        assert_eq!(packets.chaddr(MAC), [0, 0, 0, 0x0c, 1, 2]);
        assert_eq!(packets.second(&mut [0; 400], 7, MAC, 0, OFFERED), None);
    }

    #[test]
    fn offsets_that_spoil_a_packet_are_refused() {
        let (discover, request) = built_in();
        let new = |first: Dhcp4PacketOffsets, second: Dhcp4PacketOffsets| {
            Dhcp4PacketTemplates::new((discover.clone(), first), Some((request.clone(), second)))
        };
        assert!(new(offsets(33), offsets(33)).is_ok());
        let good = offsets(33);
        for (wrong, expected) in [
            (Dhcp4PacketOffsets { xid: 259, ..good }, "-X"),
            (Dhcp4PacketOffsets { client_end: 262, ..good }, "-O"),
            (Dhcp4PacketOffsets { client_end: 3, ..good }, "-O"),
            (Dhcp4PacketOffsets { client_end: 243, ..good }, "not a DISCOVER"),
        ] {
            assert!(new(wrong, good).unwrap_err().contains(expected), "{wrong:?}");
        }
        for (wrong, expected) in [
            (Dhcp4PacketOffsets { server: 269, ..good }, "-S"),
            (Dhcp4PacketOffsets { server: 54, ..good }, "not a REQUEST"),
            (Dhcp4PacketOffsets { address: 238, ..good }, "not a REQUEST"),
        ] {
            assert!(new(good, wrong).unwrap_err().contains(expected), "{wrong:?}");
        }
    }

    #[test]
    fn files_are_digits_and_white_space() {
        assert_eq!(read(" 01 0\n2fF\t"), Some(vec![1, 2, 255]));
        for wrong in ["", " ", "012", "0x12", "01,02"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
