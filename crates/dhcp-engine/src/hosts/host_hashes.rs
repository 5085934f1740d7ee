//! Hashes of the host look-ups that a message is about to make, as far as it reveals them before it
//! is served.

use base::Prefetch;
use dhcp_config::ReservationModes;

use super::client::KINDS;
use super::table::HostHash;
use super::{Hosts, Identifiers, ReservationProtocol, ReservationScope};

/// Hashes of a message's first look-ups, one for each of its identifiers. They are hints: the
/// message may belong to another subnet, and a hash may match another client's host.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostHashes {
    hashes: [Option<HostHash>; KINDS],
}

impl HostHashes {
    /// Returns the hashes of the look-ups for a client in the subnet `id`, whose reservation modes
    /// are `modes`.
    pub fn new<F: ReservationProtocol, T>(
        hosts: &Hosts<F, T>,
        id: u32,
        modes: ReservationModes,
        identifiers: &Identifiers<'_>,
    ) -> Self {
        let scope = match modes {
            ReservationModes { global: true, .. } => ReservationScope::Global,
            ReservationModes { in_subnet: true, .. } => ReservationScope::Subnet(id),
            _ => return Self::default(),
        };
        let kinds = hosts.kinds(scope);
        let mut host_hashes = identifiers
            .iter()
            .filter(|&(kind, _)| kinds.contains(kind))
            .map(|(kind, octets)| hosts.identifier_hash(scope, kind, octets));
        Self { hashes: core::array::from_fn(|_| host_hashes.next()) }
    }

    /// Prefetches the memory that the look-ups of hosts read first.
    pub fn prefetch<F: ReservationProtocol, T>(&self, hosts: &Hosts<F, T>, prefetch: Prefetch) {
        self.hashes.iter().flatten().for_each(|&host_hash| hosts.prefetch(host_hash, prefetch));
    }

    /// Prefetches the records of hosts that the look-ups read second.
    pub fn prefetch_records<F: ReservationProtocol, T>(
        &self,
        hosts: &Hosts<F, T>,
        prefetch: Prefetch,
    ) {
        self.hashes
            .iter()
            .flatten()
            .for_each(|&host_hash| hosts.prefetch_record(host_hash, prefetch));
    }

    /// Returns the address that is probably reserved for the client of the message: hashes match,
    /// identifiers are not compared.
    pub fn reserved<F: ReservationProtocol, T>(&self, hosts: &Hosts<F, T>) -> Option<F::Address> {
        self.hashes.iter().flatten().find_map(|&host_hash| hosts.reserved_for_hash(host_hash))
    }
}
