//! The identity associations of one message (RFC 9915 §12): what the client says in each, and what
//! is found for it.

use dhcp_lease::PoolIndex;
use dhcp_lease::v6::{IaIdentity, IaKind, Resource, SlotView};
use dhcp_wire::v6::{self as wire, Message, StatusCode};

use super::lifetimes::Lifetimes;
use crate::prefixes::SubnetIndex;

/// Associations of one message that are leased to. The rest are refused.
pub const ASSOCIATIONS_MAX: usize = 8;
/// Candidates that are claimed for an association one after another while those before take them.
pub(super) const CLAIMS_MAX: u8 = ASSOCIATIONS_MAX as u8;
/// Leases of an association that are taken back at once.
pub(super) const TAKEN_BACK_MAX: usize = 2;
/// Associations that are refused one by one. What is beyond has no answer.
pub const REFUSED_MAX: usize = 16;

/// One association of a message.
#[derive(Clone, Copy, Debug)]
pub struct Association<'m> {
    /// As the client sent it.
    pub ia: wire::Ia<'m>,
    /// What it is for.
    pub kind: IaKind,
    /// The number that its leases are kept under.
    pub(super) iaid: u32,
    /// What the client can have of its first two addresses or prefixes.
    pub(super) hints: [Option<Resource>; 2],
    /// The prefix length that it asks for.
    pub(super) wanted_len: Option<u8>,
    /// The lifetimes that come with the first; 0 where none is wished for.
    pub(super) wished: Lifetimes,
    pub(super) wish: Wish,
    pub(super) is_fetched: bool,
    /// Candidates that it was claimed and could not have, since associations before take them.
    pub(super) claims: u8,
    /// True while an association before takes the candidate that it has now.
    pub(super) is_claim_taken: bool,
    /// What it is to have.
    pub(super) chosen: Option<(SlotView, Place)>,
    /// Whether what it gets is repeated instead of renewed.
    pub(super) is_repeated: bool,
    /// It got nothing from pools: the subnet in which the search began, and whether any pool was open
    /// to it.
    pub(super) found_nothing: Option<(SubnetIndex, bool)>,
    /// What it had and loses.
    pub(super) taken_back: [Option<Resource>; TAKEN_BACK_MAX],
    /// What becomes of it.
    pub result: AssociationResult,
}

/// Whether the next fetch claims something free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// No.
    Nothing,
    /// Only when the association has no slot at all.
    SpareCandidate,
    /// Yes: nothing that the association has or asked for will do.
    Candidate,
    /// No, none was left: what further reservations of the client hold may do.
    Reserved,
}

/// What becomes of an association.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssociationResult {
    /// It is leased to, or offered something.
    Granted(Grant),
    /// Nothing is leased to it, or what it asked for is done: this is said.
    Status(StatusCode),
}

/// What an association gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// The address or prefix.
    pub resource: Resource,
    /// For how long.
    pub lifetimes: Lifetimes,
    /// Where it lies.
    pub place: Place,
}

/// Where something that is leased lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The subnet that it is leased from.
    pub subnet: SubnetIndex,
    /// Its pool; what is reserved need not be in one.
    pub pool: Option<PoolIndex>,
    /// Whether it is reserved for the client.
    pub is_reserved: bool,
}

/// The associations of one message. They are large, so they stand beside the transaction and are not
/// moved.
#[derive(Debug)]
pub struct Associations<'m> {
    leased: [Option<Association<'m>>; ASSOCIATIONS_MAX],
    count: usize,
    refused: [Option<(wire::IaKind, u32)>; REFUSED_MAX],
    refused_count: usize,
}

impl<'m> Associations<'m> {
    /// None yet. A constant would be copied whole; this writes what says that there is nothing.
    pub(super) fn new() -> Self {
        Self {
            leased: core::array::from_fn(|_| None),
            count: 0,
            refused: core::array::from_fn(|_| None),
            refused_count: 0,
        }
    }

    /// Adds those of `message`, addresses before prefixes as in Kea; the first of each kind and number
    /// counts. `wants_lease`: something free
    /// will be asked for where the client does not say what it wants.
    /// `ignores_iaid`: the only one of its kind counts as number 0.
    pub(super) fn read(&mut self, message: &Message<'m>, wants_lease: bool, ignores_iaid: bool) {
        for ia in message.ias() {
            let kind = match ia.kind {
                wire::IaKind::Na => IaKind::Address,
                wire::IaKind::Pd => IaKind::Prefix,
                wire::IaKind::Ta => {
                    self.refuse(ia);
                    continue;
                }
            };
            if self.iter().any(|other| other.kind == kind && other.ia.iaid == ia.iaid) {
                continue;
            }
            if self.count == ASSOCIATIONS_MAX {
                self.refuse(ia);
                continue;
            }
            self.leased[self.count] = Some(Association::new(ia, kind, wants_lease));
            self.count += 1;
        }
        self.put_addresses_first();
        if ignores_iaid {
            self.ignore_numbers();
        }
    }

    /// Puts those for addresses before those for prefixes, each in the order of the message.
    fn put_addresses_first(&mut self) {
        let mut prefixes_from = 0;
        for at in 0..self.count {
            let is_address = self.get(at).is_some_and(|one| one.kind == IaKind::Address);
            if is_address {
                // Most messages have addresses alone, which stay where they are.
                if prefixes_from < at
                    && let Some(behind) = self.leased.get_mut(prefixes_from..=at)
                {
                    behind.rotate_right(1);
                }
                prefixes_from += 1;
            }
        }
    }

    /// Has something free looked for only when it is known what those before are given: that tells
    /// where to look.
    pub(super) fn look_in_turn(&mut self) {
        self.iter_mut().skip(1).for_each(|association| association.wish = Wish::Nothing);
    }

    fn ignore_numbers(&mut self) {
        for kind in [IaKind::Address, IaKind::Prefix] {
            if self.iter().filter(|association| association.kind == kind).count() == 1 {
                let mut all = self.iter_mut();
                all.find(|association| association.kind == kind)
                    .into_iter()
                    .for_each(|only| only.iaid = 0);
            }
        }
    }

    fn refuse(&mut self, ia: wire::Ia<'_>) {
        if let Some(place) = self.refused.get_mut(self.refused_count) {
            *place = Some((ia.kind, ia.iaid));
            self.refused_count += 1;
        }
    }

    /// How many are leased to.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// True when the message has none that is leased to.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the associations that are leased to, in the order of the message, addresses first.
    pub fn iter(&self) -> impl Iterator<Item = &Association<'m>> {
        self.leased[..self.count].iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Association<'m>> {
        self.leased[..self.count].iter_mut().flatten()
    }

    /// The one at a position.
    pub(super) fn get(&self, at: usize) -> Option<&Association<'m>> {
        self.leased.get(at)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Association<'m>> {
        self.leased.get_mut(at)?.as_mut()
    }

    /// Kind and number of those that are refused unseen: temporary ones, and those too many.
    pub fn refused(&self) -> impl Iterator<Item = (wire::IaKind, u32)> {
        self.refused[..self.refused_count].iter().flatten().copied()
    }

    /// The first whose slots are not fetched.
    pub(super) fn next_unfetched(&mut self) -> Option<(usize, &mut Association<'m>)> {
        self.iter_mut().enumerate().find(|(_, association)| !association.is_fetched)
    }
}

impl<'m> Association<'m> {
    fn new(ia: wire::Ia<'m>, kind: IaKind, wants_lease: bool) -> Self {
        let (hints, wished) = match kind {
            IaKind::Address => {
                let mut addresses = ia.addresses();
                let first = addresses.next();
                let wished = first.map_or_else(Lifetimes::default, |first| Lifetimes {
                    preferred_s: first.preferred_s,
                    valid_s: first.valid_s,
                });
                (
                    [first, addresses.next()].map(|hint| Some(Resource::address(hint?.address))),
                    wished,
                )
            }
            IaKind::Prefix => {
                let mut prefixes = ia.prefixes();
                let first = prefixes.next();
                let wished = first.map_or_else(Lifetimes::default, |first| Lifetimes {
                    preferred_s: first.preferred_s,
                    valid_s: first.valid_s,
                });
                let resource = |hint: wire::IaPrefix<'_>| Resource::prefix(hint.prefix, hint.len);
                ([first, prefixes.next()].map(|hint| hint.map(resource)), wished)
            }
        };
        let asks_for_any = hints.iter().flatten().all(|hint| hint.address.is_unspecified());
        Self {
            ia,
            kind,
            iaid: ia.iaid,
            wanted_len: hints[0].map(|hint| hint.len).filter(|&len| len > 0),
            hints,
            wished,
            wish: if wants_lease && asks_for_any { Wish::SpareCandidate } else { Wish::Nothing },
            is_fetched: false,
            claims: 0,
            is_claim_taken: false,
            chosen: None,
            is_repeated: false,
            found_nothing: None,
            taken_back: [None; TAKEN_BACK_MAX],
            result: AssociationResult::Status(none_available(ia.kind)),
        }
    }

    /// Who it is, for the lease store.
    pub(super) const fn identity<'d>(&self, duid: &'d [u8]) -> IaIdentity<'d> {
        IaIdentity { duid, kind: self.kind, iaid: self.iaid }
    }

    /// Every address or prefix that the client names in it.
    pub(super) fn named(&self) -> impl Iterator<Item = Resource> + use<'m> {
        let addresses = self.ia.addresses().map(|address| Resource::address(address.address));
        let prefixes = self.ia.prefixes().map(|prefix| Resource::prefix(prefix.prefix, prefix.len));
        let is_address = self.kind == IaKind::Address;
        addresses.filter(move |_| is_address).chain(prefixes.filter(move |_| !is_address))
    }

    /// What it gets.
    #[must_use]
    pub const fn grant(&self) -> Option<&Grant> {
        match &self.result {
            AssociationResult::Granted(grant) => Some(grant),
            AssociationResult::Status(_) => None,
        }
    }
}

/// What to say when there is nothing to give (RFC 9915 §18.3.1, §18.3.2).
pub(super) const fn none_available(kind: wire::IaKind) -> StatusCode {
    match kind {
        wire::IaKind::Na | wire::IaKind::Ta => StatusCode::NoAddrsAvail,
        wire::IaKind::Pd => StatusCode::NoPrefixAvail,
    }
}
