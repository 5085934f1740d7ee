//! Leases in a database that several servers share, behind the contract of rounds.

use std::sync::Arc;
use std::time::SystemTime;

use dhcp_lease::Lease;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use super::connect;
use super::database::Database;
use super::driver::{RowSearch, SqlValue};
use super::error::SqlError;
use super::row::{RowLayout, SqlFamily, identity};
use super::settings::SqlSettings;
use crate::database::{
    DatabaseError, DatabaseFault, Flush, KeyOctets, LeaseDatabaseConnection, RoundChanges,
    SharedLeaseFamily, blocked_lease, unreadable_row_message,
};
use crate::storage::{DiskStorage, Storage};

/// Maximum number of unreadable lease rows that messages name when leases are loaded; further ones
/// are only counted.
const NAMED_MAX: usize = 100;

/// Family whose leases servers can share through database tables.
pub trait SharedRows: SqlFamily + SharedLeaseFamily {
    /// Returns the columns by which a client's leases are found in the table, with their values.
    fn keys(client: &Self::Client, layout: RowLayout) -> Vec<(&'static str, SqlValue)>;

    /// Names of the columns by which leases of a client are found in the table.
    const KEYS: &'static [&'static str];
}

impl SharedRows for V4 {
    const KEYS: &'static [&'static str] = &["client_id", "hwaddr"];

    fn keys(client: &Self::Client, layout: RowLayout) -> Vec<(&'static str, SqlValue)> {
        let client_id = if client.match_client_id { client.client_id.as_deref() } else { None };
        let client_id = client_id.map(|octets| ("client_id", octets));
        let identities = [Some(("hwaddr", &client.hardware[..])), client_id].into_iter().flatten();
        let identities = identities.filter(|(_, octets)| !octets.is_empty());
        identities.map(|(name, octets)| (name, identity(octets, layout))).collect()
    }
}

impl SharedRows for V6 {
    const KEYS: &'static [&'static str] = &["duid"];

    fn keys(client: &Self::Client, layout: RowLayout) -> Vec<(&'static str, SqlValue)> {
        vec![("duid", identity(&client.duid, layout))]
    }
}

/// Leases of one family in an SQL database, with the connection to it.
#[derive(Debug)]
pub struct SharedLeases {
    settings: SqlSettings,
    storage: Arc<dyn Storage>,
    open: Option<(Database, RowLayout)>,
    flush: Option<Arc<dyn Flush>>,
    /// Number of the database host to begin with when connecting.
    next_host: usize,
    /// Keys of the rows that the last read found and that are no leases.
    unreadable: Vec<KeyOctets>,
}

impl SharedLeases {
    /// Creates the leases in the database of `settings`, without connecting to it.
    #[must_use]
    pub fn new(settings: SqlSettings) -> Self {
        Self::with_storage(settings, Arc::new(DiskStorage))
    }

    /// Creates the leases in the database of `settings`, whose files are in `storage`, without
    /// connecting to it.
    #[must_use]
    pub fn with_storage(settings: SqlSettings, storage: Arc<dyn Storage>) -> Self {
        Self { settings, storage, open: None, flush: None, next_host: 0, unreadable: Vec::new() }
    }

    fn connected(&mut self) -> Result<(&mut Database, RowLayout), DatabaseError> {
        match &mut self.open {
            Some((database, layout)) => Ok((database, *layout)),
            None => Err(DatabaseError {
                fault: DatabaseFault::ConnectionLost,
                operation: "use the lease database",
                cause: "there is no connection".to_owned(),
            }),
        }
    }

    /// Finds the leases of `clients` in the database, and reads the leases of `addresses`; with
    /// `locks`, it begins a transaction first and locks the leases of `addresses`.
    fn read<F: SharedRows>(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        locks: bool,
        client_leases: &mut Vec<Lease<F>>,
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        let mut sought = sought::<F>(clients, layout);
        let of_clients = sought.len();
        if !addresses.is_empty() {
            let rows = Database::locked::<F>(layout, addresses);
            sought.push(RowSearch { is_locked: locks, ..rows });
        }
        let mut keep = |at, lease| {
            if at < of_clients { client_leases.push(lease) } else { address_leases.push(lease) }
        };
        let read = database.find_all::<F>(layout, locks, sought, &mut keep);
        self.unreadable = Self::map_error("read leases", read)?;
        Ok(())
    }

    /// Converts the error of the database operation `tried`.
    pub(crate) fn map_error<T>(
        tried: &'static str,
        result: Result<T, SqlError>,
    ) -> Result<T, DatabaseError> {
        result.map_err(|error| DatabaseError {
            fault: error.fault(),
            operation: tried,
            cause: error.to_string(),
        })
    }
}

impl<F: SharedRows> LeaseDatabaseConnection<F> for SharedLeases {
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError> {
        (self.open, self.flush) = (None, None);
        let connect = || {
            let mut reached = connect::reach(&self.settings, self.next_host)?;
            let layout = reached.database.layout()?;
            reached.database.prepare_commits::<F>(layout)?;
            let flush = reached.database.defer_flushes(&*self.storage)?;
            Ok((reached, layout, flush))
        };
        let (reached, layout, flush) = Self::map_error("connect to the lease database", connect())?;
        // The next connection attempt begins with another host, since this one has failed then.
        self.next_host = reached.number + 1;
        self.open = Some((reached.database, layout));
        self.flush = flush;
        Ok(reached.notes)
    }

    fn flush(&self) -> Option<Arc<dyn Flush>> {
        self.flush.clone()
    }

    fn load(&mut self, visit: &mut dyn FnMut(Lease<F>)) -> Result<Vec<String>, DatabaseError> {
        let (database, layout) = self.connected()?;
        let table = F::table(layout).name;
        let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_s = now_s.map_or(0, |since| since.as_secs());
        let (mut notes, mut others) = (Vec::new(), 0_u64);
        let mut note =
            |text: String| if notes.len() < NAMED_MAX { notes.push(text) } else { others += 1 };
        let loaded = database.load_rows::<F>(layout, |row| {
            match row {
                Ok(lease) => {
                    if is_without_lifetime::<F>(&lease, now_s) {
                        let address = lease.address;
                        note(format!(
                            "the row of {address} in {table} has lifetime 0 and an expiry time in \
                             the future: the lease is valid until then"
                        ));
                    }
                    visit(lease);
                }
                Err((None, fault)) => note(format!("a row of {table} is ignored: {fault}")),
                Err((Some(key), fault)) => {
                    let address = F::address_from(&key);
                    note(format!("{}: {fault}", unreadable_row_message(&address)));
                    visit(blocked_lease(address));
                }
            }
            Ok(())
        });
        Self::map_error("load leases", loaded)?;
        if others > 0 {
            notes.push(format!("{others} more rows of {table} have such faults"));
        }
        Ok(notes)
    }

    fn begin(&mut self) -> Result<(), DatabaseError> {
        Self::map_error("begin a transaction", self.connected()?.0.begin())
    }

    fn lock(
        &mut self,
        addresses: &[F::Address],
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        Self::map_error("read leases", database.lock_many::<F>(layout, addresses, address_leases))
    }

    fn find(
        &mut self,
        clients: &[F::Client],
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        let sought = sought::<F>(clients, layout);
        let mut keep = |_, lease| address_leases.push(lease);
        let read = database.find_all::<F>(layout, false, sought, &mut keep);
        Self::map_error("look for clients", read).map(drop)
    }

    fn insert(&mut self, leases: &[Lease<F>]) -> Result<usize, DatabaseError> {
        let (database, layout) = self.connected()?;
        let count = database.insert_many::<F>(layout, leases);
        Self::map_error("add leases", count).map(|count| count as usize)
    }

    fn update(&mut self, leases: &[Lease<F>]) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        Self::map_error("change leases", database.upsert_many::<F>(layout, leases))
    }

    fn delete(&mut self, addresses: &[F::Address]) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        Self::map_error("delete leases", database.delete_many::<F>(layout, addresses))
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        Self::map_error("commit", self.connected()?.0.commit())
    }

    fn roll_back(&mut self) {
        if let Some((database, _)) = &mut self.open {
            // If the rollback fails too, there is nothing to undo.
            let _ = database.roll_back();
        }
    }

    fn begin_and_lock(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        client_leases: &mut Vec<Lease<F>>,
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        self.read::<F>(clients, addresses, true, client_leases, address_leases)
    }

    fn take_unreadable(&mut self) -> Vec<KeyOctets> {
        std::mem::take(&mut self.unreadable)
    }

    fn read_unlocked(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        client_leases: &mut Vec<Lease<F>>,
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        self.read::<F>(clients, addresses, false, client_leases, address_leases)
    }

    fn write_and_commit(&mut self, changes: &RoundChanges<F>) -> Result<(), DatabaseError> {
        let (database, layout) = self.connected()?;
        if changes.is_empty() {
            return Self::map_error("commit", database.commit());
        }
        Self::map_error("write leases", database.commit_changes::<F>(layout, changes))
    }
}

/// Returns true if `lease` comes from a row with a lifetime of 0 that has not ended at `now_s`.
fn is_without_lifetime<F: SharedLeaseFamily>(lease: &Lease<F>, now_s: u64) -> bool {
    lease.cltt_s == 0 && !lease.state.is_past() && lease.expires_s() > now_s
}

/// Returns the searches in the table for leases of `clients`, one for each column.
fn sought<F: SharedRows>(clients: &[F::Client], layout: RowLayout) -> Vec<RowSearch> {
    let mut columns: Vec<Vec<SqlValue>> = F::KEYS.iter().map(|_| Vec::new()).collect();
    for (name, value) in clients.iter().flat_map(|client| F::keys(client, layout)) {
        if let Some(at) = F::KEYS.iter().position(|&key| key == name) {
            columns[at].push(value);
        }
    }
    let nonempty = F::KEYS.iter().zip(columns).filter(|(_, values)| !values.is_empty());
    nonempty.map(|(name, values)| Database::with::<F>(layout, name, values)).collect()
}
