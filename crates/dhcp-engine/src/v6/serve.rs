//! Implementation of [`Protocol`] for DHCPv6, as a shard serves it.

use core::net::{Ipv6Addr, SocketAddrV6};

use base::{Now, Prefetch};
use dhcp_lease::v6::{Facts, Resource, ResourceKind, V6};
use dhcp_lease::{LeaseStore, RecordedIngress};
use dhcp_wire::v6::{Malformed, MessageType, Packet, StatusCode};

use super::association::{ASSOCIATIONS_MAX, Associations};
use super::client::Dhcp6ClientScratch;
use super::{Ingress, Snapshot, Transaction, destination, lease_query, prefetch, reply};
use crate::balance::balance_hash;
use crate::classify::PacketView6;
use crate::hosts::HostBook;
use crate::in_flight::{ClientKeys, InFlight};
use crate::pair_filter::PairClient;
use crate::protocol::{LookupGuess, Protocol, ServeContext, WrittenReply, names};
use crate::reason::DropReason;
use crate::statistic::{self, DropStatistic, StatisticEvent};
use crate::transaction::{NoReply, drive};

/// DHCPv6 message types that are counted by name; others are counted together.
const RECEIVED_TYPES: [MessageType; 16] = [
    MessageType::Solicit,
    MessageType::Advertise,
    MessageType::Request,
    MessageType::Reply,
    MessageType::Renew,
    MessageType::Rebind,
    MessageType::Confirm,
    MessageType::Release,
    MessageType::Decline,
    MessageType::InformationRequest,
    MessageType::Reconfigure,
    MessageType::Dhcpv4Query,
    MessageType::Dhcpv4Response,
    MessageType::AddrRegInform,
    MessageType::AddrRegReply,
    MessageType::LeaseQuery,
];

/// DHCPv6 message types that the server sends.
const SENT_TYPES: [MessageType; 4] = [
    MessageType::Advertise,
    MessageType::Reply,
    MessageType::AddrRegReply,
    MessageType::LeaseQueryReply,
];

/// Position in [`Protocol::SENT`] of the reply to a lease query.
pub(super) const SENT_LEASE_QUERY_REPLY: usize = 3;

/// Number of DHCPv6 status codes that are counted as refusals: the codes of RFC 9915.
const REFUSAL_CODES: usize = StatusCode::NoPrefixAvail.code() as usize + 1;

/// Scratch memory of a shard's DHCPv6 transactions, which keep nothing of it for the next message.
#[derive(Debug, Default)]
pub struct Dhcp6TransactionScratch {
    facts: [Facts; ASSOCIATIONS_MAX],
    scratch: Dhcp6ClientScratch,
}

impl Protocol for V6 {
    type Message<'m> = Packet<'m>;
    type Ingress = Ingress;
    type Destination = SocketAddrV6;
    type Work = Dhcp6TransactionScratch;

    /// Length of the longest DHCPv6 reply in bytes: the payload of UDP over IPv6, in fragments (RFC
    /// 8200 §4.5).
    const REPLY_LEN_MAX: usize = 65_535 - 8;
    const RECEIVED: &'static [&'static str] =
        names!(RECEIVED_TYPES, RECEIVED_TYPES.len() + 1, "other");
    const SENT: &'static [&'static str] = names!(SENT_TYPES, SENT_TYPES.len(), "");
    const RECEIVED_STATISTICS: &'static [&'static str] = &[
        "solicit",
        "advertise",
        "request",
        "reply",
        "renew",
        "rebind",
        "confirm",
        "release",
        "decline",
        "infrequest",
        "reconfigure",
        "dhcpv4-query",
        "dhcpv4-response",
        "addr-reg-inform",
        "addr-reg-reply",
        "lease-query",
        "unknown",
    ];
    const SENT_STATISTICS: &'static [&'static str] =
        &["advertise", "reply", "addr-reg-reply", "lease-query-reply"];
    const PACKETS: &'static str = "pkt6";
    const EVENTS: [&'static str; StatisticEvent::COUNT] = [
        "v6-allocation-fail",
        "v6-allocation-fail-shared-network",
        "v6-allocation-fail-subnet",
        "v6-allocation-fail-no-pools",
        "v6-allocation-fail-classes",
        "",
        "v6-ia-na-lease-reuses",
        "v6-ia-pd-lease-reuses",
    ];
    const MALFORMED: &'static [&'static str] = names!(Malformed::ALL, Malformed::ALL.len(), "");
    const REFUSALS: &'static [&'static str] = names!(StatusCode::ALL, REFUSAL_CODES, "");

    fn recorded_ingress(ingress: Ingress) -> RecordedIngress {
        RecordedIngress {
            source: ingress.source.into(),
            local: ingress.local.into(),
            interface: ingress.interface,
            is_multicast: ingress.is_multicast,
            mac: None,
        }
    }

    fn answer_without_lease(
        packet: &Packet<'_>,
        outcome: Result<&WrittenReply<SocketAddrV6>, NoReply>,
    ) -> Option<Resource> {
        let sent = SENT_TYPES.get(outcome.ok()?.kind)?;
        let is_answered = match packet.message().message_type() {
            MessageType::Solicit => *sent == MessageType::Reply,
            MessageType::Request
            | MessageType::Renew
            | MessageType::Rebind
            | MessageType::Release
            | MessageType::Decline
            | MessageType::AddrRegInform => true,
            _ => false,
        };
        is_answered.then_some(Resource::address(Ipv6Addr::UNSPECIFIED))
    }

    fn parse<'m>(snapshot: &Snapshot, octets: &'m [u8]) -> Result<Packet<'m>, usize> {
        Packet::parse_as(octets, snapshot.parsing).map_err(Malformed::index)
    }

    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>) {
        if index == Malformed::UnknownMessageType.index() {
            return (DropStatistic::RfcViolation, Some(RECEIVED_TYPES.len()));
        }
        (DropStatistic::ParseFailed, None)
    }

    fn received_index(snapshot: &Snapshot, packet: &Packet<'_>) -> usize {
        let kind = packet.message().message_type();
        // As in Kea, whose hook library counts them.
        if kind == MessageType::LeaseQuery && snapshot.own.lease_query.is_none() {
            return RECEIVED_TYPES.len();
        }
        RECEIVED_TYPES.iter().position(|&counted| counted == kind).unwrap_or(RECEIVED_TYPES.len())
    }

    fn begins_exchange(packet: &Packet<'_>) -> bool {
        packet.message().message_type() == MessageType::Solicit
    }

    fn pair_client<'m>(packet: &Self::Message<'m>) -> Option<PairClient<'m>> {
        let message = packet.message();
        let is_of_pair = matches!(
            message.message_type(),
            MessageType::Solicit
                | MessageType::Request
                | MessageType::Confirm
                | MessageType::Renew
                | MessageType::Rebind
                | MessageType::Release
                | MessageType::Decline
        );
        if !is_of_pair {
            return None;
        }
        let elapsed_ms = u64::from(message.elapsed_time().unwrap_or(0)) * 10;
        let duid = message.client_id().unwrap_or_default();
        let hash = (!duid.is_empty()).then(|| balance_hash(duid));
        Some(PairClient { identifiers: [duid, &[]], hash, elapsed_ms })
    }

    fn client(in_flight: &InFlight, packet: &Packet<'_>) -> Result<Option<ClientKeys>, DropReason> {
        if packet.message().message_type() == MessageType::LeaseQuery {
            return Ok(None);
        }
        Ok(packet.message().client_id().map(|duid| in_flight.keys(&[], Some(duid))))
    }

    fn prefetch<S: LeaseStore<Self>>(
        snapshot: &Snapshot,
        packet: &Packet<'_>,
        _ingress: Ingress,
        store: &mut S,
        prefetch: Prefetch,
    ) -> LookupGuess {
        prefetch::prefetch_message(snapshot, packet, store, prefetch)
    }

    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Snapshot,
        packet: &Packet<'_>,
        ingress: Ingress,
        context: ServeContext<'_, Self, S>,
    ) -> Result<WrittenReply<SocketAddrV6>, NoReply> {
        if let Some(terms) = &snapshot.own.lease_query
            && packet.message().message_type() == MessageType::LeaseQuery
        {
            let ServeContext { store, buffer, .. } = context;
            return lease_query::serve(now, snapshot, terms, packet, ingress, store, buffer);
        }
        let Dhcp6TransactionScratch { facts, scratch } = context.work;
        let hosts = HostBook::new(&snapshot.hosts, context.hosts);
        let mut associations = Associations::new();
        let view = PacketView6 { packet, ingress: &ingress, interfaces: context.interfaces };
        let pairs = context.pairs;
        let begun = Transaction::begin(snapshot, hosts, view, pairs, scratch, &mut associations);
        if hosts.has_missed() {
            return Err(NoReply::AwaitHosts);
        }
        let mut transaction = begun?;
        for facts in &mut facts[..transaction.associations.len()] {
            facts.candidate = None;
        }
        let outcome = drive(&mut transaction, now, context.store, facts);
        let count = |event, subnet| {
            context.counters.events().count(event, context.subnet_events, subnet);
        };
        for (subnet, was_searched) in transaction.failed_allocations() {
            let is_in_network = snapshot.subnet(subnet).network.is_some();
            for event in statistic::failed_allocation(is_in_network, was_searched) {
                count(event, subnet);
            }
        }
        let gate_epoch = outcome?;
        transaction.finish_classes();
        context.counters.count_omitted(transaction.client_facts.omissions);
        let Ok(len) = reply::emit(&transaction, context.buffer) else {
            return Err(DropReason::ReplyTooLarge.into());
        };
        let kind = reply::message_type(transaction.intent);
        for association in transaction.associations.iter() {
            let Some(grant) = association.repeated else { continue };
            let event = match association.kind {
                ResourceKind::Address => StatisticEvent::LeaseReuse,
                ResourceKind::Prefix => StatisticEvent::PrefixReuse,
            };
            count(event, grant.location.subnet);
        }
        for code in reply::refusals(&transaction) {
            context.counters.count_refused(usize::from(code.code()));
        }
        if context.store.is_recording_answers() {
            transaction.record_repeated(now, gate_epoch, context.store);
        }
        Ok(WrittenReply {
            len,
            destination: destination::for_reply(packet, ingress),
            kind: SENT_TYPES.iter().position(|&sent| sent == kind).expect("no other is sent"),
            gate_epoch,
        })
    }
}
