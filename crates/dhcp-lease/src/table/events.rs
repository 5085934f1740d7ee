//! Events that the lease table records, if anybody asks for them; see [`crate::event`].
//!
//! Each stripe has the events of its slots. Whoever takes events looks up which stripes have some,
//! and locks those.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Now;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::stripe::Locked;
use super::table_family::{FamilySlotFields, TableFamily};
use crate::event::{
    Answer, EventCause, EventRef, ExchangeCell, ExchangeDetail, LeaseEventKind, OrderedEvent,
    RecordedEvent,
};
use crate::lease::{Lease, LeaseState};

/// Treatment of events that nobody takes in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOverflow {
    /// Keep every event: whoever changes leases waits for those that take the events.
    Keep,
    /// Drop and count further events when this number of them has not been taken.
    DropAbove(usize),
}

/// State of the table's recording of events.
#[derive(Debug, Default)]
pub(super) struct EventRecording {
    is_recording: AtomicBool,
    /// Number of the [`ExchangeDetail`] of the exchanges that cause events.
    exchange_detail: AtomicU8,
    /// True if answers without a change of a lease are recorded also.
    is_recording_answers: AtomicBool,
    /// Position of the next event, or of the next end of an exchange, in the order of both.
    next_order: AtomicU64,
    /// Number of recorded events that were not taken.
    waiting: AtomicUsize,
    /// Largest number of waiting events.
    waiting_max: AtomicUsize,
    dropped: AtomicU64,
    stripes_with_events: StripeSet,
    /// Lock of those that take events, and of the beginning of the recording: without it an event
    /// could be taken whose later ones are discarded.
    taking: Mutex<()>,
}

/// Set of stripes, which several threads change.
#[derive(Debug, Default)]
struct StripeSet([AtomicU64; STRIPES / 64]);

impl StripeSet {
    fn insert(&self, stripe: usize) {
        let (word, bit) = (&self.0[stripe / 64], 1 << (stripe % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Release);
        }
    }

    fn remove(&self, stripe: usize) {
        self.0[stripe / 64].fetch_and(!(1 << (stripe % 64)), Ordering::Release);
    }

    /// Calls `visit` with each stripe of the set in ascending order.
    fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (first_stripe, word) in (0..).step_by(64).zip(&self.0) {
            let mut bits = word.load(Ordering::Acquire);
            while bits != 0 {
                visit(first_stripe + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

impl EventRecording {
    fn lock_taking(&self) -> MutexGuard<'_, ()> {
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position of an event that happens now; `None` if too many have not been taken,
    /// so that this one is dropped.
    fn admit(&self) -> Option<u64> {
        let waiting_max = self.waiting_max.load(Ordering::Relaxed);
        if self.waiting.load(Ordering::Relaxed) >= waiting_max {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Some(self.take_order())
    }

    /// Returns the position of an event, or of the end of an exchange, that happens now. Events of
    /// a client have ascending positions, as its exchanges do not overlap.
    fn take_order(&self) -> u64 {
        self.next_order.fetch_add(1, Ordering::AcqRel)
    }
}

/// Number of events that one allocation has at least, unless no more were taken. A listener that
/// keeps one event keeps all of its allocation.
const BATCH_MIN: usize = 256;

/// Number of events for which a stripe keeps memory after they were taken.
const STRIPE_EVENTS_KEPT: usize = 16;

/// Exchanges that were found incomplete during one call. If one is completed meanwhile, its events
/// in later stripes stay behind, too, so that they come by one call.
#[derive(Default)]
pub(super) struct IncompleteExchanges(Vec<*const ExchangeCell>);

impl IncompleteExchanges {
    /// Returns true if `waiting` may be taken within `limit`.
    pub(super) fn is_ready<F: TableFamily>(
        &mut self,
        waiting: &OrderedEvent<F>,
        limit: EventLimit,
    ) -> bool {
        let event = &waiting.event;
        if waiting.order >= limit.order || event.row_epoch > limit.settled_epoch {
            return false;
        }
        let Some(exchange) = &event.exchange else { return true };
        // The event keeps its exchange, so that the address is that of no other one.
        let address = Arc::as_ptr(exchange);
        let is_complete = !self.0.contains(&address) && exchange.is_complete_at(limit.order);
        if !is_complete {
            self.0.push(address);
        }
        is_complete
    }
}

/// Events that one call takes, in the order of their stripes.
struct EventBatches<F: TableFamily> {
    full: Vec<Vec<OrderedEvent<F>>>,
    current: Vec<OrderedEvent<F>>,
    incomplete: IncompleteExchanges,
}

impl<F: TableFamily> Default for EventBatches<F> {
    fn default() -> Self {
        Self { full: Vec::new(), current: Vec::new(), incomplete: IncompleteExchanges::default() }
    }
}

impl<F: TableFamily> EventBatches<F> {
    /// Returns the batch to which the events of the next stripe are added.
    fn current(&mut self) -> &mut Vec<OrderedEvent<F>> {
        if self.current.len() >= BATCH_MIN {
            self.full.push(core::mem::take(&mut self.current));
        }
        &mut self.current
    }

    /// Adds references to all events to `events`, in the order of the events.
    fn move_to(self, events: &mut Vec<EventRef<F>>) {
        if self.full.is_empty() {
            let first = events.len();
            EventRef::add_all(self.current, events);
            events[first..].sort_unstable_by_key(EventRef::order);
            return;
        }
        // The feed drops events in their order, so each batch has those of one part of it.
        let batches = self.full.into_iter().chain([self.current]);
        let mut all: Vec<OrderedEvent<F>> = batches.flatten().collect();
        all.sort_unstable_by_key(|ordered| ordered.order);
        let mut rest = all.into_iter();
        while !rest.as_slice().is_empty() {
            EventRef::add_all(rest.by_ref().take(BATCH_MIN).collect(), events);
        }
    }
}

/// Limit of the events that one call takes.
#[derive(Clone, Copy)]
pub(super) struct EventLimit {
    pub(super) settled_epoch: u64,
    /// Position before which an event must have been recorded, and its exchange completed: so a
    /// call takes all events of an exchange or none, and no event of a client without the earlier
    /// ones.
    pub(super) order: u64,
}

impl<F: TableFamily> LeaseTable<F> {
    /// Begins to record events of leases: changes after the call are recorded, and none of which
    /// only the end was seen. Of the events of an address during the call, either all can be taken
    /// or none. If events are recorded already, only `overflow` changes.
    pub fn record_events(&self, overflow: EventOverflow) {
        let waiting_max = match overflow {
            EventOverflow::Keep => usize::MAX,
            EventOverflow::DropAbove(count) => count,
        };
        self.events.waiting_max.store(waiting_max, Ordering::Relaxed);
        let _taking = self.events.lock_taking();
        if !self.events.is_recording.swap(true, Ordering::AcqRel) {
            // A change that was under way has not recorded the lease before it.
            (0..STRIPES).for_each(|stripe| self.lock(stripe).discard_events());
        }
    }

    /// Returns the treatment of events that nobody takes in time.
    #[must_use]
    pub fn event_overflow(&self) -> EventOverflow {
        match self.events.waiting_max.load(Ordering::Relaxed) {
            usize::MAX => EventOverflow::Keep,
            count => EventOverflow::DropAbove(count),
        }
    }

    /// Ends the recording of events. Those recorded so far can still be taken.
    pub fn stop_recording_events(&self) {
        self.events.is_recording.store(false, Ordering::Release);
    }

    /// Records exchanges that cause events at least in `detail`, as long as events are recorded.
    /// Without their messages and replies an event costs much less.
    pub fn record_exchanges(&self, detail: ExchangeDetail) {
        self.events.exchange_detail.fetch_max(detail as u8, Ordering::AcqRel);
    }

    /// Ends the recording of exchanges.
    pub fn stop_recording_exchanges(&self) {
        self.events.exchange_detail.store(ExchangeDetail::None as u8, Ordering::Release);
    }

    /// Returns the detail in which exchanges that cause events are recorded.
    #[must_use]
    pub fn exchange_detail(&self) -> ExchangeDetail {
        if !self.is_recording_events() {
            return ExchangeDetail::None;
        }
        ExchangeDetail::from_number(self.events.exchange_detail.load(Ordering::Relaxed))
    }

    /// Begins or ends to record answers that change no lease, as long as events are recorded.
    pub fn record_answers(&self, is_wanted: bool) {
        self.events.is_recording_answers.store(is_wanted, Ordering::Release);
    }

    /// Returns true if answers that change no lease are recorded.
    #[must_use]
    pub fn is_recording_answers(&self) -> bool {
        self.is_recording_events() && self.events.is_recording_answers.load(Ordering::Relaxed)
    }

    /// Returns the position of the end of an exchange, for
    /// [`ExchangeOwner::complete`](crate::ExchangeOwner::complete).
    #[must_use]
    pub fn take_event_order(&self) -> u64 {
        self.events.take_order()
    }

    /// Records `answer`, which belongs to `exchange`, if answers are recorded and its lease, if it
    /// has one, is the client's.
    pub fn record_answer(
        &self,
        now: Now,
        answer: &Answer<'_, F>,
        exchange: Option<&Arc<ExchangeCell>>,
    ) {
        if !self.is_recording_answers() {
            return;
        }
        let wall_s = self.check_clock(now).now.wall_s();
        let slot_number = self.slot_number_of(answer.address);
        let mut stripe = slot_number.map_or_else(|| self.lock(0), |number| self.lock_of(number));
        let mut event = RecordedEvent {
            kind: LeaseEventKind::Answered,
            address: answer.address,
            before: None,
            after: None,
            row_epoch: answer.row_epoch,
            exchange: exchange.cloned(),
        };
        if let Some(lease) = &answer.lease {
            let Some(id) = slot_number.and_then(|number| stripe.find(number)) else { return };
            if !stripe.slot(id).is_owned_by(&lease.identity) {
                return;
            }
            let Some(before) = stripe.recorded_lease(id) else { return };
            let mut client = F::SlotFields::default();
            client.settle_at(answer.address);
            client.remember(&lease.identity);
            event.after = Some(lease.written(&before, client.client().clone(), wall_s));
            event.before = Some(before);
        }
        stripe.push_event(event);
    }

    /// Records that a command asks for the names of the lease of `address` to be added to DNS
    /// again, if there is such a lease and events are recorded. The event comes after those of the
    /// changes so far, so that the names are those of the last change.
    pub fn record_names_request(&self, address: F::Address) {
        let slot_number = self.slot_number_of(address);
        let Some(slot_number) = slot_number.filter(|_| self.is_recording_events()) else { return };
        let mut stripe = self.lock_of(slot_number);
        let id = stripe.find(slot_number);
        let Some(lease) = id.and_then(|id| stripe.recorded_lease(id)) else { return };
        stripe.push_event(RecordedEvent {
            kind: LeaseEventKind::NamesRequested,
            address,
            before: None,
            after: Some(lease),
            row_epoch: 0,
            exchange: None,
        });
    }

    /// Returns true if events of leases are recorded.
    #[must_use]
    pub fn is_recording_events(&self) -> bool {
        self.events.is_recording.load(Ordering::Relaxed)
    }

    /// Returns the number of recorded events that have not been taken.
    #[must_use]
    pub fn waiting_events(&self) -> usize {
        self.events.waiting.load(Ordering::Relaxed)
    }

    /// Returns true if an event that was recorded before `order`, a result of
    /// [`LeaseTable::take_event_order`], has not been taken.
    #[must_use]
    pub fn has_events_before(&self, order: u64) -> bool {
        let mut is_any = false;
        self.events.stripes_with_events.for_each(|stripe| {
            let stripe = self.lock(stripe);
            is_any |= stripe.state.events.iter().any(|waiting| waiting.order < order);
        });
        is_any
    }

    /// Returns the number of events that were dropped since the last call, because too many had not
    /// been taken.
    #[must_use]
    pub fn take_dropped_events(&self) -> u64 {
        self.events.dropped.swap(0, Ordering::Relaxed)
    }

    /// Moves the events whose rows are settled at `settled_epoch`, and whose exchanges are
    /// complete, to `events`. Events of an address are in the order of its changes, and those of a
    /// client in the order of its messages, also over several calls. The events of an exchange come
    /// by the same call. Returns the highest epoch, at most `settled_epoch`, of whose rows no event
    /// stays behind.
    pub fn take_events(&self, settled_epoch: u64, events: &mut Vec<EventRef<F>>) -> u64 {
        let _taking = self.events.lock_taking();
        let limit =
            EventLimit { settled_epoch, order: self.events.next_order.load(Ordering::Acquire) };
        let mut batches = EventBatches::default();
        let mut complete_epoch = settled_epoch;
        self.events.stripes_with_events.for_each(|stripe| {
            let oldest_epoch = self.lock(stripe).take_events(limit, &mut batches);
            complete_epoch = complete_epoch.min(oldest_epoch.saturating_sub(1));
        });
        let count = events.len();
        batches.move_to(events);
        self.events.waiting.fetch_sub(events.len() - count, Ordering::Relaxed);
        complete_epoch
    }
}

impl<F: TableFamily> Locked<'_, F> {
    /// Drops the events that were not taken.
    fn discard_events(&mut self) {
        let count = core::mem::take(&mut self.state.events).len();
        self.table.events.waiting.fetch_sub(count, Ordering::Relaxed);
        self.table.events.stripes_with_events.remove(self.number);
    }

    /// Moves ready events to `batches`. Returns the lowest row epoch of those that stay, `u64::MAX`
    /// if none stays.
    #[inline]
    fn take_events(&mut self, limit: EventLimit, batches: &mut EventBatches<F>) -> u64 {
        let incomplete = &mut batches.incomplete;
        if self.state.events.iter().all(|waiting| incomplete.is_ready(waiting, limit)) {
            batches.current().append(&mut self.state.events);
            if self.state.events.capacity() > STRIPE_EVENTS_KEPT {
                self.state.events = Vec::new();
            }
            self.table.events.stripes_with_events.remove(self.number);
            return u64::MAX;
        }
        let all = core::mem::take(&mut self.state.events);
        let mut kept: Vec<OrderedEvent<F>> = Vec::new();
        for waiting in all {
            // An event stays behind the earlier events of its address.
            let is_behind =
                |earlier: &OrderedEvent<F>| earlier.event.address == waiting.event.address;
            if batches.incomplete.is_ready(&waiting, limit) && !kept.iter().any(is_behind) {
                batches.current().push(waiting);
            } else {
                kept.push(waiting);
            }
        }
        if kept.is_empty() {
            self.table.events.stripes_with_events.remove(self.number);
        }
        let epochs = kept.iter().map(|waiting| waiting.event.row_epoch);
        let oldest_epoch = epochs.min().unwrap_or(u64::MAX);
        self.state.events = kept;
        oldest_epoch
    }

    /// Returns the lease in slot `id` that operators see, if events are recorded or another server
    /// copies the leases.
    pub(super) fn recorded_lease(&self, id: u32) -> Option<Lease<F>> {
        if !self.table.is_recording_events() && !self.table.changed.is_noting() {
            return None;
        }
        let slot = self.slot(id);
        let state = slot.shown_state().filter(|_| slot.version != 0)?;
        Some(slot.row(state).to_lease())
    }

    /// Records that the lease of slot `id` was changed from `before` to its row in the state
    /// `after`, `None` without a lease, if events are recorded or another server copies the leases.
    pub(super) fn record(
        &mut self,
        id: u32,
        kind: LeaseEventKind,
        before: Option<Lease<F>>,
        after: Option<LeaseState>,
        cause: EventCause<'_>,
    ) {
        let (is_recording, changed) = (self.table.is_recording_events(), &self.table.changed);
        let is_noting = changed.is_noting();
        if !is_recording && !is_noting {
            return;
        }
        if is_noting {
            let slot = self.slot(id);
            let after = after.map(|state| slot.row(state).to_lease());
            changed.note(slot.address(), before.as_ref(), after.as_ref());
        }
        if !is_recording {
            return;
        }
        let Some(order) = self.table.events.admit() else { return };
        let state = &mut *self.state;
        let slot = state.slots.get(id);
        // Not by `push_event`, so that the event is made where it stays.
        state.events.push(OrderedEvent {
            order,
            event: RecordedEvent {
                kind,
                address: slot.address(),
                before,
                after: after.map(|state| slot.row(state).to_lease()),
                row_epoch: cause.row_epoch,
                exchange: cause.exchange.cloned(),
            },
        });
        self.table.events.stripes_with_events.insert(self.number);
    }

    /// Notes for another server that copies the leases that the lease of slot `id`, which was
    /// `before`, is that of a shared database now.
    pub(super) fn note_correction(&self, id: u32, before: Option<&Lease<F>>) {
        let changed = &self.table.changed;
        if changed.is_noting() {
            let after = self.recorded_lease(id);
            changed.note(self.slot(id).address(), before, after.as_ref());
        }
    }

    /// Records that the lease of slot `id`, which was `before` by the events so far, is that of a
    /// shared database now, if events are recorded. The row is in the database already, so the
    /// event waits for nothing but the earlier events of its address.
    pub(super) fn record_correction(&mut self, id: u32, before: Option<Lease<F>>) {
        let after = self.recorded_lease(id);
        if before == after || !self.table.is_recording_events() {
            return;
        }
        let address = self.slot(id).address();
        let kind = LeaseEventKind::Corrected;
        self.push_event(RecordedEvent {
            kind,
            address,
            before,
            after,
            row_epoch: 0,
            exchange: None,
        });
    }

    /// Drops the events of the row of `address` in `row_epoch`, which a database has refused, and
    /// later ones of the address, which follow from that row. Returns the first one that is a
    /// change.
    pub(super) fn discard_refused(
        &mut self,
        address: F::Address,
        row_epoch: u64,
    ) -> Option<RecordedEvent<F>> {
        let mut is_refused = false;
        let count = self.state.events.len();
        let discard = |OrderedEvent { event, .. }: &mut OrderedEvent<F>| {
            is_refused |= event.address == address && event.row_epoch == row_epoch;
            is_refused && event.address == address
        };
        let events = self.state.events.extract_if(.., discard).map(|ordered| ordered.event);
        let first =
            events.fold(None, |first, event| first.or_else(|| event.is_change().then_some(event)));
        let discarded = count - self.state.events.len();
        self.table.events.waiting.fetch_sub(discarded, Ordering::Relaxed);
        first
    }

    /// Adds `event` to the stripe's events, unless too many have not been taken.
    fn push_event(&mut self, event: RecordedEvent<F>) {
        let recording = &self.table.events;
        if let Some(order) = recording.admit() {
            self.state.events.push(OrderedEvent { order, event });
            recording.stripes_with_events.insert(self.number);
        }
    }
}
