//! The client's name: what its options 12 and 81 say of it, what it is told and what its lease keeps
//! (RFC 4702; Kea reference §5.9). Updates of DNS are not done, so the answer to option 81 is always
//! that nobody here does them.

use core::net::{IpAddr, Ipv4Addr};

use dhcp_wire::name::read_text;
use dhcp_wire::v4::{Message, MessageWriter, option};

use super::claim::Place;
use crate::client_name::{self, NameTerms};
use crate::omission::{Omission, Omissions};

/// The server decides otherwise than the client wants (RFC 4702 §2.1).
const FLAG_O: u8 = 2;
/// The name is made of labels.
const FLAG_E: u8 = 4;
/// The server makes no entry.
const FLAG_N: u8 = 8;

/// What the name of a client comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Given {
    /// It gives none.
    #[default]
    Nothing,
    /// What it gives is none.
    Nonsense,
    /// An empty one: it wants one.
    Empty,
    /// A host name (option 12), of one label or more.
    HostName { is_partial: bool },
    /// The labels of option 81, without the end of the name or with it.
    Labels { is_partial: bool },
}

/// Name of a client after its characters were replaced.
enum Cleaned {
    /// Nothing is left of it, or what is left is no name.
    Lost,
    /// The root alone: the client wants a name.
    Root,
    /// A name without its end, which a suffix may complete.
    Partial,
    /// A whole name.
    Whole,
}

/// What the answer to an option 81 repeats of it, and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    flags: u8,
    codes: [u8; 2],
}

/// The name of the client at hand. One for each shard; it grows to the longest and then allocates
/// nothing.
#[derive(Debug, Default)]
pub(super) struct ClientName {
    given: Given,
    /// The name that the client gives: a host name as it was sent, or labels in lower case, a dot
    /// behind each.
    raw: Vec<u8>,
    /// The same name after its characters were replaced where the client was last named.
    own: String,
    /// What it is called where it was last asked for.
    text: String,
    fqdn: Option<Answer>,
    /// Whether the reply says anything about it.
    is_answered: bool,
    /// Whether it is one after its address.
    is_generated: bool,
    /// The part that the name is left without.
    omission: Option<Omission>,
    fitted_to: Option<(Place, Ipv4Addr)>,
}

impl ClientName {
    /// Forgets the client before, and reads what `message` says.
    pub(super) fn begin(&mut self, message: &Message<'_>) {
        self.raw.clear();
        self.text.clear();
        self.is_answered = false;
        self.omission = None;
        self.fitted_to = None;
        self.fqdn = None;
        self.given = if message.client_fqdn().is_some() {
            self.read_fqdn(message)
        } else if message.host_name().is_some() {
            self.read_host_name(message)
        } else {
            Given::Nothing
        };
    }

    fn read_fqdn(&mut self, message: &Message<'_>) -> Given {
        let Some(fqdn) = message.client_fqdn() else { return Given::Nothing };
        let overridden = if fqdn.asks_for_entry() { FLAG_O } else { 0 };
        let form = if fqdn.is_in_labels() { FLAG_E } else { 0 };
        self.fqdn = Some(Answer { flags: FLAG_N | overridden | form, codes: fqdn.codes });
        let raw = &mut self.raw;
        if !fqdn.read_name(|octet| raw.push(octet.to_ascii_lowercase())) {
            return Given::Nonsense;
        }
        if fqdn.name.is_empty() {
            return Given::Empty;
        }
        Given::Labels { is_partial: fqdn.is_partial() }
    }

    fn read_host_name(&mut self, message: &Message<'_>) -> Given {
        let Some(value) = message.host_name() else { return Given::Nothing };
        let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t' | b'\n');
        // Zeros at the end are no part of it, then blanks at both ends are not.
        let len = value.octets().enumerate().filter(|(_, octet)| *octet != 0).last();
        let len = len.map_or(0, |(at, _)| at + 1);
        let ends = value.octets().take(len).enumerate().filter(|(_, octet)| !is_blank(octet));
        let Some(first) = ends.clone().next().map(|(at, _)| at) else {
            // Blanks are a name of nothing, zeros are no name.
            return if len > 0 { Given::Nonsense } else { Given::Nothing };
        };
        let last = ends.last().map_or(first, |(at, _)| at);
        let trimmed = || value.octets().skip(first).take(last + 1 - first);
        if !read_text(trimmed(), |_| ()) {
            return Given::Nonsense;
        }
        if trimmed().eq(*b".") || trimmed().eq(*b"@") {
            return Given::Empty;
        }
        self.raw.extend(trimmed());
        // As in Kea its labels count as the client has sent them, whatever is replaced in it.
        Given::HostName { is_partial: !has_several_labels(&self.raw) }
    }

    /// Replaces what `terms` say in the name that the client gives.
    fn clean(&mut self, terms: &NameTerms) -> Cleaned {
        let own = &mut self.own;
        if let Given::Labels { is_partial } = self.given {
            return match terms.characters.clean_labels(&self.raw, is_partial, own) {
                false => Cleaned::Lost,
                true if is_partial => Cleaned::Partial,
                true => Cleaned::Whole,
            };
        }
        if !terms.characters.clean_host_name(&self.raw, own) {
            return Cleaned::Lost;
        }
        let is_partial = self.given == (Given::HostName { is_partial: true });
        match &**own {
            "." if is_partial => Cleaned::Lost,
            "." => Cleaned::Root,
            own if !read_text(own.bytes(), |_| ()) => Cleaned::Lost,
            _ if is_partial => Cleaned::Partial,
            _ => Cleaned::Whole,
        }
    }

    /// Makes the name that the client has with `address` in `place`, where `reserved` is reserved
    /// for it: this, else its own, else one after its address when `terms` or the client want that.
    pub(super) fn fit(
        &mut self,
        (place, address): (Place, Ipv4Addr),
        reserved: &str,
        terms: &NameTerms,
    ) {
        if self.is_fitted(place, address) {
            return;
        }
        self.fitted_to = Some((place, address));
        self.omission = None;
        self.text.clear();
        let ends_in_dot = self.fqdn.is_some();
        let cleaned = match self.given {
            Given::HostName { .. } | Given::Labels { .. } if reserved.is_empty() => {
                self.clean(terms)
            }
            _ => Cleaned::Lost,
        };
        let is_replaced = match self.given {
            Given::Nothing => terms.replaces_missing(),
            Given::Nonsense => false,
            Given::Empty => true,
            Given::HostName { .. } | Given::Labels { .. } => {
                terms.replaces_given() || matches!(cleaned, Cleaned::Root)
            }
        };
        self.is_answered = true;
        self.is_generated = reserved.is_empty() && is_replaced;
        if !reserved.is_empty() {
            self.text.push_str(reserved);
            self.complete(terms, ends_in_dot);
            self.text.make_ascii_lowercase();
        } else if self.is_generated {
            self.omission = terms.generate(IpAddr::V4(address), &mut self.text);
            self.end(ends_in_dot);
        } else {
            match cleaned {
                Cleaned::Lost | Cleaned::Root => self.is_answered = false,
                Cleaned::Partial => {
                    self.text.push_str(&self.own);
                    self.complete(terms, ends_in_dot);
                }
                Cleaned::Whole => self.text.push_str(&self.own),
            }
        }
        if ends_in_dot {
            self.text.make_ascii_lowercase();
        }
    }

    fn complete(&mut self, terms: &NameTerms, ends_in_dot: bool) {
        self.omission = terms.qualify(&mut self.text);
        self.end(ends_in_dot);
    }

    fn end(&mut self, ends_in_dot: bool) {
        if self.text.is_empty() {
            // There was no room for a generated name.
        } else if ends_in_dot {
            client_name::end_in_dot(&mut self.text);
        } else if self.text.ends_with('.') {
            // Some clients cannot do with it.
            self.text.pop();
        }
    }

    /// Whether the name was made for `address` in `place`.
    pub(super) fn is_fitted(&self, place: Place, address: Ipv4Addr) -> bool {
        self.fitted_to == Some((place, address))
    }

    /// What the client is called where [`Self::fit`] was asked for last; empty when it has no name.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The same, as a lease has it that was written for it; `None` when a new one is to be written:
    /// as in Kea a lease with a generated name is never repeated.
    pub(super) fn kept_text(&self) -> Option<&str> {
        (!self.is_generated).then_some(&self.text)
    }

    /// Adds what the name goes without.
    pub(super) const fn note(&self, omissions: &mut Omissions) {
        if let Some(omission) = self.omission {
            omissions.note(omission);
        }
    }

    /// Octets of the option that tells the client, at most.
    pub(super) const fn len_max(&self) -> usize {
        // Flags and two codes, and a length in front of the first label and behind the last.
        self.text.len() + 5
    }

    /// Writes the option that tells the client, if any does; its code.
    pub(super) fn put(&self, writer: &mut MessageWriter<'_>) -> Option<u8> {
        if !self.is_answered || self.text.is_empty() {
            return None;
        }
        let Some(Answer { flags, codes: [first, second] }) = self.fqdn else {
            writer.option(option::HOST_NAME, self.text.as_bytes());
            return Some(option::HOST_NAME);
        };
        let mut octets = [0; 3 + 255];
        octets[..3].copy_from_slice(&[flags, first, second]);
        let mut len = 3;
        let mut push = |piece: &[u8]| {
            if let Some(target) = octets.get_mut(len..len + piece.len()) {
                target.copy_from_slice(piece);
                len += piece.len();
            }
        };
        if flags & FLAG_E == 0 {
            push(self.text.as_bytes());
        } else {
            client_name::labels(&self.text, |label| {
                push(&[label.len() as u8]);
                push(label);
            });
            push(&[0]);
        }
        writer.option(option::CLIENT_FQDN, &octets[..len]);
        Some(option::CLIENT_FQDN)
    }
}

/// Returns whether a host name has a dot between labels. One after a backslash is part of its
/// label.
fn has_several_labels(name: &[u8]) -> bool {
    let mut is_escaped = false;
    name.strip_suffix(b".").unwrap_or(name).iter().any(|&octet| {
        let is_dot = octet == b'.' && !is_escaped;
        is_escaped = octet == b'\\' && !is_escaped;
        is_dot
    })
}
