//! The clients and pools of a simulated server.

use std::net::Ipv6Addr;

use dhcp_lease::sample::{Sample, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::{IaIdentity, IaKind, PoolSpec, V6};
use dhcp_lease::{Identity, LeaseState};
use dhcp_store::RowCodec;

/// Addresses (or prefixes) in each pool.
const ADDRESSES: u32 = 30;
/// Number of the address before a pool: 10.0.0.0.
const BASE: u32 = 0x0a00_0000;

/// A family that a server can live with.
pub trait Lived: Sample + RowCodec {
    /// The client with `number`, which asks for what pool number `number` modulo the pools has.
    fn identity<'a>(number: u32) -> Self::Identity<'a>;

    /// The pools.
    fn pools() -> Vec<Self::Spec>;

    /// What a loaded lease of that client tells it by.
    fn client_octets(number: u32) -> Vec<u8> {
        let lease = Self::lease(&SampleLease {
            address: 0,
            client: number,
            valid_lifetime_s: 1,
            cltt_s: 0,
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        });
        Self::sample(&lease).client
    }
}

static CLIENT_IDS: [[u8; 2]; 64] = {
    let mut ids = [[1, 0]; 64];
    let mut number = 0;
    while number < ids.len() {
        ids[number][1] = number as u8;
        number += 1;
    }
    ids
};

impl Lived for V4 {
    fn identity<'a>(number: u32) -> Identity<'a> {
        let client_id = &CLIENT_IDS[number as usize][..];
        let has_one = number.is_multiple_of(2);
        Identity { client_id: has_one.then_some(client_id), ..Self::client(number) }
    }

    fn pools() -> Vec<Self::Spec> {
        vec![Self::pool(BASE + 1, BASE + ADDRESSES)]
    }
}

impl Lived for V6 {
    fn identity<'a>(number: u32) -> IaIdentity<'a> {
        let kind = if number.is_multiple_of(2) { IaKind::Address } else { IaKind::Prefix };
        IaIdentity { kind, ..Self::client(number) }
    }

    fn pools() -> Vec<PoolSpec> {
        let addresses = Self::pool(BASE + 1, BASE + ADDRESSES);
        let first = addresses.first.to_bits() & (u128::MAX << 80);
        let last = first | (u128::from(ADDRESSES) - 1) << 72;
        let (first, last) = (Ipv6Addr::from_bits(first), Ipv6Addr::from_bits(last));
        let prefixes = PoolSpec { kind: IaKind::Prefix, len: 56, first, last, ..addresses };
        vec![addresses, prefixes]
    }
}
