//! Filter of clients' messages in a server of a pair (high availability): which of them the server
//! serves, and which belong to its partner.

use core::hash::{BuildHasher, BuildHasherDefault};
use core::sync::atomic::{AtomicU8, Ordering};
use std::collections::hash_map::DefaultHasher;
use std::sync::{Mutex, PoisonError};

/// Maximum number of queries that wait to be taken; further ones are not recorded.
const QUERIES_MAX: usize = 4_096;

/// Bits of a share as one number. [`PairShare::All`] is 0.
const CLOSED: u8 = 1;
const PART: u8 = 2;
const BALANCED: u8 = 4;
const OBSERVED: u8 = 8;
const SERVED: [u8; 2] = [16, 32];

/// Clients that a server of a pair serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairShare {
    /// All clients: the server belongs to no pair, or serves for both servers.
    All,
    /// No message at all: the server is not ready.
    Closed,
    /// Clients of some scopes, and messages that every server answers.
    Part(PairScopes),
}

/// Scopes of a pair that a server serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairScopes {
    /// True if the servers share the clients by the hash of RFC 3074 (load balancing); false if all
    /// clients belong to the scope of the first server.
    pub is_balanced: bool,
    /// True for the scope of the first (primary) and of the second server if the server serves it.
    pub is_served: [bool; 2],
    /// True if queries of the other clients are recorded: they show whether the partner answers.
    pub is_observed: bool,
}

impl PairScopes {
    /// Returns true if the server serves `client`. In load balancing no server serves a client
    /// without an identifier, as in Kea.
    pub(crate) fn serves(self, client: &PairClient<'_>) -> bool {
        let [first, second] = self.is_served;
        if !self.is_balanced {
            return first;
        }
        client.hash.is_some_and(|hash| if hash % 2 == 0 { first } else { second })
    }
}

impl PairShare {
    fn bits(self) -> u8 {
        match self {
            Self::All => 0,
            Self::Closed => CLOSED,
            Self::Part(PairScopes { is_balanced, is_served, is_observed }) => {
                let [first, second] = is_served;
                let flags = [
                    (true, PART),
                    (is_balanced, BALANCED),
                    (is_observed, OBSERVED),
                    (first, SERVED[0]),
                    (second, SERVED[1]),
                ];
                flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
            }
        }
    }

    const fn from_bits(bits: u8) -> Self {
        if bits & PART != 0 {
            return Self::Part(PairScopes {
                is_balanced: bits & BALANCED != 0,
                is_served: [bits & SERVED[0] != 0, bits & SERVED[1] != 0],
                is_observed: bits & OBSERVED != 0,
            });
        }
        if bits & CLOSED != 0 { Self::Closed } else { Self::All }
    }
}

/// Client of a message for which one server of a pair is responsible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairClient<'m> {
    /// Identifiers of the client; one of them may be empty.
    pub(crate) identifiers: [&'m [u8]; 2],
    /// Hash of the client's identifier (RFC 3074); `None` if it has none.
    pub(crate) hash: Option<u8>,
    /// Time for which the client has been trying, in milliseconds.
    pub(crate) elapsed_ms: u64,
}

impl PairClient<'_> {
    fn query(&self) -> PairQuery {
        let client = BuildHasherDefault::<DefaultHasher>::default().hash_one(self.identifiers);
        PairQuery { client, elapsed_ms: self.elapsed_ms }
    }
}

/// Query of a client for which one server of a pair is responsible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairQuery {
    /// Hash of the client's identity.
    pub client: u64,
    /// Time for which the client has been trying, in milliseconds.
    pub elapsed_ms: u64,
}

/// Share of the clients that a server of a pair serves at present, and queries of the others. The
/// shards read it, the relationship with the partner sets it.
#[derive(Debug, Default)]
pub struct PairFilter {
    /// Bits of the share.
    share: AtomicU8,
    queries: Mutex<Vec<PairQuery>>,
}

impl PairFilter {
    /// Makes `share` the clients that the server serves from now on.
    pub fn set_share(&self, share: PairShare) {
        self.share.store(share.bits(), Ordering::SeqCst);
    }

    /// Returns the clients that the server serves.
    #[must_use]
    pub fn share(&self) -> PairShare {
        PairShare::from_bits(self.share.load(Ordering::Relaxed))
    }

    /// Records a query of a client of the partner.
    pub(crate) fn record(&self, client: &PairClient<'_>) {
        let mut queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if queries.len() < QUERIES_MAX {
            queries.push(client.query());
        }
    }

    /// Returns the recorded queries, and forgets them.
    pub fn take_queries(&self) -> Vec<PairQuery> {
        core::mem::take(&mut *self.queries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn client(identifiers: [&[u8]; 2], hash: Option<u8>) -> PairClient<'_> {
        PairClient { identifiers, hash, elapsed_ms: 7 }
    }

    #[test]
    fn a_filter_has_the_share_that_was_set_and_bounded_queries() {
        let filter = PairFilter::default();
        assert_eq!(filter.share(), PairShare::All);
        let flags = |bits: u8| {
            let flag = |bit: u8| bits & bit != 0;
            PairScopes { is_balanced: flag(1), is_served: [flag(2), flag(4)], is_observed: flag(8) }
        };
        let parts = (0..16).map(|bits| PairShare::Part(flags(bits)));
        for share in parts.chain([PairShare::All, PairShare::Closed]) {
            filter.set_share(share);
            assert_eq!(filter.share(), share);
        }
        let one = client([b"a", b""], None);
        assert_ne!(one.query(), client([b"", b"a"], None).query());
        (0..QUERIES_MAX + 9).for_each(|_| filter.record(&one));
        assert_eq!(filter.take_queries().len(), QUERIES_MAX);
        assert!(filter.take_queries().is_empty());
    }

    #[test]
    fn the_hash_decides_only_in_load_balancing() {
        let scopes =
            |is_balanced, is_served| PairScopes { is_balanced, is_served, is_observed: false };
        for (hash, served) in [(Some(4), [true, false]), (Some(7), [false, true])] {
            let client = client([b"a", b""], hash);
            let serves = [[true, false], [false, true]].map(|is| scopes(true, is).serves(&client));
            assert_eq!(serves, served);
            assert!(scopes(true, [true; 2]).serves(&client));
            assert!(scopes(false, [true, false]).serves(&client));
            assert!(!scopes(false, [false, true]).serves(&client));
        }
        assert!(!scopes(true, [true; 2]).serves(&client([b"", b""], None)));
    }
}
