//! Tests of the two keys that DHCPv4 clients have: hardware address and client identifier.

use super::*;
use crate::Identity;
use crate::v4::V4;

/// Checks that a client is known by either key, such as one whose boot loader sends no client
/// identifier.
pub fn an_identity_is_known_by_either_key<B: StoreFactory<Family = V4>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let full = Identity { client_id: Some(b"first"), ..client::<B>(1) };
    bench.make(full, address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 1);
    let moved = Identity { client_id: Some(b"first"), ..client::<B>(2) };
    assert_eq!(bench.fetch(moved, None, &[]).client_slot_count, 1);
    assert_eq!(bench.fetch(client::<B>(2), None, &[]).client_slot_count, 0);
    bench.make(moved, address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(client::<B>(2), None, &[]).client_slot_count, 1);
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0);
}

/// Checks that client identifiers decide who owns a lease, unless the subnet is configured
/// otherwise.
pub fn clients_with_one_hardware_address_are_told_apart<B: StoreFactory<Family = V4>>(
    backend: &mut B,
) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let first = Identity { client_id: Some(b"first"), ..client::<B>(1) };
    let second = Identity { client_id: Some(b"second"), ..client::<B>(1) };
    bench.make(first, address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.fetch(second, None, &[]).client_slot_count, 0);
    assert_eq!(bench.slot(second, address::<B>(10)).owner, SlotOwner::Other);
    let by_hardware = Identity { match_client_id: false, ..second };
    assert_eq!(bench.fetch(by_hardware, None, &[]).client_slot_count, 1);
    assert_eq!(bench.slot(by_hardware, address::<B>(10)).owner, SlotOwner::Requester);
}
