//! v4 in the lease table: the place of an address is the address, and a client is known by two
//! keys.

use core::net::Ipv4Addr;

use super::{Detail, Lease, LeaseTerms, PoolSpec, RowView, V4};
use crate::lease::LeaseState;
use crate::table::address_map::AddressMap;
use crate::table::index::{Found, IdentityIndex};
use crate::table::leased::{ClientIndex, CommonTerms, Kept, Leased, Loaded, Opening, Places, Text};
use crate::table::slot::{Extra, Slot};
use crate::{Allocator, ClientId, ClientKey, HardwareAddress, Identity};

impl Leased for V4 {
    type Spec = PoolSpec;
    type Places = Direct;
    type Index = ByEitherKey;
    type Kept = Client;

    type Kind = ();
    type Order = Ipv4Addr;

    fn order(address: Ipv4Addr) -> Ipv4Addr {
        address
    }

    fn kind(_address: Ipv4Addr) {}

    fn allocator(spec: &PoolSpec) -> Allocator {
        spec.allocator
    }

    fn ids(spec: &PoolSpec) -> (u32, u32) {
        (spec.subnet_id, spec.pool_id)
    }

    fn bounds(spec: &PoolSpec) -> (Ipv4Addr, Ipv4Addr) {
        (spec.first, spec.last)
    }

    fn capacity(spec: &PoolSpec) -> u128 {
        u128::from(u32::from(spec.last) - u32::from(spec.first)) + 1
    }

    fn common<'a>(terms: &'a LeaseTerms<'_>) -> CommonTerms<'a> {
        CommonTerms {
            valid_lifetime_s: terms.valid_lifetime_s,
            subnet_id: terms.subnet_id,
            pool_id: terms.pool_id,
            text: Text {
                hostname: terms.hostname,
                user_context: terms.user_context,
                fqdn_fwd: terms.fqdn_fwd,
                fqdn_rev: terms.fqdn_rev,
            },
        }
    }

    fn keep_terms(_slot: &mut Slot<Self>, _terms: &LeaseTerms<'_>) {}

    fn row(slot: &Slot<Self>, state: LeaseState) -> RowView<'_> {
        let rare = slot.rare();
        RowView {
            address: slot.address(),
            hardware: &slot.kept.hardware,
            client_id: slot.kept.client_id(),
            valid_lifetime_s: slot.valid_lifetime_s,
            cltt_s: slot.cltt_s,
            subnet_id: slot.subnet_id,
            fqdn_fwd: rare.fqdn_fwd,
            fqdn_rev: rare.fqdn_rev,
            hostname: rare.hostname,
            state,
            user_context: rare.user_context,
            pool_id: slot.pool_id,
        }
    }

    fn is_of(row: &RowView<'_>, key: ClientKey<'_>) -> bool {
        match key {
            ClientKey::Hardware(octets) => row.hardware.octets() == octets,
            ClientKey::Identifier(octets) => row.client_id == Some(octets),
            ClientKey::Association(..) => false,
        }
    }

    fn to_lease(row: &RowView<'_>) -> Lease {
        row.to_lease()
    }

    fn address_of(lease: &Lease) -> Ipv4Addr {
        lease.address
    }

    fn take_apart(lease: Lease) -> Loaded<Self> {
        Loaded {
            address: lease.address,
            valid_lifetime_s: lease.valid_lifetime_s,
            cltt_s: lease.cltt_s,
            subnet_id: lease.subnet_id,
            pool_id: lease.pool_id,
            state: lease.state,
            extra: Extra {
                hostname: lease.hostname,
                user_context: lease.user_context,
                fqdn_fwd: lease.fqdn_fwd,
                fqdn_rev: lease.fqdn_rev,
                hardware: HardwareAddress::NONE,
            },
            kept: Client { hardware: lease.hardware, client_id: lease.client_id },
        }
    }
}

/// The client of a slot: the one that has it or the last that had it.
#[derive(Debug, Default)]
pub struct Client {
    hardware: HardwareAddress,
    client_id: Option<ClientId>,
}

impl Client {
    fn client_id(&self) -> Option<&[u8]> {
        self.client_id.as_ref().map(ClientId::octets)
    }
}

impl Kept<V4> for Client {
    fn settle_at(&mut self, _address: Ipv4Addr) {}

    fn address(&self, place: u32) -> Ipv4Addr {
        Ipv4Addr::from(place)
    }

    fn detail(&self, identity: &Identity<'_>, is_leased: bool) -> Detail {
        Detail { is_same_client: is_leased && self.has_identity(identity) }
    }

    fn has_client(&self) -> bool {
        !self.hardware.is_empty() || self.client_id.is_some()
    }

    fn is_owned_by(&self, identity: &Identity<'_>) -> bool {
        identity.owns(&self.hardware, self.client_id())
    }

    fn has_identity(&self, identity: &Identity<'_>) -> bool {
        self.hardware == identity.hardware && self.client_id() == identity.client_id
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

/// Indexes by hardware address and by client identifier.
pub struct ByEitherKey {
    by_hardware: IdentityIndex,
    by_client_id: IdentityIndex,
}

impl ClientIndex<V4> for ByEitherKey {
    fn new(seed: u64) -> Self {
        Self {
            by_hardware: IdentityIndex::new(seed),
            by_client_id: IdentityIndex::new(seed.rotate_left(32)),
        }
    }

    fn reserve(&self, count: usize) {
        self.by_hardware.reserve(count);
        self.by_client_id.reserve(count);
    }

    fn insert(&self, kept: &Client, place: u32) {
        if !kept.hardware.is_empty() {
            self.by_hardware.insert(&kept.hardware, place);
        }
        if let Some(client_id) = kept.client_id() {
            self.by_client_id.insert(client_id, place);
        }
    }

    fn remove(&self, kept: &Client, place: u32) {
        if !kept.hardware.is_empty() {
            self.by_hardware.remove(&kept.hardware, place);
        }
        if let Some(client_id) = kept.client_id() {
            self.by_client_id.remove(client_id, place);
        }
    }

    fn visit(&self, identity: &Identity<'_>, mut visit: impl FnMut(u32) -> bool) {
        let mut known = Found::NONE;
        let mut has_any = false;
        if let Some(client_id) = identity.client_id
            && identity.match_client_id
        {
            known = self.by_client_id.find(client_id);
            for &place in known.places() {
                has_any |= visit(place);
            }
        }
        if has_any || identity.hardware.is_empty() {
            return;
        }
        for &place in self.by_hardware.find(&identity.hardware).places() {
            if !known.places().contains(&place) {
                visit(place);
            }
        }
    }

    fn lead(&self, key: ClientKey<'_>) -> Option<Vec<u32>> {
        match key {
            ClientKey::Hardware([]) => None,
            ClientKey::Hardware(octets) => {
                let mut places = Vec::new();
                for htype in 0..=u8::MAX {
                    let key = HardwareAddress::new(htype, octets);
                    places.extend(self.by_hardware.find_all(&key)?);
                }
                Some(places)
            }
            ClientKey::Identifier(octets) => self.by_client_id.find_all(octets),
            ClientKey::Association(..) => Some(Vec::new()),
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.by_hardware.len() + self.by_client_id.len()
    }

    #[cfg(test)]
    fn audit(&self, kept: &Client, place: u32) -> usize {
        let mut count = 0;
        if !kept.hardware.is_empty() {
            count += 1;
            assert!(self.by_hardware.find(&kept.hardware).places().contains(&place), "{kept:?}");
        }
        if let Some(client_id) = kept.client_id() {
            count += 1;
            assert!(self.by_client_id.find(client_id).places().contains(&place), "{kept:?}");
        }
        count
    }
}

/// Places that are addresses.
pub struct Direct;

impl Places<V4> for Direct {
    type Run = ();
    type Publication = ();
    const CAN_GROW: bool = false;

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

    fn is_pooled(&self, map: &AddressMap, place: u32, _address: Ipv4Addr) -> bool {
        map.is_pooled(place)
    }

    fn bit(&self, place: u32, _address: Ipv4Addr) -> Option<u32> {
        Some(place)
    }

    fn bit_to_be(&self, map: &AddressMap, address: Ipv4Addr) -> Option<u32> {
        let place = u32::from(address);
        map.is_pooled(place).then_some(place)
    }

    fn runs(&self, map: &AddressMap, after: Option<Ipv4Addr>) -> Vec<Vec<(u32, Ipv4Addr)>> {
        let start = after.map_or(0, u32::from) >> 8;
        vec![map.blocks(start).map(|block| (block, Ipv4Addr::from(block << 8))).collect()]
    }

    fn plan(&self, specs: &[PoolSpec]) -> (Vec<()>, Opening<()>) {
        let ranges =
            specs.iter().map(|spec| (u32::from(spec.first), u32::from(spec.last))).collect();
        (vec![(); specs.len()], Opening { ranges, publication: () })
    }

    fn plan_growth(&self, _run: &()) -> Option<Opening<()>> {
        None
    }

    fn plan_cover(&self, _address: Ipv4Addr) -> Option<Opening<()>> {
        None
    }

    fn publish(&self, _publication: ()) -> bool {
        true
    }

    fn start(spec: &PoolSpec, _run: &()) -> u32 {
        u32::from(spec.first)
    }

    fn count(spec: &PoolSpec, _run: &()) -> u64 {
        u64::from(u32::from(spec.last) - u32::from(spec.first)) + 1
    }

    fn at(spec: &PoolSpec, _run: &(), position: u64) -> Option<(u32, Ipv4Addr)> {
        let place = u32::from(spec.first) + position as u32;
        Some((place, Ipv4Addr::from(place)))
    }

    fn position(spec: &PoolSpec, _run: &(), address: Ipv4Addr) -> Option<u32> {
        u32::from(address).checked_sub(spec.first.into())
    }

    fn claim(map: &AddressMap, spec: &PoolSpec, _run: &(), start: u32) -> Option<(u32, Ipv4Addr)> {
        let claimed = map.claim(u32::from(spec.first), u32::from(spec.last), start)?;
        Some((claimed, Ipv4Addr::from(claimed)))
    }
}
