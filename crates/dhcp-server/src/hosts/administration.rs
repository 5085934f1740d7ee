//! Databases of reservations as control commands use them: the rows that a command lists or
//! changes, and the keys that shards must forget after a change.

use base::Now;
use dhcp_config::{IdentifierKind, SqlDatabase, SqlKind};
use dhcp_control::{ApplyFailure, StoredHost};
use dhcp_engine::hosts::HostKey;
use dhcp_store::database::DatabaseError;
use dhcp_store::hosts::{HostRowsChange, HostsAdministration, HostsPolicy};
use dhcp_store::sql::{HostQuery, HostSelection, HostTableRow, SqlSettings};
use serde_json::Value;

use super::row_reports::RowReports;
use super::{HostsDatabases, row};
use crate::service::DaemonFamily;

/// Kinds of identifiers in the order of Kea's numbers.
const KINDS: [IdentifierKind; 5] = [
    IdentifierKind::HardwareAddress,
    IdentifierKind::Duid,
    IdentifierKind::CircuitId,
    IdentifierKind::ClientId,
    IdentifierKind::FlexId,
];

/// Databases of reservations for commands, on connections of their own.
#[derive(Debug)]
pub(super) struct HostAdministration {
    rows: HostsAdministration,
    /// Kind of each database, and true if the server must not write to it (`readonly`).
    kinds: Vec<(SqlKind, bool)>,
}

impl HostAdministration {
    /// Creates the administration of `databases`, whose settings are `settings`, without
    /// connecting to them.
    pub(super) fn new<P: DaemonFamily>(
        databases: &[SqlDatabase],
        settings: &[(SqlSettings, HostsPolicy)],
    ) -> Self {
        let settings = settings.iter().map(|(settings, _)| settings.clone()).collect();
        Self {
            rows: HostsAdministration::new(P::HOST_FAMILY, settings),
            kinds: databases.iter().map(|one| (one.kind, one.is_readonly)).collect(),
        }
    }

    /// Checks that the server may write to the database at the position `database`.
    fn check_writable(&self, database: usize) -> Result<(), ApplyFailure> {
        match self.kinds.get(database) {
            Some((kind, true)) => {
                let name = match kind {
                    SqlKind::Mysql => "MySQL",
                    SqlKind::Postgresql => "PostgreSQL",
                    SqlKind::Sqlite => "SQLite",
                };
                Err(ApplyFailure::Refused(format!(
                    "{name} host database backend is configured to operate in read only mode"
                )))
            }
            _ => Ok(()),
        }
    }
}

fn refused(error: DatabaseError) -> ApplyFailure {
    ApplyFailure::Refused(error.to_string())
}

impl<P: DaemonFamily> HostsDatabases<P> {
    /// Returns the number of databases.
    pub(crate) const fn count(&self) -> usize {
        self.administration.kinds.len()
    }

    /// Returns the hosts that `selection` selects in the database at the position `database`.
    pub(crate) fn rows(
        &mut self,
        now: Now,
        database: usize,
        selection: &HostSelection,
    ) -> Result<Vec<HostTableRow>, ApplyFailure> {
        let (mut rows, mut faults) = (Vec::new(), Vec::new());
        let selected =
            self.administration.rows.select(now, database, selection, &mut rows, &mut faults);
        selected.map_err(refused)?;
        let mut reports = RowReports::new(std::sync::Arc::clone(&self.row_counts));
        for fault in faults {
            reports.report_ignored("a row of a hosts database", &fault.to_string());
        }
        Ok(rows)
    }

    /// Returns the hosts that `selection` selects in the database at the position `database`, as
    /// commands show them; `definitions` is the list `option-def` of the configuration in force.
    pub(crate) fn shown_hosts(
        &mut self,
        now: Now,
        database: usize,
        selection: &HostSelection,
        definitions: &Value,
    ) -> Result<Vec<StoredHost>, ApplyFailure> {
        let shown = |host: HostTableRow| StoredHost {
            number: u64::try_from(host.host_id).unwrap_or(0),
            subnet_id: host.subnet_id,
            document: P::host_document(definitions, row::to_shown_json(&host, P::VERSION)),
        };
        Ok(self.rows(now, database, selection)?.into_iter().map(shown).collect())
    }

    /// Deletes the hosts `old` and adds the host `new` in the database at the position `database`.
    /// From then on the hosts count for each message that the shards receive.
    pub(crate) fn change(
        &mut self,
        now: Now,
        database: usize,
        old: &[HostTableRow],
        new: Option<(&HostTableRow, bool)>,
    ) -> Result<(), ApplyFailure> {
        self.administration.check_writable(database)?;
        let deletions: Vec<i64> = old.iter().map(|host| host.host_id).collect();
        let change = HostRowsChange {
            deletions: &deletions,
            addition: new.map(|(host, _)| host),
            is_address_unique: new.is_some_and(|(_, is_unique)| is_unique),
        };
        let changed = self.administration.rows.change(now, database, change);
        // After an error it is unknown what the database has done.
        let hosts = old.iter().chain(change.addition);
        let keys: Vec<HostKey<P::Address>> = hosts.flat_map(keys::<P>).collect();
        self.lookups.forget(&keys);
        if changed.map_err(refused)? {
            Ok(())
        } else {
            Err(ApplyFailure::Refused("Database duplicate entry error".to_owned()))
        }
    }

    /// Checks that the server may write to the database at the position `database`.
    pub(crate) fn check_writable(&self, database: usize) -> Result<(), ApplyFailure> {
        self.administration.check_writable(database)
    }
}

/// Returns the keys by which shards find `host`.
fn keys<P: DaemonFamily>(host: &HostTableRow) -> Vec<HostKey<P::Address>> {
    let key = |query: HostQuery| match query {
        HostQuery::Identifier(kind, octets) => {
            let kind = KINDS.get(usize::from(kind)).copied();
            kind.map(|kind| HostKey::Identifier(kind, octets.into())).into_iter().collect()
        }
        HostQuery::Address(address) => {
            P::addresses_at(address).into_iter().map(HostKey::Address).collect::<Vec<_>>()
        }
    };
    host.queries().flat_map(key).collect()
}
