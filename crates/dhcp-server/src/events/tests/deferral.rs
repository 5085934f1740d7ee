//! Tests of listeners that defer events.

use dhcp_lease::v4::V4;

use super::*;

fn has_urgent_events(fixture: &EventFixture<V4>) -> bool {
    let state = &fixture.service.state;
    state.has_urgent_events(&state.feed())
}

/// Listener that counts events: it defers them, or holds replies.
struct DeferringCounter {
    name: &'static str,
    count: Arc<AtomicU64>,
    deferred_max: Option<usize>,
}

impl<P: DaemonFamily> EventListener<P> for DeferringCounter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn policy(&self) -> FallBehindPolicy {
        match self.deferred_max {
            Some(_) => FallBehindPolicy::DropAbove(10_000),
            None => FallBehindPolicy::HoldReplies,
        }
    }

    fn deferred_max(&self) -> Option<usize> {
        self.deferred_max
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        self.count.fetch_add(events.len() as u64, Ordering::Relaxed);
    }
}

/// Checks that a listener gets deferred events from its idle thread, at once while another listener
/// holds replies, and the last ones at its end.
#[test]
fn a_listener_that_defers_events_gets_them_all() {
    let mut fixture = EventFixture::<V4>::new(1);
    let (count, held) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let deferring = || -> Box<dyn EventListener<V4>> {
        let count = Arc::clone(&count);
        Box::new(DeferringCounter { name: "deferring", count, deferred_max: Some(usize::MAX) })
    };
    let holding = || -> Box<dyn EventListener<V4>> {
        let count = Arc::clone(&held);
        Box::new(DeferringCounter { name: "holding", count, deferred_max: None })
    };
    fixture.service.run(vec![deferring()]).unwrap();
    fixture.put(1, 1);
    wait_until(|| count.load(Ordering::Relaxed) == 1);
    fixture.service.run(vec![deferring(), holding()]).unwrap();
    fixture.put(1, 2);
    wait_until(|| count.load(Ordering::Relaxed) == 2);
    assert!(!has_urgent_events(&fixture));
    fixture.service.run(vec![deferring()]).unwrap();
    fixture.service.end_removed().unwrap();
    for number in 3..400 {
        fixture.put(number, number);
    }
    fixture.service.run(Vec::new()).unwrap();
    fixture.service.end_removed().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2 + 397);
    assert_eq!(held.load(Ordering::Relaxed), 1);
}

/// Checks that events above the number that a listener defers are urgent.
#[test]
fn more_events_than_a_listener_defers_are_urgent() {
    let mut fixture = EventFixture::<V4>::new(1);
    let (entered, leave) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let listener = BlockedListener {
        entered: Arc::clone(&entered),
        leave: Arc::clone(&leave),
        waiting_max: 10_000,
    };
    fixture.service.run(vec![Box::new(listener)]).unwrap();
    fixture.put(1, 1);
    wait_until(|| entered.load(Ordering::Relaxed) == 1);
    for number in 2..5 {
        fixture.put(number, number);
    }
    wait_until(|| last_number(&fixture) == 4);
    assert!(!has_urgent_events(&fixture));
    fixture.put(5, 5);
    wait_until(|| has_urgent_events(&fixture));
    leave.store(1, Ordering::Relaxed);
    wait_until(|| fixture.service.source().counts().listeners[0].delivered == 5);
    assert!(!has_urgent_events(&fixture));
}

/// Listener that defers three events, and stays in its first call until it may leave.
struct BlockedListener {
    entered: Arc<AtomicU64>,
    leave: Arc<AtomicU64>,
    /// Number of events above which the oldest ones are dropped.
    waiting_max: usize,
}

impl<P: DaemonFamily> EventListener<P> for BlockedListener {
    fn name(&self) -> &'static str {
        "blocked"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(self.waiting_max)
    }

    fn deferred_max(&self) -> Option<usize> {
        Some(3)
    }

    fn take(&mut self, _events: &[LeaseEvent<P>]) {
        self.entered.store(1, Ordering::Relaxed);
        wait_until(|| self.leave.load(Ordering::Relaxed) == 1);
    }
}

/// Checks that a listener that takes no events loses none in the lease table, where no gap in the
/// numbers would show it: the feed has as many as the listener lets wait.
#[test]
fn a_feed_without_held_replies_takes_all_events() {
    let mut fixture = EventFixture::<V4>::new(1);
    let (entered, leave) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let waiting_max = FEED_MAX + 4_000;
    let listener = BlockedListener { entered, leave: Arc::clone(&leave), waiting_max };
    fixture.service.run(vec![Box::new(listener)]).unwrap();
    let (first, count) = (FEED_MAX as u32 + 1_000, FEED_MAX as u32 + 2_000);
    for number in 0..first {
        fixture.put(number % 1_000, number);
    }
    assert_eq!(last_number(&fixture), u64::from(first));
    for number in first..count {
        fixture.put(number % 1_000, number);
    }
    assert_eq!(last_number(&fixture), u64::from(count));
    leave.store(1, Ordering::Relaxed);
    wait_until(|| fixture.service.source().counts().listeners[0].delivered == u64::from(count));
}
