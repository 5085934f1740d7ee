//! Reader of `shared-networks`, and of the link that a network or a subnet belongs to.

use std::collections::BTreeSet;

use super::class_list;
use super::classes::ClassGuards;
use super::config::NetworkConfig;
use super::subnets::{EnclosingNetwork, Scope, Scoped, Subnets};
use super::{godwit, ha_subnets, other_keys};
use crate::address::Address;
use crate::context::ParseContext;
use crate::fields::{MapReader, address_of, text_of};
use crate::json::{JsonMember, JsonValue};
use crate::source::PositionedValue;

/// Properties by which a server recognizes clients of a network or a subnet.
#[derive(Clone, Debug)]
pub(crate) struct LinkSelectors<A> {
    /// Interface of the server on whose link the clients are (`interface`).
    pub(crate) interface: Option<PositionedValue<String>>,
    /// Value of the DHCPv6 option Interface-Id (18) that relay agents send for the clients
    /// (`interface-id`).
    pub(crate) interface_id: Option<PositionedValue<Vec<u8>>>,
    /// Addresses of the relay agents of the clients (`relay.ip-addresses`).
    pub(crate) relay_addresses: Vec<A>,
    /// Classes of clients that the server may serve (`client-classes`), and classes tested once it
    /// has served them (`evaluate-additional-classes`).
    pub(crate) guards: ClassGuards,
}

impl<A> Default for LinkSelectors<A> {
    fn default() -> Self {
        let (relay_addresses, guards) = (Vec::new(), ClassGuards::default());
        Self { interface: None, interface_id: None, relay_addresses, guards }
    }
}

impl<A: Address> LinkSelectors<A> {
    /// Reads the link's properties from the map of a network or a subnet.
    pub(crate) fn read<F: Scoped<Address = A>>(
        fields: &mut MapReader<'_>,
        findings: &mut ParseContext,
    ) -> Self {
        let interface = interface(fields, findings);
        let interface_id = F::read_interface_id(fields, findings);
        if let (Some(interface), Some(id)) = (&interface, &interface_id) {
            let message = "`interface` and `interface-id` exclude each other";
            findings.error_with_second_position(id.at, message, "`interface` is at", interface.at);
        }
        let relay_addresses = relay(fields, findings);
        let guards = class_list::guards(fields, findings);
        Self { interface, interface_id, relay_addresses, guards }
    }

    /// Returns this link's properties with unset values taken from `outer`. Class guards
    /// (`client-classes`) apply in addition to those of outer scopes.
    pub(crate) fn or(mut self, outer: &Self) -> Self {
        if self.relay_addresses.is_empty() {
            self.relay_addresses.clone_from(&outer.relay_addresses);
        }
        Self {
            interface: self.interface.or_else(|| outer.interface.clone()),
            interface_id: self.interface_id.or_else(|| outer.interface_id.clone()),
            relay_addresses: self.relay_addresses,
            guards: self.guards,
        }
    }
}

impl<F: Scoped> Subnets<'_, F> {
    /// Reads one shared network, an element of `shared-networks`, and its subnets.
    pub(super) fn read_network(&mut self, item: &JsonValue, global: &Scope<F>) {
        let Some(mut fields) = MapReader::from_value(item, "a shared network", self.findings)
        else {
            return;
        };
        let name = self.network_name(&mut fields);
        let scope = Scope::<F>::read(&mut fields, self.findings);
        let link = LinkSelectors::read::<F>(&mut fields, self.findings);
        let members = fields.list(F::SUBNETS, self.findings);
        let context = fields.context(self.findings);
        godwit::refuse_inside::<F>(context, self.findings);
        let server_name = ha_subnets::server_name(context);
        other_keys::finish(fields, F::ELSEWHERE, self.findings);

        let own_keys = scope.own_keys();
        let scope = scope.inside(global);
        scope.check_lifetimes(own_keys, self.findings);
        let network = Some(self.networks.len());
        let outer = EnclosingNetwork { scope: &scope, network, link: &link, server_name };
        let mut shared = link.interface.clone();
        let mut member_keys = Vec::new();
        for member in members {
            let Some((interface, own_keys)) = self.read_subnet(member, &outer) else { continue };
            check_interface(interface, &mut shared, self.findings);
            member_keys.push(own_keys);
        }
        self.networks.push(NetworkConfig {
            name,
            subnets: Vec::new(),
            interface: link.interface.map(|setting| setting.value),
            interface_id: link.interface_id.map(|setting| setting.value),
            relay_addresses: link.relay_addresses,
            options: scope.terms.options,
            guards: link.guards,
            own: F::agree(&scope.own, &member_keys, self.findings),
        });
    }

    fn network_name(&mut self, fields: &mut MapReader<'_>) -> String {
        let name = fields.text("name", self.findings);
        let at = name.map_or(fields.at, |name| name.at);
        if name.is_none_or(|name| name.value.is_empty()) {
            self.findings.error(at, "a shared network needs a `name`");
            return String::new();
        }
        let name = name.map_or(String::new(), |name| name.value.to_owned());
        if let Some(&other) = self.names.get(&name) {
            let message = format!("shared network `{name}` exists already");
            self.findings.error_with_second_position(at, message, "the other is at", other);
        } else {
            self.names.insert(name.clone(), at);
        }
        name
    }
}

/// Checks that members of a shared network name one interface; `shared` is the first one named.
fn check_interface(
    interface: Option<PositionedValue<String>>,
    shared: &mut Option<PositionedValue<String>>,
    findings: &mut ParseContext,
) {
    match (interface, &*shared) {
        (Some(interface), Some(other)) if interface.value != other.value => {
            let message = format!(
                "interface `{}` differs from `{}` elsewhere in the shared network",
                interface.value, other.value
            );
            findings.error_with_second_position(interface.at, message, "the other is at", other.at);
        }
        (interface @ Some(_), None) => *shared = interface,
        _ => {}
    }
}

/// Reads the key `interface` of a network or a subnet; an empty text counts as not set.
fn interface(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Option<PositionedValue<String>> {
    let text = fields.text("interface", findings).filter(|text| !text.value.is_empty())?;
    Some(PositionedValue { value: text.value.to_owned(), at: text.at })
}

/// Reads the map `relay` of a network or a subnet: the list `ip-addresses`, or the older single
/// `ip-address`.
fn relay<A: Address>(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Vec<A> {
    let Some(JsonMember { value, .. }) = fields.take("relay") else { return Vec::new() };
    let Some(mut fields) = MapReader::from_value(value, "`relay`", findings) else {
        return Vec::new();
    };
    let single = fields.address::<A>("ip-address", findings);
    let several = fields.take("ip-addresses");
    if let (Some(single), Some(several)) = (single, several) {
        let message = "`relay` has both `ip-address` and `ip-addresses`";
        findings.error_with_second_position(several.at, message, "the other is at", single.at);
    }
    let mut addresses: Vec<A> = single.iter().map(|single| single.value).collect();
    let mut seen: BTreeSet<A> = addresses.iter().copied().collect();
    for item in fields.list("ip-addresses", findings) {
        let address = text_of(item, "ip-addresses", findings)
            .and_then(|text| address_of::<A>(text, "ip-addresses", findings));
        let Some(address) = address else { continue };
        if seen.insert(address.value) {
            addresses.push(address.value);
        } else {
            findings.error(address.at, format!("{} is in this list already", address.value));
        }
    }
    fields.finish(findings);
    addresses
}
