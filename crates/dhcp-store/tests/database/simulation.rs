//! World of several servers that share one database, on a virtual clock: connections break before
//! and after commits, other writers cause conflicts, clients go from server to server. In every
//! case, an address that one server has acknowledged belongs to no other client, and no
//! acknowledged lease is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Now, Random};
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotView};
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{
    LeaseStore, LeaseTable, LeaseTerms, PoolIndex, PoolSet, SlotOccupancy, SlotOwner,
};
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults, FakeFlush};
use dhcp_store::database::{DatabaseCore, Refusals, RoundEnd, SharedJournal, SharedLeaseFamily};
use dhcp_store::log::{ShardLog, SharedLogState};

const SERVERS: u64 = 3;
const CLIENTS: u64 = 24;
const ADDRESSES: u32 = 16;
/// Number of the first address.
const FIRST: u32 = 0x0a00_0001;
const STEPS: u32 = 400;
const LIFETIME_S: u32 = 60;
/// Start time, 2001-09-09T01:46:40Z.
const START: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };

/// Reply of a server, with its contents when it leaves.
struct DatabaseSimulationReply<F: SharedLeaseFamily> {
    epoch: u64,
    address: F::Address,
    client: u32,
    /// End of the lease, wall-clock seconds; 0 for a release.
    expires_s: u64,
}

struct DatabaseSimulationServer<F: SharedLeaseFamily> {
    store: DatabaseStore<F>,
    core: DatabaseCore<F, FakeConnection<F>>,
    pools: Arc<PoolSet<F>>,
    waiting: Vec<DatabaseSimulationReply<F>>,
    is_disconnected: bool,
    /// True if a separate flush, which may come late, makes commits safe.
    is_flushed_beside: bool,
}

impl<F: SharedLeaseFamily + SampleFamily> DatabaseSimulationServer<F> {
    fn start(database: &Arc<FakeDatabase<F>>, faults: FakeFaults, seed: u64) -> Self {
        let table = Arc::new(LeaseTable::new(seed));
        let pools = table.configure(&[F::pool(FIRST, FIRST + ADDRESSES - 1)], &[]);
        let leases: Vec<_> = database.leases().values().cloned().collect();
        leases.into_iter().for_each(|lease| table.load(lease));
        let shards = SharedLogState::new(1, |_| {});
        let refusals = Arc::<Refusals>::default();
        let log = ShardLog::new(shards.clone(), 0);
        let journal = SharedJournal::new(refusals.clone(), true);
        let store = DatabaseStore::with_journal(table.clone(), log, journal);
        let mut connection = FakeConnection::new(database.clone(), faults, seed);
        let is_flushed_beside = seed.is_multiple_of(2);
        if is_flushed_beside {
            connection = connection.flushed_by(Arc::new(FakeFlush::new(faults.lost_before, seed)));
        }
        let core = DatabaseCore::new(shards, table, refusals, connection);
        Self { store, core, pools, waiting: Vec::new(), is_disconnected: false, is_flushed_beside }
    }
}

/// Sums over all worlds of a test.
#[derive(Debug, Default)]
struct DatabaseSimulationTally {
    acknowledged: u64,
    refused: u64,
    lost_connections: u64,
    learned: u64,
    requested: u64,
}

struct DatabaseSimulation<F: SharedLeaseFamily> {
    database: Arc<FakeDatabase<F>>,
    servers: Vec<DatabaseSimulationServer<F>>,
    random: Random,
    now: Now,
    /// Owner of each acknowledged address, and the end of its lease.
    owners: BTreeMap<F::Address, (u32, u64)>,
    /// Time when a client last gave an address back: it ignores replies to older requests.
    released: BTreeMap<(F::Address, u32), u64>,
    facts: Facts<F>,
    /// Number of messages so far, at all servers.
    messages: u64,
    tally: DatabaseSimulationTally,
}

impl<F: SharedLeaseFamily + SampleFamily> DatabaseSimulation<F> {
    fn new(seed: u64, faults: FakeFaults) -> Self {
        let database = Arc::<FakeDatabase<F>>::default();
        let servers = (0..SERVERS)
            .map(|server| DatabaseSimulationServer::start(&database, faults, seed * 8 + server))
            .collect();
        Self {
            database,
            servers,
            random: Random::from_seed(seed),
            now: START,
            owners: BTreeMap::new(),
            released: BTreeMap::new(),
            facts: Facts::default(),
            messages: 0,
            tally: DatabaseSimulationTally::default(),
        }
    }

    fn run(mut self) -> DatabaseSimulationTally {
        for _ in 0..STEPS {
            let server = self.random.below(SERVERS) as usize;
            match self.random.below(10) {
                0..=3 => self.ask(server),
                4 => self.name(server),
                5 => self.give_back(server),
                6..=8 if self.random.chance(1, 2) => self.parts(server),
                6..=8 => self.round(server),
                _ => self.pass(),
            }
        }
        for server in 0..SERVERS as usize {
            while self.servers[server].is_disconnected {
                self.round(server);
            }
            self.round(server);
        }
        self.audit();
        self.tally
    }

    fn pass(&mut self) {
        let seconds = 1 + self.random.below(20);
        self.tick(seconds);
        for server in &mut self.servers {
            server.store.sweep(self.now, 8);
        }
    }

    fn tick(&mut self, seconds: u64) {
        self.now.mono_ns += seconds * 1_000_000_000;
        self.now.wall_us += seconds * 1_000_000;
    }

    /// Returns the number of a message that arrives now.
    fn next_message(&mut self) -> u64 {
        self.messages += 1;
        self.messages
    }

    fn fetch(
        &mut self,
        server: usize,
        message: u64,
        client: u32,
        requested: Option<F::Address>,
    ) -> bool {
        let server = &mut self.servers[server];
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[0] = requested;
        let keys = FetchKeys {
            identity: F::borrow(F::client(client)),
            addresses,
            pools: &*server.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        server.store.begin_message(message);
        server.store.fetch(self.now, &keys, &mut self.facts);
        self.facts.unread_epoch == 0
    }

    /// Fetches facts, has the database look the client up if necessary, and returns true if the
    /// facts are complete.
    fn fetch_through(&mut self, server: usize, client: u32, requested: Option<F::Address>) -> bool {
        let message = self.next_message();
        if self.fetch(server, message, client, requested) {
            return true;
        }
        self.tally.learned += 1;
        // Other clients continue meanwhile: before the round takes the lookup, and before its
        // result is read.
        for _ in 0..3 {
            self.take_spare(server);
            self.round(server);
            self.take_spare(server);
            if self.servers[server].is_disconnected {
                return false;
            }
            if self.fetch(server, message, client, requested) {
                return true;
            }
        }
        panic!("server {server} asks for {client} without an end");
    }

    /// Lets a client without a known lease take an address at once, in most calls.
    fn take_spare(&mut self, server: usize) {
        let client = self.random.below(CLIENTS) as u32;
        let message = self.next_message();
        if self.servers[server].is_disconnected
            || self.random.chance(1, 3)
            || !self.fetch(server, message, client, None)
        {
            return;
        }
        let Some(slot) = self.facts.candidate else { return };
        let expires_s = self.now.wall_s() + u64::from(LIFETIME_S);
        self.commit(server, client, &slot, Action::Lease(F::terms(LIFETIME_S, 1, "")), expires_s);
    }

    /// Lets a client name its acknowledged lease, which may be from another server: the reply must
    /// not say that it has no such lease.
    fn name(&mut self, server: usize) {
        let at = self.random.below(self.owners.len().max(1) as u64) as usize;
        let Some((&address, &(client, until_s))) = self.owners.iter().nth(at) else { return };
        if until_s <= self.now.wall_s() || !self.fetch_through(server, client, Some(address)) {
            return;
        }
        let slot = self.facts.address_slots[0].expect("the address is in the pool");
        assert!(
            slot.owner == SlotOwner::Requester && slot.occupancy == SlotOccupancy::Leased,
            "{address} is {client}'s until {until_s}, and server {server} has it as {slot:?}"
        );
        self.tally.requested += 1;
    }

    /// Lets a client request an address, or renew its lease.
    fn ask(&mut self, server: usize) {
        let client = self.random.below(CLIENTS) as u32;
        if !self.fetch_through(server, client, None) {
            return;
        }
        let is_had = |slot: &&SlotView<F>| {
            matches!(slot.occupancy, SlotOccupancy::Leased | SlotOccupancy::Held)
                && slot.owner == SlotOwner::Requester
        };
        let had = self.facts.client_slots().find(is_had).copied();
        let Some(slot) = had.or(self.facts.candidate) else { return };
        let terms = F::terms(LIFETIME_S, 1, "");
        let expires_s = self.now.wall_s() + u64::from(LIFETIME_S);
        self.commit(server, client, &slot, Action::Lease(terms), expires_s);
    }

    fn give_back(&mut self, server: usize) {
        let client = self.random.below(CLIENTS) as u32;
        let message = self.next_message();
        if !self.fetch(server, message, client, None) {
            return;
        }
        let is_leased = |slot: &&SlotView<F>| slot.occupancy == SlotOccupancy::Leased;
        let Some(slot) = self.facts.client_slots().find(is_leased).copied() else { return };
        if self.commit(server, client, &slot, Action::Release, 0) {
            // From now on the client does not use the address, even if the server does not receive
            // the release.
            if self.owners.get(&slot.address).is_some_and(|&(owner, _)| owner == client) {
                self.owners.remove(&slot.address);
            }
            self.released.insert((slot.address, client), self.now.wall_s());
            // Rows have whole seconds, so events within one second have no order among servers.
            self.tick(1);
        }
    }

    fn commit(
        &mut self,
        server: usize,
        client: u32,
        slot: &SlotView<F>,
        action: Action<LeaseTerms<'_, F>>,
        expires_s: u64,
    ) -> bool {
        let server = &mut self.servers[server];
        let change = Change {
            identity: F::borrow(F::client(client)),
            address: slot.address,
            expected_version: slot.version,
            action,
        };
        let result = server.store.commit(self.now, &[change]);
        server.store.submit(self.now);
        let Ok(receipt) = result else { return false };
        let address = slot.address;
        server.waiting.push(DatabaseSimulationReply {
            epoch: receipt.row_epoch,
            address,
            client,
            expires_s,
        });
        true
    }

    /// Runs a round of one server, and sends the replies that may leave after it.
    fn round(&mut self, number: usize) {
        let server = &mut self.servers[number];
        if server.is_disconnected {
            server.is_disconnected = server.core.reconnect(self.now).is_err();
            return;
        }
        let end = server.core.round(self.now);
        self.end(number, end);
    }

    /// Runs some of one server's requests in small parts, some of which are not flushed yet.
    fn parts(&mut self, number: usize) {
        let server = &mut self.servers[number];
        if !server.is_flushed_beside || server.is_disconnected {
            return self.round(number);
        }
        server.core.set_changes_max(Some(1 + self.random.below(2) as u32));
        server.core.take_requests();
        let mut end = RoundEnd::Done;
        while end == RoundEnd::Done && self.random.chance(3, 4) {
            let Some(next) = server.core.run_next_part(self.now) else { break };
            end = next;
            if self.random.chance(1, 2) {
                // The server sees a failure with the next part.
                let _ = server.core.flushes().flush();
            }
        }
        self.end(number, end);
    }

    /// Sends the replies that may leave after a round.
    fn end(&mut self, number: usize, end: RoundEnd) {
        let server = &mut self.servers[number];
        if let RoundEnd::ConnectionLost(_) = end {
            self.tally.lost_connections += 1;
            server.is_disconnected = true;
            assert!(server.store.has_failed());
            server.waiting.clear();
            return;
        }
        let settled = server.store.settled_epoch();
        let (leaving, waiting) = std::mem::take(&mut server.waiting)
            .into_iter()
            .partition(|reply: &DatabaseSimulationReply<F>| reply.epoch <= settled);
        server.waiting = waiting;
        for reply in leaving {
            self.leave(number, &reply);
        }
    }

    fn leave(&mut self, server: usize, reply: &DatabaseSimulationReply<F>) {
        let (octets, len) = F::octets_of(reply.address);
        if self.servers[server].store.is_refused(reply.epoch, &octets[..len]) {
            self.tally.refused += 1;
            return;
        }
        if reply.expires_s == 0 {
            return;
        }
        let released = self.released.get(&(reply.address, reply.client));
        if released.is_some_and(|&at| reply.expires_s <= at + u64::from(LIFETIME_S)) {
            return;
        }
        let now_s = self.now.wall_s();
        // Clients count the lifetime from their request: such a reply gives them nothing.
        if reply.expires_s <= now_s {
            return;
        }
        self.tally.acknowledged += 1;
        if let Some(&(owner, until_s)) = self.owners.get(&reply.address) {
            assert!(
                owner == reply.client || until_s <= now_s,
                "{} is {owner}'s until {until_s}, and was given to {} at {now_s} until {}",
                reply.address,
                reply.client,
                reply.expires_s,
            );
        }
        self.owners.insert(reply.address, (reply.client, reply.expires_s));
    }

    /// Checks that every acknowledged lease that has not ended is in the database, with its client.
    fn audit(&self) {
        let leases = self.database.leases();
        for (address, &(client, until_s)) in &self.owners {
            if until_s <= self.now.wall_s() {
                continue;
            }
            let lease = leases.get(address).unwrap_or_else(|| panic!("{address} is missing"));
            let expected = F::lease(&dhcp_lease::sample::SampleLease {
                address: F::number(*address),
                client,
                valid_lifetime_s: LIFETIME_S,
                cltt_s: lease.cltt_s,
                subnet_id: 1,
                pool_id: 0,
                hostname: "",
                state: lease.state,
                user_context: "",
            });
            assert_eq!(F::client_of(lease), F::client_of(&expected), "{address} is another's");
            assert!(lease.expires_s() >= until_s, "{address} ends too early");
        }
    }
}

fn play<F: SharedLeaseFamily + SampleFamily>(faults: FakeFaults) -> DatabaseSimulationTally {
    let count = std::env::var("GODWIT_DATABASE_WORLDS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(100);
    let mut sum = DatabaseSimulationTally::default();
    for seed in 0..count {
        let run = std::panic::AssertUnwindSafe(|| DatabaseSimulation::<F>::new(seed, faults).run());
        let tally = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
            eprintln!("seed {seed}; GODWIT_DATABASE_WORLDS={} plays it last", seed + 1);
            std::panic::resume_unwind(panic)
        });
        sum.acknowledged += tally.acknowledged;
        sum.refused += tally.refused;
        sum.lost_connections += tally.lost_connections;
        sum.learned += tally.learned;
        sum.requested += tally.requested;
    }
    println!("{sum:?}");
    sum
}

const FAULTS: FakeFaults =
    FakeFaults { lost_before: 40, lost_after: 40, conflicts: 100, refused_connections: 300 };

#[test]
fn servers_that_share_a_database_never_give_an_address_twice() {
    for tally in [play::<V4>(FakeFaults::default()), play::<V6>(FakeFaults::default())] {
        assert!(tally.acknowledged > 5_000 && tally.refused > 25 && tally.learned > 250);
        assert!(tally.requested > 1_000);
    }
}

#[test]
fn connections_that_break_lose_nothing_that_was_acknowledged() {
    for tally in [play::<V4>(FAULTS), play::<V6>(FAULTS)] {
        assert!(tally.acknowledged > 2_500 && tally.refused > 25 && tally.lost_connections > 250);
    }
}
