//! Contract that a lease database (MariaDB, MySQL, PostgreSQL, SQLite) fulfils for the rounds of
//! [`DatabaseCore`](super::DatabaseCore).

use std::fmt;
use std::sync::Arc;

use super::family::{KeyOctets, SharedLeaseFamily};
use super::flushes::Flush;
use dhcp_lease::Lease;

/// Kind of a failed database operation, by what the caller can do about the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFault {
    /// Database connection lost: connect again and repeat the round (the rows that one database
    /// transaction writes).
    ConnectionLost,
    /// Conflict of the transaction with other writers (a deadlock, a serialization failure): repeat
    /// the round.
    Conflict,
    /// Lease row that does not fit the database's columns, or breaks one of its rules: the rest of
    /// the transaction may be written without this row.
    Data,
    /// Database failure that will occur again on the next attempt.
    Permanent,
}

/// Failure of a database operation: its kind, the operation and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseError {
    /// Kind of the failure, by what the caller can do about the failure.
    pub fault: DatabaseFault,
    /// Database operation that failed, such as "add leases".
    pub operation: &'static str,
    /// Message of the database or the operating system about the failure.
    pub cause: String,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.operation, self.cause)
    }
}

impl std::error::Error for DatabaseError {}

/// Leases that one round inserts, replaces and deletes in the database.
#[derive(Clone, Debug)]
pub struct RoundChanges<F: SharedLeaseFamily> {
    /// Leases to insert at addresses that have none in the database.
    pub inserts: Vec<Lease<F>>,
    /// Leases that replace locked leases of the same addresses.
    pub updates: Vec<Lease<F>>,
    /// Leases that replace locked leases of the same addresses and change only the time at which
    /// the server last heard the client, and with it the end of the lease.
    pub renewals: Vec<Lease<F>>,
    /// Addresses whose locked leases the round deletes.
    pub deletions: Vec<F::Address>,
}

impl<F: SharedLeaseFamily> Default for RoundChanges<F> {
    fn default() -> Self {
        Self {
            inserts: Vec::new(),
            updates: Vec::new(),
            renewals: Vec::new(),
            deletions: Vec::new(),
        }
    }
}

impl<F: SharedLeaseFamily> RoundChanges<F> {
    /// Returns true if the round changes no lease.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.inserts.is_empty()
            && self.updates.is_empty()
            && self.renewals.is_empty()
            && self.deletions.is_empty()
    }
}

/// Connection to a database with the leases of family `F`. Everything between
/// [`LeaseDatabaseConnection::begin`] and [`LeaseDatabaseConnection::commit`] happens at once or
/// not at all, also as other connections see it.
pub trait LeaseDatabaseConnection<F: SharedLeaseFamily>: Send {
    /// Connects to the database, or again after a lost connection. Returns notes for the operator
    /// about the database's settings, one line each.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError>;

    /// Returns the handle that flushes the transactions of this connection while it carries out
    /// later ones; `None` if commits are as safe as configured when they return. The result stays
    /// valid until [`LeaseDatabaseConnection::connect`].
    fn flush(&self) -> Option<Arc<dyn Flush>> {
        None
    }

    /// Passes every lease of the database to `visit`, in any order, and for each unreadable row a
    /// lease that blocks the address for all clients. Returns notes for the operator about such
    /// rows.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; leases may have been visited.
    fn load(&mut self, visit: &mut dyn FnMut(Lease<F>)) -> Result<Vec<String>, DatabaseError>;

    /// Begins a database transaction.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn begin(&mut self) -> Result<(), DatabaseError>;

    /// Locks the leases of `addresses` in the database and appends the leases to `address_leases`;
    /// no other connection changes these leases until the end of the transaction. Other connections
    /// may add leases to addresses without one.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn lock(
        &mut self,
        addresses: &[F::Address],
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError>;

    /// Appends the leases in the database of any of `clients` to `client_leases`.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn find(
        &mut self,
        clients: &[F::Client],
        client_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError>;

    /// Adds `leases` to addresses without a lease in the database, and returns how many it added;
    /// an address that has a lease by now keeps it.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn insert(&mut self, leases: &[Lease<F>]) -> Result<usize, DatabaseError>;

    /// Replaces the locked leases at the addresses of `leases`.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn update(&mut self, leases: &[Lease<F>]) -> Result<(), DatabaseError>;

    /// Deletes the locked leases of `addresses` from the database.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn delete(&mut self, addresses: &[F::Address]) -> Result<(), DatabaseError>;

    /// Commits the transaction; from then on its changes are as safe as the database keeps its
    /// data.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; if the connection was lost, it is unknown whether the commit
    /// happened.
    fn commit(&mut self) -> Result<(), DatabaseError>;

    /// Rolls the open transaction back; does nothing without one.
    fn roll_back(&mut self);

    /// Begins a transaction, appends the leases of `clients` to `client_leases`, locks the leases
    /// of `addresses` and appends these to `address_leases`, in as few queries as the database
    /// needs.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn begin_and_lock(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        client_leases: &mut Vec<Lease<F>>,
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        self.begin()?;
        if !clients.is_empty() {
            self.find(clients, client_leases)?;
        }
        if !addresses.is_empty() {
            self.lock(addresses, address_leases)?;
        }
        Ok(())
    }

    /// Takes the addresses whose rows the last [`LeaseDatabaseConnection::begin_and_lock`] has
    /// locked and could not read, in the form of [`SharedLeaseFamily::octets_of`].
    fn take_unreadable(&mut self) -> Vec<KeyOctets> {
        Vec::new()
    }

    /// Reads the leases that [`LeaseDatabaseConnection::begin_and_lock`] would read, and leaves no
    /// transaction and no lock.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn read_unlocked(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        client_leases: &mut Vec<Lease<F>>,
        address_leases: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        self.begin_and_lock(clients, addresses, client_leases, address_leases)?;
        self.commit()
    }

    /// Writes the round's changes `changes` and ends the transaction, as
    /// [`LeaseDatabaseConnection::commit`] does.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; [`DatabaseFault::Conflict`] if another server has added one of the
    /// leases.
    fn write_and_commit(&mut self, changes: &RoundChanges<F>) -> Result<(), DatabaseError> {
        if !changes.inserts.is_empty() && self.insert(&changes.inserts)? < changes.inserts.len() {
            // Another server was faster: the caller reads again.
            return Err(DatabaseError {
                fault: DatabaseFault::Conflict,
                operation: "add leases",
                cause: "another server has assigned some of the addresses".to_owned(),
            });
        }
        if !changes.updates.is_empty() {
            self.update(&changes.updates)?;
        }
        if !changes.renewals.is_empty() {
            self.update(&changes.renewals)?;
        }
        if !changes.deletions.is_empty() {
            self.delete(&changes.deletions)?;
        }
        self.commit()
    }
}
