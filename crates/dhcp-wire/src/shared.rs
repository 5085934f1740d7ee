//! Types common to DHCPv4 and DHCPv6: strictness of a reader, failure of a writer, and macros for
//! enums whose values have names.

use core::fmt;

/// Treatment of DHCP options that do not comply with their definition (Kea's
/// `compatibility.lenient-option-parsing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionParsing {
    /// Strict parsing: the reader refuses a message with an option that does not comply.
    #[default]
    Strict,
    /// Lenient parsing: the reader reads an option that does not comply if its meaning is clear: it
    /// ignores bytes after a number or an address, a Client FQDN option that requests and refuses
    /// entries requests them, a vendor class ends with its option, a prefix has 128 bits at most.
    /// An option that must contain a domain name and contains something else counts as not sent.
    Lenient,
}

/// Error of a DHCP writer: the message did not fit into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message does not fit into its buffer")
    }
}

impl core::error::Error for NoRoom {}

/// Defines an enum whose values have names, with `ALL`, `name()` and `Display`, which prints the
/// name.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        pub enum $type:ident {
            $($(#[$about:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$about])* $value,)+
        }

        impl $type {
            /// All values of the enum, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name of the enum's value.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// Defines an enum of reasons to refuse a peer's DHCP message, each with a counter: [`named`] with
/// `index()`. The names are in lower case, with hyphens between words, as counters show them.
macro_rules! reasons {
    ($(#[$attribute:meta])* pub enum $type:ident { $($values:tt)+ }) => {
        $crate::shared::named! { $(#[$attribute])* pub enum $type { $($values)+ } }

        impl $type {
            /// Returns the position of the reason in `ALL`, for counters kept as an array.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        impl core::error::Error for $type {}
    };
}

/// Defines an enum of the codes of an IANA registry without gaps: [`named`] with `code()` and
/// `from_code()`. The first value has the code after `first`, and each further value the next code.
macro_rules! coded {
    (
        first $first:literal;
        $(#[$attribute:meta])* pub enum $type:ident: $code:ident { $($values:tt)+ }
    ) => {
        $crate::shared::named! { $(#[$attribute])* pub enum $type { $($values)+ } }

        impl $type {
            /// Returns the value of the enum with this code; `None` when the code is not
            /// registered.
            #[must_use]
            pub fn from_code(code: $code) -> Option<Self> {
                Self::ALL.get(usize::from(code).wrapping_sub($first)).copied()
            }

            /// Returns the code of the value in DHCP messages.
            #[must_use]
            pub const fn code(self) -> $code {
                self as $code + $first
            }
        }
    };
}

pub(crate) use {coded, named, reasons};
