//! Omissions from a reply or its lease because of a size limit. The server serves the client
//! nevertheless; each reason has its counter.

use dhcp_lease::user_context::USER_CONTEXT_MAX;

base::named! {
    /// Reason why the server omits something from a lease or a reply. Names are those of counters.
    pub enum Omission {
        /// Omitted suffix: with the `ddns-qualifying-suffix` the client's name would be longer than
        /// a lease can store.
        Suffix = "suffix-too-long",
        /// Omitted generated name: the name from the client's address would be longer than a lease
        /// can store, so the client gets none.
        GeneratedName = "generated-name-too-long",
        /// Omitted relay agent information: its text would be longer than a lease can store, so the
        /// lease stores none.
        RelayInfo = "relay-info-too-long",
        /// Omitted options: with them the reply would be longer than the client accepts or a frame
        /// carries.
        Options = "options-left-out",
    }
}

/// Empties the lease's user context `context`, which has relay agent information, when it is longer
/// than a lease can store; returns true if it was.
pub(crate) fn clear_if_too_long(context: &mut String) -> bool {
    let is_too_long = context.len() > USER_CONTEXT_MAX;
    if is_too_long {
        context.clear();
    }
    is_too_long
}

/// Set of the omissions from the lease and the reply of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omissions(u8);

impl Omissions {
    /// Adds an omission of this message to the set; adding it again has no effect.
    pub(crate) const fn note(&mut self, omission: Omission) {
        self.0 |= 1 << omission.index();
    }

    /// Returns the omissions in the set, in the order of their counters.
    pub(crate) fn iter(self) -> impl Iterator<Item = Omission> {
        Omission::ALL.into_iter().filter(move |omission| self.0 & 1 << omission.index() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
