//! Exchanges per second of a run whose server may still work off a queue after the last exchange
//! left.
//!
//! The number of exchanges completed in time, divided by the time of the offer, is no throughput
//! when a queue grew in that time: a service of 400/s that is offered 600/s for two seconds
//! completes the last of 1,200 after three. The time that the service took longer than the offer
//! counts, unless fewer exchanges in less time are the higher rate, as where one straggler comes
//! seconds after all others.

use crate::backlog::slack_ns;

/// Completed exchanges of a run by which its rate is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedExchanges {
    /// Number of exchanges completed in time.
    pub completed: u64,
    /// Time from the moment at which the last exchange left until these exchanges were completed,
    /// in nanoseconds.
    pub overtime_ns: u64,
}

/// Throughput of a run: exchanges completed in time, and the time that they took after the last
/// exchange left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    first_left_ns: Option<u64>,
    left_ns: u64,
    sent: u64,
    quickest_ns: Option<u64>,
    completed: u64,
    /// Exchanges completed up to the moment at which the rate was highest.
    best: Option<CountedExchanges>,
}

impl Throughput {
    /// Notes that the first message of an exchange left at `at_ns`.
    pub fn record_sent(&mut self, at_ns: u64) {
        self.first_left_ns.get_or_insert(at_ns);
        self.left_ns = at_ns;
        self.sent += 1;
        self.best = None;
    }

    /// Notes that an exchange that began to leave at `sent_ns` was completed in time at
    /// `answered_ns`.
    pub fn record_completed(&mut self, sent_ns: u64, answered_ns: u64) {
        let took_ns = answered_ns.saturating_sub(sent_ns);
        let quickest_ns = self.quickest_ns.map_or(took_ns, |ns| ns.min(took_ns));
        self.quickest_ns = Some(quickest_ns);
        self.completed += 1;
        let sending_ns = self.left_ns.saturating_sub(self.first_left_ns.unwrap_or(self.left_ns));
        let tolerated_ns = quickest_ns.saturating_add(slack_ns(sending_ns));
        let overtime_ns = answered_ns.saturating_sub(self.left_ns.saturating_add(tolerated_ns));
        // Each exchange represents the gap after it.
        let offered_ns = u128::from(sending_ns) * u128::from(self.sent)
            / u128::from(self.sent.saturating_sub(1).max(1));
        let is_higher = self.best.is_none_or(|best| {
            u128::from(self.completed) * (offered_ns + u128::from(best.overtime_ns))
                >= u128::from(best.completed) * (offered_ns + u128::from(overtime_ns))
        });
        if is_higher {
            self.best = Some(CountedExchanges { completed: self.completed, overtime_ns });
        }
    }

    /// Returns the completed exchanges that give the highest rate.
    pub fn counted(&self) -> CountedExchanges {
        self.best.unwrap_or(CountedExchanges { completed: self.completed, overtime_ns: 0 })
    }
}

#[cfg(test)]
mod tests {
    use base::time::{NS_PER_MS, NS_PER_S};

    use super::*;

    fn per_s(of: &Throughput, offered_ms: u64) -> f64 {
        let CountedExchanges { completed, overtime_ns } = of.counted();
        completed as f64 * 1e9 / (offered_ms * NS_PER_MS + overtime_ns) as f64
    }

    /// Simulates `rate` exchanges per second for `offered_ms` milliseconds; exchange `k` takes
    /// `took_ns(k)` nanoseconds.
    fn offer(rate: u64, offered_ms: u64, took_ns: impl Fn(u64) -> u64) -> Throughput {
        let mut throughput = Throughput::default();
        let count = rate * offered_ms / 1_000;
        (0..count).for_each(|number| throughput.record_sent(number * NS_PER_S / rate));
        let ends = |number| number * NS_PER_S / rate + took_ns(number);
        let mut numbers: Vec<u64> = (0..count).collect();
        numbers.sort_by_key(|&number| ends(number));
        for number in numbers {
            throughput.record_completed(number * NS_PER_S / rate, ends(number));
        }
        throughput
    }

    #[test]
    fn a_queue_that_is_worked_off_after_the_offer_counts_with_the_time_that_it_took() {
        let behind = |number| (number + 1) * NS_PER_S / 400 - number * NS_PER_S / 600;
        let rate = per_s(&offer(600, 2_000, behind), 2_000);
        assert!((399.0..=404.5).contains(&rate), "{rate}");
    }

    #[test]
    fn a_service_that_keeps_up_has_the_rate_of_the_offer_whatever_it_takes() {
        for took_ms in [1, 300, 900] {
            assert_eq!(per_s(&offer(100, 2_000, |_| took_ms * NS_PER_MS), 2_000), 100.0);
        }
        let straggler = |number| if number == 150 { 950 * NS_PER_MS } else { NS_PER_MS };
        let rate = per_s(&offer(100, 2_000, straggler), 2_000);
        assert_eq!(rate, 99.5, "one came long after all others");
    }

    #[test]
    fn nothing_completed_is_no_rate() {
        let mut silent = Throughput::default();
        silent.record_sent(5);
        assert_eq!(silent.counted(), CountedExchanges::default());
        assert_eq!(Throughput::default().counted(), CountedExchanges::default());
    }
}
