//! Intent of a DHCPv4 message, determined by its type and fields (RFC 2131 §4.3.2 table 4), and its
//! sender.

use core::net::Ipv4Addr;

use dhcp_wire::v4::{BOOT_REQUEST, Message, MessageType, relay};

use super::{DropReason, Ingress, Snapshot};
use crate::classify::PacketView4;

/// Intent of a DHCPv4 client, as its message expresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dhcp4Intent {
    /// DHCPDISCOVER, with the address that the client would like.
    Discover(Option<Ipv4Addr>),
    /// DHCPREQUEST, with the address that the client requests; `None` for any.
    Request(RequestingClientState, Option<Ipv4Addr>),
    /// DHCPREQUEST that answers the offer of another server: this server's offer is not needed.
    TakeOtherOffer,
    /// DHCPDECLINE of this address.
    Decline(Ipv4Addr),
    /// DHCPRELEASE of this address.
    Release(Ipv4Addr),
    /// DHCPINFORM: the client requests parameters only.
    Inform,
}

/// State of the client that sent a DHCPREQUEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestingClientState {
    /// SELECTING (RFC 2131 §4.3.2): the client answers the server's offer. A DHCPREQUEST that names
    /// no address counts as SELECTING, and so does a BOOTP request.
    Selecting,
    /// INIT-REBOOT (RFC 2131 §4.3.2): the client has restarted and remembers an address.
    Rebooting,
    /// RENEWING or REBINDING (RFC 2131 §4.3.2): the client extends its lease.
    Renewing,
}

impl Dhcp4Intent {
    /// Returns the client's intent in `message`, sent to the server that the client knows as
    /// `server_id`.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped.
    pub(super) fn from_message(
        snapshot: &Snapshot,
        message: &Message<'_>,
        ingress: Ingress,
        server_id: Ipv4Addr,
    ) -> Result<Self, DropReason> {
        if message.op() != BOOT_REQUEST {
            return Err(DropReason::NotARequest);
        }
        let requested = specified(message.requested_address());
        let current = specified(Some(message.ciaddr()));
        let Some(kind) = message.message_type() else {
            let is_served = snapshot.own.serves_bootp;
            let request = Self::Request(RequestingClientState::Selecting, requested.or(current));
            return if is_served { Ok(request) } else { Err(DropReason::Bootp) };
        };
        let chosen = message.server_identifier();
        let is_ours = chosen.is_none_or(|chosen| {
            chosen == server_id || snapshot.is_server_id(chosen) || chosen == ingress.local
        });
        match kind {
            MessageType::Discover if chosen.is_some() => Err(DropReason::UnexpectedServerId),
            MessageType::Discover => Ok(Self::Discover(requested.or(current))),
            MessageType::Request if !is_ours => Ok(Self::TakeOtherOffer),
            MessageType::Request => {
                Ok(Self::Request(client_state(message, chosen, current), requested.or(current)))
            }
            MessageType::Decline | MessageType::Release | MessageType::Inform if !is_ours => {
                Err(DropReason::ClientChoseOtherServer)
            }
            MessageType::Decline => {
                let declined = message.requested_address();
                declined.map(Self::Decline).ok_or(DropReason::NothingDeclined)
            }
            MessageType::Release => {
                current.map(Self::Release).ok_or(DropReason::NotTheClientsLease)
            }
            MessageType::Inform if !has_address(message, ingress) => Err(DropReason::NoAddress),
            MessageType::Inform => Ok(Self::Inform),
            _ => Err(DropReason::UnexpectedMessageType),
        }
    }

    /// Returns the address that the client requests, releases or declines.
    pub(super) const fn address(self) -> Option<Ipv4Addr> {
        match self {
            Self::Discover(address) | Self::Request(_, address) => address,
            Self::Decline(address) | Self::Release(address) => Some(address),
            Self::TakeOtherOffer | Self::Inform => None,
        }
    }
}

fn specified(address: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    address.filter(|address| !address.is_unspecified())
}

fn client_state(
    message: &Message<'_>,
    chosen: Option<Ipv4Addr>,
    current: Option<Ipv4Addr>,
) -> RequestingClientState {
    match (chosen, message.requested_address(), current) {
        (Some(_), ..) | (None, None, None) => RequestingClientState::Selecting,
        // Kea recognizes a restarted client by option 50 alone, also when `ciaddr` is set.
        (None, Some(_), _) => RequestingClientState::Rebooting,
        (None, None, Some(_)) => RequestingClientState::Renewing,
    }
}

/// Returns the client identifier (option 61) of a message; an error when a lease cannot store it.
/// An identifier in several pieces (RFC 3396) is longer than 255 bytes, more than a lease can
/// store.
pub(super) fn client_id<'m>(message: &Message<'m>) -> Result<Option<&'m [u8]>, DropReason> {
    match message.client_id().filter(|id| !id.is_empty()) {
        Some(id) => id.as_slice().map(Some).ok_or(DropReason::ClientIdTooLong),
        None => Ok(None),
    }
}

/// Returns the address by which the server identifies itself to this client: the Server Identifier
/// Override of the relay agent (sub-option 11 of option 82, RFC 5107), else its own address.
pub(super) fn server_identifier(view: &PacketView4<'_>) -> Ipv4Addr {
    view.relay_agent_information()
        .and_then(relay::server_identifier_override)
        .unwrap_or(view.ingress.local)
}

/// Returns true if the message or its ingress has an address to which a reply with parameters alone
/// can be sent.
fn has_address(message: &Message<'_>, ingress: Ingress) -> bool {
    let addresses = [message.giaddr(), message.ciaddr(), *ingress.source.ip()];
    addresses.iter().any(|address| !address.is_unspecified())
}
