//! Writes the model of a dhcpd.conf in Kea's dialect.

mod class;
mod host;
mod lifetime;
mod pool;
mod scope;

use std::collections::BTreeSet;

use crate::ConversionOptions;
use crate::json::{OrderedJson, OrderedMap};
use crate::model::{DeclaredSubnet, DhcpdModel};
use crate::note::Findings;
use crate::options::{OptionKey, OptionRegistry};
use crate::settings::ScopeSettings;

/// Writer of one configuration.
pub(crate) struct ConfigWriter<'m> {
    model: &'m DhcpdModel,
    registry: &'m OptionRegistry,
    pub(crate) findings: Findings,
    choices: &'m ConversionOptions,
    /// Client classes that the server evaluates for each message, in their order.
    classes: Vec<OrderedJson>,
    /// Client classes that scopes evaluate (`only-in-additional-list`).
    additional: Vec<OrderedJson>,
    /// Names of global conditions that scopes evaluate, in their order.
    late_global: Vec<String>,
    /// Settings that classes and scopes both have, by [`setting_names`].
    contested: BTreeSet<String>,
    /// Codes of options that are sent whether requested or not.
    forced: BTreeSet<u16>,
    /// Options that the result sets.
    used: Vec<OptionKey>,
    /// Conditions under which the server drops messages.
    drop_tests: Vec<String>,
    has_global_hosts: bool,
    /// Expression of the hook library `flex_id`.
    flexible: Option<String>,
}

impl<'m> ConfigWriter<'m> {
    pub(crate) fn new(
        model: &'m DhcpdModel,
        registry: &'m OptionRegistry,
        findings: Findings,
        choices: &'m ConversionOptions,
    ) -> Self {
        Self {
            model,
            registry,
            findings,
            choices,
            classes: Vec::new(),
            additional: Vec::new(),
            late_global: Vec::new(),
            contested: BTreeSet::new(),
            forced: BTreeSet::new(),
            used: Vec::new(),
            drop_tests: Vec::new(),
            has_global_hosts: false,
            flexible: None,
        }
    }

    fn is_v6(&self) -> bool {
        self.registry.is_v6()
    }

    /// Returns the whole configuration.
    pub(crate) fn write(&mut self) -> OrderedJson {
        self.find_forced();
        self.find_contested();
        self.write_classes();
        let networks = self.networks();
        let subnets = self.subnets_of(None);
        let hosts = self.global_hosts();
        let globals = self.globals();
        let mut top = self.interfaces();
        top.append(globals);
        top.put_list("hooks-libraries", self.hooks());
        top.put_list("option-def", self.registry.definitions(&self.used_once()));
        let global = self.option_data(&self.model.global.resolved(self.registry, &[]));
        top.put_list("option-data", global);
        let mut classes = self.drop_class();
        classes.append(&mut self.classes);
        classes.append(&mut self.additional);
        top.put_list("client-classes", classes);
        top.put_list("reservations", hosts);
        top.put_list("shared-networks", networks);
        let key = if self.is_v6() { "subnet6" } else { "subnet4" };
        top.put(key, subnets);
        let mut whole = OrderedMap::default();
        whole.put(if self.is_v6() { "Dhcp6" } else { "Dhcp4" }, top);
        whole.into()
    }

    fn used_once(&self) -> Vec<OptionKey> {
        self.used.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn interfaces(&self) -> OrderedMap {
        let names: Vec<OrderedJson> = self
            .choices
            .interfaces
            .iter()
            .map(|name| name.split_once('=').map_or(name.as_str(), |(name, _)| name).into())
            .collect();
        let names = if names.is_empty() { vec!["*".into()] } else { names };
        let mut inner = OrderedMap::default();
        inner.put("interfaces", names);
        let mut outer = OrderedMap::default();
        outer.put("interfaces-config", inner);
        let mut database = OrderedMap::default();
        database.put("type", "memfile");
        outer.put("lease-database", database);
        outer
    }

    /// Returns the members that set what dhcpd does without a statement, and the global parameters.
    fn globals(&mut self) -> OrderedMap {
        let global = &self.model.global;
        let mut map = self.lifetimes(&[global]);
        if self.is_v6() {
            self.put_server_id(&mut map);
        } else {
            map.put("authoritative", global.flag("authoritative").unwrap_or(false));
            map.put("echo-client-id", global.flag("echo-client-id").unwrap_or(false));
            if global.flag("ignore-client-uids") == Some(true) {
                map.put("match-client-id", false);
            }
            let stashes = global.flag("stash-agent-options").unwrap_or(true);
            if stashes && self.reads_relay_options() {
                map.put("stash-agent-options", true);
                map.put("store-extended-info", true);
            }
            map.append(fields(global));
        }
        map.append(self.host_modes());
        map
    }

    /// Returns true if a class looks at options of relay agents.
    fn reads_relay_options(&self) -> bool {
        let all = self.classes.iter().chain(&self.additional);
        all.into_iter().any(|class| class.text().contains("relay4["))
    }

    fn put_server_id(&self, map: &mut OrderedMap) {
        let Some(duid) = &self.model.server_duid else { return };
        let mut inner = OrderedMap::default();
        inner.put("type", duid.kind);
        inner.put_some("htype", duid.hardware_type);
        inner.put_some("time", duid.time);
        inner.put_some("enterprise-id", duid.enterprise);
        inner.put_some("identifier", duid.identifier.clone());
        map.put("server-id", inner);
    }

    fn hooks(&self) -> Vec<OrderedJson> {
        let flexible = self.flexible.iter().map(|expression| {
            let mut parameters = OrderedMap::default();
            parameters.put("identifier-expression", expression.as_str());
            let mut hook = OrderedMap::default();
            hook.put("library", "libdhcp_flex_id.so");
            hook.put("parameters", parameters);
            hook.into()
        });
        flexible.collect()
    }

    fn networks(&mut self) -> Vec<OrderedJson> {
        let mut list = Vec::new();
        for (index, network) in self.model.networks.iter().enumerate() {
            let mut map = OrderedMap::default();
            map.put("name", network.name.as_str());
            let scope = self.scope(&network.settings, &[&self.model.global], &network.name, true);
            map.append(scope);
            let key = if self.is_v6() { "subnet6" } else { "subnet4" };
            map.put(key, self.subnets_of(Some(index)));
            list.push(map.into());
        }
        list
    }

    fn subnets_of(&mut self, network: Option<usize>) -> Vec<OrderedJson> {
        let model = self.model;
        let mut list = Vec::new();
        for (index, subnet) in model.subnets.iter().enumerate() {
            if subnet.network == network {
                list.push(self.subnet(index, subnet));
            }
        }
        list
    }

    fn subnet(&mut self, index: usize, subnet: &DeclaredSubnet) -> OrderedJson {
        let prefix = format!("{}/{}", subnet.address, subnet.prefix_len);
        let mut map = OrderedMap::default();
        map.put("id", index as u64 + 1);
        map.put("subnet", prefix.as_str());
        if let Some(interface) = self.interface_of(subnet) {
            map.put("interface", interface);
        }
        let outer = self.outer_of(subnet);
        let label = format!("subnet-{}", index + 1);
        map.append(self.scope(&subnet.settings, &outer, &label, subnet.network.is_none()));
        let mut chain = outer;
        chain.push(&subnet.settings);
        self.put_pools(index, subnet, &chain, &mut map);
        let hosts = self.hosts_in(subnet, &chain);
        map.put_list("reservations", hosts);
        map.into()
    }

    /// Returns the scopes around `subnet`, the innermost last.
    fn outer_of(&self, subnet: &DeclaredSubnet) -> Vec<&'m ScopeSettings> {
        let network = subnet.network.and_then(|index| self.model.networks.get(index));
        let mut outer = vec![&self.model.global];
        outer.extend(network.map(|network| &network.settings));
        outer
    }

    /// Returns the interface that the operator names for the link of `subnet`.
    fn interface_of(&self, subnet: &DeclaredSubnet) -> Option<&'m str> {
        self.choices.interfaces.iter().find_map(|choice| {
            let (name, prefix) = choice.split_once('=')?;
            let address = prefix.split('/').next()?.parse().ok()?;
            subnet.contains(address).then_some(name)
        })
    }
}

/// Returns the members for the fields of the fixed part of DHCPv4 messages.
fn fields(settings: &ScopeSettings) -> OrderedMap {
    let mut map = OrderedMap::default();
    map.put_some("next-server", settings.text("next-server"));
    map.put_some("server-hostname", settings.text("server-name"));
    map.put_some("boot-file-name", settings.text("filename"));
    map
}

/// Parameters that set fields of the fixed part of DHCPv4 messages.
const FIELD_PARAMETERS: [&str; 3] = ["next-server", "server-name", "filename"];

/// Returns the names of the options and fields that `settings` set, to compare scopes.
fn setting_names(
    registry: &OptionRegistry,
    settings: &ScopeSettings,
    outer: &[&ScopeSettings],
) -> BTreeSet<String> {
    let options = settings.resolved(registry, outer);
    let names = options.keys().map(option_setting);
    let parameters = settings.parameters.keys().filter(|name| FIELD_PARAMETERS.contains(name));
    names.chain(parameters.map(|name| (*name).to_owned())).collect()
}

/// Returns the name of the option `key` among the names of settings.
fn option_setting(key: &OptionKey) -> String {
    format!("{}.{}", key.0, key.1)
}
