//! Clients of each family.

use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::{Lease, V4};
use dhcp_lease::v6::{self, IaIdentity, ResourceKind, V6};
use dhcp_lease::{HardwareAddress, Identity, LeaseState};
use dhcp_store::memfile::LeaseFileFamily;

/// Family to simulate.
pub trait SimulatedFamily: SampleFamily + LeaseFileFamily {
    /// Returns the bytes that identify client number `client`.
    fn octets(client: u8) -> Vec<u8>;

    /// Returns the client that these bytes identify.
    fn identity(octets: &[u8]) -> Self::Identity<'_>;

    /// Returns the bytes that identify the client of the lease; none for a declined one.
    fn owner(lease: &dhcp_lease::Lease<Self>) -> Vec<u8>;
}

impl SimulatedFamily for V4 {
    fn octets(client: u8) -> Vec<u8> {
        vec![2, 0, 0, 0, 0, client]
    }

    fn identity(octets: &[u8]) -> Identity<'_> {
        Identity {
            hardware: HardwareAddress::new(1, octets),
            client_id: octets[5].is_multiple_of(2).then_some(&octets[4..]),
            match_client_id: true,
            hardware_only_subnets: &[],
        }
    }

    fn owner(lease: &Lease) -> Vec<u8> {
        lease.client.hardware.octets().to_vec()
    }
}

impl SimulatedFamily for V6 {
    fn octets(client: u8) -> Vec<u8> {
        // Two clients each have one DUID and two associations.
        vec![0, 3, 0, 1, 2, 0, 0, 0, 0, client / 2, client % 2]
    }

    fn identity(octets: &[u8]) -> IaIdentity<'_> {
        IaIdentity { duid: &octets[..10], kind: ResourceKind::Address, iaid: octets[10].into() }
    }

    fn owner(lease: &v6::Lease) -> Vec<u8> {
        if lease.state == LeaseState::Declined {
            return Vec::new();
        }
        let iaid = u8::try_from(lease.client.iaid).expect("the simulation's are small");
        [lease.client.duid.octets(), &[iaid]].concat()
    }
}
