//! Implementation of [`Protocol`] for DHCPv4, as a shard serves it.

use core::net::Ipv4Addr;

use base::{Now, Prefetch};
use dhcp_lease::v4::V4;
use dhcp_lease::{Answer, LeaseStore, RecordedIngress};
use dhcp_wire::v4::{Malformed, Message, MessageType};

use super::reply::ReplyKind;
use super::request::client_id;
use super::{
    Destination, Dhcp4TransactionScratch, Ingress, Snapshot, Transaction, lease_query, prefetch,
};
use crate::balance::balance_hash;
use crate::classify::PacketView4;
use crate::hosts::HostBook;
use crate::in_flight::{ClientKeys, InFlight};
use crate::pair_filter::PairClient;
use crate::protocol::{LookupGuess, Protocol, ServeContext, WrittenReply, names};
use crate::reason::DropReason;
use crate::statistic::{self, DropStatistic, StatisticEvent};
use crate::transaction::{NoReply, drive};

/// DHCPv4 message types that are counted by name; others are counted together.
const RECEIVED_TYPES: [MessageType; 9] = [
    MessageType::Discover,
    MessageType::Offer,
    MessageType::Request,
    MessageType::Ack,
    MessageType::Nak,
    MessageType::Release,
    MessageType::Decline,
    MessageType::Inform,
    MessageType::LeaseQuery,
];

impl Protocol for V4 {
    type Message<'m> = Message<'m>;
    type Ingress = Ingress;
    type Destination = Destination;
    type Work = Dhcp4TransactionScratch;

    /// Length of the longest DHCPv4 reply in bytes, the UDP payload of one Ethernet frame: clients
    /// without an address accept no fragments.
    const REPLY_LEN_MAX: usize = 1472;
    const RECEIVED: &'static [&'static str] =
        names!(RECEIVED_TYPES, RECEIVED_TYPES.len() + 1, "other");
    const SENT: &'static [&'static str] =
        &["OFFER", "ACK", "ACK (inform)", "NAK", "LEASEACTIVE", "LEASEUNASSIGNED", "LEASEUNKNOWN"];
    const RECEIVED_STATISTICS: &'static [&'static str] = &[
        "discover",
        "offer",
        "request",
        "ack",
        "nak",
        "release",
        "decline",
        "inform",
        "lease-query",
        "unknown",
    ];
    const SENT_STATISTICS: &'static [&'static str] = &[
        "offer",
        "ack",
        "ack",
        "nak",
        "lease-query-response-active",
        "lease-query-response-unassigned",
        "lease-query-response-unknown",
    ];
    const PACKETS: &'static str = "pkt4";
    const EVENTS: [&'static str; StatisticEvent::COUNT] = [
        "v4-allocation-fail",
        "v4-allocation-fail-shared-network",
        "v4-allocation-fail-subnet",
        "v4-allocation-fail-no-pools",
        "v4-allocation-fail-classes",
        "v4-reservation-conflicts",
        "v4-lease-reuses",
        "",
    ];
    const MALFORMED: &'static [&'static str] = names!(Malformed::ALL, Malformed::ALL.len(), "");
    const REFUSALS: &'static [&'static str] = &[];

    fn recorded_ingress(ingress: Ingress) -> RecordedIngress {
        RecordedIngress {
            source: ingress.source.into(),
            local: ingress.local.into(),
            interface: ingress.interface,
            is_multicast: ingress.is_broadcast,
            mac: ingress.mac,
        }
    }

    fn answer_without_lease(
        message: &Message<'_>,
        outcome: Result<&WrittenReply<Destination>, NoReply>,
    ) -> Option<Ipv4Addr> {
        let is_answered = match message.message_type()? {
            MessageType::Request => outcome.is_ok(),
            MessageType::Decline | MessageType::Release => {
                outcome.is_err_and(|none| none == DropReason::NotTheClientsLease.into())
            }
            _ => false,
        };
        is_answered.then_some(Ipv4Addr::UNSPECIFIED)
    }

    fn parse<'m>(snapshot: &Snapshot, octets: &'m [u8]) -> Result<Message<'m>, usize> {
        Message::parse_as(octets, snapshot.parsing).map_err(Malformed::index)
    }

    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>) {
        if index == Malformed::UnknownMessageType.index() {
            return (DropStatistic::RfcViolation, Some(RECEIVED_TYPES.len()));
        }
        (DropStatistic::ParseFailed, None)
    }

    fn received_index(snapshot: &Snapshot, message: &Message<'_>) -> usize {
        let kind = message.message_type();
        // As in Kea, whose hook library counts them.
        if kind == Some(MessageType::LeaseQuery) && snapshot.own.lease_query.is_none() {
            return RECEIVED_TYPES.len();
        }
        RECEIVED_TYPES
            .iter()
            .position(|&counted| Some(counted) == kind)
            .unwrap_or(RECEIVED_TYPES.len())
    }

    fn begins_exchange(message: &Message<'_>) -> bool {
        message.message_type() == Some(MessageType::Discover)
    }

    fn pair_client<'m>(message: &Self::Message<'m>) -> Option<PairClient<'m>> {
        let is_of_pair = matches!(
            message.message_type(),
            Some(
                MessageType::Discover
                    | MessageType::Request
                    | MessageType::Decline
                    | MessageType::Release
                    | MessageType::Inform
            )
        );
        if !is_of_pair {
            return None;
        }
        // Some clients send the bytes of `secs` in the wrong order; as Kea, the server recognizes
        // this by a low byte of zero.
        let secs = message.secs();
        let secs = if secs > 0xff && secs & 0xff == 0 { secs.swap_bytes() } else { secs };
        let id = message.client_id().filter(|id| !id.is_empty());
        let octets = id.and_then(|id| id.as_slice()).unwrap_or_default();
        let chaddr = message.chaddr();
        let hash = match id {
            Some(id) if octets.is_empty() => Some(balance_hash(&id.octets().collect::<Vec<u8>>())),
            Some(_) => Some(balance_hash(octets)),
            None => (!chaddr.is_empty()).then(|| balance_hash(chaddr)),
        };
        let elapsed_ms = u64::from(secs) * 1_000;
        Some(PairClient { identifiers: [chaddr, octets], hash, elapsed_ms })
    }

    fn client(
        in_flight: &InFlight,
        message: &Message<'_>,
    ) -> Result<Option<ClientKeys>, DropReason> {
        if matches!(message.message_type(), Some(MessageType::Inform | MessageType::LeaseQuery)) {
            return Ok(None);
        }
        Ok(Some(in_flight.keys(message.chaddr(), client_id(message)?)))
    }

    fn prefetch<S: LeaseStore<Self>>(
        snapshot: &Snapshot,
        message: &Message<'_>,
        ingress: Ingress,
        store: &mut S,
        prefetch: Prefetch,
    ) -> LookupGuess {
        prefetch::prefetch_message(snapshot, message, ingress, store, prefetch)
    }

    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Snapshot,
        message: &Message<'_>,
        ingress: Ingress,
        context: ServeContext<'_, Self, S>,
    ) -> Result<WrittenReply<Self::Destination>, NoReply> {
        let ServeContext { store, work, buffer, counters, subnet_events, .. } = context;
        let (interfaces, pairs) = (context.interfaces, context.pairs);
        if let Some(terms) = &snapshot.own.lease_query
            && message.message_type() == Some(MessageType::LeaseQuery)
        {
            return lease_query::serve(now, snapshot, terms, message, ingress, store, buffer);
        }
        let hosts = HostBook::new(&snapshot.hosts, context.hosts);
        let count = |event, subnet| counters.events().count(event, subnet_events, subnet);
        let stored_relay_information =
            work.stored_relay_information.recover(now, snapshot, message, store);
        let view = PacketView4 { message, ingress: &ingress, interfaces, stored_relay_information };
        let (client_facts, name) = (&mut work.client_facts, &mut work.name);
        let flex = &mut work.flex;
        let begun = Transaction::begin(snapshot, hosts, view, pairs, client_facts, name, flex);
        if hosts.has_missed() {
            return Err(NoReply::AwaitHosts);
        }
        let mut transaction = begun?;
        let facts = core::slice::from_mut(&mut work.facts);
        let outcome = drive(&mut transaction, now, store, facts);
        if let Some((subnet, was_searched)) = transaction.failed_allocation() {
            let is_in_network = snapshot.subnet(subnet).network.is_some();
            for event in statistic::failed_allocation(is_in_network, was_searched) {
                count(event, subnet);
            }
        }
        if let Some(subnet) = transaction.conflict() {
            count(StatisticEvent::ReservationConflict, subnet);
        }
        let reply = outcome?;
        if transaction.is_bootp() && reply.terms.kind == ReplyKind::Nak {
            // BOOTP has no refusal.
            return Err(DropReason::UnknownClient.into());
        }
        if reply.terms.is_repeated
            && let Some(location) = reply.terms.location
        {
            count(StatisticEvent::LeaseReuse, location.subnet);
        }
        transaction.settle(&reply);
        counters.count_omitted(transaction.omissions());
        if store.is_recording_answers()
            && let Some(lease) = transaction.answered_lease(&reply)
        {
            let (address, row_epoch) = (reply.terms.address, reply.gate_epoch);
            let row_epoch = row_epoch.max(store.settled_epoch());
            store.record_answer(now, &Answer { address, lease: Some(lease), row_epoch });
        }
        Ok(WrittenReply {
            len: reply.emit(&transaction, buffer, counters)?,
            destination: Destination::for_reply(message, ingress, &reply.terms),
            kind: reply_index(reply.terms.kind),
            gate_epoch: reply.gate_epoch,
        })
    }
}

/// Returns the position of a reply's kind in [`Protocol::SENT`].
const fn reply_index(kind: ReplyKind) -> usize {
    match kind {
        ReplyKind::Offer => 0,
        ReplyKind::Ack => 1,
        ReplyKind::InformAck => 2,
        ReplyKind::Nak => 3,
    }
}
