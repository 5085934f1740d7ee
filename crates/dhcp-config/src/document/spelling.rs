//! Reservations and option data in Kea's spelling: identifiers, addresses and bytes as Kea prints
//! them, options with code and name.

use base::address_bits::prefix_bounds;
use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value as Json, json};

use super::text;
use crate::shared::family::ConfigFamily;
use crate::shared::options::definitions::{Definitions, OptionKey};
use crate::shared::options::{host_identifier, octets_of_value};

/// Function that finds the code and the name of a standard option from the option's space and its
/// code or name.
pub(super) type Standard = fn(&str, OptionKey<'_>) -> Option<(u16, String)>;

/// Returns the code and the name of a standard option of the family `F`, from the option's space
/// and its code or name.
pub(super) fn standard<F: ConfigFamily>(space: &str, key: OptionKey<'_>) -> Option<(u16, String)> {
    let none = Definitions::default();
    none.find::<F>(space, key).map(|definition| (definition.code, definition.name.to_string()))
}

/// Names and codes of options: standard options, and those that the operator defines.
#[derive(Clone, Debug)]
pub(super) struct OptionNames {
    standard: Standard,
    /// Name of the space of options that do not give one.
    space: &'static str,
    /// Space, code and name of each option that the operator defines.
    defined: Vec<(String, u16, String)>,
}

impl OptionNames {
    /// Creates the names of the standard options, without definitions of the operator.
    pub(super) const fn new(standard: Standard, space: &'static str) -> Self {
        Self { standard, space, defined: Vec::new() }
    }

    /// Returns the names and codes of options with the definitions in `option-def` of `scope`
    /// added, which take precedence.
    pub(super) fn with(&self, scope: &Map<String, Json>) -> Self {
        let definitions = scope.get("option-def").and_then(Json::as_array).into_iter().flatten();
        let parse = |definition: &Json| {
            let text = |key: &str| definition.get(key).and_then(Json::as_str);
            let code = definition.get("code")?.as_u64()?.try_into().ok()?;
            Some((text("space").unwrap_or(self.space).to_owned(), code, text("name")?.to_owned()))
        };
        let mut names = self.clone();
        names.defined.splice(0..0, definitions.filter_map(parse));
        names
    }

    fn find(&self, space: &str, key: OptionKey<'_>) -> Option<(u16, String)> {
        let has_key = |(in_space, code, name): &&(String, u16, String)| {
            in_space == space
                && match key {
                    OptionKey::Code(key) => *code == key,
                    OptionKey::Name(key) => name == key,
                }
        };
        let defined =
            self.defined.iter().find(has_key).map(|(_, code, name)| (*code, name.clone()));
        defined.or_else(|| (self.standard)(space, key))
    }

    /// Adds to `option`, an element of `option-data`, the keys that Kea shows: code, name if known,
    /// the form of its data, and bytes in hexadecimal digits.
    pub(super) fn complete(&self, option: &mut Map<String, Json>) {
        let space = option.get("space").and_then(Json::as_str).unwrap_or(self.space);
        let code = option.get("code").and_then(Json::as_u64).and_then(|code| code.try_into().ok());
        let key = match (code, option.get("name").and_then(Json::as_str)) {
            (Some(code), _) => Some(OptionKey::Code(code)),
            (None, name) => name.map(OptionKey::Name),
        };
        let code_and_name = key.and_then(|key| self.find(space, key));
        let is_defined = code_and_name.is_some();
        if let Some((code, name)) = code_and_name {
            option.entry("code").or_insert_with(|| json!(code));
            option.entry("name").or_insert_with(|| json!(name));
        }
        let is_text = option.entry("csv-format").or_insert_with(|| json!(is_defined));
        if *is_text == json!(false)
            && let Some(data) = option.get_mut("data")
            && let Some(octets) =
                data.as_str().and_then(|data| octets_of_value(&text::to_octets(data)).ok())
        {
            *data = json!(digits(&octets, "", char::to_ascii_uppercase));
        }
    }
}

/// Spells the identifier and the addresses of a reservation as Kea does.
pub(super) fn spell_reservation(reservation: &mut Map<String, Json>) {
    let kinds = [
        ("hw-address", true),
        ("duid", true),
        ("circuit-id", false),
        ("client-id", false),
        ("flex-id", false),
    ];
    for (kind, is_apart) in kinds {
        respell(reservation.get_mut(kind), |value| {
            let octets = host_identifier(&text::to_octets(value)).ok()?;
            Some(if is_apart {
                digits(&octets, ":", char::to_ascii_lowercase)
            } else {
                digits(&octets, "", char::to_ascii_uppercase)
            })
        });
    }
    for key in ["ip-addresses", "prefixes", "excluded-prefixes"] {
        let items = reservation.get_mut(key).and_then(Json::as_array_mut).into_iter().flatten();
        items.for_each(|item| {
            respell(Some(item), |value| {
                let (address, rest) = value.find('/').map_or((value, ""), |at| value.split_at(at));
                Some(format!("{}{rest}", address.parse::<Ipv6Addr>().ok()?))
            });
        });
    }
}

/// Spells the addresses of a pool as Kea does: as a prefix where the addresses are one.
pub(super) fn spell_pool(pool: &mut Map<String, Json>) {
    respell(pool.get_mut("pool"), pool_text);
}

/// Returns a pool's addresses in Kea's spelling; `None` for a text that is no pool.
fn pool_text(value: &str) -> Option<String> {
    let parse = |text: &str| text.trim().parse::<IpAddr>().ok();
    let (first, last) = match value.split_once('/') {
        Some((address, length)) => prefix_bounds(parse(address)?, length.trim().parse().ok()?)?,
        None => {
            let (first, last) = value.split_once('-')?;
            (parse(first)?, parse(last)?)
        }
    };
    let ((first, width), (last, last_width)) = (bits(first), bits(last));
    if width != last_width || first > last {
        return None;
    }
    let text = |bits: u128| {
        if width == 32 {
            Ipv4Addr::from_bits(bits as u32).to_string()
        } else {
            Ipv6Addr::from_bits(bits).to_string()
        }
    };
    // Ones where the addresses differ: for a prefix exactly its host bits.
    let host = first ^ last;
    let is_prefix = host & host.wrapping_add(1) == 0 && first & host == 0;
    let length = width - (u128::BITS - host.leading_zeros());
    Some(if is_prefix {
        format!("{}/{length}", text(first))
    } else {
        format!("{}-{}", text(first), text(last))
    })
}

/// Returns an IP address as a number, and its number of bits.
const fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits() as u128, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

/// Replaces the JSON text `text` where `spell` returns another spelling for it.
fn respell(text: Option<&mut Json>, spell: impl FnOnce(&str) -> Option<String>) {
    if let Some(text) = text
        && let Some(spelled) = text.as_str().and_then(spell)
    {
        *text = json!(spelled);
    }
}

/// Returns two hexadecimal digits for each byte, with the text `between` between bytes.
fn digits(octets: &[u8], between: &str, case: fn(&char) -> char) -> String {
    let mut text = String::with_capacity(octets.len() * (2 + between.len()));
    for (at, octet) in octets.iter().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        write!(text, "{octet:02x}").expect("a string takes everything");
    }
    text.chars().map(|digit| case(&digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_spelled_as_kea_spells_them() {
        for (value, spelled) in [
            ("10.0.0.10 - 10.0.0.20", "10.0.0.10-10.0.0.20"),
            ("10.0.0.0-10.0.0.15", "10.0.0.0/28"),
            ("10.0.0.1 - 10.0.0.15", "10.0.0.1-10.0.0.15"),
            ("10.0.0.8 - 10.0.0.23", "10.0.0.8-10.0.0.23"),
            ("10.0.0.5-10.0.0.5", "10.0.0.5/32"),
            ("10.0.0.5 / 24", "10.0.0.0/24"),
            ("0.0.0.0-255.255.255.255", "0.0.0.0/0"),
            ("2001:DB8::0:1 - 2001:db8::f", "2001:db8::1-2001:db8::f"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(pool_text(value).as_deref(), Some(spelled), "{value}");
        }
        for odd in ["", "10.0.0.1", "10.0.0.2-10.0.0.1", "10.0.0.1-::1", "10.0.0.0/33", "::/129"] {
            assert_eq!(pool_text(odd), None, "{odd}");
        }
    }
}
