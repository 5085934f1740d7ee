//! Lines to log, with Kea's message identifiers where Kea has them.

use core::fmt;

use ncr::{NameChangeKind, NameChangeRequest};

/// Level of a line to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Failure of a request.
    Error,
    /// Condition that an operator should look at.
    Warning,
    /// Normal event.
    Info,
    /// Event of interest to the search for faults.
    Debug,
}

/// Line to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdaterNotice {
    /// Level of the line.
    pub level: NoticeLevel,
    /// Message identifier, mostly Kea's.
    pub id: String,
    /// Text of the line without the identifier.
    pub text: String,
}

/// Request in a line to log.
pub(crate) struct Described<'a>(pub(crate) &'a NameChangeRequest);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NameChangeRequest { name, address, ttl_s, conflict_mode, .. } = self.0;
        let change = match self.0.kind {
            NameChangeKind::Add => "CHG_ADD",
            NameChangeKind::Remove => "CHG_REMOVE",
        };
        let word = |is_set: bool| if is_set { "yes" } else { "no" };
        write!(
            f,
            "Type: {} ({change}), Forward Change: {}, Reverse Change: {}, FQDN: [{name}], \
             IP Address: [{address}], DHCID: [{}], TTL: {ttl_s}, Conflict Resolution Mode: {}",
            self.0.kind.number(),
            word(self.0.forward),
            word(self.0.reverse),
            self.0.dhcid,
            conflict_mode.name()
        )
    }
}
