//! Options, fields and conditions of a scope.

use std::collections::BTreeMap;

use super::lifetime::{has_lifetimes, timers};
use super::{ConfigWriter, FIELD_PARAMETERS, fields, option_setting, setting_names};
use crate::json::{OrderedJson, OrderedMap};
use crate::options::OptionKey;
use crate::options::value::DeclaredValue;
use crate::settings::{Branch, ScopeSettings};

/// Codes of DHCPv4 options that the server sets itself, so that the file's values have no effect.
const SET_BY_SERVER: [u16; 8] = [1, 50, 51, 53, 55, 58, 59, 82];

/// Code of the option Preference of DHCPv6.
const PREFERENCE: u16 = 7;

impl ConfigWriter<'_> {
    /// Finds the options that a forced request list (option 55) has the server send.
    pub(super) fn find_forced(&mut self) {
        let key = ("dhcp".to_owned(), 55);
        let model = self.model;
        let scopes = core::iter::once(&model.global)
            .chain(model.networks.iter().map(|network| &network.settings))
            .chain(model.subnets.iter().map(|subnet| &subnet.settings))
            .chain(model.classes.iter().map(|class| &class.settings))
            .chain(model.hosts.iter().map(|host| &host.settings));
        let lists = scopes.filter_map(|scope| scope.options.get(&key));
        self.forced =
            lists.flat_map(|list| list.value.octets.iter().map(|code| u16::from(*code))).collect();
    }

    /// Finds the settings that both classes and scopes have, whose precedence differs in Kea.
    pub(super) fn find_contested(&mut self) {
        let (registry, global) = (self.registry, &self.model.global);
        let mut names = std::collections::BTreeSet::new();
        let add = |names: &mut std::collections::BTreeSet<String>, scope: &ScopeSettings| {
            names.extend(setting_names(registry, scope, &[global]));
        };
        let add_branches = |names: &mut std::collections::BTreeSet<String>,
                            scope: &ScopeSettings| {
            for branch in &scope.branches {
                names.extend(setting_names(registry, &branch.settings, &[global, scope]));
            }
        };
        for class in &self.model.classes {
            add(&mut names, &class.settings);
            add_branches(&mut names, &class.settings);
            for subclass in &class.subclasses {
                add(&mut names, &subclass.settings);
            }
        }
        let networks = self.model.networks.iter().map(|network| &network.settings);
        let subnets = self.model.subnets.iter().map(|subnet| &subnet.settings);
        let inner: Vec<&ScopeSettings> = networks.chain(subnets).collect();
        for scope in &inner {
            add_branches(&mut names, scope);
        }
        // Kea prefers the fields of classes to those of subnets; dhcpd those of subnets, if the
        // condition is global.
        for branch in &global.branches {
            let own = setting_names(registry, &branch.settings, &[global]);
            let clashes = own.iter().filter(|name| {
                FIELD_PARAMETERS.contains(&name.as_str())
                    && inner.iter().any(|scope| scope.parameters.contains_key(name.as_str()))
            });
            names.extend(clashes.cloned());
        }
        self.contested = names;
    }

    /// Returns the members that `settings` give a network, subnet or pool. `outer` are the scopes
    /// around it; `label` names the classes that it needs, and `is_outermost` is false inside a
    /// shared network.
    pub(super) fn scope(
        &mut self,
        settings: &ScopeSettings,
        outer: &[&ScopeSettings],
        label: &str,
        is_outermost: bool,
    ) -> OrderedMap {
        let mut map = OrderedMap::default();
        let resolved = settings.resolved(self.registry, outer);
        self.note_server_options(settings);
        let (contested, plain): (BTreeMap<_, _>, BTreeMap<_, _>) =
            resolved.into_iter().partition(|(key, _)| self.is_contested(key));
        if has_lifetimes(settings) {
            let mut chain = outer.to_vec();
            chain.push(settings);
            map.append(self.lifetimes(&chain));
        } else {
            map.append(timers(Some(settings)));
        }
        let mut own_fields = fields(settings);
        let has_contested_field = FIELD_PARAMETERS
            .iter()
            .any(|name| settings.parameters.contains_key(name) && self.contested.contains(*name));
        let mut names = self.branch_classes(settings, outer, label);
        if !contested.is_empty() || has_contested_field {
            let name = format!("{label}-options");
            let mut class = OrderedMap::default();
            class.put("name", name.as_str());
            class.put("only-in-additional-list", true);
            if has_contested_field {
                class.append(core::mem::take(&mut own_fields));
            }
            class.put_list("option-data", self.option_data(&contested));
            self.additional.push(class.into());
            names.push(name.into());
        }
        if is_outermost {
            names.extend(self.late_global.iter().map(|name| name.as_str().into()));
        }
        map.append(own_fields);
        if !self.is_v6()
            && let Some(is_on) = settings.flag("authoritative")
        {
            map.put("authoritative", is_on);
        }
        map.put_list("evaluate-additional-classes", names);
        map.put_list("option-data", self.option_data(&plain));
        map
    }

    fn is_contested(&self, key: &OptionKey) -> bool {
        self.contested.contains(&option_setting(key))
    }

    /// Adds the classes of the conditions in a scope, and returns their names: the later condition
    /// takes precedence.
    pub(super) fn branch_classes(
        &mut self,
        settings: &ScopeSettings,
        outer: &[&ScopeSettings],
        label: &str,
    ) -> Vec<OrderedJson> {
        let mut names = Vec::new();
        let mut chain = outer.to_vec();
        chain.push(settings);
        for (number, branch) in settings.branches.iter().enumerate().rev() {
            let name = format!("{label}-if-{}", number + 1);
            if let Some(class) = self.branch_class(branch, &chain, &name, true) {
                self.additional.push(class);
                names.push(name.into());
            }
        }
        names
    }

    /// Returns the class `name` of a condition, if it sets anything.
    pub(super) fn branch_class(
        &mut self,
        branch: &Branch,
        chain: &[&ScopeSettings],
        name: &str,
        is_additional: bool,
    ) -> Option<OrderedJson> {
        let Branch { test, settings, .. } = branch;
        if settings.ignored.is_some() {
            self.drop_tests.push(test.clone());
        }
        let options = settings.resolved(self.registry, chain);
        self.note_server_options(settings);
        let mut content = fields(settings);
        if has_lifetimes(settings) {
            if is_additional {
                let effect = "the lifetimes depend on a condition inside a network";
                let help = "write a client class with the lifetimes";
                self.findings.note(branch.at, "lease time", effect, help);
            } else {
                let mut whole = chain.to_vec();
                whole.push(settings);
                content.append(self.lifetimes(&whole));
            }
        }
        content.put_list("option-data", self.option_data(&options));
        if content.is_empty() {
            return None;
        }
        let mut class = OrderedMap::default();
        class.put("name", name);
        class.put("test", test.as_str());
        if is_additional {
            class.put("only-in-additional-list", true);
        }
        class.append(content);
        Some(class.into())
    }

    /// Returns the entries of `option-data` for `options`.
    pub(super) fn option_data(
        &mut self,
        options: &BTreeMap<OptionKey, DeclaredValue>,
    ) -> Vec<OrderedJson> {
        let mut list = Vec::new();
        for (key, value) in options {
            if !self.is_v6() && SET_BY_SERVER.contains(&key.1) {
                continue;
            }
            self.used.push(key.clone());
            // dhcpd sends its preference to each client of DHCPv6.
            let is_always_sent =
                self.forced.contains(&key.1) || (self.is_v6() && key.1 == PREFERENCE);
            list.push(self.registry.data(key, value, is_always_sent));
        }
        list
    }

    /// Notes options that the server sets itself, and those of the other family.
    pub(super) fn note_server_options(&mut self, settings: &ScopeSettings) {
        for (key, option) in &settings.options {
            let name = self.registry.by_key(key).map_or_else(String::new, |own| own.name.clone());
            let name = format!("option {name}");
            if self.is_v6() && key.0 == "dhcp" && ![58, 59].contains(&key.1) {
                let effect = "it is an option of DHCPv4, which `dhcpd -6` does not send";
                self.findings.note(option.at, name, effect, "nothing to do");
            } else if key.0 == "dhcp" && [50, 51, 53, 82].contains(&key.1) {
                let effect = "the reply has another value than the server's";
                self.findings.note(option.at, name, effect, "nothing corresponds");
            }
        }
    }
}
