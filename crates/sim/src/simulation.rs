//! Simulation of the DHCP server: one event queue on a virtual clock. A step takes the earliest
//! event, moves the clock to its time and runs it. No thread sleeps and no threads race, so the
//! same seed gives the same history.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use base::time::{NS_PER_MS, NS_PER_S};
use base::{Now, Random};
use dhcp_engine::{EventGate, InFlight, InterfaceNames, Shard, ShardCounters};
use dhcp_lease::LeaseTable;
use dhcp_lease::testing::{ManualLog, ManualStore};

use crate::checker::{Checker, Violation};
use crate::durable::Disk;
use crate::event_listeners::{EventListeners, ListenerEventCounts};
use crate::interpose::{DueMessage, Interposed, InterposerState, SharedShard};
use crate::settings::DhcpSimulationSettings;
use crate::simulated_protocol::{INTERFACE, ReplyReception, SimulatedProtocol};

/// Time within which a DHCP message must be due to run in the middle of another one, in
/// nanoseconds.
const SOON_NS: u64 = 20 * NS_PER_MS;
/// Maximum number of DHCP messages that run in the middle of one other message.
const SOON_MAX: usize = 6;
/// Period with which a simulated shard handles expiry, in milliseconds.
const HOUSEKEEPING_MS: u64 = 50;
/// Maximum time from a failure of the simulated disk to the crash that follows, in milliseconds.
const FAILED_MS: u64 = 3_000;

/// Actions of the simulated server's shards, in order, that the simulation has not processed yet.
#[derive(Debug)]
pub struct ShardActionLog<P: SimulatedProtocol>(pub Rc<RefCell<Vec<ShardAction<P>>>>);

impl<P: SimulatedProtocol> Clone for ShardActionLog<P> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<P: SimulatedProtocol> Default for ShardActionLog<P> {
    fn default() -> Self {
        Self(Rc::default())
    }
}

/// Action of a simulated shard, for the checker.
#[derive(Clone, Debug)]
pub enum ShardAction<P: SimulatedProtocol> {
    /// Commit of a lease change of the client with this number.
    Committed(usize),
    /// Reply that left the server, with its destination.
    Replied(P::Destination, Vec<u8>),
    /// Accepted RELEASE or DECLINE of this address.
    Ended(P::Address),
}

/// Planned event of the simulation.
#[derive(Clone, Debug)]
enum DhcpSimulationEvent<P: SimulatedProtocol> {
    /// Expiry of the timer of the client with this number.
    Timer(usize),
    /// Arrival of a message at a shard.
    ToShard(DueMessage<P>),
    /// Arrival of a reply at the client with this number.
    ToClient(usize, Vec<u8>),
    /// Time at which the lease rows up to an epoch become durable, if the server has not crashed
    /// since.
    Settle {
        /// Number of crashes before the rows of the epoch were logged.
        crash_count: u32,
        /// Epoch up to which lease rows become durable.
        epoch: u64,
    },
    /// Handling of expiry and deadlines by the shard with this number.
    Housekeeping(usize),
    /// Change of the server's configuration.
    Reload,
    /// Claims of one address by several clients at the same time.
    ConcurrentClaims,
    /// Crash of the server, which loses all state but its disk, and starts again.
    Crash,
    /// Failure of the server's disk, which takes no more rows until the server crashes.
    StoreFailure,
}

/// Result of a DHCP simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DhcpSimulationReport {
    /// Violations of the rules that leases must keep.
    pub violations: Vec<Violation>,
    /// Number of acknowledged leases in replies that left the server.
    pub acknowledged: u64,
    /// Number of DHCP messages that ran in the middle of another shard's transaction.
    pub interposed: u64,
    /// Number of DHCP messages that the server dropped, for any reason that it counts.
    pub dropped: u64,
    /// Number of well-formed DHCP messages that the server received.
    pub received: u64,
    /// Number of replies to clients on the server's own link.
    pub direct_replies: u64,
    /// Number of acknowledged leases that were found again after a crash.
    pub survived: u64,
    /// Counts of the events of leases that listeners received.
    pub events: ListenerEventCounts,
}

/// State of the simulated server that a crash ends.
struct SimulatedServer<P: SimulatedProtocol> {
    table: Arc<LeaseTable<P>>,
    log: Arc<ManualLog<P>>,
    /// Highest epoch of lease rows for which a [`DhcpSimulationEvent::Settle`] is planned.
    settling: u64,
    shards: Vec<SharedShard<P, ManualStore<P>>>,
    counters: Vec<Arc<ShardCounters<P>>>,
    listeners: Option<EventListeners<P>>,
    /// True if the disk takes no more rows.
    has_failed: bool,
}

/// Simulation of a DHCP server with its clients, network and disk.
pub struct DhcpSimulation<P: SimulatedProtocol> {
    settings: DhcpSimulationSettings,
    random: Random,
    now: Now,
    next_event: u64,
    events: BTreeMap<(u64, u64), DhcpSimulationEvent<P>>,
    server: SimulatedServer<P>,
    /// Number of the server's crashes so far.
    crash_count: u32,
    disk: Disk<P>,
    interposer: Rc<RefCell<InterposerState<P, ManualStore<P>>>>,
    actions: ShardActionLog<P>,
    clients: Vec<P::Client>,
    checker: Checker<P>,
    dropped: u64,
    received: u64,
    direct_replies: u64,
    event_counts: ListenerEventCounts,
}

impl<P: SimulatedProtocol> SimulatedServer<P> {
    /// Starts a simulated server that loads the lease rows of `disk`.
    fn start(
        settings: &DhcpSimulationSettings,
        random: &mut Random,
        disk: &Disk<P>,
        interposer: &Rc<RefCell<InterposerState<P, ManualStore<P>>>>,
    ) -> Self {
        let table = Arc::new(LeaseTable::new(random.next_u64()));
        let snapshot = Arc::new(P::snapshot(settings, settings.pool_size, &table));
        disk.load(&table);
        let in_flight = Arc::new(InFlight::new(random.next_u64(), 64));
        let log = Arc::new(ManualLog::default());
        let names = Arc::new(InterfaceNames::new([(INTERFACE, "eth0")]));
        let gate = Arc::new(EventGate::default());
        let shards: Vec<_> = (0..settings.shards)
            .map(|_| {
                let store = ManualStore::new(Arc::clone(&table), Arc::clone(&log));
                let store = Interposed::new(store, Rc::clone(interposer));
                let mut shard = Shard::new(store, Arc::clone(&snapshot), Arc::clone(&in_flight));
                shard.set_interfaces(Arc::clone(&names));
                shard.set_event_gate(Arc::clone(&gate));
                Rc::new(RefCell::new(shard))
            })
            .collect();
        interposer.borrow_mut().shards = shards.iter().map(Rc::downgrade).collect();
        let counters = shards.iter().map(|shard| shard.borrow().counters()).collect();
        let listeners =
            settings.has_listeners.then(|| EventListeners::new(&table, gate, random.fork(2)));
        Self { table, log, settling: 0, shards, counters, listeners, has_failed: false }
    }
}

impl<P: SimulatedProtocol> DhcpSimulation<P> {
    /// Returns the simulation of `settings` before any event.
    pub fn new(settings: DhcpSimulationSettings) -> Self {
        let mut random = Random::from_seed(settings.seed);
        let actions = ShardActionLog::default();
        let interposer = Rc::new(RefCell::new(InterposerState {
            shards: Vec::new(),
            due_messages: Vec::new(),
            random: random.fork(1),
            actions: actions.clone(),
            interposed: 0,
        }));
        let disk = Disk::default();
        let server = SimulatedServer::start(&settings, &mut random, &disk, &interposer);
        let clients = (0..settings.clients)
            .map(|index| P::new_client(&settings, index, &mut random))
            .collect();
        let mut simulation = Self {
            clients,
            random,
            now: Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 },
            next_event: 0,
            events: BTreeMap::new(),
            server,
            crash_count: 0,
            disk,
            interposer,
            actions,
            checker: Checker::default(),
            dropped: 0,
            received: 0,
            direct_replies: 0,
            event_counts: ListenerEventCounts::default(),
            settings,
        };
        simulation.plan();
        simulation
    }

    /// Runs the simulation for its whole duration, and for 20 more seconds in which clients send no
    /// messages of their own; returns the report.
    #[must_use]
    pub fn run_to_end(mut self) -> DhcpSimulationReport {
        let end_ns = self.now.mono_ns + self.settings.duration_s * NS_PER_S;
        // After the end no client sends; messages under way arrive, settle and are answered.
        let calm_ns = end_ns + 20 * NS_PER_S;
        while let Some(((at_ns, _), event)) = self.events.pop_first() {
            if at_ns > calm_ns {
                break;
            }
            self.now = self.now.after_ns(at_ns.saturating_sub(self.now.mono_ns));
            self.run(event, at_ns < end_ns);
        }
        self.check_counters();
        self.add_server_counters();
        if let Some(listeners) = self.server.listeners.take() {
            let settled_epoch = self.server.log.settled_epoch();
            let counts = listeners.finish(&self.server.table, settled_epoch, &mut self.checker);
            self.event_counts += counts;
        }
        DhcpSimulationReport {
            violations: self.checker.violations().to_vec(),
            acknowledged: self.checker.acknowledged,
            interposed: self.interposer.borrow().interposed,
            dropped: self.dropped,
            received: self.received,
            direct_replies: self.direct_replies,
            survived: self.checker.survived,
            events: self.event_counts,
        }
    }

    /// Adds the counters of the simulated server to those of the report, before the server is
    /// dropped.
    fn add_server_counters(&mut self) {
        for counters in &self.server.counters {
            self.dropped += counters.dropped_total();
            self.received += counters.received_total();
        }
    }

    fn crash(&mut self) {
        self.add_server_counters();
        if let Some(listeners) = &self.server.listeners {
            self.event_counts += listeners.counts;
        }
        self.crash_count += 1;
        self.disk.crash(&mut self.random);
        self.checker.on_crash(&self.disk, self.now.wall_s());
        self.server =
            SimulatedServer::start(&self.settings, &mut self.random, &self.disk, &self.interposer);
    }

    fn plan(&mut self) {
        for client in 0..self.clients.len() {
            // Many clients begin at the same time: they race for the last addresses.
            let delay_ms =
                [0, self.random.below(5), self.random.below(20_000)][self.random.below(3) as usize];
            self.after_ms(delay_ms, DhcpSimulationEvent::Timer(client));
        }
        for shard in 0..self.settings.shards {
            self.after_ms(HOUSEKEEPING_MS, DhcpSimulationEvent::Housekeeping(shard));
        }
        for _ in 0..self.settings.duration_s / 4 {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            self.after_ms(at_ms, DhcpSimulationEvent::ConcurrentClaims);
        }
        for _ in 0..self.settings.reloads {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            self.after_ms(at_ms, DhcpSimulationEvent::Reload);
        }
        for _ in 0..self.settings.crashes {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            self.after_ms(at_ms, DhcpSimulationEvent::Crash);
        }
        for _ in 0..self.settings.store_failures {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            let crash_ms = at_ms + self.random.below(FAILED_MS);
            self.after_ms(at_ms, DhcpSimulationEvent::StoreFailure);
            self.after_ms(crash_ms, DhcpSimulationEvent::Crash);
        }
    }

    fn after_ms(&mut self, delay_ms: u64, event: DhcpSimulationEvent<P>) {
        let jitter_ns = self.random.below(NS_PER_MS);
        let at_ns = self.now.mono_ns + delay_ms * NS_PER_MS + jitter_ns;
        self.next_event += 1;
        self.events.insert((at_ns, self.next_event), event);
    }

    fn run(&mut self, event: DhcpSimulationEvent<P>, clients_send: bool) {
        match event {
            DhcpSimulationEvent::Timer(client) if clients_send => self.on_timer(client),
            DhcpSimulationEvent::Timer(_) => {}
            DhcpSimulationEvent::ToShard(message) => self.deliver_to_shard(message),
            DhcpSimulationEvent::ToClient(client, octets) => {
                self.deliver_to_client(client, &octets, clients_send)
            }
            DhcpSimulationEvent::Settle { crash_count, epoch }
                if crash_count == self.crash_count && !self.server.has_failed =>
            {
                self.disk.settle(epoch);
                self.server.log.settle_through(epoch);
                self.end_batches();
            }
            DhcpSimulationEvent::Settle { .. } => {}
            DhcpSimulationEvent::Housekeeping(shard) => {
                self.server.shards[shard].borrow_mut().housekeeping(self.now, 4);
                self.end_batches();
                self.after_ms(HOUSEKEEPING_MS, DhcpSimulationEvent::Housekeeping(shard));
            }
            DhcpSimulationEvent::ConcurrentClaims if clients_send => self.claim_concurrently(),
            DhcpSimulationEvent::ConcurrentClaims => {}
            DhcpSimulationEvent::Reload => {
                let size = 1 + self.random.below(24) as u32;
                let snapshot = Arc::new(P::snapshot(&self.settings, size, &self.server.table));
                for shard in &self.server.shards {
                    // Shards get the new configuration at different times.
                    if self.random.chance(2, 3) {
                        shard.borrow_mut().reload(Arc::clone(&snapshot));
                    }
                }
            }
            DhcpSimulationEvent::Crash => self.crash(),
            DhcpSimulationEvent::StoreFailure => {
                self.server.has_failed = true;
                self.server.log.fail();
            }
        }
    }

    fn on_timer(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if let Some(message) = P::on_timer(client, &mut self.random, self.now.wall_s()) {
            self.transmit(index, message);
        }
        let delay_ms = [300, 2_000, 4_000, 15_000][self.random.below(4) as usize];
        self.after_ms(delay_ms, DhcpSimulationEvent::Timer(index));
    }

    fn claim_concurrently(&mut self) {
        let number = self.random.below(u64::from(self.settings.pool_size)) as u32;
        let until_s = self.now.wall_s() + u64::from(self.settings.lifetime_s);
        for _ in 0..2 + self.random.below(3) {
            let index = self.random.below(self.clients.len() as u64) as usize;
            let message = P::claim(&mut self.clients[index], number, until_s);
            self.transmit(index, message);
        }
    }

    fn transmit(&mut self, client: usize, message: Vec<u8>) {
        let octets: Rc<[u8]> = message.into();
        let copies = 1 + u64::from(self.random.chance(self.settings.repeat_permille, 1_000));
        for _ in 0..copies {
            if self.random.chance(self.settings.loss_permille, 1_000) {
                continue;
            }
            let ingress = P::ingress(&self.clients[client], &octets, &mut self.random);
            let shard = self.random.below(self.settings.shards as u64) as usize;
            let due_message = DueMessage { shard, octets: Rc::clone(&octets), ingress };
            let delay_ms = [0, 1, self.random.below(400)][self.random.below(3) as usize];
            self.after_ms(delay_ms, DhcpSimulationEvent::ToShard(due_message));
        }
    }

    fn deliver_to_shard(&mut self, message: DueMessage<P>) {
        // Messages that are due soon may run inside this one.
        let horizon = (self.now.mono_ns + SOON_NS, 0);
        let soon: Vec<_> = self
            .events
            .range(..horizon)
            .filter(|(_, event)| matches!(event, DhcpSimulationEvent::ToShard(..)))
            .take(SOON_MAX)
            .map(|(&key, _)| key)
            .collect();
        let mut others = Vec::new();
        for key in soon {
            if let Some(DhcpSimulationEvent::ToShard(other)) = self.events.remove(&key) {
                others.push(other);
            }
        }
        self.interposer.borrow_mut().due_messages = others;
        let mut actions = self.actions.clone();
        let shard = Rc::clone(&self.server.shards[message.shard]);
        shard.borrow_mut().handle(self.now, &message.octets, message.ingress, &mut actions);
        let rest = std::mem::take(&mut self.interposer.borrow_mut().due_messages);
        for other in rest {
            let shard = Rc::clone(&self.server.shards[other.shard]);
            shard.borrow_mut().handle(self.now, &other.octets, other.ingress, &mut actions);
        }
        self.end_batches();
    }

    fn end_batches(&mut self) {
        if let Some(listeners) = &mut self.server.listeners {
            let settled_epoch = self.server.log.settled_epoch();
            listeners.run(&self.server.table, settled_epoch, &mut self.checker);
        }
        for shard in &self.server.shards {
            shard.borrow_mut().end_batch(self.now, &mut self.actions.clone());
        }
        let closed = self.server.log.closed_epoch();
        self.disk.log(closed, self.server.log.take_rows());
        if closed > self.server.settling {
            // Rows settle in order, each batch after its own delay.
            self.server.settling = closed;
            let delay_ms = self.random.below(self.settings.settle_ms + 1);
            self.after_ms(
                delay_ms,
                DhcpSimulationEvent::Settle { crash_count: self.crash_count, epoch: closed },
            );
        }
        let actions = std::mem::take(&mut *self.actions.0.borrow_mut());
        for action in actions {
            match action {
                ShardAction::Committed(client) => self.checker.on_commit(client),
                ShardAction::Replied(destination, octets) => {
                    self.on_reply_sent(destination, octets)
                }
                ShardAction::Ended(address) => self.checker.on_lease_end(address),
            }
        }
    }

    fn on_reply_sent(&mut self, destination: P::Destination, octets: Vec<u8>) {
        let Some(client) = P::recipient(&octets) else {
            return self.checker.fail("the server sent a malformed reply".to_owned());
        };
        if P::ANSWERS_ALL {
            self.checker.on_reply(client);
        }
        for acknowledgment in P::acknowledged(&octets) {
            if let Some(listeners) = &self.server.listeners {
                listeners.on_reply(acknowledgment, &mut self.checker);
            }
            self.checker.on_ack(acknowledgment, self.now.wall_s());
        }
        let reception = P::reception(&self.clients[client], destination, &octets);
        self.direct_replies += u64::from(P::is_direct(&self.clients[client]));
        if reception == ReplyReception::Unreachable {
            let it = &self.clients[client];
            self.checker.fail(format!("{it:?} cannot hear what goes to {destination:?}"));
        }
        let is_lost = self.random.chance(self.settings.loss_permille, 1_000);
        if reception == ReplyReception::Received && !is_lost {
            let delay_ms = self.random.below(50);
            self.after_ms(delay_ms, DhcpSimulationEvent::ToClient(client, octets));
        }
    }

    fn deliver_to_client(&mut self, index: usize, octets: &[u8], clients_send: bool) {
        let now_s = self.now.wall_s();
        let answer = P::on_reply(&mut self.clients[index], &mut self.random, octets, now_s);
        if clients_send && let Some(message) = answer {
            self.transmit(index, message);
        }
    }

    /// Checks that every DHCP message ended in a reply, in intended silence or in a counted drop,
    /// and that no shard still has a message that waits.
    fn check_counters(&mut self) {
        for (index, (shard, counters)) in
            self.server.shards.iter().zip(&self.server.counters).enumerate()
        {
            let ended = counters.sent_total() + counters.dropped_total() + counters.silent_total();
            if ended != counters.received_total() {
                self.checker.fail(format!(
                    "shard {index} took {} messages and ended {ended}: {:?}",
                    counters.received_total(),
                    counters.entries().collect::<Vec<_>>()
                ));
            }
            if !shard.borrow().is_idle() {
                self.checker.fail(format!("shard {index} still waits after the calm"));
            }
        }
    }
}
