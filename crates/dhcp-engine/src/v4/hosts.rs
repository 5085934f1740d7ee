//! Reservations of DHCPv4 hosts: one address for each, and boot fields.

use core::net::Ipv4Addr;

use base::HostName;
use dhcp_config::Reserved4;
use dhcp_lease::v4::V4;

use crate::hosts::ReservationProtocol;

/// Boot fields that a scope sets for replies, such as those of a host, which have precedence over
/// those of subnets and classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootTerms {
    /// Address of the next boot server (`siaddr`); `None` when not set.
    pub next_server: Option<Ipv4Addr>,
    /// Name of the boot server (`sname`); empty when not set.
    pub server_hostname: Box<str>,
    /// Name of the boot file (`file`); empty when not set.
    pub boot_file_name: Box<str>,
}

impl ReservationProtocol for V4 {
    type Reserved = Ipv4Addr;
    type Configured = Reserved4;
    type Place = Ipv4Addr;
    type Code = u8;
    type Own = BootTerms;

    const NOTHING: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

    fn own(configured: &Reserved4) -> BootTerms {
        BootTerms {
            next_server: configured.next_server,
            server_hostname: configured.server_hostname.as_str().into(),
            boot_file_name: configured.boot_file_name.as_str().into(),
        }
    }

    fn hostname(configured: &HostName) -> HostName {
        configured.clone().into_lower_case()
    }

    fn reserved(configured: &Reserved4) -> impl Iterator<Item = Ipv4Addr> {
        configured.address.into_iter()
    }

    fn address(reserved: Ipv4Addr) -> Ipv4Addr {
        reserved
    }

    fn address_key(address: Ipv4Addr) -> Ipv4Addr {
        address
    }
}
