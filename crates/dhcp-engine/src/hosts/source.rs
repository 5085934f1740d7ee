//! Source of hosts outside of the configuration, as a shard sees it.

use core::fmt::Debug;
use dhcp_lease::Family;
use std::sync::Arc;

use dhcp_config::IdentifierKind;

use super::{ReservationOf, ReservationProtocol, ReservationScope};

/// Key by which hosts are looked up, in all scopes at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKey<A> {
    /// An identifier.
    Identifier(IdentifierKind, Box<[u8]>),
    /// A reserved address; of a prefix the first address alone counts.
    Address(A),
}

/// Host that a look-up found, with its scope.
pub type FoundHost<F> = (ReservationScope, Arc<ReservationOf<F>>);

/// Key, and its hosts in the order of precedence.
pub type FoundByKey<F> = (HostKey<<F as Family>::Address>, Vec<FoundHost<F>>);

/// Answer to one batch of keys.
#[derive(Clone, Debug)]
pub struct HostAnswer<F: ReservationProtocol> {
    /// Number of the batch.
    pub batch: u64,
    /// True if the look-up failed: then the absence of a host means nothing.
    pub is_failed: bool,
    /// All keys of the batch with their hosts.
    pub hosts_by_key: Vec<FoundByKey<F>>,
}

/// Source that looks up hosts while the shard continues.
pub trait HostSource<F: ReservationProtocol>: Debug + Send {
    /// Requests `keys` and returns the number of the batch: 1 for the first, and each one more than
    /// the one before.
    fn request(&mut self, keys: Vec<HostKey<F::Address>>) -> u64;

    /// Takes the next answer, if there is one. Answers come in the order of the batches.
    fn take(&mut self) -> Option<HostAnswer<F>>;
}
