//! Implementation of the lease table for DHCPv4: the slot number of an address is the address
//! itself, and two keys identify a client.

use core::net::Ipv4Addr;
use core::ops::Range;

use base::Prefetch;

use super::{Detail, Lease, LeaseClient, PoolSpec, RowView, V4};
use crate::identity::HARDWARE_ADDRESS_MAX;
use crate::table::address_map::AddressMap;
use crate::table::index::{IdentityIndex, SlotNumberList};
use crate::table::overlap::Overlaps;
use crate::table::slot::LeaseSlot;
use crate::table::table_family::{
    ClientIndex, FamilySlotFields, OpeningPlan, SlotClientRelation, SlotNumberMap, TableFamily,
};
use crate::{ClientId, ClientKey, HardwareAddress, Identity};

const _: () = assert!(size_of::<LeaseSlot<V4>>() == 128, "a slot is two cache lines");

impl TableFamily for V4 {
    type SlotNumbers = DirectSlotNumbers;
    type Index = ByEitherKey;
    type SlotFields = LeaseClient;

    type Order = Ipv4Addr;

    const COUNTS_OUTSIDE: bool = true;

    fn order(address: Ipv4Addr) -> Ipv4Addr {
        address
    }

    fn capacity(spec: &PoolSpec) -> u128 {
        u128::from(u32::from(spec.last) - u32::from(spec.first)) + 1
    }

    fn set_extra(_slot: &mut LeaseSlot<Self>, _extra: &()) {}

    fn is_of(row: &RowView<'_>, key: ClientKey<'_>) -> bool {
        match key {
            ClientKey::Hardware(octets) => row.client.hardware.octets() == octets,
            ClientKey::Identifier(octets) => row.client.identifier() == Some(octets),
            ClientKey::Association(..) => false,
        }
    }

    fn indexed_by(lease: &Lease) -> Identity<'_> {
        let hardware = lease.client.hardware;
        // An identifier made from the hardware address has no entry of its own.
        let is_own = |octets: &&[u8]| hardware_in(octets) != Some(hardware);
        let client_id = lease.client.identifier().filter(is_own);
        Identity { hardware, client_id, match_client_id: true, hardware_only_subnets: &[] }
    }

    fn slot_fields(
        _address: Ipv4Addr,
        client: LeaseClient,
        _extra: &(),
    ) -> (LeaseClient, HardwareAddress) {
        (client, HardwareAddress::NONE)
    }
}

impl FamilySlotFields<V4> for LeaseClient {
    fn settle_at(&mut self, _address: Ipv4Addr) {}

    fn address(&self, slot_number: u32) -> Ipv4Addr {
        Ipv4Addr::from(slot_number)
    }

    fn detail(&self, identity: &Identity<'_>, is_leased: bool) -> Detail {
        Detail { is_same_client: is_leased && self.has_identity(identity) }
    }

    fn client(&self) -> &Self {
        self
    }

    fn extra(&self, _boxed: HardwareAddress) {}

    fn has_client(&self) -> bool {
        !self.hardware.is_empty() || self.client_id.is_some()
    }

    fn is_owned_by(&self, subnet_id: u32, identity: &Identity<'_>) -> bool {
        identity.owns(subnet_id, &self.hardware, self.identifier())
    }

    fn has_identity(&self, identity: &Identity<'_>) -> bool {
        self.hardware == identity.hardware && self.identifier() == identity.client_id
    }

    fn has_client_of(&self, other: &Self) -> bool {
        self.hardware == other.hardware && self.client_id == other.client_id
    }

    fn remember(&mut self, identity: &Identity<'_>) {
        self.hardware = identity.hardware;
        self.client_id = identity.client_id.map(ClientId::new);
    }

    fn forget(&mut self) {
        *self = Self::default();
    }

    fn end_term(&mut self) {}
}

/// Indexes of DHCPv4 slots by the client's hardware address and by its client identifier. An
/// identifier made from the hardware address, as most are, needs no entry of its own: the hardware
/// address leads to the slot.
pub struct ByEitherKey {
    by_hardware: IdentityIndex,
    by_client_id: IdentityIndex,
}

impl ByEitherKey {
    /// Returns the slot numbers of the entries of the client identifier `client_id` and of the
    /// hardware address that it is made from.
    fn led_to_by(&self, client_id: &[u8]) -> [SlotNumberList; 2] {
        let by_hardware =
            hardware_in(client_id).map_or(SlotNumberList::NONE, |key| self.by_hardware.find(&key));
        [self.by_client_id.find(client_id), by_hardware]
    }
}

/// Returns the hardware address that a client identifier is made from, if any (RFC 2132 §9.14).
fn hardware_in(client_id: &[u8]) -> Option<HardwareAddress> {
    match client_id {
        [htype, octets @ ..] if (1..=HARDWARE_ADDRESS_MAX).contains(&octets.len()) => {
            Some(HardwareAddress::new(*htype, octets))
        }
        _ => None,
    }
}

impl ClientIndex<V4> for ByEitherKey {
    fn new(seed: u64) -> Self {
        Self {
            by_hardware: IdentityIndex::new(seed),
            by_client_id: IdentityIndex::new(seed.rotate_left(32)),
        }
    }

    // An identifier leads to all slots of its client anyway.
    fn index_whole_clients(&mut self) {}

    fn reserve(&self, count: usize) {
        self.by_hardware.reserve(count);
        self.by_client_id.reserve(count);
    }

    fn insert(&self, client: &LeaseClient, slot_number: u32) {
        let is_led_to =
            !client.hardware.is_empty() && self.by_hardware.insert(&client.hardware, slot_number);
        if let Some(client_id) = client.identifier()
            && !(is_led_to && hardware_in(client_id) == Some(client.hardware))
        {
            self.by_client_id.insert(client_id, slot_number);
        }
    }

    fn remove(&self, client: &LeaseClient, slot_number: u32) {
        let was_led_to =
            !client.hardware.is_empty() && self.by_hardware.remove(&client.hardware, slot_number);
        if let Some(client_id) = client.identifier()
            && !(was_led_to && hardware_in(client_id) == Some(client.hardware))
        {
            self.by_client_id.remove(client_id, slot_number);
        }
    }

    fn visit(
        &self,
        identity: &Identity<'_>,
        mut visit: impl FnMut(u32, &Identity<'_>) -> SlotClientRelation,
    ) {
        let mut visited_slots = SlotNumberList::NONE;
        let mut is_any_in_use = false;
        if let Some(client_id) = identity.client_id
            && identity.match_client_id
        {
            // Slots with the hardware address and no identifier come second.
            let certain = Identity { hardware: HardwareAddress::NONE, ..*identity };
            let [first, second] = self.led_to_by(client_id);
            for &slot_number in first.slot_numbers().iter().chain(second.slot_numbers()) {
                let visited = visit(slot_number, &certain);
                is_any_in_use |= visited == SlotClientRelation::InUse;
                if visited != SlotClientRelation::Others {
                    visited_slots.push(slot_number);
                }
            }
        }
        if is_any_in_use || identity.hardware.is_empty() {
            return;
        }
        for &slot_number in self.by_hardware.find(&identity.hardware).slot_numbers() {
            if !visited_slots.slot_numbers().contains(&slot_number) {
                visit(slot_number, identity);
            }
        }
    }

    fn prefetch(&self, identity: &Identity<'_>, prefetch: Prefetch) {
        if let Some(client_id) = identity.client_id {
            self.by_client_id.prefetch(client_id, prefetch);
        }
        if !identity.hardware.is_empty() {
            self.by_hardware.prefetch(&identity.hardware, prefetch);
        }
    }

    fn find_all(&self, key: ClientKey<'_>) -> Option<Vec<u32>> {
        match key {
            ClientKey::Hardware([]) => None,
            ClientKey::Hardware(octets) => {
                let mut slot_numbers = Vec::new();
                for htype in 0..=u8::MAX {
                    let key = HardwareAddress::new(htype, octets);
                    slot_numbers.extend(self.by_hardware.find_all(&key)?);
                }
                Some(slot_numbers)
            }
            ClientKey::Identifier(octets) => {
                let mut slot_numbers = self.by_client_id.find_all(octets)?;
                let [_, by_hardware] = self.led_to_by(octets);
                slot_numbers.extend_from_slice(by_hardware.slot_numbers());
                Some(slot_numbers)
            }
            ClientKey::Association(..) => Some(Vec::new()),
        }
    }

    fn bytes(&self) -> usize {
        self.by_hardware.bytes() + self.by_client_id.bytes()
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.by_hardware.len() + self.by_client_id.len()
    }

    #[cfg(test)]
    fn audit(&self, client: &LeaseClient, slot_number: u32) -> usize {
        let mut count = 0;
        if !client.hardware.is_empty() {
            count += 1;
            assert!(
                self.by_hardware.find(&client.hardware).slot_numbers().contains(&slot_number),
                "{client:?}"
            );
        }
        if let Some(client_id) = client.identifier() {
            let [by_client_id, by_hardware] =
                self.led_to_by(client_id).map(|it| it.slot_numbers().contains(&slot_number));
            count += usize::from(by_client_id);
            assert!(by_client_id || by_hardware, "{client:?}");
            assert!(!by_client_id || hardware_in(client_id) != Some(client.hardware), "{client:?}");
        }
        count
    }
}

/// Map of DHCPv4 addresses to slot numbers, which are equal.
pub struct DirectSlotNumbers;

impl Overlaps<V4> for DirectSlotNumbers {}

impl SlotNumberMap<V4> for DirectSlotNumbers {
    type Run = ();
    type Publication = ();
    const CAN_GROW: bool = false;
    const FIRST_APART: Option<u32> = None;

    fn new(_seed: u64) -> Self {
        Self
    }

    fn find(&self, address: Ipv4Addr) -> Option<u32> {
        Some(u32::from(address))
    }

    fn make(&self, address: Ipv4Addr, _is_loaded: bool) -> Option<u32> {
        Some(u32::from(address))
    }

    fn can_be_made(&self, _address: Ipv4Addr) -> bool {
        false
    }

    fn is_pooled(&self, map: &AddressMap, slot_number: u32, _address: Ipv4Addr) -> bool {
        map.is_pooled(slot_number)
    }

    fn bit(&self, slot_number: u32, _address: Ipv4Addr) -> Option<u32> {
        Some(slot_number)
    }

    fn bit_to_be(&self, map: &AddressMap, address: Ipv4Addr) -> Option<u32> {
        let slot_number = u32::from(address);
        map.is_pooled(slot_number).then_some(slot_number)
    }

    fn runs(&self, map: &AddressMap, after: Option<Ipv4Addr>) -> Vec<Vec<(u32, Ipv4Addr)>> {
        let start = after.map_or(0, u32::from) >> 8;
        vec![map.blocks(start).map(|block| (block, Ipv4Addr::from(block << 8))).collect()]
    }

    fn plan(&self, specs: &[PoolSpec]) -> (Vec<()>, OpeningPlan<()>) {
        let ranges =
            specs.iter().map(|spec| (u32::from(spec.first), u32::from(spec.last))).collect();
        (vec![(); specs.len()], OpeningPlan { ranges, publication: () })
    }

    fn plan_growth(&self, _run: &()) -> Option<OpeningPlan<()>> {
        None
    }

    fn plan_cover(&self, _address: Ipv4Addr) -> Option<OpeningPlan<()>> {
        None
    }

    fn publish(&self, _publication: ()) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        0
    }

    fn start(spec: &PoolSpec, _run: &()) -> u32 {
        u32::from(spec.first)
    }

    fn count(spec: &PoolSpec, _run: &()) -> u64 {
        u64::from(u32::from(spec.last) - u32::from(spec.first)) + 1
    }

    fn open_positions(spec: &PoolSpec, run: &()) -> impl Iterator<Item = Range<u64>> {
        core::iter::once(0..Self::count(spec, run))
    }

    fn at(spec: &PoolSpec, _run: &(), position: u64) -> Option<(u32, Ipv4Addr)> {
        let slot_number = u32::from(spec.first) + position as u32;
        Some((slot_number, Ipv4Addr::from(slot_number)))
    }

    fn position(spec: &PoolSpec, _run: &(), address: Ipv4Addr) -> Option<u32> {
        u32::from(address).checked_sub(spec.first.into())
    }

    fn claim(map: &AddressMap, spec: &PoolSpec, _run: &(), start: u32) -> Option<(u32, Ipv4Addr)> {
        let claimed = map.claim(u32::from(spec.first), u32::from(spec.last), start)?;
        Some((claimed, Ipv4Addr::from(claimed)))
    }
}

#[cfg(test)]
mod tests {
    use base::{Now, Random};

    use super::*;
    use crate::contract::{CLIENT_SLOTS_MAX, Facts, FetchKeys};
    use crate::table::LeaseTable;
    use crate::{Allocator, LeaseState};

    const FIRST: u32 = 0x0a00_0000;
    const ADDRESSES: u32 = 16;

    /// Returns one of a few hardware addresses, of two types, or none.
    fn any_hardware(random: &mut Random) -> HardwareAddress {
        match random.below(5) as u8 {
            0 => HardwareAddress::NONE,
            number => HardwareAddress::new(1 + number % 2, &[2, 0, 0, 0, 0, number]),
        }
    }

    /// Returns no identifier, one made from a hardware address (also from one that the client does
    /// not have), or a random one.
    fn any_client_id(random: &mut Random) -> Option<Vec<u8>> {
        let hardware = any_hardware(random);
        match random.below(4) {
            0 => None,
            1 => Some(vec![0, random.below(3) as u8]),
            _ => Some([&[hardware.htype()], hardware.octets()].concat()),
        }
    }

    fn any_lease(random: &mut Random, address: Ipv4Addr) -> Option<Lease> {
        let (hardware, client_id) = (any_hardware(random), any_client_id(random));
        let is_somebodys = !hardware.is_empty() || client_id.is_some();
        let is_past = random.chance(1, 3);
        is_somebodys.then(|| Lease {
            address,
            client: LeaseClient {
                hardware,
                client_id: client_id.map(|octets| ClientId::new(&octets)),
            },
            valid_lifetime_s: 100,
            cltt_s: 1_000,
            subnet_id: 1 + random.below(2) as u32,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "".into(),
            state: if is_past { LeaseState::ExpiredReclaimed } else { LeaseState::Assigned },
            user_context: "".into(),
            pool_id: 0,
            extra: (),
        })
    }

    /// Returns the addresses that the index must find for `identity`: by its identifier and, when
    /// that has none now, by its hardware address.
    fn naive(table: &LeaseTable<V4>, identity: &Identity<'_>) -> Vec<Ipv4Addr> {
        let leases: Vec<Lease> =
            (0..ADDRESSES).filter_map(|at| table.lease((FIRST + at).into())).collect();
        let owned = |identity: Identity<'_>| {
            let is_owned = move |lease: &&Lease| {
                identity.owns(lease.subnet_id, &lease.client.hardware, lease.client.identifier())
            };
            leases.iter().filter(is_owned).collect::<Vec<_>>()
        };
        let certain = owned(Identity { hardware: HardwareAddress::NONE, ..*identity });
        let is_any_in_use = certain.iter().any(|lease| lease.state == LeaseState::Assigned);
        let expected = if is_any_in_use { certain } else { owned(*identity) };
        expected.iter().map(|lease| lease.address).collect()
    }

    #[test]
    fn the_indexes_find_what_a_look_at_every_slot_finds() {
        let (mut compared, mut by_hardware_too) = (0, 0);
        for seed in 0..100 {
            let mut random = Random::from_seed(seed);
            let table = LeaseTable::<V4>::new(seed);
            let pools = table.configure(
                &[PoolSpec {
                    first: FIRST.into(),
                    last: (FIRST + ADDRESSES - 1).into(),
                    subnet_id: 1,
                    pool_id: 0,
                    allocator: Allocator::Iterative,
                }],
                &[],
            );
            for _ in 0..80 {
                let address = (FIRST + random.below(ADDRESSES.into()) as u32).into();
                match any_lease(&mut random, address) {
                    Some(lease) => table.load(lease),
                    None => drop(table.unload(address)),
                }
                let (hardware, client_id) = (any_hardware(&mut random), any_client_id(&mut random));
                let identity = Identity {
                    hardware,
                    client_id: client_id.as_deref(),
                    match_client_id: random.chance(4, 5),
                    hardware_only_subnets: if random.chance(1, 3) { &[2] } else { &[] },
                };
                let mut facts = Facts::<V4>::default();
                let keys = FetchKeys {
                    identity,
                    addresses: [None; crate::FETCHED_ADDRESSES_MAX],
                    pools: &*pools,
                    candidate_pools: &[],
                    is_candidate_spare: false,
                };
                table.fetch(Now::default(), 0, &keys, &mut facts);
                let mut addresses: Vec<_> = facts.client_slots().map(|slot| slot.address).collect();
                addresses.sort_unstable();
                let expected = naive(&table, &identity);
                if expected.len() <= CLIENT_SLOTS_MAX {
                    assert_eq!(addresses, expected, "seed {seed}: {identity:?}");
                    compared += 1;
                    by_hardware_too += usize::from(expected.len() > 1);
                }
                if let Some(client_id) = &client_id {
                    let listed = table.leases_of(ClientKey::Identifier(client_id));
                    let is_its = |lease: &Lease| lease.client.identifier() == Some(client_id);
                    let all = (0..ADDRESSES).filter_map(|at| table.lease((FIRST + at).into()));
                    assert_eq!(listed, all.filter(is_its).collect::<Vec<_>>(), "seed {seed}");
                }
            }
        }
        assert!(compared > 5_000 && by_hardware_too > 500, "{compared}, {by_hardware_too}");
    }

    #[test]
    fn an_identifier_made_of_the_hardware_address_has_no_entry_of_its_own() {
        let index = ByEitherKey::new(1);
        let hardware = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 7]);
        let client =
            |client_id: &[u8]| LeaseClient { hardware, client_id: Some(ClientId::new(client_id)) };
        let from_hardware = client(&[1, 2, 0, 0, 0, 0, 7]);
        index.insert(&from_hardware, 5);
        assert_eq!(index.len(), 1);
        // When the hardware address leads to too many slot numbers, the identifier leads alone.
        for slot_number in 10..50 {
            index.insert(&client(&[slot_number as u8]), slot_number);
        }
        index.insert(&from_hardware, 6);
        assert_eq!(
            index.find_all(ClientKey::Identifier(&[1, 2, 0, 0, 0, 0, 7])).map(
                |mut slot_numbers| {
                    slot_numbers.retain(|slot_number| [5, 6].contains(slot_number));
                    slot_numbers
                }
            ),
            Some(vec![6, 5])
        );
        index.remove(&from_hardware, 5);
        index.remove(&from_hardware, 6);
        (10..50).for_each(|slot_number| index.remove(&client(&[slot_number as u8]), slot_number));
        assert_eq!(index.len(), 0);
    }
}
