//! Tests of the order of recorded events, and of answers among them.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::super::LeaseTable;
use super::{SECOND_NS, SETTLED, START, change, for_both_families, lease_for, slot};
use crate::contract::{LeaseStore, PutMode};
use crate::event::{
    Answer, AnsweredLease, EventRef, ExchangeDetail, ExchangeOwner, ExchangeRecord, LeaseEventKind,
    OrderedEvent, RecordedEvent, RecordedIngress,
};
use crate::lease::{Lease, LeaseState};
use crate::pool::PoolSet;
use crate::sample::{SampleFamily, SampleLease};
use crate::store::MemoryStore;
use crate::table::events::{EventLimit, EventOverflow, IncompleteExchanges};

for_both_families! {
    events_of_a_client_come_in_the_order_of_its_messages,
    events_of_an_exchange_come_together,
    a_request_for_names_comes_after_the_changes_before_it,
    an_answer_shows_the_lease_that_it_repeats,
    an_exchange_that_is_completed_during_a_call_comes_by_the_next_one,
    exchanges_group_events_without_their_messages,
    events_are_complete_although_others_take_them_while_the_recording_begins,
}

/// Number of the first address of the pool. Addresses next to each other are in other stripes.
const FIRST: u32 = 0x0a00_0000;

fn table<F: SampleFamily>() -> (LeaseTable<F>, Arc<PoolSet<F>>) {
    let table = LeaseTable::<F>::new(3);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 511)], &[]);
    table.record_events(EventOverflow::Keep);
    table.record_exchanges(ExchangeDetail::Content);
    table.record_answers(true);
    (table, pools)
}

fn lease<F: SampleFamily>(
    table: &LeaseTable<F>,
    pools: &PoolSet<F>,
    number: u32,
    exchange: Option<&ExchangeOwner>,
) {
    let free = slot(table, pools, START, number).unwrap();
    let changes = [change(1, &free, lease_for::<F>(100))];
    let cell = exchange.map(ExchangeOwner::cell);
    table.apply_caused(START, &changes, SETTLED, cell, &mut |_| {}).unwrap();
}

fn complete<F: SampleFamily>(table: &LeaseTable<F>, exchange: ExchangeOwner) {
    let local = core::net::Ipv4Addr::LOCALHOST.into();
    let ingress = RecordedIngress {
        source: (local, 68).into(),
        local,
        interface: 1,
        is_multicast: false,
        mac: None,
    };
    let record =
        ExchangeRecord { message: [].into(), reply: [].into(), ingress, wall_us: START.wall_us };
    exchange.complete(record, table.take_event_order());
}

fn taken<F: SampleFamily>(table: &LeaseTable<F>) -> Vec<EventRef<F>> {
    let mut events = Vec::new();
    table.take_events(u64::MAX, &mut events);
    events
}

fn events_of_a_client_come_in_the_order_of_its_messages<F: SampleFamily>() {
    let (table, pools) = table::<F>();
    // From the last stripe to the first.
    let numbers: Vec<u32> = (0..200).rev().map(|number| FIRST + number).collect();
    numbers.iter().for_each(|&number| lease(&table, &pools, number, None));
    let order: Vec<u32> = taken(&table).iter().map(|event| F::number(event.address)).collect();
    assert_eq!(order, numbers);
}

fn events_of_an_exchange_come_together<F: SampleFamily>() {
    let (table, pools) = table::<F>();
    let exchange = ExchangeOwner::default();
    lease(&table, &pools, FIRST + 9, Some(&exchange));
    assert!(taken(&table).is_empty());
    lease(&table, &pools, FIRST + 4, Some(&exchange));
    lease(&table, &pools, FIRST + 5, None);
    complete(&table, exchange);
    let order: Vec<u32> = taken(&table).iter().map(|event| F::number(event.address)).collect();
    assert_eq!(order, [FIRST + 9, FIRST + 4, FIRST + 5]);
    assert_eq!(table.waiting_events(), 0);
}

fn a_request_for_names_comes_after_the_changes_before_it<F: SampleFamily>() {
    let (table, pools) = table::<F>();
    let exchange = ExchangeOwner::default();
    lease(&table, &pools, FIRST, Some(&exchange));
    table.record_names_request(F::address(FIRST + 1));
    table.record_names_request(F::address(FIRST));
    assert!(taken(&table).is_empty());
    complete(&table, exchange);
    let events = taken(&table);
    let kinds: Vec<LeaseEventKind> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [LeaseEventKind::Allocated, LeaseEventKind::NamesRequested]);
    assert_eq!((&events[1].before, &events[1].after), (&None, &events[0].after));
}

fn an_answer_shows_the_lease_that_it_repeats<F: SampleFamily>() {
    let (table, pools) = table::<F>();
    lease(&table, &pools, FIRST, None);
    let address = F::address(FIRST);
    let later = START.after_ns(9 * SECOND_NS);
    let answered = |who, number| {
        let terms = F::terms(500, 7, "name");
        let lease = Some(AnsweredLease { identity: F::client(who), terms });
        let answer = Answer { address: F::address(number), lease, row_epoch: 0 };
        table.record_answer(later, &answer, None);
    };
    // Another client's lease, and an address without a lease.
    answered(2, FIRST);
    answered(1, FIRST + 1);
    answered(1, FIRST);
    table.record_answer(later, &Answer { address, lease: None, row_epoch: 0 }, None);
    let events = taken(&table);
    let kinds: Vec<LeaseEventKind> = events.iter().map(|event| event.kind).collect();
    let answer = LeaseEventKind::Answered;
    assert_eq!(kinds, [LeaseEventKind::Allocated, answer, answer]);
    assert_eq!(events[1].before, events[0].after);
    let after = events[1].after.as_ref().unwrap();
    assert_eq!((after.valid_lifetime_s, after.subnet_id, &*after.hostname), (500, 7, "name"));
    assert_eq!(
        (after.cltt_s, &after.client),
        (later.wall_s(), &events[0].after.as_ref().unwrap().client)
    );
    assert!(events[2].before.is_none() && events[2].after.is_none());
    let present = slot(&table, &pools, START, FIRST).unwrap();
    assert_eq!((present.valid_lifetime_s, present.cltt_s), (100, START.wall_s()));
    table.record_answers(false);
    answered(1, FIRST);
    assert!(taken(&table).is_empty());
}

fn an_exchange_that_is_completed_during_a_call_comes_by_the_next_one<F: SampleFamily>() {
    let (table, pools) = table::<F>();
    let exchange = ExchangeOwner::default();
    lease(&table, &pools, FIRST, Some(&exchange));
    let event = RecordedEvent::<F> {
        kind: LeaseEventKind::Allocated,
        address: F::address(FIRST),
        before: None,
        after: None,
        row_epoch: 0,
        exchange: Some(Arc::clone(exchange.cell())),
    };
    let waiting = OrderedEvent { order: 0, event };
    let limit = EventLimit { settled_epoch: u64::MAX, order: u64::MAX };
    let mut of_call = IncompleteExchanges::default();
    assert!(!of_call.is_ready(&waiting, limit));
    complete(&table, exchange);
    assert!(!of_call.is_ready(&waiting, limit), "its other event stayed behind");
    assert!(IncompleteExchanges::default().is_ready(&waiting, limit));
    assert_eq!(taken(&table).len(), 1);
}

fn exchanges_group_events_without_their_messages<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(3);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 511)], &[]);
    assert_eq!(table.exchange_detail(), ExchangeDetail::None);
    table.record_exchanges(ExchangeDetail::Group);
    assert_eq!(table.exchange_detail(), ExchangeDetail::None, "no event is recorded");
    table.record_events(EventOverflow::Keep);
    assert_eq!(table.exchange_detail(), ExchangeDetail::Group);
    let exchange = ExchangeOwner::default();
    lease(&table, &pools, FIRST, Some(&exchange));
    lease(&table, &pools, FIRST + 1, Some(&exchange));
    assert!(taken(&table).is_empty());
    assert_eq!(exchange.cell().answered_us(), None);
    exchange.complete_without_content(START.wall_us, table.take_event_order());
    let events = taken(&table);
    let cells: Vec<_> = events.iter().filter_map(|event| event.exchange.as_ref()).collect();
    let [one, other] = cells[..] else { panic!("{events:?}") };
    assert!(Arc::ptr_eq(one, other));
    assert_eq!((one.record(), one.answered_us()), (None, Some(START.wall_us)));
    table.record_exchanges(ExchangeDetail::Content);
    table.record_exchanges(ExchangeDetail::Group);
    assert_eq!(table.exchange_detail(), ExchangeDetail::Content);
    table.stop_recording_exchanges();
    assert_eq!(table.exchange_detail(), ExchangeDetail::None);
}

fn leases_of<F: SampleFamily>(table: &LeaseTable<F>) -> BTreeMap<u32, Lease<F>> {
    let mut leases = BTreeMap::new();
    table.for_each_lease(|lease| drop(leases.insert(F::number(lease.address), lease)));
    leases
}

fn events_are_complete_although_others_take_them_while_the_recording_begins<F: SampleFamily>() {
    let table = Arc::new(LeaseTable::<F>::new(3));
    table.configure(&[F::pool(FIRST, FIRST + 511)], &[]);
    let mut store = MemoryStore::new(Arc::clone(&table));
    let mut put = |number, client| {
        let lease = F::lease(&SampleLease {
            address: number,
            client,
            valid_lifetime_s: 4000,
            cltt_s: START.wall_s(),
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        });
        store.put(&lease, PutMode::Force).unwrap();
    };
    let stripe = |number| table.lock_of(table.slot_number_of(F::address(number)).unwrap()).number;
    let [first, second] = [FIRST, FIRST + 1].map(|number| (stripe(number), number));
    // The recording begins with the stripe of the first one.
    let [(stripe, _), (_, number)] = [first.min(second), first.max(second)];
    let (done, is_done) = mpsc::channel();
    let events = std::thread::scope(|scope| {
        let held = table.lock(stripe);
        let recording = scope.spawn(|| table.record_events(EventOverflow::Keep));
        while !table.is_recording_events() {
            std::thread::yield_now();
        }
        put(number, 1);
        let taking = scope.spawn(|| {
            let events = taken(&table);
            // The receiver may have gone on.
            let _ = done.send(());
            events
        });
        // Whoever takes events is to wait. The time limits how long a fault may go unnoticed.
        let _ = is_done.recv_timeout(Duration::from_millis(100));
        put(number, 2);
        drop(held);
        recording.join().unwrap();
        taking.join().unwrap()
    });
    // A listener copies the leases once the recording has begun.
    let mut leases = leases_of(&table);
    for event in events.iter().chain(&taken(&table)) {
        match &event.after {
            Some(lease) => leases.insert(F::number(event.address), lease.clone()),
            None => leases.remove(&F::number(event.address)),
        };
    }
    assert_eq!(leases, leases_of(&table));
}
