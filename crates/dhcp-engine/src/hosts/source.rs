//! Source of hosts outside of the configuration, as a shard sees it.

use core::fmt::Debug;
use dhcp_lease::Family;
use std::sync::Arc;

use dhcp_config::IdentifierKind;

use super::{ReservationOf, ReservationProtocol, ReservationScope};

/// Key by which a shard looks up hosts in all scopes at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKey<A> {
    /// Key that is a client's identifier: its kind and its bytes.
    Identifier(IdentifierKind, Box<[u8]>),
    /// Key that is a reserved address; of a prefix the first address alone counts.
    Address(A),
}

/// Host that a look-up found, with the scope of its reservations.
pub type FoundHost<F> = (ReservationScope, Arc<ReservationOf<F>>);

/// Key of a host look-up, and the hosts that it leads to, in the order of precedence.
pub type FoundByKey<F> = (HostKey<<F as Family>::Address>, Vec<FoundHost<F>>);

/// Answer of a [`HostSource`] to one batch of keys.
#[derive(Clone, Debug)]
pub struct HostAnswer<F: ReservationProtocol> {
    /// Number of the batch of keys that the source of hosts answers.
    pub batch: u64,
    /// True if the source could not look up the batch: then the absence of a host means nothing.
    pub is_failed: bool,
    /// Keys of the batch, each with the hosts that it leads to.
    pub hosts_by_key: Vec<FoundByKey<F>>,
}

/// Keys that may lead to other hosts than when they were looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedHosts<A> {
    /// These keys and no others; usually there are none.
    Keys(Vec<HostKey<A>>),
    /// Possibly every key.
    All,
}

/// Source that looks up hosts outside of the configuration while the shard continues.
pub trait HostSource<F: ReservationProtocol>: Debug + Send {
    /// Requests the hosts of `keys` and returns the number of the batch: 1 for the first, and each
    /// one more than the one before.
    fn request(&mut self, keys: Vec<HostKey<F::Address>>) -> u64;

    /// Takes the next answer of the source; `None` when none has come. Answers come in the order of
    /// the batches.
    fn take(&mut self) -> Option<HostAnswer<F>>;

    /// Takes the keys of hosts that have changed since the last call. The shard calls this for
    /// every message: hosts that a command has changed count for each message that comes after the
    /// command's answer.
    fn take_changed(&mut self) -> ChangedHosts<F::Address> {
        ChangedHosts::Keys(Vec::new())
    }
}
