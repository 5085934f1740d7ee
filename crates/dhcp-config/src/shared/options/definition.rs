//! What is known of an option: its name, its code and the types of its fields.

/// Type of one field of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Octets; the rest of the option.
    Binary,
    /// One octet, 1 or 0.
    Boolean,
    /// An enterprise number, and as text an empty data length behind it.
    Enterprise,
    /// Four octets, signed.
    I32,
    /// Four octets.
    Ipv4,
    /// Sixteen octets.
    Ipv6,
    /// A length in one octet and the octets of an IPv6 prefix that it covers (RFC 7598 §4).
    Ipv6Prefix,
    /// A domain name in labels (RFC 1035 §3.1).
    Name,
    /// Octets that text cannot give: sub-options, mostly.
    Opaque,
    /// Length and value of a port set identifier (RFC 7618 §9).
    Psid,
    /// Classless routes (RFC 3442).
    Routes,
    /// Sub-options behind other fields, which text leaves out.
    SubOptions,
    /// Characters; the rest of the option, without zeros at its end.
    Text,
    /// Octets behind a length of two octets (RFC 8572 §8.3).
    Tuple,
    /// One octet.
    U8,
    /// Two octets.
    U16,
    /// Four octets.
    U32,
}

/// One standard option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Option code.
    pub code: u16,
    /// Name in the configuration.
    pub name: &'static str,
    /// Types of its fields, in order.
    pub fields: &'static [Field],
    /// Whether the last field repeats.
    pub array: bool,
}

/// An option whose fields occur once.
pub(crate) const fn one(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    Definition { code, name, fields, array: false }
}

/// An option whose last field repeats.
pub(crate) const fn array(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    Definition { code, name, fields, array: true }
}

/// The definition of an option code in a table that is ordered by code.
pub(crate) fn by_code(table: &'static [Definition], code: u16) -> Option<&'static Definition> {
    let place = table.binary_search_by_key(&code, |definition| definition.code).ok()?;
    Some(&table[place])
}

/// The definition of an option name.
pub(crate) fn by_name(table: &'static [Definition], name: &str) -> Option<&'static Definition> {
    table.iter().find(|definition| definition.name == name)
}

#[cfg(test)]
mod tests {
    use super::{Definition, Field};
    use crate::{v4, v6};

    const TABLES: [&[Definition]; 2] =
        [v4::options::definitions::DEFINITIONS, v6::options::definitions::DEFINITIONS];

    #[test]
    fn codes_rise_and_names_differ() {
        for table in TABLES {
            assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code));
            let mut names: Vec<&str> = table.iter().map(|definition| definition.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn fields_that_take_the_rest_come_last() {
        for definition in TABLES.into_iter().flatten() {
            let (last, inner) = definition.fields.split_last().expect("an option has a field");
            let greedy = |field: &Field| {
                matches!(
                    field,
                    Field::Binary | Field::Text | Field::Routes | Field::Opaque | Field::SubOptions
                )
            };
            assert!(!inner.iter().any(greedy), "{}", definition.name);
            assert!(!(definition.array && greedy(last)), "{}", definition.name);
        }
    }
}
