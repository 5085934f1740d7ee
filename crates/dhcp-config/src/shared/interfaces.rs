//! Reader of `interfaces-config`.

use std::collections::BTreeSet;

use super::config::InterfacesConfig;
use super::family::ConfigFamily;
use super::subnets::Scoped;
use super::types::InterfaceSelection;
use super::{godwit, other_keys};
use crate::address::Address;
use crate::context::ParseContext;
use crate::fields::{MapReader, address_of, text_of};
use crate::json::JsonValue;
use crate::source::PositionedValue;

/// Reads the map `interfaces-config` of a configuration.
pub(crate) fn read<F: Scoped>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> InterfacesConfig<F> {
    let mut listening = InterfacesConfig::default();
    let entry = fields.take("interfaces-config");
    let Some(mut fields) =
        entry.and_then(|e| MapReader::from_value(&e.value, "`interfaces-config`", findings))
    else {
        return listening;
    };
    listening.own = F::read_sockets(&mut fields, findings);
    let mut selected = BTreeSet::new();
    for item in fields.list("interfaces", findings) {
        if let Some(selection) = selection::<F>(item, &mut selected, findings) {
            listening.interfaces.push(selection);
        }
    }
    if let Some(re_detect) = fields.boolean("re-detect", findings) {
        listening.re_detect = re_detect.value;
    }
    if let Some(require_all) = fields.boolean("service-sockets-require-all", findings) {
        listening.require_all_sockets = require_all.value;
    }
    if let Some(retries) = fields.u32("service-sockets-max-retries", findings) {
        listening.socket_max_retries = retries.value;
    }
    if let Some(wait) = fields.u32("service-sockets-retry-wait-time", findings) {
        listening.socket_retry_wait_ms = wait.value;
    }
    godwit::refuse_inside::<F>(fields.context(findings), findings);
    other_keys::finish(fields, F::ELSEWHERE, findings);
    listening
}

/// Reads one element of `interfaces`, and checks it against the earlier ones in `selected`.
fn selection<F: ConfigFamily>(
    item: &JsonValue,
    selected: &mut SelectionKeys<F::Address>,
    findings: &mut ParseContext,
) -> Option<InterfaceSelection<F::Address>> {
    let text = text_of(item, "interfaces", findings)?;
    let selection =
        if text.value == "*" { InterfaceSelection::All } else { named_interface(text, findings)? };
    if overlaps::<F>(selected, &selection) {
        findings.error(text.at, format!("interface `{}` is selected already", text.value));
        return None;
    }
    selected.insert(key(&selection));
    Some(selection)
}

fn named_interface<A: Address>(
    text: PositionedValue<&str>,
    findings: &mut ParseContext,
) -> Option<InterfaceSelection<A>> {
    let (name, address) = match text.value.split_once('/') {
        Some((name, address)) => (name.trim(), Some(address.trim())),
        None => (text.value.trim(), None),
    };
    if name.is_empty() {
        findings.error(text.at, "the name of an interface is empty");
        return None;
    }
    let address = match address {
        Some(address) => {
            let address = PositionedValue { value: address, at: text.at };
            Some(address_of::<A>(address, "interfaces", findings)?.value)
        }
        None => None,
    };
    if name == "*" {
        findings.error(text.at, "`*` takes no address");
        return None;
    }
    if let Some(group) = address.filter(|address| address.is_group()) {
        findings.error(text.at, format!("{group} is a multicast address"));
        return None;
    }
    Some(InterfaceSelection::Named { name: name.to_owned(), address })
}

/// Interfaces selected so far: the name of each, and one address of it or none. `*` has no name.
type SelectionKeys<A> = BTreeSet<(Option<String>, Option<A>)>;

fn key<A: Address>(selection: &InterfaceSelection<A>) -> (Option<String>, Option<A>) {
    match selection {
        InterfaceSelection::All => (None, None),
        InterfaceSelection::Named { name, address } => (Some(name.clone()), *address),
    }
}

/// Returns true if `selection` names sockets that an earlier selection names. `*` is permitted
/// together with names, as in Kea.
fn overlaps<F: ConfigFamily>(
    selected: &SelectionKeys<F::Address>,
    selection: &InterfaceSelection<F::Address>,
) -> bool {
    let (name, address) = key(selection);
    if selected.contains(&(name.clone(), address)) {
        return true;
    }
    if name.is_none() || F::ADDRESS_BESIDE_INTERFACE {
        return false;
    }
    // A whole interface has all its addresses. An entry without an address comes first in order.
    let whole_interface = (name, None);
    match address {
        Some(_) => selected.contains(&whole_interface),
        None => selected
            .range(&whole_interface..)
            .next()
            .is_some_and(|(other, _)| *other == whole_interface.0),
    }
}
