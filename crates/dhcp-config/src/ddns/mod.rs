//! Configuration of the DNS updater, `DhcpDdns`: the keys, defaults and checks of Kea's
//! `kea-dhcp-ddns`.
//!
//! [`parse_ddns`] reads a whole file as the readers of DHCP servers do: every problem at once, each
//! with its position. Part of Kea's manual to read first: "The DHCP-DDNS Server". `inside` reads
//! the settings of an updater inside a DHCP server, with the same keys.

mod document;
mod domains;
mod inside;
mod keys;
mod read;

use core::net::{IpAddr, SocketAddr};

use ncr::UpdateName;
use serde_json::Value;

use crate::problem::ConfigProblem;
use crate::shared::{ControlSocket, Logger};

pub(crate) use inside::{SecretFiles, read as read_inside};
pub use keys::TsigAlgorithm;
pub use read::parse_ddns;

/// Configuration of the DNS updater.
#[derive(Clone, Debug)]
pub struct DdnsConfig {
    /// Address at which the updater receives name change requests (`ip-address`).
    pub address: IpAddr,
    /// UDP port at which the updater receives name change requests (`port`).
    pub port: u16,
    /// Zones that the updater changes, with their servers and keys.
    pub zones: UpdateZones,
    /// Control sockets of the updater.
    pub control_sockets: Vec<ControlSocket>,
    /// Loggers of the updater, in the order of the file.
    pub loggers: Vec<Logger>,
}

/// Zones that an updater changes, with their servers and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateZones {
    /// Time that a DNS server has for an answer, in milliseconds (`dns-server-timeout`).
    pub server_timeout_ms: u32,
    /// TSIG keys, in the order of the file.
    pub keys: Vec<TsigKey>,
    /// Zones of names (`forward-ddns`), in the order of the file.
    pub forward: Vec<DdnsDomain>,
    /// Zones of addresses (`reverse-ddns`), in the order of the file.
    pub reverse: Vec<DdnsDomain>,
}

/// Key by which updates and their answers are signed (RFC 8945).
#[derive(Clone, PartialEq, Eq)]
pub struct TsigKey {
    /// Name of the key.
    pub name: UpdateName,
    /// Algorithm of the signatures.
    pub algorithm: TsigAlgorithm,
    /// Secret of the key, decoded.
    pub secret: Vec<u8>,
    /// Length to which signatures are cut, in bytes; `None` if they are complete.
    pub cut_bytes: Option<usize>,
}

impl core::fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TsigKey")
            .field("name", &self.name)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Zone that the updater may change, with the servers that take the updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdnsDomain {
    /// Name of the zone; `None` for `*`, which matches every name.
    pub name: Option<UpdateName>,
    /// Servers of the zone, at least one; the first that answers takes an update.
    pub servers: Vec<DdnsServer>,
}

/// DNS server that takes updates of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DdnsServer {
    /// Address and port of the server.
    pub address: SocketAddr,
    /// Position of the server's key in [`UpdateZones::keys`]; `None` for unsigned updates.
    pub key: Option<usize>,
}

/// Configuration of the DNS updater that passed every check, with its warnings.
#[derive(Clone, Debug)]
pub struct CheckedDdnsConfig {
    /// Checked configuration.
    pub config: DdnsConfig,
    /// Configuration with defaults as control commands show it: `{ "DhcpDdns": { ... } }`.
    pub document: Value,
    /// Warnings about the configuration, in the order of their positions in the text.
    pub warnings: Vec<ConfigProblem>,
}
