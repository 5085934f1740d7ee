//! Stacking of headers in a packet: headers below, fields that name the next header, lengths and
//! checksums.

use super::elements;
use super::protocol::{
    DNS_COUNTS, DNS_RESPONSE, ETH_DESTINATION, ETH_SOURCE, HeaderField, HeaderProtocol, IP4_SOURCE,
    IP6_SOURCE, MPLS_LAST, VLAN_TPID, VLAN_TYPE,
};
use super::source::{Parsed, fault};
use super::{FRAME_BYTES_MAX, InterfaceAddresses};
use crate::packet::{BitField, ChecksumUpdate, PacketTemplate, PseudoHeader};

/// Destination hardware address of pause frames (IEEE 802.3 annex 31B).
const PAUSE_MAC: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];

/// Header of a packet under construction.
#[derive(Clone, Debug)]
pub(crate) struct PacketHeader {
    pub(crate) protocol: HeaderProtocol,
    /// Offset of the header's first byte in the packet.
    pub(crate) at: usize,
    /// Positions of the header's fields whose values the packet text gives.
    set: Vec<(isize, u32)>,
    /// True if a field of the header changes from frame to frame.
    changes: bool,
    /// True if an address of the header changes from frame to frame, which pseudo-headers contain.
    addresses_change: bool,
}

impl PacketHeader {
    pub(crate) fn is_set(&self, field: &HeaderField) -> bool {
        self.set.contains(&field.position())
    }

    /// Returns the position of the header's field `field` in the packet.
    pub(crate) fn slot(&self, field: &HeaderField) -> BitField {
        BitField {
            at: self.at.wrapping_add_signed(field.at),
            len: field.len,
            shift: field.shift,
            mask: field.mask,
        }
    }

    /// Records that the packet text gives a value for `field`, or changes it from frame to frame if
    /// `is_dynamic`.
    pub(crate) fn note(&mut self, field: &HeaderField, is_dynamic: bool, quirks: bool) {
        let is_checksum =
            self.protocol.checksum().is_some_and(|sum| sum.position() == field.position());
        // The reference computes a checksum over the value that a function puts there.
        if !(quirks && is_dynamic && is_checksum) {
            self.set.push(field.position());
        }
        self.changes |= is_dynamic;
        let addresses = match self.protocol {
            HeaderProtocol::Ip4 => 12..20,
            HeaderProtocol::Ip6 => 8..40,
            _ => 0..0,
        };
        self.addresses_change |= is_dynamic && addresses.contains(&field.at);
    }
}

/// Packet under construction.
#[derive(Debug)]
pub(crate) struct PacketBuilder {
    pub(crate) packet: PacketTemplate,
    pub(crate) headers: Vec<PacketHeader>,
    /// Checksums among the elements, with their positions in the text; the end of the packet is not
    /// known yet.
    pub(crate) late_sums: Vec<(usize, ChecksumUpdate)>,
    /// Number of bytes of headers so far; trafgen 0.6.8 puts the next header there.
    header_bytes: usize,
    device: InterfaceAddresses,
    quirks: bool,
    is_to_file: bool,
}

impl PacketBuilder {
    pub(crate) fn new(device: InterfaceAddresses, quirks: bool, is_to_file: bool) -> Self {
        let packet = PacketTemplate::default();
        Self {
            packet,
            headers: Vec::new(),
            late_sums: Vec::new(),
            header_bytes: 0,
            device,
            quirks,
            is_to_file,
        }
    }

    pub(crate) const fn quirks(&self) -> bool {
        self.quirks
    }

    /// Appends the bytes `octets` to the packet.
    pub(crate) fn append(&mut self, octets: &[u8], at: usize) -> Parsed<()> {
        self.check_room(octets.len() as u64, at)?;
        self.packet.octets.extend_from_slice(octets);
        Ok(())
    }

    /// Checks that `count` more bytes fit into a frame.
    pub(crate) fn check_room(&self, count: u64, at: usize) -> Parsed<()> {
        let len = self.packet.octets.len() as u64;
        if len.saturating_add(count) > FRAME_BYTES_MAX as u64 {
            return fault(at, format!("a frame has at most {FRAME_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    /// Begins a header of `protocol`, with the headers that it needs below.
    pub(crate) fn open(&mut self, protocol: HeaderProtocol, at: usize) -> Parsed<()> {
        // For a file the reference neither puts Ethernet below IPv6 nor names IPv6 there.
        let is_bare = self.quirks && self.is_to_file && protocol == HeaderProtocol::Ip6;
        let is_complete = self.headers.last().is_some_and(|lower| {
            let is_label = self.quirks && lower.protocol == HeaderProtocol::Mpls;
            protocol.may_follow(lower.protocol) || is_label && protocol == HeaderProtocol::Vlan
        });
        if let (false, false, Some(lower)) = (is_complete, is_bare, protocol.usual_lower()) {
            self.open(lower, at)?;
        }
        let offset = if self.quirks { self.header_bytes } else { self.packet.octets.len() };
        let template = protocol.template();
        let end = offset + template.len();
        self.check_room(end.saturating_sub(self.packet.octets.len()) as u64, at)?;
        if self.packet.octets.len() < end {
            self.packet.octets.resize(end, 0);
        }
        // Existing bytes stay where the header has zeros (there are some only with quirks).
        for (octet, new) in self.packet.octets[offset..end].iter_mut().zip(template) {
            if *new != 0 {
                *octet = *new;
            }
        }
        self.header_bytes += template.len();
        let header = PacketHeader {
            protocol,
            at: offset,
            set: Vec::new(),
            changes: false,
            addresses_change: false,
        };
        if !is_bare && let Some(lower) = self.headers.last().cloned() {
            self.link(&lower, &header);
        }
        self.put_device(&header);
        self.headers.push(header);
        Ok(())
    }

    /// Appends bytes that belong to the last header (records of `dns()`), and returns their offset
    /// in the packet.
    pub(crate) fn append_to_header(&mut self, octets: &[u8], at: usize) -> Parsed<usize> {
        let offset = self.packet.octets.len();
        self.append(octets, at)?;
        self.header_bytes += octets.len();
        Ok(offset)
    }

    /// Sets the field of `lower` (such as EtherType or protocol) that names the new header `header`
    /// after it.
    fn link(&mut self, lower: &PacketHeader, header: &PacketHeader) {
        let octets = &mut self.packet.octets;
        if header.protocol == HeaderProtocol::Vlan {
            // The tag precedes the type, which moves after it.
            if let Some(field) = lower.protocol.next_field() {
                // A tag below has the type that moved there.
                let has_type = lower.is_set(&field) || lower.protocol == HeaderProtocol::Vlan;
                let number = if has_type { lower.slot(&field).read(octets) } else { 0x8100 };
                header.slot(&VLAN_TYPE).write(octets, number);
            }
            // Without that field (the reference's tag on MPLS) these are bytes of the label.
            header.slot(&VLAN_TPID).write(octets, 0x8100);
            return;
        }
        let number = header.protocol.number_in(lower.protocol);
        if let (Some(field), Some(number)) = (lower.protocol.next_field(), number)
            && !lower.is_set(&field)
        {
            lower.slot(&field).write(octets, number);
        }
        // The reference takes the first field of a tag for the destination.
        let is_pause = matches!(header.protocol, HeaderProtocol::Pause | HeaderProtocol::Pfc);
        if self.quirks
            && is_pause
            && lower.protocol == HeaderProtocol::Vlan
            && !lower.is_set(&VLAN_TPID)
        {
            let first = u32::from_be_bytes([0, 0, PAUSE_MAC[0], PAUSE_MAC[1]]);
            lower.slot(&VLAN_TPID).write(octets, first);
        }
        let destination = match header.protocol {
            HeaderProtocol::Arp => Some([0xff; 6]),
            HeaderProtocol::Pause | HeaderProtocol::Pfc => Some(PAUSE_MAC),
            _ => None,
        };
        if let (Some(mac), HeaderProtocol::Ethernet) = (destination, lower.protocol)
            && !lower.is_set(&ETH_DESTINATION)
        {
            octets[lower.at..lower.at + 6].copy_from_slice(&mac);
        }
        let are_labels = [lower.protocol, header.protocol] == [HeaderProtocol::Mpls; 2];
        if are_labels && !lower.is_set(&MPLS_LAST) {
            lower.slot(&MPLS_LAST).write(octets, 0);
        }
    }

    /// Writes the addresses of the sending interface into those fields of `header` that have them
    /// by default.
    fn put_device(&mut self, header: &PacketHeader) {
        if self.device == InterfaceAddresses::NONE {
            return;
        }
        let InterfaceAddresses { mac, ip4, ip6 } = self.device;
        let mut put = |offset: usize, octets: &[u8]| {
            let at = header.at + offset;
            self.packet.octets[at..at + octets.len()].copy_from_slice(octets);
        };
        match header.protocol {
            HeaderProtocol::Ethernet => put(ETH_SOURCE.at as usize, &mac),
            HeaderProtocol::Ip4 => put(IP4_SOURCE.at as usize, &ip4.octets()),
            HeaderProtocol::Ip6 => put(IP6_SOURCE.at as usize, &ip6.octets()),
            HeaderProtocol::Arp => {
                put(8, &mac);
                put(14, &ip4.octets());
                put(24, &ip4.octets());
            }
            _ => {}
        }
    }

    /// Writes the counts of sections of the last header, `dns()`, and its QR bit, unless they were
    /// given.
    pub(crate) fn count_records(&mut self, counts: [u32; 4]) {
        let Some(header) = self.headers.last() else { return };
        for (field, count) in DNS_COUNTS.iter().zip(counts) {
            if !header.is_set(field) {
                header.slot(field).write(&mut self.packet.octets, count);
            }
        }
        if counts[1] > 0 && !header.is_set(&DNS_RESPONSE) {
            header.slot(&DNS_RESPONSE).write(&mut self.packet.octets, 1);
        }
    }

    /// Completes the packet: writes lengths, then checksums from the inside.
    pub(crate) fn finish(mut self, at: usize) -> Parsed<PacketTemplate> {
        let total = self.packet.octets.len();
        for (at, sum) in std::mem::take(&mut self.late_sums) {
            let settled = elements::settle(sum, total, self.quirks);
            self.packet.sums.push(settled.map_or_else(|message| fault(at, message), Ok)?);
        }
        if self.packet.fields.iter().any(|field| field.slot.at + field.slot.len > total) {
            return fault(at, "a changing part of a field extends beyond the packet");
        }
        for header in &self.headers {
            let Some((field, left_out)) = header.protocol.length() else { continue };
            if header.is_set(&field) {
                continue;
            }
            let len = total.saturating_sub(header.at + left_out);
            if len > 0xffff && !self.quirks {
                let name = header.protocol.name();
                return fault(
                    at,
                    format!("{len} bytes do not fit into the length field of {name}"),
                );
            }
            header.slot(&field).write(&mut self.packet.octets, len as u32);
        }
        if !self.quirks {
            self.write_sums();
        }
        let is_dynamic = self.packet.is_dynamic();
        for index in (0..self.headers.len()).rev() {
            let Some(sum) = self.header_sum(index) else { continue };
            sum.write(&mut self.packet.octets);
            let is_touched =
                if self.quirks { self.is_touched(index) } else { self.changes_under(&sum) };
            if is_dynamic && is_touched {
                self.packet.header_sums.push(sum);
            }
        }
        // If frames differ, the reference computes these checksums from the first frame on.
        if self.quirks && !is_dynamic {
            self.write_sums();
        }
        Ok(self.packet)
    }

    /// Writes the checksums among the elements once; if frames differ, they are written again for
    /// each frame.
    fn write_sums(&mut self) {
        for sum in &self.packet.sums {
            sum.write(&mut self.packet.octets);
        }
    }

    /// Returns true if trafgen 0.6.8 computes the checksum of header `index` for every frame: if a
    /// field of it changes, or an address of the IP header just below; never for ICMPv6.
    fn is_touched(&self, index: usize) -> bool {
        let header = &self.headers[index];
        let is_transport = matches!(header.protocol, HeaderProtocol::Udp | HeaderProtocol::Tcp);
        let lower = index.checked_sub(1).map(|lower| &self.headers[lower]);
        let is_left = header.protocol == HeaderProtocol::Icmp6;
        header.changes && !is_left
            || is_transport && lower.is_some_and(|lower| lower.addresses_change)
    }

    /// Returns true if any byte that the checksum `sum` covers changes from frame to frame.
    fn changes_under(&self, sum: &ChecksumUpdate) -> bool {
        let PacketTemplate { counters, randoms, sums, fields, header_sums, .. } = &self.packet;
        let addresses = match sum.pseudo {
            PseudoHeader::None => 0..0,
            PseudoHeader::V4 { ip, .. } => ip + 12..ip + 20,
            PseudoHeader::V6 { ip, .. } => ip + 8..ip + 40,
        };
        let is_in = |at: usize, len: usize| {
            let overlaps = |from: usize, to: usize| at < to && from < at + len;
            overlaps(sum.from, sum.to) || overlaps(addresses.start, addresses.end)
        };
        counters.iter().any(|counter| is_in(counter.at, 1))
            || randoms.iter().any(|(at, len)| is_in(*at, *len))
            || fields.iter().any(|field| is_in(field.slot.at, field.slot.len))
            || sums.iter().chain(header_sums).any(|other| is_in(other.at, 2))
    }

    /// Returns the checksum of header `index`, unless the packet text gives it.
    fn header_sum(&self, index: usize) -> Option<ChecksumUpdate> {
        let header = &self.headers[index];
        let field = header.protocol.checksum().filter(|field| !header.is_set(field))?;
        let total = self.packet.octets.len();
        let lower = index.checked_sub(1).map(|lower| &self.headers[lower]);
        let pseudo = |protocol| match lower?.protocol {
            HeaderProtocol::Ip4 => Some(PseudoHeader::V4 { ip: lower?.at, protocol }),
            HeaderProtocol::Ip6 => Some(PseudoHeader::V6 { ip: lower?.at, protocol }),
            _ => None,
        };
        let (pseudo, to) = match header.protocol {
            HeaderProtocol::Ip4 => {
                let words = usize::from(self.packet.octets[header.at] & 0xf).max(5);
                let len = if self.quirks { 20 } else { 4 * words };
                (PseudoHeader::None, (header.at + len).min(total))
            }
            HeaderProtocol::Icmp4 => (PseudoHeader::None, total),
            HeaderProtocol::Icmp6 => (pseudo(58)?, total),
            HeaderProtocol::Tcp => (pseudo(6)?, total),
            _ => (pseudo(17)?, total),
        };
        Some(ChecksumUpdate {
            at: header.slot(&field).at,
            from: header.at,
            to,
            pseudo,
            counts_odd: !(self.quirks && header.protocol == HeaderProtocol::Icmp4),
            is_never_zero: header.protocol == HeaderProtocol::Udp && !self.quirks,
        })
    }
}
