//! Replies to DHCPv4 bulk lease queries (RFC 6926), as Kea's hook library `lease_query` gives them:
//! a DHCPLEASEACTIVE for each lease, then DHCPLEASEQUERYDONE. Only active leases are sent.

use core::net::{IpAddr, Ipv4Addr};

use base::Now;
use dhcp_lease::v4::{Lease, LeaseTable, V4};
use dhcp_wire::v4::{Message, MessageType, MessageWriter, NoRoom, option, relay};

use super::Snapshot;
use super::lease_query::{LeaseQuery4, LeaseQueryReply, is_active};
use crate::bulk::{BulkProtocol, BulkSearch, BulkStep, PARSING, Searching};
use crate::hex::write_hex;
use crate::stored_relay::has_identifier;

/// Status code of option 151 for a query that breaks the rules of RFC 6926 §6.2.2.
const MALFORMED_QUERY: u8 = 3;
/// Status code of option 151 for a query that the server does not permit.
const NOT_ALLOWED: u8 = 4;

/// Bulk lease query that is being answered.
pub struct BulkQuery4 {
    /// Message with the query, whose fields the replies repeat.
    octets: Vec<u8>,
    /// Address by which the server identifies itself, in the first message of the reply.
    server_id: Option<Ipv4Addr>,
    state: BulkState4,
    /// Earliest and latest time of a client's last transaction (options 154 and 155), in seconds
    /// since 1970.
    times_s: (u64, u64),
}

enum BulkState4 {
    /// Query for the leases of a client, which an index finds.
    Client,
    /// Query for the leases of a relay agent: `relay-id` or `remote-id` with these digits.
    Agent(&'static str, String),
    /// Search that finds the leases.
    Searching(BulkSearch<V4>),
    /// Refusal of the query, with the status and its text.
    Refused(u8, &'static str),
    Ended,
}

impl BulkProtocol for V4 {
    type BulkQuery = BulkQuery4;

    fn begin_bulk(_snapshot: &Snapshot, octets: &[u8], server: IpAddr) -> Option<BulkQuery4> {
        let message = Message::parse_as(octets, PARSING).ok()?;
        let IpAddr::V4(server) = server else { return None };
        if message.message_type() != Some(MessageType::BulkLeaseQuery) {
            return None;
        }
        let time_s = |code| message.option(code).and_then(|value| value.u32()).map(u64::from);
        let start_s = time_s(option::QUERY_START_TIME).unwrap_or(0);
        let end_s = time_s(option::QUERY_END_TIME).unwrap_or(u64::MAX);
        let state = if start_s > end_s {
            BulkState4::Refused(MALFORMED_QUERY, "query-start-time > query-end-time")
        } else {
            state_for(&message)
        };
        Some(BulkQuery4 {
            octets: octets.to_vec(),
            server_id: Some(server),
            state,
            times_s: (start_s, end_s),
        })
    }

    fn next_bulk(
        query: &mut BulkQuery4,
        snapshot: &Snapshot,
        table: &LeaseTable,
        now: Now,
        buffer: &mut [u8],
    ) -> BulkStep {
        query.next(snapshot, table, now, buffer)
    }
}

/// Returns the state in which the answer to `message` begins.
fn state_for(message: &Message<'_>) -> BulkState4 {
    if message.option(option::VIRTUAL_SUBNET_SELECTION).is_some() {
        return BulkState4::Refused(NOT_ALLOWED, "VPNs are not supported");
    }
    if !message.ciaddr().is_unspecified() {
        return BulkState4::Refused(MALFORMED_QUERY, "ciaddr must be zero");
    }
    let information = message.relay_agent_information();
    let agent = |code, key| {
        let value = relay::sub_option(information?, code)?;
        let mut digits = String::new();
        write_hex(value.octets(), &mut digits);
        Some(BulkState4::Agent(key, digits))
    };
    let has_hardware = message.htype() != 0 || message.hlen() != 0;
    let has_client = has_hardware || message.client_id().is_some();
    let is_doubled = has_hardware && message.client_id().is_some();
    let client = has_client.then_some(BulkState4::Client);
    let queries =
        [client, agent(relay::RELAY_ID, "relay-id"), agent(relay::REMOTE_ID, "remote-id")];
    let mut queries = queries.into_iter().flatten();
    match (queries.next(), queries.next()) {
        (None, _) => {
            BulkState4::Refused(NOT_ALLOWED, "query for all configured addresses is not supported")
        }
        (Some(query), None) if !is_doubled => query,
        _ => BulkState4::Refused(MALFORMED_QUERY, "multiple queries"),
    }
}

impl BulkQuery4 {
    fn next(
        &mut self,
        snapshot: &Snapshot,
        table: &LeaseTable,
        now: Now,
        buffer: &mut [u8],
    ) -> BulkStep {
        let octets = core::mem::take(&mut self.octets);
        // It was parsed when the query began.
        let Ok(message) = Message::parse_as(&octets, PARSING) else { return BulkStep::End };
        let server_id = self.server_id;
        let reply = LeaseQueryReply { snapshot, query: &message, server_id, now };
        let step = match self.find(&message, table, now) {
            Err(Searching) => BulkStep::Searching,
            Ok(None) => self.end(&reply, buffer),
            Ok(Some(lease)) => self.sent(reply.active(&lease, &[], buffer)),
        };
        self.octets = octets;
        step
    }

    /// Returns the next lease of the query.
    fn find(
        &mut self,
        message: &Message<'_>,
        table: &LeaseTable,
        now: Now,
    ) -> Result<Option<Lease>, Searching> {
        let (start_s, end_s) = self.times_s;
        let is_wanted =
            move |lease: &Lease| is_active(now, lease) && (start_s..=end_s).contains(&lease.cltt_s);
        match &mut self.state {
            BulkState4::Searching(search) => return search.next(table),
            BulkState4::Refused(..) | BulkState4::Ended => return Ok(None),
            BulkState4::Client => {
                let mut leases = Vec::new();
                if let Some(search) =
                    LeaseQuery4::from_message(message).and_then(LeaseQuery4::search)
                {
                    table.find_leases(search, &mut leases);
                }
                leases.retain(is_wanted);
                self.state = BulkState4::Searching(BulkSearch::with_leases(leases));
            }
            BulkState4::Agent(key, digits) => {
                let (key, digits) = (*key, core::mem::take(digits));
                let matches = move |lease: &Lease, _| {
                    is_wanted(lease) && has_identifier(&lease.user_context, key, &digits)
                };
                self.state = BulkState4::Searching(BulkSearch::scan(1, matches));
            }
        }
        Err(Searching)
    }

    /// Notes a message that was written; one that did not fit ends the reply.
    fn sent(&mut self, written: Result<usize, NoRoom>) -> BulkStep {
        self.server_id = None;
        match written {
            Ok(len) => BulkStep::Message(len),
            Err(NoRoom) => BulkStep::Searching,
        }
    }

    /// Writes the message that ends the reply; `End` once it was written.
    fn end(&mut self, reply: &LeaseQueryReply<'_>, buffer: &mut [u8]) -> BulkStep {
        let mut writer = MessageWriter::new(buffer, &reply.header());
        writer.message_type(MessageType::LeaseQueryDone);
        if let Some(server_id) = self.server_id {
            writer.option(option::SERVER_IDENTIFIER, &server_id.octets());
        }
        match core::mem::replace(&mut self.state, BulkState4::Ended) {
            BulkState4::Ended => return BulkStep::End,
            BulkState4::Refused(status, text) => {
                let value: Vec<u8> = [&[status], text.as_bytes()].concat();
                writer.option(option::STATUS_CODE, &value);
            }
            _ => {}
        }
        self.sent(writer.finish(0))
    }
}
