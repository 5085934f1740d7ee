//! Ledger of the clients: the replies that they got.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::{self, V4};

use crate::galera::SERVERS;

/// Number of clients, more than addresses: they come and go.
pub(crate) const CLIENTS: usize = 64;
/// Lifetime of leases, seconds; longer than the clock advances in any run.
pub(crate) const LIFETIME_S: u32 = 100_000_000;
/// Start time, 2001-09-09T01:46:40Z, in seconds since 1970.
const START_S: u64 = 1_000_000_000;
/// Time limit. Nodes that start again may have to wait for a disk that other processes write to.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
struct GaleraLedgerState {
    /// Owner of each address, and the time since when.
    owners: BTreeMap<Ipv4Addr, (u32, u64)>,
    /// True for clients that wait for a reply: they use one server at a time.
    is_busy: Vec<bool>,
    acknowledged: [u64; SERVERS],
    /// All events, in order, to print those of an address with an error.
    events: Vec<GaleraEvent>,
}

/// Number of the last events of an address that are printed.
const STORY_MAX: usize = 40;

impl GaleraLedgerState {
    fn story_of(&self, address: Ipv4Addr) -> String {
        let of_address = self.events.iter().filter(|event| event.address == address);
        let story: Vec<String> = of_address.map(GaleraEvent::to_string).collect();
        story[story.len().saturating_sub(STORY_MAX)..].join("\n")
    }
}

/// Event between a client and a server about an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GaleraEvent {
    pub(crate) what: GaleraEventKind,
    pub(crate) server: usize,
    pub(crate) client: u32,
    pub(crate) address: Ipv4Addr,
    pub(crate) at_s: u64,
    pub(crate) epoch: u64,
}

impl fmt::Display for GaleraEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, server, client, at_s, epoch, .. } = self;
        write!(f, "at {at_s}: server {server}, client {client}: {what:?} (round {epoch})")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaleraEventKind {
    AsksForLease,
    GivesBack,
    Acknowledged,
    Released,
    Refused,
    ConnectionLost,
}

/// Ledger of all clients.
#[derive(Debug)]
pub(crate) struct GaleraLedger {
    state: Mutex<GaleraLedgerState>,
    has_changed: Condvar,
    /// Wall-clock seconds. Rows have whole seconds, so the clock advances with every event that
    /// needs an order.
    now_s: AtomicU64,
    has_ended: AtomicBool,
    is_slow: AtomicBool,
}

impl GaleraLedger {
    pub(crate) fn new() -> Self {
        let state =
            GaleraLedgerState { is_busy: vec![false; CLIENTS], ..GaleraLedgerState::default() };
        Self {
            state: Mutex::new(state),
            has_changed: Condvar::new(),
            now_s: AtomicU64::new(START_S),
            has_ended: AtomicBool::new(false),
            is_slow: AtomicBool::new(false),
        }
    }

    /// Returns the state. If the lock is poisoned, a test that failed elsewhere has printed the
    /// reason.
    fn state(&self) -> MutexGuard<'_, GaleraLedgerState> {
        self.state.lock().unwrap()
    }

    pub(crate) fn now_s(&self) -> u64 {
        self.now_s.load(Ordering::SeqCst)
    }

    /// Ends all requests to servers.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Makes clients send requests so slowly that a node that was away can catch up with the
    /// writes.
    pub(crate) fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::SeqCst);
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::SeqCst)
    }

    /// Marks a client as busy; returns false if it waits for a reply already.
    pub(crate) fn begin(&self, client: u32) -> bool {
        !std::mem::replace(&mut self.state().is_busy[client as usize], true)
    }

    /// Marks a client as idle: it has its reply, or no longer waits for it.
    pub(crate) fn finish(&self, client: u32) {
        self.state().is_busy[client as usize] = false;
    }

    /// Records that the client does not use the address from now on, even if no server learns of
    /// it.
    pub(crate) fn give_back(&self, client: u32, address: Ipv4Addr) {
        let mut state = self.state();
        if state.owners.get(&address).is_some_and(|&(owner, _)| owner == client) {
            state.owners.remove(&address);
        }
    }

    /// Advances the clock, so that later events have a later time.
    pub(crate) fn tick(&self) {
        self.now_s.fetch_add(1, Ordering::SeqCst);
    }

    /// Records an event. A client whose lease is acknowledged has it from then on.
    pub(crate) fn note(&self, event: GaleraEvent) {
        let mut state = self.state();
        state.events.push(event);
        if event.what != GaleraEventKind::Acknowledged {
            return;
        }
        let GaleraEvent { server, client, address, at_s, .. } = event;
        if let Some((owner, _)) = state.owners.insert(address, (client, at_s))
            && owner != client
        {
            let story = state.story_of(address);
            panic!("{address} is {owner}'s and was given to {client} too:\n{story}");
        }
        state.acknowledged[server] += 1;
        self.has_changed.notify_all();
    }

    /// Returns true if a server did not learn the outcome of a row.
    pub(crate) fn has_connection_loss(&self) -> bool {
        self.state().events.iter().any(|event| event.what == GaleraEventKind::ConnectionLost)
    }

    /// Waits until every server has acknowledged `count` more leases.
    pub(crate) fn await_acknowledged(&self, count: u64) {
        let state = self.state();
        let required = state.acknowledged.map(|acknowledged| acknowledged + count);
        let is_short = |state: &mut GaleraLedgerState| {
            state.acknowledged.iter().zip(required).any(|(&stored, required)| stored < required)
        };
        let (state, waited) = self.has_changed.wait_timeout_while(state, LIMIT, is_short).unwrap();
        assert!(!waited.timed_out(), "{:?} of {required:?} acknowledgments", state.acknowledged);
    }

    /// Checks that every address of a client is in the `leases` of this node, with that client.
    pub(crate) fn audit(&self, node: usize, leases: &[v4::Lease]) {
        let state = self.state();
        assert!(!state.owners.is_empty());
        for (address, &(client, since_s)) in &state.owners {
            let stored = leases.iter().find(|lease| lease.address == *address);
            let is_same = stored.is_some_and(|lease| {
                lease.client.hardware.octets() == V4::client(client).hardware.octets()
                    && lease.cltt_s >= since_s
            });
            assert!(
                is_same,
                "{address} is {client}'s since {since_s}; node {node} has {stored:?}:\n{}",
                state.story_of(*address)
            );
        }
    }
}
