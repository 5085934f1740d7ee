//! Characters that stand for octets: JSON knows characters, Kea's strings are octets. An octet that
//! is no part of UTF-8 is shown as a private character, and that is read as the octet again.

/// Stands for octet 0: the private characters U+EF80 to U+EFFF stand for octets that are not ASCII.
const OCTETS: u32 = 0xef00;
/// The least octet that is not ASCII.
const FIRST: u32 = 0x80;

/// The octet that the character with this number stands for.
pub(crate) fn octet_of(character: u32) -> Option<u8> {
    let octet = character.checked_sub(OCTETS)?;
    u8::try_from(octet).ok().filter(|octet| u32::from(*octet) >= FIRST)
}

/// The character that stands for an octet that is not ASCII.
pub(crate) fn character_of(octet: u8) -> char {
    char::from_u32(OCTETS + u32::from(octet)).expect("a private character")
}
