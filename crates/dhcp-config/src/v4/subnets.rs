//! `subnet4` and `shared-networks`.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use super::other_keys;
use super::pools::{self, PlacedRange};
use super::scope::Scope;
use super::types::{Network4, Subnet4};
use crate::fields::{Fields, address_of, text_of};
use crate::json::{Entry, Value};
use crate::source::{At, Findings, Placed};

/// The highest identifier of a subnet; Kea keeps the next one for itself.
const MAX_SUBNET_ID: i64 = 0xffff_fffe;

/// The subnets and networks read so far, and what later ones must not repeat.
pub(super) struct Subnets<'f> {
    findings: &'f mut Findings,
    pub(super) list: Vec<Subnet4>,
    pub(super) networks: Vec<Network4>,
    ids: BTreeMap<u32, At>,
    prefixes: BTreeMap<(Ipv4Addr, u8), At>,
    names: BTreeMap<String, At>,
    ranges: Vec<PlacedRange>,
    /// The next number for a subnet without `id`: Kea counts those alone.
    next_id: u32,
    /// The first subnet without `id`, and how many there are.
    unnumbered: Option<(At, u32)>,
}

/// A subnet's own settings that its network has a say in.
struct Member {
    interface: Option<Placed<String>>,
    authoritative: Option<Placed<bool>>,
}

impl<'f> Subnets<'f> {
    pub(super) fn new(findings: &'f mut Findings) -> Self {
        Self {
            findings,
            list: Vec::new(),
            networks: Vec::new(),
            ids: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            names: BTreeMap::new(),
            ranges: Vec::new(),
            next_id: 1,
            unnumbered: None,
        }
    }

    /// Reads one element of `shared-networks`.
    pub(super) fn read_network(&mut self, item: &Value, global: &Scope) {
        let Some(mut fields) = Fields::of(item, "a shared network", self.findings) else { return };
        let name = self.network_name(&mut fields);
        let own = Scope::read(&mut fields, self.findings);
        let interface = interface(&mut fields, self.findings);
        let relay_addresses = relay(&mut fields, self.findings);
        let members = fields.list("subnet4", self.findings);
        super::godwit::refuse_inside(fields.context(self.findings), self.findings);
        other_keys::finish(fields, other_keys::NETWORK, self.findings);

        let own_lifetime = own.own_lifetime();
        let scope = own.inside(global);
        scope.lifetime(&own_lifetime, self.findings);
        let authoritative = scope.authoritative.is_some_and(|placed| placed.value);
        let index = self.networks.len();
        let first = self.list.len();
        let mut shared = interface.clone();
        for member in members {
            let Some(own) = self.read_subnet(member, &scope, Some(index)) else { continue };
            let subnet = self.list.last_mut().expect("a subnet was added");
            if subnet.relay_addresses.is_empty() {
                subnet.relay_addresses.clone_from(&relay_addresses);
            }
            if subnet.interface.is_none() {
                subnet.interface = interface.as_ref().map(|placed| placed.value.clone());
            }
            check_member(own, &mut shared, authoritative, self.findings);
        }
        self.networks.push(Network4 {
            name,
            subnets: (first..self.list.len()).collect(),
            interface: interface.map(|placed| placed.value),
            relay_addresses,
            authoritative,
        });
    }

    fn network_name(&mut self, fields: &mut Fields<'_>) -> String {
        let name = fields.text("name", self.findings);
        let at = name.map_or(fields.at, |name| name.at);
        if name.is_none_or(|name| name.value.is_empty()) {
            self.findings.error(at, "a shared network needs a `name`");
            return String::new();
        }
        let name = name.map_or(String::new(), |name| name.value.to_owned());
        if let Some(&other) = self.names.get(&name) {
            let message = format!("shared network `{name}` exists already");
            self.findings.error_seen(at, message, "the other is at", other);
        } else {
            self.names.insert(name.clone(), at);
        }
        name
    }

    /// Reads one element of a `subnet4` list and adds it; `None` when there is nothing to add.
    fn read_subnet(
        &mut self,
        item: &Value,
        outer: &Scope,
        network: Option<usize>,
    ) -> Option<Member> {
        let mut fields = Fields::of(item, "a subnet", self.findings)?;
        let prefix = self.prefix(&mut fields);
        let id = self.id(&mut fields);
        let own = Scope::read(&mut fields, self.findings);
        let member = Member {
            interface: interface(&mut fields, self.findings),
            authoritative: own.authoritative,
        };
        let relay_addresses = relay(&mut fields, self.findings);
        let pool_items = fields.list("pools", self.findings);
        super::godwit::refuse_inside(fields.context(self.findings), self.findings);
        other_keys::finish(fields, other_keys::SUBNET, self.findings);

        let own_lifetime = own.own_lifetime();
        let mut subnet = own.inside(outer).subnet(&own_lifetime, self.findings);
        subnet.id = id;
        subnet.network = network;
        subnet.interface = member.interface.as_ref().map(|placed| placed.value.clone());
        subnet.relay_addresses = relay_addresses;
        let prefix = prefix?;
        subnet.prefix = prefix.value;
        let place = (&subnet, self.list.len());
        let pools = pools::read(pool_items, place, prefix.at, &mut self.ranges, self.findings);
        subnet.pools = pools;
        self.list.push(subnet);
        Some(member)
    }

    /// Reads one element of the global `subnet4` list.
    pub(super) fn read_global(&mut self, item: &Value, global: &Scope) {
        self.read_subnet(item, global, None);
    }

    fn prefix(&mut self, fields: &mut Fields<'_>) -> Option<Placed<(Ipv4Addr, u8)>> {
        let Some(text) = fields.text("subnet", self.findings) else {
            if fields.take("subnet").is_none() {
                let help = "write it as `\"subnet\": \"192.0.2.0/24\"`";
                self.findings.error_help(fields.at, "a subnet lacks `subnet`", help);
            }
            return None;
        };
        let Some((address, length)) = pools::prefix(text.value) else {
            let message = format!("`{}` is not a prefix", text.value);
            self.findings.error_help(text.at, message, "write it as `192.0.2.0/24`");
            return None;
        };
        let network = pools::masked(address, length);
        if network != address {
            let message = format!("prefix {address}/{length} has host bits");
            self.findings.warn_help(text.at, message, format!("{network}/{length} is used"));
        }
        let prefix = (network, length);
        if let Some(&other) = self.prefixes.get(&prefix) {
            let message = format!("prefix {network}/{length} has a subnet already");
            self.findings.error_seen(text.at, message, "the other is at", other);
        } else {
            self.prefixes.insert(prefix, text.at);
        }
        Some(Placed { value: prefix, at: text.at })
    }

    /// The identifier of a subnet; without one, or with 0, Kea 2 counts from 1.
    fn id(&mut self, fields: &mut Fields<'_>) -> u32 {
        let given = fields.integer("id", i64::MIN..=i64::MAX, self.findings);
        if given.is_none() && fields.take("id").is_some() {
            // Of the wrong kind: reported, and not to be counted.
            return 0;
        }
        if let Some(given) = given.filter(|id| !(0..=MAX_SUBNET_ID).contains(&id.value)) {
            let message = format!("subnet id {} is not from 1 to {MAX_SUBNET_ID}", given.value);
            self.findings.error(given.at, message);
            return 0;
        }
        let (id, at) = match given {
            Some(Placed { value: id @ 1.., at }) => (id as u32, at),
            _ => {
                let at = given.map_or(fields.at, |given| given.at);
                let (first, count) = self.unnumbered.unwrap_or((at, 0));
                self.unnumbered = Some((first, count + 1));
                self.next_id += 1;
                (self.next_id - 1, at)
            }
        };
        if let Some(&other) = self.ids.get(&id) {
            let message = format!("subnet id {id} is used already");
            self.findings.error_seen(at, message, "the other is at", other);
        } else {
            self.ids.insert(id, at);
        }
        id
    }

    /// The checks that need all subnets.
    pub(super) fn finish(mut self) -> (Vec<Subnet4>, Vec<Network4>) {
        if let Some((at, count)) = self.unnumbered {
            let message = match count {
                1 => "this subnet has no `id`: it is numbered automatically".to_owned(),
                _ => format!("{count} subnets have no `id`, this one first: they are numbered"),
            };
            let help = "leases are stored under the `id`, which moves when subnets are added; \
                        Kea 3 demands one";
            self.findings.warn_help(at, message, help);
        }
        pools::refuse_overlaps(&mut self.ranges, self.findings);
        (self.list, self.networks)
    }
}

/// Members of a network share its link: one interface, one answer to strangers.
fn check_member(
    member: Member,
    shared: &mut Option<Placed<String>>,
    authoritative: bool,
    findings: &mut Findings,
) {
    if let Some(own) = member.authoritative.filter(|own| own.value != authoritative) {
        let message = format!("`authoritative` is {authoritative} for the shared network");
        findings.error_help(own.at, message, "its subnets have to agree with it");
    }
    match (member.interface, &*shared) {
        (Some(own), Some(other)) if own.value != other.value => {
            let message = format!(
                "interface `{}` differs from `{}` elsewhere in the shared network",
                own.value, other.value
            );
            findings.error_seen(own.at, message, "the other is at", other.at);
        }
        (own @ Some(_), None) => *shared = own,
        _ => {}
    }
}

/// `interface`; an empty one counts as not set.
fn interface(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Placed<String>> {
    let text = fields.text("interface", findings).filter(|text| !text.value.is_empty())?;
    Some(Placed { value: text.value.to_owned(), at: text.at })
}

/// `relay`: a map with the list `ip-addresses`, or with the older single `ip-address`.
fn relay(fields: &mut Fields<'_>, findings: &mut Findings) -> Vec<Ipv4Addr> {
    let Some(Entry { value, .. }) = fields.take("relay") else { return Vec::new() };
    let Some(mut fields) = Fields::of(value, "`relay`", findings) else { return Vec::new() };
    let single = fields.address("ip-address", findings);
    let several = fields.take("ip-addresses");
    if let (Some(single), Some(several)) = (single, several) {
        let message = "`relay` has both `ip-address` and `ip-addresses`";
        findings.error_seen(several.at, message, "the other is at", single.at);
    }
    let mut addresses: Vec<Ipv4Addr> = single.iter().map(|single| single.value).collect();
    for item in fields.list("ip-addresses", findings) {
        let address = text_of(item, "ip-addresses", findings)
            .and_then(|text| address_of(text, "ip-addresses", findings));
        let Some(address) = address else { continue };
        if addresses.contains(&address.value) {
            findings.error(address.at, format!("{} is in this list already", address.value));
        } else {
            addresses.push(address.value);
        }
    }
    fields.finish(findings);
    addresses
}
