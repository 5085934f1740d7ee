//! Name of a DHCPv4 client: the content of its options 12 and 81, the name in the reply and the
//! name in its lease, and the DNS updates for it (RFC 4702; Kea reference §5.9).

use core::net::{IpAddr, Ipv4Addr};

use dhcp_wire::name::read_text;
use dhcp_wire::v4::{Message, MessageWriter, option};

use super::claim::AddressLocation;
use crate::client_name::{self, DnsUpdates, NameTerms, has_several_labels};
use crate::name_tuning::{NameTuning, TunedName};
use crate::omission::{Omission, Omissions};

/// Flag S of option 81: the server makes the DNS entry from name to address (RFC 4702 §2.1).
const FLAG_S: u8 = 1;
/// Flag O of option 81: the server decides otherwise than the client wants (RFC 4702 §2.1).
const FLAG_O: u8 = 2;
/// Flag E of option 81: the name is encoded as labels (RFC 4702 §2.1).
const FLAG_E: u8 = 4;
/// Flag N of option 81: the server makes no DNS update (RFC 4702 §2.1).
const FLAG_N: u8 = 8;

/// Option of a DHCPv4 message (12 or 81) that a client's name is from, and its form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClientNameSource {
    /// Neither option 12 nor 81: the client sends no name.
    #[default]
    Nothing,
    /// Option 12 or 81 with an invalid name.
    Nonsense,
    /// Option 12 or 81 with an empty name: the client requests a name.
    Empty,
    /// Option 12 with a host name of one label or more.
    HostName { is_partial: bool },
    /// Option 81 with the labels of a name, without the end of the name or with it.
    Labels { is_partial: bool },
}

/// Form of a client's name after its characters were replaced (`hostname-char-set`).
enum CleanedName {
    /// Empty text, or text that is no domain name.
    Invalid,
    /// Root name alone: the client requests a name.
    Root,
    /// Name without its end, which the `ddns-qualifying-suffix` may complete.
    Partial,
    /// Fully qualified name, with its end.
    Whole,
}

/// Fields of the client's option 81 that decide about DNS updates, and those that the server's
/// option 81 repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReceivedFqdn {
    /// True if flag S is set: the client wants the server to make the forward entry.
    requests_entry: bool,
    /// True if flag N is set: the client wants the server to make no entry.
    declines_entries: bool,
    /// Flag E of the client.
    form: u8,
    codes: [u8; 2],
}

impl ReceivedFqdn {
    /// Returns the flags of the reply's option 81 for a server that makes `updates`. As in Kea, the
    /// option declines all updates when the hook library ddns_tuning has changed the name or the
    /// updates (`is_tuned`).
    fn answer_flags(&self, updates: DnsUpdates, is_tuned: bool) -> u8 {
        let no_update = if updates.reverse && !is_tuned { 0 } else { FLAG_N };
        let forward = if updates.forward && !is_tuned { FLAG_S } else { 0 };
        let overridden = if updates.forward == self.requests_entry { 0 } else { FLAG_O };
        no_update | forward | overridden | self.form
    }
}

/// Name of the DHCPv4 client whose message is being served. Each shard has one; it grows to the
/// longest and then allocates nothing.
#[derive(Debug, Default)]
pub(super) struct ClientName {
    source: ClientNameSource,
    /// Name that the client sends: a host name as sent, or labels in lower case, a dot after each.
    raw: Vec<u8>,
    /// Name that the client sends, after its characters were replaced by the rules of the location
    /// chosen last.
    cleaned_text: String,
    /// Name that the client has in the location chosen last.
    text: String,
    fqdn: Option<ReceivedFqdn>,
    /// DNS updates for the client's lease in the location chosen last.
    updates: DnsUpdates,
    /// DNS updates that the settings of the location require for the client's name.
    usual_updates: DnsUpdates,
    /// True if the hook library ddns_tuning has changed the name or the updates.
    is_tuned: bool,
    /// True if the reply has an option for the client's name (12 or 81).
    is_answered: bool,
    /// True if the name is generated from the address that the client gets.
    is_generated: bool,
    /// Part that is left out of the name because of a size limit.
    omission: Option<Omission>,
    chosen_for: Option<(AddressLocation, Ipv4Addr)>,
}

impl ClientName {
    /// Discards the name of the previous client, and reads the client's name in `message`.
    pub(super) fn begin(&mut self, message: &Message<'_>) {
        self.raw.clear();
        self.text.clear();
        self.is_answered = false;
        self.omission = None;
        self.chosen_for = None;
        self.fqdn = None;
        self.updates = DnsUpdates::default();
        self.usual_updates = DnsUpdates::default();
        self.is_tuned = false;
        self.source = if message.client_fqdn().is_some() {
            self.read_fqdn(message)
        } else if message.host_name().is_some() {
            self.read_host_name(message)
        } else {
            ClientNameSource::Nothing
        };
    }

    fn read_fqdn(&mut self, message: &Message<'_>) -> ClientNameSource {
        let Some(fqdn) = message.client_fqdn() else { return ClientNameSource::Nothing };
        self.fqdn = Some(ReceivedFqdn {
            requests_entry: fqdn.requests_entry(),
            declines_entries: fqdn.declines_entries(),
            form: if fqdn.is_in_labels() { FLAG_E } else { 0 },
            codes: fqdn.codes,
        });
        let raw = &mut self.raw;
        if !fqdn.read_name(|octet| raw.push(octet.to_ascii_lowercase())) {
            return ClientNameSource::Nonsense;
        }
        if fqdn.name.is_empty() {
            return ClientNameSource::Empty;
        }
        ClientNameSource::Labels { is_partial: fqdn.is_partial() }
    }

    fn read_host_name(&mut self, message: &Message<'_>) -> ClientNameSource {
        let Some(value) = message.host_name() else { return ClientNameSource::Nothing };
        let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t' | b'\n');
        // Zeros at the end do not belong to the name; after that, blanks at both ends do not.
        let len = value.octets().enumerate().filter(|(_, octet)| *octet != 0).last();
        let len = len.map_or(0, |(at, _)| at + 1);
        let ends = value.octets().take(len).enumerate().filter(|(_, octet)| !is_blank(octet));
        let Some(first) = ends.clone().next().map(|(at, _)| at) else {
            // A value of blanks is an empty name, a value of zeros no name.
            return if len > 0 { ClientNameSource::Nonsense } else { ClientNameSource::Nothing };
        };
        let last = ends.last().map_or(first, |(at, _)| at);
        let trimmed = || value.octets().skip(first).take(last + 1 - first);
        if !read_text(trimmed(), |_| ()) {
            return ClientNameSource::Nonsense;
        }
        if trimmed().eq(*b".") || trimmed().eq(*b"@") {
            return ClientNameSource::Empty;
        }
        self.raw.extend(trimmed());
        // As in Kea, the number of labels is that of the name as the client sent it, whatever is
        // replaced in it.
        ClientNameSource::HostName { is_partial: !has_several_labels(&self.raw) }
    }

    /// Replaces characters in the name that the client sends, by the rules of `terms`, and returns
    /// the form of the result.
    fn clean(&mut self, terms: &NameTerms) -> CleanedName {
        let cleaned_text = &mut self.cleaned_text;
        if let ClientNameSource::Labels { is_partial } = self.source {
            return match terms.characters.clean_labels(&self.raw, is_partial, cleaned_text) {
                false => CleanedName::Invalid,
                true if is_partial => CleanedName::Partial,
                true => CleanedName::Whole,
            };
        }
        if !terms.characters.clean_host_name(&self.raw, cleaned_text) {
            return CleanedName::Invalid;
        }
        let is_partial = self.source == (ClientNameSource::HostName { is_partial: true });
        match &**cleaned_text {
            "." if is_partial => CleanedName::Invalid,
            "." => CleanedName::Root,
            cleaned_text if !read_text(cleaned_text.bytes(), |_| ()) => CleanedName::Invalid,
            _ if is_partial => CleanedName::Partial,
            _ => CleanedName::Whole,
        }
    }

    /// Chooses the name that the client has with `address` in `location`: the name `reserved` for
    /// it, else its own, else one generated from the address when `terms` or the client require
    /// that.
    pub(super) fn choose(
        &mut self,
        location: AddressLocation,
        address: Ipv4Addr,
        reserved: &str,
        terms: &NameTerms,
        tuning: Option<NameTuning<'_>>,
    ) {
        self.chosen_for = Some((location, address));
        self.omission = None;
        self.text.clear();
        let ends_in_dot = self.fqdn.is_some();
        let cleaned = match self.source {
            ClientNameSource::HostName { .. } | ClientNameSource::Labels { .. }
                if reserved.is_empty() =>
            {
                self.clean(terms)
            }
            _ => CleanedName::Invalid,
        };
        let is_replaced = match self.source {
            ClientNameSource::Nothing => terms.replaces_missing(),
            ClientNameSource::Nonsense => false,
            ClientNameSource::Empty => true,
            ClientNameSource::HostName { .. } | ClientNameSource::Labels { .. } => {
                terms.replaces_client_name() || matches!(cleaned, CleanedName::Root)
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
                CleanedName::Invalid | CleanedName::Root => self.is_answered = false,
                CleanedName::Partial => {
                    self.text.push_str(&self.cleaned_text);
                    self.complete(terms, ends_in_dot);
                }
                CleanedName::Whole => self.text.push_str(&self.cleaned_text),
            }
        }
        if ends_in_dot {
            self.text.make_ascii_lowercase();
        }
        let tuned = tuning.map(|tuning| self.tune(tuning, terms)).unwrap_or_default();
        self.usual_updates = match &self.fqdn {
            _ if !self.is_answered || self.text.is_empty() => DnsUpdates::default(),
            Some(fqdn) => terms.updates.decide(fqdn.requests_entry, fqdn.declines_entries),
            None => terms.updates.decide_without_fqdn(),
        };
        let skips_updates = tuned.skips_updates && self.usual_updates != DnsUpdates::default();
        self.updates = if skips_updates { DnsUpdates::default() } else { self.usual_updates };
        self.is_tuned = tuned.is_replaced || skips_updates;
    }

    /// Replaces the name by the one that the hook library ddns_tuning computes, if any. A name that
    /// would be generated is none yet, as in Kea.
    fn tune(&mut self, mut tuning: NameTuning<'_>, terms: &NameTerms) -> TunedName {
        let is_generated = self.is_answered && self.is_generated;
        let old = if is_generated { "" } else { &self.text };
        let tuned = tuning.make(old, terms, false);
        if tuned.is_replaced {
            tuning.replace(&mut self.text);
            self.is_generated = false;
            self.omission = tuned.omission;
        }
        tuned
    }

    /// Returns the DNS updates for the client's lease in the location of the last
    /// [`Self::choose`].
    pub(super) const fn updates(&self) -> DnsUpdates {
        self.updates
    }

    fn complete(&mut self, terms: &NameTerms, ends_in_dot: bool) {
        self.omission = terms.qualify(&mut self.text);
        self.end(ends_in_dot);
    }

    fn end(&mut self, ends_in_dot: bool) {
        if self.text.is_empty() {
            // A generated name did not fit.
        } else if ends_in_dot {
            client_name::end_in_dot(&mut self.text);
        } else if self.text.ends_with('.') {
            // Some clients cannot handle a final dot.
            self.text.pop();
        }
    }

    /// Returns true if the name was chosen for `address` in `location`.
    pub(super) fn is_chosen_for(&self, location: AddressLocation, address: Ipv4Addr) -> bool {
        self.chosen_for == Some((location, address))
    }

    /// Returns the name of the client in the location of the last [`Self::choose`]; empty when the
    /// client has none.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name as the client's lease stores it; `None` when a new row must be written: as
    /// in Kea, a lease with a generated name is always renewed, never repeated under
    /// `cache-threshold`.
    pub(super) fn stored_text(&self) -> Option<&str> {
        (!self.is_generated).then_some(&self.text)
    }

    /// Adds the omission from the name, if any, to `omissions`.
    pub(super) const fn note(&self, omissions: &mut Omissions) {
        if let Some(omission) = self.omission {
            omissions.note(omission);
        }
    }

    /// Returns the largest length of the reply's option 12 or 81 with the client's name, in bytes.
    pub(super) const fn len_max(&self) -> usize {
        // The option has flags and two codes, and a length before the first label and one after the
        // last.
        self.text.len() + 5
    }

    /// Writes the option 12 or 81 with the client's name into the reply, if there is one; returns
    /// its code.
    pub(super) fn put(&self, writer: &mut MessageWriter<'_>) -> Option<u8> {
        if !self.is_answered || self.text.is_empty() {
            return None;
        }
        let Some(fqdn) = &self.fqdn else {
            writer.option(option::HOST_NAME, self.text.as_bytes());
            return Some(option::HOST_NAME);
        };
        let flags = fqdn.answer_flags(self.usual_updates, self.is_tuned);
        let [first, second] = fqdn.codes;
        let mut octets = [0; 3 + 255];
        octets[..3].copy_from_slice(&[flags, first, second]);
        let mut len = 3;
        let mut push = |piece: &[u8]| {
            if let Some(target) = octets.get_mut(len..len + piece.len()) {
                target.copy_from_slice(piece);
                // A computed name may have capital letters, and no final dot.
                target.make_ascii_lowercase();
                len += piece.len();
            }
        };
        if flags & FLAG_E == 0 {
            push(self.text.as_bytes());
            if !self.text.ends_with('.') {
                push(b".");
            }
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
