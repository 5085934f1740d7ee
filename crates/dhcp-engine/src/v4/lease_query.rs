//! Replies to DHCPv4 lease queries (RFC 4388), as Kea's hook library `lease_query` gives them.
//!
//! A relay agent queries the lease of an address, or those of a client; `giaddr` is its own
//! address, which has to be one of the configured requesters. Bulk queries over TCP are in
//! [`bulk`](super::bulk).

use core::cmp::Reverse;
use core::net::{Ipv4Addr, SocketAddrV4};

use base::Now;
use dhcp_config::LeaseQuery;
use dhcp_lease::v4::{Lease, V4};
use dhcp_lease::{ClientKey, INFINITE_LIFETIME_S, LeaseSearch, LeaseState, LeaseStore};
use dhcp_wire::v4::{
    BOOT_REPLY, Dhcp4Header, Message, MessageType, MessageWriter, NoRoom, OptionValue, encoded_len,
    option,
};

use super::destination::SERVER_PORT;
use super::{Destination, DropReason, Ingress, Snapshot, lifetime, stored_relay_information};
use crate::protocol::WrittenReply;
use crate::transaction::NoReply;

/// Position in [`Protocol::SENT`](crate::Protocol::SENT) of the reply with an active lease; those
/// for an address without one and for unknown addresses and clients follow.
pub(super) const SENT_ACTIVE: usize = 4;

/// Query that a message makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseQuery4<'m> {
    /// Query for the lease of this address.
    Address(Ipv4Addr),
    /// Query for the leases of the client with a hardware address of these bytes, of any type.
    Hardware(&'m [u8]),
    /// Query for the leases of the client with this client identifier.
    ClientId(&'m [u8]),
}

impl<'m> LeaseQuery4<'m> {
    /// Returns the query in `message`; `None` unless it makes exactly one.
    pub(super) fn from_message(message: &Message<'m>) -> Option<Self> {
        let address = Some(message.ciaddr()).filter(|address| !address.is_unspecified());
        let has_hardware = message.htype() != 0 || message.hlen() != 0;
        let client_id = message.client_id();
        match (address, has_hardware, client_id) {
            (Some(address), false, None) => Some(Self::Address(address)),
            (None, true, None) => Some(Self::Hardware(message.chaddr())),
            // A longer identifier has no lease; it can only have come in pieces.
            (None, false, Some(id)) => Some(Self::ClientId(id.as_slice().unwrap_or_default())),
            _ => None,
        }
    }

    /// Returns the search for the leases that the query is about; `None` if no lease can match.
    pub(super) const fn search(self) -> Option<LeaseSearch<'m, V4>> {
        match self {
            Self::Address(address) => Some(LeaseSearch::Address(address)),
            Self::Hardware([]) | Self::ClientId([]) => None,
            Self::Hardware(octets) => Some(LeaseSearch::Client(ClientKey::Hardware(octets))),
            Self::ClientId(octets) => Some(LeaseSearch::Client(ClientKey::Identifier(octets))),
        }
    }
}

/// Returns true if a client has `lease` now.
pub(super) const fn is_active(now: Now, lease: &Lease) -> bool {
    matches!(lease.state, LeaseState::Assigned) && now.wall_s() <= lease.expires_s()
}

/// Answers the lease query `message`, which came by `ingress`, and writes the reply to `buffer`.
///
/// # Errors
///
/// The reason why the server does not answer.
pub(super) fn serve<S: LeaseStore<V4>>(
    now: Now,
    snapshot: &Snapshot,
    terms: &LeaseQuery,
    message: &Message<'_>,
    ingress: Ingress,
    store: &mut S,
    buffer: &mut [u8],
) -> Result<WrittenReply<Destination>, NoReply> {
    let requester = message.giaddr();
    if requester.is_unspecified() {
        return Err(DropReason::MalformedLeaseQuery.into());
    }
    if !terms.admits(requester.into()) {
        return Err(DropReason::LeaseQueryRefused.into());
    }
    let chosen = message.server_identifier();
    if chosen.is_some_and(|chosen| chosen != ingress.local && !snapshot.is_server_id(chosen)) {
        return Err(DropReason::ClientChoseOtherServer.into());
    }
    let query = LeaseQuery4::from_message(message).ok_or(DropReason::MalformedLeaseQuery)?;
    let mut leases = Vec::new();
    let search = query.search();
    let gate_epoch = search.map_or(0, |search| store.find_leases(search, &mut leases));
    let was_leased = !leases.is_empty();
    leases.retain(|lease| is_active(now, lease));
    leases.sort_by_key(|lease| Reverse(lease.cltt_s));
    let reply = LeaseQueryReply { snapshot, query: message, server_id: Some(ingress.local), now };
    let written = match (leases.split_first(), query) {
        (Some((lease, others)), _) => (reply.active(lease, others, buffer), SENT_ACTIVE),
        (None, LeaseQuery4::Address(address)) if was_leased || is_in_pool(snapshot, address) => {
            (reply.without_lease(MessageType::LeaseUnassigned, query, buffer), SENT_ACTIVE + 1)
        }
        (None, _) => {
            (reply.without_lease(MessageType::LeaseUnknown, query, buffer), SENT_ACTIVE + 2)
        }
    };
    let (Ok(len), kind) = written else { return Err(DropReason::ReplyTooLarge.into()) };
    let destination = Destination::Relay(SocketAddrV4::new(requester, SERVER_PORT));
    Ok(WrittenReply { len, destination, kind, gate_epoch })
}

fn is_in_pool(snapshot: &Snapshot, address: Ipv4Addr) -> bool {
    snapshot.pools().specs().iter().any(|pool| pool.contains(address))
}

/// Writer of the replies to one query.
pub(super) struct LeaseQueryReply<'q> {
    pub(super) snapshot: &'q Snapshot,
    pub(super) query: &'q Message<'q>,
    /// Address by which the server identifies itself; `None` in further messages of a bulk reply.
    pub(super) server_id: Option<Ipv4Addr>,
    pub(super) now: Now,
}

impl LeaseQueryReply<'_> {
    /// Returns the header of a reply without the fields of a client.
    pub(super) fn header(&self) -> Dhcp4Header {
        Dhcp4Header {
            op: BOOT_REPLY,
            htype: 0,
            hlen: 0,
            xid: self.query.xid(),
            giaddr: self.giaddr(),
            ..Dhcp4Header::default()
        }
    }

    /// Returns the requester's address, which replies over TCP do not have.
    fn giaddr(&self) -> Ipv4Addr {
        match self.query.message_type() {
            Some(MessageType::LeaseQuery) => self.query.giaddr(),
            _ => Ipv4Addr::UNSPECIFIED,
        }
    }

    /// Writes a DHCPLEASEACTIVE with `lease` into `buffer`; `others` are further leases of the
    /// client, whose addresses follow as far as they fit. Options stand in Kea's order.
    pub(super) fn active(
        &self,
        lease: &Lease,
        others: &[Lease],
        buffer: &mut [u8],
    ) -> Result<usize, NoRoom> {
        let hardware = lease.client.hardware;
        let mut header = Dhcp4Header { ciaddr: lease.address, ..self.header() };
        put_hardware(hardware.htype(), hardware.octets(), &mut header);
        let mut information = Vec::new();
        let has_relay = stored_relay_information::read(&lease.user_context, &mut information);
        let information = OptionValue::from_slice(has_relay.map_or(&[], |()| &information));
        let mut writer = MessageWriter::new(buffer, &header);
        writer.message_type(MessageType::LeaseActive);
        let elapsed_s = self.now.wall_s().saturating_sub(lease.cltt_s);
        let elapsed_s = u32::try_from(elapsed_s).unwrap_or(u32::MAX);
        self.put_times(lease, elapsed_s, &mut writer);
        if let Some(id) = lease.client.identifier() {
            writer.option(option::CLIENT_ID, id);
        }
        writer.option_u32(option::CLIENT_LAST_TRANSACTION_TIME, elapsed_s);
        if self.query.message_type() == Some(MessageType::BulkLeaseQuery) {
            writer.option_u32(option::BASE_TIME, self.now.wall_s() as u32);
        }
        writer.reserve(encoded_len(information.len()));
        let mut octets: Vec<u8> = others.iter().flat_map(|lease| lease.address.octets()).collect();
        while !octets.is_empty() && !writer.takes(option::ASSOCIATED_IP, octets.len()) {
            octets.truncate(octets.len() - 4);
        }
        if !octets.is_empty() {
            writer.option(option::ASSOCIATED_IP, &octets);
        }
        writer.reserve(0);
        if !information.is_empty() {
            writer.option_value(option::RELAY_AGENT_INFORMATION, information);
        }
        writer.finish(0)
    }

    /// Writes the rest of the lease's time, the server identifier, and the rests of T1 and T2,
    /// unless these are over.
    fn put_times(&self, lease: &Lease, elapsed_s: u32, writer: &mut MessageWriter<'_>) {
        let lifetime_s = lease.valid_lifetime_s;
        let is_infinite = lifetime_s == INFINITE_LIFETIME_S;
        let left = |of_s: u32| of_s.saturating_sub(elapsed_s);
        let left_s = if is_infinite { lifetime_s } else { left(lifetime_s) };
        writer.option_u32(option::LEASE_TIME, left_s);
        if let Some(server_id) = self.server_id {
            writer.option(option::SERVER_IDENTIFIER, &server_id.octets());
        }
        let subnets = self.snapshot.subnets();
        let subnet = subnets.iter().find(|subnet| subnet.id == lease.subnet_id);
        let Some(subnet) = subnet.filter(|_| !is_infinite) else { return };
        let (renew_s, rebind_s) = lifetime::timers_s(subnet, lifetime_s);
        for (code, timer_s) in [(option::RENEWAL_TIME, renew_s), (option::REBINDING_TIME, rebind_s)]
        {
            if let Some(left_s) = timer_s.map(left).filter(|&left_s| left_s > 0) {
                writer.option_u32(code, left_s);
            }
        }
    }

    /// Writes a DHCPLEASEUNASSIGNED or DHCPLEASEUNKNOWN, which repeats what the query was about.
    fn without_lease(
        &self,
        kind: MessageType,
        query: LeaseQuery4<'_>,
        buffer: &mut [u8],
    ) -> Result<usize, NoRoom> {
        let mut header = self.header();
        match query {
            LeaseQuery4::Address(address) => header.ciaddr = address,
            LeaseQuery4::Hardware(octets) => put_hardware(self.query.htype(), octets, &mut header),
            LeaseQuery4::ClientId(_) => {}
        }
        let mut writer = MessageWriter::new(buffer, &header);
        writer.message_type(kind);
        if let Some(server_id) = self.server_id {
            writer.option(option::SERVER_IDENTIFIER, &server_id.octets());
        }
        if let LeaseQuery4::ClientId(id) = query {
            writer.option(option::CLIENT_ID, id);
        }
        writer.finish(0)
    }
}

/// Puts a hardware address into `header`, as far as its field has room.
fn put_hardware(htype: u8, octets: &[u8], header: &mut Dhcp4Header) {
    header.htype = htype;
    header.hlen = 0;
    for (target, octet) in header.chaddr.iter_mut().zip(octets) {
        *target = *octet;
        header.hlen += 1;
    }
}
