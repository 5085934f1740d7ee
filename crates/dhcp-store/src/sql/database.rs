//! Connection to an SQL database with leases, and the operations over it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::connect;
use super::counts;
use super::driver::{
    Column, Renewals, RowChanges, RowComparison, RowCondition, RowSearch, SqlConnection, SqlTable,
    SqlValue, Visit,
};
use super::error::SqlError;
use super::mysql::Mysql;
use super::postgresql::Postgresql;
use super::row::{RowLayout, SqlFamily};
use super::schema::{Schema, SchemaVersion};
use super::settings::{SqlDatabaseKind, SqlSettings};
use super::sqlite::Sqlite;
use crate::database::{Flush, KeyOctets, RoundChanges, SharedLeaseFamily};
use crate::memfile::RowFault;
use crate::storage::Storage;
use dhcp_lease::Lease;

/// Number of lease rows read from a table at a time.
const PAGE_ROWS: u32 = 5000;
/// Maximum number of different end times for which a commit renews all leases that end then by one
/// statement; it writes other renewals row by row.
const RENEWALS_MAX: usize = 8;
/// Maximum number of bad rows that are described; further ones are only counted.
const DESCRIBED_MAX: usize = 100;

/// Open connection to an SQL database with leases.
pub struct Database {
    driver: Box<dyn SqlConnection>,
    backend: SqlDatabaseKind,
    description: String,
}

/// Result of reading all leases of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlLoadReport {
    /// Number of the table's rows that are leases.
    pub leases: u64,
    /// Number of the table's rows that are not leases.
    pub bad_rows: u64,
    /// First hundred bad rows of the table: number of the row, from 0 in the order of keys, and its
    /// fault.
    pub faults: Vec<(u64, RowFault)>,
}

impl Database {
    /// Connects to the first database host that answers, or opens SQLite's file. The function does
    /// not query the tables, nor check that they are writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unreachable, or does not accept this user.
    pub fn open(settings: &SqlSettings) -> Result<Self, SqlError> {
        let mut errors = Vec::new();
        for number in 0..settings.host_count() {
            match Self::open_host(&settings.at_host(number)) {
                Ok(database) => return Ok(database),
                Err(error) => errors.push(error),
            }
        }
        Err(connect::all_of(settings, errors))
    }

    /// Connects to the first host of `settings` alone, or opens SQLite's file.
    pub(super) fn open_host(settings: &SqlSettings) -> Result<Self, SqlError> {
        let driver: Box<dyn SqlConnection> = match settings.backend {
            SqlDatabaseKind::Mysql => Box::new(Mysql::connect(settings)?),
            SqlDatabaseKind::Postgresql => Box::new(Postgresql::connect(settings)?),
            SqlDatabaseKind::Sqlite => Box::new(Sqlite::open(settings)?),
        };
        Ok(Self { driver, backend: settings.backend, description: settings.to_string() })
    }

    /// Returns the version of the database's tables; `None` if it has none.
    ///
    /// # Errors
    ///
    /// Returns the error of the database.
    pub fn version(&mut self) -> Result<Option<SchemaVersion>, SqlError> {
        if self.count_tables(Some("schema_version"))? == 0 {
            return Ok(None);
        }
        let query = match self.backend {
            SqlDatabaseKind::Postgresql => {
                "SELECT version::bigint, minor::bigint FROM schema_version"
            }
            SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite => {
                "SELECT version, minor FROM schema_version"
            }
        };
        Ok(match self.driver.numbers(query)?[..] {
            [major, minor] => Some(SchemaVersion { major: major as u32, minor: minor as u32 }),
            _ => None,
        })
    }

    /// Returns the layout of the database's leases.
    ///
    /// # Errors
    ///
    /// Returns an error if it has no tables of a known version, or if the database fails.
    pub fn layout(&mut self) -> Result<RowLayout, SqlError> {
        let stored_version = self.version()?;
        let refused = |why: String| SqlError::new(format!("use {}", self.description), why);
        let version = stored_version.ok_or_else(|| {
            refused("it has no lease tables; `godwit db init` creates them".to_owned())
        })?;
        let schema = Schema::for_version(self.backend, version).ok_or_else(|| {
            refused(format!(
                "the version of its tables is {version}, which this version of godwit \
                             does not know"
            ))
        })?;
        Ok(RowLayout { backend: self.backend, schema })
    }

    /// Creates the tables of `schema` in the database, which is empty.
    ///
    /// # Errors
    ///
    /// Returns an error if there are tables already, if `schema` does not exist for this kind of
    /// database, or if the database fails: then MySQL keeps the tables created so far, while
    /// PostgreSQL and SQLite undo them.
    pub fn install(&mut self, schema: Schema) -> Result<(), SqlError> {
        let refused = |why| SqlError::new(format!("create tables in {}", self.description), why);
        let statements = schema
            .statements(self.backend)
            .ok_or_else(|| refused("Kea 2.2 has no tables for this kind of database"))?;
        if self.count_tables(None)? > 0 {
            return Err(SqlError::new(
                format!("create tables in {}", self.description),
                "it is not empty",
            ));
        }
        self.run_all(&statements)
    }

    /// Upgrades the database's tables of Kea 2.2 to the current version; returns `false` if they
    /// are current already.
    ///
    /// # Errors
    ///
    /// Returns an error if the tables are of another version, if there are tables of Kea's
    /// configuration backend, which only Kea's own `kea-admin` can upgrade, or if the database
    /// fails: then MySQL keeps the changes made so far, while PostgreSQL and SQLite undo them.
    pub fn upgrade(&mut self) -> Result<bool, SqlError> {
        let refused = |database: &str, why| SqlError::new(format!("upgrade {database}"), why);
        let version = self.version()?;
        if version == Some(Schema::Current.version(self.backend)) {
            return Ok(false);
        }
        if version != Some(Schema::Kea22.version(self.backend)) {
            let version_text =
                version.map_or_else(|| "none".to_owned(), |version| version.to_string());
            let why = format!("the version of its tables is {version_text}, not that of Kea 2.2");
            return Err(SqlError::new(format!("upgrade {}", self.description), why));
        }
        if self.count_tables(Some("dhcp4_subnet"))? > 0 {
            let why = "it has tables of Kea's configuration backend: use `kea-admin db-upgrade`";
            return Err(refused(&self.description, why));
        }
        self.run_all(&Schema::upgrade(self.backend))?;
        Ok(true)
    }

    /// Counts all leases of the database anew, in one transaction: Kea's tables of lease counts
    /// (`lease4_stat`, `lease6_stat` and others) are filled anew.
    ///
    /// # Errors
    ///
    /// Returns an error if it has no tables of a known version, or if the database fails; then the
    /// counts are as before.
    pub fn recount(&mut self) -> Result<(), SqlError> {
        let layout = self.layout()?;
        self.begin()?;
        let done = counts::recount(layout.schema)
            .iter()
            .try_for_each(|statement| self.driver.run(statement));
        match done {
            Ok(()) => self.commit(),
            Err(error) => {
                // A lost connection has undone it already.
                self.roll_back().ok();
                Err(error)
            }
        }
    }

    /// Begins a database transaction.
    ///
    /// # Errors
    ///
    /// Returns the error of the database; so do all functions below.
    pub fn begin(&mut self) -> Result<(), SqlError> {
        self.driver.run(match self.backend {
            SqlDatabaseKind::Sqlite => "BEGIN IMMEDIATE",
            SqlDatabaseKind::Mysql | SqlDatabaseKind::Postgresql => "BEGIN",
        })
    }

    /// Commits the database transaction; its changes are then as safe as the database promises.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`]. If the connection is lost, it is unknown whether the commit happened.
    pub fn commit(&mut self) -> Result<(), SqlError> {
        self.driver.run("COMMIT")
    }

    /// Rolls the database transaction back.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`].
    pub fn roll_back(&mut self) -> Result<(), SqlError> {
        self.driver.run("ROLLBACK")
    }

    /// Writes leases to the table, and replaces those of the same addresses, whichever client has
    /// them: the last of several leases of one address counts. Rows are locked in the order of
    /// their addresses, so that two writers do not wait for each other in a circle.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`].
    pub fn upsert_many<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        leases: &[Lease<F>],
    ) -> Result<(), SqlError> {
        let newest: BTreeMap<F::Address, &Lease<F>> =
            leases.iter().map(|lease| (lease.address, lease)).collect();
        if newest.is_empty() {
            return Ok(());
        }
        let table = F::table(layout);
        let mut values = Vec::with_capacity(newest.len() * table.columns.len());
        for lease in newest.into_values() {
            F::encode(lease, layout, &mut values);
        }
        self.driver.upsert(&table, values)
    }

    /// Adds leases to addresses that have none, in the order of their addresses, and returns how
    /// many it added.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`].
    pub fn insert_many<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        leases: &[Lease<F>],
    ) -> Result<u64, SqlError> {
        let mut sorted: Vec<&Lease<F>> = leases.iter().collect();
        sorted.sort_unstable_by_key(|lease| lease.address);
        let table = F::table(layout);
        let mut values = Vec::with_capacity(sorted.len() * table.columns.len());
        for lease in sorted {
            F::encode(lease, layout, &mut values);
        }
        self.driver.insert(&table, values)
    }

    /// Locks the table's leases of `addresses` and appends the leases to `leases`; no other
    /// connection changes these leases until the end of the transaction. Rows that are not leases
    /// are left out.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`].
    pub fn lock_many<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        addresses: &[F::Address],
        leases: &mut Vec<Lease<F>>,
    ) -> Result<(), SqlError> {
        let sought = vec![Self::locked::<F>(layout, addresses)];
        self.find_all::<F>(layout, false, sought, &mut |_, lease| leases.push(lease)).map(drop)
    }

    /// Returns the search that finds the lease rows of `addresses` and locks the rows.
    pub(super) fn locked<F: SqlFamily>(layout: RowLayout, addresses: &[F::Address]) -> RowSearch {
        RowSearch {
            column: F::table(layout).key(),
            values: keys::<F>(layout, addresses),
            is_locked: true,
        }
    }

    /// Returns the search for lease rows that have one of `values` in the column called `name`.
    pub(super) fn with<F: SqlFamily>(
        layout: RowLayout,
        name: &str,
        values: Vec<SqlValue>,
    ) -> RowSearch {
        let mut columns = F::table(layout).columns.iter();
        let column: Option<&Column> = columns.find(|column| column.name == name);
        let column = *column.expect("the table has the columns that leases are looked for by");
        RowSearch { column, values, is_locked: false }
    }

    /// Passes the leases that the searches `sought` find to `visit`, with the position of the
    /// search that found them; begins a transaction first if `begins` is true. Returns the keys of
    /// rows that are not leases.
    pub(super) fn find_all<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        begins: bool,
        sought: Vec<RowSearch>,
        visit: &mut dyn FnMut(usize, Lease<F>),
    ) -> Result<Vec<KeyOctets>, SqlError> {
        let mut unreadable = Vec::new();
        self.driver.find(begins, &F::table(layout), sought, &mut |at, values| {
            match F::decode(values, layout) {
                Ok(lease) => visit(at, lease),
                Err(_) => {
                    let key = values.first().and_then(|key| F::decode_key(key, layout));
                    unreadable.extend(key);
                }
            }
            Ok(())
        })?;
        Ok(unreadable)
    }

    /// Inserts, replaces and deletes the leases of `changes`, and commits.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`]; a conflict if an inserted lease exists already.
    pub(super) fn commit_changes<F: SqlFamily + SharedLeaseFamily>(
        &mut self,
        layout: RowLayout,
        changes: &RoundChanges<F>,
    ) -> Result<(), SqlError> {
        let table = F::table(layout);
        let rows = |leases: &[Lease<F>]| {
            let mut sorted: Vec<&Lease<F>> = leases.iter().collect();
            sorted.sort_unstable_by_key(|lease| lease.address);
            let mut values = Vec::with_capacity(sorted.len() * table.columns.len());
            sorted.into_iter().for_each(|lease| F::encode(lease, layout, &mut values));
            values
        };
        let (renewals, others) = renewals::<F>(layout, &changes.renewals);
        let mut updates = rows(&changes.updates);
        updates.extend(rows(&others));
        let changes = RowChanges {
            inserts: rows(&changes.inserts),
            updates,
            renewals,
            deletions: keys::<F>(layout, &changes.deletions),
        };
        self.driver.commit(&table, changes)
    }

    /// Passes the rows of `table` that have one of `values` in `column` to `visit`.
    pub(super) fn find_rows(
        &mut self,
        table: &SqlTable,
        column: &Column,
        values: Vec<SqlValue>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        if values.is_empty() {
            return Ok(());
        }
        let sought = vec![RowSearch { column: *column, values, is_locked: false }];
        self.driver.find(false, table, sought, &mut |_, values| visit(values))
    }

    /// Passes the rows of `table` that fulfil all `conditions` to `visit`, in the order of their
    /// keys, at most `limit` of them.
    pub(super) fn select_rows(
        &mut self,
        table: &SqlTable,
        conditions: &[RowCondition],
        limit: Option<u32>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        self.driver.select_rows(table, conditions, limit, visit)
    }

    /// Adds the rows to `table` whose keys do not exist, and returns the number of added rows.
    pub(super) fn insert_rows(
        &mut self,
        table: &SqlTable,
        values: Vec<SqlValue>,
    ) -> Result<u64, SqlError> {
        if values.is_empty() { Ok(0) } else { self.driver.insert(table, values) }
    }

    /// Deletes the rows of `table` with the keys `keys`.
    pub(super) fn delete_rows(
        &mut self,
        table: &SqlTable,
        keys: Vec<SqlValue>,
    ) -> Result<(), SqlError> {
        self.driver.delete(table, keys)
    }

    /// Returns the rows that the SQL query `query` finds, of two texts each.
    pub(super) fn pairs(&mut self, query: &str) -> Result<Vec<(String, String)>, SqlError> {
        self.driver.pairs(query)
    }

    /// Prepares commits of the family's leases; see [`SqlConnection::prepare_commits`].
    pub(super) fn prepare_commits<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
    ) -> Result<(), SqlError> {
        self.driver.prepare_commits(&F::table(layout))
    }

    /// Returns the flush of commits over the database file in `storage`; see
    /// [`SqlConnection::defer_flushes`].
    pub(super) fn defer_flushes(
        &mut self,
        storage: &dyn Storage,
    ) -> Result<Option<Arc<dyn Flush>>, SqlError> {
        self.driver.defer_flushes(storage)
    }

    /// Makes the connection send statements after a lock alone; see [`SqlConnection::part_writes`].
    pub(super) fn part_writes(&mut self) {
        self.driver.part_writes();
    }

    pub(super) const fn kind(&self) -> SqlDatabaseKind {
        self.backend
    }

    /// Executes a statement on the database.
    pub(super) fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        self.driver.run(statement)
    }

    /// Deletes the leases of `addresses` from the table.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`].
    pub fn delete_many<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        addresses: &[F::Address],
    ) -> Result<(), SqlError> {
        if addresses.is_empty() {
            return Ok(());
        }
        self.driver.delete(&F::table(layout), keys::<F>(layout, addresses))
    }

    /// Passes all leases of the table to `visit`, in the order of their keys, some thousands at a
    /// time. A concurrent change may be seen or not; no lease is seen twice.
    ///
    /// # Errors
    ///
    /// See [`Self::begin`]; returns errors of `visit` too.
    pub fn load_all<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        mut visit: impl FnMut(Lease<F>) -> Result<(), SqlError>,
    ) -> Result<SqlLoadReport, SqlError> {
        let mut loaded = SqlLoadReport::default();
        self.load_rows::<F>(layout, |row| match row {
            Ok(lease) => {
                loaded.leases += 1;
                visit(lease)
            }
            Err((_, fault)) => {
                if loaded.faults.len() < DESCRIBED_MAX {
                    loaded.faults.push((loaded.leases + loaded.bad_rows, fault));
                }
                loaded.bad_rows += 1;
                Ok(())
            }
        })?;
        Ok(loaded)
    }

    /// Passes all rows of the table to `visit` as [`Self::load_all`] does; rows that are not leases
    /// with their keys, if the keys are readable.
    pub(super) fn load_rows<F: SqlFamily>(
        &mut self,
        layout: RowLayout,
        mut visit: impl FnMut(Result<Lease<F>, (Option<KeyOctets>, RowFault)>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let table = F::table(layout);
        let mut after: Option<SqlValue> = None;
        loop {
            let mut rows = 0;
            let mut last = None;
            let is_after = after.take().map(|value| RowCondition {
                column: table.key(),
                comparison: RowComparison::Above,
                value,
            });
            let limit = Some(PAGE_ROWS);
            self.driver.select_rows(&table, is_after.as_slice(), limit, &mut |values| {
                rows += 1;
                last = values.first().cloned();
                let key = || values.first().and_then(|key| F::decode_key(key, layout));
                visit(F::decode(values, layout).map_err(|fault| (key(), fault)))
            })?;
            if rows < PAGE_ROWS {
                return Ok(());
            }
            after = last;
        }
    }

    /// Executes all `statements` or none; MySQL, which commits after each statement, may execute
    /// some.
    fn run_all(&mut self, statements: &[&str]) -> Result<(), SqlError> {
        if self.backend == SqlDatabaseKind::Mysql {
            // The texts inside functions are ours and have a character set.
            self.driver.run("SET NAMES utf8mb4")?;
            let done = statements.iter().try_for_each(|statement| self.driver.run(statement));
            let reset = self.driver.run("SET NAMES binary");
            return done.and(reset);
        }
        self.begin()?;
        let done = statements.iter().try_for_each(|statement| self.driver.run(statement));
        match done {
            Ok(()) => self.commit(),
            Err(error) => {
                // The first error is the one to return.
                let _ = self.roll_back();
                Err(error)
            }
        }
    }

    /// Returns the number of the database's tables called `name`, or of all tables.
    fn count_tables(&mut self, name: Option<&str>) -> Result<i64, SqlError> {
        let mut query = match self.backend {
            SqlDatabaseKind::Mysql => {
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
            }
            SqlDatabaseKind::Postgresql => {
                "SELECT COUNT(*) FROM information_schema.tables \
                 WHERE table_schema = current_schema()"
            }
            SqlDatabaseKind::Sqlite => {
                "SELECT COUNT(*) FROM (SELECT name AS table_name FROM sqlite_master \
                 WHERE type = 'table') WHERE 1"
            }
        }
        .to_owned();
        if let Some(name) = name {
            query = format!("{query} AND table_name = '{name}'");
        }
        Ok(self.driver.numbers(&query)?.first().copied().unwrap_or(0))
    }
}

/// Groups `leases` by their end time, so that one SQL statement renews a group. Leases beyond the
/// largest number of groups are returned apart.
fn renewals<F: SqlFamily>(layout: RowLayout, leases: &[Lease<F>]) -> (Renewals, Vec<Lease<F>>) {
    let table = F::table(layout);
    let time = table.time();
    let at = table.columns.iter().position(|column| *column == time);
    let mut sorted: Vec<&Lease<F>> = leases.iter().collect();
    sorted.sort_unstable_by_key(|lease| lease.address);
    let mut groups = Renewals::new();
    let (mut others, mut values) = (Vec::new(), Vec::new());
    for lease in sorted {
        values.clear();
        F::encode(lease, layout, &mut values);
        let end = at.map_or(SqlValue::Null, |at| values.swap_remove(at));
        let key = values.swap_remove(0);
        match groups.iter().position(|(of, _)| *of == end) {
            Some(group) => groups[group].1.push(key),
            None if groups.len() < RENEWALS_MAX => groups.push((end, vec![key])),
            None => others.push(lease.clone()),
        }
    }
    (groups, others)
}

/// Returns the keys of `addresses` in the table, in their order.
fn keys<F: SqlFamily>(layout: RowLayout, addresses: &[F::Address]) -> Vec<SqlValue> {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    let mut keys = Vec::with_capacity(sorted.len());
    for address in sorted {
        F::encode_key(address, layout, &mut keys);
    }
    keys
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("description", &self.description).finish_non_exhaustive()
    }
}
