//! Properties of DHCPv6 that the shared readers of configurations need.

use core::net::Ipv6Addr;
use core::ops::RangeInclusive;

use base::V6;

use super::options::definitions::{NTP_SPACE, REDEFINABLE, SPACES, set_by_server};
use super::other_keys;
use crate::shared::IdentifierKind;
use crate::shared::family::ConfigFamily;
use crate::shared::family::TeeTimes;
use crate::shared::options::definition::{Field, StandardSpace};

impl ConfigFamily for V6 {
    type Address = Ipv6Addr;
    type Code = u16;

    const TOP: &'static str = "Dhcp6";
    const TOP_QUOTED: &'static str = "`Dhcp6`";
    const SUBNETS: &'static str = "subnet6";
    const SPACE: &'static str = "dhcp6";
    const LAST_CODE: i64 = 65_535;
    const SPACES: &'static [StandardSpace] = SPACES;
    const REDEFINABLE: &'static [(&'static str, &'static [u16])] = REDEFINABLE;
    const CLASS_CODES: &'static [RangeInclusive<u16>] = &[];
    const TUPLE: Field = Field::Tuple;
    const VENDOR_OPTIONS: u16 = 17;
    const VENDOR_CLASS: u16 = 16;
    const VENDOR_CLASS_HELP: &'static str =
        "write them as `9, 000161`: enterprise 9, one byte, `a`";
    const REPEATING_SPACE: Option<&'static str> = Some(NTP_SPACE);
    const SUB_OPTION_WIDTH: usize = 2;
    const LISTS_MAY_BE_EMPTY: &'static [Field] =
        &[Field::Ipv4, Field::Ipv6, Field::Ipv6Prefix, Field::Name, Field::Tuple];
    const PREFIX_EXAMPLE: &'static str = "2001:db8::/64";
    const POOL_EXAMPLE: &'static str = "`2001:db8::10 - 2001:db8::20` or `2001:db8::/80`";
    const ADDRESS_BESIDE_INTERFACE: bool = true;
    const TEE_TIMES: TeeTimes = TeeTimes {
        calculate: true,
        t1_percent: 0.5,
        t2_percent: 0.8,
        on_tie: "`renew-timer` is sent as 0: the client chooses the time",
        on_late: "leases end before their clients extend them",
    };
    const HOST_IDENTIFIERS: &'static [IdentifierKind] =
        &[IdentifierKind::HardwareAddress, IdentifierKind::Duid, IdentifierKind::FlexId];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = other_keys::ELSEWHERE;

    fn set_by_server(code: u16) -> Option<&'static str> {
        set_by_server(code).then_some("this value is not sent")
    }
}
