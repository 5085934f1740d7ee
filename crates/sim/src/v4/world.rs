//! The world: one event queue on a virtual clock. A step takes the earliest event, moves the clock
//! there and runs it; nothing sleeps, nothing races, and the same seed lives the same life.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::sync::Arc;

use base::time::{NS_PER_MS, NS_PER_S};
use base::{Now, Random};
use dhcp_config::IncludeResolver;
use dhcp_engine::v4::{Destination, Ingress, Shard, ShardCounters, Snapshot};
use dhcp_engine::{InFlight, InterfaceNames};
use dhcp_lease::v4::LeaseTable;
use dhcp_lease::v4::testing::{ManualLog, ManualStore};
use dhcp_wire::v4::{Message, MessageType};

use super::checker::{Checker, Violation};
use super::client::{Client, Link, RELAY, SERVER};
use super::interpose::{Due, Interposed, Junction};
use super::settings::Settings;

type Store = Interposed<ManualStore>;

/// Messages that are due within this time may run in the middle of another one.
const SOON_NS: u64 = 20 * NS_PER_MS;
/// At most so many of them.
const SOON_MAX: usize = 6;
/// Index of the interface that direct clients are heard through.
const INTERFACE: u32 = 2;

/// What the shards did, in order, and the world has not looked at yet.
#[derive(Clone, Debug, Default)]
pub struct Deeds(pub Rc<RefCell<Vec<Deed>>>);

/// Something that a shard did.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A reply left.
    Replied(Destination, Vec<u8>),
    /// A RELEASE or DECLINE of this address was taken in.
    TookBack(Ipv4Addr),
}

/// Something that will happen.
#[derive(Clone, Debug)]
enum Event {
    /// A client's timer runs.
    Timer(usize),
    /// A message reaches a shard.
    ToShard(Due),
    /// A reply reaches a client.
    ToClient(usize, Vec<u8>),
    /// Rows up to this epoch are safe.
    Settle(u64),
    /// A shard looks after expiry and deadlines.
    Housekeeping(usize),
    /// The configuration changes.
    Reload,
    /// Several clients claim one address at the same moment.
    Herd,
}

/// What a life came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What went wrong.
    pub violations: Vec<Violation>,
    /// Acknowledgments that left the server.
    pub acknowledged: u64,
    /// Messages that ran in the middle of another shard's transaction.
    pub interposed: u64,
    /// Messages dropped for any reason.
    pub dropped: u64,
    /// Replies to clients on the server's own link.
    pub direct_replies: u64,
    /// Well-formed messages taken in.
    pub received: u64,
}

/// A world.
pub struct World {
    settings: Settings,
    random: Random,
    now: Now,
    next_event: u64,
    events: BTreeMap<(u64, u64), Event>,
    table: Arc<LeaseTable>,
    log: Arc<ManualLog>,
    /// Highest epoch whose settling is planned.
    settling: u64,
    shards: Vec<Rc<RefCell<Shard<Store>>>>,
    counters: Vec<Arc<ShardCounters>>,
    junction: Rc<RefCell<Junction<ManualStore>>>,
    deeds: Deeds,
    clients: Vec<Client>,
    checker: Checker,
    direct_replies: u64,
}

struct NoIncludes;

impl IncludeResolver for NoIncludes {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path} in this world"))
    }
}

impl World {
    /// The world of `settings` before anything has happened.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let mut random = Random::from_seed(settings.seed);
        let table = Arc::new(LeaseTable::new(random.next_u64()));
        let snapshot = snapshot(&settings, settings.pool_size, &table);
        let in_flight = Arc::new(InFlight::new(random.next_u64(), 64));
        let deeds = Deeds::default();
        let junction = Rc::new(RefCell::new(Junction {
            shards: Vec::new(),
            due: Vec::new(),
            random: random.fork(1),
            deeds: deeds.clone(),
            interposed: 0,
        }));
        let log = Arc::new(ManualLog::default());
        let names = Arc::new(InterfaceNames::new([(INTERFACE, "eth0")]));
        let shards: Vec<_> = (0..settings.shards)
            .map(|_| {
                let store = ManualStore::new(Arc::clone(&table), Arc::clone(&log));
                let store = Interposed::new(store, Rc::clone(&junction));
                let mut shard = Shard::new(store, Arc::clone(&snapshot), Arc::clone(&in_flight));
                shard.set_interfaces(Arc::clone(&names));
                Rc::new(RefCell::new(shard))
            })
            .collect();
        junction.borrow_mut().shards = shards.iter().map(Rc::downgrade).collect();
        let clients = clients(&settings, &mut random);
        let mut world = Self {
            clients,
            counters: shards.iter().map(|shard| shard.borrow().counters()).collect(),
            random,
            now: Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 },
            next_event: 0,
            events: BTreeMap::new(),
            table,
            log,
            settling: 0,
            shards,
            junction,
            deeds,
            checker: Checker::default(),
            direct_replies: 0,
            settings,
        };
        world.plan();
        world
    }

    /// Lives through the whole duration and the calm after it, and reports.
    #[must_use]
    pub fn live(mut self) -> Report {
        let end_ns = self.now.mono_ns + self.settings.duration_s * NS_PER_S;
        // After the end no client speaks; what is on its way arrives, settles and is answered.
        let calm_ns = end_ns + 20 * NS_PER_S;
        while let Some(((at_ns, _), event)) = self.events.pop_first() {
            if at_ns > calm_ns {
                break;
            }
            self.now = self.now.after_ns(at_ns.saturating_sub(self.now.mono_ns));
            self.run(event, at_ns < end_ns);
        }
        self.check_the_books();
        Report {
            violations: self.checker.violations().to_vec(),
            acknowledged: self.checker.acknowledged,
            interposed: self.junction.borrow().interposed,
            dropped: self.counters.iter().map(|c| c.dropped_total()).sum(),
            direct_replies: self.direct_replies,
            received: self.counters.iter().map(|c| c.received_total()).sum(),
        }
    }

    fn plan(&mut self) {
        for client in 0..self.clients.len() {
            // Many at once: races for the last addresses.
            let delay_ms =
                [0, self.random.below(5), self.random.below(20_000)][self.random.below(3) as usize];
            self.after_ms(delay_ms, Event::Timer(client));
        }
        for shard in 0..self.shards.len() {
            self.after_ms(50, Event::Housekeeping(shard));
        }
        for _ in 0..self.settings.duration_s / 4 {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            self.after_ms(at_ms, Event::Herd);
        }
        for _ in 0..self.settings.reloads {
            let at_ms = self.random.below(self.settings.duration_s * 1_000);
            self.after_ms(at_ms, Event::Reload);
        }
    }

    fn after_ms(&mut self, delay_ms: u64, event: Event) {
        let jitter_ns = self.random.below(NS_PER_MS);
        let at_ns = self.now.mono_ns + delay_ms * NS_PER_MS + jitter_ns;
        self.next_event += 1;
        self.events.insert((at_ns, self.next_event), event);
    }

    fn run(&mut self, event: Event, clients_speak: bool) {
        match event {
            Event::Timer(client) if clients_speak => self.on_timer(client),
            Event::Timer(_) => {}
            Event::ToShard(due) => self.deliver_to_shard(due),
            Event::ToClient(client, octets) => {
                self.deliver_to_client(client, &octets, clients_speak)
            }
            Event::Settle(epoch) => {
                self.log.settle_through(epoch);
                self.end_batches();
            }
            Event::Housekeeping(shard) => {
                self.shards[shard].borrow_mut().housekeeping(self.now, 4);
                self.end_batches();
                self.after_ms(50, Event::Housekeeping(shard));
            }
            Event::Herd if clients_speak => self.herd(),
            Event::Herd => {}
            Event::Reload => {
                let size = 1 + self.random.below(24) as u32;
                let snapshot = snapshot(&self.settings, size, &self.table);
                for shard in &self.shards {
                    // Shards notice at different times.
                    if self.random.chance(2, 3) {
                        shard.borrow_mut().reload(Arc::clone(&snapshot));
                    }
                }
            }
        }
    }

    fn on_timer(&mut self, client: usize) {
        let sent = self.clients[client].on_timer(&mut self.random, self.now.wall_s());
        if let Some(message) = sent {
            self.put_on_the_network(message);
        }
        let delay_ms = [300, 2_000, 4_000, 15_000][self.random.below(4) as usize];
        self.after_ms(delay_ms, Event::Timer(client));
    }

    fn herd(&mut self) {
        let last = 10 + self.random.below(u64::from(self.settings.pool_size)) as u8;
        let address = Ipv4Addr::new(10, 0, 0, last);
        let until_s = self.now.wall_s() + u64::from(self.settings.lifetime_s);
        for _ in 0..2 + self.random.below(3) {
            let client = self.random.below(self.clients.len() as u64) as usize;
            let message = self.clients[client].claim(address, until_s);
            self.put_on_the_network(message);
        }
    }

    fn put_on_the_network(&mut self, message: Vec<u8>) {
        let octets: Rc<[u8]> = message.into();
        let copies = 1 + u64::from(self.random.chance(self.settings.repeat_permille, 1_000));
        for _ in 0..copies {
            if self.random.chance(self.settings.loss_permille, 1_000) {
                continue;
            }
            let ingress = self.ingress(&octets);
            let shard = self.random.below(self.shards.len() as u64) as usize;
            let due = Due { shard, octets: Rc::clone(&octets), ingress };
            let delay_ms = [0, 1, self.random.below(400)][self.random.below(3) as usize];
            self.after_ms(delay_ms, Event::ToShard(due));
        }
    }

    /// How a message comes in: what was sent to all is heard as a broadcast, from an address if its
    /// client has one.
    fn ingress(&mut self, octets: &[u8]) -> Ingress {
        let message = Message::parse(octets).expect("clients send well-formed messages");
        if !message.giaddr().is_unspecified() {
            return Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);
        }
        // A client that has an address asks by unicast, and in the end (REBINDING) everyone.
        let client = message.ciaddr();
        let is_broadcast = client.is_unspecified() || self.random.chance(1, 4);
        Ingress {
            interface: INTERFACE,
            is_broadcast,
            ..Ingress::routed(SocketAddrV4::new(client, 68), SERVER)
        }
    }

    fn deliver_to_shard(&mut self, due: Due) {
        // Messages that are due soon may run inside this one.
        let horizon = (self.now.mono_ns + SOON_NS, 0);
        let soon: Vec<_> = self
            .events
            .range(..horizon)
            .filter(|(_, event)| matches!(event, Event::ToShard(..)))
            .take(SOON_MAX)
            .map(|(&key, _)| key)
            .collect();
        let mut others = Vec::new();
        for key in soon {
            if let Some(Event::ToShard(other)) = self.events.remove(&key) {
                others.push(other);
            }
        }
        self.junction.borrow_mut().due = others;
        let mut deeds = self.deeds.clone();
        let shard = Rc::clone(&self.shards[due.shard]);
        shard.borrow_mut().handle(self.now, &due.octets, due.ingress, &mut deeds);
        let rest = std::mem::take(&mut self.junction.borrow_mut().due);
        for other in rest {
            let shard = Rc::clone(&self.shards[other.shard]);
            shard.borrow_mut().handle(self.now, &other.octets, other.ingress, &mut deeds);
        }
        self.end_batches();
    }

    fn end_batches(&mut self) {
        for shard in &self.shards {
            shard.borrow_mut().end_batch(self.now, &mut self.deeds.clone());
        }
        let closed = self.log.closed_epoch();
        if closed > self.settling {
            // Rows settle in order, each batch after its own delay.
            self.settling = closed;
            let delay_ms = self.random.below(self.settings.settle_ms + 1);
            self.after_ms(delay_ms, Event::Settle(closed));
        }
        let deeds = std::mem::take(&mut *self.deeds.0.borrow_mut());
        for deed in deeds {
            match deed {
                Deed::Replied(destination, octets) => self.on_reply_sent(destination, octets),
                Deed::TookBack(address) => self.checker.on_given_up(address),
            }
        }
    }

    fn on_reply_sent(&mut self, destination: Destination, octets: Vec<u8>) {
        let Ok(reply) = Message::parse(&octets) else {
            return self.checker.fail("the server sent a malformed reply".to_owned());
        };
        let client = Client::index_of(reply.chaddr());
        if reply.message_type() == Some(MessageType::Ack) {
            let lifetime_s = reply.lease_time().unwrap_or(0);
            self.checker.on_ack(client, reply.yiaddr(), lifetime_s, self.now.wall_s());
        }
        let is_heard = self.is_heard(client, destination, reply.yiaddr());
        if is_heard && !self.random.chance(self.settings.loss_permille, 1_000) {
            let delay_ms = self.random.below(50);
            self.after_ms(delay_ms, Event::ToClient(client, octets));
        }
    }

    /// Whether what is sent to `destination` reaches the client that it is for. One that is gone
    /// from its address meanwhile misses it; one that could never hear it is a violation.
    fn is_heard(&mut self, index: usize, destination: Destination, given: Ipv4Addr) -> bool {
        let client = &self.clients[index];
        let is_reachable = match (destination, client.link) {
            (Destination::Relay(to), Link::Relayed) => to == SocketAddrV4::new(RELAY, 67),
            (Destination::Client(to), Link::Direct { .. }) => {
                self.direct_replies += 1;
                return to.port() == 68 && client.address() == Some(*to.ip());
            }
            (Destination::Hardware { mac, address }, Link::Direct { wants_broadcast }) => {
                let is_its = mac == client.hardware() && *address.ip() == given;
                is_its && address.port() == 68 && !wants_broadcast && !given.is_unspecified()
            }
            (Destination::Broadcast, Link::Direct { .. }) => true,
            _ => false,
        };
        self.direct_replies += u64::from(client.link != Link::Relayed);
        if !is_reachable {
            let link = client.link;
            self.checker.fail(format!("client {index} ({link:?}) cannot hear {destination:?}"));
        }
        is_reachable
    }

    fn deliver_to_client(&mut self, client: usize, octets: &[u8], clients_speak: bool) {
        let Ok(reply) = Message::parse(octets) else { return };
        let now_s = self.now.wall_s();
        let answer = self.clients[client].on_reply(&mut self.random, &reply, now_s);
        if let Some(message) = answer.filter(|_| clients_speak) {
            self.put_on_the_network(message);
        }
    }

    /// Every message ended in a reply, in silence or in a counted drop, and nothing waits.
    fn check_the_books(&mut self) {
        for (index, (shard, counters)) in self.shards.iter().zip(&self.counters).enumerate() {
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

fn clients(settings: &Settings, random: &mut Random) -> Vec<Client> {
    let client = |index| {
        let is_direct = random.chance(settings.direct_permille, 1_000);
        let direct = Link::Direct { wants_broadcast: random.chance(1, 3) };
        let link = if is_direct { direct } else { Link::Relayed };
        Client::new(index, link, settings.has_client_ids && index % 2 == 0)
    };
    (0..settings.clients).map(client).collect()
}

fn snapshot(settings: &Settings, pool_size: u32, table: &Arc<LeaseTable>) -> Arc<Snapshot> {
    let text = settings.configuration(pool_size);
    let checked = dhcp_config::parse_dhcp4("world.conf", &text, &mut NoIncludes)
        .expect("the world's own configuration is sound");
    Arc::new(Snapshot::compile(&checked.config, |specs| table.configure(specs)))
}
