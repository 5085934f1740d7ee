//! Reservations in databases: each database is queried in turn, and connected to again after a lost
//! connection.

use base::Now;
use base::time::NS_PER_MS;

use crate::database::{DatabaseError, DatabaseFault};
use crate::memfile::RowFault;
use crate::sql::row::RowLayout;
use crate::sql::{
    Database, HostFamily, HostQuery, HostTableRow, SharedLeases, SqlError, SqlSettings,
};

/// Connection policy for one database of reservations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostsPolicy {
    /// Time between attempts to connect to the database again, in milliseconds
    /// (`reconnect-wait-time`).
    pub wait_ms: u32,
}

/// Databases with reservations of one family, in the order in which they are queried.
#[derive(Debug)]
pub struct SqlHosts {
    family: HostFamily,
    databases: Vec<HostsDatabase>,
}

/// One database of reservations, with the connection to it while there is one.
#[derive(Debug)]
pub(super) struct HostsDatabase {
    settings: SqlSettings,
    policy: HostsPolicy,
    open: Option<(Database, RowLayout)>,
    retry_at_ns: u64,
}

impl HostsDatabase {
    /// Creates the database of `settings` without connecting to it.
    pub(super) const fn new(settings: SqlSettings, policy: HostsPolicy) -> Self {
        Self { settings, policy, open: None, retry_at_ns: 0 }
    }

    /// Returns true if the database has a connection.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the connection to the database.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    fn open(&mut self, now: Now) -> Result<&mut (Database, RowLayout), DatabaseError> {
        if self.open.is_none() {
            if now.mono_ns < self.retry_at_ns {
                return Err(DatabaseError {
                    fault: DatabaseFault::ConnectionLost,
                    operation: "connect to a hosts database",
                    cause: format!(
                        "the last attempt failed, and it is too early to try {} again",
                        self.settings
                    ),
                });
            }
            self.retry_at_ns = now.mono_ns + u64::from(self.policy.wait_ms) * NS_PER_MS;
            let connect = || {
                let mut database = Database::open(&self.settings)?;
                let layout = database.layout()?;
                Ok((database, layout))
            };
            self.open = Some(SharedLeases::map_error("connect to a hosts database", connect())?);
        }
        Ok(self.open.as_mut().expect("opened above"))
    }

    /// Runs `body` on the connection to this database of reservations, and drops the connection if
    /// it is lost.
    pub(super) fn with<T>(
        &mut self,
        now: Now,
        tried: &'static str,
        body: impl FnOnce(&mut Database, RowLayout) -> Result<T, SqlError>,
    ) -> Result<T, DatabaseError> {
        let (database, layout) = self.open(now)?;
        let done = SharedLeases::map_error(tried, body(database, *layout));
        if done.as_ref().is_err_and(|error| error.fault == DatabaseFault::ConnectionLost) {
            self.open = None;
        }
        done
    }

    /// Runs `body`, which changes nothing, as [`Self::with`] does, and once more on a new
    /// connection if an old one was lost.
    pub(super) fn with_reopening(
        &mut self,
        now: Now,
        tried: &'static str,
        body: &mut dyn FnMut(&mut Database, RowLayout) -> Result<(), SqlError>,
    ) -> Result<(), DatabaseError> {
        let was_open = self.is_open();
        match self.with(now, tried, &mut *body) {
            Err(error) if was_open && error.fault == DatabaseFault::ConnectionLost => {
                self.with(now, tried, body)
            }
            other => other,
        }
    }
}

impl SqlHosts {
    /// Creates the directory of the hosts of `family` in `databases`, without connecting to them.
    #[must_use]
    pub fn new(family: HostFamily, databases: Vec<(SqlSettings, HostsPolicy)>) -> Self {
        let one = |(settings, policy)| HostsDatabase::new(settings, policy);
        Self { family, databases: databases.into_iter().map(one).collect() }
    }

    /// Connects to all databases of reservations.
    ///
    /// # Errors
    ///
    /// Returns the error of the first database that is unusable.
    pub fn connect(&mut self, now: Now) -> Result<(), DatabaseError> {
        self.databases.iter_mut().try_for_each(|one| one.open(now).map(drop))
    }

    /// Appends the hosts that match one of `queries` to `rows`, those of the first database first;
    /// other hosts may be among them. Appends the faults of rows that are left out to `faults`.
    /// Reopens a lost connection once.
    ///
    /// # Errors
    ///
    /// Returns the error of the database that fails: then no result of the lookup is complete.
    pub fn find(
        &mut self,
        now: Now,
        queries: &[HostQuery],
        rows: &mut Vec<HostTableRow>,
        faults: &mut Vec<RowFault>,
    ) -> Result<(), DatabaseError> {
        let family = self.family;
        self.databases.iter_mut().try_for_each(|one| {
            one.with_reopening(now, "look up reservations", &mut |database, layout| {
                let before = rows.len();
                let done = database.find_hosts(family, layout, queries, rows, faults);
                if done.is_err() {
                    rows.truncate(before);
                }
                done
            })
        })
    }
}
