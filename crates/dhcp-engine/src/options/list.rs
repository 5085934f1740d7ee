//! Options of one option space that one scope configures.

use dhcp_config::OptionData;

use super::codes::{CodeSet, OptionCode};
use crate::classify::{ClassIndex, ClassSet};

/// Configured DHCP option in the form in which it is sent; `C` is the type of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedOption<C> {
    /// Code of the option.
    pub code: C,
    /// Value of the option as sent, in bytes.
    pub octets: Box<[u8]>,
    /// True if the server sends the option even when the client does not request the option
    /// (`always-send`).
    pub is_always_sent: bool,
    /// True if the server never sends the option, whatever other scopes configure (`never-send`).
    pub is_never_sent: bool,
    /// Client classes of which a client must be in one to get the option (the option's
    /// `client-classes`); `None` when every client gets it.
    tags: Option<Box<[ClassIndex]>>,
}

impl<C: Copy> EncodedOption<C> {
    /// Returns the encoded form of a configured option; `class` finds the index of a class by name.
    pub fn new(option: &OptionData<C>, class: impl Fn(&str) -> Option<ClassIndex>) -> Self {
        let tags = || option.client_classes.iter().filter_map(|name| class(name)).collect();
        Self {
            code: option.code,
            octets: option.octets.as_slice().into(),
            is_always_sent: option.always_send,
            is_never_sent: option.never_send,
            tags: (!option.client_classes.is_empty()).then(tags),
        }
    }

    /// Returns the enterprise number that the value of a vendor option begins with.
    pub(super) fn enterprise(&self) -> Option<u32> {
        self.octets.first_chunk().copied().map(u32::from_be_bytes)
    }

    /// Returns true if a client in these classes may get the option (the option's
    /// `client-classes`).
    #[must_use]
    pub fn fits(&self, classes: &ClassSet) -> bool {
        self.tags.as_ref().is_none_or(|tags| tags.iter().any(|&tag| classes.contains(tag)))
    }
}

/// Options of one option space within one scope, ascending by code; among entries of one code,
/// those with class tags come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeList<C> {
    entries: Box<[EncodedOption<C>]>,
    /// Codes below 256 of the options in the list.
    pub(super) present: CodeSet,
    /// Codes below 256 that have an entry with `always-send`, whichever clients that entry is for.
    pub(super) always: CodeSet,
    /// Codes below 256 that have an entry with `never-send`, whichever clients that entry is for.
    pub(super) never: CodeSet,
    /// Position of the first entry with an option code of 256 or above.
    high_from: usize,
}

impl<C: OptionCode> CodeList<C> {
    /// Returns the sorted list of the options in `entries`.
    #[must_use]
    pub fn new(mut entries: Vec<EncodedOption<C>>) -> Self {
        entries.sort_by_key(|entry| (entry.code, entry.tags.is_none()));
        let codes = |is_in: fn(&EncodedOption<C>) -> bool| {
            let mut set = CodeSet::default();
            entries.iter().filter(|entry| is_in(entry)).for_each(|e| set.insert(e.code.into()));
            set
        };
        Self {
            present: codes(|_| true),
            always: codes(|entry| entry.is_always_sent),
            never: codes(|entry| entry.is_never_sent),
            high_from: entries.partition_point(|entry| CodeSet::can_hold(entry.code.into())),
            entries: entries.into(),
        }
    }

    /// Returns true if the list has no options.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all options of the list, ascending by code.
    #[must_use]
    pub fn entries(&self) -> &[EncodedOption<C>] {
        &self.entries
    }

    /// Returns the options of the list with the code `code`.
    #[must_use]
    pub fn entries_for(&self, code: C) -> &[EncodedOption<C>] {
        let low = code.into();
        if CodeSet::can_hold(low) && !self.present.contains(low) {
            return &[];
        }
        let first = self.entries.partition_point(|entry| entry.code < code);
        let rest = &self.entries[first..];
        &rest[..rest.partition_point(|entry| entry.code == code)]
    }

    /// Returns the option codes in the list that are above those that a [`CodeSet`] holds, each
    /// once.
    pub(super) fn high_codes(&self) -> impl Iterator<Item = C> + '_ {
        self.entries[self.high_from..].chunk_by(|one, two| one.code == two.code).map(|c| c[0].code)
    }
}

impl<C: OptionCode> Default for CodeList<C> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
