//! Update messages (RFC 2136): a [`Step`] of a request becomes bytes, and an answer becomes its
//! response code.

use core::net::IpAddr;

use domain::base::iana::{Class, Opcode, Rcode, Rtype};
use domain::base::message_builder::{AnswerBuilder, AuthorityBuilder, PushError, QuestionBuilder};
use domain::base::name::Name;
use domain::base::rdata::UnknownRecordData;
use domain::base::{Message, MessageBuilder, StaticCompressor, Ttl};
use ncr::{NameChangeRequest, UpdateName};

use crate::steps::{Prerequisite, Step, UpdateChange, UpdateRecordType, pointer_name};

/// Update message to write.
pub(crate) struct UpdateMessage<'a> {
    pub(crate) id: u16,
    /// Name of the zone on the wire.
    pub(crate) zone: &'a UpdateName,
    pub(crate) step: Step,
    pub(crate) request: &'a NameChangeRequest,
}

/// Answer to an update, as far as it decides what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateAnswer {
    pub(crate) id: u16,
    pub(crate) rcode: Rcode,
    /// True if the answer was cut to fit a datagram.
    pub(crate) is_truncated: bool,
}

impl UpdateAnswer {
    /// Reads the header of an answer. Returns `None` if the message is no answer to an update.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let header = Message::from_slice(bytes).ok()?.header();
        (header.qr() && header.opcode() == Opcode::UPDATE).then(|| Self {
            id: header.id(),
            rcode: header.rcode(),
            is_truncated: header.tc(),
        })
    }
}

type Target = StaticCompressor<Vec<u8>>;

impl UpdateMessage<'_> {
    /// Returns the message as bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let written = self.try_write();
        written.expect("a few records of names of 255 bytes fit a message of 65,535").into_target()
    }

    fn try_write(&self) -> Result<Target, PushError> {
        let owner = if self.step.is_reverse() {
            pointer_name(self.request.address)
        } else {
            self.request.name.clone()
        };
        let records = RecordWriter { owner: name(&owner), request: self.request };
        let content = self.step.content(self.request.conflict_mode);
        let mut prerequisites = begin(self.id, self.zone)?.answer();
        for prerequisite in content.prerequisites {
            records.prerequisite(*prerequisite, &mut prerequisites)?;
        }
        let mut changes = prerequisites.authority();
        for change in content.changes {
            records.change(*change, &mut changes)?;
        }
        Ok(changes.finish())
    }
}

/// Returns an update of the zone `zone` that deletes the records of the type `rtype` of `owner`. It
/// changes nothing if there are none.
pub(crate) fn deletion(id: u16, zone: &UpdateName, owner: &UpdateName, rtype: Rtype) -> Vec<u8> {
    let write = || -> Result<Target, PushError> {
        let mut section = begin(id, zone)?.answer().authority();
        section.push((name(owner), Class::ANY, Ttl::ZERO, no_data(rtype)))?;
        Ok(section.finish())
    };
    write().expect("a record without data fits a message").into_target()
}

/// Begins an update of the zone `zone`.
fn begin(id: u16, zone: &UpdateName) -> Result<QuestionBuilder<Target>, PushError> {
    let target = StaticCompressor::new(Vec::with_capacity(512));
    let mut builder = MessageBuilder::from_target(target).map_err(|_| PushError::ShortBuf)?;
    builder.header_mut().set_id(id);
    builder.header_mut().set_opcode(Opcode::UPDATE);
    let mut section = builder.question();
    section.push((name(zone), Rtype::SOA, Class::IN))?;
    Ok(section)
}

fn name(name: &UpdateName) -> &Name<[u8]> {
    Name::from_slice(name.wire()).expect("an update name is a name on the wire")
}

/// Writer of the records of one name.
struct RecordWriter<'a> {
    owner: &'a Name<[u8]>,
    request: &'a NameChangeRequest,
}

impl RecordWriter<'_> {
    fn prerequisite(
        &self,
        prerequisite: Prerequisite,
        section: &mut AnswerBuilder<Target>,
    ) -> Result<(), PushError> {
        let (class, rtype) = match prerequisite {
            Prerequisite::NameUnused => (Class::NONE, Rtype::ANY),
            Prerequisite::NameInUse => (Class::ANY, Rtype::ANY),
            Prerequisite::AnyOfType(kind) => (Class::ANY, self.rtype(kind)),
            Prerequisite::NoneOfType(kind) => (Class::NONE, self.rtype(kind)),
            Prerequisite::Record(kind) => {
                return section.push((self.owner, Class::IN, Ttl::ZERO, self.data(kind)));
            }
        };
        section.push((self.owner, class, Ttl::ZERO, no_data(rtype)))
    }

    fn change(
        &self,
        change: UpdateChange,
        section: &mut AuthorityBuilder<Target>,
    ) -> Result<(), PushError> {
        let rtype = match change {
            UpdateChange::Add(kind) => {
                let ttl = Ttl::from_secs(self.request.ttl_s);
                return section.push((self.owner, Class::IN, ttl, self.data(kind)));
            }
            UpdateChange::DeleteRecord(kind) => {
                return section.push((self.owner, Class::NONE, Ttl::ZERO, self.data(kind)));
            }
            UpdateChange::DeleteType(kind) => self.rtype(kind),
            UpdateChange::DeleteName => Rtype::ANY,
        };
        section.push((self.owner, Class::ANY, Ttl::ZERO, no_data(rtype)))
    }

    const fn rtype(&self, kind: UpdateRecordType) -> Rtype {
        match (kind, self.request.address) {
            (UpdateRecordType::A, _) | (UpdateRecordType::Address, IpAddr::V4(_)) => Rtype::A,
            (UpdateRecordType::Aaaa, _) | (UpdateRecordType::Address, IpAddr::V6(_)) => Rtype::AAAA,
            (UpdateRecordType::Dhcid, _) => Rtype::DHCID,
            (UpdateRecordType::Pointer, _) => Rtype::PTR,
        }
    }

    /// Returns the data of the request's record of the type.
    fn data(&self, kind: UpdateRecordType) -> UnknownRecordData<Vec<u8>> {
        let bytes = match (kind, self.request.address) {
            (UpdateRecordType::Dhcid, _) => self.request.dhcid.as_bytes().to_vec(),
            (UpdateRecordType::Pointer, _) => self.request.name.wire().to_vec(),
            (_, IpAddr::V4(address)) => address.octets().to_vec(),
            (_, IpAddr::V6(address)) => address.octets().to_vec(),
        };
        UnknownRecordData::from_octets(self.rtype(kind), bytes)
            .expect("a DHCID from a request of 65,535 bytes in hexadecimal fits a record")
    }
}

/// Returns data without bytes for records that stand for a type or a name.
fn no_data(rtype: Rtype) -> UnknownRecordData<Vec<u8>> {
    UnknownRecordData::from_octets(rtype, Vec::new()).expect("no bytes fit a record")
}
