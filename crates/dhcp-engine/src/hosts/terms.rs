//! Data of hosts apart from addresses, and the compilation of the tables of all hosts of a
//! configuration.

use base::HostName;
use dhcp_config::Reservation;

use super::{Hosts, HostsBuilder, ReservationProtocol, ReservationScope};
use crate::classify::{ClassIndex, Classes};
use crate::options::ScopeOptions;

/// Fixed seed of the hashes in the tables of configured hosts. Kea uses no random numbers for its
/// tables of hosts either; the server only looks up, and never inserts, identifiers that clients
/// send.
const SEED: u64 = 0x686f_7374_7321;

/// Data that a host has apart from addresses, in compiled form.
#[derive(Clone, Debug)]
pub struct HostTerms<F: ReservationProtocol> {
    /// Name that is reserved for the host; empty when none is set.
    pub hostname: HostName,
    /// Options that are sent to the host.
    pub options: ScopeOptions<F::Code>,
    /// Client classes that the host belongs to.
    pub classes: Box<[ClassIndex]>,
    /// Data of the host that only this family's hosts have.
    pub own: F::Own,
}

/// Reservation of a host in the form in which family `F` configures it.
pub type ReservationOf<F> =
    Reservation<<F as ReservationProtocol>::Code, <F as ReservationProtocol>::Configured>;

impl<F: ReservationProtocol> Hosts<F, HostTerms<F>> {
    /// Compiles the reservations of all scopes to the tables of hosts. The tags of their options
    /// were passed to [`Classes::compile`] before.
    #[must_use]
    pub fn compile<'c>(
        scopes: impl Iterator<Item = (ReservationScope, &'c [ReservationOf<F>])> + Clone,
        classes: &Classes,
    ) -> Self
    where
        ReservationOf<F>: 'c,
    {
        let count = scopes.clone().map(|(_, reservations)| reservations.len()).sum();
        let mut builder = HostsBuilder::new(SEED, count);
        for (scope, reservations) in scopes {
            for reservation in reservations {
                let terms = HostTerms::from_reservation(reservation, classes);
                builder.add(scope, &reservation.identifier, &reservation.reserved, terms);
            }
        }
        builder.finish()
    }
}

impl<F: ReservationProtocol> HostTerms<F> {
    /// Returns the compiled terms of a reservation's host; `None` when it has only addresses.
    pub(super) fn from_reservation(
        reservation: &ReservationOf<F>,
        classes: &Classes,
    ) -> Option<Self> {
        let Reservation { hostname, options, client_classes, reserved, .. } = reservation;
        let own = F::own(reserved);
        let is_bare = hostname.is_empty() && options.is_empty() && client_classes.is_empty();
        if is_bare && own == F::Own::default() {
            return None;
        }
        Some(Self {
            hostname: F::hostname(hostname),
            options: ScopeOptions::compile(options, |name| classes.index(name)),
            classes: client_classes.iter().filter_map(|name| classes.index(name)).collect(),
            own,
        })
    }
}
