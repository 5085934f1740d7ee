//! What clients are called, in both families: names cleaned, completed and made up (Kea reference
//! §5.9). DNS itself is not updated.

use core::fmt::{self, Write};
use core::net::IpAddr;

use dhcp_config::{NameKeys, ReplaceName};

/// What a scope says of its clients' names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTerms {
    /// Whose names are replaced by generated ones.
    pub replace: ReplaceName,
    /// What generated names begin with.
    pub generated_prefix: Box<str>,
    /// What completes names; empty when nothing does.
    pub suffix: Box<str>,
}

impl Default for NameTerms {
    fn default() -> Self {
        Self::compile(&NameKeys::default())
    }
}

impl NameTerms {
    /// Compiles the keys of a scope.
    #[must_use]
    pub fn compile(keys: &NameKeys) -> Self {
        Self {
            replace: keys.replace.unwrap_or_default(),
            generated_prefix: keys.generated_prefix.as_deref().unwrap_or("myhost").into(),
            suffix: keys.qualifying_suffix.as_deref().unwrap_or_default().into(),
        }
    }

    /// The terms of a pool in a scope with `outer`; `None` when it has none of its own.
    #[must_use]
    pub fn of_pool(own: &NameKeys, outer: &NameKeys) -> Option<Box<Self>> {
        let has_own = *own != NameKeys::default();
        has_own.then(|| Box::new(Self::compile(&own.clone().inside(outer))))
    }

    /// Whether a name that a client gives is replaced.
    pub(crate) const fn replaces_given(&self) -> bool {
        matches!(self.replace, ReplaceName::Always | ReplaceName::WhenPresent)
    }

    /// Whether a client that gives no name gets one.
    pub(crate) const fn replaces_missing(&self) -> bool {
        matches!(self.replace, ReplaceName::Always | ReplaceName::WhenNotPresent)
    }

    /// Completes `name` by the suffix, unless it has that or ends in a dot.
    pub(crate) fn qualify(&self, name: &mut String) {
        let suffix = self.suffix.strip_suffix('.').unwrap_or(&self.suffix);
        if self.suffix.is_empty() || name.ends_with('.') {
            return;
        }
        let before = name.strip_suffix(suffix);
        if !before.is_some_and(|before| before.is_empty() || before.ends_with('.')) {
            name.push('.');
            name.push_str(&self.suffix);
        }
    }

    /// Makes `name` one after the client's address.
    pub(crate) fn generate(&self, address: IpAddr, name: &mut String) {
        name.clear();
        name.push_str(&self.generated_prefix);
        name.push('-');
        write!(Dashes(name), "{address}").expect("a string takes everything");
        if name.ends_with('-') {
            name.push('0');
        }
        self.qualify(name);
    }
}

/// Writes dashes where addresses have dots or colons.
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

/// Appends a letter of a client's name as Kea does with `hostname-char-set` as it is by default:
/// lower case, nothing but letters, digits, dots and hyphens.
pub(crate) fn push_clean(name: &mut String, octet: u8) {
    if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.') {
        name.push(char::from(octet.to_ascii_lowercase()));
    }
}

/// Whether there is something in front of each dot.
pub(crate) fn has_labels(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains("..")
}

/// Lets `name` end in a dot.
pub(crate) fn end_in_dot(name: &mut String) {
    if !name.ends_with('.') {
        name.push('.');
    }
}

/// The labels of a name as they are on the wire: at most 63 octets each, no empty ones.
pub(crate) fn labels(name: &str) -> impl Iterator<Item = &[u8]> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    labels.map(|label| &label.as_bytes()[..label.len().min(63)])
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
            terms(suffix).qualify(&mut completed);
            assert_eq!(completed, expected, "{name} {suffix}");
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
    fn what_is_between_dots_is_told() {
        assert!(has_labels("a.b.") && has_labels("a"));
        assert!(!has_labels("") && !has_labels(".") && !has_labels(".a") && !has_labels("a..b"));
    }
}
