//! What both families share: how strict a reader is, the failure of a writer, and enums whose values
//! have names.

use core::fmt;

/// What a reader does with options that are not as their definition says (Kea's
/// `compatibility.lenient-option-parsing`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parsing {
    /// The message is refused.
    #[default]
    Strict,
    /// Where the meaning can be told all the same it is: octets behind a number or an address are
    /// not looked at, a Client FQDN option that wants and does not want entries wants them, a class
    /// of a vendor ends with its option, a prefix has 128 bits at most. An option with something in
    /// it that is no domain name counts as not sent.
    Lenient,
}

/// The message did not fit into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message does not fit into its buffer")
    }
}

impl core::error::Error for NoRoom {}

/// An enum whose values have names, with `ALL`, `name()` and `Display`, which gives the name.
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
            /// Every value, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Its name.
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

/// Reasons to refuse what a peer sent, to be counted: [`named`] with `index()`. Names are lower
/// case, words joined by hyphens.
macro_rules! reasons {
    ($(#[$attribute:meta])* pub enum $type:ident { $($values:tt)+ }) => {
        $crate::shared::named! { $(#[$attribute])* pub enum $type { $($values)+ } }

        impl $type {
            /// Position in `ALL`, for counters kept as an array.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        impl core::error::Error for $type {}
    };
}

/// Codes of a registry without gaps: [`named`] with `code()` and `from_code()`. The first value has
/// the code that is given.
macro_rules! coded {
    (
        first $first:literal;
        $(#[$attribute:meta])* pub enum $type:ident: $code:ident { $($values:tt)+ }
    ) => {
        $crate::shared::named! { $(#[$attribute])* pub enum $type { $($values)+ } }

        impl $type {
            /// The value with this code; `None` when it is not registered.
            #[must_use]
            pub fn from_code(code: $code) -> Option<Self> {
                Self::ALL.get(usize::from(code).wrapping_sub($first)).copied()
            }

            /// Its code on the wire.
            #[must_use]
            pub const fn code(self) -> $code {
                self as $code + $first
            }
        }
    };
}

pub(crate) use {coded, named, reasons};
