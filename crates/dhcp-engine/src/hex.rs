//! Octets as Kea writes them in texts that leases keep.

use core::fmt::{self, Write};

/// Appends the digits of `octets`, upper case, nothing between them.
pub(crate) fn write_hex(octets: impl IntoIterator<Item = u8>, target: &mut String) -> fmt::Result {
    octets.into_iter().try_for_each(|octet| write!(target, "{octet:02X}"))
}
