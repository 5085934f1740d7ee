//! Searches for hosts in Kea's tables, each with its options and reservations.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::row;
use super::{HostFamily, HostQuery, HostSelection, HostTableRow};
use crate::memfile::RowFault;
use crate::sql::database::Database;
use crate::sql::driver::{Column, RowComparison, RowCondition, SqlValue};
use crate::sql::error::SqlError;
use crate::sql::row::RowLayout;

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

    /// Appends the hosts of `family` that `selection` selects to `rows`, in the order of their
    /// numbers. Rows that are not hosts are left out and described in `faults`.
    ///
    /// # Errors
    ///
    /// See [`Self::find_hosts`].
    pub fn select_hosts(
        &mut self,
        family: HostFamily,
        layout: RowLayout,
        selection: &HostSelection,
        rows: &mut Vec<HostTableRow>,
        faults: &mut Vec<RowFault>,
    ) -> Result<(), SqlError> {
        let subnet = row::subnet_column(family);
        let number = |column, comparison, number| RowCondition {
            column,
            comparison,
            value: SqlValue::Integer(number),
        };
        let is_in_subnet = |id: u32| number(subnet, RowComparison::Equal, i64::from(id));
        let is_in_family = number(subnet, RowComparison::Below, row::NO_SUBNET);
        let (conditions, limit) = match selection {
            HostSelection::Key(query) => {
                let before = rows.len();
                self.find_hosts(family, layout, std::slice::from_ref(query), rows, faults)?;
                let found = rows.split_off(before);
                rows.extend(found.into_iter().filter(|host| host.answers(query)));
                return Ok(());
            }
            HostSelection::Subnet(id) => (vec![is_in_subnet(*id)], None),
            HostSelection::Hostname(name) => {
                let (column, value) = (row::HOSTNAME, SqlValue::Text(name.clone()));
                let comparison = RowComparison::EqualInLowerCase;
                (vec![RowCondition { column, comparison, value }, is_in_family], None)
            }
            HostSelection::Page { subnet_id, after, limit } => {
                let scope = subnet_id.map_or(is_in_family, is_in_subnet);
                (vec![scope, number(row::HOST_ID, RowComparison::Above, *after)], Some(*limit))
            }
        };
        let mut hosts = BTreeMap::new();
        let mut search = HostSearch { family, layout, hosts: &mut hosts, faults };
        search.select(self, &conditions, limit)?;
        if family == HostFamily::V6 {
            search.add_resources(self)?;
        }
        search.add_options(self)?;
        rows.extend(hosts.into_values());
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
            self.add_host(values);
            Ok(())
        })
    }

    /// Adds the hosts whose rows of the table `hosts` fulfil all `conditions`, at most `limit` of
    /// them.
    fn select(
        &mut self,
        database: &mut Database,
        conditions: &[RowCondition],
        limit: Option<u32>,
    ) -> Result<(), SqlError> {
        let table = row::hosts(self.family);
        database.select_rows(&table, conditions, limit, &mut |values| {
            self.add_host(values);
            Ok(())
        })
    }

    /// Adds the host with the values of a row of the table `hosts`.
    fn add_host(&mut self, values: &[SqlValue]) {
        match row::decode(self.family, values) {
            Ok(Some(host)) => drop(self.hosts.insert(host.host_id, host)),
            Ok(None) => {}
            Err(fault) => self.faults.push(fault),
        }
    }

    /// Returns the numbers of the hosts that have a reservation at one of `addresses`.
    fn owners(
        &mut self,
        database: &mut Database,
        addresses: Vec<SqlValue>,
    ) -> Result<Vec<SqlValue>, SqlError> {
        let (layout, table) = (self.layout, row::resources(self.layout));
        let column = row::resource_address(layout);
        let mut owners = Vec::new();
        database.find_rows(&table, &column, addresses, &mut |values| {
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
