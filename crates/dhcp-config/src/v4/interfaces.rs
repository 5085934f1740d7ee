//! Reader of `interfaces-config` of a DHCPv4 configuration.

use super::Dhcp4Family;
use super::types::{InterfacesConfig, OutboundInterface, SocketType};
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::json::JsonMember;
use crate::shared::interfaces::ListeningSettings;

/// Reads the map `interfaces-config` of a DHCPv4 configuration.
pub(super) fn read(entry: &JsonMember, findings: &mut ParseContext) -> InterfacesConfig {
    let Some(mut fields) = MapReader::from_value(&entry.value, "`interfaces-config`", findings)
    else {
        return InterfacesConfig::default();
    };
    let types = [("raw", SocketType::Raw), ("udp", SocketType::Udp)];
    let socket_type = fields.word("dhcp-socket-type", &types, false, findings);
    let outbound = [
        ("same-as-inbound", OutboundInterface::SameAsInbound),
        ("use-routing", OutboundInterface::UseRouting),
    ];
    let outbound = fields.word("outbound-interface", &outbound, false, findings);
    let listening = ListeningSettings::read::<Dhcp4Family>(fields, findings);
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
