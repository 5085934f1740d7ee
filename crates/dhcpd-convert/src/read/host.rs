//! Reads host declarations.

use core::net::{IpAddr, Ipv6Addr};

use super::declaration::name_of;
use super::{ModelReader, ScopeKind};
use crate::lexer::{DhcpdToken, DhcpdTokenKind};
use crate::model::{DeclaredHost, DeclaredIdentifier};
use crate::options::value::{self, ValueFault, hexadecimal};
use crate::settings::ScopeSettings;
use crate::statement::DhcpdStatement;

fn digits(octets: &[u8], separator: &str) -> String {
    let digits: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    digits.join(separator)
}

impl ModelReader {
    pub(super) fn host(&mut self, statement: &DhcpdStatement, outer: &ScopeSettings) {
        let Some(name) = statement.words.get(1) else {
            return self.error(statement.at, "the host needs a name");
        };
        // In a host, `dhcp-client-identifier` names the client and is not sent.
        let (identifiers, others): (Vec<_>, Vec<_>) =
            statement.block().iter().cloned().partition(is_client_identifier);
        let mut settings = self.scope(&others, ScopeKind::Host);
        settings.inherit(outer);
        let mut host = DeclaredHost {
            at: statement.at,
            name: name_of(name),
            identifiers: Vec::new(),
            addresses: Vec::new(),
            prefixes: Vec::new(),
            settings,
        };
        for inner in &identifiers {
            self.client_identifier(inner, &mut host);
        }
        for inner in &others {
            self.host_statement(inner, &mut host);
        }
        self.model.hosts.push(host);
    }

    fn client_identifier(&mut self, statement: &DhcpdStatement, host: &mut DeclaredHost) {
        let skipped = if statement.begins(&["option"]) { 2 } else { 1 };
        let Some(octets) = octets_of(statement.after(skipped)) else {
            return self.error(statement.at, "the client identifier needs a value");
        };
        let value = digits(&octets, ":");
        host.identifiers.push(DeclaredIdentifier { kind: "client-id", value, flexible: None });
    }

    fn host_statement(&mut self, statement: &DhcpdStatement, host: &mut DeclaredHost) {
        match statement.keyword().as_str() {
            "hardware" => self.hardware(statement, host),
            "host-identifier" => self.host_identifier(statement, host),
            "fixed-address" => self.fixed_addresses(statement, host),
            "fixed-address6" => {
                let address = statement.words.get(1).and_then(DhcpdToken::word);
                match address.and_then(|word| word.parse::<Ipv6Addr>().ok()) {
                    Some(address) => host.addresses.push(IpAddr::V6(address)),
                    None => self.error(statement.at, "`fixed-address6` needs an address"),
                }
            }
            "fixed-prefix6" => {
                let words: Vec<&str> =
                    statement.after(1).iter().filter_map(DhcpdToken::word).collect();
                let prefix = match words[..] {
                    [address, len] => address.parse().ok().zip(len.parse().ok()),
                    _ => None,
                };
                match prefix {
                    Some(prefix) => host.prefixes.push(prefix),
                    None => self.error(statement.at, "`fixed-prefix6` needs a prefix"),
                }
            }
            _ => {}
        }
    }

    fn hardware(&mut self, statement: &DhcpdStatement, host: &mut DeclaredHost) {
        let words: String = statement.after(2).iter().filter_map(DhcpdToken::word).collect();
        let Some(octets) = hexadecimal(&words) else {
            return self.error(statement.at, "`hardware` needs a type and an address");
        };
        if !statement.words.get(1).is_some_and(|word| word.is_word("ethernet")) {
            let effect = "the host's network is not Ethernet";
            let help = "reserve by `client-id`, or by the hook library `flex_id`";
            self.findings.note(statement.at, statement.shown(), effect, help);
            return;
        }
        let value = digits(&octets, ":");
        host.identifiers.push(DeclaredIdentifier { kind: "hw-address", value, flexible: None });
    }

    fn host_identifier(&mut self, statement: &DhcpdStatement, host: &mut DeclaredHost) {
        let name = statement.words.get(2).and_then(DhcpdToken::word).unwrap_or_default();
        let known =
            self.registry.find(name).filter(|_| statement.begins(&["host-identifier", "option"]));
        let octets = octets_of(statement.after(3));
        let (Some(known), Some(octets)) = (known, octets) else {
            let effect = "the host is recognized by an option of the relay agent";
            let help = "reserve by the hook library `flex_id`";
            self.findings.note(statement.at, statement.shown(), effect, help);
            return;
        };
        let (kind, flexible) = match (known.key.0.as_str(), known.key.1) {
            ("dhcp", 61) => ("client-id", None),
            ("dhcp6", 1) => ("duid", None),
            ("agent", 1) => ("circuit-id", None),
            ("agent", code) => ("flex-id", Some(format!("relay4[{code}].hex"))),
            (_, code) => ("flex-id", Some(format!("option[{code}].hex"))),
        };
        let value = digits(&octets, if kind == "client-id" || kind == "duid" { ":" } else { "" });
        let value =
            if matches!(kind, "flex-id" | "circuit-id") { format!("0x{value}") } else { value };
        host.identifiers.push(DeclaredIdentifier { kind, value, flexible });
    }

    fn fixed_addresses(&mut self, statement: &DhcpdStatement, host: &mut DeclaredHost) {
        for word in statement.after(1).iter().filter_map(|token| Some((token.at, token.word()?))) {
            match value::ipv4(word.1) {
                Ok(address) => host.addresses.push(IpAddr::V4(address)),
                Err(ValueFault::Wrong(message)) => self.error(word.0, message),
                Err(ValueFault::HostName(name)) => {
                    let effect = format!("dhcpd looks `{name}` up when it starts");
                    let help = "write the address in place of the name";
                    self.findings.note(word.0, "fixed-address", effect, help);
                }
            }
        }
    }
}

fn is_client_identifier(statement: &DhcpdStatement) -> bool {
    statement.begins(&["option", "dhcp-client-identifier"])
        || statement.begins(&["dhcp-client-identifier"])
}

/// Returns the bytes that `words` spell: a string, or hexadecimal bytes with colons.
fn octets_of(words: &[DhcpdToken]) -> Option<Vec<u8>> {
    if let Some(DhcpdToken { kind: DhcpdTokenKind::Text(octets), .. }) = words.first() {
        return Some(octets.clone());
    }
    let text: String = words.iter().filter_map(DhcpdToken::word).collect();
    hexadecimal(&text)
}
