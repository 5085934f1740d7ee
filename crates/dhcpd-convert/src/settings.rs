//! Parameters, options and conditions of one scope of a dhcpd.conf.

use std::collections::BTreeMap;

use crate::lexer::FilePosition;
use crate::options::value::DeclaredValue;
use crate::options::{OptionKey, OptionRegistry};

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParameterValue {
    Number(u32),
    Text(String),
    Flag(bool),
}

/// Value and the position where the file sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Positioned<T> {
    pub(crate) at: FilePosition,
    pub(crate) value: T,
}

/// Clients that a pool serves or refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PermittedClients {
    Known,
    Unknown,
    Members(String),
    All,
}

/// Statement `allow` or `deny` of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) is_allowed: bool,
    pub(crate) clients: PermittedClients,
}

/// Settings under a condition: a branch of an `if` or `switch`.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) at: FilePosition,
    /// Condition in Kea's language.
    pub(crate) test: String,
    pub(crate) settings: ScopeSettings,
}

/// Settings of a scope of a dhcpd.conf.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeSettings {
    pub(crate) options: BTreeMap<OptionKey, Positioned<DeclaredValue>>,
    /// Parameters by the names of dhcpd.conf(5).
    pub(crate) parameters: BTreeMap<&'static str, Positioned<ParameterValue>>,
    /// Space whose options make up option 43 (`vendor-option-space`).
    pub(crate) vendor_space: Option<String>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) permits: Vec<Permit>,
    /// Position of the statement by which the server ignores clients of the scope.
    pub(crate) ignored: Option<FilePosition>,
}

impl ScopeSettings {
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        match self.parameters.get(name)?.value {
            ParameterValue::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match &self.parameters.get(name)?.value {
            ParameterValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.parameters.get(name)?.value {
            ParameterValue::Flag(is_on) => Some(is_on),
            _ => None,
        }
    }

    /// Takes settings that this scope does not have from `outer`, the group around it.
    pub(crate) fn inherit(&mut self, outer: &Self) {
        for (key, value) in &outer.options {
            self.options.entry(key.clone()).or_insert_with(|| value.clone());
        }
        for (name, value) in &outer.parameters {
            self.parameters.entry(name).or_insert_with(|| value.clone());
        }
        if self.vendor_space.is_none() {
            self.vendor_space.clone_from(&outer.vendor_space);
        }
        self.branches.splice(0..0, outer.branches.iter().cloned());
        self.permits.extend(outer.permits.iter().cloned());
        self.ignored = self.ignored.or(outer.ignored);
    }

    /// Returns the options of the family's own space that this scope sets, with those that consist
    /// of options of other spaces. `outer` are the scopes around it, the innermost last.
    pub(crate) fn resolved(
        &self,
        registry: &OptionRegistry,
        outer: &[&Self],
    ) -> BTreeMap<OptionKey, DeclaredValue> {
        let own_space = if registry.is_v6() { "dhcp6" } else { "dhcp" };
        let mut resolved: BTreeMap<OptionKey, DeclaredValue> = self
            .options
            .iter()
            .filter(|(key, _)| key.0 == own_space)
            .map(|(key, option)| (key.clone(), option.value.clone()))
            .collect();
        let mut chain = outer.to_vec();
        chain.push(self);
        for (container, space) in containers(registry, &chain) {
            let is_touched = self.vendor_space.as_deref() == Some(&space)
                || self.options.keys().any(|key| key.0 == space);
            let parts = merged(&chain, &space);
            if is_touched && !parts.is_empty() {
                let octets = registry.framed(&space, &parts);
                let key = (own_space.to_owned(), container);
                resolved.insert(key, DeclaredValue::from_octets(octets));
            }
        }
        resolved
    }
}

/// Returns the codes of options that consist of options of another space, with that space.
fn containers(registry: &OptionRegistry, chain: &[&ScopeSettings]) -> Vec<(u16, String)> {
    let mut list = registry.encapsulating();
    let vendor = chain.iter().rev().find_map(|scope| scope.vendor_space.clone());
    list.extend(vendor.map(|space| (43, space)));
    list
}

/// Returns the options of `space` that hold in the innermost scope of `chain`, in order of code.
fn merged(chain: &[&ScopeSettings], space: &str) -> Vec<(u16, Vec<u8>)> {
    let mut options: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    for scope in chain {
        for (key, option) in scope.options.iter().filter(|(key, _)| key.0 == space) {
            options.insert(key.1, option.value.octets.clone());
        }
    }
    options.into_iter().collect()
}
