//! Names of clients in DHCPv4 and DHCPv6: cleaned, completed and generated, and the DNS updates
//! that the server makes for them (Kea reference §5.9).

use core::fmt::{self, Write};
use core::net::IpAddr;

use base::host_name::HOST_NAME_MAX;
use dhcp_config::{NameKeys, NameUpdateKeys, ReplaceName};
use dhcp_wire::name::read_text;

use crate::name_characters::{NameCharacters, NameOctets};
use crate::omission::Omission;

/// Settings of a scope for the names of its clients (Kea's `ddns-*` and `hostname-char-*`), in
/// compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTerms {
    /// Condition under which a generated name replaces the name that the client sends
    /// (`ddns-replace-client-name`).
    pub replace: ReplaceName,
    /// Prefix of the names that the server generates from clients' addresses
    /// (`ddns-generated-prefix`).
    pub generated_prefix: Box<str>,
    /// Suffix that completes clients' names (`ddns-qualifying-suffix`); empty for none.
    pub suffix: Box<str>,
    /// Replacement of characters in the names that the scope's clients send (`hostname-char-set`).
    pub characters: NameCharacters,
    /// DNS updates that the server makes for the names of the scope.
    pub updates: UpdateTerms,
}

/// Settings of a scope for the DNS updates of its clients' names, in compiled form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateTerms {
    /// True if the server makes updates (`enable-updates` of `dhcp-ddns`, `ddns-send-updates`).
    pub is_enabled: bool,
    /// True if the server makes them also for clients that want none (`ddns-override-no-update`).
    pub overrides_no_update: bool,
    /// True if the server makes them also for clients that want to make the forward entry
    /// themselves (`ddns-override-client-update`).
    pub overrides_client_update: bool,
}

impl UpdateTerms {
    fn compile(keys: &NameUpdateKeys, sends_requests: bool) -> Self {
        Self {
            is_enabled: sends_requests && keys.sends.unwrap_or(true),
            overrides_no_update: keys.overrides_no_update.unwrap_or(false),
            overrides_client_update: keys.overrides_client_update.unwrap_or(false),
        }
    }

    /// Returns the updates for a client that sends a Client FQDN option: `requests_entry` is its
    /// flag S, `declines_entries` its flag N (RFC 4702 §4, RFC 4704 §6).
    pub(crate) const fn decide(self, requests_entry: bool, declines_entries: bool) -> DnsUpdates {
        let overrides =
            if declines_entries { self.overrides_no_update } else { self.overrides_client_update };
        let forward = self.is_enabled && (requests_entry || overrides);
        DnsUpdates { forward, reverse: self.is_enabled && (forward || !declines_entries) }
    }

    /// Returns the updates for a client whose name is in option 12 of DHCPv4, or that sends no
    /// name.
    pub(crate) const fn decide_without_fqdn(self) -> DnsUpdates {
        DnsUpdates { forward: self.is_enabled, reverse: self.is_enabled }
    }
}

/// DNS updates that the server makes for a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DnsUpdates {
    /// True if the server makes the entry from name to address.
    pub(crate) forward: bool,
    /// True if the server makes the entry from address to name.
    pub(crate) reverse: bool,
}

impl Default for NameTerms {
    fn default() -> Self {
        Self::compile(&NameKeys::default(), false)
    }
}

impl NameTerms {
    /// Compiles the name settings of a scope from its configuration keys; `sends_requests` is true
    /// if the server sends name change requests at all.
    #[must_use]
    pub fn compile(keys: &NameKeys, sends_requests: bool) -> Self {
        Self {
            updates: UpdateTerms::compile(&keys.updates, sends_requests),
            replace: keys.replace.unwrap_or_default(),
            generated_prefix: keys.generated_prefix.as_deref().unwrap_or("myhost").into(),
            suffix: keys.qualifying_suffix.as_deref().unwrap_or_default().into(),
            characters: NameCharacters::new(
                keys.character_set.clone().unwrap_or_default(),
                keys.character_replacement.as_deref().unwrap_or_default(),
            ),
        }
    }

    /// Returns the name settings of a pool in a scope with the settings `outer`; `None` when the
    /// pool has none of its own.
    #[must_use]
    pub fn for_pool(own: &NameKeys, outer: &NameKeys, sends_requests: bool) -> Option<Box<Self>> {
        let has_own = *own != NameKeys::default();
        has_own.then(|| Box::new(Self::compile(&own.clone().inside(outer), sends_requests)))
    }

    /// Returns true if a generated name replaces the name that a client sends
    /// (`ddns-replace-client-name`).
    pub(crate) const fn replaces_client_name(&self) -> bool {
        matches!(self.replace, ReplaceName::Always | ReplaceName::WhenPresent)
    }

    /// Returns true if a client that sends no name gets a generated one
    /// (`ddns-replace-client-name`).
    pub(crate) const fn replaces_missing(&self) -> bool {
        matches!(self.replace, ReplaceName::Always | ReplaceName::WhenNotPresent)
    }

    /// Completes the client's name `name` by the `ddns-qualifying-suffix`, unless the name has the
    /// suffix or ends in a dot. Returns the omission, if any: a name that would be longer than a
    /// lease can store stays as it is.
    pub(crate) fn qualify(&self, name: &mut String) -> Option<Omission> {
        let suffix = self.suffix.strip_suffix('.').unwrap_or(&self.suffix);
        if self.suffix.is_empty() || name.ends_with('.') {
            return None;
        }
        let before = name.strip_suffix(suffix);
        if before.is_some_and(|before| before.is_empty() || before.ends_with('.')) {
            return None;
        }
        // Both dots count: the code that answers option 81 appends the last one.
        if name.len() + 1 + suffix.len() + 1 > HOST_NAME_MAX {
            return Some(Omission::Suffix);
        }
        name.push('.');
        name.push_str(&self.suffix);
        None
    }

    /// Sets `name` to a name generated from the client's address. Returns the omission, if any: the
    /// `ddns-qualifying-suffix` was left out, or the whole name, which is empty then.
    pub(crate) fn generate(&self, address: IpAddr, name: &mut String) -> Option<Omission> {
        name.clear();
        name.push_str(&self.generated_prefix);
        name.push('-');
        write!(Dashes(name), "{address}").expect("a string takes everything");
        if name.ends_with('-') {
            name.push('0');
        }
        if name.len() >= HOST_NAME_MAX {
            name.clear();
            return Some(Omission::GeneratedName);
        }
        self.qualify(name)
    }
}

/// Writer that appends the text of an address to a name, with dashes for its dots and colons.
struct Dashes<'n>(&'n mut String);

impl Write for Dashes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let letters = text.chars().map(|letter| match letter {
            '.' | ':' => '-',
            other => other,
        });
        self.0.extend(letters);
        Ok(())
    }
}

/// Appends a dot to the client's name `name` unless it ends in one, if the dot fits.
pub(crate) fn end_in_dot(name: &mut String) {
    if !name.ends_with('.') && name.len() < HOST_NAME_MAX {
        name.push('.');
    }
}

/// Passes the labels of a name to `take` as they are on the wire: at most 63 bytes each, no empty
/// ones, with `\X` and `\DDD` replaced by the bytes that they represent.
pub(crate) fn labels(name: &str, mut take: impl FnMut(&[u8])) {
    let mut octets = NameOctets::new();
    let is_name = read_text(name.bytes(), |octet| octets.push(&[octet]));
    let octets = if is_name { octets.get() } else { Some(name.as_bytes()) };
    let labels = octets.unwrap_or_default().split(|&octet| octet == b'.');
    for label in labels.filter(|label| !label.is_empty()) {
        take(&label[..label.len().min(63)]);
    }
}

/// Returns true if the text of a name has a dot between labels. A dot after a backslash is part of
/// its label.
pub(crate) fn has_several_labels(name: &[u8]) -> bool {
    let mut is_escaped = false;
    name.strip_suffix(b".").unwrap_or(name).iter().any(|&octet| {
        let is_dot = octet == b'.' && !is_escaped;
        is_escaped = octet == b'\\' && !is_escaped;
        is_dot
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(suffix: &str) -> NameTerms {
        NameTerms { suffix: suffix.into(), ..NameTerms::default() }
    }

    #[test]
    fn names_are_completed_once() {
        for (name, suffix, expected) in [
            ("foo", "", "foo"),
            ("foo", "example.com", "foo.example.com"),
            ("foo", "example.com.", "foo.example.com."),
            ("foo.", "example.com", "foo."),
            ("foo.example.com", "example.com.", "foo.example.com"),
            ("fooexample.com", "example.com", "fooexample.com.example.com"),
            ("example.com", "example.com", "example.com"),
        ] {
            let mut completed = name.to_owned();
            assert_eq!(terms(suffix).qualify(&mut completed), None);
            assert_eq!(completed, expected, "{name} {suffix}");
        }
    }

    #[test]
    fn a_name_stays_as_it_is_when_the_suffix_has_no_room() {
        // 242 bytes, a dot, the suffix of 11 and the last dot are 255.
        for (octets, omitted) in [(242, None), (243, Some(Omission::Suffix))] {
            let name = "a".repeat(octets);
            let mut completed = name.clone();
            assert_eq!(terms("example.org").qualify(&mut completed), omitted);
            end_in_dot(&mut completed);
            assert!(completed.len() <= HOST_NAME_MAX && completed.starts_with(&name));
            assert_eq!(completed.len(), if omitted.is_some() { octets + 1 } else { 255 });
        }
        let mut longest = "a".repeat(255);
        end_in_dot(&mut longest);
        assert_eq!(longest.len(), 255);
    }

    #[test]
    fn a_generated_name_that_has_no_room_is_none() {
        let address = "2001:db8::1f".parse().unwrap();
        for (octets, omitted, rest) in [
            (241, None, 13),
            (242, Some(Omission::GeneratedName), 0),
            (230, Some(Omission::Suffix), 13),
        ] {
            let suffix = if octets == 230 { "example.org" } else { "" };
            let prefix = "a".repeat(octets);
            let terms = NameTerms { generated_prefix: prefix.into(), ..terms(suffix) };
            let mut name = "before".to_owned();
            assert_eq!(terms.generate(address, &mut name), omitted);
            assert_eq!(name.len(), if rest == 0 { 0 } else { octets + rest });
        }
    }

    #[test]
    fn nameless_clients_are_named_after_their_address() {
        let mut name = "before".to_owned();
        terms("example.com").generate("192.0.2.1".parse().unwrap(), &mut name);
        assert_eq!(name, "myhost-192-0-2-1.example.com");
        terms("").generate("2001:db8::1f".parse().unwrap(), &mut name);
        assert_eq!(name, "myhost-2001-db8--1f");
        terms("").generate("2001:db8::".parse().unwrap(), &mut name);
        assert_eq!(name, "myhost-2001-db8--0");
    }

    #[test]
    fn labels_are_on_the_wire_what_their_escapes_stand_for() {
        for (name, expected) in [
            ("foo.example.", &["foo", "example"][..]),
            (r"a\032b.c\@d.", &["a b", "c@d"]),
            (".", &[]),
            ("", &[]),
            (r"a\", &[r"a\"]),
            ("a..b", &["a", "b"]),
        ] {
            let mut found_labels = Vec::new();
            labels(name, |label| found_labels.push(String::from_utf8(label.to_vec()).unwrap()));
            assert_eq!(found_labels, expected, "{name}");
        }
    }
}
