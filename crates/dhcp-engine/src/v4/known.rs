//! What is known of a client before its leases are looked up: its classes and its hosts, in the
//! order in which Kea finds them out (reference §2.2).

use dhcp_config::IdentifierKind;
use dhcp_lease::v4::{Facts, PoolIndex, V4};
use dhcp_wire::v4::relay;

use super::scopes::HostTerms;
use super::{DropReason, Snapshot};
use crate::classify::{ClassSet, Classes, PacketView4, Workspace};
use crate::hosts::{Host, HostIndex, Scope};
use crate::prefixes::SubnetIndex;

/// Type of client identifiers that hold a DUID behind an IAID (RFC 4361 §6.1).
const DUID_TYPE: u8 = 255;
/// Where the DUID begins in such a client identifier.
const DUID_AT: usize = 5;

/// What transactions need and need not keep.
#[derive(Debug, Default)]
pub struct Work {
    /// What was fetched.
    pub facts: Facts,
    /// What is known of the client.
    pub known: Known,
}

/// What is known of the client at hand. One for each shard; it grows to what the configuration needs
/// and then allocates nothing.
#[derive(Debug, Default)]
pub struct Known {
    /// The classes that it is in.
    pub(super) classes: ClassSet,
    workspace: Workspace,
    identifiers: Identifiers,
    /// Its hosts: of subnets in the order in which they were looked up, and the global one.
    hosts: Vec<(Option<SubnetIndex>, HostIndex)>,
    /// Pools that it may use, in order, when not all of them.
    pub(super) pools: Vec<PoolIndex>,
    /// What its lease keeps under `store-extended-info`; empty when nothing.
    pub(super) user_context: String,
}

/// What tells the client's host.
#[derive(Debug, Default)]
struct Identifiers {
    octets: Vec<u8>,
    /// Kind, and where in `octets` it ends.
    list: Vec<(IdentifierKind, usize)>,
}

impl Identifiers {
    fn clear(&mut self) {
        self.octets.clear();
        self.list.clear();
    }

    fn push(&mut self, kind: IdentifierKind, octets: impl IntoIterator<Item = u8>) {
        let before = self.octets.len();
        self.octets.extend(octets);
        if self.octets.len() > before {
            self.list.push((kind, self.octets.len()));
        }
    }

    fn iter(&self) -> impl Iterator<Item = (IdentifierKind, &[u8])> {
        let mut start = 0;
        self.list
            .iter()
            .map(move |&(kind, end)| (kind, &self.octets[core::mem::replace(&mut start, end)..end]))
    }
}

impl Known {
    /// Forgets the client before and finds out the classes that need no host.
    ///
    /// # Errors
    ///
    /// When they say that the message is to be dropped.
    pub(super) fn begin(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
    ) -> Result<(), DropReason> {
        self.hosts.clear();
        self.pools.clear();
        self.user_context.clear();
        self.identifiers.clear();
        snapshot.classes.evaluate_early(view, &mut self.classes, &mut self.workspace);
        self.admit()
    }

    /// Notes what tells the client's host, and looks among the global hosts when these count before
    /// the subnet is known.
    ///
    /// # Errors
    ///
    /// When the host's classes say that the message is to be dropped.
    pub(super) fn identify(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
        client_id: Option<&[u8]>,
    ) -> Result<(), DropReason> {
        if snapshot.hosts.is_empty() {
            return Ok(());
        }
        for &kind in &snapshot.host_identifiers {
            self.note(kind, view, client_id);
        }
        if !snapshot.looks_up_hosts_early {
            return Ok(());
        }
        let Some(host) = self.find(snapshot, Scope::Global) else { return Ok(()) };
        self.hosts.push((None, host));
        self.join(snapshot, view, host);
        self.classes.insert(Classes::KNOWN);
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.workspace);
        self.admit()
    }

    /// Looks up the hosts of a client that `subnet` was selected for, and the classes that depend on
    /// them.
    ///
    /// # Errors
    ///
    /// When they say that the message is to be dropped.
    pub(super) fn locate(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
        subnet: Option<SubnetIndex>,
    ) -> Result<(), DropReason> {
        if let Some(subnet) = subnet
            && !snapshot.hosts.is_empty()
        {
            self.find_hosts(snapshot, subnet);
            let current = self.host(snapshot, subnet);
            let global = self.global_host(snapshot, subnet);
            let is_due = (!snapshot.looks_up_hosts_early && has_classes(snapshot, global))
                || (!snapshot.subnet(subnet).is_in_network && has_classes(snapshot, current));
            if let Some(host) = current.filter(|_| is_due) {
                self.join(snapshot, view, host);
            }
        }
        let is_known = !self.hosts.is_empty();
        self.classes.insert(if is_known { Classes::KNOWN } else { Classes::UNKNOWN });
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.workspace);
        self.admit()
    }

    /// Goes on once the client's place is known: classes of the host there, and the additional ones
    /// of pool, subnet and network.
    pub(super) fn settle(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
        subnet: SubnetIndex,
        pool: Option<PoolIndex>,
    ) {
        if snapshot.subnet(subnet).is_in_network
            && let Some(host) = self.own_host(snapshot, subnet)
            && let Some(terms) = snapshot.hosts.get(host).terms
        {
            for &class in &terms.classes {
                self.classes.insert(class);
            }
        }
        let pool = pool.map(|pool| &snapshot.pool(pool).gate);
        let network = snapshot.network(subnet).map(|network| &network.gate);
        for gate in [pool, Some(&snapshot.subnet(subnet).gate), network].into_iter().flatten() {
            if !gate.additional.is_empty() {
                let (set, work) = (&mut self.classes, &mut self.workspace);
                snapshot.classes.evaluate_additional(&gate.additional, view, set, work);
            }
        }
    }

    /// The host whose terms hold in `subnet`: that of the subnet, else the global one.
    pub(super) fn host(&self, snapshot: &Snapshot, subnet: SubnetIndex) -> Option<HostIndex> {
        self.own_host(snapshot, subnet).or_else(|| self.global_host(snapshot, subnet))
    }

    /// The host of `subnet` itself, where such hosts count.
    pub(super) fn own_host(&self, snapshot: &Snapshot, subnet: SubnetIndex) -> Option<HostIndex> {
        let counts = snapshot.subnet(subnet).modes.in_subnet;
        self.hosts.iter().find(|(of, _)| counts && *of == Some(subnet)).map(|&(_, host)| host)
    }

    /// The global host, where such hosts count.
    pub(super) fn global_host(
        &self,
        snapshot: &Snapshot,
        subnet: SubnetIndex,
    ) -> Option<HostIndex> {
        let counts = snapshot.subnet(subnet).modes.global;
        self.hosts.iter().find(|(of, _)| counts && of.is_none()).map(|&(_, host)| host)
    }

    /// The hosts found, each with its subnet; `None` for the global one.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (Option<SubnetIndex>, HostIndex)> {
        self.hosts.iter().copied()
    }

    /// Whether one of the client's identifiers is that of `host`.
    pub(super) fn is_of(&self, host: &Host<'_, V4, HostTerms>) -> bool {
        self.identifiers.iter().any(|(kind, octets)| (kind, octets) == (host.kind, host.identifier))
    }

    fn admit(&self) -> Result<(), DropReason> {
        if self.classes.contains(Classes::DROP) { Err(DropReason::Filtered) } else { Ok(()) }
    }

    fn note(&mut self, kind: IdentifierKind, view: &PacketView4<'_>, client_id: Option<&[u8]>) {
        let message = view.message;
        let identifiers = &mut self.identifiers;
        match (kind, client_id) {
            (IdentifierKind::HardwareAddress, _) => {
                identifiers.push(kind, message.chaddr().iter().copied());
            }
            (IdentifierKind::Duid, Some(id)) if id.first() == Some(&DUID_TYPE) => {
                identifiers.push(kind, id.iter().copied().skip(DUID_AT));
            }
            (IdentifierKind::ClientId, Some(id)) => identifiers.push(kind, id.iter().copied()),
            (IdentifierKind::CircuitId, _) => {
                let circuit = message
                    .relay_agent_information()
                    .and_then(|value| relay::sub_option(value, relay::CIRCUIT_ID));
                identifiers.push(kind, circuit.iter().flat_map(|value| value.octets()));
            }
            (IdentifierKind::Duid | IdentifierKind::ClientId | IdentifierKind::FlexId, _) => {}
        }
    }

    fn find_hosts(&mut self, snapshot: &Snapshot, subnet: SubnetIndex) {
        let modes = snapshot.subnet(subnet).modes;
        if snapshot.looks_up_hosts_early && !modes.in_subnet {
            return;
        }
        if !snapshot.looks_up_hosts_early && modes.global {
            if let Some(host) = self.find(snapshot, Scope::Global) {
                self.hosts.push((None, host));
                if !modes.in_subnet {
                    return;
                }
            }
        }
        for neighbor in snapshot.neighbors(subnet) {
            let terms = snapshot.subnet(neighbor);
            if terms.modes.in_subnet
                && snapshot.admits(neighbor, &self.classes)
                && let Some(host) = self.find(snapshot, Scope::Subnet(terms.id))
            {
                self.hosts.push((Some(neighbor), host));
            }
        }
    }

    fn find(&self, snapshot: &Snapshot, scope: Scope) -> Option<HostIndex> {
        let kinds = snapshot.hosts.kinds(scope);
        if kinds.is_empty() {
            return None;
        }
        self.identifiers
            .iter()
            .filter(|&(kind, _)| kinds.contains(kind))
            .find_map(|(kind, octets)| snapshot.hosts.find(scope, kind, octets))
    }

    /// Puts the client in the classes of a host, and tests again what may depend on them.
    fn join(&mut self, snapshot: &Snapshot, view: &PacketView4<'_>, host: HostIndex) {
        let Some(terms) = snapshot.hosts.get(host).terms.filter(|terms| !terms.classes.is_empty())
        else {
            return;
        };
        let (set, work) = (&mut self.classes, &mut self.workspace);
        snapshot.classes.evaluate_again(&terms.classes, view, set, work);
    }
}

fn has_classes(snapshot: &Snapshot, host: Option<HostIndex>) -> bool {
    let terms = host.and_then(|host| snapshot.hosts.get(host).terms);
    terms.is_some_and(|terms| !terms.classes.is_empty())
}
