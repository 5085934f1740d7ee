//! View that class expressions have of a message of either family.

use dhcp_config::expression::Term;

/// Message with its ingress, as class expressions read it. The ingress is the address and interface
/// at which the server received the message.
pub trait PacketView {
    /// Appends the bytes of `term` to `target`; returns false, with nothing appended, when the
    /// message has no such term.
    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool;

    /// Returns true if the message is a BOOTP message.
    fn is_bootp(&self) -> bool {
        false
    }

    /// Returns true if relay agent information (option 82, RFC 3046) of an earlier message counts
    /// for the current one (Kea's `stash-agent-options`).
    fn has_stored_relay_information(&self) -> bool {
        false
    }

    /// Returns the hash by which a load balancing pair shares the client (RFC 3074); `None` for a
    /// message that every server answers.
    fn balance_hash(&self) -> Option<u8> {
        None
    }

    /// Appends the text of the `nth` vendor class, counted from 0, that the client sent: the text
    /// of a class `VENDOR_CLASS_<text>`. Returns false, with nothing appended, when there are not
    /// as many.
    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool;
}
