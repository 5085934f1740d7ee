//! Calls of scripts for DHCPv6.

use std::net::Ipv6Addr;

use dhcp_events::LeaseEvent;
use dhcp_lease::v6::{Lease, Resource, ResourceKind, V6};
use dhcp_lease::{ExchangeRecord, LeaseEventKind, LeaseState};
use dhcp_wire::OptionParsing;
use dhcp_wire::v6::{IaKind, MessageType, Packet, option};

use super::environment::{ScriptCall, ScriptEnvironment, state_name};
use super::exchange::ScriptExchange;
use super::{CallContext, ScriptFamily};

/// Address to which clients send (RFC 9915 §7.1).
const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

impl ScriptFamily for V6 {
    fn calls(events: &[LeaseEvent<V6>], context: &CallContext) -> Vec<ScriptCall> {
        let events = ScriptExchange(events);
        let mut calls = Vec::new();
        let record = events.record();
        let packet =
            record.and_then(|one| Packet::parse_as(&one.message, OptionParsing::Lenient).ok());
        let kind = packet.as_ref().map(|packet| packet.message().message_type());
        let is_extension = matches!(kind, Some(MessageType::Renew | MessageType::Rebind));
        for ended in events.ended(context.removes_reclaimed) {
            // Kea takes a lease that has ended back before it extends it, and not before it gives
            // it to its client anew.
            if kind.is_some() && !is_extension && events.gives_back(ended.lease) {
                continue;
            }
            let mut environment = ScriptEnvironment::default();
            put_lease(&mut environment, "LEASE6", ended.lease);
            let probation = ended.is_probation.then(|| environment.clone());
            environment.put("REMOVE_LEASE", "", ended.is_removed);
            calls.push(ScriptCall { point: "lease6_expire", environment });
            if let Some(environment) = probation {
                calls.push(ScriptCall { point: "lease6_recover", environment });
            }
        }
        let (Some(record), Some(packet)) = (record, packet) else { return calls };
        let query = QueryVariables6 { record, packet: &packet, context };
        let mut add = |point, put: &dyn Fn(&mut ScriptEnvironment)| {
            let mut environment = query.environment();
            put(&mut environment);
            calls.push(ScriptCall { point, environment });
        };
        let of_one = |lease| move |to: &mut ScriptEnvironment| put_lease(to, "LEASE6", lease);
        match packet.message().message_type() {
            MessageType::Release => {
                for lease in query.sorted(events.before(LeaseEventKind::Released)) {
                    add("lease6_release", &of_one(lease));
                }
            }
            MessageType::Decline => {
                for lease in query.sorted(events.before(LeaseEventKind::Declined)) {
                    add("lease6_decline", &of_one(lease));
                }
            }
            kind @ (MessageType::Renew | MessageType::Rebind) => {
                let is_renewal = kind == MessageType::Renew;
                let point = if is_renewal { "lease6_renew" } else { "lease6_rebind" };
                let renewed = events.changes().filter_map(|change| events.renewed(change));
                for lease in query.sorted(renewed) {
                    add(point, &|to| query.put_extension(to, lease));
                }
            }
            MessageType::AddrRegInform => {
                for change in events.changes() {
                    if let Some(lease) = &change.after {
                        let before = change.before.as_ref();
                        add("addr6_register", &|to| put_registration(to, lease, before));
                    }
                }
            }
            _ => {}
        }
        add("leases6_committed", &|to| {
            put_leases(to, "LEASES6", &query.sorted(events.written().into_iter()));
            let is_release = kind == Some(MessageType::Release);
            let deleted = if is_release { events.deleted() } else { events.lost() };
            put_leases(to, "DELETED_LEASES6", &query.sorted(deleted.into_iter()));
        });
        calls
    }
}

/// Message of an exchange, from which Kea makes `QUERY6_*`.
struct QueryVariables6<'q> {
    record: &'q ExchangeRecord,
    packet: &'q Packet<'q>,
    context: &'q CallContext,
}

impl QueryVariables6<'_> {
    /// Returns the variables of the message.
    fn environment(&self) -> ScriptEnvironment {
        const PREFIX: &str = "QUERY6_";
        let Self { record, packet, context } = self;
        let ingress = &record.ingress;
        let message = packet.message();
        let mut to = ScriptEnvironment::default();
        // Kea writes the names of types as one word.
        let kind = message.message_type().name().replace('-', "_");
        to.put(PREFIX, "TYPE", kind);
        to.put(PREFIX, "TXID", message.transaction_id());
        let multicast = SERVERS.into();
        let local = if ingress.is_multicast { multicast } else { ingress.local };
        to.put(PREFIX, "LOCAL_ADDR", local);
        to.put(PREFIX, "LOCAL_PORT", 0);
        to.put(PREFIX, "REMOTE_ADDR", ingress.source.ip());
        to.put(PREFIX, "REMOTE_PORT", ingress.source.port());
        to.put(PREFIX, "IFACE_INDEX", ingress.interface);
        to.put(PREFIX, "IFACE_NAME", context.interface_name(ingress.interface));
        to.put_hardware(PREFIX, "REMOTE_HWADDR", None);
        to.put(PREFIX, "PROTO", "UDP");
        to.put_identifier(PREFIX, "CLIENT_ID", message.client_id().unwrap_or_default());
        for code in [option::INTERFACE_ID, option::REMOTE_ID] {
            // The relay agent next to the client counts.
            let values = packet.relays().rev();
            let value = values.filter_map(|relay| relay.options.get(code)).next();
            if let Some(value) = value {
                to.put_option(PREFIX, &format!("OPTION_{code}"), value.iter().copied());
            }
        }
        to
    }

    /// Returns the position of a lease in the message: addresses first, then the order of the
    /// identity associations and of the addresses and prefixes in them.
    fn position(&self, lease: &Lease) -> (bool, usize, usize) {
        let is_prefix = lease.address.kind == ResourceKind::Prefix;
        let kind = if is_prefix { IaKind::Pd } else { IaKind::Na };
        let message = self.packet.message();
        let mut ias = message.ias().filter(|ia| ia.kind == kind).enumerate();
        let (at, ia) = match ias.find(|(_, ia)| ia.iaid == lease.client.iaid) {
            Some((at, ia)) => (at, Some(ia)),
            None => (usize::MAX, None),
        };
        let addresses = ia.iter().flat_map(|ia| ia.addresses()).map(|one| one.address);
        let prefixes = ia.iter().flat_map(|ia| ia.prefixes());
        let prefixes = prefixes.map(|one| Resource::prefix(one.prefix, one.len));
        let within = match lease.address.kind {
            ResourceKind::Address => {
                addresses.into_iter().position(|one| one == lease.address.address)
            }
            ResourceKind::Prefix => prefixes.into_iter().position(|one| one == lease.address),
        };
        (is_prefix, at, within.unwrap_or(usize::MAX))
    }

    /// Returns `leases` in the order of the message.
    fn sorted<'l>(&self, leases: impl Iterator<Item = &'l Lease>) -> Vec<&'l Lease> {
        let mut leases: Vec<&Lease> = leases.collect();
        leases.sort_by_key(|lease| self.position(lease));
        leases
    }

    /// Adds the variables of an extension of `lease` by RENEW or REBIND.
    fn put_extension(&self, to: &mut ScriptEnvironment, lease: &Lease) {
        put_lease(to, "LEASE6", lease);
        let is_prefix = lease.address.kind == ResourceKind::Prefix;
        let kind = if is_prefix { IaKind::Pd } else { IaKind::Na };
        to.put("PKT6_IA_", "IAID", lease.client.iaid);
        to.put("PKT6_IA_", "IA_TYPE", kind.code());
        to.put("PKT6_IA_", "IA_T1", 0);
        to.put("PKT6_IA_", "IA_T2", 0);
    }
}

fn put_registration(to: &mut ScriptEnvironment, lease: &Lease, before: Option<&Lease>) {
    to.put("ADDRESS6", "", lease.address.address);
    put_lease(to, "NEW_LEASE6", lease);
    if let Some(before) = before {
        put_lease(to, "OLD_LEASE6", before);
    }
}

fn put_leases(to: &mut ScriptEnvironment, prefix: &str, leases: &[&Lease]) {
    to.put(prefix, "_SIZE", leases.len());
    for (at, lease) in leases.iter().enumerate() {
        put_lease(to, &format!("{prefix}_AT{at}"), lease);
    }
}

fn put_lease(to: &mut ScriptEnvironment, prefix: &str, lease: &Lease) {
    let Lease { address, client, extra, .. } = lease;
    to.put(prefix, "_ADDRESS", address.address);
    to.put(prefix, "_CLTT", lease.cltt_s);
    to.put(prefix, "_HOSTNAME", &*lease.hostname);
    let hardware = Some(&extra.hardware).filter(|hardware| !hardware.is_empty());
    to.put_hardware(prefix, "_HWADDR", hardware);
    to.put(prefix, "_STATE", state_name(lease.state));
    to.put(prefix, "_SUBNET_ID", lease.subnet_id);
    to.put(prefix, "_VALID_LIFETIME", lease.valid_lifetime_s);
    if lease.state == LeaseState::Declined {
        // Kea's identifier of no client.
        to.put(prefix, "_DUID", "00:00:00");
    } else {
        to.put_identifier(prefix, "_DUID", client.duid.octets());
    }
    to.put(prefix, "_IAID", client.iaid);
    to.put(prefix, "_PREFERRED_LIFETIME", extra.preferred_lifetime_s);
    to.put(prefix, "_PREFIX_LEN", address.len);
    let kind = match address.kind {
        ResourceKind::Address => "IA_NA",
        ResourceKind::Prefix => "IA_PD",
    };
    to.put(prefix, "_TYPE", kind);
}
