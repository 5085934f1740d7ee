//! Reader of the address and header fields that a DHCPv4 reservation sets for its client.

use core::net::Ipv4Addr;

use base::V4;

use super::scope::{MAX_BOOT_FILE_NAME, MAX_SERVER_HOSTNAME, name};
use super::types::Reserved4;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::shared::IdentifierKind;
use crate::shared::hosts::{ReservationFamily, ReservedAddresses};
use crate::source::PositionedValue;

impl ReservationFamily for V4 {
    type Reserved = Reserved4;
    const IDENTIFIERS: &'static [(&'static str, IdentifierKind)] = &[
        ("hw-address", IdentifierKind::HardwareAddress),
        ("duid", IdentifierKind::Duid),
        ("circuit-id", IdentifierKind::CircuitId),
        ("client-id", IdentifierKind::ClientId),
        ("flex-id", IdentifierKind::FlexId),
    ];

    fn read_reserved(
        fields: &mut MapReader<'_>,
        reserved_addresses: &mut ReservedAddresses<'_, Self>,
        findings: &mut ParseContext,
    ) -> Reserved4 {
        let address = fields.address::<Ipv4Addr>("ip-address", findings).filter(|address| {
            let fits = !address.value.is_unspecified() && !address.value.is_broadcast();
            if !fits {
                findings.error(address.at, format!("{} cannot be reserved", address.value));
            }
            fits
        });
        if let Some(address) = address {
            reserved_addresses.address(address, findings);
        }
        let next_server = fields.address::<Ipv4Addr>("next-server", findings);
        if let Some(next_server) = next_server.filter(|server| server.value.is_broadcast()) {
            let message = format!("`next-server` cannot be {}", next_server.value);
            findings.error(next_server.at, message);
        }
        let value = |setting: PositionedValue<Ipv4Addr>| setting.value;
        Reserved4 {
            address: address.map(value),
            // Kea's hosts have 0.0.0.0 when nothing is set.
            next_server: next_server.map(value).filter(|server| !server.is_unspecified()),
            server_hostname: name(fields, "server-hostname", MAX_SERVER_HOSTNAME, findings)
                .unwrap_or_default(),
            boot_file_name: name(fields, "boot-file-name", MAX_BOOT_FILE_NAME, findings)
                .unwrap_or_default(),
        }
    }
}
