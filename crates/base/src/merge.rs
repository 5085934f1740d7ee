//! Counts that can be added up, and a macro that defines structs of them.

use alloc::vec::Vec;

/// Value to which another one of its type can be added: a count or a list of counts.
pub trait Merge {
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

impl<T: Merge> Merge for Vec<T> {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

/// Defines a struct of counts with `merge`, which adds the counts of another value. The fields are
/// counts, lists of counts, or values with a method `merge` of their own.
///
/// ```
/// base::counts! {
///     /// Counts of a link.
///     #[derive(Debug, Default, PartialEq)]
///     pub struct LinkCounts {
///         /// Number of packets.
///         pub packets: u64,
///         /// Numbers of faults by kind.
///         pub faults: [u64; 2],
///     }
/// }
///
/// let mut sum = LinkCounts { packets: 1, faults: [2, 3] };
/// sum.merge(&LinkCounts { packets: 10, faults: [20, 30] });
/// assert_eq!(sum, LinkCounts { packets: 11, faults: [22, 33] });
/// ```
#[macro_export]
macro_rules! counts {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $counts:ident {
            $($(#[$about:meta])* $field_visibility:vis $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $counts {
            $($(#[$about])* $field_visibility $field: $type,)+
        }

        impl $counts {
            /// Adds the counts of another value.
            $visibility fn merge(&mut self, other: &Self) {
                use $crate::Merge as _;
                $(self.$field.merge(&other.$field);)+
            }
        }
    };
}
