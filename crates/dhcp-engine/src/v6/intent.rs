//! What a client wants.

use dhcp_wire::v6::{Message, MessageType};

use super::DropReason;

/// What the client wants, told by message type and options (RFC 9915 §18.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// SOLICIT: an offer.
    Solicit,
    /// SOLICIT with Rapid Commit, where the subnet allows it: leases at once.
    SolicitRapidly,
    /// REQUEST.
    Request,
    /// RENEW.
    Renew,
    /// REBIND.
    Rebind,
    /// RELEASE.
    Release,
    /// DECLINE.
    Decline,
    /// CONFIRM: whether its addresses fit the link.
    Confirm,
    /// INFORMATION-REQUEST: options only.
    Inform,
    /// ADDR-REG-INFORM: an address of the client's own choice.
    Register,
}

impl Intent {
    /// What a message wants where rapid commit is allowed or not.
    ///
    /// # Errors
    ///
    /// When clients do not send such messages to servers.
    pub(super) fn of(message: &Message<'_>, allows_rapid_commit: bool) -> Result<Self, DropReason> {
        Ok(match message.message_type() {
            MessageType::Solicit if allows_rapid_commit && message.has_rapid_commit() => {
                Self::SolicitRapidly
            }
            MessageType::Solicit => Self::Solicit,
            MessageType::Request => Self::Request,
            MessageType::Renew => Self::Renew,
            MessageType::Rebind => Self::Rebind,
            MessageType::Release => Self::Release,
            MessageType::Decline => Self::Decline,
            MessageType::Confirm => Self::Confirm,
            MessageType::InformationRequest => Self::Inform,
            MessageType::AddrRegInform => Self::Register,
            _ => return Err(DropReason::UnexpectedMessageType),
        })
    }

    /// Whether something free is given when the client has nothing. Kea allocates for RENEW and
    /// REBIND as well, which RFC 9915 §18.3.4 and §18.3.5 allow.
    #[must_use]
    pub const fn wants_lease(self) -> bool {
        matches!(
            self,
            Self::Solicit | Self::SolicitRapidly | Self::Request | Self::Renew | Self::Rebind
        )
    }

    /// Whether leases come of it.
    #[must_use]
    pub const fn commits_leases(self) -> bool {
        self.wants_lease() && !matches!(self, Self::Solicit)
    }

    /// Whether leases are extended: what no longer fits then comes back with lifetimes of 0.
    #[must_use]
    pub const fn extends(self) -> bool {
        matches!(self, Self::Renew | Self::Rebind)
    }
}
