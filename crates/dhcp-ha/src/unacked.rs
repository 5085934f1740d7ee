//! Clients that the partner does not answer, by which a server finds out that the partner has
//! failed and not only the connection to it.

use std::collections::BTreeMap;

/// Query of a client that the partner should answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerQuery {
    /// Hash of the client's identity: hardware address and client identifier, or DUID.
    pub client: u64,
    /// Time for which the client has been trying, in milliseconds.
    pub elapsed_ms: u64,
}

/// Number of clients that are remembered; the condition to take over is met long before.
const CLIENTS_MAX: usize = 65_536;

/// Clients that have sent queries to the partner since the communication was interrupted.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnackedClients {
    /// Clients, each with true if it counts as one without an answer.
    clients: BTreeMap<u64, bool>,
    unacked: usize,
    /// Number of queries.
    pub(crate) queries: u64,
}

impl UnackedClients {
    /// Records a query. A client that has been trying for more than `limit_ms` has no answer.
    pub(crate) fn record(&mut self, query: PartnerQuery, limit_ms: u64) {
        self.queries += 1;
        if self.clients.len() >= CLIENTS_MAX && !self.clients.contains_key(&query.client) {
            return;
        }
        let is_unacked = self.clients.entry(query.client).or_default();
        if query.elapsed_ms > limit_ms && !core::mem::replace(is_unacked, true) {
            self.unacked += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of clients without an answer.
    pub(crate) const fn unacked(&self) -> usize {
        self.unacked
    }

    /// Returns the number of clients that are still trying within the limit.
    pub(crate) fn connecting(&self) -> usize {
        self.clients.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_once_and_from_its_first_late_query_on() {
        let mut clients = UnackedClients::default();
        for (client, elapsed_ms) in [(1, 0), (1, 11), (1, 12), (2, 10), (3, 11), (1, 0)] {
            clients.record(PartnerQuery { client, elapsed_ms }, 10);
        }
        assert_eq!((clients.unacked(), clients.connecting(), clients.queries), (2, 3, 6));
        clients.clear();
        assert_eq!((clients.unacked(), clients.queries), (0, 0));
    }
}
