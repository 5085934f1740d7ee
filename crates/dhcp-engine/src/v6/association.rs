//! Identity associations of one DHCPv6 message (RFC 9915 §12): the content of each, and its
//! outcome.

use dhcp_lease::PoolIndex;
use dhcp_lease::v6::{IaIdentity, Resource, ResourceKind, SlotView};
use dhcp_wire::v6::{self as wire, Message, StatusCode};

use super::lifetimes::Lifetimes;
use crate::prefixes::SubnetIndex;
use crate::transaction::CandidateRequest;

/// Largest number of identity associations (IA_NA, IA_PD; RFC 9915 §12) of one message that get
/// leases. The rest are refused.
pub const ASSOCIATIONS_MAX: usize = 8;
/// Largest number of free addresses or prefixes that the server claims for one identity
/// association, one after another, while earlier associations of the message take them.
pub(super) const CLAIMS_MAX: u8 = ASSOCIATIONS_MAX as u8;
/// Largest number of leases of an identity association that one message ends.
pub(super) const WITHDRAWN_MAX: usize = 2;
/// Largest number of identity associations of one message that the reply refuses one by one. The
/// reply does not mention further ones.
pub const REFUSED_MAX: usize = 16;

/// Identity association (IA) of a DHCPv6 message, with what is decided about it.
#[derive(Clone, Copy, Debug)]
pub struct MessageAssociation<'m> {
    /// Identity association as the client sent it.
    pub ia: wire::Ia<'m>,
    /// Kind of lease that the identity association is for: address (IA_NA) or prefix (IA_PD).
    pub kind: ResourceKind,
    /// IAID under which the association's leases are stored.
    pub(super) iaid: u32,
    /// Addresses or prefixes that the client requests first for the association, at most two, in
    /// the form in which it can get them.
    pub(super) hints: [Option<Resource>; 2],
    /// Prefix length that the client requests for the identity association, in bits.
    pub(super) requested_len: Option<u8>,
    /// Lifetimes that the client sends with its first hint, in seconds; 0 where the client requests
    /// none.
    pub(super) requested_lifetimes: Lifetimes,
    pub(super) candidate_request: CandidateRequest,
    pub(super) is_fetched: bool,
    /// Number of free addresses or prefixes that were claimed for the identity association and that
    /// it could not have, since earlier associations of the message take them.
    pub(super) claims: u8,
    /// True while an earlier association of the message takes the free address or prefix that was
    /// claimed for this one.
    pub(super) has_candidate_conflict: bool,
    /// Slot (address or prefix) that the identity association will get, with its location.
    pub(super) chosen: Option<(SlotView, ResourceLocation)>,
    /// Grant that a renewal would make, if the identity association's lease is repeated instead of
    /// renewed (`cache-threshold`).
    pub(super) repeated: Option<Grant>,
    /// Subnet in which the search for the association began, and true if any pool was open to it;
    /// set when the association got nothing from pools.
    pub(super) failed_search: Option<(SubnetIndex, bool)>,
    /// Addresses or prefixes that the identity association had and loses.
    pub(super) withdrawn: [Option<Resource>; WITHDRAWN_MAX],
    /// Outcome of the identity association, for the reply.
    pub result: AssociationResult,
}

/// Outcome of an identity association.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssociationResult {
    /// Grant of a lease or an offer to the association.
    Granted(Grant),
    /// Status code in the reply (RFC 9915 §21.13): the association gets no lease, or the server did
    /// what the client requested.
    Status(StatusCode),
}

/// Grant of an address or prefix to an identity association.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// Address or prefix that is granted.
    pub resource: Resource,
    /// Lifetimes of the granted lease, in seconds.
    pub lifetimes: Lifetimes,
    /// Subnet and pool of the granted address or prefix.
    pub location: ResourceLocation,
}

/// Subnet and pool of a leased address or prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLocation {
    /// Subnet from which the address or prefix is leased.
    pub subnet: SubnetIndex,
    /// Pool that contains the address or prefix; a reserved one need not be in any.
    pub pool: Option<PoolIndex>,
    /// True if the address or prefix is reserved for the client.
    pub is_reserved: bool,
}

/// Identity associations of one DHCPv6 message. They are large, so they are outside of the
/// transaction and are not moved.
#[derive(Debug)]
pub struct Associations<'m> {
    leased: [Option<MessageAssociation<'m>>; ASSOCIATIONS_MAX],
    count: usize,
    refused: [Option<(wire::IaKind, u32)>; REFUSED_MAX],
    refused_count: usize,
}

impl<'m> Associations<'m> {
    /// Returns an empty list of associations. The function writes only the marks of empty entries,
    /// where a constant would be copied whole.
    pub(super) fn new() -> Self {
        Self {
            leased: core::array::from_fn(|_| None),
            count: 0,
            refused: core::array::from_fn(|_| None),
            refused_count: 0,
        }
    }

    /// Adds the associations of `message`, addresses before prefixes as in Kea; of those with the
    /// same kind and IAID, the first counts. `wants_lease`: the server will look for a free address
    /// or prefix where the client names none. `ignores_iaid`: the only association of its kind
    /// counts as IAID 0 (flex-id hook, `ignore-iaid`).
    pub(super) fn read(&mut self, message: &Message<'m>, wants_lease: bool, ignores_iaid: bool) {
        for ia in message.ias() {
            let kind = match ia.kind {
                wire::IaKind::Na => ResourceKind::Address,
                wire::IaKind::Pd => ResourceKind::Prefix,
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
            self.leased[self.count] = Some(MessageAssociation::new(ia, kind, wants_lease));
            self.count += 1;
        }
        self.put_addresses_first();
        if ignores_iaid {
            self.ignore_numbers();
        }
    }

    /// Moves the associations for addresses before those for prefixes, each in the order of the
    /// message.
    fn put_addresses_first(&mut self) {
        let mut prefixes_from = 0;
        for at in 0..self.count {
            let is_address = self.get(at).is_some_and(|one| one.kind == ResourceKind::Address);
            if is_address {
                // Most messages have only addresses, which stay at their positions.
                if prefixes_from < at
                    && let Some(behind) = self.leased.get_mut(prefixes_from..=at)
                {
                    behind.rotate_right(1);
                }
                prefixes_from += 1;
            }
        }
    }

    /// Delays the search for free addresses and prefixes of each association until the grants of
    /// earlier ones are known: these decide where the search begins.
    pub(super) fn look_in_turn(&mut self) {
        self.iter_mut()
            .skip(1)
            .for_each(|association| association.candidate_request = CandidateRequest::Nothing);
    }

    fn ignore_numbers(&mut self) {
        for kind in [ResourceKind::Address, ResourceKind::Prefix] {
            if self.iter().filter(|association| association.kind == kind).count() == 1 {
                let mut all = self.iter_mut();
                all.find(|association| association.kind == kind)
                    .into_iter()
                    .for_each(|only| only.iaid = 0);
            }
        }
    }

    fn refuse(&mut self, ia: wire::Ia<'_>) {
        if let Some(entry) = self.refused.get_mut(self.refused_count) {
            *entry = Some((ia.kind, ia.iaid));
            self.refused_count += 1;
        }
    }

    /// Returns the number of the message's associations that get leases.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the message has no association that gets a lease.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the associations of the message that get leases, in the order of the message,
    /// addresses first.
    pub fn iter(&self) -> impl Iterator<Item = &MessageAssociation<'m>> {
        self.leased[..self.count].iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut MessageAssociation<'m>> {
        self.leased[..self.count].iter_mut().flatten()
    }

    /// Returns the identity association at position `at` among those that get leases.
    pub(super) fn get(&self, at: usize) -> Option<&MessageAssociation<'m>> {
        self.leased.get(at)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut MessageAssociation<'m>> {
        self.leased.get_mut(at)?.as_mut()
    }

    /// Returns kind and IAID of the message's associations that are refused unseen: those for
    /// temporary addresses (IA_TA), and those beyond [`ASSOCIATIONS_MAX`].
    pub fn refused(&self) -> impl Iterator<Item = (wire::IaKind, u32)> {
        self.refused[..self.refused_count].iter().flatten().copied()
    }

    /// Returns the first identity association whose slots are not fetched yet from the lease store,
    /// with its position.
    pub(super) fn next_unfetched(&mut self) -> Option<(usize, &mut MessageAssociation<'m>)> {
        self.iter_mut().enumerate().find(|(_, association)| !association.is_fetched)
    }
}

impl<'m> MessageAssociation<'m> {
    fn new(ia: wire::Ia<'m>, kind: ResourceKind, wants_lease: bool) -> Self {
        let (hints, requested_lifetimes) = match kind {
            ResourceKind::Address => {
                let mut addresses = ia.addresses();
                let first = addresses.next();
                let requested_lifetimes = first.map_or_else(Lifetimes::default, |first| {
                    Lifetimes { preferred_s: first.preferred_s, valid_s: first.valid_s }
                });
                (
                    [first, addresses.next()].map(|hint| Some(Resource::address(hint?.address))),
                    requested_lifetimes,
                )
            }
            ResourceKind::Prefix => {
                let mut prefixes = ia.prefixes();
                let first = prefixes.next();
                let requested_lifetimes = first.map_or_else(Lifetimes::default, |first| {
                    Lifetimes { preferred_s: first.preferred_s, valid_s: first.valid_s }
                });
                let resource = |hint: wire::IaPrefix<'_>| Resource::prefix(hint.prefix, hint.len);
                ([first, prefixes.next()].map(|hint| hint.map(resource)), requested_lifetimes)
            }
        };
        let asks_for_any = hints.iter().flatten().all(|hint| hint.address.is_unspecified());
        Self {
            ia,
            kind,
            iaid: ia.iaid,
            requested_len: hints[0].map(|hint| hint.len).filter(|&len| len > 0),
            hints,
            requested_lifetimes,
            candidate_request: if wants_lease && asks_for_any {
                CandidateRequest::SpareCandidate
            } else {
                CandidateRequest::Nothing
            },
            is_fetched: false,
            claims: 0,
            has_candidate_conflict: false,
            chosen: None,
            repeated: None,
            failed_search: None,
            withdrawn: [None; WITHDRAWN_MAX],
            result: AssociationResult::Status(none_available(ia.kind)),
        }
    }

    /// Returns the identity under which the lease store has the association's leases, for the
    /// client's `duid`.
    pub(super) const fn identity<'d>(&self, duid: &'d [u8]) -> IaIdentity<'d> {
        IaIdentity { duid, kind: self.kind, iaid: self.iaid }
    }

    /// Returns every address or prefix that the client names in the association.
    pub(super) fn requested_resources(&self) -> impl Iterator<Item = Resource> + use<'m> {
        let addresses = self.ia.addresses().map(|address| Resource::address(address.address));
        let prefixes = self.ia.prefixes().map(|prefix| Resource::prefix(prefix.prefix, prefix.len));
        let is_address = self.kind == ResourceKind::Address;
        addresses.filter(move |_| is_address).chain(prefixes.filter(move |_| !is_address))
    }

    /// Returns the grant of the association; `None` when it is granted nothing.
    #[must_use]
    pub const fn grant(&self) -> Option<&Grant> {
        match &self.result {
            AssociationResult::Granted(grant) => Some(grant),
            AssociationResult::Status(_) => None,
        }
    }
}

/// Returns the status of an association of `kind` when nothing is available for it (RFC 9915
/// §18.3.1, §18.3.2).
pub(super) const fn none_available(kind: wire::IaKind) -> StatusCode {
    match kind {
        wire::IaKind::Na | wire::IaKind::Ta => StatusCode::NoAddrsAvail,
        wire::IaKind::Pd => StatusCode::NoPrefixAvail,
    }
}
