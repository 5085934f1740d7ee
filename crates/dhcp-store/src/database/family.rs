//! Properties of a family's leases that a database shared by several servers needs.

use std::fmt::Debug;
use std::hash::BuildHasher;

use dhcp_lease::v4::V4;
use dhcp_lease::v6::{IaIdentity, ResourceKind, V6};
use dhcp_lease::{
    HardwareAddress, HostName, INFINITE_LIFETIME_S, Identity, Lease, LeaseState, v4, v6,
};
use foldhash::fast::FixedState;

use crate::memfile::{LeaseFileFamily, RowFault, RowLineWriter, Values};

/// Family (DHCPv4 or DHCPv6) whose leases several servers can share in a database.
pub trait SharedLeaseFamily: LeaseFileFamily {
    /// Client of this family that sends a request, as an owned value.
    type Client: Clone + Eq + Ord + Debug + Send;

    /// Returns the maximum number of bytes that [`SharedLeaseFamily::fill_client`] writes for
    /// `identity`.
    fn most_of_client(identity: &Self::Identity<'_>) -> usize;

    /// Writes the client `identity` as values of a row to `line`.
    fn fill_client(identity: &Self::Identity<'_>, line: &mut RowLineWriter<'_>);

    /// Reads the client that [`SharedLeaseFamily::fill_client`] wrote.
    ///
    /// # Errors
    ///
    /// Returns the first fault.
    fn parse_client(values: &mut Values<'_>) -> Result<Self::Client, RowFault>;

    /// Returns the client that has `lease`, as the client's requests would identify it.
    fn client_of(lease: &Lease<Self>) -> Self::Client;

    /// Returns a hash of the key of `identity` for lookups in a database.
    fn hash_of(identity: &Self::Identity<'_>) -> u64;

    /// Returns true if `lease` belongs to `client`.
    fn owns(client: &Self::Client, lease: &Lease<Self>) -> bool;

    /// Writes an address as a value of a row, at most [`ADDRESS_MAX`] bytes.
    fn fill_address(address: Self::Address, line: &mut RowLineWriter<'_>);

    /// Reads the address that [`SharedLeaseFamily::fill_address`] wrote.
    ///
    /// # Errors
    ///
    /// Returns the first fault.
    fn parse_address(values: &mut Values<'_>) -> Result<Self::Address, RowFault>;

    /// Returns the bytes by which a DHCP reply contains `address`.
    fn octets_of(address: Self::Address) -> KeyOctets;

    /// Returns the address that `octets` contain; for a prefix, they are the number of its address.
    fn address_from(octets: &KeyOctets) -> Self::Address;
}

/// Bytes of an address or prefix number, with the number of bytes that count.
pub type KeyOctets = ([u8; 16], usize);

/// Maximum number of bytes of an address as a value of a lease row.
pub const ADDRESS_MAX: usize = 56;

/// Returns a lease that blocks `address` for all clients for good, because the address's row in the
/// database is unreadable.
pub fn blocked_lease<F: SharedLeaseFamily>(address: F::Address) -> Lease<F> {
    Lease {
        address,
        client: F::LeaseClient::default(),
        valid_lifetime_s: INFINITE_LIFETIME_S,
        cltt_s: 0,
        subnet_id: 0,
        pool_id: 0,
        fqdn_fwd: false,
        fqdn_rev: false,
        hostname: HostName::default(),
        state: LeaseState::Declined,
        user_context: Box::default(),
        extra: F::LeaseExtra::default(),
    }
}

/// DHCPv4 client that sends a request, with its identifiers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client4 {
    /// Bytes of the client's hardware address; empty for none.
    pub hardware: Vec<u8>,
    /// Client identifier (option 61), if the client has one.
    pub client_id: Option<Vec<u8>>,
    /// Value of Kea's `match-client-id` for the client's subnet.
    pub match_client_id: bool,
}

impl SharedLeaseFamily for V4 {
    type Client = Client4;

    fn most_of_client(identity: &Identity<'_>) -> usize {
        3 * (identity.hardware.octets().len() + identity.client_id.unwrap_or_default().len()) + 6
    }

    fn fill_client(identity: &Identity<'_>, line: &mut RowLineWriter<'_>) {
        line.put(if identity.match_client_id { b"1," } else { b"0," });
        line.colon_hex(identity.hardware.octets());
        line.colon_hex(identity.client_id.unwrap_or_default());
    }

    fn parse_client(values: &mut Values<'_>) -> Result<Client4, RowFault> {
        let match_client_id = values.next("match").flag()?;
        let hardware = values.next("hwaddr").colon_hex()?.octets().to_vec();
        let client_id = values.next("client_id").colon_hex()?;
        let client_id = (!client_id.is_empty()).then(|| client_id.octets().to_vec());
        Ok(Client4 { hardware, client_id, match_client_id })
    }

    fn client_of(lease: &v4::Lease) -> Client4 {
        Client4 {
            hardware: lease.client.hardware.octets().to_vec(),
            client_id: lease.client.identifier().map(<[u8]>::to_vec),
            match_client_id: true,
        }
    }

    fn hash_of(identity: &Identity<'_>) -> u64 {
        let client_id = if identity.match_client_id { identity.client_id } else { None };
        FixedState::with_seed(0).hash_one((identity.hardware.octets(), client_id))
    }

    fn owns(client: &Client4, lease: &v4::Lease) -> bool {
        let identity = Identity {
            hardware: HardwareAddress::new(1, &client.hardware),
            client_id: client.client_id.as_deref(),
            match_client_id: client.match_client_id,
            hardware_only_subnets: &[],
        };
        // Kea's databases do not keep the hardware type.
        let hardware = HardwareAddress::new(1, lease.client.hardware.octets());
        identity.owns(lease.subnet_id, &hardware, lease.client.identifier())
    }

    fn fill_address(address: std::net::Ipv4Addr, line: &mut RowLineWriter<'_>) {
        line.address4(address);
    }

    fn parse_address(values: &mut Values<'_>) -> Result<std::net::Ipv4Addr, RowFault> {
        values.next("address").address()
    }

    fn octets_of(address: std::net::Ipv4Addr) -> ([u8; 16], usize) {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&address.octets());
        (octets, 4)
    }

    fn address_from(octets: &KeyOctets) -> std::net::Ipv4Addr {
        let [a, b, c, d, ..] = octets.0;
        std::net::Ipv4Addr::new(a, b, c, d)
    }
}

/// Identity association (IA) of a DHCPv6 request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client6 {
    /// DUID of the DHCPv6 client.
    pub duid: Vec<u8>,
    /// Kind of the identity association: addresses or prefixes.
    pub kind: ResourceKind,
    /// IAID of the identity association.
    pub iaid: u32,
}

impl SharedLeaseFamily for V6 {
    type Client = Client6;

    fn most_of_client(identity: &IaIdentity<'_>) -> usize {
        3 * identity.duid.len() + 16
    }

    fn fill_client(identity: &IaIdentity<'_>, line: &mut RowLineWriter<'_>) {
        line.put(if identity.kind == ResourceKind::Prefix { b"1," } else { b"0," });
        line.decimal(u64::from(identity.iaid));
        line.colon_hex(identity.duid);
    }

    fn parse_client(values: &mut Values<'_>) -> Result<Client6, RowFault> {
        let is_prefix = values.next("kind").flag()?;
        let iaid = values.next("iaid").number()?;
        let duid = values.next("duid").colon_hex()?.octets().to_vec();
        let kind = if is_prefix { ResourceKind::Prefix } else { ResourceKind::Address };
        Ok(Client6 { duid, kind, iaid })
    }

    fn client_of(lease: &v6::Lease) -> Client6 {
        Client6 {
            duid: lease.client.duid.octets().to_vec(),
            kind: lease.address.kind,
            iaid: lease.client.iaid,
        }
    }

    fn hash_of(identity: &IaIdentity<'_>) -> u64 {
        // One query reads all associations of a client.
        FixedState::with_seed(0).hash_one(identity.duid)
    }

    fn owns(client: &Client6, lease: &v6::Lease) -> bool {
        let identity = IaIdentity { duid: &client.duid, kind: client.kind, iaid: client.iaid };
        identity.owns(lease.client.duid.octets(), lease.address.kind, lease.client.iaid)
    }

    fn fill_address(address: v6::Resource, line: &mut RowLineWriter<'_>) {
        line.put(if address.kind == ResourceKind::Prefix { b"1," } else { b"0," });
        line.decimal(u64::from(address.len));
        line.address6(address.address);
    }

    fn parse_address(values: &mut Values<'_>) -> Result<v6::Resource, RowFault> {
        let is_prefix = values.next("kind").flag()?;
        let len = values.next("len").number()?;
        let address = values.next("address").address()?;
        Ok(if is_prefix {
            v6::Resource::prefix(address, len)
        } else {
            v6::Resource::address(address)
        })
    }

    fn octets_of(address: v6::Resource) -> ([u8; 16], usize) {
        (address.address.octets(), 16)
    }

    fn address_from(octets: &KeyOctets) -> v6::Resource {
        v6::Resource::address(octets.0.into())
    }
}
