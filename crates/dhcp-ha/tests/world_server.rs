//! Server of a simulated world: its relationship, leases, and the requests that are under way.

use std::collections::BTreeMap;

use base::{Now, Random};
use dhcp_config::{HaPeer, HaRelationship, HaRole};
use dhcp_ha::{PartnerCommand, Relationship};
use serde_json::{Value, json};

use crate::world_changes::WorldChanges;

/// Time limit of a request between the servers, in steps.
const TIMEOUT_STEPS: u64 = 50;
/// Maximum difference of the clocks of two servers, in seconds.
const SKEW_MAX_S: u64 = 60;
/// Number of leases per page.
pub(crate) const PAGE_LEASES: usize = 5;

/// Lease of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorldLease {
    pub(crate) client: u32,
    pub(crate) cltt_s: u64,
}

/// Request to another server that is under way.
pub(crate) struct Request<T> {
    pub(crate) content: T,
    /// Number of the server to which the request goes.
    pub(crate) target: usize,
    /// Step at which the request is at the target; its answer comes back in the next step.
    pub(crate) due: u64,
    /// True if the link loses the request or its answer.
    pub(crate) is_lost: bool,
    /// Step at which the sender gives up.
    pub(crate) timeout: u64,
}

impl<T> Request<T> {
    /// Creates a request to `target` at the step `step`, which a link that loses `loss_percent` of
    /// 100 requests carries.
    pub(crate) fn new(
        content: T,
        target: usize,
        step: u64,
        loss_percent: u64,
        random: &mut Random,
    ) -> Self {
        Self {
            content,
            target,
            due: step + 1 + random.below(4),
            is_lost: random.below(100) < loss_percent,
            timeout: step + TIMEOUT_STEPS,
        }
    }
}

/// Update of a lease that waits for another server.
#[derive(Clone, Copy)]
pub(crate) struct Update {
    pub(crate) address: u32,
    pub(crate) lease: WorldLease,
}

/// Change of a lease that a server has decided on and not made yet.
#[derive(Clone, Copy)]
pub(crate) struct DelayedCommit {
    pub(crate) update: Update,
    /// Lease of the address when the server decided; another one then voids the change.
    pub(crate) before: Option<WorldLease>,
    /// Step at which the change is made.
    pub(crate) due: u64,
}

/// Updates to one of the other servers.
pub(crate) struct UpdateLane {
    pub(crate) peer: HaPeer,
    /// Number of the server that gets the updates.
    pub(crate) target: usize,
    /// True if the clients have their answers only after the server has the lease.
    pub(crate) acknowledges: bool,
    /// Updates, each with the step at which the listener of events gets it.
    pub(crate) updates: Vec<(Update, u64)>,
    pub(crate) request: Option<Request<Update>>,
}

/// Server of the world.
#[derive(Default)]
pub(crate) struct WorldServer {
    /// Relationship; `None` while the server does not run.
    pub(crate) relationship: Option<Relationship>,
    pub(crate) leases: BTreeMap<u32, WorldLease>,
    pub(crate) command: Option<Request<PartnerCommand>>,
    pub(crate) commits: Vec<DelayedCommit>,
    pub(crate) lanes: Vec<UpdateLane>,
    /// Updates that wait for the partner in the state communication-recovery.
    pub(crate) delayed: BTreeMap<u32, WorldLease>,
    /// Leases that a copy has found the partner to lack.
    pub(crate) returned: Vec<Update>,
    /// Changes since another server began to copy the leases.
    pub(crate) changes: WorldChanges,
    /// Maximum number of changed addresses that the server notes.
    pub(crate) changes_max: usize,
    /// Step until which another server has disabled the service.
    pub(crate) disabled_until: u64,
    /// Time by which the server's clock is ahead, in seconds.
    pub(crate) clock_ahead_s: u64,
}

impl DelayedCommit {
    pub(crate) const fn is_of(&self, address: u32) -> bool {
        self.update.address == address
    }
}

/// Returns the number of the server with this name.
pub(crate) fn number_of(name: &str) -> usize {
    name.trim_start_matches("server").parse().expect("the world is sound")
}

pub(crate) fn to_json(address: u32, lease: WorldLease) -> Value {
    json!({ "ip-address": address.to_string(), "client": lease.client, "cltt": lease.cltt_s })
}

pub(crate) fn address_of(lease: &Value) -> u32 {
    let text = lease["ip-address"].as_str().expect("the world is sound");
    text.parse().expect("the world is sound")
}

impl WorldServer {
    /// Starts the server with its relationship `config`.
    pub(crate) fn start(&mut self, config: HaRelationship, now: Now) {
        let lane = |peer: &HaPeer| UpdateLane {
            peer: peer.clone(),
            target: number_of(&peer.name),
            acknowledges: peer.role != HaRole::Backup || config.waits_for_backups,
            updates: Vec::new(),
            request: None,
        };
        self.lanes = config.partner().into_iter().chain(config.backups()).map(lane).collect();
        self.relationship = Some(Relationship::new(config, now));
    }

    /// Ends the server at once. It has its leases when it starts again unless it `loses_disk`.
    pub(crate) fn crash(&mut self, loses_disk: bool) {
        let leases = if loses_disk { BTreeMap::new() } else { core::mem::take(&mut self.leases) };
        let (clock_ahead_s, changes_max) = (self.clock_ahead_s, self.changes_max);
        *self = Self { leases, clock_ahead_s, changes_max, ..Self::default() };
    }

    /// Keeps `updates` until the partner answers.
    pub(crate) fn delay(&mut self, updates: &[Update]) {
        let Some(relationship) = &mut self.relationship else { return };
        let limit = relationship.config().limits.delayed_updates as usize;
        if relationship.delayed_updates() == 0 {
            self.delayed.clear();
        }
        let mut dropped = 0;
        for Update { address, lease } in updates {
            if self.delayed.len() < limit || self.delayed.contains_key(address) {
                self.delayed.insert(*address, *lease);
            } else {
                dropped += 1;
            }
        }
        relationship.record_delayed_updates(self.delayed.len() as u64, dropped);
    }

    /// Returns true if the server answers clients of scope number `scope`.
    pub(crate) fn serves(&self, step: u64, scope: usize) -> bool {
        let served = self.relationship.as_ref().map(Relationship::served_scopes);
        self.disabled_until <= step && served.is_some_and(|served| served[scope])
    }

    /// Returns the page of leases after the address `after`.
    pub(crate) fn page(&self, after: Option<&str>) -> Vec<Value> {
        let first = first_after(after);
        let leases = self.leases.range(first..).take(PAGE_LEASES);
        leases.map(|(address, lease)| to_json(*address, *lease)).collect()
    }

    /// Stores the lease of an update as the daemon does at `now`: a later one stays, unless its
    /// time is that of a wrong clock. Returns false if the later one is of another client.
    pub(crate) fn take_update(&mut self, Update { address, lease }: Update, now: Now) -> bool {
        let newest_s = now.wall_s() + SKEW_MAX_S;
        match self.leases.get(&address) {
            Some(own) if (lease.cltt_s + 1..=newest_s).contains(&own.cltt_s) => {
                own.client == lease.client
            }
            _ => {
                self.set_lease(address, Some(lease));
                true
            }
        }
    }
}

/// Returns the first address of the page after the address `after`.
fn first_after(after: Option<&str>) -> u32 {
    after.map_or(0, |after| after.parse::<u32>().expect("the world is sound") + 1)
}
