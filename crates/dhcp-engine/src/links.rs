//! Which subnets share a link (a shared network, or one subnet alone) and where the pools of a
//! link lie.

use dhcp_lease::PoolIndex;

use crate::prefixes::{AddressBits, SubnetIndex};

/// The lease table's name of a configured allocator.
pub(crate) const fn allocator(configured: dhcp_config::Allocator) -> dhcp_lease::Allocator {
    match configured {
        dhcp_config::Allocator::Iterative => dhcp_lease::Allocator::Iterative,
        dhcp_config::Allocator::Random => dhcp_lease::Allocator::Random,
        dhcp_config::Allocator::FreeLeaseQueue => dhcp_lease::Allocator::FreeLeaseQueue,
    }
}

/// The links of a configuration, with pools of one kind.
#[derive(Debug)]
pub struct Links<A> {
    links: Vec<Link<A>>,
    /// Position of each subnet's link.
    link_of: Vec<usize>,
    /// The subnets of each link in their order, twice over.
    members: Vec<Vec<SubnetIndex>>,
}

#[derive(Debug)]
struct Link<A> {
    /// Pools of all subnets in their order, twice over: from every place on, all of them follow.
    pool_order: Vec<PoolIndex>,
    /// Whose they are, once.
    owners: Vec<SubnetIndex>,
    /// (first, last, pool, subnet), ascending.
    ranges: Vec<(A, A, PoolIndex, SubnetIndex)>,
}

impl<A> Link<A> {
    fn once(&self) -> &[PoolIndex] {
        &self.pool_order[..self.owners.len()]
    }
}

/// Where an address lies within a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPlace {
    /// The pool.
    pub pool: PoolIndex,
    /// The pool's subnet.
    pub subnet: SubnetIndex,
}

impl<A: AddressBits> Links<A> {
    /// The links of subnets that are each in one of `network_count` shared networks or in none.
    pub fn new(network_count: usize, networks: impl Iterator<Item = Option<usize>>) -> Self {
        let empty = || Link { pool_order: Vec::new(), owners: Vec::new(), ranges: Vec::new() };
        let mut links: Vec<_> = (0..network_count).map(|_| empty()).collect();
        let link_of: Vec<usize> = networks
            .map(|network| {
                network.unwrap_or_else(|| {
                    links.push(empty());
                    links.len() - 1
                })
            })
            .collect();
        let mut members = vec![Vec::new(); links.len()];
        for (&link, subnet) in link_of.iter().zip(0..) {
            members[link].push(subnet);
        }
        members.iter_mut().for_each(|subnets: &mut Vec<_>| subnets.extend_from_within(..));
        Self { links, link_of, members }
    }

    /// Adds a pool of `subnet`, after those that allocation tries before it. Subnets come in their
    /// order.
    pub fn add_pool(&mut self, subnet: SubnetIndex, pool: PoolIndex, (first, last): (A, A)) {
        let link = &mut self.links[self.link_of[subnet as usize]];
        link.pool_order.insert(link.owners.len(), pool);
        link.pool_order.push(pool);
        link.owners.push(subnet);
        let at = link.ranges.partition_point(|&(other, ..)| other <= first);
        link.ranges.insert(at, (first, last, pool, subnet));
    }

    /// The subnets that share a link with `first`, itself first, then those behind it, then those
    /// before it.
    #[must_use]
    pub fn subnets_from(&self, first: SubnetIndex) -> &[SubnetIndex] {
        let members = &self.members[self.link_of(first)];
        let once = members.len() / 2;
        let start = members[..once].partition_point(|&subnet| subnet < first);
        &members[start..start + once]
    }

    /// The pools that allocation may use for a message selected into `subnet`, in order.
    #[must_use]
    pub fn pool_order(&self, subnet: SubnetIndex) -> &[PoolIndex] {
        self.link(subnet).once()
    }

    /// The same, beginning with the pools of `first`, which shares the link.
    #[must_use]
    pub fn pool_order_from(&self, first: SubnetIndex) -> &[PoolIndex] {
        let link = self.link(first);
        let start = link.owners.partition_point(|&owner| owner < first);
        &link.pool_order[start..start + link.owners.len()]
    }

    /// The pool that holds `address`, among those that share a link with `subnet`.
    #[must_use]
    pub fn place(&self, subnet: SubnetIndex, address: A) -> Option<PoolPlace> {
        let ranges = &self.link(subnet).ranges;
        let after = ranges.partition_point(|&(first, ..)| first <= address);
        let &(_, last, pool, subnet) = ranges.get(after.checked_sub(1)?)?;
        (address <= last).then_some(PoolPlace { pool, subnet })
    }

    /// Position of the link that `subnet` is on: in [`Self::pool_orders`].
    #[must_use]
    pub fn link_of(&self, subnet: SubnetIndex) -> usize {
        self.link_of[subnet as usize]
    }

    /// The orders of allocation of all links.
    pub fn pool_orders(&self) -> impl Iterator<Item = &[PoolIndex]> {
        self.links.iter().map(Link::once)
    }

    /// Whether two subnets are on one link.
    #[must_use]
    pub fn is_shared(&self, one: SubnetIndex, other: SubnetIndex) -> bool {
        self.link_of[one as usize] == self.link_of[other as usize]
    }

    fn link(&self, subnet: SubnetIndex) -> &Link<A> {
        &self.links[self.link_of[subnet as usize]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_a_shared_network_serve_all_its_subnets() {
        let mut links = Links::<u32>::new(1, [Some(0), Some(0), None].into_iter());
        links.add_pool(0, PoolIndex(0), (200, 299));
        links.add_pool(1, PoolIndex(1), (100, 199));
        links.add_pool(2, PoolIndex(2), (300, 399));
        assert_eq!(links.pool_order(1), [PoolIndex(0), PoolIndex(1)]);
        assert_eq!(links.pool_order_from(0), [PoolIndex(0), PoolIndex(1)]);
        assert_eq!(links.pool_order_from(1), [PoolIndex(1), PoolIndex(0)]);
        assert_eq!(links.place(1, 250), Some(PoolPlace { pool: PoolIndex(0), subnet: 0 }));
        assert_eq!(links.subnets_from(1), [1, 0]);
        assert_eq!(links.subnets_from(2), [2]);
        assert_eq!(links.place(0, 99), None);
        assert_eq!(links.place(0, 300), None);
        assert!(links.is_shared(0, 1) && !links.is_shared(0, 2));
    }
}
