//! DHCPv6 requests whose replies do not contain the leases concerned: RELEASE and DECLINE.

use std::collections::VecDeque;

use dhcp_wire::v6::{Message, MessageType, Packet};

/// Maximum number of DHCPv6 requests that are remembered for log lines. A reply follows its request
/// within one batch of messages or one flush of lease rows.
const REMEMBERED: usize = 4_096;

/// DHCPv6 requests without their replies, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests(VecDeque<Box<[u8]>>);

/// Returns true if the log lines about the reply to the DHCPv6 message `octets` need the request.
pub(super) fn is_needed(octets: &[u8]) -> bool {
    Packet::parse(octets).is_ok_and(|packet| {
        let kind = packet.message().message_type();
        kind == MessageType::Release || kind == MessageType::Decline
    })
}

impl PendingRequests {
    /// Remembers the DHCPv6 request `octets`, if the log lines about its reply need it.
    pub(super) fn remember(&mut self, octets: &[u8]) {
        if is_needed(octets) {
            if self.0.len() == REMEMBERED {
                self.0.pop_front();
            }
            self.0.push_back(octets.into());
        }
    }

    /// Removes and returns the remembered request that `reply` answers.
    pub(super) fn take(&mut self, reply: &Message<'_>) -> Option<Box<[u8]>> {
        let is_answered = |octets: &[u8]| {
            Packet::parse(octets).is_ok_and(|packet| {
                let request = packet.message();
                request.transaction_id() == reply.transaction_id()
                    && request.client_id() == reply.client_id()
            })
        };
        let at = self.0.iter().position(|octets| is_answered(octets))?;
        self.0.remove(at)
    }
}
