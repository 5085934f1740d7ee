//! Where hosts are looked up that no configuration names, as a shard sees it.

use core::fmt::Debug;
use dhcp_lease::Family;
use std::sync::Arc;

use dhcp_config::IdentifierKind;

use super::{ReservationOf, Reserving, Scope};

/// What hosts are looked up by, in all scopes at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKey<A> {
    /// An identifier.
    Identifier(IdentifierKind, Box<[u8]>),
    /// Something reserved; of a prefix the first address alone counts.
    Address(A),
}

/// A host that was found.
pub type FoundHost<F> = (Scope, Arc<ReservationOf<F>>);

/// A key, and its hosts in the order of importance.
pub type FoundByKey<F> = (HostKey<<F as Family>::Address>, Vec<FoundHost<F>>);

/// The answer to one batch of keys.
#[derive(Clone, Debug)]
pub struct HostAnswer<F: Reserving> {
    /// The batch.
    pub batch: u64,
    /// Nothing could be looked up: that no host was found says nothing.
    pub is_failed: bool,
    /// All keys of the batch.
    pub found: Vec<FoundByKey<F>>,
}

/// Looks up hosts while the shard goes on.
pub trait HostSource<F: Reserving>: Debug + Send {
    /// Asks for `keys`; the number of the batch, the first one 1, and each one more than the one
    /// before.
    fn ask(&mut self, keys: Vec<HostKey<F::Address>>) -> u64;

    /// Takes the next answer, if there is one. Batches are answered in their order.
    fn take(&mut self) -> Option<HostAnswer<F>>;
}
