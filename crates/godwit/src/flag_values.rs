//! Macro for the values of flags that are those of a type of another crate.

/// Defines an enum of the values of a flag, with their help, and its conversion to the enum of
/// another crate that has values of the same names.
macro_rules! flag_values {
    (enum $type:ident of $other:ty { $($(#[$about:meta])* $value:ident,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        enum $type {
            $($(#[$about])* $value,)+
        }

        impl From<$type> for $other {
            fn from(value: $type) -> Self {
                match value {
                    $($type::$value => Self::$value,)+
                }
            }
        }
    };
}
