//! Keys of connections: addresses and ports, and inside of UDP its ports, too (RFC 6773).

use core::net::IpAddr;

use crate::connection::ConnectionPath;
use crate::header::Integrity;

/// Carrier of the packets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// IP with protocol number 33.
    Ip,
    /// UDP between these ports.
    Udp {
        /// UDP port of this end.
        local_port: u16,
        /// UDP port of the other end.
        remote_port: u16,
    },
}

/// Identification of a connection: the four-tuple, or the six-tuple inside of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// Address of this end.
    pub local: IpAddr,
    /// Address of the other end.
    pub remote: IpAddr,
    /// Carrier of the packets.
    pub carrier: Carrier,
    /// DCCP port of this end.
    pub local_port: u16,
    /// DCCP port of the other end.
    pub remote_port: u16,
    /// Index of the interface of link-local addresses (RFC 4007 §6); 0 for all others.
    pub scope: u32,
}

impl ConnectionKey {
    /// Returns the ports, and the carrier for the checksums of this end's packets.
    #[must_use]
    pub const fn path(&self) -> ConnectionPath {
        let integrity = match self.carrier {
            Carrier::Ip => Integrity::Addresses { source: self.local, destination: self.remote },
            Carrier::Udp { .. } => Integrity::Carrier,
        };
        ConnectionPath { local_port: self.local_port, remote_port: self.remote_port, integrity }
    }

    /// Returns the key as bytes for a hash.
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
