//! Characters that stand for bytes: JSON strings are characters, Kea's strings are bytes. A byte
//! that is no part of UTF-8 is shown as a private character, and that is read as the byte again.

/// Character number for byte 0: the private characters U+EF80 to U+EFFF stand for bytes that are
/// not ASCII.
const OCTETS: u32 = 0xef00;
/// Lowest byte that is not ASCII.
const FIRST: u32 = 0x80;

/// Returns the byte for which the character with this number stands.
pub(crate) fn octet_of(character: u32) -> Option<u8> {
    let octet = character.checked_sub(OCTETS)?;
    u8::try_from(octet).ok().filter(|octet| u32::from(*octet) >= FIRST)
}

/// Returns the character that stands for a byte that is not ASCII.
pub(crate) fn character_of(octet: u8) -> char {
    char::from_u32(OCTETS + u32::from(octet)).expect("a private character")
}
