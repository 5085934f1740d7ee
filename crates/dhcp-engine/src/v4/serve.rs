//! DHCPv4 as a shard serves it.

use base::Now;
use dhcp_lease::LeaseStore;
use dhcp_lease::v4::{Facts, V4};
use dhcp_wire::v4::{Malformed, Message, MessageType};

use super::reply::ReplyKind;
use super::transaction::client_id;
use super::{Destination, Ingress, Outcome, Snapshot, Transaction, drive};
use crate::in_flight::{ClientKeys, InFlight};
use crate::protocol::{Desk, Emitted, Protocol, Served, names};
use crate::reason::DropReason;

/// Message types that are counted by name; others together.
const RECEIVED_TYPES: [MessageType; 5] = [
    MessageType::Discover,
    MessageType::Request,
    MessageType::Decline,
    MessageType::Release,
    MessageType::Inform,
];

impl Protocol for V4 {
    type Message<'m> = Message<'m>;
    type Snapshot = Snapshot;
    type Ingress = Ingress;
    type Destination = Destination;
    type Work = Facts;

    const RECEIVED: &'static [&'static str] =
        names!(RECEIVED_TYPES, RECEIVED_TYPES.len() + 1, "other");
    const SENT: &'static [&'static str] = &["OFFER", "ACK", "ACK (inform)", "NAK"];
    const MALFORMED: &'static [&'static str] = names!(Malformed::ALL, Malformed::ALL.len(), "");
    const REFUSALS: &'static [&'static str] = &[];

    fn parse(octets: &[u8]) -> Result<Message<'_>, usize> {
        Message::parse(octets).map_err(Malformed::index)
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
        Ok(Some(in_flight.keys(message.chaddr(), client_id(message)?)))
    }

    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Snapshot,
        message: Message<'_>,
        ingress: Ingress,
        desk: Desk<'_, Self, S>,
    ) -> Served<Self::Destination> {
        let mut transaction = match Transaction::begin(snapshot, message, ingress, desk.interfaces)
        {
            Ok(transaction) => transaction,
            Err(reason) => return Served::Drop(reason),
        };
        let reply = match drive(&mut transaction, now, desk.store, desk.work) {
            Outcome::Reply(reply) => reply,
            Outcome::Silence => return Served::Silence,
            Outcome::Wait(epoch) => return Served::Wait(epoch),
            Outcome::Drop(reason) => return Served::Drop(reason),
        };
        match reply.emit(&transaction, desk.buffer) {
            Ok(len) => Served::Reply(Emitted {
                len,
                destination: Destination::of(transaction.message(), ingress, &reply.terms),
                kind: reply_index(reply.terms.kind),
                gate_epoch: reply.gate_epoch,
            }),
            Err(_) => Served::Drop(DropReason::ReplyTooLarge),
        }
    }
}

/// Position of a reply's kind in [`Protocol::SENT`].
const fn reply_index(kind: ReplyKind) -> usize {
    match kind {
        ReplyKind::Offer => 0,
        ReplyKind::Ack => 1,
        ReplyKind::InformAck => 2,
        ReplyKind::Nak => 3,
    }
}
