//! Characters that stand for bytes in configuration documents: JSON strings are characters, Kea's
//! strings are bytes. A byte that is no part of UTF-8 is shown as a private character, and that is
//! read as the byte again.

/// Number of the character that would stand for byte 0: the private characters U+EF80 to U+EFFF
/// stand for bytes that are not ASCII.
const OCTETS: u32 = 0xef00;
/// Lowest byte that is not ASCII, and that a private character stands for.
const FIRST: u32 = 0x80;

/// Returns the byte for which the private character with this number stands; `None` for other
/// characters.
pub(crate) fn octet_of(character: u32) -> Option<u8> {
    let octet = character.checked_sub(OCTETS)?;
    u8::try_from(octet).ok().filter(|octet| u32::from(*octet) >= FIRST)
}

/// Returns the private character that stands for the byte `octet`, which is not ASCII.
pub(crate) fn character_of(octet: u8) -> char {
    char::from_u32(OCTETS + u32::from(octet)).expect("a private character")
}
