//! Reads addresses and prefixes of DHCPv6, and the server's DUID.

use core::net::{IpAddr, Ipv6Addr};

use super::ModelReader;
use crate::lexer::{DhcpdToken, DhcpdTokenKind};
use crate::model::{DeclaredPool, PrefixRange, ServerDuid};
use crate::options::value::hexadecimal;
use crate::statement::DhcpdStatement;

impl ModelReader {
    pub(super) fn range6(&mut self, statement: &DhcpdStatement, pool: &mut DeclaredPool) {
        let words: Vec<&str> = statement.after(1).iter().filter_map(DhcpdToken::word).collect();
        if words.last().is_some_and(|word| word.eq_ignore_ascii_case("temporary")) {
            let effect = "clients get temporary addresses";
            self.findings.note(statement.at, "range6 temporary", effect, "nothing corresponds");
            return;
        }
        let address = |word: &str| word.parse::<Ipv6Addr>().ok();
        let is_prefix = statement.words.iter().any(|word| word.is_sign("/"));
        let range = match words[..] {
            [only] if !is_prefix => address(only).map(|only| (only, only)),
            [first, len] if is_prefix => {
                let len = len.parse::<u32>().ok().filter(|len| *len <= 128);
                address(first).zip(len).map(|(first, len)| {
                    let host = u128::MAX.checked_shr(len).unwrap_or_default();
                    let first = first.to_bits() & !host;
                    (Ipv6Addr::from_bits(first), Ipv6Addr::from_bits(first | host))
                })
            }
            [first, last] => address(first).zip(address(last)),
            _ => None,
        };
        match range {
            Some((first, last)) => pool.ranges.push((IpAddr::V6(first), IpAddr::V6(last))),
            None => self.error(statement.at, "`range6` needs two addresses or a prefix"),
        }
    }

    pub(super) fn prefix6(&mut self, statement: &DhcpdStatement, pool: &mut DeclaredPool) {
        let words: Vec<&str> = statement.after(1).iter().filter_map(DhcpdToken::word).collect();
        let range = match words[..] {
            [first, last, len] => first
                .parse::<Ipv6Addr>()
                .ok()
                .zip(last.parse::<Ipv6Addr>().ok())
                .zip(len.parse::<u8>().ok().filter(|len| (1..=128).contains(len))),
            _ => None,
        };
        match range {
            Some(((first, last), delegated_len)) if first <= last => {
                pool.prefixes.push(PrefixRange { first, last, delegated_len });
            }
            _ => self.error(statement.at, "`prefix6` needs two prefixes and a length"),
        }
    }

    /// Reads `server-duid`.
    pub(super) fn server_duid(&mut self, statement: &DhcpdStatement) {
        let words = statement.after(1);
        let text = |index: usize| words.get(index).and_then(DhcpdToken::word);
        let number = |index: usize| text(index).and_then(|word| word.parse::<u32>().ok());
        let octets = |index: usize| -> Option<String> {
            let octets = match &words.get(index)?.kind {
                DhcpdTokenKind::Text(octets) => octets.clone(),
                DhcpdTokenKind::Word(word) => hexadecimal(word)?,
                DhcpdTokenKind::Sign(_) => return None,
            };
            Some(octets.iter().map(|octet| format!("{octet:02x}")).collect())
        };
        let hardware = |index: usize| match text(index) {
            Some("ethernet") => Some(1),
            _ => number(index),
        };
        let kind = text(0).unwrap_or_default().to_ascii_lowercase();
        let duid = match kind.as_str() {
            "en" | "2" => ServerDuid {
                kind: "EN",
                hardware_type: None,
                enterprise: number(1),
                time: None,
                identifier: octets(2),
            },
            "ll" | "3" => ServerDuid {
                kind: "LL",
                hardware_type: hardware(1),
                enterprise: None,
                time: None,
                identifier: octets(2),
            },
            "llt" | "1" => ServerDuid {
                kind: "LLT",
                hardware_type: hardware(1),
                enterprise: None,
                time: number(2),
                identifier: octets(3),
            },
            _ => {
                let effect = "the server has an identifier of its own form";
                let help = "set `server-id`, or copy the DUID to the file `kea-dhcp6-serverid`";
                self.findings.note(statement.at, "server-duid", effect, help);
                return;
            }
        };
        self.model.server_duid = Some(duid);
    }
}
