//! Implementation of [`Protocol`] for DHCPv4, as a shard serves it.

use base::{Now, Prefetch};
use dhcp_lease::LeaseStore;
use dhcp_lease::v4::V4;
use dhcp_wire::v4::{Malformed, Message, MessageType};

use super::reply::ReplyKind;
use super::request::client_id;
use super::{Destination, Dhcp4TransactionScratch, Ingress, Snapshot, Transaction, prefetch};
use crate::classify::PacketView4;
use crate::hosts::HostBook;
use crate::in_flight::{ClientKeys, InFlight};
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
    const SENT: &'static [&'static str] = &["OFFER", "ACK", "ACK (inform)", "NAK"];
    const RECEIVED_STATISTICS: &'static [&'static str] = &[
        "discover", "offer", "request", "ack", "nak", "release", "decline", "inform",
        // Kea counts lease queries only when its hook answers them.
        "unknown", "unknown",
    ];
    const SENT_STATISTICS: &'static [&'static str] = &["offer", "ack", "ack", "nak"];
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

    fn parse<'m>(snapshot: &Snapshot, octets: &'m [u8]) -> Result<Message<'m>, usize> {
        Message::parse_as(octets, snapshot.parsing).map_err(Malformed::index)
    }

    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>) {
        if index == Malformed::UnknownMessageType.index() {
            return (DropStatistic::RfcViolation, Some(RECEIVED_TYPES.len()));
        }
        (DropStatistic::ParseFailed, None)
    }

    fn received_index(message: &Message<'_>) -> usize {
        let kind = message.message_type();
        RECEIVED_TYPES
            .iter()
            .position(|&counted| Some(counted) == kind)
            .unwrap_or(RECEIVED_TYPES.len())
    }

    fn begins_exchange(message: &Message<'_>) -> bool {
        message.message_type() == Some(MessageType::Discover)
    }

    fn client(
        in_flight: &InFlight,
        message: &Message<'_>,
    ) -> Result<Option<ClientKeys>, DropReason> {
        if message.message_type() == Some(MessageType::Inform) {
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
        let ServeContext { store, work, buffer, counters, subnet_events, interfaces, hosts } =
            context;
        let hosts = HostBook::new(&snapshot.hosts, hosts);
        let count = |event, subnet| counters.events().count(event, subnet_events, subnet);
        let stored_relay_information =
            work.stored_relay_information.recover(now, snapshot, message, store);
        let view = PacketView4 { message, ingress: &ingress, interfaces, stored_relay_information };
        let (client_facts, flex) = (&mut work.client_facts, &mut work.flex);
        let begun = Transaction::begin(snapshot, hosts, view, client_facts, flex);
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
