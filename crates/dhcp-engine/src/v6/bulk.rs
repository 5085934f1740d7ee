//! Replies to DHCPv6 bulk lease queries (RFC 5460), as Kea's hook library `lease_query` gives them:
//! a LEASEQUERY-REPLY with the status and the first lease, a LEASEQUERY-DATA for each further one,
//! then LEASEQUERY-DONE. A reply without leases is the LEASEQUERY-REPLY alone. Only active leases
//! are sent.

use core::net::IpAddr;

use base::Now;
use dhcp_lease::LeaseSearch;
use dhcp_lease::v6::{Lease, LeaseTable, ResourceKind, V6};
use dhcp_wire::v6::{MessageType, MessageWriter, NoRoom, Packet, StatusCode, option};

use super::Snapshot;
use super::lease_query::{
    BY_ADDRESS, BY_CLIENT_ID, LEASES_FOUND, LeaseQuery6, QueryOutcome, RelayDataPlace, by_address,
    is_active, of_client, put_client_data,
};
use crate::bulk::{BulkProtocol, BulkSearch, BulkStep, PARSING, Searching};
use crate::hex::write_hex;
use crate::stored_relay::has_identifier;

/// Query by relay identifier: QUERY_BY_RELAY_ID (RFC 5460 §5.2.1).
const BY_RELAY_ID: u8 = 3;
/// Query by link address: QUERY_BY_LINK_ADDRESS (RFC 5460 §5.2.2).
const BY_LINK: u8 = 4;
/// Query by remote identifier: QUERY_BY_REMOTE_ID (RFC 5460 §5.2.3).
const BY_REMOTE_ID: u8 = 5;

/// Number of searches through all leases: one for addresses and one for prefixes, which follow.
const SCANS: usize = 2;

/// Bulk lease query that is being answered.
pub struct BulkQuery6 {
    /// Message with the query, whose fields the replies repeat.
    octets: Vec<u8>,
    state: BulkState6,
    /// True once the LEASEQUERY-REPLY was written.
    has_begun: bool,
}

enum BulkState6 {
    /// Query that no step has looked at.
    Unread,
    /// Search that finds the leases, with the text of the status.
    Searching(&'static str, BulkSearch<V6>),
    /// Status to be sent without leases, with its text.
    Refused(StatusCode, &'static str),
    Ended,
}

impl BulkProtocol for V6 {
    type BulkQuery = BulkQuery6;

    fn begin_bulk(snapshot: &Snapshot, octets: &[u8], _server: IpAddr) -> Option<BulkQuery6> {
        let packet = Packet::parse_as(octets, PARSING).ok()?;
        let message = packet.message();
        let is_query =
            packet.relay_count() == 0 && message.message_type() == MessageType::LeaseQuery;
        let is_ours = message.server_id().is_none_or(|chosen| *chosen == *snapshot.own.server_duid);
        let is_valid = is_query && is_ours && message.client_id().is_some();
        message.option(option::LQ_QUERY).and_then(LeaseQuery6::parse).filter(|_| is_valid)?;
        Some(BulkQuery6 { octets: octets.to_vec(), state: BulkState6::Unread, has_begun: false })
    }

    fn next_bulk(
        query: &mut BulkQuery6,
        snapshot: &Snapshot,
        table: &LeaseTable,
        now: Now,
        buffer: &mut [u8],
    ) -> BulkStep {
        query.next(snapshot, table, now, buffer)
    }
}

impl BulkQuery6 {
    fn next(
        &mut self,
        snapshot: &Snapshot,
        table: &LeaseTable,
        now: Now,
        buffer: &mut [u8],
    ) -> BulkStep {
        let octets = core::mem::take(&mut self.octets);
        // It was parsed when the query began.
        let Ok(packet) = Packet::parse_as(&octets, PARSING) else { return BulkStep::End };
        let written = match &mut self.state {
            BulkState6::Unread => {
                self.state = begin(now, snapshot, table, &packet);
                None
            }
            BulkState6::Searching(text, search) => match search.next(table) {
                Err(Searching) => None,
                Ok(Some(lease)) => {
                    let status = (!self.has_begun).then_some((StatusCode::Success, *text));
                    let kind = MessageType::LeaseQueryData;
                    Some(write(snapshot, &packet, kind, status, now, &[lease], buffer))
                }
                Ok(None) if self.has_begun => {
                    self.state = BulkState6::Ended;
                    let kind = MessageType::LeaseQueryDone;
                    Some(write(snapshot, &packet, kind, None, now, &[], buffer))
                }
                Ok(None) => {
                    self.state = BulkState6::Refused(StatusCode::Success, "no active leases");
                    None
                }
            },
            BulkState6::Refused(code, text) => {
                let status = Some((*code, *text));
                self.state = BulkState6::Ended;
                let kind = MessageType::LeaseQueryReply;
                Some(write(snapshot, &packet, kind, status, now, &[], buffer))
            }
            BulkState6::Ended => return BulkStep::End,
        };
        self.octets = octets;
        match written {
            Some(Ok(len)) => {
                self.has_begun = true;
                BulkStep::Message(len)
            }
            Some(Err(NoRoom)) | None => BulkStep::Searching,
        }
    }
}

/// Writes a message of the reply to the query in `packet`: with a status the LEASEQUERY-REPLY, else
/// one of the type `kind`.
fn write(
    snapshot: &Snapshot,
    packet: &Packet<'_>,
    kind: MessageType,
    status: Option<(StatusCode, &str)>,
    now: Now,
    leases: &[Lease],
    buffer: &mut [u8],
) -> Result<usize, NoRoom> {
    let message = packet.message();
    let kind = if status.is_some() { MessageType::LeaseQueryReply } else { kind };
    let mut writer = MessageWriter::new(buffer, kind, message.transaction_id());
    if let Some((code, text)) = status {
        writer.option(option::CLIENTID, message.client_id().unwrap_or_default());
        writer.option(option::SERVERID, &snapshot.own.server_duid);
        writer.status(code, text);
    }
    put_client_data(now, leases, RelayDataPlace::Inside, &mut writer);
    writer.finish()
}

/// Returns the state in which the answer to the query in `packet` begins.
fn begin(now: Now, snapshot: &Snapshot, table: &LeaseTable, packet: &Packet<'_>) -> BulkState6 {
    let value = packet.message().option(option::LQ_QUERY);
    let Some(query) = value.and_then(LeaseQuery6::parse) else { return BulkState6::Ended };
    let find = &mut |search: LeaseSearch<'_, V6>, leases: &mut Vec<Lease>| {
        table.find_leases(search, leases);
    };
    let outcome = match query.kind {
        BY_ADDRESS => match &snapshot.own.lease_query {
            Some(terms) => by_address(now, snapshot, terms, &query, find),
            None => return BulkState6::Ended,
        },
        BY_CLIENT_ID => match of_client(now, snapshot, &query, find) {
            Ok(leases) => QueryOutcome::Leases(LEASES_FOUND, leases),
            Err(outcome) => outcome,
        },
        _ => match scan(now, snapshot, &query) {
            Ok(search) => return BulkState6::Searching(LEASES_FOUND, search),
            Err(outcome) => outcome,
        },
    };
    match outcome {
        QueryOutcome::Leases(text, leases) => {
            BulkState6::Searching(text, BulkSearch::with_leases(leases))
        }
        QueryOutcome::Status(code, text) => BulkState6::Refused(code, text),
        QueryOutcome::Links(_) => BulkState6::Ended,
    }
}

/// Returns the search through all leases for those of a link or of a relay agent.
fn scan(
    now: Now,
    snapshot: &Snapshot,
    query: &LeaseQuery6<'_>,
) -> Result<BulkSearch<V6>, QueryOutcome> {
    let refused = |text| Err(QueryOutcome::Status(StatusCode::MalformedQuery, text));
    let (key, value) = match query.kind {
        BY_RELAY_ID => {
            let duid =
                query.duid(option::RELAY_ID, "missing D6O_RELAY_ID", "malformed D6O_RELAY_ID")?;
            ("relay-id", Some(duid))
        }
        BY_REMOTE_ID => match query.options.get(option::REMOTE_ID) {
            Some(value) => ("remote-id", Some(value)),
            None => return refused("missing D6O_REMOTE_ID"),
        },
        BY_LINK if query.link.is_unspecified() => return refused("undefined link address"),
        BY_LINK => ("", None),
        _ => {
            let (code, text) = (StatusCode::UnknownQueryType, "unknown query-type");
            return Err(QueryOutcome::Status(code, text));
        }
    };
    let subnets = query.subnets(snapshot)?;
    let digits = value.map(|value| {
        let mut digits = String::new();
        write_hex(value.iter().copied(), &mut digits);
        digits
    });
    Ok(BulkSearch::scan(SCANS, move |lease: &Lease, scan| {
        (lease.kind() == ResourceKind::Prefix) == (scan > 0)
            && is_active(now, lease)
            && (subnets.is_empty() || subnets.contains(&lease.subnet_id))
            && digits.as_ref().is_none_or(|digits| has_identifier(&lease.user_context, key, digits))
    }))
}
