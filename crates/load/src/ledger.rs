//! Counts of how the exchanges of a run ended, and the verdict on the generator.

use base::Histogram;
use base::time::{NS_PER_MS, NS_PER_S};

use crate::backlog::QueuedExchangeCounter;

base::named! {
    /// Class of an exchange by its end. Every exchange that came due ends in exactly one class;
    /// where several would fit, the first event that decides sets the class, except for
    /// [`ExchangeClass::DuplicateAnswered`]. Names are the fields of records.
    pub enum ExchangeClass {
        /// The exchange was complete within the deadline, counted from its due time, with exactly
        /// one reply per message sent.
        OnTime = "on_time",
        /// An expected reply came, but after the deadline, and while the exchange was still
        /// watched. The exchange ends there, at any stage: the generator sends nothing more for it.
        Late = "late",
        /// No expected reply came while the exchange was watched; also an exchange that was never
        /// sent.
        Lost = "lost",
        /// The server refused: a DHCPNAK, a DHCPv6 status, or a DNS response code other than
        /// NOERROR and NXDOMAIN.
        Nak = "nak",
        /// A reply broke the protocol: it carried the exchange's identifier and the right client,
        /// but not the content that a reply must carry at that stage.
        Invalid = "invalid",
        /// A reply carried the exchange's identifier and another client's identity.
        WrongClient = "wrong_client",
        /// The exchange would have been on time, but a message of it had more than one reply while
        /// the exchange was watched. This is the only class that a later event can set; an exchange
        /// of any other class keeps it, however many further replies come.
        DuplicateAnswered = "duplicate_answered",
    }
}

/// Delay after its due time, in nanoseconds, beyond which an exchange's first message is a late
/// send: 10 ms, half a percent of the deadline of 2 s. On shared machines a thread is often woken
/// some milliseconds late; a generator that cannot keep up is soon seconds late.
pub const LATE_SEND_NS: u64 = 10 * NS_PER_MS;
/// Share of exchanges that were late sends above which the generator, not the server, limited the
/// result: 1 %.
pub const LATE_SEND_SHARE: f64 = 0.01;
/// Share of exchanges that the generator's own sockets dropped, or that it did not send, above
/// which the generator, not the server, limited the result: 0.01 %.
pub const OWN_LOSS_SHARE: f64 = 0.0001;
/// Largest latency that the histograms resolve, in nanoseconds: 100 s.
pub const LATENCY_LIMIT_NS: u64 = 100 * NS_PER_S;

/// Health of the load generator: losses at its own sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Number of datagrams that the kernel dropped at the generator's own sockets.
    pub socket_drops: u64,
    /// Number of messages of any kind that the kernel refused for good.
    pub sends_refused: u64,
}

/// Verdict on whether the generator or the server set the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GeneratorVerdict {
    /// Verdict on a generator that kept its schedule and lost nothing itself.
    Sound,
    /// Verdict that the figures describe the generator, not the server; each reason names the
    /// threshold that the generator broke.
    GeneratorLimited(Vec<String>),
}

/// Ledger of one generator thread: outcomes, latencies and late sends of its exchanges. Ledgers of
/// several threads add up.
#[derive(Clone, Debug)]
pub struct ExchangeLedger {
    due: u64,
    sent: u64,
    ended: [u64; ExchangeClass::ALL.len()],
    latency_due: Histogram,
    latency_sent: Histogram,
    backlog: QueuedExchangeCounter,
    late_sends: u64,
    late_send_max_ns: u64,
}

impl Default for ExchangeLedger {
    fn default() -> Self {
        Self {
            due: 0,
            sent: 0,
            ended: [0; ExchangeClass::ALL.len()],
            latency_due: Histogram::up_to(LATENCY_LIMIT_NS),
            latency_sent: Histogram::up_to(LATENCY_LIMIT_NS),
            backlog: QueuedExchangeCounter::default(),
            late_sends: 0,
            late_send_max_ns: 0,
        }
    }
}

/// Parts of an [`ExchangeLedger`] that another process kept, with the values of its methods.
#[derive(Clone, Debug)]
pub struct LedgerParts {
    /// Number of exchanges that came due, as [`ExchangeLedger::due`].
    pub due: u64,
    /// Number of exchanges whose first message was sent.
    pub sent: u64,
    /// Number of exchanges of each class, as [`ExchangeLedger::count`], by
    /// [`ExchangeClass::index`].
    pub ended: [u64; ExchangeClass::ALL.len()],
    /// Latencies from the due time in nanoseconds, as [`ExchangeLedger::latency_due`].
    pub latency_due: Histogram,
    /// Latencies from the sending in nanoseconds, as [`ExchangeLedger::latency_sent`].
    pub latency_sent: Histogram,
    /// Time at which the newest exchange left in nanoseconds, as [`ExchangeLedger::last_sent_ns`].
    pub last_sent_ns: u64,
    /// Number of exchanges that were queued too long, as [`ExchangeLedger::queued_too_long`].
    pub queued_too_long: u64,
    /// Number of first messages that left late, as [`ExchangeLedger::late_sends`].
    pub late_sends: u64,
    /// Longest delay of a first message in nanoseconds, as [`ExchangeLedger::late_send_max_ns`].
    pub late_send_max_ns: u64,
}

impl ExchangeLedger {
    /// Creates a ledger of these parts; returns `None` when they contradict each other.
    pub fn from_parts(parts: LedgerParts) -> Option<Self> {
        let LedgerParts {
            due,
            sent,
            ended,
            latency_due,
            latency_sent,
            last_sent_ns: left_ns,
            queued_too_long: behind,
            ..
        } = parts;
        let (late_sends, late_send_max_ns) = (parts.late_sends, parts.late_send_max_ns);
        let ends = ended.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count))?;
        let completed = ended[ExchangeClass::OnTime.index()]
            .checked_add(ended[ExchangeClass::DuplicateAnswered.index()])?;
        let answered = completed.checked_add(ended[ExchangeClass::Late.index()])?;
        let is_sound = ends <= due
            && sent <= due
            && late_sends <= sent
            && behind <= completed
            && [&latency_due, &latency_sent]
                .into_iter()
                .all(|latency| latency.limit() == LATENCY_LIMIT_NS && latency.count() == answered);
        is_sound.then_some(Self {
            due,
            sent,
            ended,
            latency_due,
            latency_sent,
            backlog: QueuedExchangeCounter::from_totals(left_ns, behind),
            late_sends,
            late_send_max_ns,
        })
    }

    /// Counts an exchange that came due.
    pub const fn record_due(&mut self) {
        self.due += 1;
    }

    /// Notes that the first message of an exchange due at `due_ns` left at `sent_ns`.
    pub fn record_sent(&mut self, due_ns: u64, sent_ns: u64) {
        self.sent += 1;
        let late_ns = sent_ns.saturating_sub(due_ns);
        self.late_send_max_ns = self.late_send_max_ns.max(late_ns);
        self.late_sends += u64::from(late_ns > LATE_SEND_NS);
        self.backlog.record_sent(sent_ns);
    }

    /// Notes the latency of an exchange completed within its deadline. The histograms hold these
    /// latencies and those of [`ExchangeLedger::record_completed_late`].
    pub fn record_completed(&mut self, due_ns: u64, sent_ns: u64, answered_ns: u64) {
        self.record_completed_late(due_ns, sent_ns, answered_ns);
        self.backlog.record_completed(sent_ns, answered_ns);
    }

    /// Notes the latency of an exchange that ended as [`ExchangeClass::Late`]. A distribution
    /// without the late exchanges would describe only those that were quick enough.
    pub fn record_completed_late(&mut self, due_ns: u64, sent_ns: u64, answered_ns: u64) {
        self.latency_due.record(answered_ns.saturating_sub(due_ns));
        self.latency_sent.record(answered_ns.saturating_sub(sent_ns));
    }

    /// Notes the end of an exchange in `class`. Call it exactly once for each that came due.
    pub fn record_end(&mut self, class: ExchangeClass) {
        self.ended[class.index()] += 1;
        debug_assert!(self.ended.iter().sum::<u64>() <= self.due, "more ends than exchanges");
    }

    /// Adds the counts and latencies of another thread's ledger.
    pub fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        for (mine, theirs) in self.ended.iter_mut().zip(other.ended) {
            *mine += theirs;
        }
        self.latency_due.merge(&other.latency_due);
        self.latency_sent.merge(&other.latency_sent);
        self.backlog.merge(&other.backlog);
        self.late_sends += other.late_sends;
        self.late_send_max_ns = self.late_send_max_ns.max(other.late_send_max_ns);
    }

    /// Returns the number of exchanges that came due.
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// Returns the number of exchanges whose first message left.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the time at which the newest exchange left, in nanoseconds of the monotonic clock; 0
    /// when none did.
    pub const fn last_sent_ns(&self) -> u64 {
        self.backlog.last_sent_ns()
    }

    /// Returns the number of exchanges completed within the deadline, but so long after the last
    /// one left that they show a queue that grew; see [`QueuedExchangeCounter`].
    pub const fn queued_too_long(&self) -> u64 {
        self.backlog.queued_too_long()
    }

    /// Returns the number of exchanges that ended in `class`.
    pub const fn count(&self, class: ExchangeClass) -> u64 {
        self.ended[class.index()]
    }

    /// Returns the number of exchanges that came due and have not ended.
    pub fn in_flight(&self) -> u64 {
        self.due - self.ended.iter().sum::<u64>()
    }

    /// Returns the latencies of exchanges in nanoseconds from the due time to the last reply.
    pub const fn latency_due(&self) -> &Histogram {
        &self.latency_due
    }

    /// Returns the latencies of exchanges in nanoseconds from the real sending to the last reply.
    pub const fn latency_sent(&self) -> &Histogram {
        &self.latency_sent
    }

    /// Returns the number of first messages that left more than [`LATE_SEND_NS`] after they were
    /// due.
    pub const fn late_sends(&self) -> u64 {
        self.late_sends
    }

    /// Returns the longest time after its due time at which a first message left, in nanoseconds.
    pub const fn late_send_max_ns(&self) -> u64 {
        self.late_send_max_ns
    }

    /// Returns the verdict whether the generator limited the result, by the fixed thresholds
    /// [`LATE_SEND_SHARE`] and [`OWN_LOSS_SHARE`] and the health of its sockets.
    #[must_use]
    pub fn verdict(&self, health: Health) -> GeneratorVerdict {
        let share = |count: u64| count as f64 / self.due.max(1) as f64;
        let percent = |count: u64| 100.0 * share(count);
        let unsent = self.due - self.sent;
        let mut reasons = Vec::new();
        if share(self.late_sends) > LATE_SEND_SHARE {
            reasons.push(format!(
                "{:.2} % of the exchanges left more than {} ms after they were due (limit {} %)",
                percent(self.late_sends),
                LATE_SEND_NS / NS_PER_MS,
                100.0 * LATE_SEND_SHARE
            ));
        }
        let own = [
            (health.socket_drops, "datagrams dropped at the generator's own socket"),
            (unsent, "exchanges not sent"),
            (health.sends_refused, "sends refused by the kernel"),
        ];
        for (count, what) in own {
            if share(count) > OWN_LOSS_SHARE {
                let limit = 100.0 * OWN_LOSS_SHARE;
                let percent = percent(count);
                reasons.push(format!("{count} {what}: {percent:.3} % (limit {limit} %)"));
            }
        }
        if reasons.is_empty() {
            GeneratorVerdict::Sound
        } else {
            GeneratorVerdict::GeneratorLimited(reasons)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(due: u64, sent: u64, late: u64) -> ExchangeLedger {
        let mut ledger = ExchangeLedger::default();
        for number in 0..due {
            ledger.record_due();
            if number < sent {
                ledger.record_sent(1_000, 1_000 + LATE_SEND_NS + u64::from(number < late));
            }
            ledger.record_end(if number < sent {
                ExchangeClass::OnTime
            } else {
                ExchangeClass::Lost
            });
        }
        ledger
    }

    fn is_limited(ledger: &ExchangeLedger, health: Health) -> bool {
        ledger.verdict(health) != GeneratorVerdict::Sound
    }

    #[test]
    fn indexes_follow_the_list_and_names_differ() {
        let mut names: Vec<_> = ExchangeClass::ALL.map(ExchangeClass::name).to_vec();
        for (index, class) in ExchangeClass::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), index);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ExchangeClass::ALL.len());
    }

    #[test]
    fn late_answers_are_in_the_latencies_and_never_behind() {
        let mut ledger = ExchangeLedger::default();
        for number in 0..10 {
            ledger.record_due();
            ledger.record_sent(number, number);
        }
        for number in 0..10 {
            ledger.record_completed_late(number, number, number + 2 * NS_PER_S);
            ledger.record_end(ExchangeClass::Late);
        }
        assert_eq!((ledger.latency_due().count(), ledger.latency_sent().count()), (10, 10));
        assert!(ledger.latency_due().quantile(0.5).unwrap() >= 2 * NS_PER_S, "all were late");
        assert_eq!(ledger.queued_too_long(), 0);
    }

    #[test]
    fn a_late_send_is_later_than_ten_milliseconds_and_one_percent_of_them_is_still_sound() {
        let healthy = Health::default();
        assert_eq!(of(1_000, 1_000, 0).late_sends(), 0);
        let edge = of(1_000, 1_000, 10);
        assert_eq!((edge.late_sends(), edge.late_send_max_ns()), (10, LATE_SEND_NS + 1));
        assert!(!is_limited(&edge, healthy));
        assert!(is_limited(&of(1_000, 1_000, 11), healthy));
    }

    #[test]
    fn own_losses_limit_beyond_one_in_ten_thousand() {
        let sound = of(20_000, 20_000, 0);
        for (count, limited) in [(2, false), (3, true)] {
            let drops = Health { socket_drops: count, ..Health::default() };
            let refused = Health { sends_refused: count, ..Health::default() };
            assert_eq!(is_limited(&sound, drops), limited);
            assert_eq!(is_limited(&sound, refused), limited);
            assert_eq!(is_limited(&of(20_000, 20_000 - count, 0), Health::default()), limited);
        }
        let GeneratorVerdict::GeneratorLimited(reasons) =
            of(100, 50, 50).verdict(Health { socket_drops: 1, sends_refused: 1 })
        else {
            panic!("half of it was not sent")
        };
        assert_eq!(reasons.len(), 4, "{reasons:?}");
        assert_eq!(ExchangeLedger::default().verdict(Health::default()), GeneratorVerdict::Sound);
    }

    #[test]
    fn parts_make_the_same_ledger_or_none() {
        let whole = of(100, 90, 7);
        let parts = || LedgerParts {
            due: whole.due(),
            sent: whole.sent(),
            ended: ExchangeClass::ALL
                .map(|class| if class == ExchangeClass::Lost { 10 } else { 0 }),
            latency_due: whole.latency_due().clone(),
            latency_sent: whole.latency_sent().clone(),
            last_sent_ns: 0,
            queued_too_long: 0,
            late_sends: whole.late_sends(),
            late_send_max_ns: whole.late_send_max_ns(),
        };
        let restored = ExchangeLedger::from_parts(parts()).unwrap();
        assert_eq!((restored.due(), restored.sent(), restored.late_sends()), (100, 90, 7));
        assert_eq!((restored.count(ExchangeClass::Lost), restored.in_flight()), (10, 90));
        assert_eq!(restored.late_send_max_ns(), whole.late_send_max_ns());
        for wrong in [
            LedgerParts { due: 9, sent: 9, late_sends: 0, ..parts() },
            LedgerParts { sent: 101, ..parts() },
            LedgerParts { late_sends: 91, ..parts() },
            LedgerParts { ended: [1; ExchangeClass::ALL.len()], ..parts() },
            LedgerParts { latency_sent: Histogram::up_to(1), ..parts() },
        ] {
            assert!(ExchangeLedger::from_parts(wrong).is_none());
        }
    }

    #[test]
    fn every_exchange_is_in_flight_until_it_ends_and_threads_add_up() {
        let mut whole = ExchangeLedger::default();
        for (index, class) in ExchangeClass::ALL.into_iter().enumerate() {
            let mut ledger = ExchangeLedger::default();
            for _ in 0..=index {
                ledger.record_due();
                ledger.record_sent(0, index as u64);
                assert_eq!(ledger.in_flight(), 1);
                ledger.record_end(class);
                assert_eq!(ledger.in_flight(), 0);
            }
            ledger.record_completed(10, 20, 100 + index as u64);
            whole.merge(&ledger);
        }
        assert_eq!((whole.due(), whole.sent(), whole.in_flight()), (28, 28, 0));
        assert_eq!(ExchangeClass::ALL.map(|class| whole.count(class)), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(whole.late_send_max_ns(), 6);
        assert_eq!(whole.latency_due().count(), 7);
        assert_eq!((whole.latency_due().max(), whole.latency_sent().min()), (Some(96), Some(80)));
    }
}
