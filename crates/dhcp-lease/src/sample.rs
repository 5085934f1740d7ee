//! Made-up addresses, pools, clients and leases for tests of both families.

use core::net::{Ipv4Addr, Ipv6Addr};

use base::HostName;

use crate::lease::{Lease, LeaseState, LeaseTerms};
use crate::table::table_family::TableFamily;
use crate::v4::{self, V4};
use crate::v6::{self, HardwareSource, IaIdentity, Resource, ResourceKind, V6};
use crate::{Allocator, ClientId, ClientKey, HardwareAddress, Identity, PoolSpec};

/// Family of leases with samples for tests.
pub trait SampleFamily: TableFamily {
    /// Returns the sample address with `number`; consecutive numbers give consecutive addresses.
    fn address(number: u32) -> Self::Address;

    /// Returns the number of a sample address.
    fn number(address: Self::Address) -> u32;

    /// Returns the sample client with `number`.
    fn client(number: u32) -> Self::Identity<'static>;

    /// Returns `client` with a shorter lifetime, since generic code does not see that the identity
    /// is covariant.
    fn borrow<'a>(client: Self::Identity<'static>) -> Self::Identity<'a>;

    /// Returns the key by which an administrator looks up `client`.
    fn key<'a>(client: &'a Self::Identity<'static>) -> ClientKey<'a>;

    /// Returns the pool from address number `first` to address number `last`, of subnet 1.
    fn pool(first: u32, last: u32) -> PoolSpec<Self> {
        PoolSpec {
            subnet_id: 1,
            pool_id: 0,
            allocator: Allocator::Iterative,
            first: Self::address(first),
            last: Self::address(last),
        }
    }

    /// Returns terms of a sample lease in subnet `subnet_id`.
    fn terms(valid_lifetime_s: u32, subnet_id: u32, hostname: &str) -> LeaseTerms<'_, Self>;

    /// Returns a sample lease with the columns of `sample`.
    fn lease(sample: &SampleLease<'_>) -> Lease<Self>;

    /// Returns the columns that distinguish `lease` from others.
    fn sample(lease: &Lease<Self>) -> SampleColumns<Self>;
}

/// Columns of a made-up lease for tests.
#[derive(Clone, Copy, Debug)]
pub struct SampleLease<'a> {
    /// Number of the sample address that is leased.
    pub address: u32,
    /// Number of the sample client that has the lease.
    pub client: u32,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet that the lease belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool that the lease belongs to.
    pub pool_id: u32,
    /// Host name of the client, possibly empty.
    pub hostname: &'a str,
    /// Kea's state of the lease.
    pub state: LeaseState,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: &'a str,
}

/// Columns that distinguish a lease from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleColumns<F: TableFamily> {
    /// Leased address (or delegated prefix).
    pub address: F::Address,
    /// Bytes that distinguish the client from others; empty when the lease has no client.
    pub client: Vec<u8>,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet that the lease belongs to.
    pub subnet_id: u32,
    /// Host name of the client, possibly empty.
    pub hostname: HostName,
    /// Kea's state of the lease.
    pub state: LeaseState,
}

fn hardware(number: u32) -> HardwareAddress {
    let octets = (u64::from(number) + 1).to_be_bytes();
    HardwareAddress::new(1, &octets[2..])
}

impl SampleFamily for V4 {
    fn address(number: u32) -> Ipv4Addr {
        Ipv4Addr::from(number)
    }

    fn number(address: Ipv4Addr) -> u32 {
        address.into()
    }

    fn client(number: u32) -> Identity<'static> {
        Identity {
            hardware: hardware(number),
            client_id: None,
            match_client_id: true,
            hardware_only_subnets: &[],
        }
    }

    fn borrow<'a>(client: Identity<'static>) -> Identity<'a> {
        client
    }

    fn key<'a>(client: &'a Identity<'static>) -> ClientKey<'a> {
        ClientKey::Hardware(client.hardware.octets())
    }

    fn terms(valid_lifetime_s: u32, subnet_id: u32, hostname: &str) -> v4::LeaseTerms<'_> {
        v4::LeaseTerms {
            valid_lifetime_s,
            subnet_id,
            pool_id: 0,
            fqdn_fwd: !hostname.is_empty(),
            fqdn_rev: false,
            hostname,
            user_context: "",
            extra: (),
        }
    }

    fn lease(sample: &SampleLease<'_>) -> v4::Lease {
        v4::Lease {
            address: sample.address.into(),
            client: v4::LeaseClient { hardware: hardware(sample.client), client_id: None },
            valid_lifetime_s: sample.valid_lifetime_s,
            cltt_s: sample.cltt_s,
            subnet_id: sample.subnet_id,
            fqdn_fwd: !sample.hostname.is_empty(),
            fqdn_rev: false,
            hostname: sample.hostname.into(),
            state: sample.state,
            user_context: sample.user_context.into(),
            pool_id: sample.pool_id,
            extra: (),
        }
    }

    fn sample(lease: &v4::Lease) -> SampleColumns<Self> {
        SampleColumns {
            address: lease.address,
            client: lease.client.hardware.octets().to_vec(),
            valid_lifetime_s: lease.valid_lifetime_s,
            cltt_s: lease.cltt_s,
            subnet_id: lease.subnet_id,
            hostname: lease.hostname.clone(),
            state: lease.state,
        }
    }
}

/// DUIDs (DUID-LL) of 256 sample clients; clients with higher numbers are other associations of
/// these.
static DUIDS: [[u8; 10]; 256] = {
    let mut duids = [[0, 3, 0, 1, 2, 0, 0, 0, 0, 0]; 256];
    let mut number = 0;
    while number < duids.len() {
        duids[number][9] = number as u8;
        number += 1;
    }
    duids
};

/// Returns the fields of a sample lease that only DHCPv6 has.
fn extra(valid_lifetime_s: u32) -> v6::LeaseExtra {
    v6::LeaseExtra {
        preferred_lifetime_s: valid_lifetime_s / 2,
        hardware: hardware(0),
        hardware_source: HardwareSource::ClientLinkAddress,
    }
}

impl SampleFamily for V6 {
    fn address(number: u32) -> Resource {
        Resource::address(Ipv6Addr::from_bits((0x2001_0db8 << 96) | u128::from(number)))
    }

    fn number(resource: Resource) -> u32 {
        resource.address.to_bits() as u32
    }

    fn client(number: u32) -> IaIdentity<'static> {
        let duid = &DUIDS[number as usize % DUIDS.len()];
        IaIdentity { duid, kind: ResourceKind::Address, iaid: number / DUIDS.len() as u32 }
    }

    fn borrow<'a>(client: IaIdentity<'static>) -> IaIdentity<'a> {
        client
    }

    fn key<'a>(client: &'a IaIdentity<'static>) -> ClientKey<'a> {
        ClientKey::Association(client.duid, client.iaid)
    }

    fn terms(valid_lifetime_s: u32, subnet_id: u32, hostname: &str) -> v6::LeaseTerms<'_> {
        v6::LeaseTerms {
            valid_lifetime_s,
            subnet_id,
            pool_id: 0,
            fqdn_fwd: !hostname.is_empty(),
            fqdn_rev: false,
            hostname,
            user_context: "",
            extra: extra(valid_lifetime_s),
        }
    }

    fn lease(sample: &SampleLease<'_>) -> v6::Lease {
        let client = Self::client(sample.client);
        v6::Lease {
            address: Self::address(sample.address),
            client: v6::LeaseClient { duid: ClientId::new(client.duid), iaid: client.iaid },
            valid_lifetime_s: sample.valid_lifetime_s,
            cltt_s: sample.cltt_s,
            subnet_id: sample.subnet_id,
            pool_id: sample.pool_id,
            fqdn_fwd: !sample.hostname.is_empty(),
            fqdn_rev: false,
            hostname: sample.hostname.into(),
            state: sample.state,
            user_context: sample.user_context.into(),
            extra: extra(sample.valid_lifetime_s),
        }
    }

    fn sample(lease: &v6::Lease) -> SampleColumns<Self> {
        let duid = lease.client.duid.octets();
        let iaid = lease.client.iaid.to_be_bytes();
        let iaid = if duid.is_empty() { &[][..] } else { &iaid };
        SampleColumns {
            address: lease.address,
            client: [duid, iaid].concat(),
            valid_lifetime_s: lease.valid_lifetime_s,
            cltt_s: lease.cltt_s,
            subnet_id: lease.subnet_id,
            hostname: lease.hostname.clone(),
            state: lease.state,
        }
    }
}
