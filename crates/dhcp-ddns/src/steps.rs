//! Updates that carry out a request, one after the other, with the conditions of each conflict mode
//! (RFC 4703 §5; Kea has two modes more). An update concerns the records of one name.

use core::net::IpAddr;
use std::fmt::Write;

use domain::base::iana::Rcode;
use ncr::{ConflictMode, NameChangeKind, NameChangeRequest, UpdateName};

/// Update that a request is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Addition to a name that is not in use.
    AddName,
    /// Replacement of the records of a name.
    ReplaceName,
    /// Removal of the address from a name.
    RemoveAddress,
    /// Removal of a name that has no address.
    RemoveName,
    /// Replacement of the name of an address.
    ReplacePointer,
    /// Removal of the name of an address.
    RemovePointer,
}

/// Types of records in updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateRecordType {
    /// A or AAAA, as the request's address.
    Address,
    A,
    Aaaa,
    Dhcid,
    Pointer,
}

/// Condition under which a server carries out an update (RFC 2136 §2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prerequisite {
    NameUnused,
    NameInUse,
    /// Existence of exactly the request's record of the type.
    Record(UpdateRecordType),
    /// Existence of any record of the type.
    AnyOfType(UpdateRecordType),
    NoneOfType(UpdateRecordType),
}

/// Change of an update (RFC 2136 §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateChange {
    Add(UpdateRecordType),
    DeleteRecord(UpdateRecordType),
    DeleteType(UpdateRecordType),
    DeleteName,
}

/// Content of an update: conditions and changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateContent {
    pub(crate) prerequisites: &'static [Prerequisite],
    pub(crate) changes: &'static [UpdateChange],
}

/// Consequence of an answer for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Further update of the same zone.
    Next(Step),
    /// End of the changes to this zone.
    Done,
    /// Refusal of the update, which ends the request.
    Rejected,
}

impl Step {
    /// Returns the first update of a request to the zone of its name.
    pub(crate) const fn first_forward(request: &NameChangeRequest) -> Self {
        match (request.kind, request.conflict_mode) {
            (
                NameChangeKind::Add,
                ConflictMode::CheckWithDhcid | ConflictMode::CheckExistsWithDhcid,
            ) => Self::AddName,
            (NameChangeKind::Add, _) => Self::ReplaceName,
            (
                NameChangeKind::Remove,
                ConflictMode::CheckWithDhcid | ConflictMode::CheckExistsWithDhcid,
            ) => Self::RemoveAddress,
            (NameChangeKind::Remove, _) => Self::RemoveName,
        }
    }

    /// Returns the update of a request to the zone of its address.
    pub(crate) const fn reverse(request: &NameChangeRequest) -> Self {
        match request.kind {
            NameChangeKind::Add => Self::ReplacePointer,
            NameChangeKind::Remove => Self::RemovePointer,
        }
    }

    /// Returns true for an update of the zone of addresses.
    pub(crate) const fn is_reverse(self) -> bool {
        matches!(self, Self::ReplacePointer | Self::RemovePointer)
    }

    /// Returns the words for the update in Kea's message identifiers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AddName => "FORWARD_ADD",
            Self::ReplaceName => "FORWARD_REPLACE",
            Self::RemoveAddress => "FORWARD_REMOVE_ADDRS",
            Self::RemoveName => "FORWARD_REMOVE_RRS",
            Self::ReplacePointer => "REVERSE_REPLACE",
            Self::RemovePointer => "REVERSE_REMOVE",
        }
    }

    /// Returns the consequence of an answer with the response code `rcode`.
    pub(crate) fn verdict(self, rcode: Rcode) -> Verdict {
        match (self, rcode) {
            (Self::AddName, Rcode::YXDOMAIN) => Verdict::Next(Self::ReplaceName),
            (Self::ReplaceName, Rcode::NXDOMAIN) => Verdict::Next(Self::AddName),
            // The record may be gone already, and the DHCID with it.
            (Self::RemoveAddress, Rcode::NOERROR | Rcode::NXRRSET) => {
                Verdict::Next(Self::RemoveName)
            }
            // A name with an address of the other family stays.
            (Self::RemoveName, Rcode::NXRRSET | Rcode::YXRRSET)
            | (Self::RemovePointer, Rcode::NXRRSET)
            | (_, Rcode::NOERROR) => Verdict::Done,
            _ => Verdict::Rejected,
        }
    }

    /// Returns conditions and changes of the update in a conflict mode.
    pub(crate) const fn content(self, mode: ConflictMode) -> UpdateContent {
        use ConflictMode::{
            CheckExistsWithDhcid, CheckWithDhcid, NoCheckWithDhcid, NoCheckWithoutDhcid,
        };
        use Prerequisite::{AnyOfType, NameInUse, NameUnused, NoneOfType, Record};
        use UpdateChange::{Add, DeleteName, DeleteRecord, DeleteType};
        use UpdateRecordType::{A, Aaaa, Address, Dhcid, Pointer};
        const REPLACE: &[UpdateChange] =
            &[DeleteType(Address), DeleteType(Dhcid), Add(Address), Add(Dhcid)];
        let (prerequisites, changes): (&[Prerequisite], &[UpdateChange]) = match (self, mode) {
            (Self::AddName, _) => (&[NameUnused], &[Add(Address), Add(Dhcid)]),
            (Self::ReplaceName, CheckWithDhcid) => {
                (&[NameInUse, Record(Dhcid)], &[DeleteType(Address), Add(Address)])
            }
            (Self::ReplaceName, CheckExistsWithDhcid) => (&[AnyOfType(Dhcid)], REPLACE),
            (Self::ReplaceName, NoCheckWithDhcid) => (&[], REPLACE),
            (Self::ReplaceName, NoCheckWithoutDhcid) => (&[], &[DeleteType(Address), Add(Address)]),
            (Self::RemoveAddress, CheckExistsWithDhcid) => {
                (&[AnyOfType(Dhcid)], &[DeleteRecord(Address)])
            }
            (Self::RemoveAddress, _) => (&[Record(Dhcid)], &[DeleteRecord(Address)]),
            (Self::RemoveName, CheckWithDhcid) => {
                (&[Record(Dhcid), NoneOfType(A), NoneOfType(Aaaa)], &[DeleteName])
            }
            (Self::RemoveName, CheckExistsWithDhcid) => {
                (&[NoneOfType(A), NoneOfType(Aaaa)], &[DeleteType(Dhcid)])
            }
            (Self::RemoveName, NoCheckWithDhcid) => {
                (&[], &[DeleteType(Address), DeleteType(Dhcid)])
            }
            (Self::RemoveName, NoCheckWithoutDhcid) => (&[], &[DeleteType(Address)]),
            (Self::ReplacePointer, NoCheckWithoutDhcid) => {
                (&[], &[DeleteType(Pointer), Add(Pointer)])
            }
            (Self::ReplacePointer, _) => {
                (&[], &[DeleteType(Pointer), DeleteType(Dhcid), Add(Pointer), Add(Dhcid)])
            }
            (Self::RemovePointer, CheckWithDhcid | CheckExistsWithDhcid) => {
                (&[Record(Pointer)], &[DeleteName])
            }
            (Self::RemovePointer, NoCheckWithDhcid) => {
                (&[], &[DeleteType(Pointer), DeleteType(Dhcid)])
            }
            (Self::RemovePointer, NoCheckWithoutDhcid) => (&[], &[DeleteType(Pointer)]),
        };
        UpdateContent { prerequisites, changes }
    }
}

/// Returns the name at which the zone of addresses has the name of `address`, such as
/// `4.3.2.1.in-addr.arpa.`.
pub(crate) fn pointer_name(address: IpAddr) -> UpdateName {
    let mut text = String::with_capacity(72);
    let result = match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            write!(text, "{d}.{c}.{b}.{a}.in-addr.arpa.")
        }
        IpAddr::V6(address) => address
            .octets()
            .iter()
            .rev()
            .try_for_each(|octet| write!(text, "{:x}.{:x}.", octet & 15, octet >> 4))
            .and_then(|()| write!(text, "ip6.arpa.")),
    };
    result.expect("a string takes any text");
    UpdateName::from_text(&text).expect("digits and dots are a name of at most 74 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names() {
        let name = |text: &str| pointer_name(text.parse().unwrap()).to_string();
        assert_eq!(name("10.0.2.103"), "103.2.0.10.in-addr.arpa.");
        let zeros = "0.".repeat(23);
        assert_eq!(name("2001:db8::1f"), format!("f.1.{}8.b.d.0.1.0.0.2.ip6.arpa.", &zeros[2..]));
    }

    #[test]
    fn answers_lead_on_or_end() {
        use Step::{
            AddName, RemoveAddress, RemoveName, RemovePointer, ReplaceName, ReplacePointer,
        };
        assert_eq!(AddName.verdict(Rcode::NOERROR), Verdict::Done);
        assert_eq!(AddName.verdict(Rcode::YXDOMAIN), Verdict::Next(ReplaceName));
        assert_eq!(ReplaceName.verdict(Rcode::NXDOMAIN), Verdict::Next(AddName));
        assert_eq!(ReplaceName.verdict(Rcode::NXRRSET), Verdict::Rejected);
        assert_eq!(RemoveAddress.verdict(Rcode::NXRRSET), Verdict::Next(RemoveName));
        assert_eq!(RemoveAddress.verdict(Rcode::NOERROR), Verdict::Next(RemoveName));
        assert_eq!(RemoveName.verdict(Rcode::YXRRSET), Verdict::Done);
        assert_eq!(RemovePointer.verdict(Rcode::NXRRSET), Verdict::Done);
        assert_eq!(ReplacePointer.verdict(Rcode::NXRRSET), Verdict::Rejected);
        assert_eq!(RemovePointer.verdict(Rcode::REFUSED), Verdict::Rejected);
    }
}
