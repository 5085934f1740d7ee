//! Options in Kea's dialect: as readable text where Kea's definition of the option has the same
//! types, else as hexadecimal bytes; and definitions of options that Kea does not know.

use dhcp_config::{Definition, Field};

use super::value::DeclaredValue;
use super::{OptionField, OptionKey, OptionLayout, OptionRegistry};
use crate::json::{OrderedJson, OrderedMap};

/// Form of an option in the result.
enum OptionForm {
    /// Text of fields, by the name of the option in Kea.
    Named(String),
    /// Text of fields, by the code of an option that the result defines.
    Defined,
    /// Hexadecimal bytes, by code.
    Octets,
}

impl OptionRegistry {
    /// Returns the entry of `option-data` for the option `key`.
    pub(crate) fn data(
        &self,
        key: &OptionKey,
        value: &DeclaredValue,
        is_always_sent: bool,
    ) -> OrderedJson {
        let mut map = OrderedMap::default();
        let form = self.form(key, value);
        match &form {
            OptionForm::Named(name) => map.put("name", name.as_str()),
            OptionForm::Defined | OptionForm::Octets => map.put("code", u32::from(key.1)),
        }
        if matches!(form, OptionForm::Octets) {
            let digits: String = value.octets.iter().map(|octet| format!("{octet:02x}")).collect();
            map.put("csv-format", false);
            map.put("data", digits);
        } else {
            let texts: Vec<&str> = value.fields.iter().map(|(_, text)| text.as_str()).collect();
            map.put("data", texts.join(", "));
        }
        if is_always_sent {
            map.put("always-send", true);
        }
        map.into()
    }

    fn form(&self, key: &OptionKey, value: &DeclaredValue) -> OptionForm {
        let is_plain = !value.fields.is_empty()
            && value.fields.iter().all(|(field, text)| is_plain_text(*field, text));
        if !is_plain {
            return OptionForm::Octets;
        }
        match self.kea_definition(key.1) {
            Some(known) if has_types(known, &value.fields) => {
                OptionForm::Named(known.name.clone().into_owned())
            }
            Some(_) => OptionForm::Octets,
            None if self.by_key(key).is_some_and(|own| kea_types(&own.layout).is_some()) => {
                OptionForm::Defined
            }
            None => OptionForm::Octets,
        }
    }

    fn kea_definition(&self, code: u16) -> Option<&'static Definition> {
        let table = if self.is_v6 {
            dhcp_config::v6::options::definitions::DEFINITIONS
        } else {
            dhcp_config::v4::options::definitions::DEFINITIONS
        };
        table.iter().find(|known| known.code == code)
    }

    /// Returns the entries of `option-def` for the options that the file or dhcpd defines and Kea
    /// does not know, out of `used`.
    pub(crate) fn definitions(&self, used: &[OptionKey]) -> Vec<OrderedJson> {
        let own_space = if self.is_v6 { "dhcp6" } else { "dhcp" };
        let mut list = Vec::new();
        for key in used.iter().filter(|key| key.0 == own_space) {
            let Some(known) = self.by_key(key).filter(|_| self.kea_definition(key.1).is_none())
            else {
                continue;
            };
            let Some(types) = kea_types(&known.layout) else { continue };
            let mut map = OrderedMap::default();
            map.put("name", known.name.as_str());
            map.put("code", u32::from(key.1));
            match &types[..] {
                [kind] => map.put("type", *kind),
                _ => {
                    map.put("type", "record");
                    map.put("record-types", types.join(", "));
                }
            }
            if known.layout.repeats {
                map.put("array", true);
            }
            list.push(map.into());
        }
        list
    }
}

/// Returns true if `text` means in Kea's `data` what it says.
fn is_plain_text(field: OptionField, text: &str) -> bool {
    match field {
        OptionField::Text | OptionField::Octets => {
            !text.is_empty()
                && text.trim() == text
                && text.chars().all(|character| {
                    (' '..='~').contains(&character) && !matches!(character, ',' | '\\' | '"')
                })
        }
        OptionField::Unsigned(_) => !text.starts_with('-'),
        _ => true,
    }
}

/// Returns true if `known`, a definition of Kea's, has the types of `fields`.
fn has_types(known: &Definition, fields: &[(OptionField, String)]) -> bool {
    let own: &[Field] = &known.fields;
    let Some(last) = own.last() else { return false };
    if fields.len() < own.len() || (fields.len() > own.len() && !known.array) {
        return false;
    }
    fields.iter().enumerate().all(|(number, (field, text))| {
        let kind = own.get(number).unwrap_or(last);
        match (kind, field) {
            (Field::Ipv4, OptionField::Ipv4)
            | (Field::Ipv6, OptionField::Ipv6)
            | (Field::Boolean, OptionField::Boolean)
            | (Field::Text, OptionField::Text | OptionField::Octets)
            | (Field::Name, OptionField::Name)
            | (Field::I8, OptionField::Signed(1))
            | (Field::I16, OptionField::Signed(2))
            | (Field::I32, OptionField::Signed(4)) => true,
            (Field::U8, OptionField::Unsigned(1) | OptionField::Signed(1))
            | (Field::U16, OptionField::Unsigned(2) | OptionField::Signed(2))
            | (Field::U32, OptionField::Unsigned(4) | OptionField::Signed(4)) => {
                !text.starts_with('-')
            }
            _ => false,
        }
    })
}

/// Returns Kea's names of the types of `layout`, if Kea can define such an option.
fn kea_types(layout: &OptionLayout) -> Option<Vec<&'static str>> {
    if layout.encapsulates.is_some() || (layout.repeats && layout.fields.len() != 1) {
        return None;
    }
    layout
        .fields
        .iter()
        .map(|field| match field {
            OptionField::Ipv4 => Some("ipv4-address"),
            OptionField::Ipv6 => Some("ipv6-address"),
            OptionField::Boolean => Some("boolean"),
            OptionField::Unsigned(1) => Some("uint8"),
            OptionField::Unsigned(2) => Some("uint16"),
            OptionField::Unsigned(_) => Some("uint32"),
            OptionField::Signed(1) => Some("int8"),
            OptionField::Signed(2) => Some("int16"),
            OptionField::Signed(_) => Some("int32"),
            OptionField::Text => Some("string"),
            OptionField::Name => Some("fqdn"),
            OptionField::Octets => None,
        })
        .collect()
}
