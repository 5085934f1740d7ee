//! A database that several servers share, behind what rounds ask of it.

use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use super::database::Database;
use super::driver::Value;
use super::error::SqlError;
use super::row::{Layout, Stored, identity};
use super::settings::{Backend, Settings};
use crate::database::{DatabaseError, Fault, LeaseDatabase, Shared};

/// A family whose leases can be shared through tables.
pub trait SharedRows: Stored + Shared {
    /// The columns by which a client's leases are found, with what they have then.
    fn keys(client: &Self::Client, layout: Layout) -> Vec<(&'static str, Value)>;

    /// Those columns.
    const KEYS: &'static [&'static str];
}

impl SharedRows for V4 {
    const KEYS: &'static [&'static str] = &["client_id", "hwaddr"];

    fn keys(client: &Self::Client, layout: Layout) -> Vec<(&'static str, Value)> {
        let client_id = client.client_id.as_deref().filter(|_| client.match_client_id);
        let client_id = client_id.map(|octets| ("client_id", identity(octets, layout)));
        let hardware = Some(("hwaddr", identity(&client.hardware, layout)));
        hardware.into_iter().chain(client_id).filter(|(_, value)| *value != Value::Null).collect()
    }
}

impl SharedRows for V6 {
    const KEYS: &'static [&'static str] = &["duid"];

    fn keys(client: &Self::Client, layout: Layout) -> Vec<(&'static str, Value)> {
        vec![("duid", identity(&client.duid, layout))]
    }
}

/// The leases of one family in a database.
#[derive(Debug)]
pub struct SharedLeases {
    settings: Settings,
    open: Option<(Database, Layout)>,
}

impl SharedLeases {
    /// The leases in the database that `settings` name; nobody is connected yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, open: None }
    }

    fn open(&mut self) -> Result<(&mut Database, Layout), DatabaseError> {
        match &mut self.open {
            Some((database, layout)) => Ok((database, *layout)),
            None => Err(DatabaseError {
                fault: Fault::Lost,
                tried: "use the lease database",
                cause: "there is no connection".to_owned(),
            }),
        }
    }

    /// Tells what came of `tried`.
    fn told<T>(tried: &'static str, result: Result<T, SqlError>) -> Result<T, DatabaseError> {
        result.map_err(|error| {
            let fault = match () {
                () if error.is_lost() => Fault::Lost,
                () if error.is_conflict() => Fault::Conflict,
                () => Fault::Permanent,
            };
            DatabaseError { fault, tried, cause: error.to_string() }
        })
    }
}

impl<F: SharedRows> LeaseDatabase<F> for SharedLeases {
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError> {
        self.open = None;
        let connect = || {
            let mut database = Database::open(&self.settings)?;
            let layout = database.layout()?;
            let notes = weaknesses(&mut database, self.settings.backend)?;
            Ok((database, layout, notes))
        };
        let (database, layout, notes) = Self::told("connect to the lease database", connect())?;
        self.open = Some((database, layout));
        Ok(notes)
    }

    fn load(&mut self, visit: &mut dyn FnMut(F::Lease)) -> Result<(), DatabaseError> {
        let (database, layout) = self.open()?;
        let loaded = database.load_all::<F>(layout, |lease| {
            visit(lease);
            Ok(())
        });
        Self::told("load leases", loaded).map(drop)
    }

    fn begin(&mut self) -> Result<(), DatabaseError> {
        Self::told("begin a transaction", self.open()?.0.begin())
    }

    fn lock(
        &mut self,
        addresses: &[F::Address],
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError> {
        let (database, layout) = self.open()?;
        Self::told("read leases", database.lock_many::<F>(layout, addresses, found))
    }

    fn find(
        &mut self,
        clients: &[F::Client],
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError> {
        let (database, layout) = self.open()?;
        let keys: Vec<_> = clients.iter().flat_map(|client| F::keys(client, layout)).collect();
        for name in F::KEYS {
            let of_column = keys.iter().filter(|(of, _)| of == name);
            let values: Vec<Value> = of_column.map(|(_, value)| value.clone()).collect();
            if !values.is_empty() {
                let found = database.find_many::<F>(layout, name, values, found);
                Self::told("look for clients", found)?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, leases: &[F::Lease]) -> Result<usize, DatabaseError> {
        let (database, layout) = self.open()?;
        let count = database.insert_many::<F>(layout, leases);
        Self::told("add leases", count).map(|count| count as usize)
    }

    fn update(&mut self, leases: &[F::Lease]) -> Result<(), DatabaseError> {
        let (database, layout) = self.open()?;
        Self::told("change leases", database.upsert_many::<F>(layout, leases))
    }

    fn delete(&mut self, addresses: &[F::Address]) -> Result<(), DatabaseError> {
        let (database, layout) = self.open()?;
        Self::told("delete leases", database.delete_many::<F>(layout, addresses))
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        Self::told("commit", self.open()?.0.commit())
    }

    fn roll_back(&mut self) {
        if let Some((database, _)) = &mut self.open {
            // When that does not work either there is nothing to take back.
            let _ = database.roll_back();
        }
    }
}

/// Settings of the database by which it forgets in a power cut what it has committed.
fn weaknesses(database: &mut Database, backend: Backend) -> Result<Vec<String>, SqlError> {
    let mut notes = Vec::new();
    match backend {
        Backend::Mysql => {
            let query = "SELECT @@innodb_flush_log_at_trx_commit";
            if database.numbers(query)?.first().is_some_and(|&flushes| flushes != 1) {
                notes.push(
                    "innodb_flush_log_at_trx_commit is not 1: a power cut may lose acknowledged \
                     leases"
                        .to_owned(),
                );
            }
        }
        Backend::Postgresql => {
            let query = "SELECT (current_setting('fsync') = 'on')::int::bigint, \
                         (current_setting('synchronous_commit') <> 'off')::int::bigint";
            let settings = database.numbers(query)?;
            for (name, is_safe) in ["fsync", "synchronous_commit"].into_iter().zip(settings) {
                if is_safe == 0 {
                    notes.push(format!("{name} is off: a power cut may lose acknowledged leases"));
                }
            }
        }
        Backend::Sqlite => {}
    }
    Ok(notes)
}
