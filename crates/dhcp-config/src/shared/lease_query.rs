//! Parameters of the hook library `lease_query`, which answers lease queries: RFC 4388 and RFC 6926
//! for DHCPv4, RFC 5007 and RFC 5460 for DHCPv6.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::BTreeSet;

use super::class_list::Classified;
use super::{godwit, names};
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of};
use crate::json::{JsonContent, JsonValue};

/// Largest number that Kea takes for a limit or a time of the library.
const NUMBER_MAX: i64 = u32::MAX as i64;

/// Parameters of the hook library `lease_query`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseQuery {
    /// Addresses of the requesters that the server answers (`requesters`): single ones, and
    /// prefixes with their lengths in bits.
    pub requesters: Vec<(IpAddr, u8)>,
    /// Lengths in bits of the delegated prefixes that a DHCPv6 query by address finds
    /// (`prefix-lengths`); `None` when not set: those of the prefix pools.
    pub prefix_lengths: Option<Vec<u8>>,
    /// Settings of bulk lease queries over TCP (`bulk-query-enabled`); `None` when the server does
    /// not answer them.
    pub bulk: Option<BulkLeaseQuery>,
    /// True if the server finds DHCPv6 leases by relay agent, for bulk queries
    /// (`extended-info-tables-enabled`). Default: as for bulk queries.
    pub has_extended_info_tables: bool,
}

impl LeaseQuery {
    /// Returns true if the server answers queries of the requester `address`.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        self.requesters.iter().any(|&(prefix, length)| match (prefix, address) {
            (IpAddr::V4(prefix), IpAddr::V4(address)) => {
                let unused = 32_u32.saturating_sub(length.into());
                (prefix.to_bits() ^ address.to_bits()).checked_shr(unused).unwrap_or(0) == 0
            }
            (IpAddr::V6(prefix), IpAddr::V6(address)) => {
                let unused = 128_u32.saturating_sub(length.into());
                (prefix.to_bits() ^ address.to_bits()).checked_shr(unused).unwrap_or(0) == 0
            }
            _ => false,
        })
    }
}

/// Settings of bulk lease queries over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkLeaseQuery {
    /// Address and port at which the server accepts connections (`lease-query-ip`,
    /// `lease-query-tcp-port`). Default: loopback, with the server's port.
    pub listen: SocketAddr,
    /// Largest number of connections of one requester (`max-requester-connections`). Default 10.
    pub connections_max: u32,
    /// Time after which the server closes a silent connection, in seconds
    /// (`max-requester-idle-time`). Default 300 s.
    pub idle_time_s: u32,
}

/// Reads the parameters `value` of the hook library.
pub(crate) fn read<F: Classified>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<LeaseQuery> {
    let mut fields = MapReader::from_value(value, "the parameters of lease_query", findings)?;
    let is_set = fields.take("requesters").is_some();
    let items = fields.list("requesters", findings);
    if items.is_empty() {
        let fault = if is_set { "is empty" } else { "is missing" };
        let help = "it lists the addresses of the relay agents that may query leases";
        findings.error_help(value.at, format!("`requesters` {fault}"), help);
    }
    let mut requesters = Vec::new();
    for item in items {
        requesters.extend(requester::<F>(item, &requesters, findings));
    }
    let prefix_lengths = prefix_lengths(&mut fields, findings);
    let advanced = fields.take("advanced");
    let (bulk, has_extended_info_tables) = match advanced {
        Some(entry) => advanced_parameters::<F>(&entry.value, findings)?,
        None => (None, false),
    };
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    Some(LeaseQuery { requesters, prefix_lengths, bulk, has_extended_info_tables })
}

fn requester<F: Classified>(
    item: &JsonValue,
    before: &[(IpAddr, u8)],
    findings: &mut ParseContext,
) -> Option<(IpAddr, u8)> {
    let text = text_of(item, "requesters", findings)?;
    let family = if F::IS_V6 { "IPv6" } else { "IPv4" };
    let max: u8 = if F::IS_V6 { 128 } else { 32 };
    let parsed = match text.value.split_once('/') {
        None => text.value.parse().ok().map(|address: IpAddr| (address, max)),
        Some((address, length)) => address.parse().ok().zip(length.parse().ok()),
    };
    let parsed = parsed.filter(|&(address, length)| address.is_ipv6() == F::IS_V6 && length <= max);
    let Some(requester) = parsed else {
        let message = format!("`requesters`: `{}` is not an {family} address", text.value);
        findings.error(text.at, message);
        return None;
    };
    if before.contains(&requester) {
        findings.error(text.at, format!("`requesters` lists `{}` twice", text.value));
    }
    Some(requester)
}

fn prefix_lengths(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Option<Vec<u8>> {
    fields.take("prefix-lengths")?;
    let mut lengths = BTreeSet::new();
    for item in fields.list("prefix-lengths", findings) {
        match item.kind {
            JsonContent::Integer(length @ 1..=128) => {
                lengths.insert(length as u8);
            }
            _ => {
                let message = "`prefix-lengths` contains something that is no prefix length";
                findings.error_help(item.at, message, "a prefix length is from 1 to 128");
            }
        }
    }
    Some(lengths.into_iter().collect())
}

/// Reads the map `advanced` of the parameters.
fn advanced_parameters<F: Classified>(
    value: &JsonValue,
    findings: &mut ParseContext,
) -> Option<(Option<BulkLeaseQuery>, bool)> {
    let mut fields = MapReader::from_value(value, "`advanced` of lease_query", findings)?;
    let is_bulk = fields.boolean("bulk-query-enabled", findings);
    let is_bulk = is_bulk.is_some_and(|setting| setting.value);
    let tables = fields.boolean("extended-info-tables-enabled", findings);
    if let Some(active) = fields.boolean("active-query-enabled", findings)
        && active.value
    {
        let message = "active lease queries (RFC 7653, RFC 7724) are not supported";
        findings.error(active.at, message);
    }
    let address = names::address(&mut fields, "lease-query-ip", findings);
    if let Some(address) = address
        && address.value.is_ipv6() != F::IS_V6
    {
        let family = if F::IS_V6 { "IPv6" } else { "IPv4" };
        let message = format!("`lease-query-ip`: `{}` is not an {family} address", address.value);
        findings.error(address.at, message);
    }
    let (loopback, default_port) = if F::IS_V6 {
        (IpAddr::V6(Ipv6Addr::LOCALHOST), 547)
    } else {
        (IpAddr::V4(Ipv4Addr::LOCALHOST), 67)
    };
    let port = fields.integer("lease-query-tcp-port", 1..=65_535, findings);
    // One thread serves all connections, in steps of its own, so these limit nothing.
    fields.integer("max-bulk-query-threads", 0..=NUMBER_MAX, findings);
    fields.integer("max-concurrent-queries", 0..=NUMBER_MAX, findings);
    fields.integer("max-leases-per-fetch", 1..=NUMBER_MAX, findings);
    let mut number = |key, default: u32| {
        let setting = fields.integer(key, 1..=NUMBER_MAX, findings);
        setting.map_or(default, |setting| setting.value as u32)
    };
    let bulk = BulkLeaseQuery {
        connections_max: number("max-requester-connections", 10),
        idle_time_s: number("max-requester-idle-time", 300),
        listen: SocketAddr::new(
            address.map_or(loopback, |address| address.value),
            port.map_or(default_port, |port| port.value as u16),
        ),
    };
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    fields.finish(findings);
    let has_tables = tables.map_or(is_bulk, |setting| setting.value);
    Some((is_bulk.then_some(bulk), has_tables))
}
