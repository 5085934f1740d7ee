//! `interfaces-config`.

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
    let given = fields.take("dhcp-socket-type");
    let socket_type = fields.word("dhcp-socket-type", &types, false, findings);
    let outbound = [
        ("same-as-inbound", OutboundInterface::SameAsInbound),
        ("use-routing", OutboundInterface::UseRouting),
    ];
    let outbound = fields.word("outbound-interface", &outbound, false, findings);
    let listening = Listening::read::<V4>(fields, findings);
    let raw = given.is_none() || socket_type == Some(SocketType::Raw);
    if raw && !listening.interfaces.is_empty() {
        let type_at = given.map_or(entry.at, |given| given.value.at);
        findings.warn_help(
            type_at,
            "raw sockets are not served yet: clients without an address, on the server's own \
             link, get no answer",
            "relayed clients are served; `\"dhcp-socket-type\": \"udp\"` says the same without \
             this warning",
        );
    }
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
