//! Facts about a client before its leases are looked up: its classes and its hosts, in the order in
//! which Kea determines them (Kea reference §2.2).

use dhcp_lease::PoolIndex;

use crate::classify::{ClassSet, Classes, PacketView, Workspace};
use crate::hosts::{ClientHosts, HostBook, HostIndex, HostSubnet, HostTerms, Identifiers};
use crate::name_tuning::{NameTuning, TuningScratch};
use crate::omission::Omissions;
use crate::prefixes::SubnetIndex;
use crate::reason::DropReason;
use crate::snapshot::{ScopedProtocol, Snapshot};

/// Value of the `identifier-expression` of Kea's flex-id hook for the current message.
#[derive(Debug, Default)]
pub struct FlexIdValue {
    workspace: Workspace,
    octets: Vec<u8>,
    /// Identifier that replaces the client's own; empty when Kea's flex-id hook does not replace it
    /// (`replace-client-id`).
    replacement: Vec<u8>,
}

impl FlexIdValue {
    /// Evaluates the `identifier-expression` of Kea's flex-id hook for a message. An identifier
    /// that replaces the client's own has the bytes `beginning` before the value.
    pub(crate) fn evaluate<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        view: &impl PacketView,
        classes: &ClassSet,
        beginning: &[u8],
    ) {
        self.octets.clear();
        self.replacement.clear();
        let Some(program) = &snapshot.flex_id.program else { return };
        program.evaluate(view, classes, &mut self.workspace, &mut self.octets);
        if snapshot.flex_id.replaces_client_id && !self.octets.is_empty() {
            self.replacement.extend_from_slice(beginning);
            self.replacement.extend_from_slice(&self.octets);
        }
    }

    /// Returns the value of the expression; empty when it has none.
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Returns the identifier that replaces the client's own; `None` when Kea's flex-id hook does
    /// not replace it (`replace-client-id`).
    pub(crate) fn replacement(&self) -> Option<&[u8]> {
        Some(&*self.replacement).filter(|octets| !octets.is_empty())
    }
}

/// Facts about the client whose message is being served. Each shard has one; it grows to the needs
/// of the configuration and then allocates nothing.
#[derive(Debug, Default)]
pub struct ClientFacts {
    /// Client classes that the client is in.
    pub(crate) classes: ClassSet,
    class_workspace: Workspace,
    tuning: TuningScratch,
    /// Hosts with reservations for the client.
    pub(crate) client_hosts: ClientHosts,
    /// Pools that the client may use, in order, when it may not use all pools of its link.
    pub(crate) pools: Vec<PoolIndex>,
    /// User context that the client's lease stores under `store-extended-info`; empty when none.
    pub(crate) user_context: String,
    /// Omissions from the client's lease because of size limits.
    pub(crate) omissions: Omissions,
}

impl ClientFacts {
    /// Discards the facts about the previous client, and determines the classes of the message that
    /// need no host.
    ///
    /// # Errors
    ///
    /// When the classes require that the message is dropped.
    pub(crate) fn begin<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        view: &impl PacketView,
    ) -> Result<(), DropReason> {
        self.client_hosts.clear();
        self.pools.clear();
        self.user_context.clear();
        self.omissions = Omissions::default();
        snapshot.classes.evaluate_early(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Looks up the client's global host before the subnet is selected
    /// (`early-global-reservations-lookup`): its classes may decide the subnet.
    ///
    /// # Errors
    ///
    /// When the host's classes require that the message is dropped.
    pub(crate) fn find_early<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        hosts: HostBook<'_, F>,
        view: &impl PacketView,
        identifiers: &Identifiers<'_>,
    ) -> Result<(), DropReason> {
        if !snapshot.looks_up_global_host_early {
            return Ok(());
        }
        let Some(host) = self.client_hosts.find_global(hosts, identifiers) else {
            return Ok(());
        };
        self.join(snapshot, view, hosts.terms(Some(host)));
        self.classes.insert(Classes::KNOWN);
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Looks up the hosts of a client whose selected subnet is `subnet`, and evaluates the classes
    /// that depend on them. In a shared network, the classes of a subnet's host wait until the
    /// serving subnet is known.
    ///
    /// # Errors
    ///
    /// When the classes require that the message is dropped.
    pub(crate) fn locate<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        hosts: HostBook<'_, F>,
        view: &impl PacketView,
        subnet: Option<SubnetIndex>,
        identifiers: &Identifiers<'_>,
    ) -> Result<(), DropReason> {
        if !hosts.is_empty()
            && let Some(subnet) = subnet
        {
            self.find_hosts(snapshot, hosts, subnet, identifiers);
            let terms = snapshot.subnet(subnet);
            let current = hosts.terms(self.current_host(snapshot, subnet));
            let global =
                if terms.reservation_modes.global { self.client_hosts.global() } else { None };
            let has_classes =
                |host: Option<&HostTerms<F>>| host.is_some_and(|host| !host.classes.is_empty());
            if (!snapshot.looks_up_global_host_early && has_classes(hosts.terms(global)))
                || (terms.network.is_none() && has_classes(current))
            {
                self.join(snapshot, view, current);
            }
        }
        let has_host = !self.client_hosts.is_empty();
        self.classes.insert(if has_host { Classes::KNOWN } else { Classes::UNKNOWN });
        snapshot.classes.evaluate_late(view, &mut self.classes, &mut self.class_workspace);
        self.admit()
    }

    /// Returns the host that counts for a client that is served from `subnet`.
    pub(crate) fn current_host<F: ScopedProtocol>(
        &self,
        snapshot: &Snapshot<F>,
        subnet: SubnetIndex,
    ) -> Option<HostIndex> {
        self.client_hosts.current(subnet, snapshot.subnet(subnet).reservation_modes)
    }

    /// Returns the effect of the hook library ddns_tuning on the name of the client, whose message
    /// is in `view`, in the subnet `served`; `None` when it has none.
    pub(crate) fn tune_name<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        view: &impl PacketView,
        served: SubnetIndex,
    ) -> Option<NameTuning<'_>> {
        if !snapshot.tunes_names {
            return None;
        }
        let program = snapshot.subnet(served).hostname.as_deref();
        self.tuning.evaluate(program, view, &self.classes)
    }

    /// Adds the classes that depend on the client's subnet and pools, once these are known: those
    /// of the host in `host_subnet` of a shared network, and the `evaluate-additional-classes` of
    /// `pools`, of the subnet `served` and of its shared network.
    pub(crate) fn settle<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        hosts: HostBook<'_, F>,
        view: &impl PacketView,
        served: SubnetIndex,
        host_subnet: Option<SubnetIndex>,
        pools: impl Iterator<Item = PoolIndex>,
    ) {
        let terms = snapshot.subnet(served);
        let host_subnet = if terms.network.is_some() { host_subnet } else { None };
        let own = host_subnet.and_then(|subnet| self.client_hosts.host_in_subnet(subnet));
        for &class in hosts.terms(own).map_or(&[][..], |host| &host.classes) {
            self.classes.insert(class);
        }
        let pools = pools.map(|pool| &snapshot.pool_terms(pool).scope);
        for scope in pools.chain([&terms.scope]).chain(snapshot.network(terms)) {
            if !scope.additional.is_empty() {
                let (set, work) = (&mut self.classes, &mut self.class_workspace);
                snapshot.classes.evaluate_additional(&scope.additional, view, set, work);
            }
        }
    }

    fn admit(&self) -> Result<(), DropReason> {
        if self.classes.contains(Classes::DROP) { Err(DropReason::Filtered) } else { Ok(()) }
    }

    fn find_hosts<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        hosts: HostBook<'_, F>,
        selected: SubnetIndex,
        identifiers: &Identifiers<'_>,
    ) {
        let modes = snapshot.subnet(selected).reservation_modes;
        if F::SELECTED_SUBNET_DECIDES && !modes.in_subnet && !modes.global {
            return;
        }
        let classes = &self.classes;
        let link = snapshot.link_subnets(selected).iter().copied();
        let open = link.filter(|&subnet| snapshot.admits(subnet, classes)).map(|index| {
            let subnet = snapshot.subnet(index);
            HostSubnet { index, id: subnet.id, reservation_modes: subnet.reservation_modes }
        });
        let has_global_host = snapshot.looks_up_global_host_early;
        self.client_hosts.find(hosts, modes, open, identifiers, has_global_host);
    }

    /// Puts the client in the classes of its host, and repeats the class tests that may depend on
    /// them.
    fn join<F: ScopedProtocol>(
        &mut self,
        snapshot: &Snapshot<F>,
        view: &impl PacketView,
        host: Option<&HostTerms<F>>,
    ) {
        if let Some(host) = host.filter(|host| !host.classes.is_empty()) {
            let (set, work) = (&mut self.classes, &mut self.class_workspace);
            snapshot.classes.evaluate_again(&host.classes, view, set, work);
        }
    }
}
