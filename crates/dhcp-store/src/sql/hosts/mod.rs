//! Reservations of hosts in Kea's tables: one statement for each table looks up many hosts, by
//! identifier or by address; hosts are written one at a time.
//!
//! This module does not know the meaning of a row to a server: options are as in the table, as
//! bytes or as text that only option definitions (`option-def`) convert to bytes. Its functions
//! block, so the packet path must not call them.

#[cfg(test)]
mod damaged;
mod row;
mod search;
mod write;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Family whose columns of a host count: one row may be a host of both families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFamily {
    /// Columns of a host for DHCPv4.
    V4,
    /// Columns of a host for DHCPv6.
    V6,
}

/// Row of Kea's table `hosts` with the host's rows of other tables, as far as one family is
/// concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTableRow {
    /// Number of the host, which the database assigns.
    pub host_id: i64,
    /// Bytes of the host's identifier, as in the column `dhcp_identifier`.
    pub identifier: Vec<u8>,
    /// Kea's number for the type of the host's identifier.
    pub identifier_type: u8,
    /// Identifier of the host's subnet; 0 for a global host.
    pub subnet_id: u32,
    /// Host name that is reserved for the client; empty for none, as are all texts of the row.
    pub hostname: String,
    /// Names of the host's client classes, separated by commas.
    pub client_classes: String,
    /// User context of the host, a JSON object.
    pub user_context: String,
    /// Key of the DHCPv6 host for RECONFIGURE messages (RFC 9915 §20.4).
    pub auth_key: String,
    /// Address that is reserved for the DHCPv4 host.
    pub address: Option<Ipv4Addr>,
    /// Address for `siaddr` in replies to the DHCPv4 host.
    pub next_server: Option<Ipv4Addr>,
    /// Text for `sname` in replies to the DHCPv4 host.
    pub server_hostname: String,
    /// Text for `file` in replies to the DHCPv4 host.
    pub boot_file_name: String,
    /// Addresses and prefixes that are reserved for the DHCPv6 host, in the order in which they
    /// were written.
    pub resources: Vec<HostResource>,
    /// Options of the host, in the order in which they were written.
    pub options: Vec<HostOption>,
}

/// Row of Kea's table `ipv6_reservations`: an address or prefix of a DHCPv6 host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostResource {
    /// Reserved address, or the first address of the reserved prefix.
    pub address: Ipv6Addr,
    /// Length of the reserved prefix in bits; 128 for an address.
    pub len: u8,
    /// True if the reservation is of a prefix.
    pub is_prefix: bool,
    /// Part of the reserved prefix that is excluded (RFC 6603). Tables of Kea 2.2 have no column
    /// for it.
    pub excluded: Option<(Ipv6Addr, u8)>,
}

/// Row of Kea's table `dhcp4_options` or `dhcp6_options`: an option of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostOption {
    /// Code of the host's option.
    pub code: u16,
    /// Bytes of the host's option; `None` if the option is text.
    pub value: Option<Vec<u8>>,
    /// Fields of the host's option as text, separated by commas; empty if the option is bytes.
    pub formatted_value: String,
    /// Name of the option space of the host's option.
    pub space: String,
    /// True if the server sends the option also to clients that do not request it (`always-send`).
    pub is_persistent: bool,
    /// True if the server never sends the option (`never-send`). Tables of Kea 2.2 have no column
    /// for it.
    pub is_cancelled: bool,
    /// Tags of the client classes that get the option, as a JSON list; empty for none.
    pub client_classes: String,
    /// User context of the option, a JSON object.
    pub user_context: String,
}

/// Key by which hosts are looked up in the database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostQuery {
    /// Number that Kea has for the identifier's type, and the bytes of the identifier.
    Identifier(u8, Vec<u8>),
    /// Reserved address, or the first one of a reserved prefix.
    Address(IpAddr),
}

/// Hosts that a control command selects from a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostSelection {
    /// Hosts of the subnet with this number; global hosts for 0.
    Subnet(u32),
    /// Hosts with this name. It is in lower case, the names in the table need not be.
    Hostname(String),
    /// Hosts that the key finds.
    Key(HostQuery),
    /// Hosts with the lowest numbers above one.
    Page {
        /// Number of the hosts' subnet; `None` for hosts of all subnets and global ones.
        subnet_id: Option<u32>,
        /// Number of a host after which the page begins.
        after: i64,
        /// Maximum number of hosts on the page.
        limit: u32,
    },
}

impl HostTableRow {
    /// Returns all queries that find this host.
    pub fn queries(&self) -> impl Iterator<Item = HostQuery> {
        let identifier = HostQuery::Identifier(self.identifier_type, self.identifier.clone());
        let address = self.address.map(IpAddr::V4).into_iter();
        let resources = self.resources.iter().map(|resource| IpAddr::V6(resource.address));
        core::iter::once(identifier).chain(address.chain(resources).map(HostQuery::Address))
    }

    /// Returns true if `query` (by identifier or address) finds this host.
    #[must_use]
    pub fn answers(&self, query: &HostQuery) -> bool {
        self.queries().any(|own| own == *query)
    }
}
