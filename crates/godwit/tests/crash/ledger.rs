//! Promises of the server to its clients, derived only from the messages that it sent.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Record of an address: its client, and whether the lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressRecord {
    /// Number of the client.
    pub(crate) client: u32,
    /// False after a release or reclamation.
    pub(crate) is_assigned: bool,
    /// Time of the client's last message, in seconds since 1970.
    pub(crate) heard_s: u64,
}

impl AddressRecord {
    /// Returns true if the address is leased to `client` and the lease runs.
    pub(crate) const fn is_lease_of(&self, client: u32) -> bool {
        self.client == client && self.is_assigned
    }
}

/// Last promise of the server about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// Promise of a lease to the client with this number.
    Granted(u32),
    /// State after a release sent by the client, received by the server or not.
    Releasing,
    /// Promise that the lease of the client with this number is released, which the server has
    /// confirmed.
    Released(u32),
}

/// Promises of a server over all its restarts.
#[derive(Debug, Default)]
pub(crate) struct CrashLedger {
    promises: BTreeMap<IpAddr, Promise>,
    /// Numbers of acknowledged grants, by address and client.
    pub(crate) grants: BTreeMap<(IpAddr, u32), u64>,
    /// Numbers of acknowledged releases, by address and client.
    pub(crate) releases: BTreeMap<(IpAddr, u32), u64>,
    /// Number of acknowledgements so far, including those of releases.
    pub(crate) acknowledged: u64,
    /// True if a client with a lease may get another one, as from Kea when each server of a pair
    /// has given the client a lease while they could not talk.
    pub(crate) may_move_clients: bool,
}

impl CrashLedger {
    /// Returns the address that the server granted to `client`.
    pub(crate) fn lease_of(&self, client: u32) -> Option<IpAddr> {
        let mine = |promise: &Promise| *promise == Promise::Granted(client);
        self.promises.iter().find(|(_, promise)| mine(promise)).map(|(&address, _)| address)
    }

    /// Returns the number of addresses granted to clients.
    pub(crate) fn leases(&self) -> usize {
        self.promises.values().filter(|promise| matches!(promise, Promise::Granted(_))).count()
    }

    /// Records that the server has acknowledged `address` to `client`.
    pub(crate) fn granted(&mut self, client: u32, address: IpAddr) -> Result<(), String> {
        if let Some(Promise::Granted(owner)) = self.promises.get(&address)
            && *owner != client
        {
            return Err(format!("{address} belongs to client {owner} and was given to {client}"));
        }
        if let Some(had) = self.lease_of(client).filter(|had| *had != address) {
            if self.may_move_clients {
                self.promises.remove(&had);
            } else {
                return Err(format!("client {client} has {had} and was given {address} instead"));
            }
        }
        self.promises.insert(address, Promise::Granted(client));
        *self.grants.entry((address, client)).or_default() += 1;
        self.acknowledged += 1;
        Ok(())
    }

    /// Checks that the server may refuse `client`.
    pub(crate) fn refused(&self, client: u32) -> Result<(), String> {
        match self.lease_of(client) {
            Some(address) => Err(format!("client {client} has {address} and was refused")),
            None => Ok(()),
        }
    }

    /// Records a request for `address`. If the address is not granted, earlier promises about it
    /// end.
    pub(crate) fn asked(&mut self, address: IpAddr) {
        if !matches!(self.promises.get(&address), Some(Promise::Granted(_))) {
            self.promises.remove(&address);
        }
    }

    /// Records that the client of `address` sends a release.
    pub(crate) fn releasing(&mut self, address: IpAddr) {
        self.promises.insert(address, Promise::Releasing);
    }

    /// Records that the server has confirmed the release.
    pub(crate) fn released(&mut self, client: u32, address: IpAddr) {
        self.acknowledged += 1;
        if self.promises.get(&address) == Some(&Promise::Releasing) {
            *self.releases.entry((address, client)).or_default() += 1;
            self.promises.insert(address, Promise::Released(client));
        }
    }

    /// Records that `client` gives up a request for a lease, or a renewal, without a reply. The
    /// server may have given the client any address, such as one that it has released.
    pub(crate) fn gave_up(&mut self, client: u32) {
        self.promises.retain(|_, promise| *promise != Promise::Released(client));
    }

    /// Returns true if the last promise about `address` is that `client` has released it.
    pub(crate) fn is_released_by(&self, address: IpAddr, client: u32) -> bool {
        self.promises.get(&address) == Some(&Promise::Released(client))
    }

    /// Checks that the leases in `stored_leases` keep all promises.
    pub(crate) fn check(
        &self,
        stored_leases: &BTreeMap<IpAddr, AddressRecord>,
    ) -> Result<(), String> {
        for (address, promise) in &self.promises {
            let found = stored_leases.get(address);
            let is_kept = match *promise {
                Promise::Granted(client) => found.is_some_and(|record| record.is_lease_of(client)),
                Promise::Released(client) => found.is_none_or(|record| !record.is_lease_of(client)),
                Promise::Releasing => true,
            };
            if !is_kept {
                return Err(format!("{address}: promised {promise:?}, kept {found:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn stored_leases(rows: &[(u8, u32, bool)]) -> BTreeMap<IpAddr, AddressRecord> {
        let row = |&(last, client, is_assigned)| {
            (address(last), AddressRecord { client, is_assigned, heard_s: 0 })
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn what_was_granted_must_be_there_and_the_clients() {
        let mut ledger = CrashLedger::default();
        ledger.granted(1, address(1)).unwrap();
        ledger.check(&stored_leases(&[(1, 1, true), (2, 5, true)])).unwrap();
        for broken in [&[][..], &[(1, 2, true)], &[(1, 1, false)]] {
            ledger.check(&stored_leases(broken)).unwrap_err();
        }
    }

    #[test]
    fn what_was_given_back_for_sure_must_not_be_the_clients() {
        let mut ledger = CrashLedger::default();
        ledger.granted(1, address(1)).unwrap();
        ledger.releasing(address(1));
        ledger.check(&stored_leases(&[(1, 1, true)])).unwrap();
        ledger.released(1, address(1));
        ledger.check(&stored_leases(&[(1, 1, true)])).unwrap_err();
        ledger.check(&stored_leases(&[(1, 1, false)])).unwrap();
        ledger.check(&stored_leases(&[(1, 2, true)])).unwrap();
        ledger.asked(address(1));
        ledger.check(&stored_leases(&[(1, 1, true)])).unwrap();
    }

    #[test]
    fn an_unanswered_request_may_have_got_what_was_released() {
        let mut ledger = CrashLedger::default();
        for client in [1, 2] {
            ledger.granted(client, address(client as u8)).unwrap();
            ledger.releasing(address(client as u8));
            ledger.released(client, address(client as u8));
        }
        ledger.asked(address(3));
        ledger.gave_up(1);
        ledger.check(&stored_leases(&[(1, 1, true)])).unwrap();
        ledger.check(&stored_leases(&[(2, 2, true)])).unwrap_err();
    }

    #[test]
    fn an_address_is_one_clients_and_a_client_keeps_its_own() {
        let mut ledger = CrashLedger::default();
        ledger.granted(1, address(1)).unwrap();
        ledger.granted(1, address(1)).unwrap();
        ledger.granted(2, address(1)).unwrap_err();
        ledger.granted(1, address(2)).unwrap_err();
        ledger.refused(1).unwrap_err();
        ledger.refused(2).unwrap();
        ledger.releasing(address(1));
        ledger.granted(2, address(1)).unwrap();
        assert_eq!((ledger.lease_of(2), ledger.leases()), (Some(address(1)), 1));
    }
}
