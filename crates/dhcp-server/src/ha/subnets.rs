//! Subnets of a relationship: those whose `ha-server-name` is the name of one of its servers.

use std::sync::Arc;

use crate::service::SubnetSummary;

/// Subnets of the configuration in force, as a relationship sees them.
#[derive(Clone, Debug)]
pub(super) struct RelationshipSubnets {
    /// Summaries of all subnets, sorted by `id`.
    pub(super) all: Arc<[SubnetSummary]>,
    /// Numbers (`id`) of the subnets that belong to the relationship, ascending.
    own: Vec<u32>,
    /// True if the server has other relationships, too.
    is_one_of_several: bool,
}

impl RelationshipSubnets {
    /// Returns the view of the relationship number `number` of `count` on the subnets `all`.
    pub(super) fn new(all: &Arc<[SubnetSummary]>, number: usize, count: usize) -> Self {
        let own = all.iter().filter(|subnet| subnet.relationship == Some(number));
        let mut own: Vec<u32> = own.map(|subnet| subnet.facts.id).collect();
        own.sort_unstable();
        Self { all: Arc::clone(all), own, is_one_of_several: count > 1 }
    }

    /// Returns true if leases of the subnet `id` are copied from other servers of the relationship.
    /// If the server has one relationship, and no subnet names it, all leases are.
    pub(super) fn copies(&self, id: u32) -> bool {
        let is_of_all = !self.is_one_of_several && self.own.is_empty();
        is_of_all || self.own.binary_search(&id).is_ok()
    }

    /// Returns true if changes of leases of the subnet `id` are sent to the other servers of the
    /// relationship. If the server has one relationship, all are.
    pub(super) fn updates(&self, id: u32) -> bool {
        !self.is_one_of_several || self.own.binary_search(&id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use dhcp_control::SubnetFacts;

    use super::*;

    fn subnets(relationships: &[Option<usize>]) -> Arc<[SubnetSummary]> {
        let prefix = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let summary = |(id, relationship): (u32, &Option<usize>)| SubnetSummary {
            facts: SubnetFacts { id, prefix, length: 24, valid_lifetime_s: 60 },
            network: None,
            pools: Vec::new(),
            prefix_pools: Vec::new(),
            relationship: *relationship,
        };
        (1..).zip(relationships).map(summary).collect()
    }

    /// Returns if a relationship copies and updates leases of the subnets 1 and 2.
    fn view(relationships: &[Option<usize>], number: usize, count: usize) -> [[bool; 2]; 2] {
        let view = RelationshipSubnets::new(&subnets(relationships), number, count);
        [1, 2].map(|id| [view.copies(id), view.updates(id)])
    }

    #[test]
    fn the_only_relationship_has_all_updates_and_copies_what_names_it() {
        assert_eq!(view(&[None, None], 0, 1), [[true, true]; 2]);
        assert_eq!(view(&[None, Some(0)], 0, 1), [[false, true], [true, true]]);
    }

    #[test]
    fn each_of_several_relationships_has_its_subnets_only() {
        let named = [Some(1), Some(0)];
        assert_eq!(view(&named, 0, 2), [[false; 2], [true; 2]]);
        assert_eq!(view(&named, 1, 2), [[true; 2], [false; 2]]);
        assert_eq!(view(&[None, None], 0, 2), [[false; 2]; 2]);
    }
}
