//! Events of leases: each change of a lease with the lease before and after it, and the message
//! that caused it.
//!
//! The lease table records an event under the lock of the slot that changes, so that the events of
//! an address are in the order of its rows. An event can be taken once its row is as durable as the
//! store promises. Recording is off unless somebody asks for it; then it costs one look at a flag
//! for each logged change. Exchanges that the server answers without a change of a lease are
//! recorded only for listeners that ask for them also.

use core::fmt;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use crate::family::Family;
use crate::lease::{Lease, LeaseTerms};

base::named! {
    /// Kind of change of a lease.
    pub enum LeaseEventKind {
        /// Lease that a client did not have before.
        Allocated = "allocated",
        /// Lease that its client has extended.
        Renewed = "renewed",
        /// Address that its client chose and registered (RFC 9686), for the first time or again.
        Registered = "registered",
        /// Lease that its client gave back.
        Released = "released",
        /// Address that its client found in use.
        Declined = "declined",
        /// Lease that had ended, or had been released, and that the server took back.
        Reclaimed = "reclaimed",
        /// Declined address whose probation is over.
        Recovered = "recovered",
        /// Reclaimed lease that the server no longer remembers.
        Forgotten = "forgotten",
        /// Lease that a command added.
        Added = "added",
        /// Lease that a command changed.
        Updated = "updated",
        /// Lease that a command deleted.
        Deleted = "deleted",
        /// Lease that another server has changed in a database which the servers share.
        Corrected = "corrected",
        /// Message that the server processed without a change of a lease.
        Answered = "answered",
        /// Command that asked for the names of a lease to be added to DNS again.
        NamesRequested = "names-requested",
    }
}

/// Detail in which the lease table records the exchanges that cause events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExchangeDetail {
    /// Events refer to no exchange.
    #[default]
    None,
    /// Events refer to their exchange, which has neither message nor reply: it shows which events
    /// belong together.
    Group,
    /// Events refer to their exchange with its message and its reply.
    Content,
}

impl ExchangeDetail {
    /// Returns the detail with the number `number`; the largest one for a number above all.
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Group,
            2.. => Self::Content,
        }
    }
}

/// Message and reply of the exchange that changed leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeRecord {
    /// Content of the client's message, in bytes: the UDP payload, with all relay levels.
    pub message: Box<[u8]>,
    /// Content of the reply, in bytes; empty if the message gets none.
    pub reply: Box<[u8]>,
    /// Ingress of the message.
    pub ingress: RecordedIngress,
    /// Wall-clock time at which the message was answered, in microseconds since 1970.
    pub wall_us: u64,
}

/// Addresses and interface with which a message was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedIngress {
    /// Source address and port of the message.
    pub source: SocketAddr,
    /// Address of the server that the message was sent to, or that the interface has.
    pub local: IpAddr,
    /// Index of the interface at which the message was received; 0 if it is unknown.
    pub interface: u32,
    /// True if the message was broadcast or multicast.
    pub is_multicast: bool,
    /// Hardware address that the frame was sent from, where the server knows it.
    pub mac: Option<[u8; 6]>,
}

/// Exchange of an event, which is complete only when the reply has been written: the leases are
/// changed before that.
#[derive(Debug, Default)]
pub struct ExchangeCell {
    record: OnceLock<Option<ExchangeRecord>>,
    /// Position at which the exchange was finished, in the order of the table's events.
    completed: AtomicU64,
    /// Wall-clock time at which the message was answered, in microseconds since 1970; 0 until then.
    wall_us: AtomicU64,
}

impl ExchangeCell {
    /// Returns true once the server has finished the exchange.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.record.get().is_some()
    }

    /// Returns true if the server had finished the exchange at position `order` of the events.
    pub(crate) fn is_complete_at(&self, order: u64) -> bool {
        self.is_complete() && self.completed.load(Ordering::Relaxed) < order
    }

    /// Returns the wall-clock time at which the message was answered, in microseconds since 1970;
    /// `None` until then, and if the server met an internal error before.
    #[must_use]
    pub fn answered_us(&self) -> Option<u64> {
        // `record` is set after the time.
        let wall_us = self.record.get().map(|_| self.wall_us.load(Ordering::Relaxed));
        wall_us.filter(|&wall_us| wall_us > 0)
    }

    /// Returns the message and the reply of the exchange; `None` until they are complete, if nobody
    /// wanted them ([`ExchangeDetail::Group`]), and if the server met an internal error before it
    /// had them.
    #[must_use]
    pub fn record(&self) -> Option<&ExchangeRecord> {
        self.record.get()?.as_ref()
    }
}

/// Owner of an [`ExchangeCell`], which completes it: with a record, or without one when it is
/// dropped.
#[derive(Debug, Default)]
pub struct ExchangeOwner(Arc<ExchangeCell>);

impl ExchangeOwner {
    /// Returns the cell for the events of the exchange.
    #[must_use]
    pub const fn cell(&self) -> &Arc<ExchangeCell> {
        &self.0
    }

    /// Returns true if an event refers to the exchange.
    #[must_use]
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Completes the exchange with `record` at position `order` of the table's events.
    pub fn complete(self, record: ExchangeRecord, order: u64) {
        self.0.completed.store(order, Ordering::Relaxed);
        self.0.wall_us.store(record.wall_us, Ordering::Relaxed);
        let _ = self.0.record.set(Some(record));
    }

    /// Completes the exchange, whose message was answered at `wall_us`, without its message and its
    /// reply, at position `order` of the table's events.
    pub fn complete_without_content(self, wall_us: u64, order: u64) {
        self.0.completed.store(order, Ordering::Relaxed);
        self.0.wall_us.store(wall_us, Ordering::Relaxed);
        let _ = self.0.record.set(None);
    }
}

impl Drop for ExchangeOwner {
    fn drop(&mut self) {
        let _ = self.0.record.set(None);
    }
}

/// Change of a lease as the lease table records it, without a number.
#[derive(Clone, Debug)]
pub struct RecordedEvent<F: Family> {
    /// Kind of the change.
    pub kind: LeaseEventKind,
    /// Address (or delegated prefix) of the lease.
    pub address: F::Address,
    /// Lease of the address before the change; `None` if it had none that the server remembered.
    pub before: Option<Lease<F>>,
    /// Lease of the address after the change; `None` if it has none.
    pub after: Option<Lease<F>>,
    /// Epoch of the change's row: the event may be taken when it is settled.
    pub row_epoch: u64,
    /// Exchange that caused the change; `None` for commands and for leases that ended in time.
    pub exchange: Option<Arc<ExchangeCell>>,
}

impl<F: Family> RecordedEvent<F> {
    /// Returns true if the event is a change of a lease, not only an answer or a request about one.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !matches!(self.kind, LeaseEventKind::Answered | LeaseEventKind::NamesRequested)
    }
}

/// Recorded event with its position among the table's events.
#[derive(Debug)]
pub(crate) struct OrderedEvent<F: Family> {
    pub(crate) order: u64,
    pub(crate) event: RecordedEvent<F>,
}

/// Reference to a recorded event that was taken from the table. The events that were taken together
/// share one allocation, which lasts as long as the last reference to any of them.
#[derive(Clone, Debug)]
pub struct EventRef<F: Family> {
    batch: Arc<Vec<OrderedEvent<F>>>,
    /// Index of the event in the batch, which never changes.
    at: u32,
}

impl<F: Family> EventRef<F> {
    /// Adds references to the events of `batch`, which share it, to `events`.
    pub(crate) fn add_all(batch: Vec<OrderedEvent<F>>, events: &mut Vec<Self>) {
        if batch.is_empty() {
            return;
        }
        events.reserve(batch.len());
        let batch = Arc::new(batch);
        for at in 0..batch.len() {
            events.push(Self { batch: Arc::clone(&batch), at: at as u32 });
        }
    }

    /// Returns the position of the event among the table's events.
    pub(crate) fn order(&self) -> u64 {
        // As in `deref`.
        self.batch[self.at as usize].order
    }
}

impl<F: Family> Deref for EventRef<F> {
    type Target = RecordedEvent<F>;

    fn deref(&self) -> &RecordedEvent<F> {
        // `at` is below the length of the batch, which nobody changes.
        &self.batch[self.at as usize].event
    }
}

impl<F: Family> From<RecordedEvent<F>> for EventRef<F> {
    fn from(event: RecordedEvent<F>) -> Self {
        Self { batch: Arc::new(vec![OrderedEvent { order: 0, event }]), at: 0 }
    }
}

/// Answer that changes no lease, for an event of the kind [`LeaseEventKind::Answered`].
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a, F: Family> {
    /// Address (or delegated prefix) that the answer is about; unspecified if it is about none.
    pub address: F::Address,
    /// Lease of the address that the reply repeats or offers; `None` if it does neither.
    pub lease: Option<AnsweredLease<'a, F>>,
    /// Epoch that the reply waits for; the event waits for it as well.
    pub row_epoch: u64,
}

/// Lease of a client that a reply repeats or offers without writing it.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredLease<'a, F: Family> {
    /// Client that the lease must belong to, or have belonged to last; else no event is recorded.
    pub identity: F::Identity<'a>,
    /// Terms that the client's lease would have if it were written now.
    pub terms: LeaseTerms<'a, F>,
}

impl<F: Family> AnsweredLease<'_, F> {
    /// Returns `lease` as it would be for `client` if it were written at `wall_s`. Its state stays.
    pub(crate) fn written(
        &self,
        lease: &Lease<F>,
        client: F::LeaseClient,
        wall_s: u64,
    ) -> Lease<F> {
        let terms = &self.terms;
        let keeps_context = terms.user_context.is_empty();
        Lease {
            address: lease.address,
            client,
            valid_lifetime_s: terms.valid_lifetime_s,
            cltt_s: wall_s,
            subnet_id: terms.subnet_id,
            pool_id: terms.pool_id,
            fqdn_fwd: terms.fqdn_fwd,
            fqdn_rev: terms.fqdn_rev,
            hostname: terms.hostname.into(),
            state: lease.state,
            user_context: if keeps_context {
                lease.user_context.clone()
            } else {
                terms.user_context.into()
            },
            extra: terms.extra,
        }
    }
}

/// Cause of changes of leases: the epoch of their rows and, if events are recorded, the exchange.
#[derive(Clone, Copy)]
pub(crate) struct EventCause<'c> {
    pub(crate) row_epoch: u64,
    pub(crate) exchange: Option<&'c Arc<ExchangeCell>>,
}

impl EventCause<'_> {
    /// Returns the cause of changes by a command or a sweep whose rows are of `row_epoch`.
    pub(crate) const fn internal(row_epoch: u64) -> Self {
        Self { row_epoch, exchange: None }
    }
}

impl fmt::Debug for EventCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCause").field("row_epoch", &self.row_epoch).finish_non_exhaustive()
    }
}
