//! Reader of the addresses and prefixes that a DHCPv6 reservation keeps for its client.

use core::net::Ipv6Addr;

use base::V6;

use super::types::{Reserved6, ReservedPrefix};
use crate::address::{Address, first_of, prefix};
use crate::context::ParseContext;
use crate::fields::{MapReader, address_of, text_of};
use crate::json::JsonValue;
use crate::shared::IdentifierKind;
use crate::shared::hosts::{ReservationFamily, ReservedAddresses};
use crate::source::PositionedValue;

impl ReservationFamily for V6 {
    type Reserved = Reserved6;
    const IDENTIFIERS: &'static [(&'static str, IdentifierKind)] = &[
        ("hw-address", IdentifierKind::HardwareAddress),
        ("duid", IdentifierKind::Duid),
        ("flex-id", IdentifierKind::FlexId),
    ];

    fn read_reserved(
        fields: &mut MapReader<'_>,
        reserved_addresses: &mut ReservedAddresses<'_, Self>,
        findings: &mut ParseContext,
    ) -> Reserved6 {
        let mut addresses = Vec::new();
        for item in fields.list("ip-addresses", findings) {
            let text = text_of(item, "ip-addresses", findings);
            let address = text.and_then(|text| address_of(text, "ip-addresses", findings));
            let Some(address) = address.filter(|address| is_no_group(*address, findings)) else {
                continue;
            };
            reserved_addresses.address(address, findings);
            addresses.push(address.value);
        }
        let prefixes = prefixes(fields, reserved_addresses, findings);
        Reserved6 { addresses, prefixes }
    }
}

fn is_no_group(address: PositionedValue<Ipv6Addr>, findings: &mut ParseContext) -> bool {
    if address.value.is_group() {
        findings.error(address.at, format!("{} cannot be reserved", address.value));
    }
    !address.value.is_group()
}

/// Reads the prefixes of a reservation (`prefixes`), with `excluded-prefixes` at the same indexes;
/// an empty text there excludes nothing.
fn prefixes(
    fields: &mut MapReader<'_>,
    reserved_addresses: &mut ReservedAddresses<'_, V6>,
    findings: &mut ParseContext,
) -> Vec<ReservedPrefix> {
    let items = fields.list("prefixes", findings);
    let excluded = fields.list("excluded-prefixes", findings);
    if let Some(entry) = fields.take("excluded-prefixes")
        && excluded.len() != items.len()
    {
        let message = format!(
            "`excluded-prefixes` has {} elements, `prefixes` {}",
            excluded.len(),
            items.len()
        );
        findings.error_help(entry.at, message, "`\"\"` means a prefix without excluded part");
    }
    let mut prefixes = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(prefix) = whole_prefix(item, "prefixes", findings) else { continue };
        if !is_no_group(PositionedValue { value: prefix.value.0, at: prefix.at }, findings) {
            continue;
        }
        reserved_addresses.prefix(PositionedValue { value: prefix.value.0, at: prefix.at });
        let excluded = excluded
            .get(index)
            .filter(|item| item.kind != crate::json::JsonContent::Text(Box::default()))
            .and_then(|item| whole_prefix(item, "excluded-prefixes", findings))
            .filter(|excluded| is_part(*excluded, prefix.value.0, prefix.value.1, findings));
        let excluded = excluded.map(|excluded| excluded.value);
        prefixes.push(ReservedPrefix { prefix: prefix.value, excluded });
    }
    prefixes
}

/// Reads a reserved prefix from 1 to 128 bits; host bits are an error, as in Kea.
fn whole_prefix(
    item: &JsonValue,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<PositionedValue<(Ipv6Addr, u8)>> {
    let text = text_of(item, key, findings)?;
    let Some((address, length)) = prefix::<Ipv6Addr>(text.value).filter(|(_, len)| *len > 0) else {
        let message = format!("`{key}`: `{}` is not a prefix", text.value);
        findings.error_help(text.at, message, "write it as `2001:db8:1::/48`");
        return None;
    };
    let network = first_of(address, length);
    if network != address {
        let message = format!("prefix {address}/{length} has host bits");
        findings.error_help(text.at, message, format!("it may be {network}/{length}"));
        return None;
    }
    Some(PositionedValue { value: (address, length), at: text.at })
}

/// Returns true if the excluded prefix is a part of the reserved prefix that it is excluded from
/// (RFC 6603 §4.2).
fn is_part(
    excluded: PositionedValue<(Ipv6Addr, u8)>,
    network: Ipv6Addr,
    length: u8,
    findings: &mut ParseContext,
) -> bool {
    let (address, excluded_length) = excluded.value;
    let is_part = excluded_length > length && first_of(address, length) == network;
    if !is_part {
        let message = format!(
            "excluded prefix {address}/{excluded_length} is not a part of {network}/{length}"
        );
        findings.error(excluded.at, message);
    }
    is_part
}
