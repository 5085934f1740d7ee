//! What a database has to offer so that leases can be kept in it.

use std::fmt;

use super::family::Shared;

/// Why something did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no connection any more: connect again, and do the round again.
    Lost,
    /// Others were in the way (a deadlock, a serialization failure): do the round again.
    Conflict,
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

    /// Gives every lease to `visit`, in any order.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`]; leases may have been visited.
    fn load(&mut self, visit: &mut dyn FnMut(F::Lease)) -> Result<(), DatabaseError>;

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
}
