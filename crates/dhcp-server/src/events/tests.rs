//! Tests of listeners and subscribers on a table whose changes are durable at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use base::{Now, Random};
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{EventOverflow, LeaseState, MemoryStore, PutMode};
use serde_json::Value;
use testkit::wait_until;

use super::*;

mod deferral;
mod reloads;
mod webhook;

/// First address of the leases.
const FIRST: u32 = 0x0a00_0000;
const NOW: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };

/// Changes of leases in a table.
struct LeaseChanges<P: DaemonFamily> {
    store: MemoryStore<P>,
    random: Random,
}

impl<P: DaemonFamily + SampleFamily> LeaseChanges<P> {
    fn new(table: &Arc<LeaseTable<P>>, seed: u64) -> Self {
        Self { store: MemoryStore::new(Arc::clone(table)), random: Random::from_seed(seed) }
    }

    fn put(&mut self, address: u32, client: u32) {
        let lease = P::lease(&SampleLease {
            address: FIRST + address,
            client,
            valid_lifetime_s: 4000,
            cltt_s: NOW.wall_s(),
            subnet_id: 7,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        });
        self.store.put(&lease, PutMode::Force).unwrap();
    }

    fn change(&mut self, addresses: u64) {
        let address = self.random.below(addresses) as u32;
        if self.random.chance(1, 3) {
            let _ = self.store.remove(<P as SampleFamily>::address(FIRST + address));
        } else {
            let client = self.random.below(1_000) as u32;
            self.put(address, client);
        }
    }
}

/// Service of lease events with a table and a store that changes it.
pub(crate) struct EventFixture<P: DaemonFamily> {
    pub(crate) service: EventService<P>,
    pub(crate) table: Arc<LeaseTable<P>>,
    changes: LeaseChanges<P>,
}

impl<P: DaemonFamily + SampleFamily> EventFixture<P> {
    pub(crate) fn new(seed: u64) -> Self {
        let table = Arc::new(LeaseTable::new(seed));
        table.configure(&[P::pool(FIRST, FIRST + 0xffff)], &[]);
        let of_feed = ServerStore::Memory(MemoryStore::new(Arc::clone(&table)));
        let service = EventService::new(
            Arc::clone(&table),
            DurabilityWakeup::new(Vec::new()),
            of_feed,
            ListenerParts::default(),
        );
        let changes = LeaseChanges::new(&table, seed);
        Self { service, table, changes }
    }

    /// Makes client number `client` the owner of address number `address`.
    pub(crate) fn put(&mut self, address: u32, client: u32) {
        self.changes.put(address, client);
    }

    /// Changes one of `addresses` addresses at random.
    fn change(&mut self, addresses: u64) {
        self.changes.change(addresses);
    }

    /// Returns the leases of the table by address, as commands show them.
    pub(crate) fn leases(&self) -> BTreeMap<String, Value> {
        let mut leases = BTreeMap::new();
        self.table.for_each_lease(|lease| {
            leases.insert(P::ip(lease.address).to_string(), P::to_json(&lease));
        });
        leases
    }

    fn subscribe(&self, wants_snapshot: bool, after: Option<&str>) -> Reader {
        let format = EventFormat::JsonLines;
        let after = after.map(str::to_owned);
        let request = SubscriptionRequest { format, wants_snapshot, after };
        let subscription = self.service.source().subscribe(&request).unwrap();
        Reader { subscription, copy: LeaseCopy::default() }
    }
}

impl<P: DaemonFamily> Drop for EventFixture<P> {
    fn drop(&mut self) {
        self.service.stop();
    }
}

/// Copy of the leases that a subscriber keeps.
#[derive(Debug, Default)]
pub(crate) struct LeaseCopy {
    pub(crate) leases: BTreeMap<String, Value>,
    /// Identifier of the last event, empty before the first.
    pub(crate) id: String,
    /// Number of the last event.
    pub(crate) number: u64,
    /// Reason why the stream ended.
    pub(crate) gap: Option<String>,
}

impl LeaseCopy {
    /// Takes an entry of the stream. An event must have the number after that of the last one, and
    /// the lease before it must be the one that the copy has.
    pub(crate) fn take(&mut self, entry: &Value) {
        let address = |lease: &Value| lease["ip-address"].as_str().unwrap().to_owned();
        let kind = entry["kind"].as_str().unwrap();
        match kind {
            "snapshot-begin" => *self = Self::default(),
            "begin" | "snapshot-end" => self.number = entry["number"].as_u64().unwrap(),
            "lease" => {
                let lease = entry["lease"].clone();
                let before = self.leases.insert(address(&lease), lease);
                assert_eq!(before, None, "an address is in the snapshot twice");
                return;
            }
            "snapshot-needed" => {
                self.gap = Some(entry["reason"].as_str().unwrap().to_owned());
                return;
            }
            _ => {
                self.number += 1;
                assert_eq!(entry["number"], self.number, "{entry}");
                let (before, after) = (&entry["before"], &entry["after"]);
                // A prefix has its length after it.
                let at = entry["address"].as_str().unwrap().split('/').next().unwrap().to_owned();
                assert_eq!(self.leases.remove(&at).unwrap_or_default(), *before, "{entry}");
                if !after.is_null() {
                    self.leases.insert(at, after.clone());
                }
            }
        }
        if let Some(id) = entry["id"].as_str() {
            id.clone_into(&mut self.id);
        }
    }
}

/// Subscriber with its copy of the leases.
struct Reader {
    subscription: Box<dyn EventSubscription>,
    copy: LeaseCopy,
}

impl Reader {
    /// Reads at most `texts` texts. Returns false if there is no further one for now.
    fn read(&mut self, texts: usize) -> bool {
        for _ in 0..texts {
            let (text, is_end) = match self.subscription.next() {
                SubscriptionText::Wait => return false,
                SubscriptionText::Text { text, .. } => (text, false),
                SubscriptionText::End(text) => (text, true),
            };
            for line in std::str::from_utf8(&text).unwrap().lines() {
                self.copy.take(&serde_json::from_str(line).unwrap());
            }
            if is_end {
                return false;
            }
        }
        true
    }

    /// Reads up to the event `number`.
    fn read_to(&mut self, number: u64) {
        wait_until(|| {
            self.read(1);
            self.copy.number >= number || self.copy.gap.is_some()
        });
        assert_eq!((self.copy.number, self.copy.gap.as_deref()), (number, None));
    }
}

/// Begins the recording, so that the feed has all later changes, and returns the number of the
/// last event.
fn last_number<P: DaemonFamily>(fixture: &EventFixture<P>) -> u64 {
    let state = &fixture.service.state;
    wait_until(|| state.table.waiting_events() == 0);
    let _mover = state.mover();
    state.feed().last_number()
}

fn a_subscriber_that_comes_back_has_each_change_once<P: DaemonFamily + SampleFamily>() {
    let mut fixture = EventFixture::<P>::new(1);
    let mut reader = fixture.subscribe(true, None);
    let mut deaths = 0;
    for round in 0..200 {
        for _ in 0..fixture.changes.random.below(40) {
            fixture.change(50);
        }
        let texts = fixture.changes.random.below(3) as usize + usize::from(round == 0) * 999;
        reader.read(texts);
        if fixture.changes.random.chance(1, 3) {
            // The copy dies with its process; what it had written down stays.
            let Reader { subscription, copy } = reader;
            drop(subscription);
            let resumed = fixture.subscribe(false, Some(&copy.id));
            reader = Reader { subscription: resumed.subscription, copy };
            deaths += 1;
        }
    }
    let last = last_number(&fixture);
    reader.read_to(last);
    assert!(deaths > 20 && last > 1_000, "{deaths} deaths, {last} events");
    assert_eq!(reader.copy.leases, fixture.leases());
}

fn snapshots_and_changes_are_the_leases<P: DaemonFamily + SampleFamily>() {
    for seed in 1..4 {
        let mut fixture = EventFixture::<P>::new(seed);
        (0..1_000).for_each(|_| fixture.change(1_000));
        let mut readers = Vec::new();
        for _ in 0..400 {
            (0..fixture.changes.random.below(20)).for_each(|_| fixture.change(1_000));
            if readers.len() < 5 && fixture.changes.random.chance(1, 20) {
                readers.push(fixture.subscribe(true, None));
            }
            for reader in &mut readers {
                reader.read(fixture.changes.random.below(4) as usize);
            }
        }
        let last = last_number(&fixture);
        for mut reader in readers {
            reader.read_to(last);
            assert_eq!(reader.copy.leases, fixture.leases(), "seed {seed}");
        }
    }
}

#[test]
fn a_subscriber_that_comes_back_has_each_dhcpv4_change_once() {
    a_subscriber_that_comes_back_has_each_change_once::<V4>();
}

#[test]
fn a_subscriber_that_comes_back_has_each_dhcpv6_change_once() {
    a_subscriber_that_comes_back_has_each_change_once::<V6>();
}

#[test]
fn snapshots_and_changes_are_the_dhcpv4_leases() {
    snapshots_and_changes_are_the_leases::<V4>();
}

#[test]
fn snapshots_and_changes_are_the_dhcpv6_leases() {
    snapshots_and_changes_are_the_leases::<V6>();
}

#[test]
fn a_position_of_another_process_or_of_no_event_needs_a_snapshot() {
    let mut fixture = EventFixture::<V4>::new(1);
    let mut reader = fixture.subscribe(false, None);
    (0..10).for_each(|client| fixture.put(1, client));
    reader.read_to(10);
    let instance = reader.copy.id.strip_suffix("-10").unwrap().to_owned();
    for (position, reason) in [
        ("01234567.1-5".to_owned(), "other-instance"),
        (format!("{instance}9-5"), "other-instance"),
        (format!("{instance}-11"), "number-gone"),
        (format!("{instance}-+5"), "other-instance"),
        ("18446744073709551616".to_owned(), "other-instance"),
        ("11".to_owned(), "number-gone"),
    ] {
        let mut refused = fixture.subscribe(false, Some(&position));
        assert!(!refused.read(9));
        assert_eq!(refused.copy.gap.as_deref(), Some(reason), "{position}");
        let mut with_snapshot = fixture.subscribe(true, Some(&position));
        with_snapshot.read_to(10);
        assert_eq!(with_snapshot.copy.leases, fixture.leases());
    }
    for position in [format!("{instance}-10"), "10".to_owned()] {
        let mut resumed = fixture.subscribe(true, Some(&position));
        resumed.copy.number = 10;
        assert!(!resumed.read(9) && resumed.copy.gap.is_none(), "{position}");
    }
}

#[test]
fn a_subscriber_that_does_not_read_is_cut_off_and_counted() {
    let mut fixture = EventFixture::<V4>::new(1);
    let mut slow = fixture.subscribe(false, None);
    let mut other = fixture.subscribe(false, None);
    assert!(slow.read(1) && other.read(1));
    let many = subscriptions::HISTORY_MAX as u64 + 1;
    for number in 0..many {
        fixture.put((number % 3) as u32, number as u32);
    }
    // The other one reads late, but not too late.
    let last = last_number(&fixture);
    other.copy.leases.clear();
    assert_eq!(last, many);
    assert!(!slow.read(1));
    assert_eq!(slow.copy.gap.as_deref(), Some("too-slow"));
    let counts = fixture.service.source().counts();
    assert_eq!((counts.subscribers, counts.cut_off), (2, 1));
    assert_eq!((counts.listeners[0].name, counts.listeners[0].dropped), ("subscribers", many));
    assert_eq!(fixture.service.state.feed().len(), subscriptions::HISTORY_MAX);
    drop(slow);
    assert_eq!(fixture.service.source().counts().subscribers, 1);
}

#[test]
fn recording_begins_with_the_first_subscriber_and_ends_after_the_last() {
    let mut fixture = EventFixture::<V4>::new(1);
    fixture.put(1, 1);
    let state = Arc::clone(&fixture.service.state);
    assert!(!fixture.table.is_recording_events());
    assert!(fixture.service.source().counts().listeners.is_empty());
    let mut reader = fixture.subscribe(true, None);
    fixture.put(2, 2);
    reader.read_to(1);
    let id = reader.copy.id.clone();
    drop(reader);
    let left_ns = Clock::mono_ns();
    state.end_unused_history(left_ns + 59_000_000_000);
    assert!(fixture.table.is_recording_events(), "a subscriber may come back");
    fixture.put(2, 3);
    let mut back = fixture.subscribe(false, Some(&id));
    back.copy.number = 1;
    back.copy.leases = fixture.leases();
    back.copy.leases.get_mut("10.0.0.2").unwrap()["hw-address"] = "00:00:00:00:00:03".into();
    back.read_to(2);
    drop(back);
    state.end_unused_history(Clock::mono_ns() + 61_000_000_000);
    assert!(!fixture.table.is_recording_events());
    assert!(state.feed().is_empty());
    fixture.put(2, 4);
    let mut late = fixture.subscribe(false, Some(&id));
    assert!(!late.read(9));
    assert_eq!(late.copy.gap.as_deref(), Some("other-instance"));
}

#[test]
fn events_that_the_table_drops_interrupt_every_subscriber() {
    let mut fixture = EventFixture::<V4>::new(1);
    let mut reader = fixture.subscribe(false, None);
    fixture.put(1, 1);
    reader.read_to(1);
    fixture.service.state.subscriptions.interrupt(3);
    assert!(!reader.read(1));
    assert_eq!(reader.copy.gap.as_deref(), Some("events-lost"));
    assert_eq!(fixture.service.source().counts().lost, 3);
    let mut again = fixture.subscribe(true, None);
    again.read_to(1);
    assert_eq!(again.copy.leases, fixture.leases());
}

/// Listener that counts events.
struct CountingListener(Arc<AtomicU64>);

impl<P: DaemonFamily> EventListener<P> for CountingListener {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(1_000)
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::None
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        self.0.fetch_add(events.len() as u64, Ordering::Relaxed);
    }
}

#[test]
fn a_listener_of_the_configuration_goes_on_when_subscribers_leave() {
    let mut fixture = EventFixture::<V4>::new(1);
    let count = Arc::<AtomicU64>::default();
    fixture.service.run(vec![Box::new(CountingListener(Arc::clone(&count)))]).unwrap();
    assert_eq!(fixture.table.exchange_detail(), ExchangeDetail::None);
    let mut reader = fixture.subscribe(false, None);
    assert_eq!(fixture.table.exchange_detail(), ExchangeDetail::Content);
    fixture.put(1, 1);
    reader.read_to(1);
    drop(reader);
    fixture.service.state.end_unused_history(Clock::mono_ns() + 61_000_000_000);
    fixture.put(1, 2);
    wait_until(|| count.load(Ordering::Relaxed) == 2);
    wait_until(|| fixture.service.source().counts().listeners[0].backlog == 0);
    let counts = fixture.service.source().counts();
    let [counting, subscribers] = counts.listeners[..] else { panic!("{counts:?}") };
    assert_eq!((counting.name, counting.delivered, counting.dropped), ("counting", 2, 0));
    assert_eq!((subscribers.name, subscribers.delivered), ("subscribers", 1));
}

#[test]
fn changes_on_other_threads_are_in_the_snapshot_or_after_it() {
    let mut fixture = EventFixture::<V4>::new(3);
    (0..2_000).for_each(|_| fixture.change(3_000));
    let mut others: Vec<_> = (0..2).map(|_| MemoryStore::new(Arc::clone(&fixture.table))).collect();
    let mut readers: Vec<_> = (0..3).map(|_| fixture.subscribe(true, None)).collect();
    thread::scope(|scope| {
        for (number, store) in others.iter_mut().enumerate() {
            scope.spawn(move || {
                let mut random = Random::from_seed(number as u64);
                for _ in 0..3_000 {
                    let sample = SampleLease {
                        address: FIRST + random.below(3_000) as u32,
                        client: random.below(1_000) as u32,
                        valid_lifetime_s: random.below(3) as u32 * 1_000,
                        cltt_s: NOW.wall_s(),
                        subnet_id: 7,
                        pool_id: 0,
                        hostname: "",
                        state: LeaseState::Assigned,
                        user_context: "",
                    };
                    store.put(&<V4 as SampleFamily>::lease(&sample), PutMode::Force).unwrap();
                }
            });
        }
        for reader in &mut readers {
            scope.spawn(move || wait_until(|| !reader.read(2) && reader.copy.number > 0));
        }
    });
    let last = last_number(&fixture);
    for mut reader in readers {
        reader.read_to(last);
        assert_eq!(reader.copy.leases, fixture.leases());
    }
}
