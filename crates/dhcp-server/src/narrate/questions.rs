//! Requests of DHCPv6 whose replies do not tell what they were about: RELEASE and DECLINE.

use std::collections::VecDeque;

use dhcp_wire::v6::{Message, MessageType, Packet};

/// Requests that are remembered at most; a reply comes within the batch or the flush of its
/// request.
const REMEMBERED: usize = 4_096;

/// Requests without their replies, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Questions(VecDeque<Box<[u8]>>);

/// Returns whether the lines of the reply to `octets` need the request.
pub(super) fn is_needed(octets: &[u8]) -> bool {
    Packet::parse(octets).is_ok_and(|packet| {
        let kind = packet.message().message_type();
        kind == MessageType::Release || kind == MessageType::Decline
    })
}

impl Questions {
    /// Remembers the request `octets`, if its reply needs it.
    pub(super) fn remember(&mut self, octets: &[u8]) {
        if is_needed(octets) {
            if self.0.len() == REMEMBERED {
                self.0.pop_front();
            }
            self.0.push_back(octets.into());
        }
    }

    /// Takes the request that `reply` answers.
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
