//! Family DHCPv4 of the comparison: a sequence has the addresses 10.x.y.0/24. In its texts `@.` is
//! replaced by their first three numbers, `@mac1` by the hardware address of client 1, and `@net`
//! by the name of a network; in its bytes `$net` is replaced by those three numbers.

mod commands;
mod generate;
mod messages;
mod scopes;

use std::net::Ipv4Addr;

use base::Random;
use scenario::ScenarioFamily;
use serde_json::{Value, json};

use super::choices::CLIENTS;
use super::held::{ClientMessage, PoolNumber};
use super::networks::AssociationCounts;
use super::protocol::{ChoiceComparison, DifferProtocol, SequenceHistory};
use super::value::{Fields, Learned};

/// Number of links of DHCPv4 without relay agents, and of sequences at a time.
pub(super) const DIRECT_LINKS: usize = 24;

/// Protocol DHCPv4 without relay agents.
pub(super) struct V4Direct;

/// Protocol DHCPv4 through relay agents.
pub(super) struct RelayedDhcp4;

/// Address of the relay agent of the link whose client ends a burst.
pub(super) const LAST_RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 1);

/// Prefix of that link.
pub(super) const LAST_LINK: &str = "10.255.255.0/24";

impl DifferProtocol for RelayedDhcp4 {
    fn family(&self) -> ScenarioFamily {
        ScenarioFamily::V4
    }

    fn globals(&self, random: &mut Random) -> Value {
        generate::globals(random)
    }

    fn sequence(&self, random: &mut Random) -> Value {
        generate::sequence(random)
    }

    fn marks(&self, index: usize) -> Vec<(String, String)> {
        let [high, low] = [index / 250, index % 250];
        let mac = |client: u64| {
            (format!("@mac{client}"), format!("02:00:{high:02x}:{low:02x}:00:{client:02x}"))
        };
        let own = [
            ("@.".to_owned(), format!("10.{high}.{low}.")),
            ("@net".to_owned(), format!("net{index}")),
            ("@if".to_owned(), format!("s{index}")),
        ];
        own.into_iter().chain((1..=CLIENTS).map(mac)).collect()
    }

    fn learned_marks(&self, clients: &[Learned]) -> Vec<(String, String)> {
        let mark = |(number, learned): (usize, &Learned)| {
            let octets = learned.get("address").cloned().unwrap_or_else(|| {
                [learned.get("net").map_or(&[][..], Vec::as_slice), &[99]].concat()
            });
            let address = <[u8; 4]>::try_from(octets).map(Ipv4Addr::from);
            address.ok().map(|address| (format!("@address{}", number + 1), address.to_string()))
        };
        clients.iter().enumerate().filter_map(mark).collect()
    }

    fn base(&self) -> Value {
        json!({ "subnet4": [{
            "id": 9_999,
            "subnet": LAST_LINK,
            "pools": [{ "pool": "10.255.255.9 - 10.255.255.9" }],
        }] })
    }

    fn clients(&self, index: usize) -> Vec<Learned> {
        let [high, low] = [(index / 250) as u8, (index % 250) as u8];
        let client = |number: u64| {
            let mac = vec![2, 0, high, low, 0, number as u8];
            Learned::from([("mac", mac), ("net", vec![10, high, low])])
        };
        (1..=CLIENTS).map(client).collect()
    }

    fn message(&self, step: &Value, relay: &Value, xid: u32, learned: &Learned) -> Vec<u8> {
        let relay = relay.as_str().and_then(|text| text.parse().ok());
        messages::message(step, relay.unwrap_or(Ipv4Addr::UNSPECIFIED), xid, learned)
    }

    fn last_messages(&self, xid: u32) -> [Vec<u8>; 2] {
        let message = |kind: u8, options: Value| {
            let step = json!({ "type": kind, "mac": "0200ffff0001", "options": options });
            messages::message(&step, LAST_RELAY, xid, &Learned::new())
        };
        [message(1, json!([])), message(3, json!([[50, "0affff09"], [54, "7f000001"]]))]
    }

    fn xid(&self, message: &[u8]) -> Option<u32> {
        messages::xid(message)
    }

    fn fields(&self, message: &[u8]) -> Fields {
        messages::fields(message)
    }

    fn learn(&self, reply: &[u8], learned: &mut Learned) {
        messages::learn(&messages::fields(reply), learned);
    }

    fn client_message(&self, message: &[u8], learned: &Learned) -> ClientMessage {
        messages::client_message(message, learned.contains_key("address"))
    }

    fn is_offer(&self, reply: &Fields) -> bool {
        messages::name(reply) == "OFFER"
    }

    fn reply_name(&self, reply: &Fields) -> String {
        messages::name(reply)
    }

    fn leased_fields(&self) -> &'static [&'static str] {
        &["yiaddr"]
    }

    fn pool(&self, scope: &Value, address: &str) -> Option<PoolNumber> {
        scopes::pool(scope, scopes::address(address)?)
    }

    fn is_reserved_for_another(&self, scope: &Value, client_message: &ClientMessage) -> bool {
        let address = client_message.address.as_deref().and_then(scopes::address);
        let owner = address.and_then(|at| scopes::reserved(scope, at, &client_message.identities));
        owner == Some(false)
    }

    fn is_reserved_for_it(
        &self,
        _globals: &Value,
        scope: &Value,
        client_message: &ClientMessage,
        leased: &str,
    ) -> bool {
        let address = scopes::address(leased);
        address.is_some_and(|at| scopes::is_further(scope, at, &client_message.identities))
    }

    fn longer_lifetime(&self, field: &str) -> Option<&'static str> {
        match field {
            "option 58" => Some("option 59"),
            "option 59" => Some("option 51"),
            _ => None,
        }
    }

    fn lifetime_fields(&self) -> &'static [&'static str] {
        &["option 51", "option 58", "option 59"]
    }
}

impl DifferProtocol for V4Direct {
    fn at_a_time(&self) -> usize {
        DIRECT_LINKS
    }

    fn family(&self) -> ScenarioFamily {
        ScenarioFamily::V4
    }

    fn globals(&self, random: &mut Random) -> Value {
        RelayedDhcp4.globals(random)
    }

    fn sequence(&self, random: &mut Random) -> Value {
        generate::direct_sequence(random)
    }

    fn marks(&self, index: usize) -> Vec<(String, String)> {
        RelayedDhcp4.marks(index)
    }

    fn learned_marks(&self, clients: &[Learned]) -> Vec<(String, String)> {
        RelayedDhcp4.learned_marks(clients)
    }

    fn base(&self) -> Value {
        RelayedDhcp4.base()
    }

    fn clients(&self, index: usize) -> Vec<Learned> {
        RelayedDhcp4.clients(index)
    }

    fn message(&self, step: &Value, _relay: &Value, xid: u32, learned: &Learned) -> Vec<u8> {
        messages::message(step, Ipv4Addr::UNSPECIFIED, xid, learned)
    }

    fn last_messages(&self, xid: u32) -> [Vec<u8>; 2] {
        RelayedDhcp4.last_messages(xid)
    }

    fn xid(&self, message: &[u8]) -> Option<u32> {
        messages::xid(message)
    }

    fn fields(&self, message: &[u8]) -> Fields {
        messages::fields(message)
    }

    fn learn(&self, reply: &[u8], learned: &mut Learned) {
        RelayedDhcp4.learn(reply, learned);
    }

    fn client_message(&self, message: &[u8], learned: &Learned) -> ClientMessage {
        RelayedDhcp4.client_message(message, learned)
    }

    fn is_offer(&self, reply: &Fields) -> bool {
        RelayedDhcp4.is_offer(reply)
    }

    fn reply_name(&self, reply: &Fields) -> String {
        messages::name(reply)
    }

    fn reply_gist(&self, reply: &Fields) -> String {
        RelayedDhcp4.reply_gist(reply)
    }

    fn status_fields(&self) -> &'static [&'static str] {
        RelayedDhcp4.status_fields()
    }

    fn association_counts(&self, reply: &Fields) -> AssociationCounts {
        RelayedDhcp4.association_counts(reply)
    }

    fn is_from_another_subnet(&self, scope: &Value, relay: &Value, reply: &Fields) -> bool {
        RelayedDhcp4.is_from_another_subnet(scope, relay, reply)
    }

    fn leased_fields(&self) -> &'static [&'static str] {
        RelayedDhcp4.leased_fields()
    }

    fn pool(&self, scope: &Value, address: &str) -> Option<PoolNumber> {
        RelayedDhcp4.pool(scope, address)
    }

    fn is_reserved_for_another(&self, scope: &Value, client_message: &ClientMessage) -> bool {
        RelayedDhcp4.is_reserved_for_another(scope, client_message)
    }

    fn is_reserved_for_it(
        &self,
        globals: &Value,
        scope: &Value,
        client_message: &ClientMessage,
        leased: &str,
    ) -> bool {
        RelayedDhcp4.is_reserved_for_it(globals, scope, client_message, leased)
    }

    fn compare_choices(&self, history: &SequenceHistory<'_>) -> ChoiceComparison {
        RelayedDhcp4.compare_choices(history)
    }

    fn longer_lifetime(&self, field: &str) -> Option<&'static str> {
        RelayedDhcp4.longer_lifetime(field)
    }

    fn lifetime_fields(&self) -> &'static [&'static str] {
        RelayedDhcp4.lifetime_fields()
    }
}
