//! Reservations of hosts.

use core::net::IpAddr;

use super::lifetime::has_lifetimes;
use super::{ConfigWriter, fields};
use crate::json::{OrderedJson, OrderedMap};
use crate::model::{DeclaredHost, DeclaredIdentifier, DeclaredSubnet};
use crate::settings::{PermittedClients, ScopeSettings};

impl ConfigWriter<'_> {
    /// Returns the reservations in `subnet`, whose scopes are `chain`: those of hosts with an
    /// address of the subnet.
    pub(super) fn hosts_in(
        &mut self,
        subnet: &DeclaredSubnet,
        chain: &[&ScopeSettings],
    ) -> Vec<OrderedJson> {
        let model = self.model;
        let mut list = Vec::new();
        for host in &model.hosts {
            let addresses: Vec<IpAddr> =
                host.addresses.iter().copied().filter(|own| subnet.contains(*own)).collect();
            let is_prefix_host = host.addresses.is_empty()
                && !host.prefixes.is_empty()
                && self.is_first_subnet(subnet);
            if addresses.is_empty() && !is_prefix_host {
                continue;
            }
            for identifier in &host.identifiers {
                let mut map = self.reservation(host, identifier);
                if self.is_v6() {
                    let texts = addresses.iter().map(|own| own.to_string().into()).collect();
                    map.put_list("ip-addresses", texts);
                    map.put_list("prefixes", prefixes(host));
                } else {
                    map.put_some("ip-address", addresses.first().map(ToString::to_string));
                }
                self.put_host_content(host, chain, &mut map);
                list.push(map.into());
            }
        }
        list
    }

    fn is_first_subnet(&self, subnet: &DeclaredSubnet) -> bool {
        self.model.subnets.first().is_some_and(|first| core::ptr::eq(first, subnet))
    }

    /// Returns the reservations of hosts without an address, and of those that pools need to know.
    pub(super) fn global_hosts(&mut self) -> Vec<OrderedJson> {
        let model = self.model;
        let needs_known = self.needs_known();
        let mut list = Vec::new();
        for host in &model.hosts {
            if host.identifiers.is_empty() {
                let effect = "nothing identifies the host";
                self.findings.note(host.at, format!("host {}", host.name), effect, "nothing to do");
            }
            let in_no_subnet =
                |address: &&IpAddr| !model.subnets.iter().any(|subnet| subnet.contains(**address));
            for address in host.addresses.iter().filter(in_no_subnet) {
                let effect = format!("{address} is in no subnet of the file");
                let help = "declare the subnet, or reserve another address";
                self.findings.note(host.at, format!("host {}", host.name), effect, help);
            }
            let is_bare = host.addresses.is_empty() && host.prefixes.is_empty();
            if !is_bare && !needs_known && host.settings.ignored.is_none() {
                continue;
            }
            for identifier in &host.identifiers {
                let mut map = self.reservation(host, identifier);
                if host.settings.ignored.is_some() {
                    map.put("client-classes", vec!["DROP".into()]);
                }
                if is_bare {
                    self.put_host_content(host, &[&model.global], &mut map);
                }
                list.push(map.into());
            }
        }
        self.has_global_hosts = !list.is_empty();
        list
    }

    /// Returns true if it matters whether a client has a host declaration.
    fn needs_known(&self) -> bool {
        let model = self.model;
        let pools = model.subnets.iter().flat_map(|subnet| &subnet.pools);
        let scopes = core::iter::once(&model.global)
            .chain(model.networks.iter().map(|network| &network.settings))
            .chain(model.subnets.iter().map(|subnet| &subnet.settings))
            .chain(pools.map(|pool| &pool.settings));
        let is_about_hosts = |scope: &ScopeSettings| {
            scope.flag("boot-unknown-clients") == Some(false)
                || scope.permits.iter().any(|permit| {
                    matches!(permit.clients, PermittedClients::Known | PermittedClients::Unknown)
                })
        };
        let mut scopes = scopes;
        let all = self.classes.iter().chain(&self.additional);
        scopes.any(is_about_hosts) || all.into_iter().any(|class| class.text().contains("'KNOWN'"))
    }

    fn reservation(&mut self, host: &DeclaredHost, identifier: &DeclaredIdentifier) -> OrderedMap {
        let mut map = OrderedMap::default();
        map.put(identifier.kind, identifier.value.as_str());
        if let Some(expression) = &identifier.flexible {
            let known = self.flexible.get_or_insert_with(|| expression.clone());
            if known != expression {
                let effect = "hosts are recognized by several options";
                let help = "write one expression of the hook library `flex_id` for all of them";
                self.findings.note(host.at, "host-identifier", effect, help);
            }
        }
        map
    }

    fn put_host_content(
        &mut self,
        host: &DeclaredHost,
        chain: &[&ScopeSettings],
        map: &mut OrderedMap,
    ) {
        let uses_name = core::iter::once(&host.settings)
            .chain(chain.iter().rev().copied())
            .find_map(|scope| scope.flag("use-host-decl-names"));
        // A host name that is an option takes precedence.
        let name_key = ("dhcp".to_owned(), 12);
        let has_name = host.settings.options.contains_key(&name_key)
            || chain.iter().any(|scope| scope.options.contains_key(&name_key));
        if uses_name == Some(true) && !has_name {
            map.put("hostname", host.name.as_str());
        }
        if let [first, ..] = &host.settings.branches[..] {
            let effect = "settings of the host depend on a condition";
            let help = "write a client class, and name it in the reservation";
            self.findings.note(first.at, "if", effect, help);
        }
        self.note_server_options(&host.settings);
        map.append(fields(&host.settings));
        let options = host.settings.resolved(self.registry, chain);
        map.put_list("option-data", self.option_data(&options));
    }

    /// Adds the classes of hosts that have lifetimes of their own.
    pub(super) fn host_classes(&mut self) {
        let model = self.model;
        for host in model.hosts.iter().filter(|host| has_lifetimes(&host.settings)) {
            let tests: Vec<String> = host
                .identifiers
                .iter()
                .filter_map(|identifier| {
                    let digits = identifier.value.replace(':', "");
                    match identifier.kind {
                        "hw-address" if !self.is_v6() => Some(format!("pkt4.mac == 0x{digits}")),
                        "client-id" => Some(format!("option[61].hex == 0x{digits}")),
                        "duid" => Some(format!("option[1].hex == 0x{digits}")),
                        _ => None,
                    }
                })
                .collect();
            if tests.is_empty() {
                let effect = "the host's leases have lifetimes of their own";
                let help = "write a client class with the lifetimes";
                self.findings.note(host.at, format!("host {}", host.name), effect, help);
                continue;
            }
            let mut class = OrderedMap::default();
            class.put("name", format!("host-{}", host.name));
            class.put("test", tests.join(" or "));
            class.append(self.class_lifetimes(&[&model.global, &host.settings]));
            self.classes.push(class.into());
        }
    }

    /// Returns the members that say where the server looks for reservations.
    pub(super) fn host_modes(&self) -> OrderedMap {
        let mut map = OrderedMap::default();
        let hosts = &self.model.hosts;
        if hosts.is_empty() {
            return map;
        }
        if self.has_global_hosts {
            map.put("reservations-global", true);
            map.put("reservations-in-subnet", true);
        }
        let has_several = hosts.iter().any(|host| host.identifiers.len() > 1);
        let mut addresses: Vec<&IpAddr> = hosts.iter().flat_map(|host| &host.addresses).collect();
        let count = addresses.len();
        addresses.sort();
        addresses.dedup();
        if has_several || addresses.len() < count {
            map.put("ip-reservations-unique", false);
        }
        let kinds = if self.is_v6() {
            &["duid", "hw-address"][..]
        } else {
            &["client-id", "hw-address", "circuit-id"]
        };
        let flexible = self.flexible.as_ref().map(|_| "flex-id");
        let kinds = kinds.iter().copied().chain(flexible).map(OrderedJson::from).collect();
        map.put_list("host-reservation-identifiers", kinds);
        map
    }
}

fn prefixes(host: &DeclaredHost) -> Vec<OrderedJson> {
    host.prefixes.iter().map(|(address, len)| format!("{address}/{len}").into()).collect()
}
