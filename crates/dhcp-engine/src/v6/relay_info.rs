//! Relay agent information about a DHCPv6 client, as leases store it under `store-extended-info`
//! (Kea reference §5.10): a JSON text in Kea's form and spelling.

use core::fmt::{self, Write};

use dhcp_wire::v6::{Packet, Relay, option};

use crate::hex::write_hex;

/// Appends to `target` the user context of a lease that was given through relay agents; nothing
/// when there was no relay agent. The agent nearest to the server comes first, its options ordered
/// by code.
pub(super) fn write(packet: &Packet<'_>, target: &mut String) {
    if packet.relay_count() == 0 {
        return;
    }
    target.push_str(r#"{ "ISC": { "relay-info": [ "#);
    for (at, relay) in packet.relays().enumerate() {
        if at > 0 {
            target.push_str(", ");
        }
        write_level(&relay, target).expect("a string takes everything");
    }
    target.push_str(" ] } }");
}

fn write_level(relay: &Relay<'_>, target: &mut String) -> fmt::Result {
    write!(target, r#"{{ "hop": {}, "link": "{}", "#, relay.hop_count, relay.link_address)?;
    let stored_options = || relay.options.filter(|(code, _)| *code != option::RELAY_MSG);
    if stored_options().next().is_some() {
        target.push_str(r#""options": "0x"#);
        let mut after = None;
        // The options of an agent are few, so they need no list of their own.
        while let Some(code) =
            stored_options().map(|(code, _)| code).filter(|&c| Some(c) > after).min()
        {
            for value in relay.options.all(code) {
                write_hex(code.to_be_bytes(), target);
                write_hex((value.len() as u16).to_be_bytes(), target);
                write_hex(value.iter().copied(), target);
            }
            after = Some(code);
        }
        target.push_str("\", ");
    }
    write!(target, r#""peer": "{}""#, relay.peer_address)?;
    for (key, code) in [("relay-id", option::RELAY_ID), ("remote-id", option::REMOTE_ID)] {
        if let Some(value) = relay.options.get(code).filter(|value| !value.is_empty()) {
            write!(target, r#", "{key}": ""#)?;
            write_hex(value.iter().copied(), target);
            target.push('"');
        }
    }
    target.write_str(" }")
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use dhcp_wire::v6::{MessageType, RelayWriter};

    use super::*;

    fn context(buffer: &[u8]) -> String {
        let mut text = String::new();
        write(&Packet::parse(buffer).unwrap(), &mut text);
        text
    }

    #[test]
    fn each_agent_has_an_entry_as_kea_writes_it() {
        let mut buffer = [0; 400];
        let link: Ipv6Addr = "2001:db8::1".parse().unwrap();
        let len = RelayWriter::forward(&mut buffer)
            .level(1, link, "fe80::2".parse().unwrap())
            .level(0, Ipv6Addr::UNSPECIFIED, "fe80::3".parse().unwrap())
            .option(option::RELAY_ID, &[0xab])
            .option(option::INTERFACE_ID, b"p")
            .option(option::REMOTE_ID, &[0, 0, 0, 9, 0xff])
            .message(MessageType::Request, 1)
            .finish()
            .unwrap();
        let expected = concat!(
            r#"{ "ISC": { "relay-info": [ "#,
            r#"{ "hop": 1, "link": "2001:db8::1", "peer": "fe80::2" }, "#,
            r#"{ "hop": 0, "link": "::", "options": "0x001200017000250005000000"#,
            r#"09FF00350001AB", "peer": "fe80::3", "relay-id": "AB", "remote-id": "00000009FF" }"#,
            " ] } }"
        );
        assert_eq!(context(&buffer[..len]), expected);
    }

    #[test]
    fn a_direct_client_has_no_entry() {
        assert_eq!(context(&[MessageType::Request.code(), 0, 0, 1]), "");
    }
}
