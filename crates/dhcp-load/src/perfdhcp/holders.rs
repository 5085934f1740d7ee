//! Table of the addresses that clients have, for clients that answer ARP requests (`--answer-arp`):
//! one address for each client, found in constant time.

use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;

/// Largest number of clients in the table of addresses.
pub(crate) const CLIENTS_MAX: u64 = 1 << 22;
/// Largest number of waiting announcements: more than one batch of frames brings.
const WAITING_MAX: usize = 256;

/// Address of a client, with the time until which the client has it, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldAddress {
    address: Ipv4Addr,
    ends_ns: u64,
}

/// Table of the addresses that simulated clients have. Nothing is allocated after construction.
#[derive(Clone, Debug)]
pub struct Holders {
    by_client: Vec<Option<HeldAddress>>,
    by_address: HashMap<Ipv4Addr, u32>,
    /// Numbers of clients that have a new address and have not announced it.
    unannounced: VecDeque<u32>,
}

impl Holders {
    /// Creates a table in which none of `clients` clients has an address.
    pub fn new(clients: u64) -> Self {
        let clients = clients.min(CLIENTS_MAX) as usize;
        Self {
            by_client: vec![None; clients],
            by_address: HashMap::with_capacity(clients),
            unannounced: VecDeque::with_capacity(WAITING_MAX),
        }
    }

    /// Notes that client number `client` has `address` until `ends_ns`, and no other address.
    pub fn set_address(&mut self, client: u32, address: Ipv4Addr, ends_ns: u64) {
        self.remove_address(client);
        if let Some(entry) = self.by_client.get_mut(client as usize) {
            *entry = Some(HeldAddress { address, ends_ns });
            self.by_address.insert(address, client);
        }
    }

    /// Queues client number `client` to announce its address by ARP.
    pub fn queue_announcement(&mut self, client: u32) {
        if self.unannounced.len() < WAITING_MAX {
            self.unannounced.push_back(client);
        }
    }

    /// Returns the next client that must announce its address, with the address.
    pub fn next_announcement(&mut self) -> Option<(u32, Ipv4Addr)> {
        while let Some(client) = self.unannounced.pop_front() {
            if let Some(lease) = self.by_client.get(client as usize).copied().flatten() {
                return Some((client, lease.address));
            }
        }
        None
    }

    /// Notes that client number `client` has no address any more.
    pub fn remove_address(&mut self, client: u32) {
        let lease = self.by_client.get_mut(client as usize).and_then(Option::take);
        // The server may have given the address to another client since.
        if let Some(lease) = lease
            && self.by_address.get(&lease.address) == Some(&client)
        {
            self.by_address.remove(&lease.address);
        }
    }

    /// Returns the number of the client that has `address` at `now_ns`; of several, the client that
    /// got it last.
    pub fn find_client(&self, address: Ipv4Addr, now_ns: u64) -> Option<u32> {
        let client = *self.by_address.get(&address)?;
        let lease = self.by_client.get(client as usize).copied().flatten()?;
        (lease.ends_ns > now_ns).then_some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn a_client_has_what_it_was_given_last_until_that_ends() {
        let mut holders = Holders::new(3);
        assert_eq!(holders.find_client(A, 0), None);
        holders.set_address(2, A, 100);
        assert_eq!((holders.find_client(A, 99), holders.find_client(A, 100)), (Some(2), None));
        holders.set_address(2, A, 200);
        assert_eq!(holders.find_client(A, 199), Some(2));
        holders.set_address(2, B, 300);
        assert_eq!((holders.find_client(A, 0), holders.find_client(B, 0)), (None, Some(2)));
        holders.remove_address(2);
        assert_eq!(holders.find_client(B, 0), None);
    }

    #[test]
    fn of_two_clients_with_one_address_the_later_one_has_it() {
        let mut holders = Holders::new(3);
        holders.set_address(0, A, 100);
        holders.set_address(1, A, 100);
        assert_eq!(holders.find_client(A, 0), Some(1));
        holders.remove_address(0);
        assert_eq!(holders.find_client(A, 0), Some(1));
        holders.remove_address(1);
        assert_eq!(holders.find_client(A, 0), None);
        holders.set_address(3, A, 100);
        assert_eq!(holders.find_client(A, 0), None, "no such client");
    }
}
