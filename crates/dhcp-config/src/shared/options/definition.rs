//! What is known of an option: its name, its code, the types of its fields, and the space of its
//! sub-options.

use std::borrow::Cow;

/// Type of one field of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Octets; the rest of the option.
    Binary,
    /// One octet, 1 or 0.
    Boolean,
    /// An enterprise number, and as text an empty data length behind it.
    Enterprise,
    /// One octet, signed.
    I8,
    /// Two octets, signed.
    I16,
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
    /// Octets that text cannot give.
    Opaque,
    /// Length and value of a port set identifier (RFC 7618 §9).
    Psid,
    /// A resolver that is reached encrypted (RFC 9463 §4.1).
    Resolver,
    /// Such resolvers, each behind its length (RFC 9463 §5.1).
    Resolvers,
    /// Classless routes (RFC 3442).
    Routes,
    /// Sub-options behind other fields, which text leaves out.
    SubOptions,
    /// Characters; the rest of the option, without zeros at its end.
    Text,
    /// Octets behind a length of two octets (RFC 8572 §8.3).
    Tuple,
    /// Octets behind a length of one octet: a tuple in options of DHCPv4 that operators define.
    ShortTuple,
    /// One octet.
    U8,
    /// Two octets.
    U16,
    /// Four octets.
    U32,
}

impl Field {
    /// Whether it takes up the rest of the option.
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

    /// Its length where that is always the same.
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

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Option code.
    pub code: u16,
    /// Name in the configuration.
    pub name: Cow<'static, str>,
    /// Types of its fields, in order; none of an option without octets of its own.
    pub fields: Cow<'static, [Field]>,
    /// Whether the last field repeats.
    pub array: bool,
    /// The space of the sub-options behind its fields.
    pub encapsulates: Option<Cow<'static, str>>,
}

impl Definition {
    const fn standard(code: u16, name: &'static str, fields: &'static [Field]) -> Self {
        let (name, fields) = (Cow::Borrowed(name), Cow::Borrowed(fields));
        Self { code, name, fields, array: false, encapsulates: None }
    }
}

/// An option whose fields occur once.
pub(crate) const fn one(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    Definition::standard(code, name, fields)
}

/// An option whose last field repeats.
pub(crate) const fn array(code: u16, name: &'static str, fields: &'static [Field]) -> Definition {
    let name = Cow::Borrowed(name);
    Definition { code, name, fields: Cow::Borrowed(fields), array: true, encapsulates: None }
}

/// An option with sub-options of a space behind its fields.
pub(crate) const fn container(
    code: u16,
    name: &'static str,
    fields: &'static [Field],
    space: &'static str,
) -> Definition {
    let (name, space) = (Cow::Borrowed(name), Some(Cow::Borrowed(space)));
    Definition { code, name, fields: Cow::Borrowed(fields), array: false, encapsulates: space }
}

/// The definition of an option name.
pub(crate) fn by_name(table: &'static [Definition], name: &str) -> Option<&'static Definition> {
    table.iter().find(|definition| definition.name == name)
}

/// The standard options of a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardSpace {
    /// Name of the space.
    pub(crate) name: &'static str,
    /// Its options, ordered by code.
    pub(crate) definitions: &'static [Definition],
}

impl StandardSpace {
    /// The definition of a code.
    pub(crate) fn by_code(self, code: u16) -> Option<&'static Definition> {
        let place = self.definitions.binary_search_by_key(&code, |definition| definition.code);
        place.ok().map(|place| &self.definitions[place])
    }
}

#[cfg(test)]
mod tests {
    use super::StandardSpace;
    use crate::shared::family::Family;
    use crate::v4::V4;
    use crate::v6::V6;

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
