//! One relationship of the server, with the thread that maintains it and the listeners that send
//! its updates.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};

use dhcp_config::{HA_BACKUPS_MAX, HaRelationship};
use dhcp_engine::{EventGate, PairFilter, PairShare};
use dhcp_ha::Relationship;
use dhcp_lease::LeaseTable;
use netio::{Clock, Waker};

use super::delayed::DelayedUpdates;
use super::subnets::RelationshipSubnets;
use super::updates::{PartnerListener, UpdateTarget};
use super::{PairState, PartnerLeaseStore, driver};
use crate::ServerError;
use crate::service::{DaemonFamily, SubnetSummary};

/// Beginning of the names of the listeners that send updates to partners.
pub(crate) const PARTNER_LISTENER: &str = "ha-partner";
/// Names of the listeners that send updates to backup servers, in the order of the configuration.
const BACKUP_NAMES: [&str; HA_BACKUPS_MAX] = [
    "ha-backup-1",
    "ha-backup-2",
    "ha-backup-3",
    "ha-backup-4",
    "ha-backup-5",
    "ha-backup-6",
    "ha-backup-7",
    "ha-backup-8",
];

/// Relationship with the partner, and the thread that maintains it.
pub(super) struct HaService<P: DaemonFamily> {
    pub(super) state: Arc<PairState>,
    delayed: Arc<DelayedUpdates<P>>,
    thread: Option<JoinHandle<()>>,
    names: ThreadNames,
}

/// Names of the threads of a relationship, which are those of the listeners, too.
struct ThreadNames {
    relationship: String,
    partner: &'static str,
    backups: Vec<&'static str>,
}

impl ThreadNames {
    /// Returns the names for the relationship number `number`; those of the second one and of
    /// further ones end with its position in the list, from 1 on.
    fn new(number: usize) -> Self {
        let name = |name: &'static str| match number {
            0 => name,
            // Listeners have names for as long as the server runs, and relationships, too.
            _ => &*String::leak(format!("{name}-{}", number + 1)),
        };
        let (relationship, partner) = (name("ha").to_owned(), name(PARTNER_LISTENER));
        Self { relationship, partner, backups: BACKUP_NAMES.map(name).to_vec() }
    }
}

impl<P: DaemonFamily> HaService<P> {
    /// Creates the relationship of a server with the configuration `config`, one of `count`; no
    /// thread runs yet.
    pub(super) fn new(
        config: HaRelationship,
        count: usize,
        service: &'static str,
        supervisor: Arc<Waker>,
        subnets: &Arc<[SubnetSummary]>,
    ) -> Self {
        let filter = Arc::<PairFilter>::default();
        filter.set_share(PairShare::Closed);
        let names = ThreadNames::new(config.number);
        let subnets = RelationshipSubnets::new(subnets, config.number, count);
        let state = PairState {
            relationship: Mutex::new(Relationship::new(config, Clock::now())),
            has_changed: Condvar::new(),
            is_ending: AtomicBool::new(false),
            is_disabled: AtomicBool::new(false),
            filter,
            supervisor,
            service,
            subnets: Mutex::new(Arc::new(subnets)),
            relationships: count,
        };
        Self { state: Arc::new(state), delayed: Arc::default(), thread: None, names }
    }

    /// Returns the filter that the shards read.
    pub(super) fn filter(&self) -> Arc<PairFilter> {
        Arc::clone(&self.state.filter)
    }

    /// Returns the listeners that send updates to the partner and to each backup server, if the
    /// configuration has updates of the leases in `table`; they refuse replies at `gate`.
    pub(super) fn listeners(
        &self,
        gate: &Arc<EventGate>,
        table: &Arc<LeaseTable<P>>,
    ) -> Vec<PartnerListener<P>> {
        let relationship = self.state.relationship();
        let config = relationship.config();
        if !config.sends_lease_updates {
            return Vec::new();
        }
        let partner = config.partner().map(|peer| UpdateTarget::partner(self.names.partner, peer));
        let backups = self.names.backups.iter().copied().zip(config.backups());
        let backups =
            backups.map(|(name, peer)| UpdateTarget::backup(name, peer, config.waits_for_backups));
        let listener = |target: UpdateTarget| {
            let (state, delayed) = (Arc::clone(&self.state), Arc::clone(&self.delayed));
            let (gate, table) = (Arc::clone(gate), Arc::clone(table));
            PartnerListener::new(state, delayed, gate, table, target, config)
        };
        partner.into_iter().chain(backups).map(listener).collect()
    }

    /// Starts the thread that maintains the relationship.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses the thread.
    pub(super) fn start(&mut self, store: PartnerLeaseStore<P>) -> Result<(), ServerError> {
        let (state, delayed) = (Arc::clone(&self.state), Arc::clone(&self.delayed));
        let thread = Builder::new()
            .name(self.names.relationship.clone())
            .spawn(move || driver::maintain(&state, &delayed, store))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Ends the thread.
    pub(super) fn stop(&mut self) {
        self.state.end();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a thread that panics ends the process");
        }
    }
}
