//! Relay agent information about a DHCPv4 client, as leases store it under `store-extended-info`
//! (Kea reference §5.10): a JSON text in Kea's form and spelling.

use dhcp_wire::v4::{Message, OptionValue, relay};

use crate::hex::write_hex;

/// Appends to `target` the user context of a lease that was given through a relay agent; nothing
/// when the agent added no option 82 (RFC 3046). Sub-options are ordered by code.
pub(super) fn write(message: &Message<'_>, target: &mut String) {
    if let Some(value) = message.relay_agent_information() {
        write_value(value, target);
    }
}

fn write_value(value: OptionValue<'_>, target: &mut String) {
    target.push_str(r#"{ "ISC": { "relay-agent-info": { "#);
    for (key, code) in [("relay-id", relay::RELAY_ID), ("remote-id", relay::REMOTE_ID)] {
        if let Some(value) = relay::sub_option(value, code).filter(|value| !value.is_empty()) {
            target.extend(["\"", key, "\": \""]);
            write_hex(value.octets(), target);
            target.push_str("\", ");
        }
    }
    target.push_str(r#""sub-options": ""#);
    let sub_options = || relay::SubOptions::new(value);
    if sub_options().next().is_some() {
        target.push_str("0x");
    }
    let mut after = None;
    // The sub-options are few, so they need no list of their own.
    while let Some(code) = sub_options().map(|(code, _)| code).filter(|&c| Some(c) > after).min() {
        for (_, value) in sub_options().filter(|&(other, _)| other == code) {
            write_hex([code, value.len() as u8], target);
            write_hex(value.octets(), target);
        }
        after = Some(code);
    }
    target.push_str("\" } } }");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(octets: &[u8]) -> String {
        let mut text = String::new();
        write_value(OptionValue::from_slice(octets), &mut text);
        text
    }

    #[test]
    fn the_agents_words_are_kept_as_kea_keeps_them() {
        assert_eq!(
            context(&[12, 1, 0xab, 2, 2, 0, 0xff, 1, 1, b'p']),
            concat!(
                r#"{ "ISC": { "relay-agent-info": { "relay-id": "AB", "remote-id": "00FF", "#,
                r#""sub-options": "0x010170020200FF0C01AB" } } }"#
            )
        );
        assert_eq!(context(&[]), r#"{ "ISC": { "relay-agent-info": { "sub-options": "" } } }"#);
    }
}
