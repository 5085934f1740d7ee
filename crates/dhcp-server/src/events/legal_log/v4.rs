//! Lines of the legal log about exchanges of DHCPv4.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use dhcp_engine::classify::PacketView4;
use dhcp_engine::v4::Ingress;
use dhcp_lease::RecordedIngress;
use dhcp_lease::v4::{Lease, V4};
use dhcp_wire::OptionParsing;
use dhcp_wire::v4::{Message, MessageType, relay};

use super::LegalLogFamily;
use super::entry::{
    LogAction, LogEntry, append_context, append_hardware, append_identifiers, append_octets,
};
use super::exchange::ExchangeEvents;
use super::formats::LineFormats;

impl LegalLogFamily for V4 {
    fn entries(
        exchange: &ExchangeEvents<'_, Self>,
        formats: &mut LineFormats,
        is_logged: &dyn Fn(u32) -> bool,
        entries: &mut Vec<LogEntry>,
    ) {
        let parse = |octets| Message::parse_as(octets, OptionParsing::Lenient).ok();
        let message = parse(&exchange.record.message);
        let reply = parse(&exchange.record.reply);
        let kind = reply.as_ref().and_then(Message::message_type);
        if matches!(kind, Some(MessageType::Offer | MessageType::Nak)) {
            return;
        }
        let line = message.as_ref().filter(|_| !formats.are_default()).and_then(|message| {
            let interfaces = formats.interfaces.clone();
            let ingress = ingress(&exchange.record.ingress);
            let view = |message| PacketView4 {
                message,
                ingress: &ingress,
                interfaces: &interfaces,
                stored_relay_information: &[],
            };
            formats.line(&view(message), reply.as_ref().map(view).as_ref())
        });
        for logged in exchange.leases() {
            let lease = logged.lease;
            if is_logged(lease.subnet_id) {
                let own_line = || default_line(logged.action, lease, &message);
                let text = line.clone().unwrap_or_else(own_line);
                entries.push(LogEntry { address: lease.address.to_string(), text });
            }
        }
    }
}

/// Returns the line about `lease` in Kea's own format.
fn default_line(action: LogAction, lease: &Lease, message: &Option<Message<'_>>) -> Vec<u8> {
    let mut text = format!("Address: {}", lease.address);
    action.append(lease.valid_lifetime_s, &mut text);
    text.push_str("hardware address: ");
    append_hardware(&lease.client.hardware, &mut text);
    if let Some(client_id) = lease.client.identifier() {
        text.push_str(", client-id: ");
        append_octets(client_id, &mut text);
    }
    if let Some(message) = message {
        append_relay(message, &mut text);
    }
    append_context(&lease.user_context, &mut text);
    text.into_bytes()
}

fn append_relay(message: &Message<'_>, text: &mut String) {
    if message.giaddr() == Ipv4Addr::UNSPECIFIED {
        return;
    }
    let _ = write!(text, " connected via relay at address: {}", message.giaddr());
    let Some(information) = message.relay_agent_information() else { return };
    let sub_option = |code| {
        let value = relay::sub_option(information, code)?;
        Some(value.octets().collect::<Vec<u8>>())
    };
    let identifiers = [
        ("circuit-id", sub_option(relay::CIRCUIT_ID)),
        ("remote-id", sub_option(relay::REMOTE_ID)),
        ("subscriber-id", sub_option(relay::SUBSCRIBER_ID)),
    ];
    append_identifiers(", identified by ", &identifiers, text);
}

/// Converts the recorded ingress of a message to the form that expressions read.
fn ingress(recorded: &RecordedIngress) -> Ingress {
    let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    Ingress {
        source: match recorded.source {
            SocketAddr::V4(source) => source,
            SocketAddr::V6(_) => nowhere,
        },
        local: match recorded.local {
            IpAddr::V4(local) => local,
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        },
        interface: recorded.interface,
        is_broadcast: recorded.is_multicast,
        listener_index: 0,
        mac: recorded.mac,
    }
}
