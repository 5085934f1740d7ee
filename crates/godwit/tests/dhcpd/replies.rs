//! Replies of two servers to the same clients, and their differences.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dhcp_wire::{v4, v6};
use scenario::ScenarioFamily;
use serde_json::Value;

/// Request and the reply to it.
pub(crate) struct RecordedReply {
    pub(crate) request: Vec<u8>,
    pub(crate) reply: Option<Vec<u8>>,
}

/// Pools of addresses and prefixes of a configuration.
pub(super) struct ResourcePools {
    ranges: Vec<(IpAddr, IpAddr)>,
}

impl ResourcePools {
    /// Returns the pools of the configuration `text`.
    pub(super) fn of(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).expect("the conversion writes JSON");
        let mut ranges = Vec::new();
        collect(&value, &mut ranges);
        Self { ranges }
    }

    /// Returns the pool of `address`, from which servers choose as they like; the address itself if
    /// it is in none.
    fn place(&self, address: IpAddr) -> String {
        let pool = self.ranges.iter().position(|(first, last)| (*first..=*last).contains(&address));
        pool.map_or_else(|| address.to_string(), |pool| format!("pool {pool}"))
    }
}

fn collect(value: &Value, ranges: &mut Vec<(IpAddr, IpAddr)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, ranges)),
        Value::Object(members) => {
            if let Some((first, last)) =
                members.get("pool").and_then(Value::as_str).and_then(|pool| pool.split_once(" - "))
            {
                let address = |text: &str| text.parse().expect("the conversion writes addresses");
                ranges.push((address(first), address(last)));
            }
            if let (Some(Value::String(prefix)), Some(len)) =
                (members.get("prefix"), members.get("prefix-len").and_then(Value::as_u64))
            {
                let first: std::net::Ipv6Addr = prefix.parse().expect("the conversion writes it");
                let host = u128::MAX.checked_shr(len as u32).unwrap_or_default();
                let last = std::net::Ipv6Addr::from_bits(first.to_bits() | host);
                ranges.push((first.into(), last.into()));
            }
            members.values().for_each(|member| collect(member, ranges));
        }
        _ => {}
    }
}

/// Returns the differences between the replies of dhcpd, `theirs`, and of Godwit, `ours`.
pub(super) fn differences(
    family: ScenarioFamily,
    pools: &ResourcePools,
    theirs: &[RecordedReply],
    ours: &[RecordedReply],
) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.len() != ours.len() {
        found.push(format!("dhcpd sent {} replies, godwit {}", theirs.len(), ours.len()));
    }
    for (step, (their, our)) in (1..).zip(theirs.iter().zip(ours)) {
        let fields = |record: &RecordedReply| match (family, &record.reply) {
            (_, None) => BTreeMap::new(),
            (_, Some(reply)) if record.request.is_empty() => {
                BTreeMap::from([("late".to_owned(), hexadecimal(reply.iter().copied()))])
            }
            (ScenarioFamily::V4, Some(reply)) => fields4(&record.request, reply, pools),
            (ScenarioFamily::V6, Some(reply)) => fields6(reply, pools),
        };
        let (theirs, ours) = (fields(their), fields(our));
        let names: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
        for name in names {
            let shown = |fields: &BTreeMap<String, String>| {
                fields.get(name).cloned().unwrap_or_else(|| "nothing".to_owned())
            };
            let (their, our) = (shown(&theirs), shown(&ours));
            if their != our {
                found.push(format!("step {step}: {name}: dhcpd {their}, godwit {our}"));
            }
        }
    }
    found
}

fn hexadecimal(octets: impl IntoIterator<Item = u8>) -> String {
    octets.into_iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns what a client notices of a DHCPv4 reply. As Kea, Godwit sends T1 and T2 (58, 59) to each
/// client, dhcpd to those that request them; Godwit repeats the client's host name (12), and dhcpd
/// explains a refusal (56).
fn fields4(request: &[u8], reply: &[u8], pools: &ResourcePools) -> BTreeMap<String, String> {
    let message = v4::Message::parse(reply).expect("servers send whole messages");
    let request = v4::Message::parse(request).expect("the scenario made it");
    let requested: Vec<u8> =
        request.option(55).map(|list| list.octets().collect()).unwrap_or_default();
    let until_zero = |field: &[u8]| {
        let text: Vec<u8> = field.iter().copied().take_while(|&octet| octet != 0).collect();
        String::from_utf8_lossy(&text).into_owned()
    };
    let is_refusal = message.message_type() == Some(v4::MessageType::Nak);
    let is_left_out = |code: u8| match code {
        53 => true,
        58 | 59 => !requested.contains(&code),
        12 => request.option(12).is_some(),
        56 => is_refusal,
        _ => false,
    };
    let mut fields = BTreeMap::new();
    let mut put = |name: &str, value: String| fields.insert(name.to_owned(), value);
    put("type", format!("{:?}", message.message_type()));
    put("yiaddr", pools.place(message.yiaddr().into()));
    put("siaddr", message.siaddr().to_string());
    put("sname", until_zero(message.sname()));
    put("file", until_zero(message.file()));
    for code in 1..=254_u8 {
        if is_left_out(code) {
            continue;
        }
        if let Some(value) = message.option(code) {
            put(&format!("option {code:3}"), hexadecimal(value.octets()));
        }
    }
    fields
}

/// Returns what a client notices of a DHCPv6 reply.
fn fields6(reply: &[u8], pools: &ResourcePools) -> BTreeMap<String, String> {
    let packet = v6::Packet::parse(reply).expect("servers send whole messages");
    let message = packet.message();
    let mut fields = BTreeMap::new();
    let mut put = |name: String, value: String| fields.insert(name, value);
    put("type".to_owned(), message.message_type().name().to_owned());
    put("status".to_owned(), format!("{:?}", message.status().map(|(code, _)| code)));
    for ia in message.ias() {
        let name = format!("{:?} {}", ia.kind, ia.iaid);
        put(
            name.clone(),
            format!("{} {} {:?}", ia.t1_s, ia.t2_s, ia.status().map(|(code, _)| code)),
        );
        for item in ia.addresses() {
            let place = pools.place(item.address.into());
            put(format!("{name} {place}"), format!("{} {}", item.preferred_s, item.valid_s));
        }
        for item in ia.prefixes() {
            let place = pools.place(item.prefix.into());
            let text = format!("/{} {} {}", item.len, item.preferred_s, item.valid_s);
            put(format!("{name} {place}"), text);
        }
    }
    // Identifiers of the servers differ; the rest of these is above.
    let others = (4..=300_u16).filter(|code| ![5, 13, 25, 26].contains(code));
    for code in others {
        if let Some(value) = message.option(code) {
            put(format!("option {code:3}"), hexadecimal(value.iter().copied()));
        }
    }
    fields
}
