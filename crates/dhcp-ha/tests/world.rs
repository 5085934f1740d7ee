//! Simulated world of a pair: two servers with their leases, a backup server, clients, and links
//! between the servers that lose, delay and part, on a virtual clock and from one seed. In the mode
//! passive-backup the second server is the backup server, and there is no third.
//!
//! A server stores a lease at once and answers its client when its partner has the lease, as the
//! daemon does. Clients send to both servers. Time passes in steps of [`STEP_NS`].

use std::collections::BTreeMap;

use base::time::NS_PER_MS;
use base::{Now, Random};
use dhcp_config::{HaLimits, HaMode, HaPeer, HaRelationship, HaRole};
use dhcp_ha::{CommandResult, HaExecution, HaState, PartnerCommand, PartnerQuery, Relationship};
use serde_json::{Value, json};

use crate::world_server::{
    DelayedCommit, PAGE_LEASES, Request, Update, WorldLease, WorldServer, number_of,
};

/// Length of a step of the world, in nanoseconds.
const STEP_NS: u64 = 20 * NS_PER_MS;
/// Maximum time from the decision on a change to the change, and from it to its report, in steps.
const LAG_STEPS: u64 = 12;
/// Maximum time until the link delivers an update that was given up, in steps.
const LATE_STEPS: u64 = 1_000;
/// Number of addresses that a server looks at for a new client.
const ADDRESSES: u32 = 64;
/// Number of the backup server of a pair.
pub(crate) const BACKUP: usize = 2;

/// Servers with clients.
pub(crate) struct PairWorld {
    pub(crate) random: Random,
    pub(crate) mode: HaMode,
    pub(crate) step: u64,
    pub(crate) servers: [WorldServer; 3],
    /// True while the first two servers do not reach each other.
    pub(crate) is_cut: bool,
    /// True while no client sends anything.
    pub(crate) is_quiet: bool,
    /// Requests of 100 that the link loses.
    pub(crate) loss_percent: u64,
    /// True if the link delivers updates that were given up.
    pub(crate) delivers_late: bool,
    /// Updates that were given up, each with its target and the step at which it arrives unless the
    /// link is cut.
    late: Vec<(Update, usize, u64)>,
    /// Clients whose lease was acknowledged last, by address.
    pub(crate) acknowledged: BTreeMap<u32, u32>,
    /// Acknowledgements of an address to a second client.
    pub(crate) doubles: Vec<u32>,
    pub(crate) acknowledgements: u64,
    /// Number of updates that may wait for a partner (`delayed-updates-limit`).
    delayed_updates: u32,
    /// Number of leases at most that a server sends to a partner that lacks them.
    returned_max: usize,
    /// Acknowledgements by a server whose leases are copied at the time.
    pub(crate) acknowledged_in_copies: u64,
}

/// Returns the configuration of server number `own`.
pub(crate) fn config(own: usize, mode: HaMode) -> HaRelationship {
    let second = match mode {
        HaMode::LoadBalancing => HaRole::Secondary,
        HaMode::HotStandby => HaRole::Standby,
        HaMode::PassiveBackup => HaRole::Backup,
    };
    let roles = [HaRole::Primary, second, HaRole::Backup];
    let peer = |at: usize| HaPeer {
        name: format!("server{at}"),
        role: roles[at],
        url: String::new(),
        address: "127.0.0.1".parse().expect("the world is sound"),
        port: 1,
        has_automatic_failover: true,
        credentials: None,
        tls: None,
    };
    HaRelationship {
        number: 0,
        mode,
        own: peer(own),
        peers: (0..servers_in(mode)).filter(|at| *at != own).map(peer).collect(),
        limits: HaLimits {
            heartbeat_ms: 500,
            response_ms: 3_000,
            ack_ms: 1_000,
            unacked_clients: 3,
            rejected_updates: 10,
            delayed_updates: 0,
            sync_ms: 5_000,
            page_leases: PAGE_LEASES as u32,
            take_over_ms: None,
        },
        sends_lease_updates: true,
        synchronizes_leases: true,
        has_listener: true,
        restricts_commands: true,
        waits_for_backups: mode == HaMode::PassiveBackup,
        client_connections: 1,
        pauses: Vec::new(),
        heals_clock_skew: true,
    }
}

/// Returns the number of servers in a world of the mode `mode`.
const fn servers_in(mode: HaMode) -> usize {
    match mode {
        HaMode::HotStandby | HaMode::LoadBalancing => 3,
        HaMode::PassiveBackup => 2,
    }
}

impl PairWorld {
    pub(crate) fn new(seed: u64, mode: HaMode) -> Self {
        let mut world = Self {
            random: Random::from_seed(seed),
            mode,
            step: 0,
            servers: Default::default(),
            is_cut: false,
            is_quiet: false,
            loss_percent: 0,
            delivers_late: false,
            late: Vec::new(),
            acknowledged: BTreeMap::new(),
            doubles: Vec::new(),
            acknowledgements: 0,
            delayed_updates: 0,
            returned_max: [0, 3, 1_000][seed as usize % 3],
            acknowledged_in_copies: 0,
        };
        for server in &mut world.servers {
            server.changes_max = [2, 1_000][seed as usize / 3 % 2];
        }
        (0..servers_in(mode)).for_each(|server| world.start(server));
        world
    }

    /// Returns the time at a server, whose clock may be ahead.
    fn now(&self, server: usize) -> Now {
        let ahead_us = self.servers[server].clock_ahead_s * 1_000_000;
        Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 + ahead_us }.after_ns(self.step * STEP_NS)
    }

    pub(crate) fn start(&mut self, server: usize) {
        let (mut config, now) = (config(server, self.mode), self.now(server));
        config.limits.delayed_updates = self.delayed_updates;
        self.servers[server].start(config, now);
    }

    /// Starts all servers again so that `limit` updates may wait for a partner.
    pub(crate) fn allow_delayed_updates(&mut self, limit: u32) {
        self.delayed_updates = limit;
        (0..servers_in(self.mode)).for_each(|server| self.start(server));
    }

    /// Begins a command of an administrator at a server, which the server defers.
    pub(crate) fn begin(&mut self, server: usize, command: &str, arguments: &Value) {
        let now = self.now(server);
        let relationship = self.servers[server].relationship.as_mut().expect("it runs");
        let outcome = relationship.execute(now, command, arguments);
        assert_eq!(outcome, Some(HaExecution::Deferred), "{command}");
    }

    /// Lets an administrator delete a lease at a server whose leases are copied at the time, if
    /// nothing about the lease is under way. Returns it with its address.
    pub(crate) fn delete_during_copy(&mut self, server: usize) -> Option<(u32, WorldLease)> {
        let random = self.random.below(ADDRESSES.into()) as u32;
        let one = &mut self.servers[server];
        let is_waiting = |address: &u32| {
            one.lanes.iter().any(|lane| {
                let request = lane.request.iter().map(|request| request.content.address);
                let updates = lane.updates.iter().map(|(update, _)| update.address);
                request.chain(updates).any(|other| other == *address)
            })
        };
        let mut leases = one.leases.range(random..).filter(|(address, _)| !is_waiting(address));
        let deleted = leases.next().map(|(address, lease)| (*address, *lease));
        let deleted = deleted.filter(|_| one.changes.is_noting)?;
        one.set_lease(deleted.0, None);
        self.acknowledged.remove(&deleted.0);
        Some(deleted)
    }

    /// Ends a server at once. What it has not acknowledged, its clients do not have.
    pub(crate) fn crash(&mut self, server: usize, loses_disk: bool) {
        self.servers[server].crash(loses_disk);
    }

    /// Returns the states of the first two servers in normal operation.
    pub(crate) const fn normal_states(&self) -> [Option<HaState>; 2] {
        match self.mode {
            HaMode::PassiveBackup => [Some(HaState::PassiveBackup), Some(HaState::Backup)],
            mode => [Some(HaState::normal(mode)); 2],
        }
    }

    pub(crate) fn states(&self) -> [Option<HaState>; 2] {
        [0, 1].map(|at| self.servers[at].relationship.as_ref().map(Relationship::state))
    }

    /// Passes one step: all servers, and perhaps a client.
    pub(crate) fn pass(&mut self) {
        self.step += 1;
        for server in 0..self.servers.len() {
            self.commit(server);
            self.exchange_command(server);
            (0..self.servers[server].lanes.len())
                .for_each(|lane| self.exchange_update(server, lane));
        }
        self.deliver_late();
        if self.random.chance(1, 6) && !self.is_quiet {
            self.query();
        }
    }

    fn request<T>(&mut self, content: T, target: usize) -> Request<T> {
        Request::new(content, target, self.step, self.loss_percent, &mut self.random)
    }

    /// Returns true if the link between two servers is cut.
    const fn is_cut_between(&self, server: usize, other: usize) -> bool {
        self.is_cut && server != BACKUP && other != BACKUP
    }

    /// Returns true if a request of `server` to `target` that is due arrives.
    const fn arrives(&self, server: usize, target: usize, is_lost: bool) -> bool {
        let is_open = !self.is_cut_between(server, target);
        !is_lost && is_open && self.servers[target].relationship.is_some()
    }

    fn exchange_command(&mut self, server: usize) {
        let now = self.now(server);
        let step = self.step;
        let Some(relationship) = &mut self.servers[server].relationship else { return };
        let Some(request) = self.servers[server].command.take() else {
            if let Some(command) = relationship.poll(now) {
                let target = number_of(&relationship.target().expect("it has a target").name);
                self.servers[server].command = Some(self.request(command, target));
            }
            return;
        };
        let target = request.target;
        let is_refused =
            self.servers[target].relationship.is_none() && !self.is_cut_between(server, target);
        let answer = if step < request.due {
            None
        } else if self.arrives(server, target, request.is_lost) {
            Some(Ok(self.answer(target, server, &request.content)))
        } else if is_refused {
            Some(Err("connection refused".to_owned()))
        } else {
            (step >= request.timeout).then(|| Err("no answer".to_owned()))
        };
        let Some(answer) = answer else {
            self.servers[server].command = Some(request);
            return;
        };
        let is_done = answer.is_ok();
        let returned_max = self.returned_max;
        let one = &mut self.servers[server];
        let Some(relationship) = &mut one.relationship else { return };
        if is_done && request.content == PartnerCommand::DelayedUpdates {
            one.delayed.clear();
            relationship.record_delayed_updates(0, 0);
        }
        if is_done && request.content == PartnerCommand::ReturnedLeases {
            one.returned.clear();
            relationship.record_leases_to_return(0);
        }
        if let Some(page) = relationship.receive(now, answer) {
            one.take_page(&page, server == 0, returned_max);
        }
    }

    /// Returns the answer of `server` to a command of the server `sender`.
    fn answer(&mut self, server: usize, sender: usize, command: &PartnerCommand) -> CommandResult {
        let (now, step) = (self.now(server), self.step);
        let body = command.body(&config(sender, self.mode), "dhcp4");
        let name = body["command"].as_str().unwrap_or_default().to_owned();
        let one = &mut self.servers[server];
        let (code, arguments) = match command {
            PartnerCommand::Disable(_) => {
                let period_s =
                    body["arguments"]["max-period"].as_u64().expect("the world is sound");
                one.disabled_until = step + period_s * 1_000_000_000 / STEP_NS;
                (0, json!({}))
            }
            PartnerCommand::Enable => {
                one.disabled_until = 0;
                (0, json!({}))
            }
            PartnerCommand::Page(page) => one.answer_page(page, step),
            PartnerCommand::DelayedUpdates => {
                for (address, lease) in self.servers[sender].delayed.clone() {
                    self.servers[server].take_update(Update { address, lease }, now);
                }
                (0, json!({}))
            }
            PartnerCommand::ReturnedLeases => {
                for update in self.servers[sender].returned.clone() {
                    self.servers[server].take_update(update, now);
                }
                (0, json!({}))
            }
            PartnerCommand::Heartbeat
            | PartnerCommand::Reset
            | PartnerCommand::SyncComplete
            | PartnerCommand::NotifyMaintenance { .. } => {
                let relationship = one.relationship.as_mut().expect("the world is sound");
                let answer = relationship.execute(now, &name, &body["arguments"]);
                let Some(HaExecution::Answer(answer)) = answer else {
                    panic!("{name} has no answer")
                };
                if *command == PartnerCommand::SyncComplete {
                    one.disabled_until = 0;
                }
                (i64::from(answer.code), answer.arguments)
            }
        };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        CommandResult { code, text: String::new(), arguments }
    }

    /// Makes the changes of a server that are due.
    fn commit(&mut self, server: usize) {
        let step = self.step;
        let one = &mut self.servers[server];
        let due: Vec<DelayedCommit> =
            one.commits.extract_if(.., |commit| commit.due <= step).collect();
        for DelayedCommit { update, before, .. } in due {
            if one.leases.get(&update.address).copied() == before {
                one.set_lease(update.address, Some(update.lease));
                let from = step + self.random.below(LAG_STEPS);
                one.lanes.iter_mut().for_each(|lane| lane.updates.push((update, from)));
            }
        }
    }

    fn exchange_update(&mut self, server: usize, lane: usize) {
        let (now, step) = (self.now(server), self.step);
        let target = self.servers[server].lanes[lane].target;
        let is_open = self.arrives(server, target, false);
        let one = &mut self.servers[server];
        let Some(relationship) = &mut one.relationship else { return };
        let lane_of_target = &mut one.lanes[lane];
        let is_partner = lane_of_target.peer.role != HaRole::Backup;
        if !relationship.sends_updates_to(&lane_of_target.peer) {
            // The clients have their answers without the partner.
            let waiting = lane_of_target.request.take().map(|request| request.content);
            let reported = lane_of_target.updates.extract_if(.., |(_, from)| *from <= step);
            let reported = reported.map(|(update, _)| update);
            let waiting: Vec<Update> = waiting.into_iter().chain(reported).collect();
            if relationship.delays_updates() {
                one.delay(&waiting);
            } else {
                relationship.count_unsent(waiting.len() as u64);
            }
            waiting.into_iter().for_each(|update| self.acknowledge(server, update));
            return;
        }
        let Some(request) = lane_of_target.request.take() else {
            let is_reachable = !is_partner || relationship.partner().state.is_some();
            let updates = &mut lane_of_target.updates;
            if is_reachable && updates.first().is_some_and(|(_, from)| *from <= step) {
                let (update, _) = updates.remove(0);
                let request = self.request(update, target);
                self.servers[server].lanes[lane].request = Some(request);
            }
            return;
        };
        if step < request.due {
            lane_of_target.request = Some(request);
        } else if is_open && !request.is_lost {
            let acknowledges = lane_of_target.acknowledges;
            let now = self.now(target);
            if self.servers[target].take_update(request.content, now) && acknowledges {
                self.acknowledge(server, request.content);
            }
        } else if step < request.timeout {
            lane_of_target.request = Some(request);
        } else {
            if self.delivers_late {
                let due = step + self.random.below(LATE_STEPS);
                self.late.push((request.content, target, due));
            }
            lane_of_target.updates.insert(0, (request.content, step));
            if is_partner {
                relationship.record_update_failure(now, "no answer".to_owned());
            }
        }
    }

    /// Delivers the updates that were given up and are due, while the link is open.
    fn deliver_late(&mut self) {
        let (step, is_cut) = (self.step, self.is_cut);
        let is_due = |(_, _, due): &mut (Update, usize, u64)| *due <= step && !is_cut;
        let due: Vec<_> = self.late.extract_if(.., is_due).collect();
        for (update, target, _) in due {
            let now = self.now(target);
            if self.servers[target].relationship.is_some() {
                self.servers[target].take_update(update, now);
            }
        }
    }

    /// Lets a client have its lease, unless the lease has changed since.
    fn acknowledge(&mut self, server: usize, update: Update) {
        let Update { address, lease } = update;
        if self.servers[server].leases.get(&address).map(|own| own.client) != Some(lease.client) {
            return;
        }
        self.acknowledgements += 1;
        self.acknowledged_in_copies += u64::from(self.servers[server].changes.is_noting);
        let before = self.acknowledged.insert(address, lease.client);
        if before.is_some_and(|before| before != lease.client) {
            self.doubles.push(address);
        }
    }

    /// Lets a client ask both servers for a lease.
    fn query(&mut self) {
        let client = self.random.below(40) as u32;
        let elapsed_ms = self.random.below(3) * 1_000;
        let scope = match self.mode {
            HaMode::LoadBalancing => client as usize % 2,
            HaMode::HotStandby | HaMode::PassiveBackup => 0,
        };
        // Classes divide the addresses among the scopes.
        let in_pool =
            |address: &u32| self.mode != HaMode::LoadBalancing || *address as usize % 2 == scope;
        for server in 0..2 {
            let now = self.now(server);
            if !self.servers[server].serves(self.step, scope) {
                let query = PartnerQuery { client: client.into(), elapsed_ms };
                if let Some(relationship) = &mut self.servers[server].relationship {
                    relationship.record_query(now, query);
                }
                continue;
            }
            let start = self.random.below(ADDRESSES.into()) as u32;
            let one = &mut self.servers[server];
            let own = one.leases.iter().find(|(_, lease)| lease.client == client);
            let candidates = (0..ADDRESSES).map(|at| (start + at) % ADDRESSES);
            let mut candidates = candidates.filter(in_pool);
            let is_held = |address: &u32| one.commits.iter().any(|other| other.is_of(*address));
            let free = || candidates.find(|at| !one.leases.contains_key(at) && !is_held(at));
            // A client has one transaction at a time.
            if one.commits.iter().any(|other| other.update.lease.client == client) {
                continue;
            }
            let Some(address) = own.map(|(address, _)| *address).or_else(free) else { continue };
            let lease = WorldLease { client, cltt_s: now.wall_s() };
            let before = one.leases.get(&address).copied();
            let due = self.step + 1 + self.random.below(LAG_STEPS);
            one.commits.push(DelayedCommit { update: Update { address, lease }, before, due });
        }
    }
}
