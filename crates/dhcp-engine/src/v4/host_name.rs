//! The client's host name as the lease keeps it.

use dhcp_wire::v4::{Message, option};

/// A host name: lower case, letters, digits, dots and hyphens only (Kea's `hostname-char-set` as it
/// is by default).
#[derive(Clone, Debug)]
pub(super) struct HostName {
    len: u8,
    octets: [u8; 255],
}

impl HostName {
    pub(super) const NONE: Self = Self { len: 0, octets: [0; 255] };

    /// The name in option 12, cleaned; empty when there is none.
    pub(super) fn of(message: &Message<'_>) -> Self {
        let mut name = Self::NONE;
        let Some(value) = message.option(option::HOST_NAME) else { return name };
        for octet in value.octets().take(255) {
            if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.') {
                name.octets[usize::from(name.len)] = octet.to_ascii_lowercase();
                name.len += 1;
            }
        }
        name
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.octets[..usize::from(self.len)])
            .expect("only ASCII octets are kept")
    }
}
