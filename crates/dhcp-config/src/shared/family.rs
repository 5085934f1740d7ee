//! Properties of a family that the shared readers need.

use core::fmt::Display;
use core::ops::RangeInclusive;

use super::options::definition::{Field, StandardSpace};
use super::reservations::IdentifierKind;
use crate::address::Address;

/// Treatment of T1 and T2 in a family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TeeTimes {
    /// True if the server computes unset ones.
    pub(crate) calculate: bool,
    /// T1 as a part of the time it counts from.
    pub(crate) t1_percent: f64,
    /// T2 as a part of the time it counts from.
    pub(crate) t2_percent: f64,
    /// Effect of a T1 that is not below T2.
    pub(crate) on_tie: &'static str,
    /// Effect of a T1 or T2 that is not below the valid lifetime.
    pub(crate) on_late: &'static str,
}

/// Family of addresses, as the shared readers see it.
pub(crate) trait ConfigFamily: Sized + 'static {
    /// Address of the family.
    type Address: Address;
    /// Option code of the family.
    type Code: Copy + Ord + Display + TryFrom<u16>;

    /// Key at the top of the file.
    const TOP: &'static str;
    /// Key at the top of the file, as the name of its map in messages.
    const TOP_QUOTED: &'static str;
    /// Key of a list of subnets.
    const SUBNETS: &'static str;
    /// Space of the family's standard options.
    const SPACE: &'static str;
    /// Highest option code that can be configured.
    const LAST_CODE: i64;
    /// Spaces that are known without a definition; the first is [`ConfigFamily::SPACE`].
    const SPACES: &'static [StandardSpace];
    /// Standard options that operators may define anew, by space: those of Kea 3 that Kea 2.2
    /// leaves to them, and option 43. A space without codes permits all of its options.
    const REDEFINABLE: &'static [(&'static str, &'static [u16])];
    /// Codes that classes may define, in a space.
    const CLASS_CODES: &'static [RangeInclusive<u16>];
    /// Type of a `tuple` in options that operators define.
    const TUPLE: Field;
    /// Code of the option that contains a vendor's sub-options.
    const VENDOR_OPTIONS: u16;
    /// Code of the option that names vendor classes.
    const VENDOR_CLASS: u16;
    /// Advice on how to write the option that names vendor classes.
    const VENDOR_CLASS_HELP: &'static str;
    /// Space whose options may contain several sub-options of one code.
    const REPEATING_SPACE: Option<&'static str>;
    /// Number of bytes of a sub-option's code and of its length.
    const SUB_OPTION_WIDTH: usize;
    /// Types of options that Kea sends as lists without elements.
    const LISTS_MAY_BE_EMPTY: &'static [Field];
    /// Example of a prefix.
    const PREFIX_EXAMPLE: &'static str;
    /// Example of a pool.
    const POOL_EXAMPLE: &'static str;
    /// True if an interface can be selected together with one of its addresses: a socket for
    /// unicast messages next to the one for multicast.
    const ADDRESS_BESIDE_INTERFACE: bool;

    /// Treatment of T1 and T2.
    const TEE_TIMES: TeeTimes;
    /// Kinds of identifiers that reservations of the family may have.
    const HOST_IDENTIFIERS: &'static [IdentifierKind];

    /// Keys that belong elsewhere, each with advice on where to write it.
    const ELSEWHERE: &'static [(&'static str, &'static str)];

    /// Returns advice for an option that the server sets itself: what to do instead of configuring
    /// it.
    fn set_by_server(code: Self::Code) -> Option<&'static str>;
}
