//! Rules by which a receiver discards DHCPv6 messages for missing or forbidden options, independent
//! of the configuration.

use super::{Message, MessageType, option};

base::reasons! {
    /// Violation of the rules for Client and Server Identifier (options 1 and 2) in a DHCPv6
    /// message of its type (RFC 9915 §16).
    pub enum Invalid {
        /// Client Identifier option missing where the message type requires it.
        NoClientId = "no-client-id",
        /// Client Identifier option repeated in one message.
        ClientIdRepeated = "client-id-repeated",
        /// Server Identifier option missing where the message type requires it.
        NoServerId = "no-server-id",
        /// Server Identifier option present where the message type forbids it.
        ServerIdForbidden = "server-id-forbidden",
        /// Server Identifier option repeated in one message.
        ServerIdRepeated = "server-id-repeated",
    }
}

/// Requirement of an option in DHCPv6 messages of one type: it must, may or must not occur.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionRequirement {
    Must,
    May,
    MustNot,
}

/// Checks the rules of RFC 9915 §16 for `message` that need no configuration: Client and Server
/// Identifier occur once, or not at all, as the type of the message requires. The caller checks
/// that a Server Identifier is its own DUID, and that it accepts messages of that type at all. An
/// INFORMATION-REQUEST with an IA passes, against RFC 9915 §16.12, since Kea answers it.
///
/// # Errors
///
/// Returns the first rule that is broken.
pub fn validity(message: &Message<'_>) -> Result<(), Invalid> {
    let message_type = message.message_type();
    let (client_id, server_id) = rules(message_type);
    if client_id == OptionRequirement::Must && message.client_id().is_none() {
        return Err(Invalid::NoClientId);
    }
    if message.repeats(option::CLIENTID) {
        return Err(Invalid::ClientIdRepeated);
    }
    match (server_id, message.server_id()) {
        (OptionRequirement::Must, None) => return Err(Invalid::NoServerId),
        (OptionRequirement::MustNot, Some(_)) => return Err(Invalid::ServerIdForbidden),
        _ => {}
    }
    if message.repeats(option::SERVERID) {
        return Err(Invalid::ServerIdRepeated);
    }
    Ok(())
}

/// Returns the requirements of Client and Server Identifier in messages of this type.
const fn rules(message_type: MessageType) -> (OptionRequirement, OptionRequirement) {
    use MessageType as M;
    match message_type {
        M::Solicit | M::Confirm | M::Rebind => {
            (OptionRequirement::Must, OptionRequirement::MustNot)
        }
        M::Request | M::Renew | M::Release | M::Decline => {
            (OptionRequirement::Must, OptionRequirement::Must)
        }
        M::Advertise | M::Reconfigure => (OptionRequirement::Must, OptionRequirement::Must),
        M::Reply | M::LeaseQueryReply => (OptionRequirement::May, OptionRequirement::Must),
        // RFC 5007 §4.2.1: the requestor's own identifier.
        M::LeaseQuery => (OptionRequirement::Must, OptionRequirement::May),
        // RFC 9686 §4.2, §4.3.
        M::AddrRegInform => (OptionRequirement::Must, OptionRequirement::MustNot),
        M::AddrRegReply => (OptionRequirement::Must, OptionRequirement::May),
        _ => (OptionRequirement::May, OptionRequirement::May),
    }
}
