//! Reservations of hosts in Kea's tables: one statement for each table looks up many hosts, by
//! identifier or by address; hosts are written one at a time.
//!
//! This module does not know the meaning of a row to a server: options are as in the table, as
//! bytes or as text that only option definitions (`option-def`) convert to bytes. Its functions
//! block, so the packet path must not call them.

#[cfg(test)]
mod damaged;
mod row;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::database::Database;
use super::driver::{Column, SqlTable, SqlValue};
use super::error::SqlError;
use super::row::RowLayout;
use crate::memfile::RowFault;

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

impl Database {
    /// Appends the hosts of `family` that one of `queries` finds to `rows`, in the order of the
    /// hosts' numbers; `rows` may get other hosts as well. Rows that are not hosts are left out and
    /// described in `faults`.
    ///
    /// # Errors
    ///
    /// Returns the error of the database; so do all functions below.
    pub fn find_hosts(
        &mut self,
        family: HostFamily,
        layout: RowLayout,
        queries: &[HostQuery],
        rows: &mut Vec<HostTableRow>,
        faults: &mut Vec<RowFault>,
    ) -> Result<(), SqlError> {
        let octets = queries.iter().filter_map(|query| match query {
            HostQuery::Identifier(_, octets) => Some(octets.as_slice()),
            HostQuery::Address(_) => None,
        });
        let mut hosts = BTreeMap::new();
        let mut search = HostSearch { family, layout, hosts: &mut hosts, faults };
        search.find(self, &row::IDENTIFIER, row::identifiers(octets))?;
        let addresses = queries.iter().filter_map(|query| match query {
            HostQuery::Address(address) => Some(*address),
            HostQuery::Identifier(..) => None,
        });
        match family {
            HostFamily::V4 => {
                let addresses = addresses.filter_map(|address| match address {
                    IpAddr::V4(address) => Some(SqlValue::Integer(i64::from(address.to_bits()))),
                    IpAddr::V6(_) => None,
                });
                search.find(self, &row::ADDRESS4, addresses.collect())?;
            }
            HostFamily::V6 => {
                let addresses = addresses.filter_map(|address| match address {
                    IpAddr::V6(address) => Some(row::address6(address, layout)),
                    IpAddr::V4(_) => None,
                });
                let owners = search.owners(self, addresses.collect())?;
                search.find(self, &row::HOST_ID, owners)?;
                search.add_resources(self)?;
            }
        }
        search.add_options(self)?;
        rows.extend(hosts.into_values());
        Ok(())
    }

    /// Writes a host with its options and reservations, and returns its number, which the database
    /// assigns; `None` if its scope has a host with this identifier already. All rows are written
    /// or none, provided that the caller has begun a transaction.
    ///
    /// # Errors
    ///
    /// See [`Self::find_hosts`].
    pub fn insert_host(
        &mut self,
        family: HostFamily,
        layout: RowLayout,
        host: &HostTableRow,
    ) -> Result<Option<i64>, SqlError> {
        let mut values = Vec::new();
        row::encode(family, host, &mut values);
        let table = row::without_number(row::hosts(family));
        if self.insert_rows(&table, values)? == 0 {
            return Ok(None);
        }
        let query = HostQuery::Identifier(host.identifier_type, host.identifier.clone());
        let mut rows = Vec::new();
        self.find_hosts(family, layout, std::slice::from_ref(&query), &mut rows, &mut Vec::new())?;
        let written =
            rows.iter().find(|row| row.subnet_id == host.subnet_id && row.answers(&query));
        let Some(host_id) = written.map(|written| written.host_id) else { return Ok(None) };
        let mut values = Vec::new();
        for option in &host.options {
            row::encode_option(host_id, option, layout, &mut values);
        }
        self.insert_rows(&row::without_number(row::options(family, layout)), values)?;
        let mut values = Vec::new();
        for resource in &host.resources {
            row::encode_resource(host_id, resource, layout, &mut values);
        }
        self.insert_rows(&row::without_number(row::resources(layout)), values)?;
        Ok(Some(host_id))
    }

    /// Deletes the host number `host_id` with its rows in all other tables, of both families. All
    /// rows are deleted or none, provided that the caller has begun a transaction.
    ///
    /// # Errors
    ///
    /// See [`Self::find_hosts`].
    pub fn delete_host(&mut self, host_id: i64) -> Result<(), SqlError> {
        const BY_HOST: &[Column] = &[row::HOST_ID];
        // The last table is the one that the others refer to.
        for name in ["ipv6_reservations", "dhcp4_options", "dhcp6_options", "hosts"] {
            let table = SqlTable { name, columns: BY_HOST };
            self.delete_rows(&table, vec![SqlValue::Integer(host_id)])?;
        }
        Ok(())
    }
}

/// Search for hosts in the database, with those found so far by their numbers.
struct HostSearch<'s> {
    family: HostFamily,
    layout: RowLayout,
    hosts: &'s mut BTreeMap<i64, HostTableRow>,
    faults: &'s mut Vec<RowFault>,
}

impl HostSearch<'_> {
    /// Adds the hosts that have one of `values` in `column` of the table `hosts`.
    fn find(
        &mut self,
        database: &mut Database,
        column: &Column,
        values: Vec<SqlValue>,
    ) -> Result<(), SqlError> {
        let table = row::hosts(self.family);
        database.find_rows(&table, column, values, &mut |values| {
            match row::decode(self.family, values) {
                Ok(Some(host)) => drop(self.hosts.insert(host.host_id, host)),
                Ok(None) => {}
                Err(fault) => self.faults.push(fault),
            }
            Ok(())
        })
    }

    /// Returns the numbers of the hosts that have a reservation at one of `addresses`.
    fn owners(
        &mut self,
        database: &mut Database,
        addresses: Vec<SqlValue>,
    ) -> Result<Vec<SqlValue>, SqlError> {
        let (layout, table) = (self.layout, row::resources(self.layout));
        let column = table.columns.iter().find(|column| column.name == "address");
        let column = column.expect("it is one of the columns");
        let mut owners = Vec::new();
        database.find_rows(&table, column, addresses, &mut |values| {
            match row::decode_resource(table, values, layout) {
                Ok((_, host_id, _)) => owners.push(SqlValue::Integer(host_id)),
                Err(fault) => self.faults.push(fault),
            }
            Ok(())
        })?;
        owners.retain(|owner| match owner {
            SqlValue::Integer(host_id) => !self.hosts.contains_key(host_id),
            _ => false,
        });
        Ok(owners)
    }

    fn numbers(&self) -> Vec<SqlValue> {
        self.hosts.keys().map(|&host_id| SqlValue::Integer(host_id)).collect()
    }

    fn add_resources(&mut self, database: &mut Database) -> Result<(), SqlError> {
        let (layout, table) = (self.layout, row::resources(self.layout));
        let mut rows = Vec::new();
        database.find_rows(&table, &row::HOST_ID, self.numbers(), &mut |values| {
            match row::decode_resource(table, values, layout) {
                Ok(row) => rows.push(row),
                Err(fault) => self.faults.push(fault),
            }
            Ok(())
        })?;
        rows.sort_unstable_by_key(|&(number, ..)| number);
        for (_, host_id, resource) in rows {
            if let Some(host) = self.hosts.get_mut(&host_id) {
                host.resources.push(resource);
            }
        }
        Ok(())
    }

    fn add_options(&mut self, database: &mut Database) -> Result<(), SqlError> {
        let (layout, table) = (self.layout, row::options(self.family, self.layout));
        let mut rows = Vec::new();
        database.find_rows(&table, &row::HOST_ID, self.numbers(), &mut |values| {
            match row::decode_option(table, values, layout) {
                Ok(row) => rows.push(row),
                Err(fault) => self.faults.push(fault),
            }
            Ok(())
        })?;
        rows.sort_unstable_by_key(|&(number, ..)| number);
        for (_, host_id, option) in rows {
            if let Some(host) = self.hosts.get_mut(&host_id) {
                host.options.push(option);
            }
        }
        Ok(())
    }
}
