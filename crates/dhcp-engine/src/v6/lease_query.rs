//! Replies to DHCPv6 lease queries (RFC 5007), as Kea's hook library `lease_query` gives them. Bulk
//! queries over TCP are in [`bulk`](super::bulk).

use core::cmp::Reverse;
use core::net::{Ipv6Addr, SocketAddrV6};

use base::Now;
use dhcp_config::LeaseQuery;
use dhcp_lease::identity::DUID_MAX;
use dhcp_lease::v6::{Lease, Resource, ResourceKind, V6};
use dhcp_lease::{ClientKey, INFINITE_LIFETIME_S, LeaseSearch, LeaseState, LeaseStore};
use dhcp_wire::v6::{Dhcp6OptionIterator, MessageType, MessageWriter, Packet, StatusCode, option};

use super::{DropReason, Ingress, Snapshot};
use crate::protocol::WrittenReply;
use crate::stored_relay::{StoredRelay, relays_of};
use crate::transaction::NoReply;

/// Query by address: QUERY_BY_ADDRESS (RFC 5007 §4.1.2.1).
pub(super) const BY_ADDRESS: u8 = 1;
/// Query by client identifier: QUERY_BY_CLIENTID (RFC 5007 §4.1.2.1).
pub(super) const BY_CLIENT_ID: u8 = 2;

/// Length of the shortest DUID (RFC 9915 §11.1), in bytes.
const DUID_MIN: usize = 3;
/// Largest number of relay agents of one lease that a reply names, as in a message.
const RELAYS_MAX: usize = 32;

/// Text of the status of a reply with the lease of an address.
const ADDRESS_FOUND: &str = "active lease found";
/// Text of the status of a reply with leases of a client, a link or a relay agent.
pub(super) const LEASES_FOUND: &str = "active lease(s) found";

/// Content of the option LQ_QUERY (44).
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseQuery6<'m> {
    /// Number of the kind of query.
    pub(super) kind: u8,
    /// Address of the link that the query is limited to; `::` for all links.
    pub(super) link: Ipv6Addr,
    /// Options of the query.
    pub(super) options: Dhcp6OptionIterator<'m>,
}

impl<'m> LeaseQuery6<'m> {
    /// Reads the value of the option LQ_QUERY; `None` if it is too short.
    pub(super) fn parse(value: &'m [u8]) -> Option<Self> {
        let (&[kind], rest) = value.split_first_chunk()?;
        let (link, options) = rest.split_first_chunk::<16>()?;
        let options = Dhcp6OptionIterator::new(options);
        Some(Self { kind, link: Ipv6Addr::from(*link), options })
    }

    /// Returns the DUID in the option `code` of the query, which the status text of a refusal calls
    /// `missing` or `malformed`.
    pub(super) fn duid(
        &self,
        code: u16,
        missing: &'static str,
        malformed: &'static str,
    ) -> Result<&'m [u8], QueryOutcome> {
        let refused = |text| QueryOutcome::Status(StatusCode::MalformedQuery, text);
        let duid = self.options.get(code).ok_or_else(|| refused(missing))?;
        if (DUID_MIN..=DUID_MAX).contains(&duid.len()) { Ok(duid) } else { Err(refused(malformed)) }
    }

    /// Returns the numbers of the subnets that contain the link address of the query; none for
    /// `::`.
    pub(super) fn subnets(&self, snapshot: &Snapshot) -> Result<Vec<u32>, QueryOutcome> {
        if self.link.is_unspecified() {
            return Ok(Vec::new());
        }
        let link = u128::from(self.link);
        let contains = |(first, last): (u128, u128)| (first..=last).contains(&link);
        let subnets = snapshot.subnets().iter().filter(|subnet| contains(subnet.bounds));
        let ids: Vec<u32> = subnets.map(|subnet| subnet.id).collect();
        if ids.is_empty() {
            return Err(QueryOutcome::Status(StatusCode::NotConfigured, "not a configured link"));
        }
        Ok(ids)
    }
}

/// Outcome of a query.
#[derive(Debug)]
pub(super) enum QueryOutcome {
    /// Status without leases, with its text.
    Status(StatusCode, &'static str),
    /// Leases that were found, with the text of the status.
    Leases(&'static str, Vec<Lease>),
    /// Prefixes of the links on which the client has leases: it is to be queried for each.
    Links(Vec<Ipv6Addr>),
}

/// Function that finds leases.
pub(super) type FindLeases<'f> = &'f mut dyn FnMut(LeaseSearch<'_, V6>, &mut Vec<Lease>);

/// Returns true if a client has `lease` now.
pub(super) const fn is_active(now: Now, lease: &Lease) -> bool {
    matches!(lease.state, LeaseState::Assigned) && now.wall_s() <= lease.expires_s()
}

/// Looks for the lease of the address in a query by address.
pub(super) fn by_address(
    now: Now,
    snapshot: &Snapshot,
    terms: &LeaseQuery,
    query: &LeaseQuery6<'_>,
    find: FindLeases<'_>,
) -> QueryOutcome {
    let value = query.options.get(option::IAADDR).and_then(|value| value.first_chunk::<16>());
    let Some(octets) = value else {
        return QueryOutcome::Status(StatusCode::MalformedQuery, "missing D6O_IAADDR");
    };
    let address = Ipv6Addr::from(*octets);
    let specs = snapshot.pools().specs();
    let mut leases = Vec::new();
    find(LeaseSearch::Address(Resource::address(address)), &mut leases);
    let mut lengths = match &terms.prefix_lengths {
        Some(lengths) => lengths.clone(),
        None => {
            let pools = specs.iter().filter(|spec| spec.first.kind == ResourceKind::Prefix);
            pools.map(|spec| spec.first.len).collect()
        }
    };
    lengths.sort_unstable_by_key(|&length| Reverse(length));
    lengths.dedup();
    for length in lengths {
        if !leases.is_empty() {
            break;
        }
        // Kea looks for the prefix's address alone: a lease there may have another length.
        let prefix = Resource::prefix(address, length).address;
        for len in (1..=128).rev() {
            let resource = Resource { kind: ResourceKind::Prefix, len, address: prefix };
            find(LeaseSearch::Address(resource), &mut leases);
        }
    }
    leases.truncate(1);
    if leases.iter().any(|lease| is_active(now, lease)) {
        return QueryOutcome::Leases(ADDRESS_FOUND, leases);
    }
    if !leases.is_empty() {
        return QueryOutcome::Status(StatusCode::Success, "inactive lease exists");
    }
    let is_in_pool = specs.iter().any(|spec| match spec.first.kind {
        ResourceKind::Address => spec.contains(Resource::address(address)),
        ResourceKind::Prefix => spec.contains(Resource::prefix(address, spec.first.len)),
    });
    if is_in_pool {
        QueryOutcome::Status(StatusCode::Success, "no active lease")
    } else {
        QueryOutcome::Status(StatusCode::NotConfigured, "address not in a configured pool")
    }
}

/// Returns the active leases of the client in a query by client identifier, on the link of the
/// query, the newest first.
pub(super) fn of_client(
    now: Now,
    snapshot: &Snapshot,
    query: &LeaseQuery6<'_>,
    find: FindLeases<'_>,
) -> Result<Vec<Lease>, QueryOutcome> {
    let duid = query.duid(option::CLIENTID, "missing D6O_CLIENTID", "malformed D6O_CLIENTID")?;
    let subnets = query.subnets(snapshot)?;
    let mut leases = Vec::new();
    find(LeaseSearch::Client(ClientKey::Identifier(duid)), &mut leases);
    leases.retain(|lease| {
        is_active(now, lease) && (subnets.is_empty() || subnets.contains(&lease.subnet_id))
    });
    leases.sort_by_key(|lease| Reverse(lease.cltt_s));
    Ok(leases)
}

fn outcome_of(
    now: Now,
    snapshot: &Snapshot,
    terms: &LeaseQuery,
    query: &LeaseQuery6<'_>,
    find: FindLeases<'_>,
) -> QueryOutcome {
    let leases = match query.kind {
        BY_ADDRESS => return by_address(now, snapshot, terms, query, find),
        BY_CLIENT_ID => of_client(now, snapshot, query, find),
        _ => Err(QueryOutcome::Status(StatusCode::UnknownQueryType, "unknown query-type")),
    };
    let leases = match leases {
        Ok(leases) if leases.is_empty() => {
            return QueryOutcome::Status(StatusCode::Success, "no active leases");
        }
        Ok(leases) => leases,
        Err(outcome) => return outcome,
    };
    let is_used = |id| leases.iter().any(|lease| lease.subnet_id == id);
    let links = snapshot.subnets().iter().filter(|subnet| is_used(subnet.id));
    let links: Vec<Ipv6Addr> = links.map(|subnet| subnet.bounds.0.into()).collect();
    if query.link.is_unspecified() && links.len() > 1 {
        return QueryOutcome::Links(links);
    }
    QueryOutcome::Leases(LEASES_FOUND, leases)
}

/// Answers the lease query in `packet`, which came by `ingress`, and writes the reply to `buffer`.
///
/// # Errors
///
/// The reason why the server does not answer.
pub(super) fn serve<S: LeaseStore<V6>>(
    now: Now,
    snapshot: &Snapshot,
    terms: &LeaseQuery,
    packet: &Packet<'_>,
    ingress: Ingress,
    store: &mut S,
    buffer: &mut [u8],
) -> Result<WrittenReply<SocketAddrV6>, NoReply> {
    let message = packet.message();
    let source = ingress.source;
    if !terms.admits((*source.ip()).into()) {
        return Err(DropReason::LeaseQueryRefused.into());
    }
    let client_id = message.client_id().ok_or(DropReason::NoIdentity)?;
    if message.server_id().is_some_and(|chosen| *chosen != *snapshot.own.server_duid) {
        return Err(DropReason::ClientChoseOtherServer.into());
    }
    let query = message.option(option::LQ_QUERY).and_then(LeaseQuery6::parse);
    let query = query.ok_or(DropReason::MalformedLeaseQuery)?;
    let mut gate_epoch = 0;
    let outcome = outcome_of(now, snapshot, terms, &query, &mut |search, leases| {
        gate_epoch = gate_epoch.max(store.find_leases(search, leases));
    });
    let reply = MessageType::LeaseQueryReply;
    let mut writer = MessageWriter::new(buffer, reply, message.transaction_id());
    writer.option(option::CLIENTID, client_id);
    writer.option(option::SERVERID, &snapshot.own.server_duid);
    match outcome {
        QueryOutcome::Status(code, text) => {
            writer.status(code, text);
        }
        QueryOutcome::Links(links) => {
            writer.status(StatusCode::Success, LEASES_FOUND);
            let octets: Vec<u8> = links.iter().flat_map(Ipv6Addr::octets).collect();
            writer.option(option::LQ_CLIENT_LINK, &octets);
        }
        QueryOutcome::Leases(text, leases) => {
            writer.status(StatusCode::Success, text);
            put_client_data(now, &leases, RelayDataPlace::Beside, &mut writer);
        }
    }
    let Ok(len) = writer.finish() else { return Err(DropReason::ReplyTooLarge.into()) };
    let is_link_local = source.ip().is_unicast_link_local() && ingress.interface != 0;
    let scope_id = if is_link_local { ingress.interface } else { source.scope_id() };
    // Kea replies to the port that the query came from.
    let destination = SocketAddrV6::new(*source.ip(), source.port(), 0, scope_id);
    Ok(WrittenReply { len, destination, kind: super::serve::SENT_LEASE_QUERY_REPLY, gate_epoch })
}

/// Place of the option LQ_RELAY_DATA (47), relative to the option CLIENT_DATA (45).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayDataPlace {
    /// Place after CLIENT_DATA, as in replies over UDP.
    Beside,
    /// Place at the end of CLIENT_DATA, as in bulk replies.
    Inside,
}

/// Writes the leases of one client, addresses before prefixes; the first lease is the newest.
pub(super) fn put_client_data(
    now: Now,
    leases: &[Lease],
    place: RelayDataPlace,
    writer: &mut MessageWriter<'_>,
) {
    let Some(newest) = leases.first() else { return };
    let relays = relays_of(&newest.user_context);
    let data = writer.begin(option::CLIENT_DATA);
    writer.option(option::CLIENTID, newest.client.duid.octets());
    for kind in [ResourceKind::Address, ResourceKind::Prefix] {
        for lease in leases.iter().filter(|lease| lease.kind() == kind) {
            put_resource(now, lease, writer);
        }
    }
    writer.option_u32(option::CLT_TIME, elapsed_s(now, newest));
    if place == RelayDataPlace::Inside {
        put_relay_data(&relays, writer);
    }
    writer.end(data);
    if place == RelayDataPlace::Beside {
        put_relay_data(&relays, writer);
    }
}

fn elapsed_s(now: Now, lease: &Lease) -> u32 {
    u32::try_from(now.wall_s().saturating_sub(lease.cltt_s)).unwrap_or(u32::MAX)
}

fn put_resource(now: Now, lease: &Lease, writer: &mut MessageWriter<'_>) {
    let elapsed_s = elapsed_s(now, lease);
    let left_s = |lifetime_s: u32| match lifetime_s {
        INFINITE_LIFETIME_S => lifetime_s,
        _ => lifetime_s.saturating_sub(elapsed_s),
    };
    let (preferred_s, valid_s) =
        (left_s(lease.extra.preferred_lifetime_s), left_s(lease.valid_lifetime_s));
    let Resource { kind, len, address } = lease.address;
    match kind {
        ResourceKind::Address => writer.ia_address(address, preferred_s, valid_s),
        ResourceKind::Prefix => writer.ia_prefix(address, len, preferred_s, valid_s),
    };
}

/// Writes the option LQ_RELAY_DATA (47): the address that the nearest relay agent received the
/// message from, and the agents' messages without the one of the client.
fn put_relay_data(relays: &[StoredRelay], writer: &mut MessageWriter<'_>) {
    let Some(nearest) = relays.first() else { return };
    let data = writer.begin(option::LQ_RELAY_DATA);
    writer.octets(&nearest.peer_address.octets());
    let mut inner = Vec::new();
    for (at, relay) in relays.iter().take(RELAYS_MAX).enumerate() {
        if at > 0 {
            inner.push(writer.begin(option::RELAY_MSG));
        }
        writer.octets(&[MessageType::RelayForw.code(), relay.hop_count]);
        writer.octets(&relay.link_address.octets()).octets(&relay.peer_address.octets());
        writer.octets(&relay.options);
    }
    while let Some(mark) = inner.pop() {
        writer.end(mark);
    }
    writer.end(data);
}
