//! DHCPv4 messages of scenario steps as bytes, and fields of replies by name.

use std::net::Ipv4Addr;

use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

use crate::format::{Scenario, ScenarioStep};
use crate::value::{ScenarioVariables, filled, octets};

/// Maximum length of a DHCPv4 message in a scenario, in bytes.
const MESSAGE_LEN_MAX: usize = 1500;

/// Returns the bytes of the DHCPv4 message that `step` sends with the transaction id `xid`.
pub(crate) fn message(
    scenario: &Scenario,
    step: &ScenarioStep,
    xid: u32,
    variables: &ScenarioVariables,
) -> Result<Vec<u8>, String> {
    let kind = step.send.as_deref().unwrap_or_default();
    let mut header = header(scenario, step, xid, variables)?;
    let [high, low] = step.client.to_be_bytes();
    let chaddr = match step.with.get("chaddr") {
        Some(text) => octets(&filled(text, variables)?, "hex")?,
        None => vec![2, 0, 0, 0, high, low],
    };
    header.hlen = chaddr.len().min(16) as u8;
    header.chaddr[..chaddr.len().min(16)].copy_from_slice(&chaddr[..chaddr.len().min(16)]);
    if let Some(hlen) = step.with.get("hlen") {
        header.hlen = octets(hlen, "u8")?[0];
    }
    let mut buffer = [0; MESSAGE_LEN_MAX];
    let mut writer = MessageWriter::new(&mut buffer, &header);
    if let Some(name) = step.with.get("sname") {
        writer.sname(name.as_bytes());
    }
    if let Some(name) = step.with.get("file") {
        writer.file(name.as_bytes());
    }
    if kind != "BOOTP" {
        let code = type_code(kind)?;
        writer.option(option::MESSAGE_TYPE, &[code]);
    }
    let mut entries = Vec::new();
    for (code, values) in &step.options {
        let code: u8 = code.parse().map_err(|_| format!("`{code}` is not an option code"))?;
        for value in values.all() {
            entries.push((code, octets(&filled(value, variables)?, "")?));
        }
    }
    // The relay agent's option comes last (RFC 3046 §2.1).
    entries.sort_by_key(|(code, _)| *code == option::RELAY_AGENT_INFORMATION);
    for (code, value) in &entries {
        writer.option(*code, value);
    }
    let len = writer.finish(300).map_err(|_| "the message is too long")?;
    Ok(buffer[..len].to_vec())
}

fn header(
    scenario: &Scenario,
    step: &ScenarioStep,
    xid: u32,
    variables: &ScenarioVariables,
) -> Result<Dhcp4Header, String> {
    let address = |key: &str| -> Result<Ipv4Addr, String> {
        let Some(text) = step.with.get(key) else { return Ok(Ipv4Addr::UNSPECIFIED) };
        let text = filled(text, variables)?;
        text.parse().map_err(|_| format!("`{text}` is not an IPv4 address"))
    };
    let number = |key: &str, kind: &str| -> Result<u64, String> {
        let Some(text) = step.with.get(key) else { return Ok(0) };
        Ok(octets(text, kind)?.iter().fold(0, |sum, &octet| sum << 8 | u64::from(octet)))
    };
    let relay = step.relay.as_deref().unwrap_or(&scenario.relay);
    let giaddr = match relay {
        "" | "none" => Ipv4Addr::UNSPECIFIED,
        text => text.parse().map_err(|_| format!("relay `{text}` is not an IPv4 address"))?,
    };
    Ok(Dhcp4Header {
        op: if step.with.contains_key("op") { number("op", "u8")? as u8 } else { 1 },
        htype: if step.with.contains_key("htype") { number("htype", "u8")? as u8 } else { 1 },
        hlen: 6,
        hops: u8::from(!giaddr.is_unspecified()),
        xid,
        secs: number("secs", "u16")? as u16,
        flags: number("flags", "u16")? as u16,
        ciaddr: address("ciaddr")?,
        yiaddr: Ipv4Addr::UNSPECIFIED,
        siaddr: Ipv4Addr::UNSPECIFIED,
        giaddr,
        chaddr: [0; 16],
    })
}

fn type_code(name: &str) -> Result<u8, String> {
    let message_type = MessageType::ALL.iter().find(|kind| plain(kind.name()) == name);
    match (message_type, name.parse()) {
        (Some(kind), _) => Ok(kind.code()),
        (None, Ok(code)) => Ok(code),
        (None, Err(_)) => Err(format!("`{name}` is not a DHCPv4 message type")),
    }
}

fn plain(name: &str) -> &str {
    name.strip_prefix("DHCP").unwrap_or(name)
}

/// Returns the name of a DHCPv4 reply's message type, without `DHCP` in front.
pub(crate) fn name_of(reply: &[u8]) -> Result<String, String> {
    let message = Message::parse(reply).map_err(|reason| format!("malformed: {reason:?}"))?;
    Ok(message.message_type().map_or("BOOTP", |kind| plain(kind.name())).to_owned())
}

/// Returns true if `reply` answers the DHCPv4 message with the transaction id `xid`.
pub(crate) fn answers(reply: &[u8], xid: u32) -> bool {
    Message::parse(reply).is_ok_and(|message| message.xid() == xid && message.op() == 2)
}

/// Returns the bytes of the field `key` of a DHCPv4 reply, such as `yiaddr` or `option 51`, and the
/// kind of its value, such as `ip`.
pub(crate) fn field(reply: &[u8], key: &str) -> Result<(Option<Vec<u8>>, &'static str), String> {
    let message = Message::parse(reply).map_err(|reason| format!("malformed: {reason:?}"))?;
    let address = |address: Ipv4Addr| (Some(address.octets().to_vec()), "ip");
    if let Some(code) = key.strip_prefix("option ") {
        let code: u8 =
            code.trim().parse().map_err(|_| format!("`{code}` is not an option code"))?;
        let value = message.option(code).map(|value| value.octets().collect());
        return Ok((value, default_kind(code)));
    }
    Ok(match key {
        "yiaddr" => address(message.yiaddr()),
        "ciaddr" => address(message.ciaddr()),
        "siaddr" => address(message.siaddr()),
        "giaddr" => address(message.giaddr()),
        "chaddr" => (Some(message.chaddr().to_vec()), "hex"),
        "flags" => (Some(message.flags().to_be_bytes().to_vec()), "u16"),
        "secs" => (Some(message.secs().to_be_bytes().to_vec()), "u16"),
        "hops" => (Some(vec![message.hops()]), "u8"),
        "sname" => (Some(until_zero(message.sname())), "text"),
        "file" => (Some(until_zero(message.file())), "text"),
        "length" => (Some((reply.len() as u32).to_be_bytes().to_vec()), "u32"),
        _ => return Err(format!("replies have no field `{key}`")),
    })
}

fn until_zero(field: &[u8]) -> Vec<u8> {
    field.iter().copied().take_while(|&octet| octet != 0).collect()
}

/// Returns the kind of a DHCPv4 option's value if the scenario names none, for common options of
/// replies.
const fn default_kind(code: u8) -> &'static str {
    match code {
        1 | 3 | 6 | 50 | 54 => "ip",
        51 | 58 | 59 => "u32",
        12 | 14 | 15 | 17 | 60 | 66 | 67 => "text",
        _ => "",
    }
}
