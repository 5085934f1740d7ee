//! Reader of `interfaces-config`, DHCPv4.

use super::V4;
use super::types::{InterfacesConfig, OutboundInterface, SocketType};
use crate::fields::Fields;
use crate::json::Entry;
use crate::shared::interfaces::Listening;
use crate::source::Findings;

/// Reads `interfaces-config`.
pub(super) fn read(entry: &Entry, findings: &mut Findings) -> InterfacesConfig {
    let Some(mut fields) = Fields::of(&entry.value, "`interfaces-config`", findings) else {
        return InterfacesConfig::default();
    };
    let types = [("raw", SocketType::Raw), ("udp", SocketType::Udp)];
    let socket_type = fields.word("dhcp-socket-type", &types, false, findings);
    let outbound = [
        ("same-as-inbound", OutboundInterface::SameAsInbound),
        ("use-routing", OutboundInterface::UseRouting),
    ];
    let outbound = fields.word("outbound-interface", &outbound, false, findings);
    let listening = Listening::read::<V4>(fields, findings);
    InterfacesConfig {
        interfaces: listening.interfaces,
        socket_type: socket_type.unwrap_or(SocketType::Raw),
        outbound: outbound.unwrap_or(OutboundInterface::SameAsInbound),
        re_detect: listening.re_detect,
        require_all_sockets: listening.require_all_sockets,
        socket_max_retries: listening.socket_max_retries,
        socket_retry_wait_ms: listening.socket_retry_wait_ms,
    }
}
