//! Effect of reservations on allocation (Kea reference §5.5): the address that the client has a
//! claim to, and those that others have.

use core::net::Ipv4Addr;

use dhcp_lease::v4::{Facts, PoolIndex, SlotOccupancy, SlotView};

use super::transaction::Transaction;
use crate::hosts::{HostIndex, ReservationScope};
use crate::links::PoolPlace;
use crate::prefixes::SubnetIndex;

/// Subnet and pool in which an address is leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLocation {
    /// Subnet of the address.
    pub subnet: SubnetIndex,
    /// Pool of the address; a reserved address may lie in none.
    pub pool: Option<PoolIndex>,
}

/// Address that is reserved for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) address: Ipv4Addr,
    pub(super) place: AddressLocation,
}

impl Transaction<'_> {
    /// Returns the subnets of the client's link that serve it, beginning with `first`.
    pub(super) fn open_subnets(&self, first: SubnetIndex) -> impl Iterator<Item = SubnetIndex> {
        let snapshot = self.snapshot;
        let open = |subnet: &SubnetIndex| snapshot.admits(*subnet, &self.known.classes);
        snapshot.neighbors(first).iter().copied().filter(open)
    }

    /// Returns the addresses that the client may have a claim to, whatever lease it has.
    pub(super) fn possible_claims(&self) -> impl Iterator<Item = Ipv4Addr> {
        let hosts = &self.known.hosts;
        let found = hosts.in_subnets().map(|(_, host)| host).chain(hosts.global());
        found.filter_map(|host| self.reserved(host))
    }

    fn reserved(&self, host: HostIndex) -> Option<Ipv4Addr> {
        self.hosts.get(host).addresses().next()
    }

    /// Returns the client's host in `subnet` itself, where such hosts count.
    fn own_host(&self, subnet: SubnetIndex) -> Option<HostIndex> {
        self.known.hosts.of(subnet).filter(|_| self.snapshot.subnet(subnet).modes.in_subnet)
    }

    /// Returns the address that the client has a claim to. Reservations of the subnet where it has
    /// a lease go first, then those of the others in turn, where they have an address; otherwise
    /// the global one counts where it fits.
    pub(super) fn claim(&self, facts: &Facts) -> Option<Claim> {
        let (snapshot, selected) = (self.snapshot, self.subnet?);
        if self.known.hosts.is_empty() {
            return None;
        }
        let leased = facts.mine().filter(|slot| slot.occupancy == SlotOccupancy::Leased);
        let first = leased
            .filter_map(|slot| self.subnet_with(selected, slot.address))
            .next()
            .unwrap_or(selected);
        for subnet in self.open_subnets(first) {
            let Some(host) = self.own_host(subnet) else { continue };
            let Some(address) = self.reserved(host) else { continue };
            if !snapshot.subnet(subnet).modes.out_of_pool || !self.is_pooled(subnet, address) {
                return Some(self.claim_to(subnet, address));
            }
        }
        let address = self.reserved(self.known.hosts.global()?)?;
        let fits = |subnet: &SubnetIndex| {
            snapshot.subnet(*subnet).modes.global && snapshot.contains(*subnet, address)
        };
        let subnet = self.open_subnets(first).find(fits)?;
        Some(self.claim_to(subnet, address))
    }

    /// Returns the addresses of further reservations of the client in pools of its link. In a
    /// subnet, the first host that its identifiers lead to counts, but no other client may have the
    /// addresses of the others.
    pub(super) fn further_reserved(&self) -> impl Iterator<Item = Ipv4Addr> {
        let found = self.known.hosts.in_subnets().flat_map(|(subnet, first)| {
            let scope = ReservationScope::Subnet(self.snapshot.subnet(subnet).id);
            let all = self.identifiers.find_all(self.hosts, scope);
            all.filter(move |&host| host != first).filter_map(|host| self.reserved(host))
        });
        found.filter(|&address| self.pool_place(address).is_some() && !self.is_for_others(address))
    }

    fn claim_to(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Claim {
        let found = self.snapshot.place(subnet, address);
        let pool = found.filter(|place| place.subnet == subnet).map(|place| place.pool);
        Claim { address, place: AddressLocation { subnet, pool } }
    }

    /// Returns the pool of the client's link that has `address`. The result is cached, since
    /// callers repeat the same address.
    fn place_on_link(&self, address: Ipv4Addr) -> Option<PoolPlace> {
        if let Some((known, place)) = self.placed.get()
            && known == address
        {
            return place;
        }
        let place = self.snapshot.place(self.subnet?, address);
        self.placed.set(Some((address, place)));
        place
    }

    /// Returns the subnet and pool from which the client may get `address`.
    pub(super) fn pool_place(&self, address: Ipv4Addr) -> Option<AddressLocation> {
        let found = self.place_on_link(address)?;
        let is_admitted =
            self.is_open || self.snapshot.admits_to_pool(found.pool, &self.known.classes);
        is_admitted.then_some(AddressLocation { subnet: found.subnet, pool: Some(found.pool) })
    }

    /// Returns true if any pool of the link has `address`, for this client or for others.
    pub(super) fn is_ours(&self, address: Ipv4Addr) -> bool {
        self.place_on_link(address).is_some()
    }

    /// Returns true if `address` is reserved for other clients only. Where reservations lie outside
    /// of pools, addresses in pools count as not reserved.
    pub(super) fn is_for_others(&self, address: Ipv4Addr) -> bool {
        let hosts = self.hosts;
        if hosts.is_empty() {
            return false;
        }
        let Some(subnet) = self.subnet.and_then(|subnet| self.subnet_with(subnet, address)) else {
            return false;
        };
        let terms = self.snapshot.subnet(subnet);
        let counts =
            terms.modes.in_subnet && (!terms.modes.out_of_pool || !self.is_pooled(subnet, address));
        if !counts {
            return false;
        }
        let own = self.known.hosts.of(subnet).and_then(|host| self.reserved(host));
        if own == Some(address) {
            // The client may have the address, whichever other hosts have it, too: no look-up is
            // needed.
            return false;
        }
        let mut owners = hosts.owners_of(ReservationScope::Subnet(terms.id), address).peekable();
        owners.peek().is_some() && !owners.any(|host| self.identifiers.tell(hosts, host))
    }

    /// Returns the addresses that a look-up has found to be reserved for the client. The lease
    /// table may not know yet that clients may have them.
    pub(super) fn found_claims(&self) -> impl Iterator<Item = Ipv4Addr> {
        let is_found = |host: &HostIndex| matches!(host, HostIndex::Found(_));
        let in_subnets = self.known.hosts.in_subnets().filter_map(move |(subnet, host)| {
            let address = self.reserved(host).filter(|_| is_found(&host))?;
            let modes = self.snapshot.subnet(subnet).modes;
            (!modes.out_of_pool || !self.is_pooled(subnet, address)).then_some(address)
        });
        let global = self.known.hosts.global().filter(is_found);
        let global = global.and_then(|host| self.reserved(host));
        // Kea protects only addresses reserved in a subnet.
        let is_open = |&address: &Ipv4Addr| self.subnet.is_some() && !self.is_ours(address);
        in_subnets.chain(global.filter(is_open))
    }

    /// Returns a slot reserved for others that the client holds, or was about to get: reservations
    /// are looked up after an address was claimed.
    pub(super) fn stray(&self, facts: &Facts) -> Option<SlotView> {
        if !self.hosts.looks_up() {
            return None;
        }
        let held = facts.mine().filter(|slot| slot.occupancy == SlotOccupancy::Held).copied();
        let stray = held.chain(facts.candidate).find(|slot| self.is_for_others(slot.address));
        stray.filter(|_| !self.hosts.has_missed())
    }

    /// Returns the subnet on the link of `near` that `address` belongs to: that of its pool, else
    /// the first that contains it.
    fn subnet_with(&self, near: SubnetIndex, address: Ipv4Addr) -> Option<SubnetIndex> {
        let snapshot = self.snapshot;
        let pooled = snapshot.place(near, address).map(|place| place.subnet);
        pooled.or_else(|| {
            snapshot.neighbors(near).iter().copied().find(|&at| snapshot.contains(at, address))
        })
    }

    fn is_pooled(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        self.snapshot.place(subnet, address).is_some_and(|place| place.subnet == subnet)
    }
}
