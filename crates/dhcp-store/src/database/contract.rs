//! What a database has to offer so that leases can be kept in it.

use std::fmt;
use std::sync::Arc;

use super::family::{KeyOctets, Shared};
use super::flushes::Flush;

/// Why something did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no connection any more: connect again, and do the round again.
    Lost,
    /// Others were in the way (a deadlock, a serialization failure): do the round again.
    Conflict,
    /// Something that was to be written has no room in the database, or breaks one of its rules: what
    /// was written beside it may be written without it.
    Data,
    /// It will not work next time either.
    Permanent,
}

/// Something that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseError {
    /// What can be done about it.
    pub fault: Fault,
    /// What was tried.
    pub tried: &'static str,
    /// What the database or the system said.
    pub cause: String,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.cause)
    }
}

impl std::error::Error for DatabaseError {}

/// What a round changes.
#[derive(Clone, Debug)]
pub struct Changes<F: Shared> {
    /// Leases of addresses that have none.
    pub inserts: Vec<F::Lease>,
    /// Leases in place of ones that were locked.
    pub updates: Vec<F::Lease>,
    /// The same of which nothing changes but the time that the client was heard, and with it the end.
    pub renewals: Vec<F::Lease>,
    /// Addresses whose leases were locked and are to go.
    pub deletions: Vec<F::Address>,
}

impl<F: Shared> Default for Changes<F> {
    fn default() -> Self {
        Self {
            inserts: Vec::new(),
            updates: Vec::new(),
            renewals: Vec::new(),
            deletions: Vec::new(),
        }
    }
}

impl<F: Shared> Changes<F> {
    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.inserts.is_empty()
            && self.updates.is_empty()
            && self.renewals.is_empty()
            && self.deletions.is_empty()
    }
}

/// A connection to a database with the leases of family `F`. All between [`LeaseDatabase::begin`] and
/// [`LeaseDatabase::commit`] happens at once or not at all, also for others who look.
pub trait LeaseDatabase<F: Shared>: Send {
    /// Connects, anew when there was a connection. What an operator should know of the database's
    /// settings is told, a line each.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError>;

    /// What flushes the transactions that this connection commits, beside those that follow; `None` when
    /// what is committed is as safe as was asked for. The same until [`LeaseDatabase::connect`].
    fn flush(&self) -> Option<Arc<dyn Flush>> {
        None
    }

    /// Gives every lease to `visit`, in any order, and one that keeps the address from everyone for
    /// each row that cannot be read. Returns what an operator should know of such rows.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; leases may have been visited.
    fn load(&mut self, visit: &mut dyn FnMut(F::Lease)) -> Result<Vec<String>, DatabaseError>;

    /// Begins a transaction.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn begin(&mut self) -> Result<(), DatabaseError>;

    /// Appends the leases of `addresses` to `found`; nobody else changes them until the end of the
    /// transaction. Addresses without a lease may be given one by others.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn lock(
        &mut self,
        addresses: &[F::Address],
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError>;

    /// Appends the leases of any of `clients` to `found`.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn find(
        &mut self,
        clients: &[F::Client],
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError>;

    /// Adds leases of addresses that had none; those that have one by now stay as they are. How many
    /// were added.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn insert(&mut self, leases: &[F::Lease]) -> Result<usize, DatabaseError>;

    /// Replaces leases that were locked.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn update(&mut self, leases: &[F::Lease]) -> Result<(), DatabaseError>;

    /// Deletes leases that were locked.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn delete(&mut self, addresses: &[F::Address]) -> Result<(), DatabaseError>;

    /// Ends the transaction: from here on it is as safe as the database keeps what it is given.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; when the connection was lost, nobody knows whether it was done.
    fn commit(&mut self) -> Result<(), DatabaseError>;

    /// Takes the transaction back, as far as there is one.
    fn roll_back(&mut self);

    /// Begins a transaction, finds the leases of `clients`, appended to `known`, and locks those of
    /// `addresses`, appended to `found`: in as few questions as the database needs for it.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn open(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        known: &mut Vec<F::Lease>,
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError> {
        self.begin()?;
        if !clients.is_empty() {
            self.find(clients, known)?;
        }
        if !addresses.is_empty() {
            self.lock(addresses, found)?;
        }
        Ok(())
    }

    /// Takes the addresses, as [`Shared::octets_of`] has them, whose rows the last
    /// [`LeaseDatabase::open`] has locked and could not read.
    fn take_unreadable(&mut self) -> Vec<KeyOctets> {
        Vec::new()
    }

    /// Finds what [`LeaseDatabase::open`] does, and leaves no transaction and no lock behind.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    fn look(
        &mut self,
        clients: &[F::Client],
        addresses: &[F::Address],
        known: &mut Vec<F::Lease>,
        found: &mut Vec<F::Lease>,
    ) -> Result<(), DatabaseError> {
        self.open(clients, addresses, known, found)?;
        self.commit()
    }

    /// Makes `changes` and ends the transaction, as [`LeaseDatabase::commit`] does.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; [`Fault::Conflict`] when somebody else has added one of the leases.
    fn close(&mut self, changes: &Changes<F>) -> Result<(), DatabaseError> {
        if !changes.inserts.is_empty() && self.insert(&changes.inserts)? < changes.inserts.len() {
            // Somebody else was faster: look again.
            return Err(DatabaseError {
                fault: Fault::Conflict,
                tried: "add leases",
                cause: "another server has given some of the addresses".to_owned(),
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
