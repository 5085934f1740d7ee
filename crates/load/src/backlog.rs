//! Count of exchanges that waited in a queue that grew while the generator offered exchanges.
//!
//! A queue that is long enough makes any rate look sustained until the queue is full: all exchanges
//! are complete in time, the last of them long after the offer's end. A server of rate C that is
//! offered more for a time T completes C × T in it, and later completions do not count. Exchanges
//! in flight at a server that keeps up do count: those within the duration of the quickest exchange
//! plus 1 % of the time in which exchanges left, so that the rate over a second or more is at most
//! 1 % too high.

use base::time::NS_PER_MS;

/// Divisor of the time in which exchanges left that gives the slack, the time by which the last
/// replies may be later than the quickest one: a hundredth.
const SLACK_PART: u64 = 100;
/// Least slack for replies, in nanoseconds: 10 ms, by which a thread is often woken late.
const SLACK_LEAST_NS: u64 = 10 * NS_PER_MS;
/// Most slack for replies, in nanoseconds: 50 ms, several times the queueing time at a server that
/// keeps up.
const SLACK_MOST_NS: u64 = 50 * NS_PER_MS;

/// Returns how much later than the quickest reply a reply may come, in nanoseconds, when exchanges
/// left for `offered_ns` nanoseconds.
pub(crate) fn slack_ns(offered_ns: u64) -> u64 {
    (offered_ns / SLACK_PART).clamp(SLACK_LEAST_NS, SLACK_MOST_NS)
}

/// Count of exchanges completed in time but queued too long: the reply came later after the
/// departure of the last exchange than the quickest exchange took and the slack together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedExchangeCounter {
    /// Time at which the first exchange left, in nanoseconds of the monotonic clock.
    first_left_ns: Option<u64>,
    /// Time at which the newest exchange left, in nanoseconds of the monotonic clock.
    left_ns: u64,
    /// Shortest time of an exchange from sending to completion, in nanoseconds.
    quickest_ns: Option<u64>,
    queued_too_long: u64,
}

impl QueuedExchangeCounter {
    /// Returns the counter with the totals of a run that another process counted.
    pub const fn from_totals(left_ns: u64, behind: u64) -> Self {
        Self { first_left_ns: None, left_ns, quickest_ns: None, queued_too_long: behind }
    }

    /// Notes that the first message of an exchange left at `at_ns`.
    pub fn record_sent(&mut self, at_ns: u64) {
        self.first_left_ns.get_or_insert(at_ns);
        self.left_ns = at_ns;
        self.queued_too_long = 0;
    }

    /// Notes that an exchange that began to leave at `sent_ns` was completed in time at
    /// `answered_ns`.
    pub fn record_completed(&mut self, sent_ns: u64, answered_ns: u64) {
        let took_ns = answered_ns.saturating_sub(sent_ns);
        // A long duration for a client that is alone comes from a slow network path or store, not
        // from a queue.
        let quickest_ns = self.quickest_ns.map_or(took_ns, |ns| ns.min(took_ns));
        self.quickest_ns = Some(quickest_ns);
        let offered_ns = self.left_ns.saturating_sub(self.first_left_ns.unwrap_or(self.left_ns));
        let tolerated_ns = quickest_ns.saturating_add(slack_ns(offered_ns));
        let latest_ns = self.left_ns.saturating_add(tolerated_ns);
        self.queued_too_long += u64::from(answered_ns > latest_ns);
    }

    /// Adds the count of another thread's counter.
    pub const fn merge(&mut self, other: &Self) {
        self.queued_too_long += other.queued_too_long;
    }

    /// Returns the time at which the newest exchange left, in nanoseconds of the monotonic clock; 0
    /// when none did.
    pub const fn last_sent_ns(&self) -> u64 {
        self.left_ns
    }

    /// Returns the number of exchanges that were completed in time but queued too long.
    pub const fn queued_too_long(&self) -> u64 {
        self.queued_too_long
    }
}

#[cfg(test)]
mod tests {
    use base::time::NS_PER_S;

    use super::*;

    /// Simulates exchanges that leave at `rate` per second for `offered_ns` and are completed first
    /// in first out at `capacity` per second, none earlier than `wait_ns` after it left; returns
    /// the number of exchanges and the counter.
    fn offer(
        rate: u64,
        capacity: u64,
        offered_ns: u64,
        wait_ns: u64,
    ) -> (u64, QueuedExchangeCounter) {
        let mut backlog = QueuedExchangeCounter::default();
        let count = rate * offered_ns / NS_PER_S;
        for number in 0..count {
            backlog.record_sent(number * NS_PER_S / rate);
        }
        let mut free_ns = 0;
        for number in 0..count {
            let left_ns = number * NS_PER_S / rate;
            free_ns = left_ns.max(free_ns) + NS_PER_S / capacity;
            backlog.record_completed(left_ns, free_ns + wait_ns);
        }
        (count, backlog)
    }

    #[test]
    fn an_offer_above_capacity_counts_as_the_capacity_however_short() {
        for offered_ms in [500, 1_000, 2_000, 10_000, 60_000] {
            for rate in [1_010, 1_100, 1_500, 4_000] {
                let offered_ns = offered_ms * NS_PER_MS;
                let (count, backlog) = offer(rate, 1_000, offered_ns, 0);
                let counted = (count - backlog.queued_too_long()) as f64 * 1e3 / offered_ms as f64;
                let description = format!("{rate}/s for {offered_ms} ms: {counted}");
                let most = if offered_ms < 1_000 { 1_022.0 } else { 1_011.5 };
                assert!((995.0..=most).contains(&counted), "{description}");
            }
        }
    }

    #[test]
    fn a_service_that_takes_long_for_everybody_or_keeps_up_is_not_behind() {
        for (rate, wait_ms) in [(1_000, 0), (900, 200), (999, 1_500), (10, 30)] {
            let (_, backlog) = offer(rate, 1_000, 2 * NS_PER_S, wait_ms * NS_PER_MS);
            assert_eq!(backlog.queued_too_long(), 0, "{rate}/s, {wait_ms} ms each");
        }
    }

    #[test]
    fn a_slow_answer_while_others_still_leave_is_no_queue() {
        let mut backlog = QueuedExchangeCounter::default();
        backlog.record_sent(0);
        backlog.record_completed(0, NS_PER_MS);
        backlog.record_sent(NS_PER_S);
        backlog.record_completed(0, NS_PER_S + 10 * NS_PER_MS);
        assert_eq!(
            backlog.queued_too_long(),
            0,
            "1 s was offered: 10 ms and what the quickest took"
        );
        backlog.record_completed(0, NS_PER_S + 12 * NS_PER_MS);
        assert_eq!(backlog.queued_too_long(), 1);
        let mut sum = backlog;
        sum.merge(&backlog);
        assert_eq!(sum.queued_too_long(), 2);
        backlog.record_sent(NS_PER_S + 20 * NS_PER_MS);
        assert_eq!(backlog.queued_too_long(), 0, "another one left later");
    }
}
