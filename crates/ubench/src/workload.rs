//! Workload of the benchmark: the lease records, and the operations of each step in their order,
//! all from one seed.

use std::net::Ipv4Addr;

use base::Random;
use serde::{Deserialize, Serialize};

/// IPv4 address of the first record, as a number.
const FIRST: u32 = 0x0100_0000;
/// Lifetime of a lease when it is created, in seconds; the next constant is the lifetime after an
/// update (both as in 2012).
pub(crate) const CREATED_LIFETIME_S: u32 = 1000;
pub(crate) const UPDATED_LIFETIME_S: u32 = 1002;
/// Host name of every lease in the benchmark.
pub(crate) const HOSTNAME: &str = "foo";
/// Number of bytes of a client identifier in 2012, as many as its column holds.
pub(crate) const LONG_CLIENT_ID: usize = 128;
/// Greatest number of rows that all searches without an index may read in one step.
const SCANNED_ROWS: u64 = 2_000_000;

base::recorded! {
    /// Step of a run: one kind of operation on many leases. `Create`, `Search`, `Update` and
    /// `Delete` are the steps of 2012. Names are those of results.
    #[derive(Serialize, Deserialize)]
    pub enum WorkloadStep {
        /// Creation of a lease for every record.
        Create = "create",
        /// Search of leases by address; about one of ten searches finds none.
        Search = "search",
        /// Search of leases by hardware address, as servers mostly do; about one of ten searches
        /// finds none.
        SearchHardware = "search-hardware",
        /// Search of leases by client identifier; about one of ten searches finds none.
        SearchClientId = "search-client-id",
        /// Update of every lease with new times, in random order.
        Update = "update",
        /// Deletion of every lease.
        Delete = "delete",
    }
}

impl WorkloadStep {
    /// Steps of `dhcp-ubench` of 2012, from which the averages are computed.
    pub const FOUR: [Self; 4] = [Self::Create, Self::Search, Self::Update, Self::Delete];
    /// Steps of a run that change leases.
    pub const CHANGES: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    /// Returns true if the step only searches leases.
    pub const fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchHardware | Self::SearchClientId)
    }
}

/// Operations of one run, whose order follows from a seed.
#[derive(Clone, Debug)]
pub(crate) struct UbenchWorkload {
    records: u32,
    random: Random,
}

impl UbenchWorkload {
    /// Creates the operations on `records` records in an order that follows from `seed`.
    pub(crate) const fn new(records: u32, seed: u64) -> Self {
        Self { records, random: Random::from_seed(seed) }
    }

    /// Returns the numbers of the records for the operations of `step`, in order. With `scans`
    /// every search other than by address reads all rows of the table, and there are fewer
    /// searches.
    pub(crate) fn step(&mut self, step: WorkloadStep, scans: bool) -> Vec<u32> {
        match step {
            WorkloadStep::Create | WorkloadStep::Delete => (0..self.records).collect(),
            WorkloadStep::Update => {
                let mut numbers: Vec<u32> = (0..self.records).collect();
                self.random.shuffle(&mut numbers);
                numbers
            }
            WorkloadStep::Search | WorkloadStep::SearchHardware | WorkloadStep::SearchClientId => {
                let is_scan = scans && step != WorkloadStep::Search;
                let most = SCANNED_ROWS / u64::from(self.records.max(1));
                let count =
                    if is_scan { most.clamp(1, self.records.into()) } else { self.records.into() };
                // The range is 10/9 of the records, so one search in ten misses.
                let range = (u64::from(self.records) * 10).div_ceil(9);
                (0..count).map(|_| self.random.below(range) as u32).collect()
            }
        }
    }
}

/// Returns the IPv4 address of record `number`.
pub(crate) const fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST + number)
}

/// Returns the hardware address of record `number`: Ethernet, locally administered.
pub(crate) fn hardware(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// Returns the client identifier of record `number`, as short as clients send it.
pub(crate) fn client_id(number: u32) -> [u8; 7] {
    let [a, b, c, d] = number.to_be_bytes();
    [1, 2, 0, a, b, c, d]
}

/// Returns the client identifier of record `number`, as long as in 2012 ([`LONG_CLIENT_ID`] bytes).
pub(crate) fn long_client_id(number: u32) -> [u8; LONG_CLIENT_ID] {
    let mut octets = [b'x'; LONG_CLIENT_ID];
    octets[LONG_CLIENT_ID - 4..].copy_from_slice(&number.to_be_bytes());
    octets
}

/// Returns the hardware address of record `number`, as long as in 2012 (20 bytes).
pub(crate) fn long_hardware(number: u32) -> [u8; 20] {
    let mut octets = [b'h'; 20];
    octets[16..].copy_from_slice(&number.to_be_bytes());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_search_in_ten_misses_and_a_seed_says_which() {
        let mut workload = UbenchWorkload::new(9_000, 7);
        let numbers = workload.step(WorkloadStep::Search, true);
        assert_eq!(numbers.len(), 9_000);
        assert!(numbers.iter().all(|&number| number < 10_000));
        let misses = numbers.iter().filter(|&&number| number >= 9_000).count();
        // Binomial of 9,000 and 0.1: 900 and a deviation of 28.5.
        assert!((786..=1_014).contains(&misses), "{misses}");
        assert_eq!(numbers, UbenchWorkload::new(9_000, 7).step(WorkloadStep::Search, true));
        assert_ne!(numbers, UbenchWorkload::new(9_000, 8).step(WorkloadStep::Search, true));
    }

    #[test]
    fn every_record_is_updated_once() {
        let mut numbers = UbenchWorkload::new(500, 1).step(WorkloadStep::Update, false);
        assert_ne!(numbers[..20], (0..20).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn searches_without_an_index_are_fewer() {
        let mut workload = UbenchWorkload::new(100_000, 1);
        assert_eq!(workload.step(WorkloadStep::SearchHardware, true).len(), 20);
        assert_eq!(workload.step(WorkloadStep::SearchHardware, false).len(), 100_000);
        assert_eq!(workload.step(WorkloadStep::Search, true).len(), 100_000);
    }
}
