//! Writes of hosts to Kea's tables, one host at a time, as Kea writes them.

use super::row;
use super::{HostFamily, HostQuery, HostResource, HostTableRow};
use crate::sql::database::Database;
use crate::sql::driver::{Column, RowComparison, RowCondition, SqlTable, SqlValue};
use crate::sql::error::SqlError;
use crate::sql::row::RowLayout;

impl Database {
    /// Writes a host with its options and reservations, and returns its number, which the database
    /// assigns. Returns `None` if its scope has a host with this identifier already or, provided
    /// that `is_address_unique`, if another host has an address of it in its subnet or one of its
    /// DHCPv6 addresses or prefixes in any subnet. Then the caller must roll back the transaction
    /// that it has begun: some rows may be written.
    ///
    /// # Errors
    ///
    /// See [`Self::find_hosts`].
    pub fn insert_host(
        &mut self,
        family: HostFamily,
        layout: RowLayout,
        host: &HostTableRow,
        is_address_unique: bool,
    ) -> Result<Option<i64>, SqlError> {
        if is_address_unique && self.has_address_of(family, host)? {
            return Ok(None);
        }
        let mut values = Vec::new();
        row::encode(family, host, layout, &mut values);
        if self.insert_rows(&row::written_hosts(), values)? == 0 {
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
        for resource in &host.resources {
            if is_address_unique && self.has_resource(layout, resource)? {
                return Ok(None);
            }
            let mut values = Vec::new();
            row::encode_resource(host_id, resource, layout, &mut values);
            self.insert_rows(&row::written_resources(layout), values)?;
        }
        Ok(Some(host_id))
    }

    /// Returns true if a host has the DHCPv4 address of `host` in its subnet.
    fn has_address_of(
        &mut self,
        family: HostFamily,
        host: &HostTableRow,
    ) -> Result<bool, SqlError> {
        let Some(address) = host.address else { return Ok(false) };
        let conditions = [
            is_equal(row::subnet_column(family), i64::from(host.subnet_id)),
            is_equal(row::ADDRESS4, i64::from(address.to_bits())),
        ];
        self.has_row(&row::hosts(family), &conditions)
    }

    /// Returns true if a host has the address or prefix `resource`.
    fn has_resource(
        &mut self,
        layout: RowLayout,
        resource: &HostResource,
    ) -> Result<bool, SqlError> {
        let conditions = [
            RowCondition {
                column: row::resource_address(layout),
                comparison: RowComparison::Equal,
                value: row::address6(resource.address, layout),
            },
            is_equal(row::PREFIX_LEN, i64::from(resource.len)),
        ];
        self.has_row(&row::resources(layout), &conditions)
    }

    fn has_row(&mut self, table: &SqlTable, conditions: &[RowCondition]) -> Result<bool, SqlError> {
        let mut has_row = false;
        self.select_rows(table, conditions, Some(1), &mut |_| {
            has_row = true;
            Ok(())
        })?;
        Ok(has_row)
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

const fn is_equal(column: Column, number: i64) -> RowCondition {
    RowCondition { column, comparison: RowComparison::Equal, value: SqlValue::Integer(number) }
}
