//! What expressions see of a message.

use dhcp_config::expression::Term;

/// A message with the circumstances in which it came in.
pub trait PacketView {
    /// Appends the octets of `term` to `target`; false, with nothing appended, when the message has
    /// no such thing.
    fn read(&self, term: &Term, target: &mut Vec<u8>) -> bool;

    /// Whether the message is one of BOOTP.
    fn is_bootp(&self) -> bool {
        false
    }

    /// Whether what a relay agent said before counts as said of the message (Kea's
    /// `stash-agent-options`).
    fn has_stashed_information(&self) -> bool {
        false
    }

    /// Appends the text of the `nth` vendor class, counted from 0, that the client gives: what makes
    /// a class `VENDOR_CLASS_<text>`. False, with nothing appended, when there are not as many.
    fn vendor_class(&self, nth: usize, target: &mut Vec<u8>) -> bool;
}
