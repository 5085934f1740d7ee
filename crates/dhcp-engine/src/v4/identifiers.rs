//! Identifiers of a DHCPv4 client: those under which its leases are stored, and those by which its
//! hosts are found.

use dhcp_config::IdentifierKind;
use dhcp_lease::identity::CLIENT_ID_MAX;
use dhcp_lease::v4::Facts;
use dhcp_wire::v4::{Message, OptionValue, relay};

use super::name::ClientName;
use super::stored_relay_information::StoredRelayInformation;
use super::{DropReason, Snapshot, request};
use crate::classify::{ClassSet, PacketView4};
use crate::client_facts::{ClientFacts, FlexIdValue};
use crate::hosts::Identifiers;

/// Type byte of client identifiers (option 61) that hold a DUID after an IAID (RFC 4361 §6.1).
const DUID_TYPE: u8 = 255;
/// Position of the DUID in a client identifier of type [`DUID_TYPE`], in bytes.
const DUID_AT: usize = 5;
/// Type byte of the client identifiers (option 61) that Kea's flex-id hook makes.
const FLEX_ID_TYPE: u8 = 0;

/// Scratch memory of a shard's DHCPv4 transactions, which keep nothing of it for the next message.
#[derive(Debug, Default)]
pub struct Dhcp4TransactionScratch {
    /// Slots and free addresses that the transaction fetched from the lease store.
    pub facts: Facts,
    /// Facts about the client before its leases are looked up.
    pub client_facts: ClientFacts,
    /// Name of the client in the reply and in the lease.
    pub(super) name: ClientName,
    /// Value of the `identifier-expression` of Kea's flex-id hook for the message.
    pub flex: FlexIdValue,
    /// Relay agent information (option 82, RFC 3046) that the client's lease stores.
    pub stored_relay_information: StoredRelayInformation,
}

/// Evaluates the `identifier-expression` of Kea's flex-id hook for the message in `view`.
pub(super) fn evaluate_flex_id<'f>(
    snapshot: &Snapshot,
    view: &PacketView4<'_>,
    classes: &ClassSet,
    flex: &'f mut FlexIdValue,
) -> &'f FlexIdValue {
    // The bytes after the type of a DUID are an IAID of 0.
    let like_a_duid: &[u8] = &[DUID_TYPE, 0, 0, 0, 0];
    let beginning = if snapshot.flex_id.is_like_a_duid { like_a_duid } else { &[FLEX_ID_TYPE] };
    flex.evaluate(snapshot, view, classes, beginning);
    flex
}

/// Returns the client identifier under which the leases of the client are stored: the one that
/// Kea's flex-id hook makes (`replace-client-id`), else its own.
///
/// # Errors
///
/// When it is longer than a lease can store.
pub(super) fn client_id<'m>(
    message: &Message<'m>,
    flex: &'m FlexIdValue,
) -> Result<Option<&'m [u8]>, DropReason> {
    match flex.replacement() {
        None => request::client_id(message),
        Some(id) if id.len() > CLIENT_ID_MAX => Err(DropReason::ClientIdTooLong),
        id => Ok(id),
    }
}

/// Returns the identifiers by which the client's host is looked up, from the message in `view`.
pub(super) fn identifiers<'m>(
    snapshot: &Snapshot,
    view: &PacketView4<'m>,
    client_id: Option<&'m [u8]>,
    flex: &'m FlexIdValue,
) -> Identifiers<'m> {
    Identifiers::new(&snapshot.host_identifiers, |kind| match kind {
        IdentifierKind::FlexId => Some(flex.octets()),
        _ => octets_of(kind, view.message, || view.relay_agent_information(), client_id),
    })
}

/// Returns the bytes of the identifier of this kind that a message has for host look-ups.
pub(super) fn octets_of<'m>(
    kind: IdentifierKind,
    message: &'m Message<'_>,
    information: impl FnOnce() -> Option<OptionValue<'m>>,
    client_id: Option<&'m [u8]>,
) -> Option<&'m [u8]> {
    match kind {
        IdentifierKind::HardwareAddress => Some(message.chaddr()),
        IdentifierKind::ClientId => client_id,
        IdentifierKind::Duid => {
            client_id.filter(|id| id.first() == Some(&DUID_TYPE))?.get(DUID_AT..)
        }
        IdentifierKind::CircuitId => {
            relay::sub_option(information()?, relay::CIRCUIT_ID)?.as_slice()
        }
        // An expression makes this identifier.
        IdentifierKind::FlexId => None,
    }
}
