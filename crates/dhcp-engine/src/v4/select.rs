//! Which subnet a message belongs to (Kea reference §5.4), by binary search instead of a scan.
//!
//! Prefixes nest or are disjoint, so the address space is cut once into intervals that each name
//! the first subnet, in configuration order, whose prefix contains them.

use core::net::Ipv4Addr;

use dhcp_wire::v4::{Message, option, relay};

use super::{Ingress, Snapshot};
use crate::InterfaceNames;

/// A subnet's position in the configuration.
pub type SubnetIndex = u32;

/// The subnet of a message: that of the link it names (option 82.5 or 118), of its relay, or of the
/// link that it came over.
pub(super) fn subnet(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
    interfaces: &InterfaceNames,
) -> Option<SubnetIndex> {
    let link = message
        .relay_agent_information()
        .and_then(relay::link_selection)
        .or_else(|| message.option(option::SUBNET_SELECTION).and_then(|value| value.address()));
    if let Some(link) = link {
        return snapshot.subnet_by_prefix(link);
    }
    let relay = message.giaddr();
    if relay.is_unspecified() {
        return subnet_of_direct(snapshot, message, ingress, interfaces);
    }
    snapshot.subnet_by_relay(relay).or_else(|| snapshot.subnet_by_prefix(relay))
}

/// A client that sends to our address has one itself, and that tells its subnet. One that sends to
/// all may have an address of another link, so the interface tells.
fn subnet_of_direct(
    snapshot: &Snapshot,
    message: &Message<'_>,
    ingress: Ingress,
    interfaces: &InterfaceNames,
) -> Option<SubnetIndex> {
    let addresses = [message.ciaddr(), *ingress.source.ip()];
    if let Some(&address) = addresses.iter().find(|address| !address.is_unspecified())
        && !ingress.is_broadcast
    {
        return snapshot.subnet_by_prefix(address);
    }
    interfaces
        .name(ingress.interface)
        .and_then(|name| snapshot.subnet_by_interface(name))
        .or_else(|| snapshot.subnet_by_prefix(ingress.local))
}

/// A sorted table from addresses to subnets.
#[derive(Clone, Debug, Default)]
pub struct PrefixTable {
    /// (first address, last address, subnet), disjoint, ascending.
    intervals: Vec<(u32, u32, SubnetIndex)>,
}

impl PrefixTable {
    /// The table of `prefixes`: (first address, last address, subnet), in configuration order,
    /// each pair nested or disjoint.
    #[must_use]
    pub fn new(prefixes: &[(u32, u32, SubnetIndex)]) -> Self {
        let mut sorted = prefixes.to_vec();
        // Outer prefixes before inner ones, so that a stack mirrors the nesting.
        sorted.sort_by_key(|&(first, last, subnet)| (first, u32::MAX - last, subnet));
        let mut builder = Builder::default();
        for prefix in sorted {
            builder.close_before(prefix.0);
            builder.open(prefix);
        }
        builder.close_all();
        Self { intervals: builder.intervals }
    }

    /// The subnet whose prefix contains `address`.
    #[must_use]
    pub fn find(&self, address: Ipv4Addr) -> Option<SubnetIndex> {
        let address = u32::from(address);
        let after = self.intervals.partition_point(|&(first, _, _)| first <= address);
        let &(_, last, subnet) = self.intervals.get(after.checked_sub(1)?)?;
        (address <= last).then_some(subnet)
    }
}

#[derive(Default)]
struct Builder {
    /// Open prefixes, outermost first: (last address, winner among this one and all outer ones).
    stack: Vec<(u32, SubnetIndex)>,
    /// First address that no interval covers yet.
    next: u64,
    intervals: Vec<(u32, u32, SubnetIndex)>,
}

impl Builder {
    fn open(&mut self, (first, last, subnet): (u32, u32, SubnetIndex)) {
        if let Some(&(_, winner)) = self.stack.last() {
            self.emit_until(first, winner);
        }
        self.next = self.next.max(u64::from(first));
        let winner = self.stack.last().map_or(subnet, |&(_, outer)| outer.min(subnet));
        self.stack.push((last, winner));
    }

    fn close_before(&mut self, address: u32) {
        while let Some(&(last, winner)) = self.stack.last() {
            if last >= address {
                break;
            }
            self.finish(last, winner);
        }
    }

    fn close_all(&mut self) {
        while let Some(&(last, winner)) = self.stack.last() {
            self.finish(last, winner);
        }
    }

    fn finish(&mut self, last: u32, winner: SubnetIndex) {
        if self.next <= u64::from(last) {
            self.intervals.push((self.next as u32, last, winner));
            self.next = u64::from(last) + 1;
        }
        self.stack.pop();
    }

    fn emit_until(&mut self, first: u32, winner: SubnetIndex) {
        if self.next < u64::from(first) {
            self.intervals.push((self.next as u32, first - 1, winner));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn agrees_with_a_linear_scan() {
        let mut random = Random::from_seed(11);
        for _ in 0..2_000 {
            let count = random.below(12);
            let prefixes: Vec<(u32, u32, SubnetIndex)> = (0..count)
                .map(|subnet| {
                    let len = random.below(9) as u32;
                    let size = 1_u32 << (8 - len);
                    let first = (random.below(256) as u32) / size * size;
                    (first, first + (size - 1), subnet as u32)
                })
                .collect();
            let table = PrefixTable::new(&prefixes);
            for address in 0..300_u32 {
                let scanned = prefixes.iter().find(|p| p.0 <= address && address <= p.1);
                assert_eq!(
                    table.find(Ipv4Addr::from(address)),
                    scanned.map(|p| p.2),
                    "{address} in {prefixes:?}"
                );
            }
        }
    }

    #[test]
    fn the_last_address_of_all_belongs_to_a_default_prefix() {
        let table = PrefixTable::new(&[(0, u32::MAX, 0)]);
        assert_eq!(table.find(Ipv4Addr::BROADCAST), Some(0));
        assert_eq!(PrefixTable::default().find(Ipv4Addr::LOCALHOST), None);
    }
}
