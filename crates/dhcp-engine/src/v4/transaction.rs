//! Transaction of a DHCPv4 message: from the parsed message to a reply, silence or a counted drop.
//!
//! It steps until it has an outcome. Each step names its next need (facts, or the result of a
//! commit), and the next call passes that in; the decisions themselves are in `decide`. Reasons to
//! step again are bounded: after [`COMMIT_TRIES_MAX`] lost races the message is dropped and
//! counted, and the client's retransmission starts afresh.

use core::cell::Cell;
use core::net::Ipv4Addr;

use base::Now;
use dhcp_lease::contract::FETCHED_ADDRESSES_MAX;
use dhcp_lease::v4::{
    Action, Change, CommitRefusal, Facts, FetchKeys, LeaseStore, PoolIndex, Receipt, SlotOccupancy,
    SlotOwner, SlotView, V4,
};
use dhcp_lease::{HardwareAddress, Identity};
use dhcp_wire::v4::{Message, option};

use super::client_facts::{self, Dhcp4ClientFacts, FlexIdValue};
use super::decide::{self, Decision, DecisionWithConflict, ProposedAction};
use super::reply::{Reply, ReplyKind, ReplyTerms};
use super::request::{self, Dhcp4Intent, RequestingClientState};
use super::{DropReason, Ingress, Snapshot, relay_info, select};
use crate::classify::{ClassSet, Classes, PacketView4};
use crate::hosts::{HostBook, Identifiers};
use crate::links::PoolLocation;
use crate::omission::{Omission, clear_if_too_long};
use crate::options::ScopeOptions;
use crate::prefixes::SubnetIndex;

/// Largest number of commits that one DHCPv4 message may lose to others before the server drops it.
/// Each loss means that another client got the slot in the microseconds since it was fetched.
pub const COMMIT_TRIES_MAX: u8 = 8;

/// Step that a DHCPv4 transaction needs next, or its outcome.
#[derive(Debug)]
pub enum Dhcp4TransactionStep<'t> {
    /// Fetch the slots and free addresses for these keys, then step with
    /// [`Dhcp4TransactionInput::Facts`].
    Fetch(FetchKeys<'t>),
    /// Commit all of these changes and step with [`Dhcp4TransactionInput::Committed`].
    Commit(Dhcp4MessageChanges<'t>),
    /// Mark an address that is reserved for another client as one that no client gets from a search
    /// of the pools, and commit the changes, if any; then step with
    /// [`Dhcp4TransactionInput::Committed`].
    SetAside(Ipv4Addr, Option<Dhcp4MessageChanges<'t>>),
    /// End of the transaction, with its outcome.
    Done(Dhcp4TransactionOutcome),
}

/// Response of the owner to the last step of a DHCPv4 transaction.
#[derive(Debug)]
pub enum Dhcp4TransactionInput<'f> {
    /// Begin of the transaction: the caller has no response to a step yet.
    Begin,
    /// Facts that the last step required to be fetched.
    Facts(&'f Facts),
    /// Result of the commit that the last step required.
    Committed(Result<Receipt, CommitRefusal>),
}

/// Changes of leases by one DHCPv4 message: one, or one and the end of the client's other lease.
#[derive(Clone, Copy, Debug)]
pub enum Dhcp4MessageChanges<'t> {
    /// Change of the message's own lease.
    One(Change<'t>),
    /// Change of the message's own lease, and the end of the client's other lease.
    Two([Change<'t>; 2]),
}

impl<'t> Dhcp4MessageChanges<'t> {
    /// Returns all changes of the message.
    #[must_use]
    pub const fn as_slice(&self) -> &[Change<'t>] {
        match self {
            Self::One(change) => core::slice::from_ref(change),
            Self::Two(changes) => changes,
        }
    }
}

/// Outcome of a DHCPv4 transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dhcp4TransactionOutcome {
    /// Reply to send once its row epoch is settled (its lease rows are durable).
    Reply(Reply),
    /// Silence: the protocol requires no reply (DHCPRELEASE, DHCPDECLINE, an offer not taken).
    Silence,
    /// Delay: the last row of the lease is not durable yet; run the message again once this row
    /// epoch has settled.
    Wait(u64),
    /// Delay: hosts that the transaction needs are not looked up yet; run the message again when
    /// they are.
    AwaitHosts,
    /// Drop without a reply; this reason is counted.
    Drop(DropReason),
}

/// Transaction of one DHCPv4 message.
///
/// The transaction touches no lease itself. The owner calls [`Transaction::begin`] once, then
/// [`Transaction::step`] with [`Dhcp4TransactionInput::Begin`], and after that with the response to
/// the step before: `Facts` after `Fetch`, `Committed` after `Commit` and `SetAside`. Facts are
/// those of the moment of the fetch; a commit that fails since they have changed is passed in as an
/// error, and the transaction fetches again. `Done` ends the transaction, and no step follows it.
/// [`Transaction::failed_allocation`] and [`Transaction::conflict`] say more about an outcome. On
/// [`Dhcp4TransactionOutcome::Wait`] and [`Dhcp4TransactionOutcome::AwaitHosts`] the owner keeps
/// the message and begins a new transaction for it later.
#[derive(Debug)]
pub struct Transaction<'m> {
    /// Configuration that the transaction uses from begin to end.
    pub(super) snapshot: &'m Snapshot,
    /// Hosts with reservations, of the configuration and of the cache.
    pub(super) hosts: HostBook<'m, V4>,
    /// Message, and the address and interface at which it was received.
    pub(super) view: PacketView4<'m>,
    /// Classes, reservations and names of the client, in memory that the owner reuses.
    pub(super) client_facts: &'m mut Dhcp4ClientFacts,
    /// Identifiers by which the client's hosts with reservations are found.
    pub(super) identifiers: Identifiers<'m>,
    /// Intent that the message expresses.
    pub(super) intent: Dhcp4Intent,
    /// Hardware address and client identifier by which the client's leases are found.
    pub(super) identity: Identity<'m>,
    /// Subnet that serves the client; `None` when no subnet does, so that no address is leased.
    pub(super) subnet: Option<SubnetIndex>,
    /// True if every pool of the link is open to the client.
    pub(super) is_open: bool,
    /// Subnet whose pools are searched first for a free address.
    first_subnet: SubnetIndex,
    /// Address by which the reply names this server (option 54).
    pub(super) server_id: Ipv4Addr,
    /// Kind of the reply that needs no decision; `None` when a decision is needed.
    settled: Option<ReplyKind>,
    /// Terms of the reply that follows the commit in progress, if any does.
    reply_after_commit: Option<ReplyTerms>,
    /// Number of commits that other clients' changes have refused so far.
    tries: u8,
    /// Request for a free address that the next fetch makes.
    candidate_request: Dhcp4CandidateRequest,
    /// Purpose of the commit in progress, when the commit only prepares a decision.
    preparing: Option<Dhcp4PreparatoryCommit>,
    /// True once all pools were searched and none had a free address for the client.
    is_exhausted: bool,
    /// Subnet whose address, reserved for the client, another client has in use.
    conflict: Option<SubnetIndex>,
    /// Address that was looked for last among the pools of the link, and the pool that contains it,
    /// if any.
    pub(super) last_pool_lookup: Cell<Option<(Ipv4Addr, Option<PoolLocation>)>>,
}

/// Purpose of a DHCPv4 commit that only prepares a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dhcp4PreparatoryCommit {
    /// Hold of a candidate while the reservations of its address are looked up.
    Hold,
    /// Return of an address that the client held and that is reserved for another client.
    SetAside,
}

/// Request of a DHCPv4 transaction for a free address at the next fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dhcp4CandidateRequest {
    /// No request: the fetch claims no free address.
    Nothing,
    /// Request for a free address only when the client has no slot at all.
    SpareCandidate,
    /// Request for a free address: no address that the client has or requested will do.
    Candidate,
    /// No request, since no free address was left: an address of another reservation of the client
    /// may do.
    Reserved,
}

/// Returns true if any subnet of the link that is open to the client has `match-client-id` true: as
/// in Kea, client identifiers identify clients in all subnets of the link then.
fn counts_client_ids(snapshot: &Snapshot, subnet: SubnetIndex, classes: &ClassSet) -> bool {
    let mut link = snapshot.link_subnets(subnet).iter();
    link.any(|&at| snapshot.subnet(at).match_client_id && snapshot.admits(at, classes))
}

impl<'m> Transaction<'m> {
    /// Begins the transaction of the DHCPv4 message in `view`: finds its intent, the identity,
    /// classes and hosts of its client, and its subnet. `client_facts` and `flex` are filled anew.
    /// When hosts that it needs are not looked up yet ([`HostBook::has_missed`]), the caller must
    /// discard the result, also an error.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped at once.
    pub fn begin(
        snapshot: &'m Snapshot,
        hosts: HostBook<'m, V4>,
        view: PacketView4<'m>,
        client_facts: &'m mut Dhcp4ClientFacts,
        flex: &'m mut FlexIdValue,
    ) -> Result<Self, DropReason> {
        let (message, ingress) = (view.message, *view.ingress);
        let server_id = request::server_identifier(&view);
        if server_id.is_unspecified() {
            return Err(DropReason::NoOwnAddress);
        }
        let intent = Dhcp4Intent::from_message(snapshot, message, ingress, server_id)?;
        let hardware = HardwareAddress::new(message.htype(), message.chaddr());
        client_facts.begin(snapshot, &view)?;
        flex.evaluate(snapshot, &view, &client_facts.classes);
        let flex = &*flex;
        let client_id =
            flex.client_id()?.map_or_else(|| request::client_id(message), |id| Ok(Some(id)))?;
        if hardware.is_empty() && client_id.is_none() {
            return Err(DropReason::NoIdentity);
        }
        let identifiers = client_facts::identifiers(snapshot, &view, client_id, flex);
        client_facts.find_early(snapshot, hosts, &view, &identifiers)?;
        let subnet = select::subnet(snapshot, &view, &client_facts.classes);
        if subnet.is_none() && is_direct_broadcast(&view) {
            // Another server on the link may know the client, so no reply is sent, as in Kea (RFC
            // 2131 §4.3.2).
            return Err(DropReason::NoSubnet);
        }
        // Kea selects no subnet for these messages: only the holder of the lease matters.
        let is_placeless = matches!(intent, Dhcp4Intent::Release(_) | Dhcp4Intent::Decline(_));
        let subnet = if is_placeless { None } else { subnet };
        let settled = match (intent, subnet) {
            (Dhcp4Intent::Inform, _) => Some(ReplyKind::InformAck),
            (_, Some(_)) | (Dhcp4Intent::Release(_) | Dhcp4Intent::Decline(_), None) => None,
            (_, None) => Some(reply_to_stranger(snapshot, intent, ingress)?),
        };
        if !is_placeless {
            client_facts.locate(snapshot, hosts, &view, subnet, &identifiers)?;
        }
        let match_client_id =
            subnet.is_none_or(|subnet| counts_client_ids(snapshot, subnet, &client_facts.classes));
        let client_id = if match_client_id { client_id } else { None };
        let is_open = subnet.is_none_or(|subnet| snapshot.is_open(subnet));
        let mut transaction = Self {
            snapshot,
            hosts,
            view,
            client_facts,
            identifiers,
            intent,
            identity: Identity { hardware, client_id, match_client_id },
            subnet,
            is_open,
            first_subnet: 0,
            server_id,
            settled,
            reply_after_commit: None,
            tries: 0,
            preparing: None,
            is_exhausted: false,
            conflict: None,
            last_pool_lookup: Cell::new(None),
            candidate_request: Dhcp4CandidateRequest::Nothing,
        };
        transaction.prepare()?;
        Ok(transaction)
    }

    /// Prepares all that needs no facts: refusals by class, clients that do without IPv4 (RFC
    /// 8925), the subnet at which the search for an address begins, and the data that the lease
    /// stores.
    fn prepare(&mut self) -> Result<(), DropReason> {
        let Some(subnet) = self.subnet else { return Ok(()) };
        let kind = match self.intent {
            Dhcp4Intent::Discover(_) => ReplyKind::Offer,
            Dhcp4Intent::Request(..) => ReplyKind::Ack,
            _ => return Ok(()),
        };
        if self.client_facts.classes.contains(Classes::REJECT) {
            self.settled = Some(ReplyKind::Nak);
            return if kind == ReplyKind::Offer { Err(DropReason::Rejected) } else { Ok(()) };
        }
        if let Some(ipv6_only) = self.ipv6_only_subnet(subnet) {
            (self.subnet, self.settled) = (Some(ipv6_only), Some(kind));
            return Ok(());
        }
        self.first_subnet = self.snapshot.preference.first(subnet);
        if !self.is_open {
            let (snapshot, client_facts) = (self.snapshot, &mut *self.client_facts);
            let order = snapshot.pool_order(self.first_subnet).iter().copied();
            let classes = &client_facts.classes;
            client_facts.pools.extend(order.filter(|&pool| snapshot.admits_to_pool(pool, classes)));
        }
        // Information that came from the lease itself is not written again.
        if self.view.stored_relay_information.is_empty()
            && self.snapshot.subnet(subnet).is_link_storing
        {
            let context = &mut self.client_facts.user_context;
            relay_info::write(self.view.message, context);
            if clear_if_too_long(context) {
                self.client_facts.omissions.note(Omission::RelayInfo);
            }
        }
        if self.hosts.has_external_source()
            && let Some(address) = self.intent.address()
        {
            // The result will be needed: one request now, together with the client's identifiers,
            // is better than a second one later.
            self.is_reserved_for_others(address);
        }
        let has_claim = self.possible_claims().next().is_some();
        if self.intent.address().is_none() && !has_claim {
            self.candidate_request = Dhcp4CandidateRequest::SpareCandidate;
        }
        Ok(())
    }

    /// Returns the subnet that lets the client do without IPv4 (RFC 8925), if the client requests
    /// option 108. As in Kea, such a subnet or its shared network configures option 108.
    fn ipv6_only_subnet(&self, subnet: SubnetIndex) -> Option<SubnetIndex> {
        let has = |options: &ScopeOptions<u8>| {
            !options.standard().entries_for(option::IPV6_ONLY_PREFERRED).is_empty()
        };
        let requested_codes = self.view.message.parameter_request_list()?;
        if !requested_codes.octets().any(|code| code == option::IPV6_ONLY_PREFERRED) {
            return None;
        }
        let snapshot = self.snapshot;
        self.open_subnets(subnet).find(|&at| has(&snapshot.subnet(at).scope.options)).or_else(
            || {
                let is_of_network = snapshot.network(subnet).is_some_and(|n| has(&n.options));
                if is_of_network { Some(subnet) } else { None }
            },
        )
    }

    /// Returns the identity under which the client's leases are stored.
    #[must_use]
    pub const fn identity(&self) -> &Identity<'m> {
        &self.identity
    }

    /// Returns the pools that the client may have an address from, in order.
    fn pools(&self) -> &[PoolIndex] {
        if self.is_open {
            self.snapshot.pool_order(self.first_subnet)
        } else {
            &self.client_facts.pools
        }
    }

    /// Returns the subnet whose pools were searched last, when no pool had a free address for the
    /// client, and true if any pool was searched.
    #[must_use]
    pub fn failed_allocation(&self) -> Option<(SubnetIndex, bool)> {
        if !self.is_exhausted {
            return None;
        }
        let subnet = self.subnet?;
        let last = self.pools().last();
        Some((last.map_or(subnet, |&pool| self.snapshot.subnet_of(pool)), last.is_some()))
    }

    /// Returns the subnet whose reserved address another client had in use when this client would
    /// have got it.
    #[must_use]
    pub const fn conflict(&self) -> Option<SubnetIndex> {
        self.conflict
    }

    /// Continues the transaction with the response to its last step, and returns the next step.
    pub fn step(
        &mut self,
        now: Now,
        input: &Dhcp4TransactionInput<'_>,
    ) -> Dhcp4TransactionStep<'_> {
        match input {
            Dhcp4TransactionInput::Begin => match self.settled {
                Some(kind) => Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Reply(
                    self.reply(ReplyTerms::without_address(kind), 0),
                )),
                None => self.fetch(),
            },
            Dhcp4TransactionInput::Facts(facts) => self.decide(now, facts),
            Dhcp4TransactionInput::Committed(result) if self.preparing.is_some() => {
                self.prepared(*result)
            }
            Dhcp4TransactionInput::Committed(Ok(receipt)) => {
                Dhcp4TransactionStep::Done(self.committed(*receipt))
            }
            Dhcp4TransactionInput::Committed(Err(refusal)) => self.refused(*refusal),
        }
    }

    fn fetch(&self) -> Dhcp4TransactionStep<'_> {
        let addresses = if self.client_facts.client_hosts.is_empty() {
            let mut addresses = self.intent.address().into_iter();
            core::array::from_fn(|_| addresses.next())
        } else {
            self.requested_and_reserved()
        };
        Dhcp4TransactionStep::Fetch(FetchKeys {
            identity: self.identity,
            addresses,
            pools: self.snapshot.pools(),
            candidate_pools: match self.candidate_request {
                Dhcp4CandidateRequest::Nothing | Dhcp4CandidateRequest::Reserved => &[],
                Dhcp4CandidateRequest::SpareCandidate | Dhcp4CandidateRequest::Candidate => {
                    self.pools()
                }
            },
            is_candidate_spare: self.candidate_request == Dhcp4CandidateRequest::SpareCandidate,
        })
    }

    /// Returns the addresses to fetch: the one that the client requests, then those that are
    /// reserved for it.
    fn requested_and_reserved(&self) -> [Option<Ipv4Addr>; FETCHED_ADDRESSES_MAX] {
        let further = (self.candidate_request == Dhcp4CandidateRequest::Reserved)
            .then(|| self.further_reserved());
        let addresses = self.intent.address().into_iter().chain(further.into_iter().flatten());
        let mut addresses = addresses.chain(self.possible_claims());
        core::array::from_fn(|_| addresses.next())
    }

    fn decide(&mut self, now: Now, facts: &Facts) -> Dhcp4TransactionStep<'_> {
        if let Some(location) = facts.candidate.and_then(|slot| self.location_in_pool(slot.address))
        {
            self.snapshot.preference.record_use(location.subnet);
        }
        if let Some((address, location)) = decide::running(self, now, facts) {
            self.choose_name(location, address);
        }
        if let Some(stray) = self.slot_reserved_for_others(facts) {
            return self.set_aside(stray);
        }
        let DecisionWithConflict { decision, conflict } = decide::decide(self, now, facts);
        if self.hosts.has_missed() {
            return self.await_hosts(now, facts);
        }
        self.conflict = conflict;
        match decision {
            Decision::NeedCandidate => {
                let was_claimed = match self.candidate_request {
                    Dhcp4CandidateRequest::Nothing => false,
                    Dhcp4CandidateRequest::SpareCandidate => facts.client_slot_count == 0,
                    Dhcp4CandidateRequest::Candidate | Dhcp4CandidateRequest::Reserved => true,
                };
                if was_claimed {
                    return self.exhausted();
                }
                self.candidate_request = Dhcp4CandidateRequest::Candidate;
                self.fetch()
            }
            Decision::Change { change_of, action, gives_up, reply } => {
                self.reply_after_commit = reply;
                if let ProposedAction::Lease { location, .. } = action {
                    self.choose_name(location, change_of.address);
                }
                Dhcp4TransactionStep::Commit(self.changes(change_of, action, gives_up))
            }
            other => self.finish(other),
        }
    }

    /// Continues after no pool had a free address: only further reservations of the client are
    /// left.
    fn exhausted(&mut self) -> Dhcp4TransactionStep<'_> {
        if self.candidate_request != Dhcp4CandidateRequest::Reserved
            && self.further_reserved().next().is_some()
        {
            self.candidate_request = Dhcp4CandidateRequest::Reserved;
            return self.fetch();
        }
        if self.hosts.has_missed() {
            return Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::AwaitHosts);
        }
        self.is_exhausted = true;
        match self.intent {
            Dhcp4Intent::Request(..) => self.finish(decide::nak(0)),
            _ => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Drop(DropReason::PoolExhausted))
            }
        }
    }

    /// Returns true if the transaction tries the addresses of the client's further reservations.
    pub(super) fn wants_further_reserved(&self) -> bool {
        self.candidate_request == Dhcp4CandidateRequest::Reserved
    }

    /// Ends the transaction until the hosts that the transaction needs are known. A candidate is
    /// held meanwhile, so that the next run gets the same one.
    fn await_hosts(&mut self, now: Now, facts: &Facts) -> Dhcp4TransactionStep<'_> {
        let candidate =
            facts.candidate.and_then(|slot| Some((slot, self.location_in_pool(slot.address)?)));
        let Some((slot, location)) = candidate else {
            return Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::AwaitHosts);
        };
        self.preparing = Some(Dhcp4PreparatoryCommit::Hold);
        let deadline_ns = now.mono_ns + self.snapshot.hold_ns;
        let hold = ProposedAction::Hold { deadline_ns, subnet: location.subnet };
        Dhcp4TransactionStep::Commit(self.changes(slot, hold, None))
    }

    /// Gives up the address in `slot`, which is reserved for another client.
    fn set_aside(&mut self, slot: SlotView) -> Dhcp4TransactionStep<'_> {
        if self.tries >= COMMIT_TRIES_MAX {
            return Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Drop(
                DropReason::Contention,
            ));
        }
        self.tries += 1;
        self.preparing = Some(Dhcp4PreparatoryCommit::SetAside);
        let is_own_hold =
            slot.occupancy == SlotOccupancy::Held && slot.owner == SlotOwner::Requester;
        let unhold = || self.changes(slot, ProposedAction::Plain(Action::Unhold), None);
        Dhcp4TransactionStep::SetAside(slot.address, is_own_hold.then(unhold))
    }

    /// Continues after a commit that only prepared a decision (a hold, or setting an address
    /// aside); a refusal means that other transactions were faster.
    fn prepared(&mut self, result: Result<Receipt, CommitRefusal>) -> Dhcp4TransactionStep<'_> {
        match (self.preparing.take(), result) {
            (_, Err(CommitRefusal::Failed)) => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Drop(DropReason::StoreFailed))
            }
            (Some(Dhcp4PreparatoryCommit::SetAside), _) => self.fetch(),
            (Some(Dhcp4PreparatoryCommit::Hold) | None, _) => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::AwaitHosts)
            }
        }
    }

    fn changes(
        &self,
        slot: SlotView,
        proposed: ProposedAction,
        gives_up: Option<SlotView>,
    ) -> Dhcp4MessageChanges<'_> {
        let change = |slot: SlotView, identity, action| Change {
            identity,
            address: slot.address,
            expected_version: slot.version,
            action,
        };
        let first = change(slot, proposed.identity(self), proposed.with_texts(self));
        let release = |other| change(other, self.identity, Action::Release);
        match gives_up {
            Some(other) => Dhcp4MessageChanges::Two([first, release(other)]),
            None => Dhcp4MessageChanges::One(first),
        }
    }

    fn finish(&self, decision: Decision) -> Dhcp4TransactionStep<'_> {
        Dhcp4TransactionStep::Done(match decision {
            Decision::Reply(terms, gate_epoch) => {
                Dhcp4TransactionOutcome::Reply(self.reply(terms, gate_epoch))
            }
            Decision::Wait(epoch) => Dhcp4TransactionOutcome::Wait(epoch),
            Decision::Drop(reason) => Dhcp4TransactionOutcome::Drop(reason),
            Decision::Change { .. } | Decision::NeedCandidate => Dhcp4TransactionOutcome::Silence,
        })
    }

    fn committed(&self, receipt: Receipt) -> Dhcp4TransactionOutcome {
        match self.reply_after_commit {
            Some(terms) => Dhcp4TransactionOutcome::Reply(self.reply(terms, receipt.row_epoch)),
            None if self.intent == Dhcp4Intent::TakeOtherOffer => {
                Dhcp4TransactionOutcome::Drop(DropReason::ClientChoseOtherServer)
            }
            None => Dhcp4TransactionOutcome::Silence,
        }
    }

    fn refused(&mut self, refusal: CommitRefusal) -> Dhcp4TransactionStep<'_> {
        match refusal {
            CommitRefusal::Stale if self.tries < COMMIT_TRIES_MAX => {
                self.tries += 1;
                self.fetch()
            }
            CommitRefusal::Stale | CommitRefusal::NoSuchSlot => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Drop(DropReason::Contention))
            }
            CommitRefusal::Unsettled(epoch) => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Wait(epoch))
            }
            CommitRefusal::Failed => {
                Dhcp4TransactionStep::Done(Dhcp4TransactionOutcome::Drop(DropReason::StoreFailed))
            }
        }
    }

    const fn reply(&self, terms: ReplyTerms, gate_epoch: u64) -> Reply {
        Reply { terms, selected: self.subnet, server_id: self.server_id, gate_epoch }
    }

    /// Returns the parsed DHCPv4 message.
    #[must_use]
    pub const fn message(&self) -> &'m Message<'m> {
        self.view.message
    }
}

/// Runs a DHCPv4 transaction to its end against a lease store that answers at once.
pub fn drive(
    transaction: &mut Transaction<'_>,
    now: Now,
    store: &mut impl LeaseStore<V4>,
    facts: &mut Facts,
) -> Dhcp4TransactionOutcome {
    if transaction.hosts.has_external_source() {
        transaction.looked_up_claims().for_each(|address| store.reserve_address(address));
    }
    let mut input_is_facts = false;
    let mut committed = None;
    loop {
        let input = match committed.take() {
            Some(result) => Dhcp4TransactionInput::Committed(result),
            None if input_is_facts => Dhcp4TransactionInput::Facts(facts),
            None => Dhcp4TransactionInput::Begin,
        };
        match transaction.step(now, &input) {
            Dhcp4TransactionStep::Fetch(keys) => {
                store.fetch(now, &keys, facts);
                if facts.unread_epoch > 0 {
                    return Dhcp4TransactionOutcome::Wait(facts.unread_epoch);
                }
                input_is_facts = true;
            }
            Dhcp4TransactionStep::Commit(changes) => {
                committed = Some(store.commit(now, changes.as_slice()));
            }
            Dhcp4TransactionStep::SetAside(address, changes) => {
                store.reserve_address(address);
                committed = Some(match changes {
                    Some(changes) => store.commit(now, changes.as_slice()),
                    None => {
                        store.release_claim(address);
                        Ok(Receipt { row_epoch: 0 })
                    }
                });
            }
            Dhcp4TransactionStep::Done(outcome) => return outcome,
        }
    }
}

/// Returns true if the client itself broadcast the message, without a relay agent.
fn is_direct_broadcast(view: &PacketView4<'_>) -> bool {
    view.ingress.is_broadcast && view.message.giaddr().is_unspecified()
}

/// Returns the kind of reply to a client that no subnet serves. Kea refuses each such client that
/// requests a lease, unless another server may well know the client: one in INIT-REBOOT, when the
/// server is not `authoritative`, or one in REBINDING, which broadcasts its request.
fn reply_to_stranger(
    snapshot: &Snapshot,
    intent: Dhcp4Intent,
    ingress: Ingress,
) -> Result<ReplyKind, DropReason> {
    match intent {
        Dhcp4Intent::Request(RequestingClientState::Selecting, _) => Ok(ReplyKind::Nak),
        Dhcp4Intent::Request(RequestingClientState::Rebooting, _) if snapshot.is_authoritative => {
            Ok(ReplyKind::Nak)
        }
        Dhcp4Intent::Request(RequestingClientState::Renewing, _) if !ingress.is_broadcast => {
            Ok(ReplyKind::Nak)
        }
        Dhcp4Intent::TakeOtherOffer => Err(DropReason::ClientChoseOtherServer),
        _ => Err(DropReason::NoSubnet),
    }
}
