//! Pages of leases for a partner that copies them: with leases that their clients have released and
//! that the partner may still have, where the lease table has no lease.

use std::collections::BTreeMap;

use dhcp_lease::{Lease, ReleasedLeases};

use crate::service::DaemonFamily;

/// Adds to `leases`, the page of at most `limit` leases after the address `after` in ascending
/// order, those of `released` that belong there at the second `now_s`. What exceeds `limit` then
/// belongs to the next page.
pub(super) fn add_released<P: DaemonFamily>(
    leases: &mut Vec<Lease<P>>,
    released: &ReleasedLeases<P>,
    after: Option<P::Ip>,
    limit: usize,
    now_s: u64,
) {
    let end = leases.last().filter(|_| leases.len() == limit).map(|last| P::ip(last.address));
    let mut added = BTreeMap::new();
    released.for_each(now_s, &mut |release| {
        let key = (P::ip(release.address), release.address);
        let is_in_page =
            after.is_none_or(|after| key.0 > after) && end.is_none_or(|end| key.0 <= end);
        let is_too_many =
            added.len() >= limit && added.last_key_value().is_some_and(|(last, _)| *last < key);
        if !is_in_page || is_too_many {
            return;
        }
        let first = leases.partition_point(|lease| P::ip(lease.address) < key.0);
        let mut same = leases.iter().skip(first).take_while(|lease| P::ip(lease.address) == key.0);
        if same.all(|lease| lease.address != release.address) {
            added.insert(key, release.clone());
            if added.len() > limit {
                added.pop_last();
            }
        }
    });
    if !added.is_empty() {
        leases.extend(added.into_values());
        leases.sort_by_key(|lease| P::ip(lease.address));
        leases.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use base::HostName;
    use dhcp_lease::LeaseState;
    use dhcp_lease::v4::{LeaseClient, V4};

    use super::*;

    const END_S: u64 = 900;

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 0, 2, last)
    }

    fn lease(last: u8, state: LeaseState) -> Lease<V4> {
        Lease {
            address: address(last),
            client: LeaseClient::default(),
            valid_lifetime_s: 600,
            cltt_s: 100,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: HostName::default(),
            state,
            user_context: Box::default(),
            extra: (),
        }
    }

    /// Returns the pages of at most `limit` leases of a table with leases of `table` and a list
    /// with releases of `released`, as last octets.
    fn pages(table: &[u8], released: &[u8], limit: usize) -> Vec<Vec<u8>> {
        let list = ReleasedLeases::default();
        for last in released {
            list.add(lease(*last, LeaseState::Released), END_S, 100);
        }
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let rest =
                table.iter().filter(|last| after.is_none_or(|after| address(**last) > after));
            let mut page: Vec<Lease<V4>> =
                rest.take(limit).map(|last| lease(*last, LeaseState::Assigned)).collect();
            add_released(&mut page, &list, after, limit, 200);
            let is_last = page.len() < limit;
            after = page.last().map(|last| last.address);
            // A release must not displace the lease of its address.
            let is_right = |lease: &Lease<V4>| {
                (lease.state == LeaseState::Assigned) == table.contains(&lease.address.octets()[3])
            };
            assert!(page.iter().all(is_right), "{page:?}");
            pages.push(page.iter().map(|lease| lease.address.octets()[3]).collect());
            if is_last {
                return pages;
            }
        }
    }

    #[test]
    fn each_lease_and_each_release_is_in_one_page() {
        assert_eq!(pages(&[2, 4, 6], &[], 2), [vec![2, 4], vec![6]]);
        assert_eq!(
            pages(&[2, 4, 6], &[1, 4, 5, 9], 2),
            [vec![1, 2], vec![4, 5], vec![6, 9], vec![]]
        );
        assert_eq!(pages(&[], &[3, 1, 2], 2), [vec![1, 2], vec![3]]);
        assert_eq!(pages(&[5], &[1, 2, 3, 4, 6], 3), [vec![1, 2, 3], vec![4, 5, 6], vec![]]);
    }

    #[test]
    fn a_release_is_in_no_page_when_the_lease_would_have_ended() {
        let list = ReleasedLeases::default();
        list.add(lease(1, LeaseState::Released), END_S, 100);
        for (now_s, count) in [(END_S - 1, 1), (END_S, 0)] {
            let mut page = Vec::new();
            add_released(&mut page, &list, None, 9, now_s);
            assert_eq!(page.len(), count, "at {now_s}");
        }
    }
}
