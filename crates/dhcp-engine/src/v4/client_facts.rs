//! Facts about a DHCPv4 client before its leases are looked up: its classes and its hosts, in the
//! order in which Kea determines them (Kea reference §2.2).

use dhcp_config::IdentifierKind;
use dhcp_lease::identity::CLIENT_ID_MAX;
use dhcp_lease::v4::{Facts, PoolIndex, V4};
use dhcp_wire::v4::{Message, OptionValue, relay};

use super::name::ClientName;
use super::stored_relay_information::StoredRelayInformation;
use super::{DropReason, Snapshot};
use crate::classify::{ClassSet, Classes, PacketView4, Workspace};
use crate::hosts::{ClientHosts, HostBook, HostIndex, HostSubnet, Identifiers};
use crate::omission::Omissions;
use crate::prefixes::SubnetIndex;

/// Type byte of client identifiers (option 61) that hold a DUID after an IAID (RFC 4361 §6.1).
const DUID_TYPE: u8 = 255;
/// Position of the DUID in a client identifier of type [`DUID_TYPE`], in bytes.
const DUID_AT: usize = 5;
/// Type byte of the client identifiers (option 61) that Kea's flex-id hook makes.
const FLEX_ID_TYPE: u8 = 0;

/// Scratch memory of a shard's DHCPv4 transactions, which keep nothing of it for the next message.
#[derive(Debug, Default)]
pub struct Dhcp4TransactionScratch {
    /// Slots and free addresses that the transaction fetched from the lease store.
    pub facts: Facts,
    /// Facts about the client before its leases are looked up.
    pub client_facts: Dhcp4ClientFacts,
    /// Value of the `identifier-expression` of Kea's flex-id hook for the message.
    pub flex: FlexIdValue,
    /// Relay agent information (option 82, RFC 3046) that the client's lease stores.
    pub stored_relay_information: StoredRelayInformation,
}

/// Value of the `identifier-expression` of Kea's flex-id hook for the current message.
#[derive(Debug, Default)]
pub struct FlexIdValue {
    workspace: Workspace,
    octets: Vec<u8>,
    /// Client identifier that replaces the client's own; empty when Kea's flex-id hook does not
    /// replace it (`replace-client-id`).
    client_id: Vec<u8>,
}

impl FlexIdValue {
    /// Evaluates the `identifier-expression` of Kea's flex-id hook for a message.
    pub(super) fn evaluate(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
        classes: &ClassSet,
    ) {
        self.octets.clear();
        self.client_id.clear();
        let Some(program) = &snapshot.own.flex_id else { return };
        program.evaluate(view, classes, &mut self.workspace, &mut self.octets);
        if snapshot.own.flex_id_replaces_client_id && !self.octets.is_empty() {
            if snapshot.own.flex_id_is_like_a_duid {
                // The bytes after the type are an IAID of 0.
                let mut beginning = [0; DUID_AT];
                beginning[0] = DUID_TYPE;
                self.client_id.extend_from_slice(&beginning);
            } else {
                self.client_id.push(FLEX_ID_TYPE);
            }
            self.client_id.extend_from_slice(&self.octets);
        }
    }

    /// Returns the client identifier that replaces the client's own; `None` when Kea's flex-id hook
    /// does not replace it (`replace-client-id`).
    ///
    /// # Errors
    ///
    /// When it is longer than a lease can store.
    pub(super) fn client_id(&self) -> Result<Option<&[u8]>, DropReason> {
        match self.client_id.len() {
            0 => Ok(None),
            1..=CLIENT_ID_MAX => Ok(Some(&self.client_id)),
            _ => Err(DropReason::ClientIdTooLong),
        }
    }
}

/// Facts about the DHCPv4 client whose message is being served. Each shard has one; it grows to the
/// needs of the configuration and then allocates nothing.
#[derive(Debug, Default)]
pub struct Dhcp4ClientFacts {
    /// Client classes that the client is in.
    pub(super) classes: ClassSet,
    class_workspace: Workspace,
    /// Hosts with reservations for the client.
    pub(super) client_hosts: ClientHosts,
    /// Pools that the client may use, in order, when it may not use all pools of its link.
    pub(super) pools: Vec<PoolIndex>,
    /// User context that the client's lease stores under `store-extended-info`; empty when none.
    pub(super) user_context: String,
    /// Name of the client in the reply and in the lease.
    pub(super) name: ClientName,
    /// Omissions from the client's lease because of size limits, apart from those of the name.
    pub(super) omissions: Omissions,
}

/// Returns the identifiers by which the client's host is looked up, from the message in `view`.
pub(super) fn identifiers<'m>(
    snapshot: &Snapshot,
    view: &PacketView4<'m>,
    client_id: Option<&'m [u8]>,
    flex: &'m FlexIdValue,
) -> Identifiers<'m> {
    Identifiers::new(&snapshot.host_identifiers, |kind| match kind {
        IdentifierKind::FlexId => Some(&flex.octets),
        _ => octets_of(kind, view.message, || view.relay_agent_information(), client_id),
    })
}

/// Returns the bytes of the identifier of this kind that a message has for host look-ups.
pub(super) fn octets_of<'m>(
    kind: IdentifierKind,
    message: &'m Message<'_>,
    information: impl FnOnce() -> Option<OptionValue<'m>>,
    client_id: Option<&'m [u8]>,
) -> Option<&'m [u8]> {
    match kind {
        IdentifierKind::HardwareAddress => Some(message.chaddr()),
        IdentifierKind::ClientId => client_id,
        IdentifierKind::Duid => {
            client_id.filter(|id| id.first() == Some(&DUID_TYPE))?.get(DUID_AT..)
        }
        IdentifierKind::CircuitId => {
            relay::sub_option(information()?, relay::CIRCUIT_ID)?.as_slice()
        }
        // An expression makes this identifier.
        IdentifierKind::FlexId => None,
    }
}

impl Dhcp4ClientFacts {
    /// Discards the facts about the previous client, and determines the classes of the message that
    /// need no host.
    ///
    /// # Errors
    ///
    /// When the classes require that the message is dropped.
    pub(super) fn begin(
        &mut self,
        snapshot: &Snapshot,
        view: &PacketView4<'_>,
    ) -> Result<(), DropReason> {
        self.client_hosts.clear();
        self.pools.clear();
        self.user_context.clear();
        self.omissions = Omissions::default();
        self.name.begin(view.message);
        snapshot.classes.evaluate_early(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Looks up the client's global host before the subnet is known
    /// (`early-global-reservations-lookup`).
    ///
    /// # Errors
    ///
    /// When the host's classes require that the message is dropped.
    pub(super) fn find_early(
        &mut self,
        snapshot: &Snapshot,
        hosts: HostBook<'_, V4>,
        view: &PacketView4<'_>,
        identifiers: &Identifiers<'_>,
    ) -> Result<(), DropReason> {
        if !snapshot.looks_up_global_host_early {
            return Ok(());
        }
        let Some(host) = self.client_hosts.find_global(hosts, identifiers) else {
            return Ok(());
        };
        self.join(snapshot, hosts, view, Some(host));
        self.classes.insert(Classes::KNOWN);
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Looks up the hosts of a client whose selected subnet is `subnet`, and evaluates the classes
    /// that depend on them.
    ///
    /// # Errors
    ///
    /// When the classes require that the message is dropped.
    pub(super) fn locate(
        &mut self,
        snapshot: &Snapshot,
        hosts: HostBook<'_, V4>,
        view: &PacketView4<'_>,
        subnet: Option<SubnetIndex>,
        identifiers: &Identifiers<'_>,
    ) -> Result<(), DropReason> {
        if !hosts.is_empty()
            && let Some(subnet) = subnet
        {
            self.find_hosts(snapshot, hosts, subnet, identifiers);
            let modes = snapshot.subnet(subnet).reservation_modes;
            let current = self.client_hosts.current(subnet, modes);
            let global = if modes.global { self.client_hosts.global() } else { None };
            // In a shared network, the client may get an address of another subnet, with another
            // host.
            let is_due = (!snapshot.looks_up_global_host_early && has_classes(hosts, global))
                || (snapshot.subnet(subnet).network.is_none() && has_classes(hosts, current));
            self.join(snapshot, hosts, view, if is_due { current } else { None });
        }
        let has_host = !self.client_hosts.is_empty();
        self.classes.insert(if has_host { Classes::KNOWN } else { Classes::UNKNOWN });
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Adds the classes that depend on the client's subnet and pool, once these are known: those of
    /// the host in the subnet, and the `evaluate-additional-classes` of pool, subnet and shared
    /// network.
    pub(super) fn settle(
        &mut self,
        snapshot: &Snapshot,
        hosts: HostBook<'_, V4>,
        view: &PacketView4<'_>,
        subnet: SubnetIndex,
        pool: Option<PoolIndex>,
    ) {
        let terms = snapshot.subnet(subnet);
        let own = if terms.network.is_some() && terms.reservation_modes.in_subnet {
            self.client_hosts.host_in_subnet(subnet)
        } else {
            None
        };
        for &class in hosts.terms(own).map_or(&[][..], |host| &host.classes) {
            self.classes.insert(class);
        }
        let pool = pool.map(|pool| &snapshot.pool_terms(pool).scope);
        for scope in [pool, Some(&terms.scope), snapshot.network(terms)].into_iter().flatten() {
            if !scope.additional.is_empty() {
                let (set, work) = (&mut self.classes, &mut self.class_workspace);
                snapshot.classes.evaluate_additional(&scope.additional, view, set, work);
            }
        }
    }

    fn admit(&self) -> Result<(), DropReason> {
        if self.classes.contains(Classes::DROP) { Err(DropReason::Filtered) } else { Ok(()) }
    }

    fn find_hosts(
        &mut self,
        snapshot: &Snapshot,
        hosts: HostBook<'_, V4>,
        selected: SubnetIndex,
        identifiers: &Identifiers<'_>,
    ) {
        let classes = &self.classes;
        let open = snapshot
            .link_subnets(selected)
            .iter()
            .filter(|&&subnet| snapshot.admits(subnet, classes))
            .map(|&index| {
                let subnet = snapshot.subnet(index);
                HostSubnet { index, id: subnet.id, reservation_modes: subnet.reservation_modes }
            });
        let modes = snapshot.subnet(selected).reservation_modes;
        // If the selected subnet counts no reservations, Kea does not look in the others of the
        // network either, unlike in DHCPv6.
        if !modes.in_subnet && !modes.global {
            return;
        }
        let has_global_host = snapshot.looks_up_global_host_early;
        self.client_hosts.find(hosts, modes, open, identifiers, has_global_host);
    }

    /// Puts the client in the classes of its host, and repeats the class tests that may depend on
    /// them.
    fn join(
        &mut self,
        snapshot: &Snapshot,
        hosts: HostBook<'_, V4>,
        view: &PacketView4<'_>,
        host: Option<HostIndex>,
    ) {
        if let Some(terms) = hosts.terms(host)
            && !terms.classes.is_empty()
        {
            let (set, work) = (&mut self.classes, &mut self.class_workspace);
            snapshot.classes.evaluate_again(&terms.classes, view, set, work);
        }
    }
}

fn has_classes(hosts: HostBook<'_, V4>, host: Option<HostIndex>) -> bool {
    hosts.terms(host).is_some_and(|terms| !terms.classes.is_empty())
}
