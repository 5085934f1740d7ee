//! Tests of listeners that defer events.

use std::time::{Duration, Instant};

use dhcp_lease::v4::V4;

use super::*;
use crate::events::listening::{ListenerEnd, ListenerPosition};

fn has_urgent_events(fixture: &EventFixture<V4>) -> bool {
    let state = &fixture.service.state;
    state.has_urgent_events(&state.feed())
}

/// Listener that counts events: it defers them, or holds replies.
struct DeferringCounter {
    name: &'static str,
    count: Arc<AtomicU64>,
    deferral: Option<Deferral>,
}

impl<P: DaemonFamily> EventListener<P> for DeferringCounter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn policy(&self) -> FallBehindPolicy {
        match self.deferral {
            Some(_) => FallBehindPolicy::DropAbove(10_000),
            None => FallBehindPolicy::HoldReplies,
        }
    }

    fn deferral(&self) -> Option<Deferral> {
        self.deferral
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
        let deferral = Some(Deferral::at_full_speed(usize::MAX));
        Box::new(DeferringCounter { name: "deferring", count, deferral })
    };
    let holding = || -> Box<dyn EventListener<V4>> {
        let count = Arc::clone(&held);
        Box::new(DeferringCounter { name: "holding", count, deferral: None })
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

/// Checks that events do not wait for an idle thread that never gets a processor.
#[test]
fn events_that_have_waited_too_long_are_taken() {
    let mut fixture = EventFixture::<V4>::new(1);
    let (count, others) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let counter = |count: &Arc<AtomicU64>, deferral| {
        Box::new(DeferringCounter { name: "counter", count: Arc::clone(count), deferral })
    };
    // This one has events recorded.
    let recording = counter(&others, Some(Deferral::at_full_speed(usize::MAX)));
    fixture.service.run(vec![recording]).unwrap();
    let state = &fixture.service.state;
    let id = state.feed().listen(FallBehindPolicy::DropAbove(10_000));
    let end = Arc::<ListenerEnd>::default();
    let deferring = counter(&count, Some(Deferral::at_full_speed(usize::MAX)));
    let position = ListenerPosition::new(state, id, deferring, &end);
    let urgent = thread::spawn(move || position.run(None, Duration::from_millis(1)));
    for number in 1..=3 {
        fixture.put(number, number);
        wait_until(|| count.load(Ordering::Relaxed) == u64::from(number));
    }
    end.is_ending.store(true, Ordering::Release);
    fixture.service.state.wake_listeners();
    urgent.join().unwrap();
}

/// Listener that keeps the times at which it was called, with the number of events of each call.
struct CallRecorder {
    calls: Arc<Mutex<Vec<(Instant, usize)>>>,
    deferral: Deferral,
}

impl<P: DaemonFamily> EventListener<P> for CallRecorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(10_000)
    }

    fn deferral(&self) -> Option<Deferral> {
        Some(self.deferral)
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        self.calls.lock().unwrap().push((Instant::now(), events.len()));
    }
}

/// Checks that a receiver gets deferred events in parts with a rest between them, also at the end.
#[test]
fn deferred_events_are_taken_in_parts() {
    let mut fixture = EventFixture::<V4>::new(1);
    let calls = Arc::<Mutex<Vec<(Instant, usize)>>>::default();
    let deferral =
        Deferral { waiting_max: usize::MAX, taken_max: 5, rest: Duration::from_millis(2) };
    let listener = CallRecorder { calls: Arc::clone(&calls), deferral };
    fixture.service.run(vec![Box::new(listener)]).unwrap();
    for number in 0..100 {
        fixture.put(number, number);
    }
    fixture.service.run(Vec::new()).unwrap();
    fixture.service.end_removed().unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls.iter().map(|(_, count)| count).sum::<usize>(), 100);
    assert!(calls.iter().all(|&(_, count)| count <= 5), "{calls:?}");
    // A call of the one thread may follow a call of the other at once, but only once.
    let rests = calls.windows(2).filter(|pair| pair[1].0 - pair[0].0 >= deferral.rest).count();
    assert!(rests + 2 >= calls.len(), "{calls:?}");
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

    fn deferral(&self) -> Option<Deferral> {
        Some(Deferral::at_full_speed(3))
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
