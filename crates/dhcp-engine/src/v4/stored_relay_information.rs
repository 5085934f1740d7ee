//! Relay agent information that a client's lease stores, for the messages that the client later
//! sends past the agent (`stash-agent-options`, Kea reference §5.10).

use base::Now;
use dhcp_lease::v4::V4;
use dhcp_lease::{HardwareAddress, Identity, LeaseStore};
use dhcp_wire::v4::{Message, MessageType, OptionValue, relay};

use super::Snapshot;
use crate::{json_text, stored_relay};

/// Relay agent information that was read from a client's lease. Each shard has one; it grows to the
/// longest and then allocates nothing.
#[derive(Debug, Default)]
pub struct StoredRelayInformation {
    context: String,
    octets: Vec<u8>,
}

impl StoredRelayInformation {
    /// Returns the sub-options that count as option 82 of `message`: those of the lease that the
    /// client renews without a relay agent. Empty for all other messages, or when the lease has
    /// none.
    pub(super) fn recover(
        &mut self,
        now: Now,
        snapshot: &Snapshot,
        message: &Message<'_>,
        store: &mut impl LeaseStore<V4>,
    ) -> &[u8] {
        self.octets.clear();
        if !snapshot.own.stashes_agent_options || !is_renewed_directly(message) {
            return &[];
        }
        self.context.clear();
        // Kea searches by the client's own identifier, even if leases have another one.
        let client_id = message.client_id().filter(|id| !id.is_empty());
        let identity = Identity {
            hardware: HardwareAddress::new(message.htype(), message.chaddr()),
            client_id: client_id.and_then(|id| id.as_slice()),
            match_client_id: true,
            hardware_only_subnets: &[],
        };
        if !store.user_context(now, message.ciaddr(), &identity, &mut self.context)
            || read(&self.context, &mut self.octets).is_none()
        {
            return &[];
        }
        &self.octets
    }
}

fn is_renewed_directly(message: &Message<'_>) -> bool {
    message.message_type() == Some(MessageType::Request)
        && !message.ciaddr().is_unspecified()
        && message.giaddr().is_unspecified()
        && message.relay_agent_information().is_none_or(|information| information.is_empty())
}

/// Appends to `target` the relay agent's sub-options in the user context of a lease; `None` when it
/// has none. Older versions of Kea have the sub-options in the place where newer ones have a JSON
/// object.
pub(super) fn read(context: &str, target: &mut Vec<u8>) -> Option<()> {
    let stored_text = json_text::member(json_text::member(context, "ISC")?, "relay-agent-info")?;
    let text = json_text::member(stored_text, "sub-options").unwrap_or(stored_text);
    let text = json_text::string(text)?;
    stored_relay::read_octets(text, target)?;
    let has_any = relay::SubOptions::new(OptionValue::from_slice(target)).next().is_some();
    has_any.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets_of(context: &str) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        read(context, &mut octets).map(|()| octets)
    }

    #[test]
    fn both_of_keas_forms_are_read_and_nothing_else() {
        let new = |text: &str| {
            octets_of(&format!(
                r#"{{ "mine": 1, "ISC": {{ "relay-agent-info": {{ "remote-id": "AB",
                   "sub-options": {text} }} }} }}"#
            ))
        };
        assert_eq!(new(r#""0x0101070202abCD""#), Some(vec![1, 1, 7, 2, 2, 0xab, 0xcd]));
        let old = r#"{"ISC":{"relay-agent-info":"0x010107"}}"#;
        assert_eq!(octets_of(old), Some(vec![1, 1, 7]));
        for bad in [r#""""#, r#""0x""#, r#""0x01010""#, r#""0x0105ff""#, r#""0x01x1""#, "12", "{}"]
        {
            assert_eq!(new(bad), None, "{bad}");
        }
        assert_eq!(octets_of(""), None);
        assert_eq!(octets_of(r#"{ "ISC": { "other": {} } }"#), None);
    }
}
