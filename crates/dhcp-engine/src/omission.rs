//! What a reply and its lease go without since it would not fit. The client is served all the same;
//! each reason has its counter.

use dhcp_lease::user_context::USER_CONTEXT_MAX;

/// Reasons why a lease or a reply goes without something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Omission {
    /// The name stays as it is, since with the `ddns-qualifying-suffix` it would be longer than a
    /// lease keeps.
    Suffix,
    /// The client gets no name made of its address, since that would be longer than a lease keeps.
    GeneratedName,
    /// The lease keeps nothing of what relay agents said, since that would be longer than a lease
    /// keeps.
    RelayInfo,
    /// The reply lacks options, since it would be longer than the client takes or a frame carries.
    Options,
}

impl Omission {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 4] = [Self::Suffix, Self::GeneratedName, Self::RelayInfo, Self::Options];

    /// Position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name under which it is counted.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suffix => "suffix-too-long",
            Self::GeneratedName => "generated-name-too-long",
            Self::RelayInfo => "relay-info-too-long",
            Self::Options => "options-left-out",
        }
    }
}

/// Empties `context`, which relay agents' words were written into, when no lease keeps as much;
/// whether it did.
pub(crate) fn bound(context: &mut String) -> bool {
    let is_too_long = context.len() > USER_CONTEXT_MAX;
    if is_too_long {
        context.clear();
    }
    is_too_long
}

/// The omissions of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omissions(u8);

impl Omissions {
    /// Adds one; twice is once.
    pub(crate) const fn note(&mut self, omission: Omission) {
        self.0 |= 1 << omission.index();
    }

    /// Iterates over them in the order of their counters.
    pub(crate) fn iter(self) -> impl Iterator<Item = Omission> {
        Omission::ALL.into_iter().filter(move |omission| self.0 & 1 << omission.index() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_the_order_of_the_variants() {
        for (position, omission) in Omission::ALL.into_iter().enumerate() {
            assert_eq!(omission.index(), position, "{}", omission.name());
        }
    }

    #[test]
    fn omissions_are_told_once() {
        let mut omissions = Omissions::default();
        assert_eq!(omissions.iter().count(), 0);
        omissions.note(Omission::RelayInfo);
        omissions.note(Omission::Suffix);
        omissions.note(Omission::Suffix);
        assert!(omissions.iter().eq([Omission::Suffix, Omission::RelayInfo]));
    }
}
