//! The message transaction: from a parsed message to a reply or a counted drop.
//!
//! It steps until it has an outcome. Each step names what it needs next (the facts of one
//! association, or the result of a commit) and is given it in the next call; the decisions
//! themselves are in `decide`. The changes of all associations of a message are one commit, so they
//! succeed together or the transaction decides again. Reasons to step again are bounded: each
//! association asks for a candidate once per try, and after [`COMMIT_TRIES_MAX`] lost races the
//! message is dropped and counted, and the client's retransmission starts afresh.

use base::Now;
use dhcp_lease::v6::{
    Action, Change, Facts, FetchKeys, HardwareSource, IaIdentity, IaKind, LeaseStore, LeaseTerms,
    Occupancy, Receipt, Refusal, Resource, SlotView, V6,
};
use dhcp_lease::{CHANGES_MAX, HardwareAddress};
use dhcp_wire::v6::{Invalid, Message, MessageType, Packet, StatusCode, validity};

use super::association::{
    ASSOCIATIONS_MAX, AssociationResult, Associations, Grant, Wish, none_available,
};
use super::decide::{self, Decision};
use super::{DropReason, Ingress, Snapshot, hardware, select};
use crate::InterfaceNames;
use crate::prefixes::SubnetIndex;

/// Commits that one message may lose to others before it is dropped. Each loss means that a slot
/// went to someone else in the microseconds since it was fetched.
pub const COMMIT_TRIES_MAX: u8 = 8;

/// What the client wants, told by message type and options (RFC 9915 §18.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// SOLICIT: an offer.
    Solicit,
    /// SOLICIT with Rapid Commit, where the subnet allows it: leases at once.
    SolicitRapidly,
    /// REQUEST.
    Request,
    /// RENEW.
    Renew,
    /// REBIND.
    Rebind,
    /// RELEASE.
    Release,
    /// DECLINE.
    Decline,
    /// CONFIRM: whether its addresses fit the link.
    Confirm,
    /// INFORMATION-REQUEST: options only.
    Inform,
}

impl Intent {
    /// Whether something free is given when the client has nothing. Kea allocates for RENEW and
    /// REBIND as well, which RFC 9915 §18.3.4 and §18.3.5 allow.
    #[must_use]
    pub const fn wants_lease(self) -> bool {
        matches!(
            self,
            Self::Solicit | Self::SolicitRapidly | Self::Request | Self::Renew | Self::Rebind
        )
    }

    /// Whether leases are extended: what no longer fits then comes back with lifetimes of 0.
    #[must_use]
    pub const fn extends(self) -> bool {
        matches!(self, Self::Renew | Self::Rebind)
    }
}

/// What a transaction needs or has come to.
#[derive(Debug)]
pub enum Step<'t> {
    /// Fetch these into the facts at this position and step with [`Input::Facts`].
    Fetch(usize, FetchKeys<'t>),
    /// Commit all of these and step with [`Input::Committed`].
    Commit(&'t [Change<'t>]),
    /// The end.
    Done(Outcome),
}

/// What the last step asked for.
#[derive(Debug)]
pub enum Input<'f> {
    /// Nothing yet: the first step.
    Begin,
    /// The facts so far, one for each association.
    Facts(&'f [Facts]),
    /// The commit's result.
    Committed(Result<Receipt, Refusal>),
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Send the reply once this row epoch is settled; 0: at once.
    Reply(u64),
    /// A slot's last row is not settled: run the message again after this epoch.
    Wait(u64),
    /// No reply, counted.
    Drop(DropReason),
}

/// One message on its way.
#[derive(Debug)]
pub struct Transaction<'m> {
    pub(super) snapshot: &'m Snapshot,
    pub(super) packet: Packet<'m>,
    pub(super) message: Message<'m>,
    pub(super) intent: Intent,
    /// Empty in an INFORMATION-REQUEST that names no client.
    pub(super) duid: &'m [u8],
    pub(super) subnet: Option<SubnetIndex>,
    pub(super) associations: Associations<'m>,
    /// What the message as a whole is told.
    pub(super) status: Option<StatusCode>,
    hardware: (HardwareAddress, HardwareSource),
    changes: Changes<'m>,
    /// Highest epoch among the rows that the decision rests on.
    gate_epoch: u64,
    tries: u8,
}

impl<'m> Transaction<'m> {
    /// Opens the transaction of the message in `packet`: what it wants, who asks, which subnet it
    /// belongs to.
    ///
    /// # Errors
    ///
    /// The reason why it is dropped at once.
    pub fn begin(
        snapshot: &'m Snapshot,
        packet: Packet<'m>,
        ingress: Ingress,
        interfaces: &InterfaceNames,
    ) -> Result<Self, DropReason> {
        let message = packet.message();
        check(snapshot, &packet, ingress)?;
        let subnet = select::subnet(snapshot, &packet, ingress, interfaces);
        let allows_rapid_commit =
            subnet.is_some_and(|subnet| snapshot.subnet(subnet).allows_rapid_commit);
        let intent = match message.message_type() {
            MessageType::Solicit if allows_rapid_commit && message.has_rapid_commit() => {
                Intent::SolicitRapidly
            }
            MessageType::Solicit => Intent::Solicit,
            MessageType::Request => Intent::Request,
            MessageType::Renew => Intent::Renew,
            MessageType::Rebind => Intent::Rebind,
            MessageType::Release => Intent::Release,
            MessageType::Decline => Intent::Decline,
            MessageType::Confirm => Intent::Confirm,
            MessageType::InformationRequest => Intent::Inform,
            _ => return Err(DropReason::UnexpectedMessageType),
        };
        let duid = message.client_id().unwrap_or_default();
        Ok(Self {
            snapshot,
            intent,
            duid,
            subnet,
            associations: Associations::of(&message, intent.wants_lease()),
            status: None,
            hardware: hardware::of(&snapshot.mac_sources, &packet, ingress, duid),
            packet,
            message,
            changes: Changes::default(),
            gate_epoch: 0,
            tries: 0,
        })
    }

    /// Goes on with what the last step asked for.
    pub fn step(&mut self, now: Now, input: &Input<'_>) -> Step<'_> {
        match input {
            Input::Begin => match self.intent {
                Intent::Confirm => Step::Done(decide::confirm(self)),
                Intent::Inform => Step::Done(Outcome::Reply(0)),
                Intent::Rebind if self.subnet.is_none() => {
                    // Another server may know the link (RFC 9915 §18.3.5).
                    Step::Done(Outcome::Drop(DropReason::NoSubnet))
                }
                _ => self.fetch_next(now, &[]),
            },
            Input::Facts(facts) => self.fetch_next(now, facts),
            Input::Committed(Ok(receipt)) => {
                Step::Done(Outcome::Reply(self.gate_epoch.max(receipt.row_epoch)))
            }
            Input::Committed(Err(refusal)) => self.refused(now, *refusal),
        }
    }

    /// Asks for the facts of the next association, and decides when there are all.
    fn fetch_next(&mut self, now: Now, facts: &[Facts]) -> Step<'_> {
        if self.associations.iter().all(|association| association.is_fetched) {
            if let Some(outcome) = self.decide(now, facts) {
                return Step::Done(outcome);
            }
            if self.associations.iter().all(|association| association.is_fetched) {
                return Step::Commit(self.changes.as_slice());
            }
        }
        let (snapshot, subnet, duid) = (self.snapshot, self.subnet, self.duid);
        let (at, association) =
            self.associations.next_unfetched().expect("one is not fetched, as seen above");
        association.is_fetched = true;
        let candidate_pools = match (association.wish, subnet) {
            (Wish::Nothing, _) | (_, None) => &[],
            (_, Some(subnet)) => {
                snapshot.pool_order(subnet, association.kind, association.wanted_len())
            }
        };
        let keys = FetchKeys {
            identity: association.identity(duid),
            addresses: [association.hints[0], association.hints[1], None, None],
            pools: snapshot.pools(),
            candidate_pools,
            is_candidate_spare: association.wish == Wish::SpareCandidate,
        };
        Step::Fetch(at, keys)
    }

    /// Decides for every association; `None` when something has to be fetched or committed.
    fn decide(&mut self, now: Now, facts: &[Facts]) -> Option<Outcome> {
        self.changes.clear();
        self.gate_epoch = 0;
        let mut is_decided = true;
        for (at, facts) in facts.iter().take(self.associations.len()).enumerate() {
            let read = facts.mine().chain(facts.asked.iter().flatten());
            let epochs = read.map(|slot| slot.row_epoch);
            self.gate_epoch = epochs.fold(self.gate_epoch, u64::max);
            match decide::decide(self, now, at, facts) {
                Decision::Wait(epoch) => return Some(Outcome::Wait(epoch)),
                Decision::Status(code) => self.conclude(at, AssociationResult::Status(code)),
                Decision::Grant(grant, change) => {
                    if let Some((slot, action)) = change {
                        self.change(at, slot, action);
                    }
                    self.conclude(at, AssociationResult::Granted(grant));
                }
                Decision::GiveUp(action) => self.give_up(at, facts, action),
                Decision::NeedCandidate => is_decided &= self.exhausted(at, facts),
            }
        }
        if !is_decided {
            return None;
        }
        if matches!(self.intent, Intent::Release | Intent::Decline) {
            self.status = Some(StatusCode::Success);
        }
        self.changes.is_empty().then_some(Outcome::Reply(self.gate_epoch))
    }

    /// Nothing that the association has or asks for will do. True when that is the last word;
    /// otherwise a candidate is to be fetched for it.
    fn exhausted(&mut self, at: usize, facts: &Facts) -> bool {
        let Some(association) = self.associations.iter_mut().nth(at) else { return true };
        let was_claimed = match association.wish {
            Wish::Nothing => false,
            Wish::SpareCandidate => facts.mine_count == 0,
            Wish::Candidate => true,
        };
        if was_claimed {
            association.result = AssociationResult::Status(none_available(association.ia.kind));
        } else {
            association.wish = Wish::Candidate;
            association.is_fetched = false;
        }
        was_claimed
    }

    fn conclude(&mut self, at: usize, result: AssociationResult) {
        if let Some(association) = self.associations.iter_mut().nth(at) {
            association.result = result;
        }
    }

    fn change(&mut self, at: usize, slot: SlotView, action: Action<'static>) -> bool {
        let Some(association) = self.associations.iter().nth(at) else { return false };
        self.changes.push(Change {
            identity: association.identity(self.duid),
            address: slot.address,
            expected_version: slot.version,
            action,
        })
    }

    /// RELEASE and DECLINE: whatever of the association the client names and has. What does not
    /// fit into one commit is left to run out.
    fn give_up(&mut self, at: usize, facts: &Facts, action: Action<'static>) {
        let Some(association) = self.associations.iter().nth(at).copied() else { return };
        let mut code = StatusCode::NoBinding;
        for slot in facts.mine().filter(|slot| slot.occupancy == Occupancy::Leased) {
            if association.named().any(|named| named == slot.address)
                && self.change(at, *slot, action)
            {
                code = StatusCode::Success;
            }
        }
        self.conclude(at, AssociationResult::Status(code));
    }

    fn refused(&mut self, now: Now, refusal: Refusal) -> Step<'_> {
        match refusal {
            Refusal::Stale if self.tries < COMMIT_TRIES_MAX => {
                self.tries += 1;
                for association in self.associations.iter_mut() {
                    association.is_fetched = false;
                }
                self.fetch_next(now, &[])
            }
            Refusal::Stale | Refusal::NoSuchSlot => {
                Step::Done(Outcome::Drop(DropReason::Contention))
            }
            Refusal::Unsettled(epoch) => Step::Done(Outcome::Wait(epoch)),
            Refusal::Failed => Step::Done(Outcome::Drop(DropReason::StoreFailed)),
        }
    }

    /// The terms of a lease that `grant` stands for.
    pub(super) fn terms(&self, grant: &Grant) -> LeaseTerms<'static> {
        LeaseTerms {
            valid_lifetime_s: grant.lifetimes.valid_s,
            preferred_lifetime_s: grant.lifetimes.preferred_s,
            subnet_id: self.snapshot.subnet(grant.place.subnet).id,
            pool_id: self.snapshot.pool_terms(grant.place.pool).id,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "",
            user_context: "",
            hardware: self.hardware.0,
            hardware_source: self.hardware.1,
        }
    }
}

/// The changes of one message.
#[derive(Debug)]
struct Changes<'m> {
    items: [Change<'m>; CHANGES_MAX],
    len: usize,
}

impl Default for Changes<'_> {
    fn default() -> Self {
        let nothing = Change {
            identity: IaIdentity { duid: &[], kind: IaKind::Address, iaid: 0 },
            address: Resource::address(core::net::Ipv6Addr::UNSPECIFIED),
            expected_version: 0,
            action: Action::Unhold,
        };
        Self { items: [nothing; CHANGES_MAX], len: 0 }
    }
}

impl<'m> Changes<'m> {
    const fn clear(&mut self) {
        self.len = 0;
    }

    const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// False when there is no room.
    fn push(&mut self, change: Change<'m>) -> bool {
        let Some(place) = self.items.get_mut(self.len) else { return false };
        *place = change;
        self.len += 1;
        true
    }

    fn as_slice(&self) -> &[Change<'m>] {
        &self.items[..self.len]
    }
}

/// Runs a transaction to its end against a store that answers at once.
pub fn drive(
    transaction: &mut Transaction<'_>,
    now: Now,
    store: &mut impl LeaseStore<V6>,
    facts: &mut [Facts; ASSOCIATIONS_MAX],
) -> Outcome {
    for facts in facts.iter_mut() {
        facts.candidate = None;
    }
    let mut committed = None;
    let mut has_facts = false;
    loop {
        let input = match committed.take() {
            Some(result) => Input::Committed(result),
            None if has_facts => Input::Facts(facts),
            None => Input::Begin,
        };
        match transaction.step(now, &input) {
            Step::Fetch(at, keys) => {
                // What an earlier try claimed would be missing from the pool in this one.
                if let Some(unused) = facts[at].candidate.take()
                    && unused.occupancy == Occupancy::Free
                {
                    store.give_back(unused.address);
                }
                store.fetch(now, &keys, &mut facts[at]);
                has_facts = true;
            }
            Step::Commit(changes) => committed = Some(store.commit(now, changes)),
            Step::Done(outcome) => return outcome,
        }
    }
}

/// Whether the message may be answered at all (RFC 9915 §16, §18.4).
fn check(snapshot: &Snapshot, packet: &Packet<'_>, ingress: Ingress) -> Result<(), DropReason> {
    let message = packet.message();
    if packet.relay_type() == Some(MessageType::RelayRepl) {
        return Err(DropReason::UnexpectedMessageType);
    }
    // Since RFC 9915 clients send to the multicast address alone; agents may send to ours.
    if packet.relay_count() == 0 && !ingress.is_multicast {
        return Err(DropReason::UnicastFromClient);
    }
    validity(&message).map_err(|invalid| match invalid {
        Invalid::NoClientId => DropReason::NoIdentity,
        Invalid::NoServerId => DropReason::NoServerId,
        Invalid::ServerIdForbidden => DropReason::UnexpectedServerId,
        Invalid::ClientIdRepeated | Invalid::ServerIdRepeated => DropReason::RepeatedIdentity,
        Invalid::IaForbidden => DropReason::UnexpectedAssociation,
    })?;
    if message.server_id().is_some_and(|chosen| *chosen != *snapshot.server_duid) {
        return Err(DropReason::ClientChoseOtherServer);
    }
    Ok(())
}
