//! Family DHCPv6 of the comparison: a sequence has the prefix 2001:db8:x::/48. In its texts `@:` is
//! replaced by the beginning of its addresses, `@mac1` and `@duid1` by identifiers of client 1,
//! `@net` by a name, and `@id` by the digits of that name. In its bytes `$net` is replaced by the
//! six of the prefix, `$mac` and `$duid` by the client's identifiers, `$server` by the server's,
//! and `$naa` or `$pdb` by the address of the client's first IA_NA or the prefix of its second
//! IA_PD.

mod commands;
mod fields;
mod free;
mod generate;
mod messages;
mod steps;

use std::net::Ipv6Addr;

use base::Random;
use scenario::ScenarioFamily;
use serde_json::{Value, json};

use super::choices::CLIENTS;
use super::held::ClientMessage;
use super::networks::AssociationCounts;
use super::protocol::{ChoiceComparison, DifferProtocol, SequenceHistory};
use super::value::{Fields, Learned, hex};

/// Number of DHCPv6 links with clients on them, and of sequences at a time.
pub(super) const DIRECT_LINKS: usize = 24;

/// Link address of the relay agent of the link that every configuration has.
pub(super) const LAST_RELAY_LINK: &str = "2001:db8:fff0::1";

/// Protocol DHCPv6, through relay agents on loopback or on links of its own.
pub(super) struct Dhcpv6 {
    is_on_links: bool,
}

/// Protocol DHCPv6 through relay agents that name the link.
pub(super) static V6: Dhcpv6 = Dhcpv6 { is_on_links: false };

/// Protocol DHCPv6 without relay agents and through relay agents of every sort, on links.
pub(super) static V6_ON_LINKS: Dhcpv6 = Dhcpv6 { is_on_links: true };

/// Returns the link-local address of a client, made of its link-layer address (RFC 4291 appendix
/// A).
pub(super) fn link_local(index: usize, client: u64) -> Ipv6Addr {
    messages::link_local(&mac(index, client)).unwrap_or(Ipv6Addr::LOCALHOST)
}

/// Returns the global address of the relay agents of a link.
pub(super) fn global_relay(index: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, index as u16 + 1, 0, 0, 0, 0, 0xff)
}

/// Returns the link-layer address of a client (locally administered).
fn mac(index: usize, client: u64) -> Vec<u8> {
    let [.., high, low] = index.to_be_bytes();
    vec![2, 0, high, low, 0, client as u8]
}

/// Returns the DUID of a client: each client of a sequence has one of another type (RFC 9915 §11).
fn duid(index: usize, client: u64) -> Vec<u8> {
    let begin: &[u8] = match client {
        1 => &[0, 3, 0, 1],
        2 => &[0, 1, 0, 1, 0x2d, 0, 0, 0],
        _ => &[0, 2, 0, 0, 0x7e, 0xd9],
    };
    [begin, &mac(index, client)].concat()
}

/// Returns `octets` as pairs of hexadecimal digits with colons between them.
fn colons(octets: &[u8]) -> String {
    let pairs: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    pairs.join(":")
}

/// Returns the subnets in the scope of a sequence.
fn subnets(scope: &Value) -> &[Value] {
    let subnets = scope["subnet6"].as_array();
    subnets.map_or_else(|| std::slice::from_ref(scope), Vec::as_slice)
}

/// Returns the reservations of all subnets in the scope of a sequence.
fn hosts(scope: &Value) -> impl Iterator<Item = &Value> {
    subnets(scope).iter().filter_map(|subnet| subnet["reservations"].as_array()).flatten()
}

/// Returns the number of the subnet of `scope` that the relay agents `relay` select, the first one
/// where classes of the client decide: by the interface that the one nearest to the client names,
/// which all subnets have, by an address of their own in `relay` of a subnet, or by the subnet of
/// the link.
fn selected_number(scope: &Value, relay: &Value) -> u16 {
    let levels = relay.as_array().map_or(&[][..], Vec::as_slice);
    let nearest = levels.first().and_then(|level| level["options"].as_array());
    let mut options = nearest.into_iter().flatten();
    let names_interface = options.any(|option| option[0] == 18 && option[1] == "@id");
    if names_interface && scope.to_string().contains("\"interface-id\"") {
        return 0;
    }
    let mut links = levels.iter().filter_map(|level| level["link"].as_str());
    let link = links.find(|link| *link != "::").unwrap_or_default();
    if link == "@:f::1" {
        let has_it = |subnet: &Value| !subnet["relay"].is_null();
        return subnets(scope).iter().position(has_it).unwrap_or_default() as u16;
    }
    u16::from(link.starts_with("@:1"))
}

impl DifferProtocol for Dhcpv6 {
    fn at_a_time(&self) -> usize {
        if self.is_on_links { DIRECT_LINKS } else { 100 }
    }

    fn family(&self) -> ScenarioFamily {
        ScenarioFamily::V6
    }

    fn globals(&self, random: &mut Random) -> Value {
        generate::globals(random)
    }

    fn sequence(&self, random: &mut Random) -> Value {
        if self.is_on_links {
            generate::sequence_on_links(random)
        } else {
            generate::sequence(random)
        }
    }

    fn marks(&self, index: usize) -> Vec<(String, String)> {
        let name = format!("net{index}");
        let own = [
            ("@:".to_owned(), format!("2001:db8:{:x}:", index + 1)),
            ("@id".to_owned(), hex(name.as_bytes())),
            ("@net".to_owned(), name),
            ("@if".to_owned(), format!("s{index}")),
        ];
        let clients = (1..=CLIENTS).flat_map(|client| {
            [
                (format!("@mac{client}"), colons(&mac(index, client))),
                (format!("@duid{client}"), colons(&duid(index, client))),
            ]
        });
        own.into_iter().chain(clients).collect()
    }

    fn learned_marks(&self, clients: &[Learned]) -> Vec<(String, String)> {
        let mark = |(number, learned): (usize, &Learned), name: &str| {
            let given = learned.get(name).map(Vec::as_slice);
            let none = learned
                .get("net")
                .map(|net| [net.as_slice(), &[0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
            let octets = given.or(none.as_deref())?;
            let address = octets.get(octets.len().checked_sub(16)?..)?;
            let address = Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?);
            Some((format!("@{name}{}", number + 1), address.to_string()))
        };
        let all = clients.iter().enumerate();
        all.flat_map(|client| ["naa", "pda"].map(|name| mark(client, name))).flatten().collect()
    }

    fn base(&self) -> Value {
        // Kea repeats a lease only if at least a second has passed since it gave it: this differs
        // between runs.
        json!({
            "cache-threshold": 0.0,
            "server-id": { "type": "EN", "enterprise-id": 32473, "identifier": "0102030405060708",
                           "persist": false },
            "subnet6": [{
                "id": 9_999,
                "subnet": "2001:db8:fff0::/64",
                "pools": [{ "pool": "2001:db8:fff0::9 - 2001:db8:fff0::9" }],
            }],
        })
    }

    fn clients(&self, index: usize) -> Vec<Learned> {
        let [.., high, low] = (index + 1).to_be_bytes();
        let client = |number: u64| {
            Learned::from([
                ("mac", mac(index, number)),
                ("duid", duid(index, number)),
                ("net", vec![0x20, 1, 0xd, 0xb8, high, low]),
            ])
        };
        (1..=CLIENTS).map(client).collect()
    }

    fn message(&self, step: &Value, relay: &Value, xid: u32, learned: &Learned) -> Vec<u8> {
        messages::message(step, relay, xid, learned)
    }

    fn last_messages(&self, xid: u32) -> [Vec<u8>; 2] {
        let relay = json!([{ "link": LAST_RELAY_LINK }]);
        let learned = Learned::from([("duid", vec![0, 3, 0, 1, 2, 0, 0xff, 0xff, 0, 1])]);
        // The server's identifier comes from the configuration.
        [(1, json!([])), (3, json!([[2, "000200007ed90102030405060708"]]))].map(
            |(kind, options)| {
                let step = json!({
                    "type": kind, "ias": [{ "kind": "na", "iaid": 1 }], "options": options,
                });
                messages::message(&step, &relay, xid, &learned)
            },
        )
    }

    fn xid(&self, message: &[u8]) -> Option<u32> {
        fields::xid(message)
    }

    fn fields(&self, message: &[u8]) -> Fields {
        fields::fields(message)
    }

    fn learn(&self, reply: &[u8], learned: &mut Learned) {
        messages::learn(reply, learned);
    }

    fn client_message(&self, message: &[u8], learned: &Learned) -> ClientMessage {
        let name = messages::sent_name(message, learned);
        let is_release = name.starts_with("RELEASE");
        let identifier = |name: &&str| learned.get(*name).map(|octets| colons(octets));
        let host_identifiers = ["mac", "duid"].iter().filter_map(identifier).collect();
        ClientMessage { name, is_release, host_identifiers, ..ClientMessage::default() }
    }

    fn is_reserved_for_it(
        &self,
        globals: &Value,
        scope: &Value,
        client_message: &ClientMessage,
        _leased: &str,
    ) -> bool {
        let looked_up = globals["host-reservation-identifiers"].as_array();
        let is_looked_up =
            |kind: &str| looked_up.is_none_or(|kinds| kinds.iter().any(|one| one == kind));
        let own: Vec<&str> = hosts(scope)
            .filter_map(|host| {
                ["hw-address", "duid"].into_iter().find(|kind| {
                    let mut identifiers = client_message.host_identifiers.iter();
                    identifiers.any(|own| host[*kind] == *own.as_str())
                })
            })
            .collect();
        own.len() > 1 || own.iter().any(|kind| !is_looked_up(kind))
    }

    fn is_offer(&self, _: &Fields) -> bool {
        // Names of messages contain earlier offers.
        false
    }

    fn reply_name(&self, reply: &Fields) -> String {
        messages::type_name(reply)
    }

    fn reply_gist(&self, reply: &Fields) -> String {
        messages::gist(reply)
    }

    fn status_fields(&self) -> &'static [&'static str] {
        &messages::STATUSES
    }

    fn leased_fields(&self) -> &'static [&'static str] {
        &messages::LEASED_FIELDS
    }

    fn is_from_another_subnet(&self, scope: &Value, relay: &Value, reply: &Fields) -> bool {
        let selected = selected_number(scope, relay);
        messages::given_numbers(reply).any(|number| number != selected)
    }

    fn association_counts(&self, reply: &Fields) -> AssociationCounts {
        messages::association_counts(reply)
    }

    fn compare_choices(&self, history: &SequenceHistory<'_>) -> ChoiceComparison {
        free::compare_choices(history)
    }

    fn lifetime_fields(&self) -> &'static [&'static str] {
        &["na t1", "na t2", "na lifetimes", "pd t1", "pd t2", "pd lifetimes"]
    }
}
