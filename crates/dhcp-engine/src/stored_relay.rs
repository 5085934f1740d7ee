//! Relay agents that leases keep in their user contexts (`store-extended-info`, Kea reference
//! §5.10), read in place for lease queries.

use core::net::Ipv6Addr;

use crate::json_text;

/// Relay agent of a DHCPv6 lease: an entry of `relay-info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRelay {
    /// Number of relay agents between the client and this one.
    pub(crate) hop_count: u8,
    /// Address of the link of the client, as the relay agent sent it.
    pub(crate) link_address: Ipv6Addr,
    /// Address that the relay agent received the message from.
    pub(crate) peer_address: Ipv6Addr,
    /// Options of the relay agent, without the relayed message, as bytes of a message.
    pub(crate) options: Vec<u8>,
}

/// Returns the relay agents that the user context of a DHCPv6 lease names, the nearest to the
/// server first; empty if there is none, or if one cannot be read.
pub(crate) fn relays_of(context: &str) -> Vec<StoredRelay> {
    let list = json_text::member(context, "ISC").and_then(|isc| {
        // Leases of Kea before 2.3 have the older name.
        json_text::member(isc, "relay-info").or_else(|| json_text::member(isc, "relays"))
    });
    let relays = list.map(|list| json_text::elements(list).map(relay_of).collect());
    relays.and_then(|relays: Option<_>| relays).unwrap_or_default()
}

fn relay_of(text: &str) -> Option<StoredRelay> {
    let address = |key| string_of(text, key)?.parse().ok();
    let mut options = Vec::new();
    if let Some(digits) = string_of(text, "options") {
        read_octets(digits, &mut options)?;
    }
    Some(StoredRelay {
        hop_count: json_text::member(text, "hop")?.parse().ok()?,
        link_address: address("link")?,
        peer_address: address("peer")?,
        options,
    })
}

/// Returns true if the user context of a lease names a relay agent whose identifier under `key`
/// (`relay-id` or `remote-id`) has the hexadecimal digits `digits`.
pub(crate) fn has_identifier(context: &str, key: &str, digits: &str) -> bool {
    // Most leases are of other agents: one search without parsing excludes them.
    if !context.contains(digits) {
        return false;
    }
    let Some(isc) = json_text::member(context, "ISC") else { return false };
    let is_of = |relay: &str| string_of(relay, key) == Some(digits);
    json_text::member(isc, "relay-agent-info").is_some_and(is_of)
        || json_text::member(isc, "relay-info")
            .is_some_and(|list| json_text::elements(list).any(is_of))
}

fn string_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    json_text::member(text, key).and_then(json_text::string)
}

/// Appends the bytes that hexadecimal `digits` stand for, after `0x` or without, to `target`;
/// `None` for any other text.
pub(crate) fn read_octets(digits: &str, target: &mut Vec<u8>) -> Option<()> {
    let (pairs, rest) = digits.strip_prefix("0x").unwrap_or(digits).as_bytes().as_chunks::<2>();
    for &pair in pairs {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        target.push((high? << 4 | low?) as u8);
    }
    rest.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = r#"{ "ISC": { "relay-info": [
        { "hop": 1, "link": "2001:db8::1", "options": "0x0012000170", "peer": "fe80::2",
          "relay-id": "ABCD", "remote-id": "00000009FF" },
        { "hop": 0, "link": "::", "peer": "fe80::3" } ] } }"#;

    #[test]
    fn relay_agents_are_read_as_they_were_stored() {
        let relays = relays_of(CONTEXT);
        assert_eq!(relays.len(), 2);
        assert_eq!(relays[0].options, [0, 0x12, 0, 1, b'p']);
        assert_eq!((relays[0].hop_count, relays[1].hop_count), (1, 0));
        assert_eq!(relays[1].peer_address, "fe80::3".parse::<Ipv6Addr>().unwrap());
        for text in ["", "{}", &CONTEXT.replace("\"::\"", "1"), &CONTEXT.replace("0x00", "0x0")] {
            assert_eq!(relays_of(text), [], "{text}");
        }
    }

    #[test]
    fn leases_are_found_by_whole_identifiers_of_any_agent() {
        assert!(has_identifier(CONTEXT, "relay-id", "ABCD"));
        assert!(has_identifier(CONTEXT, "remote-id", "00000009FF"));
        for (key, digits) in [("relay-id", "AB"), ("relay-id", "00000009FF"), ("link", "ABCD")] {
            assert!(!has_identifier(CONTEXT, key, digits), "{key} {digits}");
        }
        let v4 =
            r#"{ "ISC": { "relay-agent-info": { "relay-id": "AB", "sub-options": "0x0C01AB" } } }"#;
        assert!(has_identifier(v4, "relay-id", "AB"));
        assert!(!has_identifier(v4, "remote-id", "AB"));
    }
}
