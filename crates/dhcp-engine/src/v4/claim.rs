//! Effect of reservations on DHCPv4 allocation (Kea reference §5.5): the address that the client
//! has a claim to, and the addresses that others have a claim to.

use core::net::Ipv4Addr;

use dhcp_lease::v4::{Facts, PoolIndex, SlotOccupancy, SlotView};

use super::transaction::Transaction;
use crate::hosts::{HostIndex, ReservationScope};
use crate::links::PoolLocation;
use crate::prefixes::SubnetIndex;

/// Subnet and pool in which a DHCPv4 address is leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLocation {
    /// Subnet in which the address is leased.
    pub subnet: SubnetIndex,
    /// Pool that contains the address; `None` for a reserved address outside of pools.
    pub pool: Option<PoolIndex>,
}

/// Claim of a client to an address that is reserved for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) address: Ipv4Addr,
    pub(super) location: AddressLocation,
}

impl Transaction<'_> {
    /// Returns the subnets of the client's link that serve the client, beginning with `first`.
    pub(super) fn open_subnets(&self, first: SubnetIndex) -> impl Iterator<Item = SubnetIndex> {
        let snapshot = self.snapshot;
        let open = |subnet: &SubnetIndex| snapshot.admits(*subnet, &self.client_facts.classes);
        snapshot.link_subnets(first).iter().copied().filter(open)
    }

    /// Returns the addresses that the client may have a claim to, independent of the leases that it
    /// has.
    pub(super) fn possible_claims(&self) -> impl Iterator<Item = Ipv4Addr> {
        let hosts = &self.client_facts.client_hosts;
        let all = hosts.in_subnets().map(|(_, host)| host).chain(hosts.global());
        all.filter_map(|host| self.reserved(host))
    }

    fn reserved(&self, host: HostIndex) -> Option<Ipv4Addr> {
        self.hosts.get(host).addresses().next()
    }

    /// Returns the client's host in `subnet` itself, if reservations of the subnet count
    /// (`reservations-in-subnet`).
    fn own_host(&self, subnet: SubnetIndex) -> Option<HostIndex> {
        if !self.snapshot.subnet(subnet).reservation_modes.in_subnet {
            return None;
        }
        self.client_facts.client_hosts.host_in_subnet(subnet)
    }

    /// Returns the client's claim to a reserved address, if it has any: from the reservation in the
    /// subnet where it has a lease, else in the next subnet of its link that reserves an address
    /// for it, else from the global reservation where its address fits.
    pub(super) fn claim(&self, facts: &Facts) -> Option<Claim> {
        let (snapshot, selected) = (self.snapshot, self.subnet?);
        if self.client_facts.client_hosts.is_empty() {
            return None;
        }
        let leased = facts.client_slots().filter(|slot| slot.occupancy == SlotOccupancy::Leased);
        let first = leased
            .filter_map(|slot| self.subnet_with(selected, slot.address))
            .next()
            .unwrap_or(selected);
        for subnet in self.open_subnets(first) {
            let Some(host) = self.own_host(subnet) else { continue };
            let Some(address) = self.reserved(host) else { continue };
            if !snapshot.subnet(subnet).reservation_modes.out_of_pool
                || !self.is_pooled(subnet, address)
            {
                return Some(self.claim_to(subnet, address));
            }
        }
        let address = self.reserved(self.client_facts.client_hosts.global()?)?;
        let fits = |subnet: &SubnetIndex| {
            snapshot.subnet(*subnet).reservation_modes.global && snapshot.contains(*subnet, address)
        };
        let subnet = self.open_subnets(first).find(fits)?;
        Some(self.claim_to(subnet, address))
    }

    /// Returns the addresses of the client's further reservations in pools of its link. Of several
    /// hosts in one subnet that its identifiers match, the first one counts, but no other client
    /// may have the addresses of the others.
    pub(super) fn further_reserved(&self) -> impl Iterator<Item = Ipv4Addr> {
        let reserved_addresses =
            self.client_facts.client_hosts.in_subnets().flat_map(|(subnet, first)| {
                let scope = ReservationScope::Subnet(self.snapshot.subnet(subnet).id);
                let all = self.identifiers.find_all(self.hosts, scope);
                all.filter(move |&host| host != first).filter_map(|host| self.reserved(host))
            });
        reserved_addresses.filter(|&address| {
            self.location_in_pool(address).is_some() && !self.is_reserved_for_others(address)
        })
    }

    fn claim_to(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Claim {
        let in_pool = self.snapshot.find_pool(subnet, address);
        let pool = in_pool.filter(|location| location.subnet == subnet);
        let pool = pool.map(|location| location.pool);
        Claim { address, location: AddressLocation { subnet, pool } }
    }

    /// Returns the pool of the client's link that contains `address`. The result is cached, since
    /// callers repeat the same address.
    fn pool_on_link(&self, address: Ipv4Addr) -> Option<PoolLocation> {
        if let Some((last_address, location)) = self.last_pool_lookup.get()
            && last_address == address
        {
            return location;
        }
        let location = self.snapshot.find_pool(self.subnet?, address);
        self.last_pool_lookup.set(Some((address, location)));
        location
    }

    /// Returns the subnet and pool from which the client may get `address`; `None` when no pool
    /// that is open to it contains the address.
    pub(super) fn location_in_pool(&self, address: Ipv4Addr) -> Option<AddressLocation> {
        let PoolLocation { pool, subnet } = self.pool_on_link(address)?;
        let is_admitted =
            self.is_open || self.snapshot.admits_to_pool(pool, &self.client_facts.classes);
        is_admitted.then_some(AddressLocation { subnet, pool: Some(pool) })
    }

    /// Returns true if any pool of the link has `address`, for this client or for others.
    pub(super) fn is_in_link_pool(&self, address: Ipv4Addr) -> bool {
        self.pool_on_link(address).is_some()
    }

    /// Returns true if `address` is reserved for other clients only. With
    /// `reservations-out-of-pool`, addresses in pools count as not reserved.
    pub(super) fn is_reserved_for_others(&self, address: Ipv4Addr) -> bool {
        let hosts = self.hosts;
        if hosts.is_empty() {
            return false;
        }
        let Some(subnet) = self.subnet.and_then(|subnet| self.subnet_with(subnet, address)) else {
            return false;
        };
        let terms = self.snapshot.subnet(subnet);
        let counts = terms.reservation_modes.in_subnet
            && (!terms.reservation_modes.out_of_pool || !self.is_pooled(subnet, address));
        if !counts {
            return false;
        }
        let own = self
            .client_facts
            .client_hosts
            .host_in_subnet(subnet)
            .and_then(|host| self.reserved(host));
        if own == Some(address) {
            // The client may have the address, whichever other hosts have it, too: no look-up is
            // needed.
            return false;
        }
        let mut owners = hosts.owners_of(ReservationScope::Subnet(terms.id), address).peekable();
        owners.peek().is_some() && !owners.any(|host| self.identifiers.matches_host(hosts, host))
    }

    /// Returns the addresses that a host look-up outside of the configuration has found to be
    /// reserved for the client. The lease table may not know yet that clients may have them.
    pub(super) fn cached_claims(&self) -> impl Iterator<Item = Ipv4Addr> {
        let is_cached = |host: &HostIndex| matches!(host, HostIndex::Cached(_));
        let in_subnets =
            self.client_facts.client_hosts.in_subnets().filter_map(move |(subnet, host)| {
                if !is_cached(&host) {
                    return None;
                }
                let address = self.reserved(host)?;
                let modes = self.snapshot.subnet(subnet).reservation_modes;
                (!modes.out_of_pool || !self.is_pooled(subnet, address)).then_some(address)
            });
        let global = self.client_facts.client_hosts.global().filter(is_cached);
        let global = global.and_then(|host| self.reserved(host));
        // Kea protects only addresses reserved in a subnet.
        let is_open = |&address: &Ipv4Addr| self.subnet.is_some() && !self.is_in_link_pool(address);
        in_subnets.chain(global.filter(is_open))
    }

    /// Returns a slot reserved for others that the client holds, or was about to get: reservations
    /// are looked up after an address was claimed.
    pub(super) fn slot_reserved_for_others(&self, facts: &Facts) -> Option<SlotView> {
        if !self.hosts.has_external_source() {
            return None;
        }
        let held_slots =
            facts.client_slots().filter(|slot| slot.occupancy == SlotOccupancy::Held).copied();
        let stray = held_slots
            .chain(facts.candidate)
            .find(|slot| self.is_reserved_for_others(slot.address));
        if self.hosts.has_missed() { None } else { stray }
    }

    /// Returns the subnet on the link of `near` that `address` belongs to: the subnet of its pool,
    /// else the first subnet that contains the address.
    fn subnet_with(&self, near: SubnetIndex, address: Ipv4Addr) -> Option<SubnetIndex> {
        let snapshot = self.snapshot;
        let pooled = snapshot.find_pool(near, address).map(|location| location.subnet);
        pooled.or_else(|| {
            snapshot.link_subnets(near).iter().copied().find(|&at| snapshot.contains(at, address))
        })
    }

    fn is_pooled(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        self.snapshot.find_pool(subnet, address).is_some_and(|location| location.subnet == subnet)
    }
}
