//! Contract between control commands and the databases of reservations (`hosts-databases`) of the
//! server that they control.

use core::net::IpAddr;

use serde_json::Value;

use crate::backend::ApplyFailure;

/// Property by which a command selects reservations, in the configuration or in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostCriterion {
    /// Number of the reservations' subnet; 0 for global reservations.
    Subnet(u32),
    /// Host name of the reservations, in lower case; that of a reservation need not be.
    Hostname(String),
    /// Identifier of the client that the reservations are for.
    Identifier(ClientIdentifier),
    /// Reserved address, or the first address of a reserved prefix.
    Address(IpAddr),
}

/// Identifier of a client, by which a reservation names its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentifier {
    /// Type of the client's identifier, as the key of a reservation.
    pub kind: &'static str,
    /// Bytes of the client's identifier.
    pub octets: Vec<u8>,
}

impl ClientIdentifier {
    /// Types of client identifiers, as the keys of reservations, in the order of Kea's numbers.
    pub const KINDS: [&'static str; 5] =
        ["hw-address", "duid", "circuit-id", "client-id", "flex-id"];

    /// Returns Kea's number of the identifier's type.
    #[must_use]
    pub fn number(&self) -> u8 {
        let at = Self::KINDS.iter().position(|kind| *kind == self.kind);
        at.map_or(u8::MAX, |at| at as u8)
    }
}

/// Reservation in a database.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredHost {
    /// Number of the reservation in its database.
    pub number: u64,
    /// Number of the reservation's subnet; 0 for a global reservation.
    pub subnet_id: u32,
    /// Reservation as `config-get` shows one.
    pub document: Value,
}

/// Databases of reservations, which commands read and change. Positions of databases are those in
/// the configuration, from 0. Each method has finished its work when it returns.
pub trait HostDatabases {
    /// Returns the number of databases, at least 1.
    fn count(&self) -> usize;

    /// Returns the reservations of a database that fulfil `criterion`, in the order of their
    /// numbers.
    ///
    /// # Errors
    ///
    /// Returns the reason why the database did not answer; so do the other methods.
    fn select(
        &mut self,
        database: usize,
        criterion: &HostCriterion,
    ) -> Result<Vec<StoredHost>, ApplyFailure>;

    /// Returns the reservations of a database with the lowest numbers after `page.after`.
    ///
    /// # Errors
    ///
    /// See [`Self::select`].
    fn page(&mut self, database: usize, page: HostPage) -> Result<Vec<StoredHost>, ApplyFailure>;

    /// Adds the reservation `host`, as in a configuration, for the subnet `subnet_id`, or with 0
    /// as a global one.
    ///
    /// # Errors
    ///
    /// See [`Self::select`]; also returns the problems of the reservation, or that another one is
    /// in its way.
    fn add(&mut self, database: usize, subnet_id: u32, host: &Value) -> Result<(), ApplyFailure>;

    /// Replaces the reservation of the same client and subnet by `host`; returns false if there is
    /// none.
    ///
    /// # Errors
    ///
    /// See [`Self::add`].
    fn update(
        &mut self,
        database: usize,
        subnet_id: u32,
        host: &Value,
    ) -> Result<bool, ApplyFailure>;

    /// Deletes the reservations of the subnet `subnet_id` that fulfil `criterion`; returns false
    /// if there are none.
    ///
    /// # Errors
    ///
    /// See [`Self::select`].
    fn delete(
        &mut self,
        database: usize,
        subnet_id: u32,
        criterion: &HostCriterion,
    ) -> Result<bool, ApplyFailure>;
}

/// Page of the reservations in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPage {
    /// Number of the reservations' subnet; `None` for all subnets and global reservations.
    pub subnet_id: Option<u32>,
    /// Number of a reservation after which the page begins.
    pub after: u64,
    /// Maximum number of reservations on the page.
    pub limit: u32,
}
