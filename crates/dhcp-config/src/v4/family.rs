//! Properties of DHCPv4 that the shared readers of configurations need.

use core::net::Ipv4Addr;
use core::ops::RangeInclusive;

use base::V4;

use super::options::definitions::{REDEFINABLE, SPACES, set_by_server};
use super::other_keys;
use crate::shared::IdentifierKind;
use crate::shared::family::ConfigFamily;
use crate::shared::family::TeeTimes;
use crate::shared::options::definition::{Field, StandardSpace};

impl ConfigFamily for V4 {
    type Address = Ipv4Addr;
    type Code = u8;

    const TOP: &'static str = "Dhcp4";
    const TOP_QUOTED: &'static str = "`Dhcp4`";
    const SUBNETS: &'static str = "subnet4";
    const SPACE: &'static str = "dhcp4";
    const LAST_CODE: i64 = 254;
    const SPACES: &'static [StandardSpace] = SPACES;
    const REDEFINABLE: &'static [(&'static str, &'static [u16])] = REDEFINABLE;
    const CLASS_CODES: &'static [RangeInclusive<u16>] = &[43..=43, 224..=254];
    const TUPLE: Field = Field::ShortTuple;
    const VENDOR_OPTIONS: u16 = 125;
    const VENDOR_CLASS: u16 = 124;
    const VENDOR_CLASS_HELP: &'static str = "write them as `9, 0161`: enterprise 9, one byte, `a`";
    const REPEATING_SPACE: Option<&'static str> = None;
    const SUB_OPTION_WIDTH: usize = 1;
    const LISTS_MAY_BE_EMPTY: &'static [Field] = &[Field::Ipv4, Field::Ipv6, Field::Ipv6Prefix];
    const PREFIX_EXAMPLE: &'static str = "192.0.2.0/24";
    const POOL_EXAMPLE: &'static str = "`192.0.2.10 - 192.0.2.20` or `192.0.2.0/28`";
    const ADDRESS_BESIDE_INTERFACE: bool = false;
    const TEE_TIMES: TeeTimes = TeeTimes {
        calculate: false,
        t1_percent: 0.5,
        t2_percent: 0.875,
        on_tie: "`renew-timer` is not sent in replies",
        on_late: "it is not sent in replies",
    };
    const HOST_IDENTIFIERS: &'static [IdentifierKind] = &[
        IdentifierKind::HardwareAddress,
        IdentifierKind::Duid,
        IdentifierKind::CircuitId,
        IdentifierKind::ClientId,
        IdentifierKind::FlexId,
    ];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = other_keys::ELSEWHERE;

    fn set_by_server(code: u8) -> Option<&'static str> {
        set_by_server(code).then_some(match code {
            58 => "set `renew-timer` instead; this value is not sent",
            59 => "set `rebind-timer` instead; this value is not sent",
            51 => "set `valid-lifetime` instead; this value is not sent",
            _ => "this value is not sent",
        })
    }
}
