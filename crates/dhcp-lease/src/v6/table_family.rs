//! Implementation of the lease table for DHCPv6: a slot stores its resource and one identity
//! association.

use core::net::Ipv6Addr;

use base::Prefetch;

use super::resource::{IaIdentity, Resource, ResourceKind};
use super::slot_number_map::Dictionary;
use super::{Detail, HardwareSource, Lease, LeaseTerms, PoolSpec, RowView, V6};
use crate::family::PoolIndex;
use crate::identity::{DECLINED_LEASE_DUID, HARDWARE_ADDRESS_MAX};
use crate::lease::LeaseState;
use crate::pool::PoolSet;
use crate::table::index::IdentityIndex;
use crate::table::slot::{LeaseSlot, RareLeaseFields};
use crate::table::table_family::{
    ClientIndex, CommonTerms, FamilySlotFields, LeaseParts, LeaseTexts, SlotClientRelation,
    TableFamily,
};
use crate::{Allocator, ClientId, ClientKey, HardwareAddress};

const _: () = assert!(size_of::<LeaseSlot<V6>>() == 128, "a slot is two cache lines");

impl TableFamily for V6 {
    type Spec = PoolSpec;
    type SlotNumbers = Dictionary;
    type Index = ByAssociation;
    type SlotFields = SlotAssociation;

    type Kind = ResourceKind;
    type Order = (Ipv6Addr, u8, ResourceKind);

    const COUNTS_OUTSIDE: bool = false;

    fn pool_around(pools: &PoolSet<Self>, resource: Resource) -> Option<PoolIndex> {
        let of_len = |len| pools.find(Resource::prefix(resource.address, len));
        pools.find(resource).or_else(|| match resource.kind {
            ResourceKind::Address => None,
            ResourceKind::Prefix => (1..128).find_map(of_len),
        })
    }

    fn order(resource: Resource) -> (Ipv6Addr, u8, ResourceKind) {
        (resource.address, resource.len, resource.kind)
    }

    fn kind(resource: Resource) -> ResourceKind {
        resource.kind
    }

    fn allocator(spec: &PoolSpec) -> Allocator {
        spec.allocator
    }

    fn ids(spec: &PoolSpec) -> (u32, u32) {
        (spec.subnet_id, spec.pool_id)
    }

    fn bounds(spec: &PoolSpec) -> (Resource, Resource) {
        spec.bounds()
    }

    fn capacity(spec: &PoolSpec) -> u128 {
        let distance = spec.last.to_bits() - spec.first.to_bits();
        let steps = distance.checked_shr(128 - u32::from(spec.len)).unwrap_or(0);
        steps.saturating_add(1)
    }

    fn common<'a>(terms: &'a LeaseTerms<'_>) -> CommonTerms<'a> {
        CommonTerms {
            valid_lifetime_s: terms.valid_lifetime_s,
            subnet_id: terms.subnet_id,
            pool_id: terms.pool_id,
            text: LeaseTexts {
                hostname: terms.hostname,
                user_context: terms.user_context,
                fqdn_fwd: terms.fqdn_fwd,
                fqdn_rev: terms.fqdn_rev,
            },
        }
    }

    fn keep_terms(slot: &mut LeaseSlot<Self>, terms: &LeaseTerms<'_>) {
        slot.family_fields.preferred_lifetime_s = terms.preferred_lifetime_s;
        slot.family_fields.hardware_source = terms.hardware_source;
        slot.family_fields.hardware =
            StoredHardware::new(&terms.hardware, slot.family_fields.duid.octets());
        slot.set_boxed_hardware(slot.family_fields.hardware.boxed(terms.hardware));
    }

    fn row(slot: &LeaseSlot<Self>, state: LeaseState) -> RowView<'_> {
        let rare = slot.rare();
        let association = &slot.family_fields;
        RowView {
            resource: slot.address(),
            duid: association.duid.octets(),
            iaid: association.iaid,
            valid_lifetime_s: slot.valid_lifetime_s,
            preferred_lifetime_s: association.preferred_lifetime_s,
            cltt_s: slot.cltt_s,
            subnet_id: slot.subnet_id,
            pool_id: slot.pool_id,
            fqdn_fwd: rare.fqdn_fwd,
            fqdn_rev: rare.fqdn_rev,
            hostname: rare.hostname,
            hardware: association.hardware.address(association.duid.octets(), rare.hardware),
            hardware_source: association.hardware_source,
            state,
            user_context: rare.user_context,
        }
    }

    fn is_of(row: &RowView<'_>, key: ClientKey<'_>) -> bool {
        match key {
            ClientKey::Hardware(octets) => row.hardware.octets() == octets,
            ClientKey::Identifier(octets) => row.duid == octets,
            ClientKey::Association(octets, iaid) => row.duid == octets && row.iaid == iaid,
        }
    }

    fn to_lease(row: &RowView<'_>) -> Lease {
        row.to_lease()
    }

    fn address_of(lease: &Lease) -> Resource {
        lease.resource
    }

    fn indexed_by(lease: &Lease) -> IaIdentity<'_> {
        IaIdentity { duid: lease.duid.octets(), kind: lease.resource.kind, iaid: lease.iaid }
    }

    fn split_lease(mut lease: Lease) -> LeaseParts<Self> {
        if lease.duid.octets() == DECLINED_LEASE_DUID {
            lease.duid = ClientId::new(&[]);
        }
        let hardware = StoredHardware::new(&lease.hardware, lease.duid.octets());
        LeaseParts {
            address: lease.resource,
            valid_lifetime_s: lease.valid_lifetime_s,
            cltt_s: lease.cltt_s,
            subnet_id: lease.subnet_id,
            pool_id: lease.pool_id,
            state: lease.state,
            extra: RareLeaseFields {
                hostname: lease.hostname,
                user_context: lease.user_context,
                fqdn_fwd: lease.fqdn_fwd,
                fqdn_rev: lease.fqdn_rev,
                hardware: hardware.boxed(lease.hardware),
            },
            family_fields: SlotAssociation {
                resource: lease.resource,
                duid: lease.duid,
                iaid: lease.iaid,
                preferred_lifetime_s: lease.preferred_lifetime_s,
                hardware_source: lease.hardware_source,
                hardware,
            },
        }
    }
}

/// Hardware address of a client as a slot stores it, in few bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StoredHardware {
    /// Value for a client whose hardware address is not known.
    #[default]
    None,
    /// Hardware address that the client's DUID contains.
    OfDuid,
    /// Ethernet address of the client.
    Ethernet([u8; 6]),
    /// Hardware address outside the slot, see [`RareLeaseFields::hardware`].
    Boxed,
}

impl StoredHardware {
    fn new(hardware: &HardwareAddress, duid: &[u8]) -> Self {
        if hardware.is_empty() && hardware.htype() == 0 {
            return Self::None;
        }
        if hardware_of_duid(duid).as_ref() == Some(hardware) {
            return Self::OfDuid;
        }
        match hardware.octets().try_into() {
            Ok(octets) if hardware.htype() == 1 => Self::Ethernet(octets),
            _ => Self::Boxed,
        }
    }

    /// Returns the part of the hardware address `hardware` that is stored outside the slot.
    const fn boxed(self, hardware: HardwareAddress) -> HardwareAddress {
        if matches!(self, Self::Boxed) { hardware } else { HardwareAddress::NONE }
    }

    fn address(self, duid: &[u8], boxed: HardwareAddress) -> HardwareAddress {
        match self {
            Self::None => HardwareAddress::NONE,
            Self::OfDuid => hardware_of_duid(duid).unwrap_or(HardwareAddress::NONE),
            Self::Ethernet(octets) => HardwareAddress::new(1, &octets),
            Self::Boxed => boxed,
        }
    }
}

/// Returns the hardware address in a DUID-LLT or DUID-LL (RFC 9915 §11.2, §11.4), if a slot can
/// store the address.
fn hardware_of_duid(duid: &[u8]) -> Option<HardwareAddress> {
    let (htype, octets) = match duid {
        [0, 1, 0, htype, _, _, _, _, octets @ ..] | [0, 3, 0, htype, octets @ ..] => {
            (*htype, octets)
        }
        _ => return None,
    };
    let fits = !octets.is_empty() && octets.len() <= HARDWARE_ADDRESS_MAX;
    fits.then(|| HardwareAddress::new(htype, octets))
}

/// Identity association of a DHCPv6 slot: its present or last one.
#[derive(Debug)]
pub struct SlotAssociation {
    resource: Resource,
    /// DUID of the slot's client; empty without a client.
    duid: ClientId,
    /// IAID of the slot's association; remains after a decline, as in Kea.
    iaid: u32,
    preferred_lifetime_s: u32,
    hardware_source: HardwareSource,
    hardware: StoredHardware,
}

impl Default for SlotAssociation {
    fn default() -> Self {
        Self {
            resource: Resource::address(Ipv6Addr::UNSPECIFIED),
            duid: ClientId::new(&[]),
            iaid: 0,
            preferred_lifetime_s: 0,
            hardware_source: HardwareSource::Unknown,
            hardware: StoredHardware::None,
        }
    }
}

impl SlotAssociation {
    /// Returns the key by which the index finds the slot's association: DUID, kind and IAID.
    fn key(&self) -> (&[u8], ResourceKind, u32) {
        (self.duid.octets(), self.resource.kind, self.iaid)
    }
}

impl FamilySlotFields<V6> for SlotAssociation {
    fn settle_at(&mut self, resource: Resource) {
        self.resource = resource;
    }

    fn address(&self, _slot_number: u32) -> Resource {
        self.resource
    }

    fn detail(&self, _: &IaIdentity<'_>, is_leased: bool) -> Detail {
        Detail { preferred_lifetime_s: if is_leased { self.preferred_lifetime_s } else { 0 } }
    }

    fn has_client(&self) -> bool {
        !self.duid.octets().is_empty()
    }

    fn is_owned_by(&self, identity: &IaIdentity<'_>) -> bool {
        identity.owns(self.duid.octets(), self.resource.kind, self.iaid)
    }

    fn has_identity(&self, identity: &IaIdentity<'_>) -> bool {
        self.is_owned_by(identity)
    }

    fn has_client_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn remember(&mut self, identity: &IaIdentity<'_>) {
        self.duid = ClientId::new(identity.duid);
        self.iaid = identity.iaid;
    }

    fn forget(&mut self) {
        let (resource, iaid) = (self.resource, self.iaid);
        *self = Self { resource, iaid, ..Self::default() };
    }

    fn end_term(&mut self) {
        self.preferred_lifetime_s = 0;
    }
}

/// Index of DHCPv6 slots by DUID, kind of association and IAID.
pub struct ByAssociation(IdentityIndex);

impl ClientIndex<V6> for ByAssociation {
    fn new(seed: u64) -> Self {
        Self(IdentityIndex::new(seed))
    }

    fn reserve(&self, count: usize) {
        self.0.reserve(count);
    }

    fn insert(&self, association: &SlotAssociation, slot_number: u32) {
        if association.has_client() {
            self.0.insert(&association.key(), slot_number);
        }
    }

    fn remove(&self, association: &SlotAssociation, slot_number: u32) {
        if association.has_client() {
            self.0.remove(&association.key(), slot_number);
        }
    }

    fn visit(
        &self,
        identity: &IaIdentity<'_>,
        mut visit: impl FnMut(u32, &IaIdentity<'_>) -> SlotClientRelation,
    ) {
        let key = (identity.duid, identity.kind, identity.iaid);
        for &slot_number in self.0.find(&key).slot_numbers() {
            visit(slot_number, identity);
        }
    }

    fn prefetch(&self, identity: &IaIdentity<'_>, prefetch: Prefetch) {
        self.0.prefetch(&(identity.duid, identity.kind, identity.iaid), prefetch);
    }

    fn find_all(&self, key: ClientKey<'_>) -> Option<Vec<u32>> {
        let ClientKey::Association(duid, iaid) = key else { return None };
        if duid.is_empty() {
            return None;
        }
        let mut slot_numbers = Vec::new();
        for kind in [ResourceKind::Address, ResourceKind::Prefix] {
            slot_numbers.extend(self.0.find_all(&(duid, kind, iaid))?);
        }
        Some(slot_numbers)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    fn audit(&self, association: &SlotAssociation, slot_number: u32) -> usize {
        if !association.has_client() {
            return 0;
        }
        assert!(
            self.0.find(&association.key()).slot_numbers().contains(&slot_number),
            "index of {association:?}"
        );
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hardware_address_comes_back() {
        let link_layer = [0, 3, 0, 1, 2, 0, 0, 0, 0, 7];
        let with_time = [0, 1, 0, 6, 9, 9, 9, 9, 2, 0, 0, 0, 0, 7];
        let own = HardwareAddress::new(1, &[2, 0, 0, 0, 0, 7]);
        let of_type_6 = HardwareAddress::new(6, &[2, 0, 0, 0, 0, 7]);
        let long = HardwareAddress::new(32, &[9; 20]);
        let only_type = HardwareAddress::new(1, &[]);
        for (hardware, duid, expected) in [
            (own, &link_layer[..], StoredHardware::OfDuid),
            (own, &with_time[..], StoredHardware::Ethernet([2, 0, 0, 0, 0, 7])),
            (of_type_6, &with_time[..], StoredHardware::OfDuid),
            (of_type_6, &link_layer[..], StoredHardware::Boxed),
            (long, &[0, 3, 0, 1][..], StoredHardware::Boxed),
            (only_type, &[0, 3, 0, 1][..], StoredHardware::Boxed),
            (HardwareAddress::NONE, &[0, 3, 0, 0][..], StoredHardware::None),
        ] {
            let stored = StoredHardware::new(&hardware, duid);
            assert_eq!(stored, expected);
            assert_eq!(stored.address(duid, stored.boxed(hardware)), hardware);
        }
    }

    #[test]
    fn a_declined_lease_of_keas_is_nobodys() {
        let table = crate::v6::LeaseTable::new(1);
        let declined = Lease {
            resource: Resource::address("2001:db8::1".parse().unwrap()),
            duid: ClientId::new(&DECLINED_LEASE_DUID),
            iaid: 9,
            valid_lifetime_s: 100,
            preferred_lifetime_s: 0,
            cltt_s: 5,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "".into(),
            hardware: HardwareAddress::NONE,
            hardware_source: HardwareSource::Unknown,
            state: LeaseState::Declined,
            user_context: "".into(),
        };
        table.load(declined.clone());
        let mut facts = crate::v6::Facts::default();
        let identity = IaIdentity {
            duid: &DECLINED_LEASE_DUID,
            kind: ResourceKind::Address,
            iaid: declined.iaid,
        };
        let keys = crate::v6::FetchKeys {
            identity,
            addresses: [Some(declined.resource), None, None, None],
            pools: &table.pools(),
            candidate_pools: &[],
            is_candidate_spare: false,
        };
        table.fetch(base::Now::default(), 0, &keys, &mut facts);
        assert_eq!(facts.client_slot_count, 0);
        assert_eq!(facts.address_slots[0].map(|slot| slot.owner), Some(crate::SlotOwner::NoClient));
    }
}
