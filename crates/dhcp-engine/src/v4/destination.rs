//! Destination of a DHCPv4 reply (RFC 2131 §4.1, last paragraphs).

use core::net::{Ipv4Addr, SocketAddrV4};

use dhcp_wire::v4::{BROADCAST_FLAG, Message, relay};

use super::Ingress;
use super::reply::{ReplyKind, ReplyTerms};

/// UDP port of DHCPv4 servers and relay agents (RFC 2131 §4.1).
pub const SERVER_PORT: u16 = 67;
/// UDP port of DHCPv4 clients (RFC 2131 §4.1).
pub const CLIENT_PORT: u16 = 68;

/// Hardware type of Ethernet (RFC 1700), whose addresses have six bytes.
const ETHERNET: u8 = 1;

/// Destination of a DHCPv4 reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Relay agent, on the server port (67).
    Relay(SocketAddrV4),
    /// Client at an address that it already has.
    Client(SocketAddrV4),
    /// Client at an address that it already has, past the relay agent that the message came
    /// through: the hardware address of the message's frame is not the client's.
    PastRelay(SocketAddrV4),
    /// Client at the address that it gets with this reply. The client does not answer ARP for that
    /// address yet, so the frame must have the client's hardware address.
    Hardware {
        /// Ethernet address of the client.
        mac: [u8; 6],
        /// Address in `yiaddr`, with the client port (68).
        address: SocketAddrV4,
    },
    /// All stations of the link that the message was received over, on the client port (68).
    Broadcast,
}

impl Destination {
    /// Returns the destination of the reply to `message`: the relay agent if there is one; else all
    /// stations, when the reply is a DHCPNAK; else `ciaddr` (for an INFORM without it, the source
    /// address of the datagram); else the destination that the broadcast flag selects.
    #[must_use]
    pub fn for_reply(message: &Message<'_>, ingress: Ingress, terms: &ReplyTerms) -> Self {
        let (relay, client) = (message.giaddr(), message.ciaddr());
        let to_client = |address: Ipv4Addr| Self::Client(SocketAddrV4::new(address, CLIENT_PORT));
        let is_inform = terms.kind == ReplyKind::InformAck;
        if !relay.is_unspecified() && (!is_inform || client.is_unspecified()) {
            let information = message.relay_agent_information();
            // RFC 8357 §5.1: the relay agent listens on the port that it sent from.
            let port = match information
                .and_then(|value| relay::sub_option(value, relay::RELAY_SOURCE_PORT))
            {
                Some(_) => ingress.source.port(),
                None => SERVER_PORT,
            };
            return Self::Relay(SocketAddrV4::new(relay, port));
        }
        if terms.kind == ReplyKind::Nak {
            return Self::Broadcast;
        }
        if !client.is_unspecified() {
            return match to_client(client) {
                Self::Client(to) if !relay.is_unspecified() => Self::PastRelay(to),
                direct => direct,
            };
        }
        if is_inform {
            return to_client(*ingress.source.ip());
        }
        match <[u8; 6]>::try_from(message.chaddr()) {
            Ok(mac)
                if message.flags() & BROADCAST_FLAG == 0
                    && message.htype() == ETHERNET
                    && !terms.address.is_unspecified() =>
            {
                Self::Hardware { mac, address: SocketAddrV4::new(terms.address, CLIENT_PORT) }
            }
            _ => Self::Broadcast,
        }
    }
}
