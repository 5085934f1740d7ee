//! Macros for enums whose values have names: the list of all values, names and codes are written
//! once, beside the values.
//!
//! Names reach counters, records, plans and command lines: a name that was changed is another
//! interface.

/// Defines an enum whose values have names, with `ALL`, `index()`, `name()` and `Display`, which
/// prints the name.
///
/// ```
/// base::named! {
///     /// State of a partner.
///     pub enum PartnerState {
///         /// Partner that answers.
///         Up = "up",
///         /// Partner that does not answer.
///         Down = "down",
///     }
/// }
///
/// assert_eq!(PartnerState::ALL.map(PartnerState::name), ["up", "down"]);
/// assert_eq!((PartnerState::Down.index(), PartnerState::Down.to_string()), (1, "down".into()));
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$about:meta])* $value:ident = $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $type {
            $($(#[$about])* $value,)+
        }

        $crate::named_values! { $type name $($value = $name,)+ }
    };
}

/// Defines an enum whose values have words for people: [`named!`](crate::named!) with `words()` in
/// place of `name()`.
#[macro_export]
macro_rules! worded {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$about:meta])* $value:ident = $words:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $type {
            $($(#[$about])* $value,)+
        }

        $crate::named_values! { $type words $($value = $words,)+ }
    };
}

/// Defines an enum that records and plans contain by name: [`named!`](crate::named!) for a type
/// that derives `Serialize` and `Deserialize` of serde.
#[macro_export]
macro_rules! recorded {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$about:meta])* $value:ident = $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $type {
            $($(#[$about])* #[serde(rename = $name)] $value,)+
        }

        $crate::named_values! { $type name $($value = $name,)+ }
    };
}

/// Defines an enum of reasons to refuse what a peer sent, each with a counter:
/// [`named!`](crate::named!) with `Error`. The names are in lower case, with hyphens between words,
/// as counters show them.
#[macro_export]
macro_rules! reasons {
    ($(#[$attribute:meta])* $visibility:vis enum $type:ident { $($values:tt)+ }) => {
        $crate::named! { $(#[$attribute])* $visibility enum $type { $($values)+ } }

        impl ::core::error::Error for $type {}
    };
}

/// Defines an enum of the codes of a registry without gaps: [`named!`](crate::named!) with `code()`
/// and `from_code()`. The first value has the code `first`, and each further value the next code.
#[macro_export]
macro_rules! coded {
    (
        first $first:literal;
        $(#[$attribute:meta])* $visibility:vis enum $type:ident: $code:ident { $($values:tt)+ }
    ) => {
        $crate::named! { $(#[$attribute])* $visibility enum $type { $($values)+ } }

        impl $type {
            /// Returns the value of the enum with this code; `None` when the code is not
            /// registered.
            pub fn from_code(code: $code) -> Option<Self> {
                Self::ALL.get(usize::from(code).wrapping_sub($first)).copied()
            }

            /// Returns the code of the value in messages.
            #[must_use]
            pub const fn code(self) -> $code {
                self as $code + $first
            }
        }
    };
}

/// Implements `ALL`, `index()`, the method that returns the name, and `Display`, for the macros of
/// this module.
#[doc(hidden)]
#[macro_export]
macro_rules! named_values {
    ($type:ident $method:ident $($value:ident = $name:literal,)+) => {
        impl $type {
            /// All values of the enum, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Names, or words, of all values of the enum, in order.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            /// Returns the position of the value in `ALL`, for counters kept as an array.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }

            #[doc = concat!("Returns the ", stringify!($method), " of the enum's value.")]
            #[must_use]
            pub const fn $method(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.$method())
            }
        }
    };
}
