//! Host names of leases and reservations: bounded, so that each part of a server can read the names
//! that another part writes. Configuration, commands, leases and stores share the type.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ops::Deref;

/// Maximum length of a host name in bytes: that of a domain name (RFC 1035 §2.3.4), and the number
/// of characters for which Kea's database tables have room.
pub const HOST_NAME_MAX: usize = 255;

/// Host name of a lease or a reservation: at most [`HOST_NAME_MAX`] bytes of UTF-8 without U+0000,
/// which no database stores. A host name may be empty.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(Box<str>);

/// Reason why a text is no host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostNameFault {
    /// Text of this many bytes, more than [`HOST_NAME_MAX`].
    TooLong(usize),
    /// Text that contains U+0000.
    HasZero,
}

impl fmt::Display for HostNameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(octets) => {
                write!(f, "host name has {octets} bytes; at most {HOST_NAME_MAX} are allowed")
            }
            Self::HasZero => f.write_str("host name contains U+0000"),
        }
    }
}

impl HostName {
    /// Makes a host name of as much of `text` as fits: U+0000 is removed, and the rest is cut in
    /// front of the character that crosses [`HOST_NAME_MAX`]. It is for names that an earlier
    /// version accepted and that come back from a lease file or database.
    pub fn cut(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        if Self::check(text).is_ok() {
            return Self(text.into());
        }
        let mut name = text.replace('\0', "");
        name.truncate(name.floor_char_boundary(HOST_NAME_MAX));
        Self(name.into())
    }

    /// Checks that `text` can be a host name, and returns the reason if it cannot.
    ///
    /// # Errors
    ///
    /// The first of its faults.
    pub fn check(text: &str) -> Result<(), HostNameFault> {
        match text.len() {
            octets if octets > HOST_NAME_MAX => Err(HostNameFault::TooLong(octets)),
            _ if text.as_bytes().contains(&0) => Err(HostNameFault::HasZero),
            _ => Ok(()),
        }
    }

    /// Makes a host name of all of `text`, or returns the reason why `text` is none.
    ///
    /// # Errors
    ///
    /// The error of [`HostName::check`].
    pub fn new(text: &str) -> Result<Self, HostNameFault> {
        Self::check(text).map(|()| Self(text.into()))
    }

    /// Returns the host name as text.
    pub const fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host name with its ASCII letters in lower case, as Kea has it after it reads a
    /// lease or a reservation.
    #[must_use]
    pub fn into_lower_case(mut self) -> Self {
        self.0.make_ascii_lowercase();
        self
    }
}

impl From<&str> for HostName {
    /// Makes a host name as [`HostName::cut`] does.
    fn from(text: &str) -> Self {
        Self::cut(text)
    }
}

impl From<String> for HostName {
    /// Makes a host name as [`HostName::cut`] does.
    fn from(text: String) -> Self {
        if Self::check(&text).is_ok() { Self(text.into()) } else { Self::cut(&text) }
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> Self {
        name.0.into()
    }
}

impl Deref for HostName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<str> for HostName {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for HostName {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_name_has_at_most_255_octets_and_no_zero() {
        let longest = "x".repeat(HOST_NAME_MAX);
        assert_eq!(HostName::new(&longest).as_deref(), Ok(&*longest));
        let longer = longest.clone() + "x";
        assert_eq!(HostName::new(&longer), Err(HostNameFault::TooLong(256)));
        assert_eq!(HostName::new("a\0b"), Err(HostNameFault::HasZero));
        assert_eq!(HostName::from(longer), *longest);
        assert_eq!(HostName::cut("a\0b"), "ab");
    }

    #[test]
    fn a_character_that_crosses_the_bound_is_left_out() {
        // Each character has 2 bytes: the 128th crosses.
        let name = HostName::cut(&"\u{fc}".repeat(200));
        assert_eq!((name.len(), name.chars().count()), (254, 127));
        assert_eq!(HostName::cut(&("\0".repeat(9) + &"x".repeat(255))).len(), 255);
    }

    #[test]
    fn faults_say_what_is_allowed() {
        let fault = HostNameFault::TooLong(300).to_string();
        assert_eq!(fault, "host name has 300 bytes; at most 255 are allowed");
    }
}
