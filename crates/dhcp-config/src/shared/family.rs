//! Properties of DHCPv4 or DHCPv6 that the shared readers of configurations need.

use core::fmt::Display;
use core::ops::RangeInclusive;

use super::config::ConfigTypes;
use super::options::definition::{Field, StandardSpace};
use super::reservations::IdentifierKind;
use crate::address::Address;

/// Treatment of the renewal and rebinding times, T1 and T2, in DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TeeTimes {
    /// True if the server by default computes T1 and T2 that are not set (`calculate-tee-times`).
    pub(crate) calculate: bool,
    /// Default of T1 (`t1-percent`) as a fraction of the valid lifetime (DHCPv4) or preferred
    /// lifetime (DHCPv6).
    pub(crate) t1_percent: f64,
    /// Default of T2 (`t2-percent`) as a fraction of the valid lifetime (DHCPv4) or preferred
    /// lifetime (DHCPv6).
    pub(crate) t2_percent: f64,
    /// Effect of a T1 that is not below T2, as a phrase for the operator.
    pub(crate) on_tie: &'static str,
    /// Effect of a T1 or T2 that is not below the valid lifetime, as a phrase for the operator.
    pub(crate) on_late: &'static str,
}

/// Server as the readers of keys see it that the configuration of every server has.
pub(crate) trait ConfigServer {
    /// Key at the top of the server's configuration files: `Dhcp4`, `Dhcp6` or `DhcpDdns`.
    const TOP_KEY: &'static str;
    /// Name of the server's program after `kea-`: `dhcp4`, `dhcp6` or `dhcp-ddns`.
    const PROGRAM: &'static str;
}

impl<F: ConfigFamily> ConfigServer for F {
    const TOP_KEY: &'static str = F::TOP;
    const PROGRAM: &'static str = F::SPACE;
}

/// Family, DHCPv4 or DHCPv6, as the shared readers of configurations see it.
pub(crate) trait ConfigFamily
where
    Self: ConfigTypes<IpAddress = <Self as ConfigFamily>::Address>,
    Self: ConfigTypes<OptionCode = <Self as ConfigFamily>::Code>,
{
    /// Type of an IP address of the family.
    type Address: Address;
    /// Type of an option code of the family.
    type Code: Copy + Ord + Display + TryFrom<u16>;

    /// Key at the top of the family's configuration files: `Dhcp4` or `Dhcp6`.
    const TOP: &'static str;
    /// Key at the top of the family's configuration files, as messages name its map.
    const TOP_QUOTED: &'static str;
    /// Key of a list of subnets of the family: `subnet4` or `subnet6`.
    const SUBNETS: &'static str;
    /// Name of the space of the family's standard options: `dhcp4` or `dhcp6`.
    const SPACE: &'static str;
    /// Highest option code that can be configured in the family.
    const LAST_CODE: i64;
    /// Option spaces that are known without a definition; the first is [`ConfigFamily::SPACE`].
    const SPACES: &'static [StandardSpace];
    /// Standard options that operators may define anew, by space and code: those of Kea 3 that Kea
    /// 2.2 leaves to operators, and option 43. A space without codes permits all of its options.
    const REDEFINABLE: &'static [(&'static str, &'static [u16])];
    /// Option codes that client classes may define, in a space.
    const CLASS_CODES: &'static [RangeInclusive<u16>];
    /// Type of a field `tuple` in options that operators define.
    const TUPLE: Field;
    /// Code of the family's option that contains a vendor's sub-options: 125 (RFC 3925) or 17 (RFC
    /// 9915).
    const VENDOR_OPTIONS: u16;
    /// Code of the family's option that names vendor classes: 124 (RFC 3925) or 16 (RFC 9915).
    const VENDOR_CLASS: u16;
    /// Advice to the operator on how to write the option that names vendor classes.
    const VENDOR_CLASS_HELP: &'static str;
    /// Name of the space whose options may contain several sub-options of one code; `None` without
    /// such a space.
    const REPEATING_SPACE: Option<&'static str>;
    /// Number of bytes of a sub-option's code, and also of its length.
    const SUB_OPTION_WIDTH: usize;
    /// Types of fields of options that Kea sends as lists without elements.
    const LISTS_MAY_BE_EMPTY: &'static [Field];
    /// Example of a prefix of the family, for advice.
    const PREFIX_EXAMPLE: &'static str;
    /// Example of a pool of the family, for advice.
    const POOL_EXAMPLE: &'static str;
    /// True if the server can listen on an interface and on one of its addresses: a socket for
    /// unicast messages next to the one for multicast.
    const ADDRESS_BESIDE_INTERFACE: bool;

    /// Treatment of the renewal and rebinding times, T1 and T2, in the family.
    const TEE_TIMES: TeeTimes;
    /// Kinds of identifiers that reservations of the family may have.
    const HOST_IDENTIFIERS: &'static [IdentifierKind];

    /// Configuration keys that belong to another scope, each with advice on where to write it.
    const ELSEWHERE: &'static [(&'static str, &'static str)];

    /// Returns advice for an option that the server sets itself: an alternative to configuring it.
    fn set_by_server(code: Self::Code) -> Option<&'static str>;
}
