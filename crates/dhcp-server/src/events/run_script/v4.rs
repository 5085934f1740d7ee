//! Calls of scripts for DHCPv4.

use std::net::Ipv4Addr;

use dhcp_events::LeaseEvent;
use dhcp_lease::v4::{Lease, V4};
use dhcp_lease::{ExchangeRecord, HardwareAddress, LeaseEventKind, LeaseState};
use dhcp_wire::OptionParsing;
use dhcp_wire::v4::{Message, MessageType, option, relay};

use super::environment::{ScriptCall, ScriptEnvironment, state_name};
use super::exchange::ScriptExchange;
use super::{CallContext, ScriptFamily};

/// Code of the sub-option Agent Circuit ID (RFC 3046).
const CIRCUIT_ID: u8 = 1;
/// Code of the sub-option Agent Remote ID (RFC 3046).
const REMOTE_ID: u8 = 2;
/// Type of hardware addresses of Ethernet.
const ETHERNET: u8 = 1;

impl ScriptFamily for V4 {
    fn calls(events: &[LeaseEvent<V4>], context: &CallContext) -> Vec<ScriptCall> {
        let events = ScriptExchange(events);
        let mut calls = Vec::new();
        for ended in events.ended(context.removes_reclaimed) {
            let mut environment = ScriptEnvironment::default();
            put_lease(&mut environment, "LEASE4", ended.lease);
            let probation = ended.is_probation.then(|| environment.clone());
            environment.put("REMOVE_LEASE", "", ended.is_removed);
            calls.push(ScriptCall { point: "lease4_expire", environment });
            if let Some(environment) = probation {
                calls.push(ScriptCall { point: "lease4_recover", environment });
            }
        }
        let Some(record) = events.record() else { return calls };
        let Ok(message) = Message::parse_as(&record.message, OptionParsing::Lenient) else {
            return calls;
        };
        let query = QueryVariables4 { record, message: &message, context };
        let mut add = |point, put: &dyn Fn(&mut ScriptEnvironment)| {
            let mut environment = query.environment();
            put(&mut environment);
            calls.push(ScriptCall { point, environment });
        };
        let kind = message.message_type();
        let of_one = |lease| move |to: &mut ScriptEnvironment| put_lease(to, "LEASE4", lease);
        match kind {
            Some(MessageType::Release) => {
                for lease in events.before(LeaseEventKind::Released) {
                    add("lease4_release", &of_one(lease));
                }
            }
            Some(MessageType::Decline) => {
                for lease in events.before(LeaseEventKind::Declined) {
                    add("lease4_decline", &of_one(lease));
                }
            }
            _ => {
                for lease in events.changes().filter_map(|change| events.renewed(change)) {
                    add("lease4_renew", &|to| query.put_renewal(to, lease));
                }
            }
        }
        if kind != Some(MessageType::Discover) {
            let deleted = match kind {
                Some(MessageType::Release) => events.deleted(),
                // A client that moves to another subnet loses its lease as it was.
                _ => events.before(LeaseEventKind::Released).collect(),
            };
            add("leases4_committed", &|to| {
                put_leases(to, "LEASES4", &events.written());
                put_leases(to, "DELETED_LEASES4", &deleted);
            });
        }
        calls
    }
}

/// Message of an exchange, from which Kea makes `QUERY4_*`.
struct QueryVariables4<'q> {
    record: &'q ExchangeRecord,
    message: &'q Message<'q>,
    context: &'q CallContext,
}

impl QueryVariables4<'_> {
    fn hardware(&self) -> HardwareAddress {
        HardwareAddress::new(self.message.htype(), self.message.chaddr())
    }

    /// Returns the variables of the message.
    fn environment(&self) -> ScriptEnvironment {
        const PREFIX: &str = "QUERY4_";
        let Self { record, message, context } = self;
        let ingress = &record.ingress;
        let mut to = ScriptEnvironment::default();
        let kind = message.message_type().map_or("UNKNOWN", MessageType::name);
        to.put(PREFIX, "TYPE", kind);
        to.put(PREFIX, "TXID", message.xid());
        let broadcast = Ipv4Addr::BROADCAST.into();
        let local = if ingress.is_multicast { broadcast } else { ingress.local };
        to.put(PREFIX, "LOCAL_ADDR", local);
        to.put(PREFIX, "LOCAL_PORT", context.server_port);
        to.put(PREFIX, "REMOTE_ADDR", ingress.source.ip());
        to.put(PREFIX, "REMOTE_PORT", ingress.source.port());
        to.put(PREFIX, "IFACE_INDEX", ingress.interface);
        to.put(PREFIX, "IFACE_NAME", context.interface_name(ingress.interface));
        to.put(PREFIX, "HOPS", message.hops());
        to.put(PREFIX, "SECS", message.secs());
        to.put(PREFIX, "FLAGS", message.flags());
        to.put(PREFIX, "CIADDR", message.ciaddr());
        to.put(PREFIX, "SIADDR", message.siaddr());
        to.put(PREFIX, "YIADDR", message.yiaddr());
        to.put(PREFIX, "GIADDR", message.giaddr());
        to.put(PREFIX, "RELAYED", !message.giaddr().is_unspecified());
        to.put_hardware(PREFIX, "HWADDR", Some(&self.hardware()));
        let remote = ingress.mac.map(|mac| HardwareAddress::new(ETHERNET, &mac));
        let own = ingress.mac.and_then(|_| {
            let own = if ingress.is_multicast { Some([0xff; 6]) } else { context.mac(ingress) };
            own.map(|mac| HardwareAddress::new(ETHERNET, &mac))
        });
        to.put_hardware(PREFIX, "LOCAL_HWADDR", own.as_ref());
        to.put_hardware(PREFIX, "REMOTE_HWADDR", remote.as_ref());
        if let Some(agent) = message.option(option::RELAY_AGENT_INFORMATION) {
            to.put_option(PREFIX, "OPTION_82", agent.octets());
            for code in [CIRCUIT_ID, REMOTE_ID] {
                if let Some(value) = relay::sub_option(agent, code) {
                    let name = format!("OPTION_82_SUB_OPTION_{code}");
                    to.put_option(PREFIX, &name, value.octets());
                }
            }
        }
        to
    }

    /// Adds the variables of a renewal of `lease`.
    fn put_renewal(&self, to: &mut ScriptEnvironment, lease: &Lease) {
        let subnet = self.context.subnet(lease.subnet_id);
        let text = |value: Option<String>| value.unwrap_or_default();
        to.put("SUBNET4_", "ID", text(subnet.map(|_| lease.subnet_id.to_string())));
        let name = subnet.map(|(prefix, len)| format!("{prefix}/{len}"));
        to.put("SUBNET4_", "NAME", text(name));
        to.put("SUBNET4_", "PREFIX", text(subnet.map(|(prefix, _)| prefix.to_string())));
        to.put("SUBNET4_", "PREFIX_LEN", text(subnet.map(|(_, len)| len.to_string())));
        let client_id = self.message.client_id();
        let client_id: Vec<u8> = client_id.map(|id| id.octets().collect()).unwrap_or_default();
        to.put_identifier("PKT4_", "CLIENT_ID", &client_id);
        to.put_hardware("PKT4_", "HWADDR", Some(&self.hardware()));
        put_lease(to, "LEASE4", lease);
    }
}

fn put_leases(to: &mut ScriptEnvironment, prefix: &str, leases: &[&Lease]) {
    to.put(prefix, "_SIZE", leases.len());
    for (at, lease) in leases.iter().enumerate() {
        put_lease(to, &format!("{prefix}_AT{at}"), lease);
    }
}

fn put_lease(to: &mut ScriptEnvironment, prefix: &str, lease: &Lease) {
    to.put(prefix, "_ADDRESS", lease.address);
    to.put(prefix, "_CLTT", lease.cltt_s);
    to.put(prefix, "_HOSTNAME", &*lease.hostname);
    let client = &lease.client;
    if client.hardware.is_empty() && lease.state == LeaseState::Declined {
        // Kea forgets the address of a client that declines, and keeps its type.
        to.put(prefix, "_HWADDR", "");
        to.put(prefix, "_HWADDR_TYPE", ETHERNET);
    } else {
        to.put_hardware(prefix, "_HWADDR", Some(&client.hardware));
    }
    to.put(prefix, "_STATE", state_name(lease.state));
    to.put(prefix, "_SUBNET_ID", lease.subnet_id);
    to.put(prefix, "_VALID_LIFETIME", lease.valid_lifetime_s);
    to.put_identifier(prefix, "_CLIENT_ID", client.identifier().unwrap_or_default());
}
