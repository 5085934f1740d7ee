//! Lease database in memory for tests, with several connections and with faults on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Random;

use super::contract::{DatabaseError, DatabaseFault, LeaseDatabaseConnection};
use super::family::SharedLeaseFamily;
use super::flushes::Flush;
use dhcp_lease::Lease;

/// Simulated database in memory: leases that several [`FakeConnection`]s share.
#[derive(Debug)]
pub struct FakeDatabase<F: SharedLeaseFamily> {
    leases: Mutex<BTreeMap<F::Address, Lease<F>>>,
    /// Addresses whose leases the simulated database refuses, as if they did not fit.
    without_room: Mutex<BTreeSet<F::Address>>,
    /// Addresses whose rows exist but are not found by lookups.
    hidden: Mutex<BTreeSet<F::Address>>,
    /// Addresses whose rows the database cannot read.
    unreadable: Mutex<BTreeSet<F::Address>>,
}

impl<F: SharedLeaseFamily> Default for FakeDatabase<F> {
    fn default() -> Self {
        Self {
            leases: Mutex::default(),
            without_room: Mutex::default(),
            hidden: Mutex::default(),
            unreadable: Mutex::default(),
        }
    }
}

impl<F: SharedLeaseFamily> FakeDatabase<F> {
    /// Returns the leases of the database; while the caller holds them, no connection commits.
    pub fn leases(&self) -> MutexGuard<'_, BTreeMap<F::Address, Lease<F>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses whose leases the simulated database refuses, as if they did not fit.
    pub fn without_room(&self) -> MutexGuard<'_, BTreeSet<F::Address>> {
        self.without_room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses whose rows prevent an insert, and are not found by lookups.
    pub fn hidden(&self) -> MutexGuard<'_, BTreeSet<F::Address>> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses whose rows the database cannot read.
    pub fn unreadable(&self) -> MutexGuard<'_, BTreeSet<F::Address>> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, leases: &[Lease<F>]) -> Result<(), DatabaseError> {
        let without_room = self.without_room();
        if !leases.iter().any(|lease| without_room.contains(&lease.address)) {
            Ok(())
        } else {
            Err(DatabaseError {
                fault: DatabaseFault::Data,
                operation: "write leases",
                cause: "a value is too long".to_owned(),
            })
        }
    }
}

/// Frequencies of the simulated database's faults, per 1000 transactions.
#[derive(Clone, Copy, Debug, Default)]
pub struct FakeFaults {
    /// Simulated losses of the connection before the commit, per 1000 transactions.
    pub lost_before: u32,
    /// Connection losses after the commit, so that the caller does not learn of the commit, per
    /// 1000 transactions.
    pub lost_after: u32,
    /// Simulated conflicts with other writers, per 1000 transactions.
    pub conflicts: u32,
    /// Failed attempts to connect again, per 1000 attempts.
    pub refused_connections: u32,
}

/// Connection to a simulated database, [`FakeDatabase`]. Its transactions are not isolated: tests
/// run them in turn.
#[derive(Debug)]
pub struct FakeConnection<F: SharedLeaseFamily> {
    database: Arc<FakeDatabase<F>>,
    faults: FakeFaults,
    random: Random,
    changes: Vec<(F::Address, Option<Lease<F>>)>,
    is_connected: bool,
    has_ended: bool,
    flush: Option<Arc<dyn Flush>>,
}

/// Flush of a [`FakeConnection`] that does nothing, or fails.
#[derive(Debug)]
pub struct FakeFlush {
    failing: u32,
    random: Mutex<Random>,
}

impl FakeFlush {
    /// Creates a flush that fails `failing` times of 1000, at random from `seed`.
    #[must_use]
    pub fn new(failing: u32, seed: u64) -> Self {
        Self { failing, random: Mutex::new(Random::from_seed(seed)) }
    }
}

impl Flush for FakeFlush {
    fn flush(&self) -> Result<(), DatabaseError> {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if !random.chance(u64::from(self.failing), 1000) {
            return Ok(());
        }
        let cause = "the disk is broken".to_owned();
        Err(DatabaseError { fault: DatabaseFault::ConnectionLost, operation: "flush", cause })
    }
}

impl<F: SharedLeaseFamily> FakeConnection<F> {
    /// Creates a connection to `database` whose faults come from `seed`.
    #[must_use]
    pub fn new(database: Arc<FakeDatabase<F>>, faults: FakeFaults, seed: u64) -> Self {
        let random = Random::from_seed(seed);
        let changes = Vec::new();
        let (is_connected, has_ended) = (true, false);
        Self { database, faults, random, changes, is_connected, has_ended, flush: None }
    }

    /// Ends the simulated database session, as a database does after a long idle time: the next
    /// transaction fails.
    pub const fn end(&mut self) {
        self.has_ended = true;
    }

    /// Returns the connection, whose commits are durable only after `flush`.
    #[must_use]
    pub fn flushed_by(self, flush: Arc<dyn Flush>) -> Self {
        Self { flush: Some(flush), ..self }
    }

    fn happens(&mut self, of_1000: u32) -> bool {
        of_1000 > 0 && self.random.chance(u64::from(of_1000), 1000)
    }

    fn lose(&mut self, tried: &'static str) -> DatabaseError {
        self.is_connected = false;
        self.changes.clear();
        DatabaseError {
            fault: DatabaseFault::ConnectionLost,
            operation: tried,
            cause: "the connection is gone".to_owned(),
        }
    }
}

impl<F: SharedLeaseFamily> LeaseDatabaseConnection<F> for FakeConnection<F> {
    fn connect(&mut self) -> Result<Vec<String>, DatabaseError> {
        if self.happens(self.faults.refused_connections) {
            return Err(self.lose("connect"));
        }
        (self.is_connected, self.has_ended) = (true, false);
        Ok(Vec::new())
    }

    fn flush(&self) -> Option<Arc<dyn Flush>> {
        self.flush.clone()
    }

    fn load(&mut self, visit: &mut dyn FnMut(Lease<F>)) -> Result<Vec<String>, DatabaseError> {
        self.database.leases().values().cloned().for_each(visit);
        Ok(Vec::new())
    }

    fn begin(&mut self) -> Result<(), DatabaseError> {
        assert!(self.is_connected, "who has lost the connection connects first");
        self.changes.clear();
        if self.has_ended {
            return Err(self.lose("begin"));
        }
        if self.happens(self.faults.conflicts) {
            let cause = "deadlock".to_owned();
            return Err(DatabaseError {
                fault: DatabaseFault::Conflict,
                operation: "begin",
                cause,
            });
        }
        Ok(())
    }

    fn lock(
        &mut self,
        addresses: &[F::Address],
        results: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        let unreadable = self.database.unreadable();
        if addresses.iter().any(|address| unreadable.contains(address)) {
            let cause = "a value cannot be converted".to_owned();
            return Err(DatabaseError {
                fault: DatabaseFault::Data,
                operation: "read leases",
                cause,
            });
        }
        let leases = self.database.leases();
        results.extend(addresses.iter().filter_map(|address| leases.get(address)).cloned());
        Ok(())
    }

    fn find(
        &mut self,
        clients: &[F::Client],
        results: &mut Vec<Lease<F>>,
    ) -> Result<(), DatabaseError> {
        let leases = self.database.leases();
        let is_of_clients = |lease: &&Lease<F>| clients.iter().any(|client| F::owns(client, lease));
        results.extend(leases.values().filter(is_of_clients).cloned());
        Ok(())
    }

    fn insert(&mut self, leases: &[Lease<F>]) -> Result<usize, DatabaseError> {
        self.database.check(leases)?;
        let there = self.database.leases();
        let hidden = self.database.hidden();
        let is_new = |lease: &&Lease<F>| {
            let address = lease.address;
            !there.contains_key(&address) && !hidden.contains(&address)
        };
        let new: Vec<_> = leases.iter().filter(is_new).cloned().collect();
        drop((there, hidden));
        let count = new.len();
        self.changes.extend(new.into_iter().map(|lease| (lease.address, Some(lease))));
        Ok(count)
    }

    fn update(&mut self, leases: &[Lease<F>]) -> Result<(), DatabaseError> {
        self.database.check(leases)?;
        self.changes.extend(leases.iter().map(|lease| (lease.address, Some(lease.clone()))));
        Ok(())
    }

    fn delete(&mut self, addresses: &[F::Address]) -> Result<(), DatabaseError> {
        self.changes.extend(addresses.iter().map(|&address| (address, None)));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        if self.happens(self.faults.lost_before) {
            return Err(self.lose("commit"));
        }
        let mut leases = self.database.leases();
        for (address, lease) in self.changes.drain(..) {
            match lease {
                Some(lease) => drop(leases.insert(address, lease)),
                None => drop(leases.remove(&address)),
            }
        }
        drop(leases);
        if self.happens(self.faults.lost_after) {
            return Err(self.lose("commit"));
        }
        Ok(())
    }

    fn roll_back(&mut self) {
        self.changes.clear();
    }
}
