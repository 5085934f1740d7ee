//! DHCPv6 messages of scenario steps as bytes, and fields of replies by name.

use std::net::Ipv6Addr;

use dhcp_wire::v6::{Ia, IaKind, Message, MessageType, MessageWriter, Packet, RelayWriter, option};

use crate::format::{Scenario, ScenarioStep};
use crate::value::{ScenarioVariables, filled, octets};

/// Maximum length of a DHCPv6 message in a scenario, in bytes.
const MESSAGE_LEN_MAX: usize = 4096;

/// Types of DHCPv6 messages that carry the server's identifier (option 2) unless a step has `"2" =
/// "none"`.
const TO_ONE_SERVER: [&str; 4] = ["REQUEST", "RENEW", "RELEASE", "DECLINE"];

/// Returns the bytes of the DHCPv6 message that `step` sends with the transaction id `xid`.
pub(crate) fn message(
    scenario: &Scenario,
    step: &ScenarioStep,
    xid: u32,
    variables: &ScenarioVariables,
) -> Result<Vec<u8>, String> {
    let mut inner = [0; MESSAGE_LEN_MAX];
    let name = step.send.as_deref().unwrap_or_default();
    let kind = MessageType::ALL.iter().find(|kind| kind.name() == name);
    let kind = *kind.ok_or_else(|| format!("`{name}` is not a DHCPv6 message type"))?;
    let mut writer = MessageWriter::new(&mut inner, kind, xid & 0xff_ffff);
    if !step.options.contains_key("1") {
        let [high, low] = step.client.to_be_bytes();
        writer.option(option::CLIENTID, &[0, 3, 0, 1, 2, 0, 0, 0, high, low]);
    }
    if TO_ONE_SERVER.contains(&name) && !step.options.contains_key("2") {
        writer.option(option::SERVERID, &octets(&filled("$server", variables)?, "hex")?);
    }
    for (code, values) in &step.options {
        let code: u16 = code.parse().map_err(|_| format!("`{code}` is not an option code"))?;
        for value in values.all().iter().filter(|value| *value != "none") {
            writer.option(code, &octets(&filled(value, variables)?, "")?);
        }
    }
    for (iaid, items) in &step.na {
        put_ia(&mut writer, IaKind::Na, iaid, items, variables)?;
    }
    for (iaid, items) in &step.pd {
        put_ia(&mut writer, IaKind::Pd, iaid, items, variables)?;
    }
    let len = writer.finish().map_err(|_| "the message is too long")?;
    relayed(scenario, step, variables, &inner[..len])
}

/// Writes an identity association (IA_NA or IA_PD) to a DHCPv6 message; its items are `ADDRESS[
/// preferred valid]` or `PREFIX/LEN[ preferred valid]`.
fn put_ia(
    writer: &mut MessageWriter<'_>,
    kind: IaKind,
    iaid: &str,
    items: &[String],
    variables: &ScenarioVariables,
) -> Result<(), String> {
    let iaid = iaid.parse().map_err(|_| format!("`{iaid}` is not an IAID"))?;
    let mark = writer.ia(kind, iaid, 0, 0);
    for item in items {
        let item = filled(item, variables)?;
        let mut words = item.split_whitespace();
        let resource = words.next().unwrap_or_default();
        let mut lifetime = || words.next().map_or(Ok(0), str::parse);
        let (Ok(preferred_s), Ok(valid_s)) = (lifetime(), lifetime()) else {
            return Err(format!("`{item}` has lifetimes that are not numbers"));
        };
        let (address, len) = resource.split_once('/').unwrap_or((resource, "128"));
        let address: Ipv6Addr =
            address.parse().map_err(|_| format!("`{address}` is not an IPv6 address"))?;
        let len = len.parse().map_err(|_| format!("`{len}` is not a prefix length"))?;
        match kind {
            IaKind::Pd => writer.ia_prefix(address, len, preferred_s, valid_s),
            IaKind::Na | IaKind::Ta => writer.ia_address(address, preferred_s, valid_s),
        };
    }
    writer.end(mark);
    Ok(())
}

/// Returns `message` in a RELAY-FORW for each of the step's relay agents, with the options that
/// they add.
fn relayed(
    scenario: &Scenario,
    step: &ScenarioStep,
    variables: &ScenarioVariables,
    message: &[u8],
) -> Result<Vec<u8>, String> {
    let link = step.relay.as_deref().unwrap_or(&scenario.relay);
    if link.is_empty() || link == "none" {
        return Ok(message.to_vec());
    }
    let [high, low] = step.client.to_be_bytes();
    let peer = match step.with.get("peer") {
        Some(text) => text.parse().map_err(|_| format!("peer `{text}` is not an IPv6 address"))?,
        None => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::from_be_bytes([high, low])),
    };
    let mut octets_so_far = message.to_vec();
    let agents = core::iter::once(link).chain(step.further_relays.iter().map(String::as_str));
    for (hop_count, link) in (0..).zip(agents) {
        let link = link.parse().map_err(|_| format!("relay `{link}` is not an IPv6 address"))?;
        let mut buffer = vec![0; MESSAGE_LEN_MAX];
        let mut writer = RelayWriter::forward(&mut buffer).level(hop_count, link, peer);
        if hop_count == 0 {
            for (code, value) in &step.relay_options {
                let code = code.parse().map_err(|_| format!("`{code}` is not an option code"))?;
                writer = writer.option(code, &octets(&filled(value, variables)?, "")?);
            }
        }
        let len = writer.carry(&octets_so_far).map_err(|_| "the message is too long")?;
        buffer.truncate(len);
        octets_so_far = buffer;
    }
    Ok(octets_so_far)
}

fn parsed(reply: &[u8]) -> Result<Packet<'_>, String> {
    Packet::parse(reply).map_err(|reason| format!("malformed: {reason:?}"))
}

/// Returns the name of a DHCPv6 reply's message type, that of the innermost message if relayed.
pub(crate) fn name_of(reply: &[u8]) -> Result<String, String> {
    Ok(parsed(reply)?.message().message_type().name().to_owned())
}

/// Returns true if `reply` answers the DHCPv6 message with the transaction id `xid`.
pub(crate) fn answers(reply: &[u8], xid: u32) -> bool {
    parsed(reply).is_ok_and(|packet| packet.message().transaction_id() == xid & 0xff_ffff)
}

/// Returns the bytes of the field `key` of a DHCPv6 reply, such as `na 1 address` or `option 23`,
/// and the kind of its value, such as `ip6`.
pub(crate) fn field(reply: &[u8], key: &str) -> Result<(Option<Vec<u8>>, &'static str), String> {
    let packet = parsed(reply)?;
    let message = packet.message();
    let words: Vec<&str> = key.split_whitespace().collect();
    let code = |text: &str| -> Result<u16, String> {
        text.parse().map_err(|_| format!("`{text}` is not an option code"))
    };
    let number = |value: u32| Some(value.to_be_bytes().to_vec());
    match words[..] {
        ["option", text] => {
            let code = code(text)?;
            Ok((message.option(code).map(<[u8]>::to_vec), default_kind(code)))
        }
        ["relay", "option", text] => {
            let outermost = (packet.relay_count() > 0).then(|| packet.relay(0));
            let value = outermost.and_then(|relay| relay.options.get(text.parse().ok()?));
            code(text)?;
            Ok((value.map(<[u8]>::to_vec), ""))
        }
        ["relays"] => Ok((number(packet.relay_count() as u32), "u32")),
        ["status"] => Ok((message.status().and_then(|(code, _)| number(u32::from(code))), "u32")),
        ["na", iaid, ref rest @ ..] => association(&message, IaKind::Na, iaid, rest),
        ["pd", iaid, ref rest @ ..] => association(&message, IaKind::Pd, iaid, rest),
        _ => Err(format!("replies have no field `{key}`")),
    }
}

fn association(
    message: &Message<'_>,
    kind: IaKind,
    iaid: &str,
    rest: &[&str],
) -> Result<(Option<Vec<u8>>, &'static str), String> {
    let iaid: u32 = iaid.parse().map_err(|_| format!("`{iaid}` is not an IAID"))?;
    let Some(ia) = message.ias().find(|ia| ia.kind == kind && ia.iaid == iaid) else {
        return Ok((None, "u32"));
    };
    let number = |value: Option<u32>| Ok((value.map(|value| value.to_be_bytes().to_vec()), "u32"));
    match rest {
        [] => Ok((Some(Vec::new()), "hex")),
        ["t1"] => number(Some(ia.t1_s)),
        ["t2"] => number(Some(ia.t2_s)),
        ["status"] => number(ia.status().map(|(code, _)| u32::from(code))),
        ["address"] => {
            Ok((ia.addresses().next().map(|item| item.address.octets().to_vec()), "ip6"))
        }
        ["prefix"] => {
            Ok((ia.prefixes().next().map(|item| prefix_octets(item.len, item.prefix)), "prefix"))
        }
        ["count"] => number(Some((ia.addresses().count() + ia.prefixes().count()) as u32)),
        ["excluded"] => {
            let excluded = ia.prefixes().next().and_then(|item| item.excluded());
            Ok((excluded.map(|(prefix, len)| prefix_octets(len, prefix)), "prefix"))
        }
        ["preferred"] => number(lifetimes(&ia).map(|(preferred_s, _)| preferred_s)),
        ["valid"] => number(lifetimes(&ia).map(|(_, valid_s)| valid_s)),
        // Lifetimes of any resource of the association: `na 1 valid of 2001:db8::1`.
        [what, "of", resource] => number(lifetime_of(&ia, what, resource)),
        _ => Err(format!("associations have no field `{}`", rest.join(" "))),
    }
}

fn prefix_octets(len: u8, prefix: Ipv6Addr) -> Vec<u8> {
    let mut octets = vec![len];
    octets.extend(prefix.octets());
    octets
}

/// Returns the preferred and valid lifetime of an identity association's first address or prefix,
/// in seconds.
fn lifetimes(ia: &Ia<'_>) -> Option<(u32, u32)> {
    let address = ia.addresses().next().map(|item| (item.preferred_s, item.valid_s));
    address.or_else(|| ia.prefixes().next().map(|item| (item.preferred_s, item.valid_s)))
}

fn lifetime_of(ia: &Ia<'_>, what: &str, resource: &str) -> Option<u32> {
    let of_address = ia
        .addresses()
        .find(|item| item.address.to_string() == resource)
        .map(|item| (item.preferred_s, item.valid_s));
    let lifetimes = of_address.or_else(|| {
        ia.prefixes()
            .find(|item| format!("{}/{}", item.prefix, item.len) == resource)
            .map(|item| (item.preferred_s, item.valid_s))
    });
    lifetimes.map(|(preferred_s, valid_s)| if what == "preferred" { preferred_s } else { valid_s })
}

const fn default_kind(code: u16) -> &'static str {
    match code {
        23 | 22 | 31 => "ip6",
        32 | 82 | 83 => "u32",
        7 => "u8",
        21 | 24 => "name",
        _ => "",
    }
}
