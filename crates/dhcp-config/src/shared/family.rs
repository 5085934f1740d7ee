//! What the shared readers have to know of a family.

use core::fmt::Display;
use core::ops::RangeInclusive;

use super::options::{Field, StandardSpace};
use super::reservations::IdentifierKind;
use super::terms::TeeTimes;
use crate::address::Address;

/// One of the two families, as the shared readers see it.
pub(crate) trait Family: Sized + 'static {
    /// Its addresses.
    type Address: Address;
    /// Its option codes.
    type Code: Copy + Ord + Display + TryFrom<u16>;

    /// The key at the top of the file.
    const TOP: &'static str;
    /// The same as the name of its map in messages.
    const TOP_QUOTED: &'static str;
    /// The key of a list of subnets.
    const SUBNETS: &'static str;
    /// The space of its standard options.
    const SPACE: &'static str;
    /// The highest option code that can be configured.
    const LAST_CODE: i64;
    /// The spaces that are known without being defined; the first is [`Family::SPACE`].
    const SPACES: &'static [StandardSpace];
    /// Standard options that operators may define anew, by space: those of Kea 3 that Kea 2.2 leaves
    /// to them, and option 43. A space without codes is one with all of its options.
    const REDEFINABLE: &'static [(&'static str, &'static [u16])];
    /// Codes that classes may define, in a space.
    const CLASS_CODES: &'static [RangeInclusive<u16>];
    /// What `tuple` means in options that operators define.
    const TUPLE: Field;
    /// The code of the option that a vendor's sub-options are in.
    const VENDOR_OPTIONS: u16;
    /// The code of the option that names vendor classes.
    const VENDOR_CLASS: u16;
    /// How the option that names vendor classes is written.
    const VENDOR_CLASS_HELP: &'static str;
    /// A space of which an option may hold several sub-options of one code.
    const REPEATING_SPACE: Option<&'static str>;
    /// Octets of a sub-option's code and of its length.
    const SUB_OPTION_WIDTH: usize;
    /// Types of options that Kea sends as lists without elements.
    const LISTS_MAY_BE_EMPTY: &'static [Field];
    /// What a prefix looks like.
    const PREFIX_EXAMPLE: &'static str;
    /// What pools look like.
    const POOL_EXAMPLE: &'static str;
    /// Whether an interface can be selected together with one of its addresses: a socket for
    /// unicast messages beside the one for multicast.
    const ADDRESS_BESIDE_INTERFACE: bool;

    /// What it does about T1 and T2.
    const TEE_TIMES: TeeTimes;
    /// Kinds of host identifiers that its clients can be told by.
    const HOST_IDENTIFIERS: &'static [IdentifierKind];
    /// Flags of `compatibility`.
    const COMPATIBILITY: &'static [&'static str];

    /// Keys that are right elsewhere, and where.
    const ELSEWHERE: &'static [(&'static str, &'static str)];

    /// For an option that carries the conversation itself: what to do instead of setting it.
    fn set_by_server(code: Self::Code) -> Option<&'static str>;
}
