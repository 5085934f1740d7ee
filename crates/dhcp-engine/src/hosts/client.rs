//! Hosts of one client: in the global scope and in the subnets of its link (Kea's
//! `reservations-global` and `reservations-in-subnet`, Kea reference §5.5).

use dhcp_config::{IdentifierKind, ReservationModes};

use super::{HostBook, HostIndex, ReservationProtocol, ReservationScope};
use crate::prefixes::SubnetIndex;

/// Number of kinds of identifiers by which hosts are looked up (`host-reservation-identifiers`).
pub(super) const KINDS: usize = 5;

/// Identifiers of a client, in the order in which its hosts are looked up
/// (`host-reservation-identifiers`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Identifiers<'i> {
    list: [Option<(IdentifierKind, &'i [u8])>; KINDS],
}

impl<'i> Identifiers<'i> {
    /// Returns the client's identifiers of the `kinds` that `octets` finds in the message. Empty
    /// ones count as not sent.
    pub fn new(
        kinds: &[IdentifierKind],
        octets: impl Fn(IdentifierKind) -> Option<&'i [u8]>,
    ) -> Self {
        let mut identifiers = kinds.iter().filter_map(|&kind| {
            let octets = octets(kind).filter(|octets| !octets.is_empty())?;
            Some((kind, octets))
        });
        Self { list: core::array::from_fn(|_| identifiers.next()) }
    }

    /// Returns the kind and the bytes of each identifier.
    pub fn iter(&self) -> impl Iterator<Item = (IdentifierKind, &'i [u8])> {
        self.list.iter().flatten().copied()
    }

    /// Returns the host of a scope that the first matching identifier of the client leads to.
    pub fn find<F: ReservationProtocol>(
        &self,
        hosts: HostBook<'_, F>,
        scope: ReservationScope,
    ) -> Option<HostIndex> {
        self.iter().find_map(|(kind, octets)| hosts.find(scope, kind, octets))
    }

    /// Returns the hosts of a scope that any of the client's identifiers leads to.
    pub fn find_all<'h, F: ReservationProtocol>(
        &'h self,
        hosts: HostBook<'h, F>,
        scope: ReservationScope,
    ) -> impl Iterator<Item = HostIndex> + use<'h, 'i, F> {
        self.iter().filter_map(move |(kind, octets)| hosts.find(scope, kind, octets))
    }

    /// Returns true if any of the client's identifiers is the identifier of `host`.
    pub fn matches_host<F: ReservationProtocol>(
        &self,
        hosts: HostBook<'_, F>,
        host: HostIndex,
    ) -> bool {
        let host = hosts.get(host);
        self.iter().any(|identifier| identifier == (host.kind, host.identifier))
    }
}

/// Subnet that a client may be served from, with the data that reservations need.
#[derive(Clone, Copy, Debug)]
pub struct HostSubnet {
    /// Position of the subnet in the configuration.
    pub index: SubnetIndex,
    /// `id` of the subnet in the configuration.
    pub id: u32,
    /// Reservation modes of the subnet: `reservations-global`, `reservations-in-subnet`,
    /// `reservations-out-of-pool`.
    pub reservation_modes: ReservationModes,
}

/// Hosts of the client whose message is being served. The value is reused from message to message.
#[derive(Clone, Debug, Default)]
pub struct ClientHosts {
    global: Option<HostIndex>,
    in_subnets: Vec<(SubnetIndex, HostIndex)>,
}

impl ClientHosts {
    /// Removes the hosts of the client of the previous message.
    pub fn clear(&mut self) {
        self.global = None;
        self.in_subnets.clear();
    }

    /// Looks up the client's global host, before the client's subnet is selected
    /// (`early-global-reservations-lookup`).
    pub fn find_global<F: ReservationProtocol>(
        &mut self,
        hosts: HostBook<'_, F>,
        identifiers: &Identifiers<'_>,
    ) -> Option<HostIndex> {
        self.global = identifiers.find(hosts, ReservationScope::Global);
        self.global
    }

    /// Looks up all hosts with reservations that count for a client. `subnets` are those of its
    /// link that it may be served from, the selected one first. `has_global_host`:
    /// [`Self::find_global`] was called.
    pub fn find<F: ReservationProtocol>(
        &mut self,
        hosts: HostBook<'_, F>,
        selected: ReservationModes,
        subnets: impl Iterator<Item = HostSubnet>,
        identifiers: &Identifiers<'_>,
        has_global_host: bool,
    ) {
        if hosts.is_empty() {
            return;
        }
        if has_global_host {
            if !selected.in_subnet {
                return;
            }
        } else if selected.global
            && self.find_global(hosts, identifiers).is_some()
            && !selected.in_subnet
        {
            return;
        }
        for subnet in subnets.filter(|subnet| subnet.reservation_modes.in_subnet) {
            if let Some(host) = identifiers.find(hosts, ReservationScope::Subnet(subnet.id)) {
                self.in_subnets.push((subnet.index, host));
            }
        }
    }

    /// Returns true if the client has no host reservation, so that it is in the class `UNKNOWN`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.global.is_none() && self.in_subnets.is_empty()
    }

    /// Returns the position of the client's host in the global scope.
    #[must_use]
    pub const fn global(&self) -> Option<HostIndex> {
        self.global
    }

    /// Returns the position of the client's host in a subnet.
    #[must_use]
    pub fn host_in_subnet(&self, subnet: SubnetIndex) -> Option<HostIndex> {
        self.in_subnets.iter().find(|(index, _)| *index == subnet).map(|&(_, host)| host)
    }

    /// Returns the subnets with the position of the client's host in each, in the order of the
    /// look-up.
    pub fn in_subnets(&self) -> impl Iterator<Item = (SubnetIndex, HostIndex)> + Clone {
        self.in_subnets.iter().copied()
    }

    /// Returns the host whose reservation counts for a client that is served from `subnet`: that of
    /// the subnet, else the global one, as far as `modes` allow.
    #[must_use]
    pub fn current(&self, subnet: SubnetIndex, modes: ReservationModes) -> Option<HostIndex> {
        let own = if modes.in_subnet { self.host_in_subnet(subnet) } else { None };
        own.or(if modes.global { self.global } else { None })
    }
}
