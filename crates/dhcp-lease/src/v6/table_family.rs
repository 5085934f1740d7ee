//! Implementation of the lease table for DHCPv6: a slot stores its resource and one identity
//! association.

use core::net::Ipv6Addr;

use base::Prefetch;

use super::resource::{IaIdentity, Resource, ResourceKind};
use super::slot_number_map::Dictionary;
use super::{Detail, HardwareSource, Lease, LeaseClient, LeaseExtra, PoolSpec, RowView, V6};
use crate::family::PoolIndex;
use crate::identity::{DECLINED_LEASE_DUID, HARDWARE_ADDRESS_MAX};
use crate::pool::PoolSet;
use crate::table::index::IdentityIndex;
use crate::table::slot::LeaseSlot;
use crate::table::table_family::{ClientIndex, FamilySlotFields, SlotClientRelation, TableFamily};
use crate::{ClientId, ClientKey, HardwareAddress};

const _: () = assert!(size_of::<LeaseSlot<V6>>() == 128, "a slot is two cache lines");

impl TableFamily for V6 {
    type SlotNumbers = Dictionary;
    type Index = ByAssociation;
    type SlotFields = SlotAssociation;

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

    fn capacity(spec: &PoolSpec) -> u128 {
        let distance = spec.last.address.to_bits() - spec.first.address.to_bits();
        let steps = distance.checked_shr(128 - u32::from(spec.first.len)).unwrap_or(0);
        steps.saturating_add(1)
    }

    fn set_extra(slot: &mut LeaseSlot<Self>, extra: &LeaseExtra) {
        let fields = &mut slot.family_fields;
        fields.preferred_lifetime_s = extra.preferred_lifetime_s;
        fields.hardware_source = extra.hardware_source;
        fields.hardware = StoredHardware::new(&extra.hardware, fields.client.duid.octets());
        let boxed = fields.hardware.boxed(extra.hardware);
        slot.set_boxed_hardware(boxed);
    }

    fn is_of(row: &RowView<'_>, key: ClientKey<'_>) -> bool {
        match key {
            ClientKey::Hardware(octets) => row.extra.hardware.octets() == octets,
            ClientKey::Identifier(octets) => row.client.duid.octets() == octets,
            ClientKey::Association(octets, iaid) => {
                row.client.duid.octets() == octets && row.client.iaid == iaid
            }
        }
    }

    fn indexed_by(lease: &Lease) -> IaIdentity<'_> {
        let LeaseClient { duid, iaid } = &lease.client;
        IaIdentity { duid: duid.octets(), kind: lease.address.kind, iaid: *iaid }
    }

    fn slot_fields(
        resource: Resource,
        mut client: LeaseClient,
        extra: &LeaseExtra,
    ) -> (SlotAssociation, HardwareAddress) {
        if client.duid.octets() == DECLINED_LEASE_DUID {
            client.duid = ClientId::default();
        }
        let hardware = StoredHardware::new(&extra.hardware, client.duid.octets());
        let fields = SlotAssociation {
            resource,
            client,
            preferred_lifetime_s: extra.preferred_lifetime_s,
            hardware_source: extra.hardware_source,
            hardware,
        };
        (fields, hardware.boxed(extra.hardware))
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
    /// Hardware address outside the slot, see `RareLeaseFields`.
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
    /// DUID and IAID of the slot's client. Without a client the DUID is empty; the IAID remains
    /// after a decline, as in Kea.
    client: LeaseClient,
    preferred_lifetime_s: u32,
    hardware_source: HardwareSource,
    hardware: StoredHardware,
}

impl Default for SlotAssociation {
    fn default() -> Self {
        Self {
            resource: Resource::address(Ipv6Addr::UNSPECIFIED),
            client: LeaseClient::default(),
            preferred_lifetime_s: 0,
            hardware_source: HardwareSource::Unknown,
            hardware: StoredHardware::None,
        }
    }
}

impl SlotAssociation {
    /// Returns the key by which the index finds the slot's association: DUID, kind and IAID.
    fn key(&self) -> (&[u8], ResourceKind, u32) {
        (self.client.duid.octets(), self.resource.kind, self.client.iaid)
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

    fn client(&self) -> &LeaseClient {
        &self.client
    }

    #[inline]
    fn extra(&self, boxed: HardwareAddress) -> LeaseExtra {
        LeaseExtra {
            preferred_lifetime_s: self.preferred_lifetime_s,
            hardware: self.hardware.address(self.client.duid.octets(), boxed),
            hardware_source: self.hardware_source,
        }
    }

    fn has_client(&self) -> bool {
        !self.client.duid.octets().is_empty()
    }

    fn is_owned_by(&self, _subnet_id: u32, identity: &IaIdentity<'_>) -> bool {
        identity.owns(self.client.duid.octets(), self.resource.kind, self.client.iaid)
    }

    fn has_identity(&self, identity: &IaIdentity<'_>) -> bool {
        identity.owns(self.client.duid.octets(), self.resource.kind, self.client.iaid)
    }

    fn has_client_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn remember(&mut self, identity: &IaIdentity<'_>) {
        self.client.duid = ClientId::new(identity.duid);
        self.client.iaid = identity.iaid;
    }

    fn forget(&mut self) {
        let client = LeaseClient { iaid: self.client.iaid, ..LeaseClient::default() };
        *self = Self { resource: self.resource, client, ..Self::default() };
    }

    fn end_term(&mut self) {
        self.preferred_lifetime_s = 0;
    }
}

/// Index of DHCPv6 slots by DUID, kind of association and IAID; on request also by DUID alone.
pub struct ByAssociation {
    associations: IdentityIndex,
    /// Index by DUID, which messages of clients do not need; `None` unless requested.
    duids: Option<IdentityIndex>,
    /// Secret seed of the index by DUID.
    duid_seed: u64,
}

impl ClientIndex<V6> for ByAssociation {
    fn new(seed: u64) -> Self {
        let associations = IdentityIndex::new(seed);
        Self { associations, duids: None, duid_seed: seed.rotate_left(32) }
    }

    fn index_whole_clients(&mut self) {
        self.duids = Some(IdentityIndex::new(self.duid_seed));
    }

    fn reserve(&self, count: usize) {
        self.associations.reserve(count);
        if let Some(duids) = &self.duids {
            duids.reserve(count);
        }
    }

    fn insert(&self, association: &SlotAssociation, slot_number: u32) {
        if association.has_client() {
            self.associations.insert(&association.key(), slot_number);
            if let Some(duids) = &self.duids {
                duids.insert(association.key().0, slot_number);
            }
        }
    }

    fn remove(&self, association: &SlotAssociation, slot_number: u32) {
        if association.has_client() {
            self.associations.remove(&association.key(), slot_number);
            if let Some(duids) = &self.duids {
                duids.remove(association.key().0, slot_number);
            }
        }
    }

    fn visit(
        &self,
        identity: &IaIdentity<'_>,
        mut visit: impl FnMut(u32, &IaIdentity<'_>) -> SlotClientRelation,
    ) {
        let key = (identity.duid, identity.kind, identity.iaid);
        for &slot_number in self.associations.find(&key).slot_numbers() {
            visit(slot_number, identity);
        }
    }

    fn prefetch(&self, identity: &IaIdentity<'_>, prefetch: Prefetch) {
        self.associations.prefetch(&(identity.duid, identity.kind, identity.iaid), prefetch);
    }

    fn find_all(&self, key: ClientKey<'_>) -> Option<Vec<u32>> {
        let (duid, iaid) = match key {
            ClientKey::Association(duid, iaid) => (duid, iaid),
            ClientKey::Identifier(duid) if !duid.is_empty() => {
                return self.duids.as_ref()?.find_all(duid);
            }
            ClientKey::Identifier(_) | ClientKey::Hardware(_) => return None,
        };
        if duid.is_empty() {
            return None;
        }
        let mut slot_numbers = Vec::new();
        for kind in [ResourceKind::Address, ResourceKind::Prefix] {
            slot_numbers.extend(self.associations.find_all(&(duid, kind, iaid))?);
        }
        Some(slot_numbers)
    }

    fn bytes(&self) -> usize {
        self.associations.bytes() + self.duids.as_ref().map_or(0, IdentityIndex::bytes)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.associations.len() + self.duids.as_ref().map_or(0, IdentityIndex::len)
    }

    #[cfg(test)]
    fn audit(&self, association: &SlotAssociation, slot_number: u32) -> usize {
        if !association.has_client() {
            return 0;
        }
        assert!(
            self.associations.find(&association.key()).slot_numbers().contains(&slot_number),
            "index of {association:?}"
        );
        let Some(duids) = &self.duids else { return 1 };
        let slots = duids.find(association.key().0);
        assert!(slots.slot_numbers().contains(&slot_number), "DUID of {association:?}");
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeaseState;

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
            address: Resource::address("2001:db8::1".parse().unwrap()),
            client: LeaseClient { duid: ClientId::new(&DECLINED_LEASE_DUID), iaid: 9 },
            valid_lifetime_s: 100,
            cltt_s: 5,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "".into(),
            state: LeaseState::Declined,
            user_context: "".into(),
            extra: LeaseExtra::default(),
        };
        table.load(declined.clone());
        let mut facts = crate::v6::Facts::default();
        let identity = IaIdentity {
            duid: &DECLINED_LEASE_DUID,
            kind: ResourceKind::Address,
            iaid: declined.client.iaid,
        };
        let keys = crate::v6::FetchKeys {
            identity,
            addresses: [Some(declined.address), None, None, None],
            pools: &table.pools(),
            candidate_pools: &[],
            is_candidate_spare: false,
        };
        table.fetch(base::Now::default(), 0, &keys, &mut facts);
        assert_eq!(facts.client_slot_count, 0);
        assert_eq!(facts.address_slots[0].map(|slot| slot.owner), Some(crate::SlotOwner::NoClient));
    }
}
