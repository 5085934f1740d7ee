//! Links: the subnets that share a link (a shared network, or one subnet alone), and the positions
//! of a link's pools.

use base::AddressBits;
use dhcp_lease::PoolIndex;

use crate::prefixes::SubnetIndex;

/// Returns the allocator of the lease table for Kea's setting `allocator` (iterative, random or
/// free lease queue).
pub(crate) const fn allocator(configured: dhcp_config::AllocatorKind) -> dhcp_lease::Allocator {
    match configured {
        dhcp_config::AllocatorKind::Iterative => dhcp_lease::Allocator::Iterative,
        dhcp_config::AllocatorKind::Random => dhcp_lease::Allocator::Random,
        dhcp_config::AllocatorKind::FreeLeaseQueue => dhcp_lease::Allocator::FreeLeaseQueue,
    }
}

/// Links of a configuration, with their pools of one kind: addresses or prefixes.
#[derive(Debug)]
pub struct Links<A> {
    links: Vec<LinkPools<A>>,
    /// Position of each subnet within its link, by [`SubnetIndex`].
    positions: Vec<LinkPosition>,
    /// Subnets of each link in their order. The list is stored twice in a row, so that from each
    /// position of the first copy all subnets of the link follow.
    members: Vec<Vec<SubnetIndex>>,
}

/// Position of a subnet among the others of its link.
#[derive(Clone, Copy, Debug)]
struct LinkPosition {
    link: u32,
    /// Position of the subnet among the subnets of its link.
    member_at: u32,
    /// Number of pools of the subnets that come before this one on the link.
    pools_before: u32,
}

#[derive(Debug)]
struct LinkPools<A> {
    /// Pools of the link's subnets in their order. The list is stored twice in a row, so that from
    /// each position of the first copy all pools follow.
    pool_order: Vec<PoolIndex>,
    /// Number of pools on the link.
    pool_count: usize,
    /// Address ranges of the link's pools as (first, last, pool, subnet), ascending.
    ranges: Vec<(A, A, PoolIndex, SubnetIndex)>,
}

impl<A> LinkPools<A> {
    fn once(&self) -> &[PoolIndex] {
        &self.pool_order[..self.pool_count]
    }
}

/// Pool and subnet that an address on a link belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLocation {
    /// Pool that contains the address.
    pub pool: PoolIndex,
    /// Subnet that the pool belongs to.
    pub subnet: SubnetIndex,
}

impl<A: AddressBits> Links<A> {
    /// Returns the links of the subnets in `networks`, which gives for each one its shared network,
    /// of `network_count`, or none.
    pub fn new(network_count: usize, networks: impl Iterator<Item = Option<usize>>) -> Self {
        let empty = || LinkPools { pool_order: Vec::new(), pool_count: 0, ranges: Vec::new() };
        let mut links: Vec<_> = (0..network_count).map(|_| empty()).collect();
        let mut members: Vec<Vec<SubnetIndex>> = vec![Vec::new(); network_count];
        let mut positions = Vec::new();
        for (network, subnet) in networks.zip(0..) {
            let link = network.unwrap_or_else(|| {
                links.push(empty());
                members.push(Vec::new());
                links.len() - 1
            });
            let member_at = members[link].len() as u32;
            positions.push(LinkPosition { link: link as u32, member_at, pools_before: 0 });
            members[link].push(subnet);
        }
        members.iter_mut().for_each(|subnets| subnets.extend_from_within(..));
        Self { links, positions, members }
    }

    /// Adds a pool of `subnet` to the subnet's link, with the addresses from `first` to `last`,
    /// after the pools that allocation tries before it. Callers add pools in the order of their
    /// subnets.
    pub fn add_pool(&mut self, subnet: SubnetIndex, pool: PoolIndex, first: A, last: A) {
        let position = self.positions[subnet as usize];
        let members = &self.members[position.link as usize];
        let later_members = &members[position.member_at as usize + 1..members.len() / 2];
        later_members.iter().for_each(|&member| self.positions[member as usize].pools_before += 1);
        let link = &mut self.links[position.link as usize];
        link.pool_order.insert(link.pool_count, pool);
        link.pool_order.push(pool);
        link.pool_count += 1;
        let at = link.ranges.partition_point(|&(other, ..)| other <= first);
        link.ranges.insert(at, (first, last, pool, subnet));
    }

    /// Returns the subnets that share a link with `first`: first itself, then the subnets after it,
    /// then those before it.
    #[must_use]
    pub fn subnets_from(&self, first: SubnetIndex) -> &[SubnetIndex] {
        let LinkPosition { link, member_at, .. } = self.positions[first as usize];
        let members = &self.members[link as usize];
        let once = members.len() / 2;
        let start = member_at as usize;
        &members[start..start + once]
    }

    /// Returns the pools that allocation may use for a message whose subnet is `subnet`, in the
    /// order of the search.
    #[must_use]
    pub fn pool_order(&self, subnet: SubnetIndex) -> &[PoolIndex] {
        self.link(subnet).once()
    }

    /// Returns the pools of the link of `first` in order, beginning with the pools of `first`
    /// itself.
    #[must_use]
    pub fn pool_order_from(&self, first: SubnetIndex) -> &[PoolIndex] {
        let link = self.link(first);
        let start = self.positions[first as usize].pools_before as usize;
        &link.pool_order[start..start + link.pool_count]
    }

    /// Returns the pool that contains `address`, among the pools of the subnets that share a link
    /// with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, address: A) -> Option<PoolLocation> {
        let ranges = &self.link(subnet).ranges;
        let after = ranges.partition_point(|&(first, ..)| first <= address);
        let &(_, last, pool, subnet) = ranges.get(after.checked_sub(1)?)?;
        (address <= last).then_some(PoolLocation { pool, subnet })
    }

    /// Returns the position in [`Self::pool_orders`] of the link that `subnet` is on.
    #[must_use]
    pub fn link_of(&self, subnet: SubnetIndex) -> usize {
        self.positions[subnet as usize].link as usize
    }

    /// Returns the pools of each link, in the order in which allocation searches them.
    pub fn pool_orders(&self) -> impl Iterator<Item = &[PoolIndex]> {
        self.links.iter().map(LinkPools::once)
    }

    /// Returns true if the two subnets `one` and `other` are on one link.
    #[must_use]
    pub fn is_shared(&self, one: SubnetIndex, other: SubnetIndex) -> bool {
        self.link_of(one) == self.link_of(other)
    }

    fn link(&self, subnet: SubnetIndex) -> &LinkPools<A> {
        &self.links[self.link_of(subnet)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_a_shared_network_serve_all_its_subnets() {
        let mut links = Links::<u32>::new(1, [Some(0), Some(0), None].into_iter());
        links.add_pool(0, PoolIndex(0), 200, 299);
        links.add_pool(1, PoolIndex(1), 100, 199);
        links.add_pool(2, PoolIndex(2), 300, 399);
        assert_eq!(links.pool_order(1), [PoolIndex(0), PoolIndex(1)]);
        assert_eq!(links.pool_order_from(0), [PoolIndex(0), PoolIndex(1)]);
        assert_eq!(links.pool_order_from(1), [PoolIndex(1), PoolIndex(0)]);
        assert_eq!(links.find_pool(1, 250), Some(PoolLocation { pool: PoolIndex(0), subnet: 0 }));
        assert_eq!(links.subnets_from(1), [1, 0]);
        assert_eq!(links.subnets_from(2), [2]);
        assert_eq!(links.find_pool(0, 99), None);
        assert_eq!(links.find_pool(0, 300), None);
        assert!(links.is_shared(0, 1) && !links.is_shared(0, 2));
    }
}
