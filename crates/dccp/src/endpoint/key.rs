//! Keys of connections: addresses and DCCP ports, and for DCCP inside of UDP the UDP ports too
//! (RFC 6773).

use core::net::IpAddr;

use crate::connection::ConnectionPath;
use crate::header::Integrity;

/// Carrier of a connection's packets: IP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// DCCP directly over IP, protocol number 33.
    Ip,
    /// DCCP inside of UDP between these two UDP ports (RFC 6773).
    Udp {
        /// UDP port of this end.
        local_port: u16,
        /// UDP port of the other end.
        remote_port: u16,
    },
}

/// Identification of a connection: both addresses and DCCP ports, and its carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// IP address of this end.
    pub local: IpAddr,
    /// IP address of the other end.
    pub remote: IpAddr,
    /// Carrier of the connection's packets.
    pub carrier: Carrier,
    /// DCCP port of this end.
    pub local_port: u16,
    /// DCCP port of the other end.
    pub remote_port: u16,
    /// Index of the network interface of link-local addresses (RFC 4007 §6); 0 for all other
    /// addresses.
    pub scope: u32,
}

impl ConnectionKey {
    /// Returns the connection's ports, and the carrier that decides the checksums of this end's
    /// packets.
    pub const fn path(&self) -> ConnectionPath {
        let integrity = match self.carrier {
            Carrier::Ip => Integrity::Addresses { source: self.local, destination: self.remote },
            Carrier::Udp { .. } => Integrity::Carrier,
        };
        ConnectionPath { local_port: self.local_port, remote_port: self.remote_port, integrity }
    }

    /// Returns the key of the connection as bytes, the input of a keyed hash.
    pub(super) fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(48);
        for address in [self.local, self.remote] {
            match address {
                IpAddr::V4(address) => octets.extend(address.octets()),
                IpAddr::V6(address) => octets.extend(address.octets()),
            }
        }
        octets.extend(self.local_port.to_be_bytes());
        octets.extend(self.remote_port.to_be_bytes());
        octets.extend(self.scope.to_be_bytes());
        if let Carrier::Udp { local_port, remote_port } = self.carrier {
            octets.extend(local_port.to_be_bytes());
            octets.extend(remote_port.to_be_bytes());
        }
        octets
    }
}
