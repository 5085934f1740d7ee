//! Intent of a DHCPv6 client, as its message expresses it.

use dhcp_wire::v6::{Message, MessageType};

use super::DropReason;

/// Intent of a DHCPv6 client, determined by message type and options (RFC 9915 §18.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dhcp6Intent {
    /// SOLICIT: the client requests an offer.
    Solicit,
    /// SOLICIT with the option Rapid Commit (14), where the subnet has `rapid-commit`: the client
    /// gets leases at once.
    SolicitRapidly,
    /// REQUEST: the client requests the leases that it was offered.
    Request,
    /// RENEW: the client extends its leases at the server that gave them.
    Renew,
    /// REBIND: the client extends its leases at any server.
    Rebind,
    /// RELEASE: the client gives up leases.
    Release,
    /// DECLINE: the client reports addresses that are in use already.
    Decline,
    /// CONFIRM: the client asks if its addresses fit the link.
    Confirm,
    /// INFORMATION-REQUEST: the client requests options only.
    Inform,
    /// ADDR-REG-INFORM (RFC 9686): the client registers an address of its own choice.
    Register,
}

impl Dhcp6Intent {
    /// Returns the client's intent in a message; `allows_rapid_commit` is the `rapid-commit` of its
    /// subnet.
    ///
    /// # Errors
    ///
    /// When clients do not send such messages to servers.
    pub(super) fn from_message(
        message: &Message<'_>,
        allows_rapid_commit: bool,
    ) -> Result<Self, DropReason> {
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

    /// Returns true if the server allocates a free address or prefix when the client has none. Kea
    /// allocates for RENEW and REBIND as well, which RFC 9915 §18.3.4 and §18.3.5 allow.
    #[must_use]
    pub const fn wants_lease(self) -> bool {
        matches!(
            self,
            Self::Solicit | Self::SolicitRapidly | Self::Request | Self::Renew | Self::Rebind
        )
    }

    /// Returns true if the server commits leases for the message.
    #[must_use]
    pub const fn commits_leases(self) -> bool {
        self.wants_lease() && !matches!(self, Self::Solicit)
    }

    /// Returns true if the message extends leases (RENEW, REBIND): the reply then returns addresses
    /// and prefixes that no longer fit with lifetimes of 0.
    #[must_use]
    pub const fn extends(self) -> bool {
        matches!(self, Self::Renew | Self::Rebind)
    }
}
