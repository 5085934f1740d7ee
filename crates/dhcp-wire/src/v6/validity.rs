//! Which messages are to be discarded for what is or is not in them, whatever is configured.

use super::{Message, MessageType, option};
use crate::shared::reasons;

reasons! {
    /// What a message of its type must or must not have.
    pub enum Invalid {
        /// No Client Identifier where one must be.
        NoClientId = "no-client-id",
        /// Several Client Identifiers.
        ClientIdRepeated = "client-id-repeated",
        /// No Server Identifier where one must be.
        NoServerId = "no-server-id",
        /// A Server Identifier where none may be.
        ServerIdForbidden = "server-id-forbidden",
        /// Several Server Identifiers.
        ServerIdRepeated = "server-id-repeated",
    }
}

/// Whether a type of message must, may or must not have an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Must,
    May,
    MustNot,
}

/// Checks the rules of RFC 9915 §16 that need no configuration: whether Client and Server
/// Identifier are there once, or not, as the type of the message demands. Whether a Server
/// Identifier is one's own is for the caller, as is whether one takes messages of that type at all.
/// An INFORMATION-REQUEST with an IA passes, against §16.12, since Kea answers it.
///
/// # Errors
///
/// The first rule that is broken.
pub fn validity(message: &Message<'_>) -> Result<(), Invalid> {
    let message_type = message.message_type();
    let (client_id, server_id) = rules(message_type);
    if client_id == Rule::Must && message.client_id().is_none() {
        return Err(Invalid::NoClientId);
    }
    if message.repeats(option::CLIENTID) {
        return Err(Invalid::ClientIdRepeated);
    }
    match (server_id, message.server_id()) {
        (Rule::Must, None) => return Err(Invalid::NoServerId),
        (Rule::MustNot, Some(_)) => return Err(Invalid::ServerIdForbidden),
        _ => {}
    }
    if message.repeats(option::SERVERID) {
        return Err(Invalid::ServerIdRepeated);
    }
    Ok(())
}

/// What is demanded of Client and Server Identifier.
const fn rules(message_type: MessageType) -> (Rule, Rule) {
    use MessageType as M;
    match message_type {
        M::Solicit | M::Confirm | M::Rebind => (Rule::Must, Rule::MustNot),
        M::Request | M::Renew | M::Release | M::Decline => (Rule::Must, Rule::Must),
        M::Advertise | M::Reconfigure => (Rule::Must, Rule::Must),
        M::Reply | M::LeaseQueryReply => (Rule::May, Rule::Must),
        // RFC 5007 §4.2.1: the asker's own identifier.
        M::LeaseQuery => (Rule::Must, Rule::May),
        // RFC 9686 §4.2, §4.3.
        M::AddrRegInform => (Rule::Must, Rule::MustNot),
        M::AddrRegReply => (Rule::Must, Rule::May),
        _ => (Rule::May, Rule::May),
    }
}
