//! Reader of the elements of `reservations`, with the check that those of one scope do not repeat
//! identifiers or addresses.
//!
//! A list may hold a million hosts: repetitions are found by sorting indexes once, and nothing is
//! stored next to the hosts except the positions of the reserved addresses.

use core::hash::{Hash, Hasher};
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;

use base::HostName;

use super::family::ConfigFamily;
use super::options::{self, host_identifier};
use super::reservations::{HostIdentifier, IdentifierKind, Reservation};
use super::{godwit, other_keys};
use crate::address::first_of;
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of};
use crate::json::JsonValue;
use crate::source::{PositionedValue, SourcePosition};

/// Family whose reservations the readers can read.
pub(crate) trait ReservationFamily: ConfigFamily {
    /// Type of the resources that a reservation keeps for its client.
    type Reserved;
    /// Keys of the identifiers that reservations of the family may have, each with its kind.
    const IDENTIFIERS: &'static [(&'static str, IdentifierKind)];

    /// Reads the resources that a reservation keeps for its client, and adds each address and
    /// prefix to `reserved_addresses`.
    fn read_reserved(
        fields: &mut MapReader<'_>,
        reserved_addresses: &mut ReservedAddresses<'_, Self>,
        findings: &mut ParseContext,
    ) -> Self::Reserved;
}

/// Reservation of the family `F`.
pub(crate) type ReservationOf<F> =
    Reservation<<F as ConfigFamily>::Code, <F as ReservationFamily>::Reserved>;

/// Scope whose reservations are read: a subnet or the global scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostScope<A> {
    /// Prefix of the scope's subnet; `None` in the global scope, whose reservations may have any
    /// address.
    pub(crate) prefix: Option<(A, u8)>,
    /// True if an address may be reserved for one host only (`ip-reservations-unique`).
    pub(crate) is_address_unique: bool,
}

/// Addresses that the reservations of one scope have reserved so far.
pub(crate) struct ReservedAddresses<'s, F: ConfigFamily> {
    scope: &'s HostScope<F::Address>,
    list: Vec<PositionedValue<F::Address>>,
}

impl<F: ConfigFamily> ReservedAddresses<'_, F> {
    /// Adds a reserved address, which must lie inside the subnet.
    pub(crate) fn address(
        &mut self,
        address: PositionedValue<F::Address>,
        findings: &mut ParseContext,
    ) {
        if let Some((network, length)) = self.scope.prefix
            && first_of(address.value, length) != network
        {
            let message =
                format!("reserved address {} is not in {network}/{length}", address.value);
            let help = "global reservations may have addresses of any subnet";
            findings.error_help(address.at, message, help);
        }
        self.prefix(address);
    }

    /// Adds the first address of a reserved prefix, which may lie anywhere.
    pub(crate) fn prefix(&mut self, address: PositionedValue<F::Address>) {
        if self.scope.is_address_unique {
            self.list.push(address);
        }
    }
}

/// Maximum length of a reservation's identifier, in bytes: a client identifier fills its option.
const LONGEST: usize = 255;

/// Returns the permitted lengths of identifiers of the kind `kind` in bytes, as in Kea.
const fn lengths(kind: IdentifierKind) -> core::ops::RangeInclusive<usize> {
    match kind {
        IdentifierKind::HardwareAddress => 1..=20,
        IdentifierKind::Duid => 3..=130,
        IdentifierKind::ClientId => 1..=LONGEST,
        IdentifierKind::CircuitId | IdentifierKind::FlexId => 1..=128,
    }
}

/// Reads the reservations `items` of one scope.
pub(crate) fn read<F: ReservationFamily>(
    items: &[JsonValue],
    scope: &HostScope<F::Address>,
    findings: &mut ParseContext,
) -> Vec<ReservationOf<F>> {
    let mut reserved_addresses = ReservedAddresses { scope, list: Vec::new() };
    let mut hosts = Vec::with_capacity(items.len());
    let mut positions = Vec::with_capacity(items.len());
    for item in items {
        if let Some((host, at)) = reservation::<F>(item, &mut reserved_addresses, findings) {
            hosts.push(host);
            positions.push(at);
        }
    }
    refuse_repeated_hosts(&hosts, &positions, findings);
    refuse_repeated_addresses(reserved_addresses.list, findings);
    hosts
}

/// Reads one reservation, and the position of its identifier.
fn reservation<F: ReservationFamily>(
    item: &JsonValue,
    reserved_addresses: &mut ReservedAddresses<'_, F>,
    findings: &mut ParseContext,
) -> Option<(ReservationOf<F>, SourcePosition)> {
    let mut fields = MapReader::from_value(item, "a reservation", findings)?;
    let identifier = identifier::<F>(&mut fields, findings);
    let reserved = F::read_reserved(&mut fields, reserved_addresses, findings);
    let hostname = hostname(&mut fields, findings);
    let options = options::list::<F>(&mut fields, findings);
    let mut client_classes = Vec::new();
    let mut seen = BTreeSet::new();
    for item in fields.list("client-classes", findings) {
        let Some(name) = text_of(item, "client-classes", findings) else { continue };
        let name = name.value.trim();
        if !name.is_empty() && seen.insert(name) {
            client_classes.push(name.to_owned());
        }
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);
    let PositionedValue { value: identifier, at } = identifier?;
    Some((Reservation { identifier, hostname, options, client_classes, reserved }, at))
}

/// Maximum length of a DNS label that DHCPv4 option 81 and DHCPv6 option 39 carry, in bytes (RFC
/// 1035 §2.3.4).
const LABEL_MAX: usize = 63;

/// Reads the host name of a reservation; empty when it has none. A name that is too long for a
/// lease is cut off with a warning; a label that is too long for the options 81 and 39 gives a
/// warning.
fn hostname(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> HostName {
    let Some(text) = fields.text("hostname", findings) else { return HostName::default() };
    if let Err(fault) = HostName::check(text.value) {
        findings.warn(text.at, format!("`hostname`: {fault}; the server cuts off the rest"));
    }
    // An escape stands for fewer bytes than its text has.
    let labels = text.value.split('.').filter(|label| !label.contains('\\'));
    if let Some(octets) = labels.map(str::len).max().filter(|octets| *octets > LABEL_MAX) {
        let message = format!(
            "`hostname`: a label has {octets} bytes; options 39 and 81 carry at most {LABEL_MAX}"
        );
        findings.warn(text.at, message);
    }
    HostName::cut(text.value)
}

/// Reads the single client identifier of a reservation.
fn identifier<F: ReservationFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<HostIdentifier>> {
    let mut single: Option<(&'static str, PositionedValue<HostIdentifier>)> = None;
    let mut has_key = false;
    for &(key, kind) in F::IDENTIFIERS {
        let Some(text) = fields.octets(key, findings) else {
            has_key |= fields.take(key).is_some();
            continue;
        };
        has_key = true;
        let Some(octets) = checked(key, kind, &text, findings) else { continue };
        let identifier = PositionedValue { value: HostIdentifier { kind, octets }, at: text.at };
        match &single {
            Some((other, first)) => {
                let message = format!("`{key}` and `{other}` exclude each other");
                findings.error_with_second_position(text.at, message, "the other is at", first.at);
            }
            None => single = Some((key, identifier)),
        }
    }
    if !has_key {
        let keys: Vec<&str> = F::IDENTIFIERS.iter().map(|(key, _)| *key).collect();
        let help = format!("give one of: {}", keys.join(", "));
        findings.error_help(fields.at, "a reservation needs an identifier", help);
    }
    single.map(|(_, identifier)| identifier)
}

/// Returns the bytes of a client identifier from its text, if their number is permitted for its
/// kind.
fn checked(
    key: &'static str,
    kind: IdentifierKind,
    text: &PositionedValue<&[u8]>,
    findings: &mut ParseContext,
) -> Option<Vec<u8>> {
    let octets = match host_identifier(text.value) {
        Ok(octets) => octets,
        Err(reason) => {
            let help = "write hexadecimal digits, or `'text'` in single quotes";
            findings.error_help(text.at, format!("`{key}`: {reason}"), help);
            return None;
        }
    };
    let (count, lengths) = (octets.len(), lengths(kind));
    if !lengths.contains(&count) {
        let (least, most) = lengths.into_inner();
        let message = format!("`{key}` has {count} bytes; it must have from {least} to {most}");
        findings.error(text.at, message);
        return None;
    }
    Some(octets)
}

fn refuse_repeated_hosts<C, R>(
    hosts: &[Reservation<C, R>],
    positions: &[SourcePosition],
    findings: &mut ParseContext,
) {
    // Sorting numbers that lie next to each other is much faster than sorting the values they point
    // to.
    let hash = |host: &Reservation<C, R>| {
        let mut hasher = DefaultHasher::new();
        host.identifier.hash(&mut hasher);
        hasher.finish()
    };
    let mut order: Vec<(u64, u32)> = hosts.iter().map(hash).zip(0..).collect();
    order.sort_unstable();
    let identifier = |index: u32| &hosts[index as usize].identifier;
    for run in order.chunk_by(|one, two| one.0 == two.0).filter(|run| run.len() > 1) {
        // Different identifiers may have one hash. The sort keeps the order of the file.
        let mut run: Vec<u32> = run.iter().map(|&(_, index)| index).collect();
        run.sort_by_key(|&index| identifier(index));
        for pair in run.windows(2).filter(|pair| identifier(pair[0]) == identifier(pair[1])) {
            let [first, again] = [pair[0], pair[1]].map(|index| positions[index as usize]);
            let message = "this host has a reservation in this scope already";
            findings.error_with_second_position(again, message, "the other is at", first);
        }
    }
}

fn refuse_repeated_addresses<A: Ord + Copy + core::fmt::Display>(
    mut list: Vec<PositionedValue<A>>,
    findings: &mut ParseContext,
) {
    list.sort_unstable_by_key(|address| (address.value, address.at));
    for pair in list.windows(2).filter(|pair| pair[0].value == pair[1].value) {
        let message = format!("{} is reserved in this scope already", pair[1].value);
        findings.error_with_second_position(pair[1].at, message, "the other is at", pair[0].at);
    }
}
