//! DHCPv6 packets from files (`-T`): a bare SOLICIT and a bare REQUEST, in which the generator
//! replaces the client, the transaction and the server's data; it sends every other option
//! unchanged.

use std::ops::Range;

use base::ByteWriter;

use super::persona::{DUID_MAX, Personas};
use crate::v6::RequestedAssociations;
use crate::v6::answer::{Dhcp6Reply, code, kind};
use crate::v6::template::{IA_ROOM, SERVER_ID_MAX, repeat};

/// Length of the DHCPv6 message header, and of an option's header, in bytes.
const HEADER: usize = 4;
/// Number of bytes of a client's DUID that the generator writes into a packet: the last ones.
const TAIL: usize = 6;

/// Offsets of the changing fields of a DHCPv6 packet from a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp6PacketOffsets {
    /// Offset of the transaction identifier in the packet.
    pub xid: usize,
    /// Offset of the last byte of the client's DUID that is replaced.
    pub client_end: usize,
    /// Offset of the elapsed time option in the second packet, in bytes; `None` when the packet has
    /// no such option.
    pub elapsed: Option<usize>,
    /// Offset of the server identifier option in the second packet, in bytes.
    pub server: usize,
    /// Offset of the identity association in the second packet, in bytes.
    pub association: usize,
}

/// Simulated client of a run, whose DUID its number determines.
#[derive(Clone, Copy, Debug)]
pub struct PersonaClient<'p> {
    /// Identities of all clients of the run.
    pub personas: &'p Personas,
    /// Number of the client among the clients of the run.
    pub client: u32,
}

/// DHCPv6 packets from files that a run sends: a SOLICIT, and perhaps a REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dhcp6PacketTemplates {
    first: Vec<u8>,
    second: Option<Vec<u8>>,
    offsets: [Dhcp6PacketOffsets; 2],
    /// Range of the client identifier's value in the first packet.
    duid: Range<usize>,
    iaid: u32,
    rapid_commit: bool,
}

/// Returns the code and the range of each option of a DHCPv6 packet.
fn options(packet: &[u8]) -> impl Iterator<Item = (u16, Range<usize>)> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let header = packet.get(at..at + HEADER)?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let range = at..at + HEADER + len;
        at = range.end;
        Some((u16::from_be_bytes([header[0], header[1]]), range))
    })
}

impl Dhcp6PacketTemplates {
    /// Creates the packets `first` and `second` with the offsets of the fields to replace.
    ///
    /// # Errors
    ///
    /// Returns a message when an offset lies outside of its packet or at another field, or when the
    /// result is no SOLICIT or REQUEST for one address.
    pub fn new(
        first: (Vec<u8>, Dhcp6PacketOffsets),
        second: Option<(Vec<u8>, Dhcp6PacketOffsets)>,
    ) -> Result<Self, String> {
        let offsets = [first.1, second.as_ref().map_or(first.1, |second| second.1)];
        let first = first.0;
        let answer = Dhcp6Reply::read(&first)
            .ok()
            .filter(|answer| answer.kind == kind::SOLICIT && answer.relay.is_none())
            .ok_or("-T: the first packet is not a SOLICIT without a relay's header")?;
        let id_len = answer.client_id.unwrap_or_default().len();
        if !(TAIL..=DUID_MAX).contains(&id_len) {
            return Err(format!(
                "-T: the client identifier of the first packet must have {TAIL} to {DUID_MAX} bytes"
            ));
        }
        let is_for_one = answer.ias().count() == 1;
        let iaid = answer.ias().next().filter(|ia| is_for_one && !ia.is_prefix).map(|ia| ia.iaid);
        let iaid = iaid.ok_or("-T: the first packet must request one address")?;
        let rapid_commit = answer.has_rapid_commit;
        let duid =
            options(&first).find(|option| option.0 == code::CLIENT_ID).map(|option| option.1);
        let duid = duid.map_or(0..0, |range| range.start + HEADER..range.end);
        let second = second.map(|second| second.0);
        let packets = Self { first, second, offsets, duid, iaid, rapid_commit };
        packets.check()?;
        Ok(packets)
    }

    fn check(&self) -> Result<(), String> {
        let [first, second] = self.offsets;
        if first.xid + 3 > self.first.len() {
            return Err(
                "-T: the transaction identifier (-X) lies outside of the first packet".into()
            );
        }
        if first.client_end + 1 < TAIL || first.client_end >= self.first.len() {
            return Err("-T: the client's identity (-O) lies outside of the first packet".into());
        }
        let (xid, client) = (0x00fe_fdfc, [2, 0x67, 0xff, 0xfe, 0xfd, 0xfc]);
        let mut buffer = vec![0; self.bytes_max()];
        let len = self.write_first(&mut buffer, xid, &client);
        let is_good = |octets: &[u8], kind: u8| {
            Dhcp6Reply::read(octets).is_ok_and(|got| (got.kind, got.xid) == (kind, xid))
        };
        if !is_good(&buffer[..len], kind::SOLICIT) {
            return Err(
                "-T: with a transaction identifier at -X and a client's identity at -O the first \
                 packet is not a SOLICIT"
                    .into(),
            );
        }
        let Some(packet) = &self.second else { return Ok(()) };
        if second.xid + 3 > packet.len() {
            return Err(
                "-T: the transaction identifier (-X) lies outside of the second packet".into()
            );
        }
        let needed = [(code::SERVER_ID, Some(second.server), "-S", "server identifier")];
        let needed = needed.into_iter().chain([
            (code::IA_NA, Some(second.association), "-I", "association for an address"),
            (code::ELAPSED_TIME, second.elapsed, "-E", "elapsed time"),
        ]);
        for (code, at, switch, name) in needed {
            let Some(at) = at else { continue };
            if !options(packet).any(|(option_code, range)| (option_code, range.start) == (code, at))
            {
                return Err(format!("-T: {switch}: the second packet has no {name} at byte {at}"));
            }
        }
        let advertise = [&[kind::ADVERTISE, 0, 0, 0, 0, 2, 0, 3, 1, 2, 3][..]].concat();
        let advertise =
            Dhcp6Reply::read(&advertise).expect("a server identifier alone is a message");
        let len = self.second(&mut buffer, xid, &client, &advertise, 0).unwrap_or(0);
        if !is_good(&buffer[..len], kind::REQUEST) {
            return Err(
                "-T: with a transaction identifier at -X the second packet is not a REQUEST \
                 without a relay's header"
                    .into(),
            );
        }
        Ok(())
    }

    /// Returns the identity associations that the first packet requests.
    pub const fn ask(&self) -> RequestedAssociations {
        RequestedAssociations { rapid_commit: self.rapid_commit, ..RequestedAssociations::ADDRESS }
    }

    /// Returns the IAID of the identity association in the first packet.
    pub const fn iaid(&self) -> u32 {
        self.iaid
    }

    /// Returns the length of the client identifier in the first packet, in bytes.
    pub fn duid_len(&self) -> usize {
        self.duid.len()
    }

    /// Returns the length of the longer of both messages that the packets become, in bytes.
    pub fn bytes_max(&self) -> usize {
        let more = DUID_MAX + SERVER_ID_MAX + IA_ROOM;
        self.first.len().max(self.second.as_ref().map_or(0, |packet| packet.len() + more))
    }

    /// Writes the DUID that a server sees of `client` into `buffer` and returns it.
    pub fn duid<'b>(
        &self,
        personas: &Personas,
        client: u32,
        buffer: &'b mut [u8; DUID_MAX],
    ) -> &'b [u8] {
        let own = Self::tail(personas, client);
        self.write_duid(&own, buffer)
    }

    fn tail(personas: &Personas, client: u32) -> [u8; TAIL] {
        let mut buffer = [0; DUID_MAX];
        let duid = personas.duid(client, &mut buffer);
        *duid.last_chunk().expect("a DUID has six octets at least")
    }

    fn write_duid<'b>(&self, own: &[u8; TAIL], buffer: &'b mut [u8; DUID_MAX]) -> &'b [u8] {
        let duid = &mut buffer[..self.duid.len()];
        duid.copy_from_slice(&self.first[self.duid.clone()]);
        let begin = self.offsets[0].client_end + 1 - TAIL;
        for (octet, at) in duid.iter_mut().zip(self.duid.clone()) {
            if let Some(own) = at.checked_sub(begin).and_then(|index| own.get(index)) {
                *octet = *own;
            }
        }
        duid
    }

    fn write_first(&self, buffer: &mut [u8], xid: u32, own: &[u8; TAIL]) -> usize {
        let octets = &mut buffer[..self.first.len()];
        octets.copy_from_slice(&self.first);
        let Dhcp6PacketOffsets { xid: at, client_end, .. } = self.offsets[0];
        octets[client_end + 1 - TAIL..=client_end].copy_from_slice(own);
        octets[at..at + 3].copy_from_slice(&xid.to_be_bytes()[1..]);
        octets.len()
    }

    /// Writes the first packet of client `client` into `buffer`; returns its length in bytes.
    pub fn first(&self, buffer: &mut [u8], xid: u32, personas: &Personas, client: u32) -> usize {
        self.write_first(buffer, xid, &Self::tail(personas, client))
    }

    /// Writes the second packet, if there is one, that takes up the ADVERTISE `answer` into
    /// `buffer`; returns its length in bytes. `own` is the end of the client's DUID.
    fn second(
        &self,
        buffer: &mut [u8],
        xid: u32,
        own: &[u8; TAIL],
        answer: &Dhcp6Reply<'_>,
        hundredths: u16,
    ) -> Option<usize> {
        let packet = self.second.as_ref()?;
        let offsets = self.offsets[1];
        let mut duid = [0; DUID_MAX];
        let duid = self.write_duid(own, &mut duid);
        let mut writer = ByteWriter::new(buffer);
        writer.put(&packet[..HEADER]);
        for (code, range) in options(packet) {
            let at = range.start;
            if code == code::CLIENT_ID {
                writer.u16(code).u16(duid.len() as u16).put(duid);
            } else if at == offsets.server {
                let id = answer.server_id.unwrap_or_default();
                writer.u16(code).u16(id.len() as u16).put(id);
            } else if at == offsets.association {
                for ia in answer.ias().filter(|ia| !ia.is_prefix) {
                    repeat(&mut writer, ia, code::IAADDR);
                }
            } else if Some(at) == offsets.elapsed {
                writer.u16(code).u16(2).u16(hundredths);
            } else {
                writer.put(packet.get(range)?);
            }
        }
        assert!(!writer.overflowed(), "a REQUEST fits its slot");
        let octets = writer.written();
        octets[offsets.xid..offsets.xid + 3].copy_from_slice(&xid.to_be_bytes()[1..]);
        Some(octets.len())
    }

    /// Writes the second packet of client `by`, if there is one, that takes up the ADVERTISE
    /// `answer` into `buffer`; returns its length in bytes.
    pub fn take_up(
        &self,
        buffer: &mut [u8],
        xid: u32,
        by: PersonaClient<'_>,
        answer: &Dhcp6Reply<'_>,
        secs: u16,
    ) -> Option<usize> {
        let own = Self::tail(by.personas, by.client);
        self.second(buffer, xid, &own, answer, secs.saturating_mul(100))
    }
}
