//! Definition of an option: its name, its code, the types of its fields, and the space of its
//! sub-options.

use std::borrow::Cow;

/// Type of one field of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Bytes that take up the rest of the option.
    Binary,
    /// Boolean in one byte, 1 or 0.
    Boolean,
    /// Enterprise number in four bytes; as text followed by an empty data length.
    Enterprise,
    /// Signed integer in one byte.
    I8,
    /// Signed integer in two bytes.
    I16,
    /// Signed integer in four bytes.
    I32,
    /// IPv4 address in four bytes.
    Ipv4,
    /// IPv6 address in 16 bytes.
    Ipv6,
    /// IPv6 prefix: its length in one byte and the bytes that the length covers (RFC 7598 §4).
    Ipv6Prefix,
    /// Domain name in labels (RFC 1035 §3.1).
    Name,
    /// Bytes that the text of a configuration cannot give.
    Opaque,
    /// Port set identifier: its length and its value (RFC 7618 §9).
    Psid,
    /// DNS resolver with encryption (RFC 9463 §4.1).
    Resolver,
    /// DNS resolvers with encryption, each after its length (RFC 9463 §5.1).
    Resolvers,
    /// Classless routes (RFC 3442).
    Routes,
    /// Sub-options after an option's other fields, which the text of a configuration leaves out.
    SubOptions,
    /// Characters that take up the rest of the option, without zeros at its end.
    Text,
    /// Bytes after a length of two bytes (RFC 8572 §8.3).
    Tuple,
    /// Bytes after a length of one byte: a tuple in options of DHCPv4 that operators define.
    ShortTuple,
    /// Unsigned integer in one byte.
    U8,
    /// Unsigned integer in two bytes.
    U16,
    /// Unsigned integer in four bytes.
    U32,
}

impl Field {
    /// Returns true if the field takes up the rest of the option.
    pub(super) const fn is_greedy(self) -> bool {
        matches!(
            self,
            Self::Binary
                | Self::Opaque
                | Self::Resolver
                | Self::Resolvers
                | Self::Routes
                | Self::SubOptions
                | Self::Text
        )
    }

    /// Returns the length of the field in bytes; `None` if it varies.
    pub(super) const fn fixed_len(self) -> Option<usize> {
        match self {
            Self::Boolean | Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::Psid => Some(3),
            Self::I32 | Self::Ipv4 | Self::U32 => Some(4),
            Self::Ipv6 => Some(16),
            _ => None,
        }
    }
}

/// Definition of one DHCP option: code, name and types of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Code of the defined option.
    pub code: u16,
    /// Name of the defined option in the configuration.
    pub name: Cow<'static, str>,
    /// Types of the option's fields, in order; none for an option without bytes of its own.
    pub fields: Cow<'static, [Field]>,
    /// True if the option's last field repeats.
    pub array: bool,
    /// Name of the space of the sub-options after the option's fields; `None` without sub-options.
    pub encapsulates: Option<Cow<'static, str>>,
}

impl Definition {
    const fn standard(code: u16, name: &'static str, fields: &'static [Field]) -> Self {
        let (name, fields) = (Cow::Borrowed(name), Cow::Borrowed(fields));
        Self { code, name, fields, array: false, encapsulates: None }
    }
}

/// Creates the definition of an option whose fields occur once.
pub(crate) const fn one(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    Definition::standard(code, name, fields)
}

/// Creates the definition of an option whose last field repeats.
pub(crate) const fn array(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    let name = Cow::Borrowed(name);
    Definition { code, name, fields: Cow::Borrowed(fields), array: true, encapsulates: None }
}

/// Creates the definition of an option with sub-options of the space `space` after its fields.
pub(crate) const fn container(
    code: u16,
    name: &'static str,
    fields: &'static [Field],
    space: &'static str,
) -> Definition {
    let (name, space) = (Cow::Borrowed(name), Some(Cow::Borrowed(space)));
    Definition { code, name, fields: Cow::Borrowed(fields), array: false, encapsulates: space }
}

/// Returns the definition in `table` of the option with the name `name`.
pub(crate) fn by_name(table: &'static [Definition], name: &str) -> Option<&'static Definition> {
    table.iter().find(|definition| definition.name == name)
}

/// Standard options of one option space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardSpace {
    /// Name of the option space.
    pub(crate) name: &'static str,
    /// Definitions of the space's options, ordered by code.
    pub(crate) definitions: &'static [Definition],
}

impl StandardSpace {
    /// Returns the definition of the option with the code `code`; `None` if the space has none.
    pub(crate) fn by_code(self, code: u16) -> Option<&'static Definition> {
        let index = self.definitions.binary_search_by_key(&code, |definition| definition.code);
        index.ok().map(|index| &self.definitions[index])
    }
}

#[cfg(test)]
mod tests {
    use base::{V4, V6};

    use super::StandardSpace;
    use crate::shared::family::ConfigFamily;

    fn spaces() -> impl Iterator<Item = &'static StandardSpace> {
        V4::SPACES.iter().chain(V6::SPACES)
    }

    #[test]
    fn codes_rise_and_names_differ() {
        for space in spaces() {
            let table = space.definitions;
            assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code), "{}", space.name);
            let mut names: Vec<&str> = table.iter().map(|definition| &*definition.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn fields_that_take_the_rest_come_last() {
        for definition in spaces().flat_map(|space| space.definitions) {
            let Some((last, inner)) = definition.fields.split_last() else {
                assert!(!definition.array);
                continue;
            };
            assert!(!inner.iter().any(|field| field.is_greedy()), "{}", definition.name);
            assert!(!(definition.array && last.is_greedy()), "{}", definition.name);
            let has_sub_options = definition.encapsulates.is_some();
            assert!(!has_sub_options || !last.is_greedy(), "{}", definition.name);
        }
    }
}
