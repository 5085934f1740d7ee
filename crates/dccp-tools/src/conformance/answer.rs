//! Packets from the target of the conformance suite (the DCCP implementation under test), and
//! descriptions of packets for users.

use std::fmt;

use base::Hex;
use dccp::ack_vector::{PacketState, Runs};
use dccp::header::{DccpHeader, DccpPacket, Integrity, PacketType};
use dccp::option::{DccpOption, DccpOptionIterator, FeatureOption, RawOption};
use dccp::sequence::SequenceNumber;

/// Largest number of a packet's bytes that a description for users shows.
const OCTETS_MAX: usize = 64;

/// Packet that the conformance suite has received from the target, the implementation under test.
#[derive(Clone, Debug)]
pub(super) struct TargetPacket {
    /// Index of the suite's socket that received the packet.
    pub(super) socket_index: usize,
    pub(super) octets: Vec<u8>,
    /// ECN bits of the packet's IP header; `None` if the socket does not provide them.
    pub(super) ecn: Option<u8>,
    pub(super) header: DccpHeader,
    pub(super) options: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl TargetPacket {
    pub(super) fn new(
        socket_index: usize,
        octets: &[u8],
        ecn: Option<u8>,
        packet: &DccpPacket<'_>,
    ) -> Self {
        Self {
            socket_index,
            octets: octets.to_vec(),
            ecn,
            header: packet.header,
            options: packet.options.to_vec(),
            data: packet.data.to_vec(),
        }
    }

    pub(super) fn is(&self, packet_type: PacketType) -> bool {
        self.header.packet_type == packet_type
    }

    /// Returns true if the packet has this type and the acknowledgement number `number`.
    pub(super) fn acknowledges(&self, packet_type: PacketType, number: u64) -> bool {
        self.is(packet_type) && self.header.acknowledgement == Some(number)
    }

    /// Returns true if the packet acknowledges the number `number` or a later one.
    pub(super) fn reaches(&self, number: u64) -> bool {
        let acknowledgement = self.header.acknowledgement.map(SequenceNumber::new);
        acknowledgement.is_some_and(|reached| !SequenceNumber::new(number).is_after(reached))
    }

    pub(super) fn sequence(&self) -> SequenceNumber {
        SequenceNumber::new(self.header.sequence)
    }

    /// Returns true if the packet is of a type that carries the application's data: Data or
    /// DataAck.
    pub(super) fn has_data(&self) -> bool {
        matches!(self.header.packet_type, PacketType::Data | PacketType::DataAck)
    }

    pub(super) fn reset_code(&self) -> Option<u8> {
        self.header.reset.map(|reset| reset.code.number())
    }

    pub(super) fn raw_options(&self) -> impl Iterator<Item = RawOption<'_>> {
        DccpOptionIterator::new(&self.options)
    }

    /// Returns the value of the packet's first option of type `number`.
    pub(super) fn option(&self, number: u8) -> Option<&[u8]> {
        self.raw_options().find(|raw| raw.number == number).map(|raw| raw.value)
    }

    /// Returns the values of the packet's feature options of this kind for the feature `feature`.
    pub(super) fn features(&self, kind: FeatureOption, feature: u8) -> Vec<Vec<u8>> {
        let values = self.raw_options().filter_map(|raw| match raw.option {
            DccpOption::Feature { kind: k, feature: f, value } if (k, f) == (kind, feature) => {
                Some(value.to_vec())
            }
            _ => None,
        });
        values.collect()
    }

    /// Returns the packet's Change options: kind, feature number and value.
    pub(super) fn changes(&self) -> Vec<(FeatureOption, u8, Vec<u8>)> {
        let changes = self.raw_options().filter_map(|raw| match raw.option {
            DccpOption::Feature { kind, feature, value } if kind.is_change() => {
                Some((kind, feature, value.to_vec()))
            }
            _ => None,
        });
        changes.collect()
    }

    /// Returns true if the packet has an Ack Vector option.
    pub(super) fn has_vector(&self) -> bool {
        let is_vector = |raw: RawOption<'_>| matches!(raw.option, DccpOption::AckVector { .. });
        self.raw_options().any(is_vector)
    }

    /// Returns the state of the suite's packet `number` in the packet's Ack Vectors, for a sender
    /// whose numbers began with `first`.
    pub(super) fn state_of(&self, number: u64, first: SequenceNumber) -> Option<PacketState> {
        let acknowledgement = SequenceNumber::new(self.header.acknowledgement?);
        let number = SequenceNumber::new(number);
        let mut runs = Runs::new(acknowledgement, first, DccpOptionIterator::new(&self.options));
        let run = runs
            .find(|run| number.distance_from(run.low) >= 0 && number.distance_from(run.high) <= 0);
        run.map(|run| run.state)
    }
}

impl fmt::Display for TargetPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe(&self.octets))
    }
}

/// Returns a description of a packet for users; bytes that are no DCCP packet are shown in
/// hexadecimal.
pub(super) fn describe(octets: &[u8]) -> String {
    let Ok(packet) = DccpPacket::parse(octets, Integrity::Carrier) else {
        return format!("{} bytes: {}", octets.len(), hexadecimal(octets));
    };
    let header = &packet.header;
    let mut text = format!("{} seq {}", header.packet_type.name(), header.sequence);
    if let Some(number) = header.acknowledgement {
        text += &format!(" ack {number}");
    }
    if let Some(code) = header.service_code {
        text += &format!(" service {code}");
    }
    if let Some(reset) = header.reset {
        text += &format!(" code {} ({}) data {:?}", reset.code.number(), reset.code, reset.data);
    }
    if !header.is_extended {
        text += " short";
    }
    if (header.ccval, header.coverage) != (0, 0) {
        text += &format!(" ccval {} coverage {}", header.ccval, header.coverage);
    }
    if !packet.options.is_empty() {
        text += &format!(" options {}", hexadecimal(packet.options));
    }
    if !packet.data.is_empty() {
        text += &format!(" with {} bytes of data", packet.data.len());
    }
    text
}

/// Returns a description of the target's packets, one after the other.
pub(super) fn listed(answers: &[TargetPacket]) -> String {
    let words: Vec<_> = answers.iter().map(TargetPacket::to_string).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
}

fn hexadecimal(octets: &[u8]) -> String {
    let mut text = Hex(octets.get(..OCTETS_MAX).unwrap_or(octets)).to_string();
    if octets.len() > OCTETS_MAX {
        text += &format!("... ({})", octets.len());
    }
    text
}
