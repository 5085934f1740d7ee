//! Destination of a DHCPv6 reply (RFC 9915 §18.3, §19.3).

use core::net::SocketAddrV6;

use dhcp_wire::v6::Packet;

use super::Ingress;

/// UDP port of DHCPv6 servers and relay agents (RFC 9915 §7.2).
pub const SERVER_PORT: u16 = 547;
/// UDP port of DHCPv6 clients (RFC 9915 §7.2).
pub const CLIENT_PORT: u16 = 546;

/// Returns the destination of the reply to `packet`: the relay agent nearest to the server, on the
/// server port (547) or on the port in its Relay Source Port option (135, RFC 8357 §5.2); without
/// relay agents, the client. The scope of a link-local address is the interface that the message
/// came through.
#[must_use]
pub fn for_reply(packet: &Packet<'_>, ingress: Ingress) -> SocketAddrV6 {
    let source = ingress.source;
    let port = match packet.relays().next() {
        Some(relay) if relay.relay_port().is_some() => source.port(),
        Some(_) => SERVER_PORT,
        None => CLIENT_PORT,
    };
    let is_link_local = source.ip().is_unicast_link_local() && ingress.interface != 0;
    let scope_id = if is_link_local { ingress.interface } else { source.scope_id() };
    SocketAddrV6::new(*source.ip(), port, 0, scope_id)
}
