//! Values that only configurations of DHCPv4 servers have.

use core::net::Ipv4Addr;

use base::V4;

use crate::shared::{ClientClass, ConfigTypes, DhcpConfig, Pool, Reservation, SubnetConfig};

/// Whole configuration of a DHCPv4 server, checked, inheritance resolved.
pub type Dhcp4 = DhcpConfig<V4>;

/// DHCPv4 subnet with all values that hold for it, inherited ones included.
pub type Subnet4 = SubnetConfig<V4>;

/// Pool of IPv4 addresses to lease from.
pub type Pool4 = Pool<Ipv4Addr, u8>;

/// Client class of DHCPv4.
pub type ClientClass4 = ClientClass<u8, ClassTerms4>;

/// Reservation of a DHCPv4 client.
pub type Reservation4 = Reservation<u8, Reserved4>;

impl ConfigTypes for V4 {
    type IpAddress = Ipv4Addr;
    type OptionCode = u8;
    type OwnReserved = Reserved4;
    type OwnClass = ClassTerms4;
    type OwnSubnet = SubnetTerms4;
    type OwnNetwork = ();
    type OwnSockets = SocketTerms4;
    type OwnGlobal = GlobalTerms4;
}

/// Settings that only client classes of DHCPv4 have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms4 {
    /// Address in the field `siaddr` of replies to members of the class (`next-server`).
    pub next_server: Option<Ipv4Addr>,
    /// Server name in the field `sname` of replies to members of the class (`server-hostname`).
    pub server_hostname: Option<String>,
    /// Boot file name in the field `file` of replies to members of the class (`boot-file-name`).
    pub boot_file_name: Option<String>,
    /// Time for which the server stores a DHCPOFFER to members of the class as a lease, in seconds
    /// (`offer-lifetime`).
    pub offer_lifetime_s: Option<u32>,
}

/// Address and header fields that a DHCPv4 reservation sets for its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved4 {
    /// IPv4 address that the reservation keeps for its client.
    pub address: Option<Ipv4Addr>,
    /// Address in the field `siaddr` of replies to the reservation's client (`next-server`).
    pub next_server: Option<Ipv4Addr>,
    /// Server name in the field `sname` of replies to the reservation's client, empty when not set.
    pub server_hostname: String,
    /// Boot file name in the field `file` of replies to the reservation's client, empty when not
    /// set.
    pub boot_file_name: String,
}

/// Global settings that only DHCPv4 servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalTerms4 {
    /// True if the server refuses clients that belong to no subnet and request an address again:
    /// the global `authoritative`. Default false.
    pub authoritative: bool,
    /// True if DHCPv4 replies repeat the client identifier (RFC 6842): `echo-client-id`. Default
    /// true.
    pub echo_client_id: bool,
    /// True if the server treats a client that renews without its relay agent by the relay agent
    /// information stored with the lease: `stash-agent-options`. Default false.
    pub stash_agent_options: bool,
}

/// Settings that only DHCPv4 subnets have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetTerms4 {
    /// Time for which the server stores a DHCPOFFER as a lease, in seconds (`offer-lifetime`); 0
    /// (the default) holds the offered address in memory only.
    pub offer_lifetime_s: u32,
    /// True if the server refuses unknown clients that request an address again (`authoritative`).
    /// Default false.
    pub authoritative: bool,
    /// True if the client identifier tells clients of the subnet apart (`match-client-id`). Default
    /// true.
    pub match_client_id: bool,
    /// Address in the field `siaddr` of replies to clients of the subnet (`next-server`). Default
    /// 0.0.0.0.
    pub next_server: Ipv4Addr,
    /// Server name in the field `sname` of replies to clients of the subnet, at most 63 bytes
    /// (`server-hostname`). Default empty.
    pub server_hostname: String,
    /// Boot file name in the field `file` of replies to clients of the subnet, at most 127 bytes
    /// (`boot-file-name`). Default empty.
    pub boot_file_name: String,
}

/// Settings that only DHCPv4 sockets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketTerms4 {
    /// Type of the server's sockets (`dhcp-socket-type`). Default raw.
    pub socket_type: SocketType,
    /// Interface at which replies leave (`outbound-interface`). Default the interface of the
    /// request.
    pub outbound: OutboundInterface,
}

/// Type of a DHCPv4 server's sockets (`dhcp-socket-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketType {
    /// Packet sockets, which reach clients that have no address yet.
    #[default]
    Raw,
    /// UDP sockets, which serve relayed clients and clients that have an address.
    Udp,
}

/// Interface at which replies of a DHCPv4 server leave (`outbound-interface`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutboundInterface {
    /// The interface at which the server received the request.
    #[default]
    SameAsInbound,
    /// The interface that the routing table selects for the reply.
    UseRouting,
}
