//! Tests of reloads: listeners that begin, are replaced and end while leases change.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dhcp_lease::v4;

use super::*;

/// Event that a listener got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TakenEvent {
    settings: u32,
    number: u64,
}

/// Facts about all listeners of one name.
#[derive(Debug, Default)]
struct ListenerRecord {
    taken: Vec<TakenEvent>,
    /// Leases by the events, from the copy of the table at the beginning on.
    leases: BTreeMap<IpAddr, v4::Lease>,
    begun: Vec<u32>,
    ended: Vec<u32>,
}

/// Listener that records its events.
struct RecordingListener {
    name: &'static str,
    settings: u32,
    policy: FallBehindPolicy,
    table: Arc<LeaseTable<V4>>,
    record: Arc<Mutex<ListenerRecord>>,
}

impl EventListener<V4> for RecordingListener {
    fn name(&self) -> &'static str {
        self.name
    }

    fn policy(&self) -> FallBehindPolicy {
        self.policy
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::None
    }

    fn settings(&self) -> String {
        self.settings.to_string()
    }

    fn begin(&mut self, _context: &FeedFacts) {
        let mut record = self.record.lock().unwrap();
        record.begun.push(self.settings);
        record.leases.clear();
        self.table.for_each_lease(|lease| {
            record.leases.insert(lease.address.into(), lease);
        });
    }

    fn take(&mut self, events: &[LeaseEvent<V4>]) {
        let mut record = self.record.lock().unwrap();
        for event in events {
            record.taken.push(TakenEvent { settings: self.settings, number: event.number });
            let address = event.change.address.into();
            match &event.change.after {
                Some(lease) => record.leases.insert(address, lease.clone()),
                None => record.leases.remove(&address),
            };
        }
    }

    fn end(&mut self) {
        self.record.lock().unwrap().ended.push(self.settings);
    }
}

/// Returns the leases of `table` by address.
fn leases_of(table: &LeaseTable<V4>) -> BTreeMap<IpAddr, v4::Lease> {
    let mut leases = BTreeMap::new();
    table.for_each_lease(|lease| drop(leases.insert(lease.address.into(), lease)));
    leases
}

/// Thread that changes leases until it is stopped, and the number of its changes.
struct Changes {
    is_stopped: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Changes {
    fn start(table: &Arc<LeaseTable<V4>>, seed: u64) -> Self {
        let (is_stopped, count) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stop, counted) = (Arc::clone(&is_stopped), Arc::clone(&count));
        let mut changing = LeaseChanges::new(table, seed);
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Acquire) {
                changing.change(200);
                counted.fetch_add(1, Ordering::Release);
            }
        });
        Self { is_stopped, count, thread }
    }

    /// Waits for further changes.
    fn wait(&self) {
        let before = self.count.load(Ordering::Acquire);
        wait_until(|| self.count.load(Ordering::Acquire) > before + 20);
    }

    fn stop(self) {
        self.is_stopped.store(true, Ordering::Release);
        self.thread.join().unwrap();
    }
}

/// Checks the events of a listener between its beginning and its end: none is missing, none comes
/// twice, also where one replaces another.
fn check_numbers(taken: &[TakenEvent], seed: u64) {
    for pair in taken.windows(2) {
        let [first, second] = pair else { continue };
        assert_eq!(second.number, first.number + 1, "seed {seed}: {first:?}, then {second:?}");
    }
}

#[test]
fn listeners_begin_change_and_end_without_a_gap_while_leases_change() {
    let policies = [FallBehindPolicy::HoldReplies, FallBehindPolicy::DropAbove(1 << 20)];
    for seed in 0..60 {
        let mut fixture = EventFixture::<V4>::new(seed);
        let table = Arc::clone(&fixture.table);
        (0..100).for_each(|_| fixture.change(200));
        let record = Arc::<Mutex<ListenerRecord>>::default();
        let policy = policies[seed as usize % 2];
        let listener = |settings| -> Box<dyn EventListener<V4>> {
            let (table, record) = (Arc::clone(&table), Arc::clone(&record));
            Box::new(RecordingListener { name: "test", settings, policy, table, record })
        };
        let changes = Changes::start(&table, seed + 1_000);
        for settings in [1, 1, 2, 3] {
            fixture.service.run(vec![listener(settings)]).unwrap();
            fixture.service.end_removed().unwrap();
            changes.wait();
        }
        // The configuration without the listener: those changes are not its own any more.
        fixture.service.run(Vec::new()).unwrap();
        changes.wait();
        changes.stop();
        fixture.service.end_removed().unwrap();
        let leases = leases_of(&table);
        {
            let record = record.lock().unwrap();
            check_numbers(&record.taken, seed);
            assert_eq!((&record.begun[..], &record.ended[..]), (&[1, 2, 3][..], &[3][..]));
            assert_eq!(record.leases, leases, "seed {seed}");
        }
        assert!(!table.is_recording_events());
        assert_eq!(fixture.service.gate().passed(), u64::MAX);
        // It comes back, and has the changes since then.
        let changes = Changes::start(&table, seed + 2_000);
        changes.wait();
        fixture.service.run(vec![listener(4)]).unwrap();
        changes.wait();
        changes.stop();
        fixture.service.run(Vec::new()).unwrap();
        fixture.service.end_removed().unwrap();
        let record = record.lock().unwrap();
        assert_eq!(record.leases, leases_of(&table), "seed {seed}");
    }
}

#[test]
fn a_listener_that_holds_replies_loses_no_event_although_others_began_the_recording() {
    let mut fixture = EventFixture::<V4>::new(1);
    let listener = |name, policy| -> Box<dyn EventListener<V4>> {
        let (table, record) = (Arc::clone(&fixture.table), Arc::default());
        Box::new(RecordingListener { name, settings: 1, policy, table, record })
    };
    let [counting, holding] =
        [("counting", FallBehindPolicy::DropAbove(9)), ("holding", FallBehindPolicy::HoldReplies)];
    let lists = [vec![counting], vec![counting, holding], vec![counting]];
    let lists = lists.map(|list| -> Vec<_> {
        list.into_iter().map(|(name, policy)| listener(name, policy)).collect()
    });
    let mut overflows = Vec::new();
    for list in lists {
        fixture.service.run(list).unwrap();
        fixture.service.end_removed().unwrap();
        overflows.push(fixture.table.event_overflow());
    }
    let drops = EventOverflow::DropAbove(WAITING_MAX);
    assert_eq!(overflows, [drops, EventOverflow::Keep, drops]);
}
