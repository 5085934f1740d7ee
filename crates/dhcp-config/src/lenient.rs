//! Reader of a configuration without the subnets and reservations that have errors: the server
//! serves the rest, and warns the operator of those left out.
//!
//! An error belongs to the innermost reservation or subnet around its position. The reader removes
//! these elements and reads the rest again, until no error is left or an error lies outside of such
//! elements.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::ParseContext;
use crate::json::{JsonContent, JsonValue};
use crate::shared::subnets::Scoped;
use crate::shared::{DhcpConfig, root};
use crate::source::SourcePosition;

/// Keys of lists whose elements can be left out, each with the noun for an element.
const LISTS: [(&str, &str); 3] =
    [("subnet4", "subnet"), ("subnet6", "subnet"), ("reservations", "reservation")];

/// Keys that name an element of a list in warnings.
const NAMES: [&str; 7] =
    ["subnet", "hw-address", "duid", "client-id", "circuit-id", "flex-id", "hostname"];

/// Reads the configuration `root`, leaving out elements with errors as long as that helps. Elements
/// left out are removed from `root`, each with a warning in `findings`.
pub(crate) fn read<F: Scoped>(
    root: &mut JsonValue,
    findings: &mut ParseContext,
) -> Option<DhcpConfig<F>> {
    let mut left_out: Vec<(SourcePosition, String)> = Vec::new();
    loop {
        let mut problems = ParseContext::unbounded(findings.security.clone());
        let config = root::read::<F>(root, &mut problems);
        let faulty = elements_of(root, &problems);
        if faulty.is_empty() {
            for (at, message) in left_out {
                problems.warn(at, message);
            }
            findings.extend(problems.into_diagnostics());
            return config;
        }
        let mut removed = BTreeSet::new();
        for (at, element, message) in faulty {
            removed.insert(element.at);
            left_out.push((at, format!("{} is left out: {message}", element.name)));
        }
        remove_elements(root, &removed);
    }
}

/// Subnet or reservation that can be left out: an element of one of [`LISTS`].
#[derive(Clone)]
struct Element {
    at: SourcePosition,
    name: String,
    is_removable: bool,
}

/// Returns the errors that lie in subnets and reservations, with their messages; none when one
/// error lies outside. When two elements exclude each other, the second is left out, unless the
/// first has an error of its own.
fn elements_of(
    root: &JsonValue,
    problems: &ParseContext,
) -> Vec<(SourcePosition, Element, String)> {
    if !problems.has_errors() {
        return Vec::new();
    }
    let mut index = Index::default();
    index.visit(root, None);
    let mut errors = Vec::new();
    for (at, message, other) in problems.iter_errors() {
        let Some(element) = index.innermost(at).filter(|element| element.is_removable) else {
            return Vec::new();
        };
        let other = other.and_then(|other| index.innermost(other)).map(|other| other.at);
        errors.push((at, element.clone(), message.to_owned(), other.filter(|o| *o != element.at)));
    }
    let independent =
        errors.iter().filter(|(.., other)| other.is_none()).map(|(_, element, ..)| element.at);
    let independent: BTreeSet<SourcePosition> = independent.collect();
    errors.retain(|(.., other)| other.is_none_or(|other| !independent.contains(&other)));
    errors.into_iter().map(|(at, element, message, _)| (at, element, message)).collect()
}

/// Index from positions in a configuration to the subnets and reservations that contain them.
#[derive(Default)]
struct Index {
    elements: Vec<Element>,
    element_indexes: BTreeMap<SourcePosition, Option<usize>>,
}

impl Index {
    fn visit(&mut self, value: &JsonValue, enclosing: Option<usize>) {
        self.element_indexes.insert(value.at, enclosing);
        match &value.kind {
            JsonContent::List(items) => items.iter().for_each(|item| self.visit(item, enclosing)),
            JsonContent::Map(entries) => {
                for entry in entries {
                    self.element_indexes.insert(entry.at, enclosing);
                    let list = LISTS.iter().find(|(key, _)| **key == *entry.key);
                    match (list, &entry.value.kind) {
                        (Some((_, what)), JsonContent::List(items)) => {
                            self.element_indexes.insert(entry.value.at, enclosing);
                            for item in items {
                                self.elements.push(element(item, what));
                                self.visit(item, Some(self.elements.len() - 1));
                            }
                        }
                        _ => self.visit(&entry.value, enclosing),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the innermost subnet or reservation around a position, which may lie inside a
    /// string.
    fn innermost(&self, at: SourcePosition) -> Option<&Element> {
        let (position, element) = self.element_indexes.range(..=at).next_back()?;
        if position.source() != at.source() {
            return None;
        }
        element.map(|element| &self.elements[element])
    }
}

fn element(item: &JsonValue, what: &str) -> Element {
    let entry = |key: &str| match &item.kind {
        JsonContent::Map(entries) => entries.iter().find(|entry| *entry.key == *key),
        _ => None,
    };
    let text = |key: &&str| match entry(key).map(|entry| &entry.value.kind) {
        Some(JsonContent::Text(octets)) => Some(String::from_utf8_lossy(octets).into_owned()),
        _ => None,
    };
    let name = NAMES
        .iter()
        .find_map(text)
        .map_or_else(|| format!("a {what}"), |name| format!("{what} {name}"));
    // Subnets without an identifier are numbered: without this one the others would be renumbered.
    let is_counted = matches!(item.kind, JsonContent::Map(_))
        && entry("id").is_none_or(|id| id.value.kind == JsonContent::Integer(0));
    Element { at: item.at, name, is_removable: what != "subnet" || !is_counted }
}

/// Removes the list elements that begin at the positions `removed` from `value`.
fn remove_elements(value: &mut JsonValue, removed: &BTreeSet<SourcePosition>) {
    match &mut value.kind {
        JsonContent::List(items) => {
            let mut remaining = core::mem::take(items).into_vec();
            remaining.retain(|item| !removed.contains(&item.at));
            *items = remaining.into();
            items.iter_mut().for_each(|item| remove_elements(item, removed));
        }
        JsonContent::Map(entries) => {
            entries.iter_mut().for_each(|entry| remove_elements(&mut entry.value, removed));
        }
        _ => {}
    }
}
