//! What clients were told, kept by themselves.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use dhcp_lease::sample::Sample;
use dhcp_lease::v4::{self, V4};
use dhcp_store::database::Shared;

use crate::galera::SERVERS;

/// More than addresses: they come and go.
pub(crate) const CLIENTS: usize = 64;
/// Seconds; longer than the clock goes in any run.
pub(crate) const LIFETIME_S: u32 = 100_000_000;
/// 2001-09-09T01:46:40Z.
const START_S: u64 = 1_000_000_000;
/// Nodes that start again may have to wait for a disk that others write to.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
struct State {
    /// Whose an address is, and since when.
    owners: BTreeMap<Ipv4Addr, (u32, u64)>,
    /// Clients that wait for an answer: they ask one server at a time.
    is_busy: Vec<bool>,
    acknowledged: [u64; SERVERS],
    /// Everything, in order, to be told of an address that went wrong.
    events: Vec<Event>,
}

/// The last events of an address that are told.
const STORY_MAX: usize = 40;

impl State {
    fn story_of(&self, address: Ipv4Addr) -> String {
        let of_address = self.events.iter().filter(|event| event.address == address);
        let story: Vec<String> = of_address.map(Event::to_string).collect();
        story[story.len().saturating_sub(STORY_MAX)..].join("\n")
    }
}

/// What a client and a server had to do with an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) server: usize,
    pub(crate) client: u32,
    pub(crate) address: Ipv4Addr,
    pub(crate) at_s: u64,
    pub(crate) epoch: u64,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, server, client, at_s, epoch, .. } = self;
        write!(f, "at {at_s}: server {server}, client {client}: {what:?} (round {epoch})")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    AsksForLease,
    GivesBack,
    Acknowledged,
    GivenBack,
    Refused,
    Lost,
}

/// All clients.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    has_changed: Condvar,
    /// Rows tell seconds apart, so the clock goes on with whatever needs an order.
    now_s: AtomicU64,
    has_ended: AtomicBool,
    is_slow: AtomicBool,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let state = State { is_busy: vec![false; CLIENTS], ..State::default() };
        Self {
            state: Mutex::new(state),
            has_changed: Condvar::new(),
            now_s: AtomicU64::new(START_S),
            has_ended: AtomicBool::new(false),
            is_slow: AtomicBool::new(false),
        }
    }

    /// A test that failed elsewhere has said why.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn now_s(&self) -> u64 {
        self.now_s.load(Ordering::SeqCst)
    }

    /// No server is asked any more.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Clients ask so slowly that a node which was away can catch up with what is written.
    pub(crate) fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::SeqCst);
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::SeqCst)
    }

    /// A client that waits for nothing begins to ask, if it is one.
    pub(crate) fn begin(&self, client: u32) -> bool {
        !std::mem::replace(&mut self.state().is_busy[client as usize], true)
    }

    /// A client has its answer, or waits for it no more.
    pub(crate) fn finish(&self, client: u32) {
        self.state().is_busy[client as usize] = false;
    }

    /// From now on the client does not use the address, whether anybody hears of that or not.
    pub(crate) fn give_back(&self, client: u32, address: Ipv4Addr) {
        let mut state = self.state();
        if state.owners.get(&address).is_some_and(|&(owner, _)| owner == client) {
            state.owners.remove(&address);
        }
    }

    /// What happens from now on happens later.
    pub(crate) fn tick(&self) {
        self.now_s.fetch_add(1, Ordering::SeqCst);
    }

    /// Something has happened. A client that is told that it has an address has it from then on.
    pub(crate) fn note(&self, event: Event) {
        let mut state = self.state();
        state.events.push(event);
        if event.what != What::Acknowledged {
            return;
        }
        let Event { server, client, address, at_s, .. } = event;
        if let Some((owner, _)) = state.owners.insert(address, (client, at_s))
            && owner != client
        {
            let story = state.story_of(address);
            panic!("{address} is {owner}'s and was given to {client} too:\n{story}");
        }
        state.acknowledged[server] += 1;
        self.has_changed.notify_all();
    }

    /// Returns true once a server did not learn what became of a row.
    pub(crate) fn has_lost(&self) -> bool {
        self.state().events.iter().any(|event| event.what == What::Lost)
    }

    /// Waits until every server has acknowledged so many leases more.
    pub(crate) fn await_acknowledged(&self, count: u64) {
        let state = self.state();
        let wanted = state.acknowledged.map(|acknowledged| acknowledged + count);
        let is_short = |state: &mut State| {
            state.acknowledged.iter().zip(wanted).any(|(&found, wanted)| found < wanted)
        };
        let (state, waited) = self.has_changed.wait_timeout_while(state, LIMIT, is_short).unwrap();
        assert!(!waited.timed_out(), "{:?} of {wanted:?} acknowledgments", state.acknowledged);
    }

    /// Every address that a client has is in the `leases` of this node, as its own.
    pub(crate) fn audit(&self, node: usize, leases: &[v4::Lease]) {
        let state = self.state();
        assert!(!state.owners.is_empty());
        for (address, &(client, since_s)) in &state.owners {
            let found = leases.iter().find(|lease| lease.address == *address);
            let is_kept = found.is_some_and(|lease| {
                lease.hardware.octets() == V4::client(client).hardware.octets()
                    && V4::times(lease).cltt_s >= since_s
            });
            assert!(
                is_kept,
                "{address} is {client}'s since {since_s}; node {node} has {found:?}:\n{}",
                state.story_of(*address)
            );
        }
    }
}
