//! Options of dhcpd: their names, types and values, and their form in Kea's dialect.

mod definition;
pub(crate) mod emit;
mod standard;
pub(crate) mod value;

use std::collections::BTreeMap;

/// Space and code that identify an option; the spaces `dhcp` and `dhcp6` are the families' own.
pub(crate) type OptionKey = (String, u16);

/// Type of one field of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionField {
    Ipv4,
    Ipv6,
    Boolean,
    /// Integer with its number of bytes.
    Unsigned(u8),
    /// Signed integer with its number of bytes.
    Signed(u8),
    Text,
    /// Bytes, written as a string or as hexadecimal numbers with colons.
    Octets,
    /// Domain name, or a list of them, in labels.
    Name,
}

/// Type of an option's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionLayout {
    pub(crate) fields: Vec<OptionField>,
    /// True if the fields repeat.
    pub(crate) repeats: bool,
    /// Name of the space of the options inside the option, if it consists of options.
    pub(crate) encapsulates: Option<String>,
}

impl OptionLayout {
    pub(crate) fn new(fields: &[OptionField], repeats: bool) -> Self {
        Self { fields: fields.to_vec(), repeats, encapsulates: None }
    }
}

/// Space of options that the file declares.
#[derive(Clone, Copy, Debug)]
struct SpaceWidths {
    /// Number of bytes of an option's code.
    code: usize,
    /// Number of bytes of an option's length; 0 for none.
    length: usize,
}

/// Option with its name, from the file or from dhcpd's own tables.
#[derive(Clone, Debug)]
pub(crate) struct KnownOption {
    pub(crate) key: OptionKey,
    pub(crate) name: String,
    pub(crate) layout: OptionLayout,
}

/// Options that a file can name: those of dhcpd and those that the file defines.
#[derive(Clone, Debug)]
pub(crate) struct OptionRegistry {
    is_v6: bool,
    spaces: BTreeMap<String, SpaceWidths>,
    by_name: BTreeMap<(String, String), KnownOption>,
    /// Keys of options that the file defines.
    custom: Vec<OptionKey>,
}

impl OptionRegistry {
    pub(crate) fn new(is_v6: bool) -> Self {
        let mut registry =
            Self { is_v6, spaces: BTreeMap::new(), by_name: BTreeMap::new(), custom: Vec::new() };
        for (space, table) in
            [("dhcp", standard::V4), ("dhcp6", standard::V6), ("agent", standard::AGENT)]
        {
            for (code, name, fields, repeats) in table {
                registry.add(space, *code, name, OptionLayout::new(fields, *repeats));
            }
        }
        registry
    }

    fn add(&mut self, space: &str, code: u16, name: &str, layout: OptionLayout) {
        let key = (space.to_owned(), code);
        let known = KnownOption { key, name: name.to_owned(), layout };
        self.by_name.insert((space.to_owned(), name.to_ascii_lowercase()), known);
    }

    /// Returns true if the registry is that of DHCPv6.
    pub(crate) const fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// Returns the option called `name`: `routers`, `dhcp6.name-servers`, `PXE.mtftp-ip`, or
    /// `option-150`, as dhcpd calls an option without a definition.
    pub(crate) fn find(&self, name: &str) -> Option<KnownOption> {
        let (space, name) = name.split_once('.').unwrap_or(("dhcp", name));
        let space = self.canonical_space(space);
        let name = name.to_ascii_lowercase();
        if let Some(known) = self.by_name.get(&(space.clone(), name.clone())) {
            return Some(known.clone());
        }
        let code = name.strip_prefix("option-").or_else(|| name.strip_prefix("unknown-"))?;
        let code = code.parse().ok()?;
        let layout = OptionLayout::new(&[OptionField::Octets], false);
        Some(KnownOption { key: (space, code), name, layout })
    }

    /// Returns the name of the space as the file declared it: names do not depend on case.
    pub(crate) fn canonical_space(&self, space: &str) -> String {
        let declared = self.spaces.keys().find(|own| own.eq_ignore_ascii_case(space));
        declared.cloned().unwrap_or_else(|| space.to_ascii_lowercase())
    }

    /// Returns the option with the key `key`, if it has a definition; that of the file if the file
    /// defines the code again.
    pub(crate) fn by_key(&self, key: &OptionKey) -> Option<&KnownOption> {
        let mut known: Vec<&KnownOption> =
            self.by_name.values().filter(|known| known.key == *key).collect();
        known.sort_by_key(|known| standard::is_named(&known.name));
        known.first().copied()
    }

    /// Returns the codes of options of the family's own space that consist of options of another
    /// space, each with that space.
    pub(crate) fn encapsulating(&self) -> Vec<(u16, String)> {
        let own_space = if self.is_v6 { "dhcp6" } else { "dhcp" };
        let own = self.by_name.values().filter(|known| known.key.0 == own_space);
        own.filter_map(|known| {
            let space = known.layout.encapsulates.as_deref()?;
            Some((known.key.1, self.canonical_space(space)))
        })
        .collect()
    }

    /// Returns the bytes of `options`, by code, as the space `space` frames them.
    pub(crate) fn framed(&self, space: &str, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let standard = if self.is_v6 { 2 } else { 1 };
        let widths = SpaceWidths { code: standard, length: standard };
        let widths = self.spaces.get(space).copied().unwrap_or(widths);
        let mut octets = Vec::new();
        for (code, value) in options {
            put_number(&mut octets, u64::from(*code), widths.code);
            put_number(&mut octets, value.len() as u64, widths.length);
            octets.extend_from_slice(value);
        }
        octets
    }
}

/// Appends the last `width` bytes of `number`.
pub(crate) fn put_number(octets: &mut Vec<u8>, number: u64, width: usize) {
    let bytes = number.to_be_bytes();
    let skipped = bytes.len().saturating_sub(width);
    octets.extend(bytes.iter().skip(skipped));
}
