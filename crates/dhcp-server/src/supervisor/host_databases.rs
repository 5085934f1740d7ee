//! Control commands about reservations in databases. The supervisor writes and waits; the shards
//! go on, and forget what they have cached of a changed host.

use dhcp_control::{ApplyFailure, HostCriterion, HostDatabases, HostPage, StoredHost};
use dhcp_store::sql::{HostQuery, HostSelection, HostTableRow};
use netio::Clock;
use serde_json::Value;

use super::Supervisor;
use crate::hosts::{HostsDatabases, host_row};
use crate::service::DaemonFamily;

impl<P: DaemonFamily> HostDatabases for Supervisor<P> {
    fn count(&self) -> usize {
        self.parts.hosts.as_ref().map_or(0, HostsDatabases::count)
    }

    fn select(
        &mut self,
        database: usize,
        criterion: &HostCriterion,
    ) -> Result<Vec<StoredHost>, ApplyFailure> {
        self.shown_hosts(database, &selection(criterion))
    }

    fn page(&mut self, database: usize, page: HostPage) -> Result<Vec<StoredHost>, ApplyFailure> {
        let HostPage { subnet_id, after, limit } = page;
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.shown_hosts(database, &HostSelection::Page { subnet_id, after, limit })
    }

    fn add(&mut self, database: usize, subnet_id: u32, host: &Value) -> Result<(), ApplyFailure> {
        let row = self.row_of_document(subnet_id, host)?;
        self.change_rows(database, &[], Some(&row))
    }

    fn update(
        &mut self,
        database: usize,
        subnet_id: u32,
        host: &Value,
    ) -> Result<bool, ApplyFailure> {
        let row = self.row_of_document(subnet_id, host)?;
        let query = HostQuery::Identifier(row.identifier_type, row.identifier.clone());
        let old = self.rows_in_subnet(database, subnet_id, query)?;
        if old.is_empty() {
            return Ok(false);
        }
        self.change_rows(database, &old, Some(&row)).map(|()| true)
    }

    fn delete(
        &mut self,
        database: usize,
        subnet_id: u32,
        criterion: &HostCriterion,
    ) -> Result<bool, ApplyFailure> {
        let HostSelection::Key(query) = selection(criterion) else { return Ok(false) };
        let old = self.rows_in_subnet(database, subnet_id, query)?;
        if old.is_empty() {
            return Ok(false);
        }
        self.change_rows(database, &old, None).map(|()| true)
    }
}

impl<P: DaemonFamily> Supervisor<P> {
    fn hosts_databases(&mut self) -> Result<&mut HostsDatabases<P>, ApplyFailure> {
        let none = || ApplyFailure::Refused("there is no hosts-databases configured".to_owned());
        self.parts.hosts.as_mut().ok_or_else(none)
    }

    fn shown_hosts(
        &mut self,
        database: usize,
        selection: &HostSelection,
    ) -> Result<Vec<StoredHost>, ApplyFailure> {
        let definitions = &self.parts.in_force.document[P::VERSION.root()]["option-def"];
        let definitions = definitions.clone();
        self.hosts_databases()?.shown_hosts(Clock::now(), database, selection, &definitions)
    }

    /// Returns the rows of the hosts in a subnet that `query` finds, to change them.
    fn rows_in_subnet(
        &mut self,
        database: usize,
        subnet_id: u32,
        query: HostQuery,
    ) -> Result<Vec<HostTableRow>, ApplyFailure> {
        let databases = self.hosts_databases()?;
        databases.check_writable(database)?;
        let mut rows = databases.rows(Clock::now(), database, &HostSelection::Key(query))?;
        rows.retain(|row| row.subnet_id == subnet_id);
        Ok(rows)
    }

    /// Reads the reservation `host` as one of the configuration, and returns its rows.
    fn row_of_document(&self, subnet_id: u32, host: &Value) -> Result<HostTableRow, ApplyFailure> {
        let (read, document) = self.read_alone(subnet_id, host)?;
        Ok(host_row(&read.identifier, subnet_id, &document))
    }

    fn change_rows(
        &mut self,
        database: usize,
        old: &[HostTableRow],
        new: Option<&HostTableRow>,
    ) -> Result<(), ApplyFailure> {
        let is_unique = self.parts.in_force.config.global.ip_reservations_unique;
        let new = new.map(|row| (row, is_unique));
        self.hosts_databases()?.change(Clock::now(), database, old, new)?;
        if !old.is_empty() {
            // The pools set reserved addresses aside when they meet them; now they take back those
            // that are free again.
            self.compile_again();
        }
        Ok(())
    }
}

/// Returns the selection of hosts that fulfil `criterion`.
fn selection(criterion: &HostCriterion) -> HostSelection {
    match criterion {
        HostCriterion::Subnet(id) => HostSelection::Subnet(*id),
        HostCriterion::Hostname(name) => HostSelection::Hostname(name.clone()),
        HostCriterion::Address(address) => HostSelection::Key(HostQuery::Address(*address)),
        HostCriterion::Identifier(identifier) => {
            let number = identifier.number();
            HostSelection::Key(HostQuery::Identifier(number, identifier.octets.clone()))
        }
    }
}
