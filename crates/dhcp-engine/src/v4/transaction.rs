//! Transaction of a DHCPv4 message: from the parsed message to a reply, silence or a counted drop.
//!
//! It steps until it has an outcome ([`crate::transaction`]); the decisions themselves are in
//! `decide`.

use core::cell::Cell;
use core::net::Ipv4Addr;

use base::Now;
use dhcp_lease::contract::FETCHED_ADDRESSES_MAX;
use dhcp_lease::v4::{
    Action, Change, Facts, FetchKeys, PoolIndex, Receipt, SlotOccupancy, SlotOwner, SlotView, V4,
};
use dhcp_lease::{HardwareAddress, Identity};
use dhcp_wire::v4::{Message, option};

use super::decide::{self, Decision, DecisionWithConflict, ProposedAction};
use super::name::ClientName;
use super::reply::{Reply, ReplyKind, ReplyTerms};
use super::request::{self, Dhcp4Intent, RequestingClientState};
use super::{DropReason, Ingress, Snapshot, identifiers, relay_info, select};
use crate::classify::{ClassSet, Classes, PacketView4};
use crate::client_facts::{ClientFacts, FlexIdValue};
use crate::hosts::{HostBook, Identifiers};
use crate::links::PoolLocation;
use crate::omission::{Omission, clear_if_too_long};
use crate::options::ScopeOptions;
use crate::pair_filters::PairFilters;
use crate::prefixes::SubnetIndex;
use crate::transaction::{
    CandidateRequest, CommitProgress, MessageTransaction, NoReply, TransactionInput,
    TransactionStep,
};

/// Transaction of one DHCPv4 message.
///
/// The owner calls [`Transaction::begin`], then
/// [`drive`](crate::transaction::drive), which continues the transaction to its end.
/// [`Transaction::failed_allocation`] and [`Transaction::conflict`] say more about an outcome.
#[derive(Debug)]
pub struct Transaction<'m> {
    /// Configuration that the transaction uses from begin to end.
    pub(super) snapshot: &'m Snapshot,
    /// Hosts with reservations, of the configuration and of the cache.
    pub(super) hosts: HostBook<'m, V4>,
    /// Message, and the address and interface at which it was received.
    pub(super) view: PacketView4<'m>,
    /// Classes and reservations of the client, in memory that the owner reuses.
    pub(super) client_facts: &'m mut ClientFacts,
    /// Name of the client in the reply and in the lease.
    pub(super) name: &'m mut ClientName,
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
    /// Changes that the next commit makes.
    planned: Option<PlannedChanges>,
    /// Progress of the commits.
    progress: CommitProgress,
    /// Request for a free address that the next fetch makes.
    candidate_request: CandidateRequest,
    /// True once all pools were searched and none had a free address for the client.
    is_exhausted: bool,
    /// Subnet whose address, reserved for the client, another client has in use.
    conflict: Option<SubnetIndex>,
    /// Address that was looked for last among the pools of the link, and the pool that contains it,
    /// if any.
    pub(super) last_pool_lookup: Cell<Option<(Ipv4Addr, Option<PoolLocation>)>>,
}

/// Step that a DHCPv4 transaction needs next, or its outcome.
type Step<'t> = TransactionStep<'t, V4, Reply>;

/// Changes of leases that a DHCPv4 message makes, of which the texts are not borrowed yet.
#[derive(Clone, Copy, Debug)]
struct PlannedChanges {
    /// Slot of the message's own lease.
    change_of: SlotView,
    /// Action on that slot.
    action: ProposedAction,
    /// Slot of the client's other lease, which ends.
    gives_up: Option<SlotView>,
}

/// Returns the identity of a client as it counts on the link of the subnet `at`. As in Kea,
/// client identifiers identify clients on a link if any of its subnets that is open to the client
/// has `match-client-id` true, but for leases of subnets that have it false.
fn identity_on_link<'m>(
    snapshot: &'m Snapshot,
    at: Option<SubnetIndex>,
    classes: &ClassSet,
    hardware: HardwareAddress,
    client_id: Option<&'m [u8]>,
) -> Identity<'m> {
    let full = Identity { hardware, client_id, match_client_id: true, hardware_only_subnets: &[] };
    let Some(at) = at else { return full };
    let mut link = snapshot.link_subnets(at).iter();
    if link.any(|&at| snapshot.subnet(at).own.match_client_id && snapshot.admits(at, classes)) {
        Identity { hardware_only_subnets: &snapshot.subnet(at).own.hardware_only_on_link, ..full }
    } else {
        Identity { client_id: None, match_client_id: false, ..full }
    }
}

/// Returns the subnet for the message in `view`, whose client is in `classes` and which `pairs`
/// must leave to this server.
fn select_subnet(
    snapshot: &Snapshot,
    view: &PacketView4<'_>,
    pairs: &PairFilters,
    classes: &mut ClassSet,
) -> Result<Option<SubnetIndex>, DropReason> {
    let subnet = select::subnet(snapshot, view, |subnet| snapshot.admits(subnet, classes));
    pairs.admit(snapshot, subnet, view.message, classes)?;
    if subnet.is_none() && is_direct_broadcast(view) {
        // Another server on the link may know the client, so no reply is sent, as in Kea (RFC 2131
        // §4.3.2).
        return Err(DropReason::NoSubnet);
    }
    Ok(subnet)
}

impl<'m> Transaction<'m> {
    /// Begins the transaction of the DHCPv4 message in `view`: finds its intent, the identity,
    /// classes and hosts of its client, and its subnet, whose clients `pairs` must leave to this
    /// server. `client_facts`, `name` and `flex` are filled anew. When hosts that it needs are not
    /// looked up yet ([`HostBook::has_missed`]), the caller must discard the result, also an error.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped at once.
    pub(super) fn begin(
        snapshot: &'m Snapshot,
        hosts: HostBook<'m, V4>,
        view: PacketView4<'m>,
        pairs: &PairFilters,
        client_facts: &'m mut ClientFacts,
        name: &'m mut ClientName,
        flex: &'m mut FlexIdValue,
    ) -> Result<Self, DropReason> {
        let (message, ingress) = (view.message, *view.ingress);
        let server_id = request::server_identifier(&view);
        if server_id.is_unspecified() {
            return Err(DropReason::NoOwnAddress);
        }
        let intent = Dhcp4Intent::from_message(snapshot, message, ingress, server_id)?;
        let hardware = HardwareAddress::new(message.htype(), message.chaddr());
        name.begin(message);
        client_facts.begin(snapshot, &view)?;
        let flex = identifiers::evaluate_flex_id(snapshot, &view, &client_facts.classes, flex);
        let client_id = identifiers::client_id(message, flex)?;
        if hardware.is_empty() && client_id.is_none() {
            return Err(DropReason::NoIdentity);
        }
        let identifiers = identifiers::identifiers(snapshot, &view, client_id, flex);
        client_facts.find_early(snapshot, hosts, &view, &identifiers)?;
        let subnet = select_subnet(snapshot, &view, pairs, &mut client_facts.classes)?;
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
        let identity =
            identity_on_link(snapshot, subnet, &client_facts.classes, hardware, client_id);
        let is_open = subnet.is_none_or(|subnet| snapshot.is_open(subnet));
        let mut transaction = Self {
            snapshot,
            hosts,
            view,
            client_facts,
            name,
            identifiers,
            intent,
            identity,
            subnet,
            is_open,
            first_subnet: 0,
            server_id,
            settled,
            reply_after_commit: None,
            planned: None,
            progress: CommitProgress::default(),
            is_exhausted: false,
            conflict: None,
            last_pool_lookup: Cell::new(None),
            candidate_request: CandidateRequest::Nothing,
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
            && self.snapshot.subnet(subnet).own.is_link_storing
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
            self.candidate_request = CandidateRequest::SpareCandidate;
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
                let is_of_network =
                    snapshot.network(snapshot.subnet(subnet)).is_some_and(|n| has(&n.options));
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
        Some((last.map_or(subnet, |&pool| self.snapshot.pool_terms(pool).subnet), last.is_some()))
    }

    /// Returns the subnet whose reserved address another client had in use when this client would
    /// have got it.
    #[must_use]
    pub const fn conflict(&self) -> Option<SubnetIndex> {
        self.conflict
    }

    fn fetch(&self) -> Step<'_> {
        let addresses = if self.client_facts.client_hosts.is_empty() {
            let mut addresses = self.intent.address().into_iter();
            core::array::from_fn(|_| addresses.next())
        } else {
            self.requested_and_reserved()
        };
        // A candidate of an earlier fetch stays claimed until the batch ends.
        TransactionStep::FetchAnother(
            0,
            FetchKeys {
                identity: self.identity,
                addresses,
                pools: self.snapshot.pools(),
                candidate_pools: if self.candidate_request.searches_pools() {
                    self.pools()
                } else {
                    &[]
                },
                is_candidate_spare: self.candidate_request == CandidateRequest::SpareCandidate,
            },
        )
    }

    /// Returns the addresses to fetch: the one that the client requests, then those that are
    /// reserved for it.
    fn requested_and_reserved(&self) -> [Option<Ipv4Addr>; FETCHED_ADDRESSES_MAX] {
        let further =
            (self.candidate_request == CandidateRequest::Reserved).then(|| self.further_reserved());
        let addresses = self.intent.address().into_iter().chain(further.into_iter().flatten());
        let mut addresses = addresses.chain(self.possible_claims());
        core::array::from_fn(|_| addresses.next())
    }

    fn decide(&mut self, now: Now, facts: &Facts) -> Step<'_> {
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
                if self.candidate_request.was_made(facts) {
                    return self.exhausted();
                }
                self.candidate_request = CandidateRequest::Candidate;
                self.fetch()
            }
            Decision::Change { change_of, action, gives_up, reply } => {
                self.reply_after_commit = reply;
                if let ProposedAction::Lease { location, .. } = action {
                    self.choose_name(location, change_of.address);
                }
                self.planned = Some(PlannedChanges { change_of, action, gives_up });
                TransactionStep::Commit
            }
            other => {
                self.planned = None;
                self.finish(other)
            }
        }
    }

    /// Returns true if the last commit wrote the client's lease.
    pub(super) const fn has_planned_lease(&self) -> bool {
        matches!(self.planned, Some(PlannedChanges { action: ProposedAction::Lease { .. }, .. }))
    }

    /// Continues after no pool had a free address: only further reservations of the client are
    /// left.
    fn exhausted(&mut self) -> Step<'_> {
        if self.candidate_request != CandidateRequest::Reserved
            && self.further_reserved().next().is_some()
        {
            self.candidate_request = CandidateRequest::Reserved;
            return self.fetch();
        }
        if self.hosts.has_missed() {
            return TransactionStep::Done(Err(NoReply::AwaitHosts));
        }
        self.is_exhausted = true;
        match self.intent {
            Dhcp4Intent::Request(..) => self.finish(decide::nak(0)),
            _ => TransactionStep::Done(Err(DropReason::PoolExhausted.into())),
        }
    }

    /// Returns true if the transaction tries the addresses of the client's further reservations.
    pub(super) fn wants_further_reserved(&self) -> bool {
        self.candidate_request == CandidateRequest::Reserved
    }

    /// Ends the transaction until the hosts that the transaction needs are known. A candidate is
    /// held meanwhile, so that the next run gets the same one.
    fn await_hosts(&mut self, now: Now, facts: &Facts) -> Step<'_> {
        let candidate =
            facts.candidate.and_then(|slot| Some((slot, self.location_in_pool(slot.address)?)));
        let Some((slot, location)) = candidate else {
            return TransactionStep::Done(Err(NoReply::AwaitHosts));
        };
        self.progress.begin_hold();
        let deadline_ns = now.mono_ns + self.snapshot.hold_ns;
        let action = ProposedAction::Hold { deadline_ns, subnet: location.subnet };
        self.planned = Some(PlannedChanges { change_of: slot, action, gives_up: None });
        TransactionStep::Commit
    }

    /// Gives up the address in `slot`, which is reserved for another client.
    fn set_aside(&mut self, slot: SlotView) -> Step<'_> {
        if let Err(no_reply) = self.progress.begin_set_aside() {
            return TransactionStep::Done(Err(no_reply));
        }
        let is_own_hold =
            slot.occupancy == SlotOccupancy::Held && slot.owner == SlotOwner::Requester;
        let action = ProposedAction::Plain(Action::Unhold);
        let unhold = PlannedChanges { change_of: slot, action, gives_up: None };
        self.planned = is_own_hold.then_some(unhold);
        TransactionStep::SetAside(slot.address)
    }

    fn finish(&self, decision: Decision) -> Step<'_> {
        TransactionStep::Done(match decision {
            Decision::Reply(terms, gate_epoch) => Ok(self.reply(terms, gate_epoch)),
            Decision::Wait(epoch) => Err(NoReply::Wait(epoch)),
            Decision::Drop(reason) => Err(NoReply::Drop(reason)),
            Decision::Change { .. } | Decision::NeedCandidate => Err(NoReply::Silence),
        })
    }

    fn committed(&self, receipt: Receipt) -> Result<Reply, NoReply> {
        match self.reply_after_commit {
            Some(terms) => Ok(self.reply(terms, receipt.row_epoch)),
            None if self.intent == Dhcp4Intent::TakeOtherOffer => {
                Err(DropReason::ClientChoseOtherServer.into())
            }
            None => Err(NoReply::Silence),
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

impl MessageTransaction<V4> for Transaction<'_> {
    type Reply = Reply;

    fn step(&mut self, now: Now, input: &TransactionInput<'_, V4>) -> Step<'_> {
        match input {
            TransactionInput::Begin => match self.settled {
                Some(kind) => {
                    TransactionStep::Done(Ok(self.reply(ReplyTerms::without_address(kind), 0)))
                }
                None => self.fetch(),
            },
            TransactionInput::Facts(facts) => self.decide(now, &facts[0]),
            TransactionInput::Committed(result) => match self.progress.finish(*result) {
                Ok(Some(receipt)) => TransactionStep::Done(self.committed(receipt)),
                Ok(None) => self.fetch(),
                Err(no_reply) => TransactionStep::Done(Err(no_reply)),
            },
        }
    }

    fn with_changes<R>(&self, commit: impl FnOnce(&[Change<'_>]) -> R) -> R {
        let Some(planned) = &self.planned else { return commit(&[]) };
        let change = |slot: &SlotView, identity, action| Change {
            identity,
            address: slot.address,
            expected_version: slot.version,
            action,
        };
        let PlannedChanges { change_of, action, gives_up } = planned;
        let first = change(change_of, action.identity(self), action.with_texts(self));
        match gives_up {
            Some(other) => commit(&[first, change(other, self.identity, Action::Release)]),
            None => commit(&[first]),
        }
    }

    fn looked_up_claims(&self) -> impl Iterator<Item = Ipv4Addr> {
        let has_source = self.hosts.has_external_source();
        has_source.then(|| self.cached_claims()).into_iter().flatten()
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
        Dhcp4Intent::Request(RequestingClientState::Rebooting, _)
            if snapshot.own.is_authoritative =>
        {
            Ok(ReplyKind::Nak)
        }
        Dhcp4Intent::Request(RequestingClientState::Renewing, _) if !ingress.is_broadcast => {
            Ok(ReplyKind::Nak)
        }
        Dhcp4Intent::TakeOtherOffer => Err(DropReason::ClientChoseOtherServer),
        _ => Err(DropReason::NoSubnet),
    }
}
