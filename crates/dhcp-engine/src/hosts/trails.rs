//! Hosts that are about to be looked up, as far as a message tells before it is served.

use base::Prefetch;
use dhcp_config::ReservationModes;

use super::client::KINDS;
use super::table::HostTrail;
use super::{Hosts, Identifiers, Reserving, Scope};

/// Where the first look-ups of a message go, by each of its identifiers. Hints: the message may
/// belong to another subnet, and what they lead to may be another's.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostTrails {
    trails: [Option<HostTrail>; KINDS],
}

impl HostTrails {
    /// Those of a message of a client in the subnet `id`, where reservations count as `modes` say.
    pub fn new<F: Reserving, T>(
        hosts: &Hosts<F, T>,
        (id, modes): (u32, ReservationModes),
        identifiers: &Identifiers<'_>,
    ) -> Self {
        let scope = match modes {
            ReservationModes { global: true, .. } => Scope::Global,
            ReservationModes { in_subnet: true, .. } => Scope::Subnet(id),
            _ => return Self::default(),
        };
        let kinds = hosts.kinds(scope);
        let mut trails = identifiers
            .iter()
            .filter(|&(kind, _)| kinds.contains(kind))
            .map(|(kind, octets)| hosts.trail(scope, kind, octets));
        Self { trails: core::array::from_fn(|_| trails.next()) }
    }

    /// Brings near what the look-ups read first.
    pub fn expect<F: Reserving, T>(&self, hosts: &Hosts<F, T>, prefetch: Prefetch) {
        self.trails.iter().flatten().for_each(|&trail| hosts.expect(trail, prefetch));
    }

    /// Brings near what they read then.
    pub fn expect_records<F: Reserving, T>(&self, hosts: &Hosts<F, T>, prefetch: Prefetch) {
        self.trails.iter().flatten().for_each(|&trail| hosts.expect_record(trail, prefetch));
    }

    /// What is likely to be reserved for the client.
    pub fn reserved<F: Reserving, T>(&self, hosts: &Hosts<F, T>) -> Option<F::Address> {
        self.trails.iter().flatten().find_map(|&trail| hosts.reserved_on(trail))
    }
}
