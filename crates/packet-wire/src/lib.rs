//! Headers below a UDP datagram (Ethernet with VLAN tags, IPv4, IPv6, UDP), ARP, echo messages of
//! ICMP, the internet checksum, capture files, and the UDP datagrams in captured packets of any
//! link.
//!
//! A header is a small value: `parse` checks it and returns it with the payload behind it, `emit`
//! writes it. Nothing here allocates except [`pcap`], and nothing does I/O. The crate does not
//! handle IPv6 extension headers (but for [`captured`]), reassembly of fragments or the meaning of
//! a payload. References: IEEE 802.3, 802.1Q; RFC 791, 768, 792, 826, 1071, 1624, 4443, 8200.

#![no_std]

extern crate alloc;

pub mod arp;
pub mod captured;
pub mod checksum;
pub mod ethernet;
pub mod frame;
pub mod icmp;
pub mod ipv4;
pub mod ipv6;
pub mod link;
pub mod malformed;
pub mod pcap;
pub mod udp;

pub use malformed::PacketDefect;

/// Protocol numbers (IPv4 `protocol`, IPv6 `next header`) that this crate knows.
pub mod protocol {
    /// Protocol number of ICMP (RFC 792).
    pub const ICMP: u8 = 1;
    /// Protocol number of UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// Protocol number of DCCP (RFC 4340).
    pub const DCCP: u8 = 33;
    /// Protocol number of ICMPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
}
