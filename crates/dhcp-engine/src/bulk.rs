//! Bulk lease queries over TCP, the parts that both families share: the leases that a query finds,
//! a page at a time, so that the thread that answers it can serve others meanwhile.

use base::Now;
use dhcp_lease::{Lease, LeaseTable, TableFamily};
use dhcp_wire::OptionParsing;

use crate::protocol::Protocol;
use crate::snapshot::Snapshot;

/// Family whose bulk lease queries the server answers.
pub trait BulkProtocol: Protocol + TableFamily {
    /// Type of a query that is being answered.
    type BulkQuery: Send;

    /// Reads the query in `octets`, a message without its length; `server` is the address at which
    /// the requester reached the server. `None` if the connection has to be closed.
    fn begin_bulk(
        snapshot: &Snapshot<Self>,
        octets: &[u8],
        server: core::net::IpAddr,
    ) -> Option<Self::BulkQuery>;

    /// Writes the next message of the reply to `query` into `buffer`.
    fn next_bulk(
        query: &mut Self::BulkQuery,
        snapshot: &Snapshot<Self>,
        table: &LeaseTable<Self>,
        now: Now,
        buffer: &mut [u8],
    ) -> BulkStep;
}

/// Step of the reply to a bulk lease query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkStep {
    /// Message of this length in the buffer.
    Message(usize),
    /// No message yet: more leases have to be looked at.
    Searching,
    /// End of the reply.
    End,
}

/// Mode in which messages of bulk queries are parsed: their senders are servers' peers, not old
/// clients.
pub(crate) const PARSING: OptionParsing = OptionParsing::Strict;

/// Number of leases that one step of a search looks at.
const LEASES_PER_STEP: usize = 1000;

/// Search for the leases of a bulk query.
pub(crate) struct BulkSearch<F: TableFamily> {
    /// Leases that were found and not sent yet.
    found: std::vec::IntoIter<Lease<F>>,
    /// Search through all leases; `None` when it has ended or the leases were found by an index.
    scan: Option<LeaseScan<F>>,
}

/// Test for a lease of a query; the number counts the scans before this one.
type Matches<F> = Box<dyn Fn(&Lease<F>, usize) -> bool + Send>;

struct LeaseScan<F: TableFamily> {
    matches: Matches<F>,
    after: Option<F::Address>,
    /// Number of scans that have ended.
    ended: usize,
    /// Number of scans of all leases that the search makes.
    count: usize,
}

impl<F: TableFamily> BulkSearch<F> {
    /// Returns a search that has found `leases`.
    pub(crate) fn with_leases(leases: Vec<Lease<F>>) -> Self {
        Self { found: leases.into_iter(), scan: None }
    }

    /// Returns a search through all leases, `count` times, for those that `matches` accepts.
    pub(crate) fn scan(
        count: usize,
        matches: impl Fn(&Lease<F>, usize) -> bool + Send + 'static,
    ) -> Self {
        let scan = LeaseScan { matches: Box::new(matches), after: None, ended: 0, count };
        Self { found: Vec::new().into_iter(), scan: Some(scan) }
    }

    /// Returns the next lease; `Ok(None)` when there is none left.
    ///
    /// # Errors
    ///
    /// [`Searching`] when more leases have to be looked at.
    pub(crate) fn next(&mut self, table: &LeaseTable<F>) -> Result<Option<Lease<F>>, Searching> {
        if let Some(lease) = self.found.next() {
            return Ok(Some(lease));
        }
        let Some(scan) = &mut self.scan else { return Ok(None) };
        if scan.ended == scan.count {
            self.scan = None;
            return Ok(None);
        }
        let page = table.page(scan.after, LEASES_PER_STEP);
        scan.after = page.last().map(|lease| lease.address);
        let number = scan.ended;
        if page.len() < LEASES_PER_STEP {
            scan.after = None;
            scan.ended += 1;
        }
        let matching = page.into_iter().filter(|lease| (scan.matches)(lease, number));
        self.found = matching.collect::<Vec<_>>().into_iter();
        Err(Searching)
    }
}

/// Sign that a search has to go on before it has a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searching;
