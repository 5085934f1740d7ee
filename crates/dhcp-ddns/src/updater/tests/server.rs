//! Model of a DNS server with its zones: it carries out updates as RFC 2136 §3 demands.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::name::{ParsedName, ToName};
use domain::base::rdata::UnknownRecordData;
use domain::base::{Message, Name, ParsedRecord};

/// Record of a name: its type and data.
type StoredRecord = (u16, Vec<u8>);

/// Names of a model server with their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelServer {
    pub(super) names: BTreeMap<String, BTreeSet<StoredRecord>>,
}

/// Record of an update as the model needs it.
struct UpdateRecord {
    owner: String,
    class: Class,
    rtype: u16,
    data: Vec<u8>,
}

impl UpdateRecord {
    fn parse(record: &ParsedRecord<'_, [u8]>) -> Self {
        let data = record.to_record::<UnknownRecordData<&[u8]>>().unwrap().unwrap();
        Self {
            owner: text(&record.owner()),
            class: record.class(),
            rtype: record.rtype().to_int(),
            data: data.data().data().to_vec(),
        }
    }
}

fn text(name: &ParsedName<&[u8]>) -> String {
    let name: Name<Vec<u8>> = name.to_canonical_name();
    name.to_string()
}

impl ModelServer {
    /// Carries out the update `message` and returns the answer.
    pub(super) fn answer(&mut self, message: &[u8]) -> Vec<u8> {
        let rcode = self.update(Message::from_slice(message).unwrap());
        let mut answer = message[..12].to_vec();
        answer[2] |= 0x80;
        answer[3] = rcode.to_int();
        answer[4..12].fill(0);
        answer
    }

    fn update(&mut self, message: &Message<[u8]>) -> Rcode {
        let records = |section: domain::base::message::RecordSection<'_, [u8]>| {
            section.map(|record| UpdateRecord::parse(&record.unwrap())).collect::<Vec<_>>()
        };
        for prerequisite in records(message.answer().unwrap()) {
            let existing = self.names.get(&prerequisite.owner);
            let UpdateRecord { class, rtype, data, .. } = prerequisite;
            let is_any = rtype == Rtype::ANY.to_int();
            let has_type =
                existing.is_some_and(|records| records.iter().any(|(kind, _)| *kind == rtype));
            match class {
                Class::ANY if is_any && existing.is_none() => return Rcode::NXDOMAIN,
                Class::NONE if is_any && existing.is_some() => return Rcode::YXDOMAIN,
                Class::ANY if !is_any && !has_type => return Rcode::NXRRSET,
                Class::NONE if !is_any && has_type => return Rcode::YXRRSET,
                Class::IN => {
                    let of_type = existing.into_iter().flatten();
                    let mut of_type = of_type.filter(|(kind, _)| *kind == rtype);
                    if of_type.next() != Some(&(rtype, data)) || of_type.next().is_some() {
                        return Rcode::NXRRSET;
                    }
                }
                _ => {}
            }
        }
        for UpdateRecord { owner, class, rtype, data } in records(message.authority().unwrap()) {
            let records = self.names.entry(owner.clone()).or_default();
            match class {
                Class::IN => drop(records.insert((rtype, data))),
                Class::NONE => drop(records.remove(&(rtype, data))),
                _ if rtype == Rtype::ANY.to_int() => records.clear(),
                _ => records.retain(|(kind, _)| *kind != rtype),
            }
            if records.is_empty() {
                self.names.remove(&owner);
            }
        }
        Rcode::NOERROR
    }
}
