//! Transaction of a DHCPv6 message: from the parsed message to a reply or a counted drop.
//!
//! It steps until it has an outcome ([`crate::transaction`]); `choice` chooses, and `settle`
//! computes the results. The changes of all associations of a message are one commit, so they
//! succeed together or the transaction decides again. Each association claims a candidate once per
//! try.

use base::Now;
use dhcp_lease::CHANGES_MAX;
use dhcp_lease::v6::{
    Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, IaIdentity, Resource, ResourceKind,
    SlotOccupancy, SlotOwner, SlotView, V6,
};
use dhcp_wire::v6::{Invalid, Message, MessageType, Packet, StatusCode, validity};

use super::association::{
    AssociationResult, Associations, CLAIMS_MAX, MessageAssociation, none_available,
};
use super::changes::{Dhcp6MessageChanges, PlannedAction, nothing};
use super::client::{Dhcp6ClientScratch, RequestingClient};
use super::decide::{self, Decision};
use super::name::FqdnAnswer;
use super::registration::Registration;
use super::{Dhcp6Intent, DropReason, Ingress, Snapshot, relay_info};
use crate::classify::PacketView6;
use crate::client_facts::ClientFacts;
use crate::hosts::{HostBook, HostIndex, HostTerms};
use crate::omission::{Omission, clear_if_too_long};
use crate::pair_filters::PairFilters;
use crate::prefixes::SubnetIndex;
use crate::transaction::{
    CandidateRequest, CommitProgress, MessageTransaction, NoReply, TransactionInput,
    TransactionStep,
};

/// Number of reserved addresses or prefixes that one fetch reads.
const RESERVED_FETCHED_MAX: usize = 2;

/// Step that a DHCPv6 transaction needs next, or its outcome. A reply is described by the row epoch
/// that it waits for; 0: it leaves at once.
pub(super) type Step<'t> = TransactionStep<'t, V6, u64>;

/// Transaction of one DHCPv6 message.
///
/// The owner calls [`Transaction::begin`], then
/// [`drive`](crate::transaction::drive), which continues the transaction to its end.
#[derive(Debug)]
pub struct Transaction<'m> {
    /// Configuration that the transaction uses from begin to end.
    pub(super) snapshot: &'m Snapshot,
    /// Packet with its relay messages, and the address and interface at which it was received.
    pub(super) view: PacketView6<'m>,
    /// Client's own message, inside of the relay messages.
    pub(super) message: Message<'m>,
    /// Intent that the client's message expresses.
    pub(super) intent: Dhcp6Intent,
    /// Client with its identity and subnet.
    pub(super) client: RequestingClient<'m>,
    /// Classes, reservations, pools and user context of the client, in memory that the owner
    /// reuses.
    pub(super) client_facts: &'m mut ClientFacts,
    /// Changes of leases that the message makes, as far as decided.
    pub(super) changes: &'m mut Dhcp6MessageChanges,
    /// Name of the client in the reply and in the leases.
    pub(super) name: &'m mut String,
    /// Identity associations of the message, with what is decided about each so far.
    pub(super) associations: &'m mut Associations<'m>,
    /// Status of the message as a whole in the reply; `None` when the reply has none.
    pub(super) status: Option<StatusCode>,
    /// Client FQDN option (39) of the reply, when the reply has one.
    pub(super) fqdn_answer: Option<FqdnAnswer>,
    /// Address that an ADDR-REG-INFORM registers.
    pub(super) registration: Option<Registration<'m>>,
    /// Highest row epoch among the slots on which the decision rests.
    pub(super) gate_epoch: u64,
    /// Progress of the commits.
    progress: CommitProgress,
}

impl<'m> Transaction<'m> {
    /// Begins the transaction of the DHCPv6 message in `view`: finds its intent, its client and
    /// its subnet, whose clients `pairs` must leave to this server. `associations` are empty. When
    /// hosts that it needs are not looked up yet ([`HostBook::has_missed`]), the caller must
    /// discard the result, also an error.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped at once.
    pub(super) fn begin(
        snapshot: &'m Snapshot,
        hosts: HostBook<'m, V6>,
        view: PacketView6<'m>,
        pairs: &PairFilters,
        scratch: &'m mut Dhcp6ClientScratch,
        associations: &'m mut Associations<'m>,
    ) -> Result<Self, DropReason> {
        let PacketView6 { packet, ingress, .. } = view;
        let message = packet.message();
        check(snapshot, packet, *ingress)?;
        Dhcp6Intent::from_message(&message, false)?;
        let Dhcp6ClientScratch { client_facts, changes, name, identity } = scratch;
        changes.clear();
        let client =
            RequestingClient::recognize(snapshot, hosts, &view, pairs, client_facts, identity)?;
        let subnet = client.subnet.map(|subnet| snapshot.subnet(subnet));
        let intent = Dhcp6Intent::from_message(
            &message,
            subnet.is_some_and(|subnet| subnet.own.allows_rapid_commit),
        )?;
        // The subnet of the link that will lease is not known yet.
        let link = client.subnet.map_or(&[][..], |subnet| snapshot.link_subnets(subnet));
        let stores_relay_info = link.iter().any(|&one| snapshot.subnet(one).stores_relay_info);
        if intent.commits_leases() && stores_relay_info {
            relay_info::write(packet, &mut client_facts.user_context);
            if clear_if_too_long(&mut client_facts.user_context) {
                client_facts.omissions.note(Omission::RelayInfo);
            }
        }
        let registration = match intent {
            Dhcp6Intent::Register => Some(Registration::from_packet(snapshot, &view, &client)?),
            _ => None,
        };
        associations.read(&message, intent.wants_lease(), snapshot.flex_id.ignores_iaid);
        let mut transaction = Self {
            snapshot,
            view,
            message,
            intent,
            associations,
            client,
            client_facts,
            changes,
            name,
            status: None,
            fqdn_answer: None,
            registration,
            gate_epoch: 0,
            progress: CommitProgress::default(),
        };
        if transaction.follows_earlier_grants() {
            transaction.associations.look_in_turn();
        }
        // As far as the name is known before an address is chosen.
        transaction.make_name();
        transaction.adapt_hints();
        transaction.prefer_reserved();
        transaction.look_ahead();
        Ok(transaction)
    }

    #[inline(never)]
    fn with_all_changes<R>(&self, commit: impl FnOnce(&[Change<'_>]) -> R) -> R {
        let mut changes = [nothing(); CHANGES_MAX];
        let planned = self.changes.iter();
        let pairs = changes.iter_mut().zip(planned);
        let count = pairs.map(|(change, planned)| *change = self.change(planned)).count();
        commit(&changes[..count])
    }

    /// Returns the terms of the client's host that counts; `None` when the client has none.
    pub(super) fn host_terms(&self) -> Option<&'m HostTerms<V6>> {
        if self.client_facts.client_hosts.is_empty() {
            return None;
        }
        let snapshot = self.snapshot;
        let host = self.client_facts.current_host(snapshot, self.host_subnet()?);
        self.client.hosts.terms(host)
    }

    /// Converts the prefixes that the client requests to prefixes of the lengths that the pools
    /// delegate.
    fn adapt_hints(&mut self) {
        let Some(subnet) = self.client.subnet else { return };
        for association in self.associations.iter_mut() {
            for hint in association.hints.iter_mut().flatten() {
                if !hint.address.is_unspecified() {
                    *hint = self.snapshot.grantable(subnet, *hint, &self.client_facts.classes);
                }
            }
        }
    }

    /// Delays the search for free addresses and prefixes until the client's reserved ones are
    /// fetched.
    fn prefer_reserved(&mut self) {
        if self.client_facts.client_hosts.is_empty() {
            return;
        }
        for kind in [ResourceKind::Address, ResourceKind::Prefix] {
            if self.reserved().any(|resource| resource.kind == kind) {
                let associations = self.associations.iter_mut();
                associations
                    .filter(|one| one.kind == kind)
                    .for_each(|one| one.candidate_request = CandidateRequest::Nothing);
            }
        }
    }

    /// Looks up the reservations of the addresses and prefixes that the client requests: the
    /// results will be needed, and one request to the source of hosts now avoids a second one
    /// later.
    fn look_ahead(&self) {
        if self.client.hosts.has_external_source() && self.intent.wants_lease() {
            let hints = self.associations.iter().flat_map(|association| association.hints);
            for hint in hints.flatten() {
                self.location_of(hint);
            }
        }
    }

    /// Returns a slot reserved for other clients that the client holds, or was about to get, with
    /// the position of its association: reservations are looked up after the slot was claimed.
    fn slot_reserved_for_others(&self, facts: &[Facts]) -> Option<(usize, SlotView)> {
        if !self.client.hosts.has_external_source() || !self.intent.wants_lease() {
            return None;
        }
        let is_stray = |slot: &SlotView| {
            let subnet = self.snapshot.find_pool(self.client.subnet?, slot.address)?.subnet;
            let location = self.location_of(slot.address);
            let is_reserved = location.is_some_and(|location| location.is_reserved);
            Some(!is_reserved && self.is_reserved_for_others(subnet, slot.address))
        };
        let all = facts.iter().take(self.associations.len()).enumerate();
        let mut slots = all.flat_map(|(at, facts)| {
            let holds = facts.client_slots().filter(|slot| slot.occupancy == SlotOccupancy::Held);
            holds.chain(&facts.candidate).map(move |slot| (at, *slot))
        });
        let stray = slots.find(|(_, slot)| is_stray(slot) == Some(true));
        if self.client.hosts.has_missed() { None } else { stray }
    }

    /// Gives up the address or prefix in `slot`, which is reserved for another client.
    fn set_aside(&mut self, at: usize, slot: &SlotView) -> Step<'_> {
        if let Err(no_reply) = self.progress.begin_set_aside() {
            return TransactionStep::Done(Err(no_reply));
        }
        self.changes.clear();
        if slot.occupancy == SlotOccupancy::Held && slot.owner == SlotOwner::Requester {
            self.changes.push(at, slot, PlannedAction::Plain(Action::Unhold));
        }
        TransactionStep::SetAside(slot.address)
    }

    /// Ends the transaction until the hosts that the transaction needs are known. Candidates are
    /// held meanwhile, so that the next run gets the same ones.
    fn await_hosts(&mut self, now: Now, facts: &[Facts]) -> Step<'_> {
        self.changes.clear();
        for (at, facts) in facts.iter().take(self.associations.len()).enumerate() {
            let Some((slot, location)) =
                facts.candidate.and_then(|slot| Some((slot, self.location_of(slot.address)?)))
            else {
                continue;
            };
            let deadline_ns = now.mono_ns + self.snapshot.hold_ns;
            let subnet_id = self.snapshot.subnet(location.subnet).id;
            let hold = Action::Hold { deadline_ns, subnet_id };
            self.changes.push(at, &slot, PlannedAction::Plain(hold));
        }
        if self.changes.is_empty() {
            return TransactionStep::Done(Err(NoReply::AwaitHosts));
        }
        self.progress.begin_hold();
        TransactionStep::Commit
    }

    fn fetch_again(&mut self, now: Now) -> Step<'_> {
        for association in self.associations.iter_mut() {
            association.is_fetched = false;
        }
        self.fetch_next(now, &[])
    }

    /// Requests the facts of the message's next identity association, or decides when all facts are
    /// known.
    fn fetch_next(&mut self, now: Now, facts: &[Facts]) -> Step<'_> {
        if self.intent == Dhcp6Intent::Register {
            return self.register(facts);
        }
        if self.associations.iter().all(|association| association.is_fetched) {
            if let Some((at, stray)) = self.slot_reserved_for_others(facts) {
                return self.set_aside(at, &stray);
            }
            let outcome = self.decide(now, facts);
            if self.client.hosts.has_missed() {
                return self.await_hosts(now, facts);
            }
            if let Some(outcome) = outcome {
                return TransactionStep::Done(outcome);
            }
            if self.associations.iter().all(|association| association.is_fetched) {
                return TransactionStep::Commit;
            }
        }
        let (at, association) =
            self.associations.next_unfetched().expect("one is not fetched, as seen above");
        association.is_fetched = true;
        let has_conflict = core::mem::take(&mut association.has_candidate_conflict);
        let MessageAssociation { kind, candidate_request, requested_len, iaid, .. } = *association;
        let addresses = self.resources_to_fetch(at);
        let first = self.client.subnet.filter(|_| candidate_request.searches_pools());
        let first = first.map(|selected| self.preferred_subnet(at).unwrap_or(selected));
        let ClientFacts { classes, pools, .. } = &mut *self.client_facts;
        let candidate_pools = first.map_or(&[][..], |first| {
            self.snapshot.pool_order(first, kind, requested_len, classes, pools)
        });
        let keys = FetchKeys {
            identity: IaIdentity { duid: self.client.duid, kind, iaid },
            addresses,
            pools: self.snapshot.pools(),
            candidate_pools,
            is_candidate_spare: candidate_request == CandidateRequest::SpareCandidate,
        };
        if has_conflict {
            TransactionStep::FetchAnother(at, keys)
        } else {
            TransactionStep::Fetch(at, keys)
        }
    }

    /// Returns the addresses or prefixes to fetch for the association at `at`: the reserved ones,
    /// then those that the client names.
    fn resources_to_fetch(&self, at: usize) -> [Option<Resource>; FETCHED_ADDRESSES_MAX] {
        let Some(association) = self.associations.get(at) else {
            return [None; FETCHED_ADDRESSES_MAX];
        };
        if self.client_facts.client_hosts.is_empty() {
            let mut hints = association.hints.into_iter().flatten();
            return core::array::from_fn(|_| hints.next());
        }
        let before = self.associations.iter().take(at);
        let before = before.filter(|other| other.kind == association.kind).count();
        let reserved = || self.reserved().filter(|resource| resource.kind == association.kind);
        let count = reserved().count();
        // Each association begins with another reservation.
        let reserved =
            reserved().cycle().skip(before.min(count)).take(count.min(RESERVED_FETCHED_MAX));
        let further = (association.candidate_request == CandidateRequest::Reserved)
            .then(|| self.further_reserved(association.kind))
            .into_iter()
            .flatten();
        let mut resources = further.chain(reserved).chain(association.hints.into_iter().flatten());
        core::array::from_fn(|_| resources.next())
    }

    /// Decides for every association of the message; `None` when a fetch or a commit has to come
    /// first.
    fn decide(&mut self, now: Now, facts: &[Facts]) -> Option<Result<u64, NoReply>> {
        self.changes.clear();
        self.gate_epoch = 0;
        self.associations.iter_mut().for_each(|association| association.chosen = None);
        let mut is_decided = true;
        let is_walking = self.follows_earlier_grants();
        for (at, facts) in facts.iter().take(self.associations.len()).enumerate() {
            let read = facts.client_slots().chain(facts.address_slots.iter().flatten());
            let epochs = read.map(|slot| slot.row_epoch);
            self.gate_epoch = epochs.fold(self.gate_epoch, u64::max);
            match decide::decide(self, now, at, facts) {
                Decision::Wait(epoch) => return Some(Err(NoReply::Wait(epoch))),
                Decision::Drop(reason) => return Some(Err(NoReply::Drop(reason))),
                Decision::Status(code) => self.conclude(at, AssociationResult::Status(code)),
                Decision::Take(slot, location) => {
                    if let Some(association) = self.associations.get_mut(at) {
                        association.chosen = Some((slot, location));
                    }
                }
                Decision::GiveUp(action) => self.give_up(at, facts, action),
                // The grant of the association before may decide where the search begins.
                Decision::NeedCandidate if !is_decided && is_walking => {}
                Decision::NeedCandidate => is_decided &= self.exhausted(at, facts),
            }
        }
        if !is_decided {
            return None;
        }
        self.settle(now, facts);
        if matches!(self.intent, Dhcp6Intent::Release | Dhcp6Intent::Decline) {
            self.status = Some(StatusCode::Success);
        }
        self.changes.is_empty().then_some(Ok(self.gate_epoch))
    }

    /// Continues after no address or prefix that the identity association at `at` has or requests
    /// will do. Returns true when it gets none; otherwise a free one has to be fetched for it.
    fn exhausted(&mut self, at: usize, facts: &Facts) -> bool {
        let is_chosen_before = |slot: &SlotView| self.is_chosen_before(at, slot.address);
        if facts.candidate.as_ref().is_some_and(is_chosen_before)
            && let Some(association) = self.associations.get_mut(at)
            && association.claims < CLAIMS_MAX
        {
            // The client requested this candidate in an earlier association: the next one may be
            // free.
            association.claims += 1;
            association.has_candidate_conflict = true;
            association.is_fetched = false;
            return false;
        }
        let Some(association) = self.associations.get(at).copied() else { return true };
        let was_claimed = association.candidate_request.was_made(facts);
        let has_more = was_claimed
            && association.candidate_request != CandidateRequest::Reserved
            && self.further_reserved(association.kind).next().is_some();
        let searched = if was_claimed { self.preferred_subnet(at) } else { None };
        let failed_search = searched.map(|subnet| (subnet, self.has_pools(&association)));
        let Some(association) = self.associations.get_mut(at) else { return true };
        if has_more {
            association.candidate_request = CandidateRequest::Reserved;
            association.is_fetched = false;
        } else if was_claimed {
            association.result = AssociationResult::Status(none_available(association.ia.kind));
            association.failed_search = failed_search;
        } else {
            association.candidate_request = CandidateRequest::Candidate;
            association.is_fetched = false;
        }
        was_claimed && !has_more
    }

    pub(super) fn conclude(&mut self, at: usize, result: AssociationResult) {
        if let Some(association) = self.associations.get_mut(at) {
            association.result = result;
        }
    }

    /// Returns, for each association that got nothing from pools, the subnet in which the failure
    /// counts, and true if pools were searched. Kea counts the failure in the subnet where the
    /// search began, in DHCPv4 in the subnet where it ended.
    pub(super) fn failed_allocations(&self) -> impl Iterator<Item = (SubnetIndex, bool)> {
        self.associations.iter().filter_map(|association| association.failed_search)
    }
}

impl MessageTransaction<V6> for Transaction<'_> {
    type Reply = u64;

    fn step(&mut self, now: Now, input: &TransactionInput<'_, V6>) -> Step<'_> {
        match input {
            TransactionInput::Begin => match self.intent {
                Dhcp6Intent::Confirm => TransactionStep::Done(decide::confirm(self)),
                Dhcp6Intent::Inform => TransactionStep::Done(Ok(0)),
                Dhcp6Intent::Rebind if self.client.subnet.is_none() => {
                    // Another server may know the link (RFC 9915 §18.3.5).
                    TransactionStep::Done(Err(DropReason::NoSubnet.into()))
                }
                _ if self.intent.wants_lease() && self.client.is_rejected => {
                    TransactionStep::Done(Ok(0))
                }
                _ => self.fetch_next(now, &[]),
            },
            TransactionInput::Facts(facts) => self.fetch_next(now, facts),
            TransactionInput::Committed(result) => match self.progress.finish(*result) {
                Ok(Some(receipt)) => {
                    TransactionStep::Done(Ok(self.gate_epoch.max(receipt.row_epoch)))
                }
                Ok(None) => self.fetch_again(now),
                Err(no_reply) => TransactionStep::Done(Err(no_reply)),
            },
        }
    }

    fn with_changes<R>(&self, commit: impl FnOnce(&[Change<'_>]) -> R) -> R {
        if let Some(registration) = &self.registration {
            return commit(&[self.registering(registration)]);
        }
        let mut planned = self.changes.iter();
        let (Some(first), None) = (planned.next(), planned.next()) else {
            return self.with_all_changes(commit);
        };
        // Nearly every message has one change, and an array for more is large.
        commit(&[self.change(first)])
    }

    fn looked_up_claims(&self) -> impl Iterator<Item = Resource> {
        let hosts = &self.client_facts.client_hosts;
        let mut all = hosts.in_subnets().map(|(_, host)| host).chain(hosts.global());
        let has_cached = self.client.hosts.has_external_source()
            && all.any(|host| matches!(host, HostIndex::Cached(_)));
        let reserved = has_cached.then(|| self.reserved()).into_iter().flatten();
        reserved.filter(|&resource| {
            self.location_of(resource).is_some_and(|location| location.is_reserved)
        })
    }
}

/// Returns an error if the server must not answer the message at all (RFC 9915 §16, §18.4).
fn check(snapshot: &Snapshot, packet: &Packet<'_>, ingress: Ingress) -> Result<(), DropReason> {
    let message = packet.message();
    if packet.relay_type() == Some(MessageType::RelayRepl) {
        return Err(DropReason::UnexpectedMessageType);
    }
    // Since RFC 9915, clients send to the multicast address alone; agents may send to ours.
    if packet.relay_count() == 0 && !ingress.is_multicast {
        return Err(DropReason::UnicastFromClient);
    }
    validity(&message).map_err(|invalid| match invalid {
        Invalid::NoClientId => DropReason::NoIdentity,
        Invalid::NoServerId => DropReason::NoServerId,
        Invalid::ServerIdForbidden => DropReason::UnexpectedServerId,
        Invalid::ClientIdRepeated | Invalid::ServerIdRepeated => DropReason::RepeatedIdentity,
    })?;
    if message.server_id().is_some_and(|chosen| *chosen != *snapshot.own.server_duid) {
        return Err(DropReason::ClientChoseOtherServer);
    }
    Ok(())
}
