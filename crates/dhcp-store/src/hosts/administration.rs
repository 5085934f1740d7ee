//! Changes and lists of reservations in databases for control commands. Each call waits for the
//! database, so only the thread that carries out commands makes them, on connections of its own.

use base::Now;

use super::sql::{HostsDatabase, HostsPolicy};
use crate::database::{DatabaseError, DatabaseFault};
use crate::memfile::RowFault;
use crate::sql::row::RowLayout;
use crate::sql::{Database, HostFamily, HostSelection, HostTableRow, SqlError, SqlSettings};

/// Maximum number of attempts at a transaction that conflicts with other writers.
const ATTEMPTS_MAX: u32 = 4;

/// Databases of reservations of one family, as control commands read and change them.
#[derive(Debug)]
pub struct HostsAdministration {
    family: HostFamily,
    databases: Vec<HostsDatabase>,
}

/// Change of the hosts in one database, in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct HostRowsChange<'c> {
    /// Numbers of the hosts to delete.
    pub deletions: &'c [i64],
    /// Host to add after the deletions.
    pub addition: Option<&'c HostTableRow>,
    /// True if the added host must have no address that another host has
    /// (`ip-reservations-unique`).
    pub is_address_unique: bool,
}

impl HostsAdministration {
    /// Creates the administration of the hosts of `family` in `databases`, without connecting to
    /// them.
    #[must_use]
    pub fn new(family: HostFamily, databases: Vec<SqlSettings>) -> Self {
        // A command may try again at once.
        let policy = HostsPolicy { wait_ms: 0 };
        let one = |settings| HostsDatabase::new(settings, policy);
        Self { family, databases: databases.into_iter().map(one).collect() }
    }

    /// Appends the hosts that `selection` selects in the database at the position `database` to
    /// `rows`, in the order of their numbers, and the faults of rows that are not hosts to
    /// `faults`. Reopens a lost connection once.
    ///
    /// # Errors
    ///
    /// Returns the error of the database.
    pub fn select(
        &mut self,
        now: Now,
        database: usize,
        selection: &HostSelection,
        rows: &mut Vec<HostTableRow>,
        faults: &mut Vec<RowFault>,
    ) -> Result<(), DatabaseError> {
        let family = self.family;
        let one = self.database(database)?;
        one.with_reopening(now, "list reservations", &mut |database, layout| {
            let (rows_before, faults_before) = (rows.len(), faults.len());
            let done = database.select_hosts(family, layout, selection, rows, faults);
            if done.is_err() {
                rows.truncate(rows_before);
                faults.truncate(faults_before);
            }
            done
        })
    }

    /// Makes `change` in the database at the position `database`, entirely or not at all. Returns
    /// false, and changes nothing, if a host in the way of the added one exists: one with its
    /// identifier in its scope, or, if addresses are unique, with one of its addresses.
    ///
    /// # Errors
    ///
    /// Returns the error of the database. If the connection is lost, it is unknown whether the
    /// change was made.
    pub fn change(
        &mut self,
        now: Now,
        database: usize,
        change: HostRowsChange<'_>,
    ) -> Result<bool, DatabaseError> {
        let family = self.family;
        let one = self.database(database)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let was_open = one.is_open();
            let mut has_begun = false;
            let done = one.with(now, "change reservations", |database, layout| {
                database.begin()?;
                has_begun = true;
                match make(database, family, layout, change) {
                    Ok(true) => database.commit().map(|()| true),
                    Ok(false) => database.roll_back().map(|()| false),
                    Err(error) => Err(error),
                }
            });
            let Err(error) = done else { return done };
            // The connection may be within a transaction, or lost.
            one.close();
            let is_stale = error.fault == DatabaseFault::ConnectionLost && was_open && !has_begun;
            let is_conflict = error.fault == DatabaseFault::Conflict;
            if attempts == ATTEMPTS_MAX || !(is_stale || is_conflict) {
                return Err(error);
            }
        }
    }

    fn database(&mut self, at: usize) -> Result<&mut HostsDatabase, DatabaseError> {
        self.databases.get_mut(at).ok_or_else(|| DatabaseError {
            fault: DatabaseFault::Permanent,
            operation: "use a hosts database",
            cause: format!("there is no database number {}", at + 1),
        })
    }
}

/// Makes `change` within a transaction of `database`.
fn make(
    database: &mut Database,
    family: HostFamily,
    layout: RowLayout,
    change: HostRowsChange<'_>,
) -> Result<bool, SqlError> {
    for &host_id in change.deletions {
        database.delete_host(host_id)?;
    }
    let Some(host) = change.addition else { return Ok(true) };
    Ok(database.insert_host(family, layout, host, change.is_address_unique)?.is_some())
}
