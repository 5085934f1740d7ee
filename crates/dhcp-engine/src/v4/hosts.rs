//! What DHCPv4's hosts have reserved: one address.

use core::net::Ipv4Addr;

use dhcp_config::Reserved4;
use dhcp_lease::v4::V4;

use crate::hosts::Reserving;

impl Reserving for V4 {
    type Reserved = Ipv4Addr;
    type Configured = Reserved4;
    type Place = Ipv4Addr;

    fn reserved(configured: &Reserved4) -> impl Iterator<Item = Ipv4Addr> {
        configured.address.into_iter()
    }

    fn address(reserved: Ipv4Addr) -> Ipv4Addr {
        reserved
    }

    fn place(address: Ipv4Addr) -> Ipv4Addr {
        address
    }
}
