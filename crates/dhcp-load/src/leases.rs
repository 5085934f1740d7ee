//! Leases that servers granted during a run: client, resource and time of each, and a check for two
//! clients that held one address at the same time.
//!
//! During the run a lease is one small row (DHCPv4: 16 bytes) appended to memory that is allocated
//! before. Sorting and comparing come after the run.

use std::fmt::Debug;
use std::io::{self, Write};

use base::time::NS_PER_MS;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Upper limit of the memory for granted leases, in bytes, over all threads. Leases beyond it are
/// counted but not compared.
const ROWS_BYTES_MAX: u64 = 512 << 20;
/// Largest number of lease conflicts that a summary describes.
const EXAMPLES_MAX: usize = 10;
/// Number of leases in a page ([`LeaseLog::pages`]).
const PAGE_ROWS: usize = 4_096;

/// Resource that a server leases: an address or a prefix.
pub trait LeasedResource: Copy + Ord + Send + Debug + Serialize + DeserializeOwned {
    /// Client or identity association that holds the resource.
    type Owner: Copy + Ord + Send + Debug + Serialize + DeserializeOwned;
    /// Names of the columns of [`LeasedResource::row`], separated by commas.
    const COLUMNS: &'static str;

    /// Returns the leased address or prefix as text.
    fn text(self) -> String;

    /// Returns the holder of the address or prefix as text.
    fn owner_text(owner: Self::Owner) -> String;

    /// Returns the line of a lease list for this resource and its holder.
    fn row(self, owner: Self::Owner) -> String;

    /// Returns an arbitrary resource and holder, to fill memory with.
    fn blank() -> (Self, Self::Owner);
}

/// Lease of one address or prefix as the server granted it. Rows sort by resource, then by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GrantedLease<R: LeasedResource> {
    resource: R,
    /// Time of the grant, in milliseconds since the run began.
    granted_ms: u32,
    owner: R::Owner,
    lease_time_s: u32,
}

impl<R: LeasedResource> GrantedLease<R> {
    const fn ends_ms(&self) -> u64 {
        self.granted_ms as u64 + 1_000 * self.lease_time_s as u64
    }
}

/// Conflict of two clients that held one address or prefix at the same time.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Conflict {
    /// Address or prefix that both clients held.
    pub address: String,
    /// First client that held the address or prefix: its hardware address, or its DUID and IAID.
    pub first: String,
    /// Second client, which got the address or prefix while the first one held it.
    pub second: String,
    /// Time of the second grant, in milliseconds since the beginning of the run.
    pub at_ms: u64,
}

/// Log of the leases that servers granted to one thread's clients, and after merging to all clients
/// of a run.
#[derive(Clone, Debug)]
pub struct LeaseLog<R: LeasedResource> {
    start_ns: u64,
    rows: Vec<GrantedLease<R>>,
    untracked: u64,
}

/// Summary of the leases that servers granted in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseSummary {
    /// Number of distinct addresses and prefixes under lease at the end of the run.
    pub leased: u64,
    /// Number of grants of an address or prefix to a client while another client held it.
    pub conflicts: u64,
    /// First conflicts of clients over an address or prefix, by address.
    pub examples: Vec<Conflict>,
    /// Number of leases that did not fit into the reserved memory and were not compared.
    pub untracked: u64,
}

fn conflict<R: LeasedResource>(
    current: &GrantedLease<R>,
    next: &GrantedLease<R>,
    name: &impl Fn(R::Owner) -> String,
) -> Conflict {
    Conflict {
        address: next.resource.text(),
        first: name(current.owner),
        second: name(next.owner),
        at_ms: next.granted_ms.into(),
    }
}

/// Returns true if the holder gave the lease back within `apart_ms` milliseconds after the grant
/// `next` to another client.
fn is_returned<R: LeasedResource>(
    current: &GrantedLease<R>,
    next: &GrantedLease<R>,
    later: &[GrantedLease<R>],
    apart_ms: u32,
) -> bool {
    let last_ms = next.granted_ms.saturating_add(apart_ms);
    let near = later.iter().take_while(|row| apart_ms > 0 && row.granted_ms <= last_ms);
    near.into_iter().any(|row| row.owner == current.owner && row.lease_time_s == 0)
}

impl<R: LeasedResource> LeaseLog<R> {
    /// Returns the number of leases that one of `threads` threads may keep in memory.
    pub const fn rows_max(threads: u64) -> u64 {
        ROWS_BYTES_MAX / size_of::<GrantedLease<R>>() as u64 / threads
    }

    /// Creates a log of granted leases with memory for up to `rows` leases.
    pub fn with_capacity(rows: u64) -> Self {
        let (resource, owner) = R::blank();
        let blank = GrantedLease { resource, granted_ms: 1, owner, lease_time_s: 1 };
        // The rows are written once, so that no page fault falls into the run.
        let mut rows = vec![blank; rows.min(Self::rows_max(1)) as usize];
        rows.clear();
        Self { start_ns: 0, rows, untracked: 0 }
    }

    /// Sets the beginning of the run to `start_ns`, in nanoseconds of the monotonic clock; call it
    /// before the first lease.
    pub fn starts_at(&mut self, start_ns: u64) {
        assert!(self.rows.is_empty(), "leases before the beginning");
        self.start_ns = start_ns;
    }

    /// Notes that client or association `owner` got `resource` at `now_ns`, for `lease_time_s`
    /// seconds.
    pub fn grant(&mut self, now_ns: u64, owner: R::Owner, resource: R, lease_time_s: u32) {
        if self.rows.len() == self.rows.capacity() {
            self.untracked += 1;
            return;
        }
        let granted_ms = (now_ns.saturating_sub(self.start_ns) / NS_PER_MS) as u32;
        self.rows.push(GrantedLease { resource, granted_ms, owner, lease_time_s });
    }

    /// Notes that client or association `owner` gave `resource` back at `now_ns`.
    pub fn release(&mut self, now_ns: u64, owner: R::Owner, resource: R) {
        self.grant(now_ns, owner, resource, 0);
    }

    /// Adds the leases of another thread's log of the same run.
    pub fn merge(&mut self, other: Self) {
        self.start_ns = other.start_ns;
        self.rows.extend(other.rows);
        self.untracked += other.untracked;
    }

    /// Returns the log with all times counted from the beginning of the run.
    #[must_use]
    pub fn rebased(self) -> Self {
        Self { start_ns: 0, ..self }
    }

    /// Returns the number of leases that were counted but not kept in memory.
    pub const fn untracked(&self) -> u64 {
        self.untracked
    }

    /// Adds `count` leases of another generator to [`LeaseLog::untracked`].
    pub const fn add_untracked(&mut self, count: u64) {
        self.untracked += count;
    }

    /// Returns all leases in pages of 4,096 as JSON, for [`LeaseLog::add_page`] on another machine.
    pub fn pages(&self) -> impl Iterator<Item = Value> + '_ {
        self.rows.chunks(PAGE_ROWS).map(|rows| {
            let row =
                |row: &GrantedLease<R>| (row.resource, row.owner, row.granted_ms, row.lease_time_s);
            let rows: Vec<_> = rows.iter().map(row).collect();
            serde_json::to_value(rows).expect("rows are numbers and texts")
        })
    }

    /// Adds a page of leases of another generator of the same run. Returns `None` and takes nothing
    /// over when the page is damaged.
    #[must_use]
    pub fn add_page(&mut self, page: Value) -> Option<()> {
        let rows: Vec<(R, R::Owner, u32, u32)> = serde_json::from_value(page).ok()?;
        self.rows.extend(rows.into_iter().map(|(resource, owner, granted_ms, lease_time_s)| {
            GrantedLease { resource, granted_ms, owner, lease_time_s }
        }));
        Some(())
    }

    /// Compares all leases of the run and returns their summary, with the conflicts between
    /// clients. A grant of a resource whose earlier lease had ended is no conflict.
    pub fn summarize(&mut self, end_ns: u64) -> LeaseSummary {
        self.summarize_with(end_ns, 0, R::owner_text)
    }

    /// Compares all leases as [`LeaseLog::summarize`] does, and names each owner by `name`. The
    /// clocks of several machines may be `apart_ms` from each other: it is no conflict when the
    /// holder gave the lease back at most `apart_ms` after the other client's grant.
    pub fn summarize_with(
        &mut self,
        end_ns: u64,
        apart_ms: u32,
        name: impl Fn(R::Owner) -> String,
    ) -> LeaseSummary {
        // The sort is stable: leases within a millisecond keep their order.
        self.rows.sort_by_key(|row| (row.resource, row.granted_ms));
        let end_ms = end_ns.saturating_sub(self.start_ns) / NS_PER_MS;
        let mut summary = LeaseSummary { untracked: self.untracked, ..LeaseSummary::default() };
        for rows in self.rows.chunk_by(|a, b| a.resource == b.resource) {
            // `current` is the lease that runs longest so far; renewals of its holder replace it.
            let mut current = rows[0];
            for (index, next) in rows.iter().enumerate().skip(1) {
                let is_others = current.owner != next.owner;
                // A server had taken the resource from a client that is no longer the holder but
                // gives it back.
                if is_others && next.lease_time_s == 0 {
                    continue;
                }
                let is_back = is_others && is_returned(&current, next, &rows[index..], apart_ms);
                if is_others && !is_back && u64::from(next.granted_ms) < current.ends_ms() {
                    summary.conflicts += 1;
                    if summary.examples.len() < EXAMPLES_MAX {
                        summary.examples.push(conflict(&current, next, &name));
                    }
                }
                if !is_others || is_back || next.ends_ms() >= current.ends_ms() {
                    current = *next;
                }
            }
            summary.leased += u64::from(current.ends_ms() > end_ms);
        }
        summary
    }

    /// Writes one line per pair of resource and holder to `out`, by resource, below
    /// [`LeasedResource::COLUMNS`]. Call [`LeaseLog::summarize`] first.
    ///
    /// # Errors
    ///
    /// Fails with the error of `out`.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", R::COLUMNS)?;
        for rows in self.rows.chunk_by(|a, b| a.resource == b.resource) {
            let mut owners: Vec<R::Owner> = rows.iter().map(|row| row.owner).collect();
            owners.sort_unstable();
            owners.dedup();
            for owner in owners {
                writeln!(out, "{}", rows[0].resource.row(owner))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn an_address_held_by_two_clients_is_a_conflict_until_the_lease_has_ended() {
        let mut log = LeaseLog::with_capacity(16);
        let mut other = LeaseLog::with_capacity(16);
        log.grant(0, 1, A, 10);
        log.grant(1_000 * NS_PER_MS, 1, A, 10);
        // Ten seconds after the renewal the lease is free again.
        other.grant(11_000 * NS_PER_MS, 2, A, 10);
        log.grant(0, 3, B, 10);
        other.grant(9_999 * NS_PER_MS, 4, B, 10);
        log.merge(other);
        let summary = log.summarize(20_999 * NS_PER_MS);
        assert_eq!((summary.leased, summary.conflicts, summary.untracked), (1, 1, 0));
        let expected = Conflict {
            address: B.to_string(),
            first: "02:67:00:00:00:03".into(),
            second: "02:67:00:00:00:04".into(),
            at_ms: 9_999,
        };
        assert_eq!(summary.examples, [expected]);
        let mut csv = Vec::new();
        log.write_csv(&mut csv).unwrap();
        let lines = String::from_utf8(csv).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(
            lines[..2],
            ["address,mac,client_id", "10.0.0.1,02:67:00:00:00:01,01:02:67:00:00:00:01"]
        );
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn what_was_given_back_is_free_within_the_same_millisecond() {
        let mut log = LeaseLog::with_capacity(8);
        log.grant(1, 9, A, 10);
        log.release(2, 9, A);
        log.grant(3, 1, A, 10);
        let summary = log.summarize(4);
        assert_eq!((summary.leased, summary.conflicts), (1, 0));
        log.grant(5, 2, A, 10);
        assert_eq!(log.summarize(6).conflicts, 1);
    }

    #[test]
    fn leases_of_two_machines_are_compared_as_exactly_as_their_clocks_are() {
        // The first machine's clock is two milliseconds ahead: client 1 gave the address back
        // before client 2 of the other machine got it.
        let [mut first, mut second] = [(); 2].map(|()| LeaseLog::with_capacity(8));
        first.grant(10 * NS_PER_MS, 1, A, 100);
        first.release(22 * NS_PER_MS, 1, A);
        second.grant(21 * NS_PER_MS, 2, A, 100);
        second.grant(30 * NS_PER_MS, 4, B, 100);
        first.grant(31 * NS_PER_MS, 3, B, 100);
        let mut whole = LeaseLog::<Ipv4Addr>::with_capacity(0);
        for page in first.pages().chain(second.pages()) {
            whole.add_page(page).unwrap();
        }
        whole.add_untracked(2);
        let conflicts = |apart_ms| {
            let summary = whole.clone().summarize_with(40 * NS_PER_MS, apart_ms, |n| n.to_string());
            assert_eq!((summary.leased, summary.untracked), (2, 2));
            summary.conflicts
        };
        assert_eq!([conflicts(0), conflicts(1), conflicts(3)], [2, 1, 1]);
        assert!(whole.add_page(serde_json::json!([["10.0.0.1", 1, 2]])).is_none());
    }

    #[test]
    fn a_full_log_counts_what_it_cannot_compare() {
        let mut log = LeaseLog::with_capacity(2);
        for client in 0..5 {
            log.grant(0, client, A, 10);
        }
        let summary = log.summarize(0);
        assert_eq!((summary.conflicts, summary.untracked), (1, 3));
    }
}
