//! Outcome of a run in the form in which a generator sends it to its coordinator: every count, and
//! complete histograms.

use base::Histogram;
use base::histogram::HistogramTotals;
use load::{ExchangeClass, ExchangeLedger, LATENCY_LIMIT_NS, LedgerParts};
use netio::send::SendCounts;
use serde::{Deserialize, Serialize};

use crate::leases::LeasedResource;
use crate::perfdhcp::account::ExchangeAccount;
use crate::perfdhcp::dialect::ExchangeKind;
use crate::perfdhcp::drive::{PerfdhcpLoopResult, SendingEndReason};
use crate::perfdhcp::outcome::GeneratorOutcome;
use crate::perfdhcp::traffic::LinkCounts;

/// Histogram in the form in which a generator sends it: its non-empty buckets, by their positions,
/// and the values that buckets do not hold.
#[derive(Debug, Serialize, Deserialize)]
struct CarriedHistogram {
    counts: Vec<(usize, u64)>,
    /// High and low 64 bits of the sum of all values.
    sum: [u64; 2],
    min: u64,
    max: u64,
}

impl CarriedHistogram {
    fn from_histogram(histogram: &Histogram) -> Self {
        let all = histogram.buckets().iter().copied().enumerate();
        let sum = histogram.sum();
        Self {
            counts: all.filter(|&(_, count)| count > 0).collect(),
            sum: [(sum >> 64) as u64, sum as u64],
            min: histogram.min().unwrap_or(0),
            max: histogram.max().unwrap_or(0),
        }
    }

    fn restored(self) -> Option<Histogram> {
        let sum = u128::from(self.sum[0]) << 64 | u128::from(self.sum[1]);
        let totals = HistogramTotals { sum, min: self.min, max: self.max };
        Histogram::from_counts(LATENCY_LIMIT_NS, self.counts, totals)
    }
}

/// Requests of one kind by their end, and their latencies, in the form in which a generator sends
/// them.
#[derive(Debug, Serialize, Deserialize)]
struct CarriedLedger {
    due: u64,
    sent: u64,
    ended: [u64; ExchangeClass::ALL.len()],
    latency_due: CarriedHistogram,
    latency_sent: CarriedHistogram,
    left_ns: u64,
    behind: u64,
    late_sends: u64,
    late_send_max_ns: u64,
}

/// Account of one kind of exchange in the form in which a generator sends it.
#[derive(Debug, Serialize, Deserialize)]
struct CarriedAccount {
    #[serde(flatten)]
    ledger: CarriedLedger,
    /// Counts of the account; its own ledger is not sent.
    #[serde(flatten)]
    counts: ExchangeAccount,
}

impl CarriedAccount {
    fn from_account(account: &ExchangeAccount) -> Self {
        let ledger = &account.ledger;
        let carried = CarriedLedger {
            due: ledger.due(),
            sent: ledger.sent(),
            ended: ExchangeClass::ALL.map(|class| ledger.count(class)),
            latency_due: CarriedHistogram::from_histogram(ledger.latency_due()),
            latency_sent: CarriedHistogram::from_histogram(ledger.latency_sent()),
            left_ns: ledger.last_sent_ns(),
            behind: ledger.queued_too_long(),
            late_sends: ledger.late_sends(),
            late_send_max_ns: ledger.late_send_max_ns(),
        };
        Self { ledger: carried, counts: account.clone() }
    }

    fn restored(self) -> Option<ExchangeAccount> {
        let ledger = self.ledger;
        let ledger = ExchangeLedger::from_parts(LedgerParts {
            due: ledger.due,
            sent: ledger.sent,
            ended: ledger.ended,
            latency_due: ledger.latency_due.restored()?,
            latency_sent: ledger.latency_sent.restored()?,
            last_sent_ns: ledger.left_ns,
            queued_too_long: ledger.behind,
            late_sends: ledger.late_sends,
            late_send_max_ns: ledger.late_send_max_ns,
        })?;
        Some(ExchangeAccount { ledger, ..self.counts })
    }
}

/// Outcome of a generator's run without its leases, which the generator has sent before, in pages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CarriedOutcome {
    accounts: Vec<CarriedAccount>,
    untracked: [u64; 2],
    received: u64,
    malformed: u64,
    too_short: u64,
    local_limit: u64,
    preloaded: [u64; 2],
    /// Counts of messages on the generator's link (`--direct`): broadcast, to simulated clients,
    /// for other stations, and ARP requests that were answered.
    link: [u64; 4],
    answered_ns: u64,
    counted: u64,
    overtime_ns: u64,
    reason: SendingEndReason,
    sending_end_ns: u64,
    end_ns: u64,
    idle_turns: u64,
    /// Counts of the generator's sends: messages sent, their bytes, messages refused, sends that
    /// had to wait, groups (UDP_SEGMENT) that the kernel refused to send as one, system calls.
    sends: [u64; 6],
    socket_drops: u64,
    cpu_ns: u64,
    /// Time from reading the order to begin to the start of the run that it sets, in nanoseconds;
    /// below 0 when the order came late.
    pub(crate) notice_ns: i64,
}

impl CarriedOutcome {
    pub(crate) fn from_outcome<R: LeasedResource>(
        outcome: &GeneratorOutcome<R>,
        notice_ns: i64,
    ) -> Self {
        let done = &outcome.loop_result;
        let SendCounts { sent, sent_bytes, refused, stalled, ungrouped, calls } = done.sends;
        let LinkCounts { broadcast, unicast, overheard, arp_answered } = outcome.link;
        Self {
            accounts: outcome.accounts.iter().map(CarriedAccount::from_account).collect(),
            untracked: [0, 1].map(|log| outcome.leases[log].untracked()),
            received: outcome.received,
            malformed: outcome.malformed,
            too_short: outcome.too_short,
            local_limit: outcome.local_limit,
            preloaded: outcome.preloaded,
            link: [broadcast, unicast, overheard, arp_answered],
            answered_ns: outcome.answered_ns,
            counted: outcome.counted,
            overtime_ns: outcome.overtime_ns,
            reason: done.reason,
            sending_end_ns: done.sending_end_ns,
            end_ns: done.end_ns,
            idle_turns: done.idle_turns,
            sends: [sent, sent_bytes, refused, stalled, ungrouped, calls],
            socket_drops: done.socket_drops,
            cpu_ns: done.cpu_ns,
            notice_ns,
        }
    }

    /// Returns the outcome of the run, without leases; `None` when its figures contradict each
    /// other.
    pub(crate) fn restored<R: LeasedResource>(self) -> Option<GeneratorOutcome<R>> {
        let accounts: Option<Vec<ExchangeAccount>> =
            self.accounts.into_iter().map(CarriedAccount::restored).collect();
        let accounts: [ExchangeAccount; ExchangeKind::COUNT] = accounts?.try_into().ok()?;
        let [sent, sent_bytes, refused, stalled, ungrouped, calls] = self.sends;
        let [broadcast, unicast, overheard, arp_answered] = self.link;
        let mut outcome = GeneratorOutcome::none(self.reason);
        for (log, untracked) in outcome.leases.iter_mut().zip(self.untracked) {
            log.add_untracked(untracked);
        }
        let done = PerfdhcpLoopResult {
            sending_end_ns: self.sending_end_ns,
            end_ns: self.end_ns,
            idle_turns: self.idle_turns,
            sends: SendCounts { sent, sent_bytes, refused, stalled, ungrouped, calls },
            socket_drops: self.socket_drops,
            cpu_ns: self.cpu_ns,
            ..outcome.loop_result
        };
        Some(GeneratorOutcome {
            accounts,
            received: self.received,
            malformed: self.malformed,
            too_short: self.too_short,
            local_limit: self.local_limit,
            preloaded: self.preloaded,
            link: LinkCounts { broadcast, unicast, overheard, arp_answered },
            answered_ns: self.answered_ns,
            counted: self.counted,
            overtime_ns: self.overtime_ns,
            loop_result: done,
            ..outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use base::Random;

    use super::*;

    /// Returns an outcome of which every count differs from every other.
    fn outcome(seed: u64) -> GeneratorOutcome<Ipv4Addr> {
        let mut random = Random::from_seed(seed);
        let mut count = || random.below(50) + 1;
        let mut outcome = GeneratorOutcome::none(SendingEndReason::Requests);
        for account in &mut outcome.accounts {
            for class in
                ExchangeClass::ALL.into_iter().filter(|&c| c != ExchangeClass::DuplicateAnswered)
            {
                for _ in 0..count() {
                    let late_ns = count() * 1_000_000;
                    account.ledger.record_due();
                    account.ledger.record_sent(0, late_ns);
                    account.ledger.record_end(class);
                    if matches!(class, ExchangeClass::OnTime | ExchangeClass::Late) {
                        let answered_ns = late_ns + count() * 1_234_567;
                        account.record_completed(class, [0, late_ns, answered_ns]);
                    }
                }
            }
            account.ledger.record_due();
            account.refusals = [(); 8].map(|()| count());
            account.faults = [(); 15].map(|()| count());
            let counts = [
                &mut account.duplicates,
                &mut account.unmatched,
                &mut account.malformed,
                &mut account.resent,
                &mut account.without_lease,
                &mut account.overdue,
            ];
            counts.into_iter().for_each(|field| *field = count());
        }
        for log in &mut outcome.leases {
            log.add_untracked(count());
        }
        let [sent, sent_bytes, refused, stalled, ungrouped, calls] = [(); 6].map(|()| count());
        outcome.loop_result.sends =
            SendCounts { sent, sent_bytes, refused, stalled, ungrouped, calls };
        let [broadcast, unicast, overheard, arp_answered] = [(); 4].map(|()| count());
        outcome.link = LinkCounts { broadcast, unicast, overheard, arp_answered };
        let (done, preloaded) = (&mut outcome.loop_result, &mut outcome.preloaded);
        let counts = [
            &mut outcome.received,
            &mut outcome.malformed,
            &mut outcome.too_short,
            &mut outcome.local_limit,
            &mut outcome.answered_ns,
            &mut outcome.counted,
            &mut outcome.overtime_ns,
            &mut done.sending_end_ns,
            &mut done.end_ns,
            &mut done.idle_turns,
            &mut done.socket_drops,
            &mut done.cpu_ns,
        ];
        counts.into_iter().chain(preloaded).for_each(|field| *field = count());
        outcome
    }

    #[test]
    fn an_outcome_arrives_as_it_left() {
        for seed in 0..20 {
            let sent = outcome(seed);
            let text = serde_json::to_string(&CarriedOutcome::from_outcome(&sent, -5)).unwrap();
            let carried: CarriedOutcome = serde_json::from_str(&text).unwrap();
            assert_eq!(carried.notice_ns, -5);
            let arrived: GeneratorOutcome<Ipv4Addr> = carried.restored().unwrap();
            assert_eq!(
                serde_json::to_string(&CarriedOutcome::from_outcome(&arrived, -5)).unwrap(),
                text
            );
        }
    }

    #[test]
    fn a_damaged_outcome_is_refused() {
        let restored = |change: fn(&mut serde_json::Value)| {
            let mut value =
                serde_json::to_value(CarriedOutcome::from_outcome(&outcome(1), 0)).unwrap();
            change(&mut value);
            serde_json::from_value::<CarriedOutcome>(value).unwrap().restored::<Ipv4Addr>()
        };
        assert!(restored(|_| {}).is_some());
        let damages: [fn(&mut serde_json::Value); 4] = [
            |value| value["accounts"][1]["due"] = 3.into(),
            |value| value["accounts"][2]["latency_due"]["counts"][0][1] = 0.into(),
            |value| value["accounts"][2]["latency_sent"]["max"] = 1.into(),
            |value| drop(value["accounts"].as_array_mut().unwrap().pop()),
        ];
        for damage in damages {
            assert!(restored(damage).is_none());
        }
    }

    #[test]
    fn several_outcomes_add_up_and_percentiles_are_those_of_all_values() {
        let parts = [outcome(3), outcome(4), outcome(5)];
        let mut whole = GeneratorOutcome::none(SendingEndReason::Requests);
        parts.iter().for_each(|part| whole.merge(part.clone()));
        let sum =
            |of: &dyn Fn(&GeneratorOutcome<Ipv4Addr>) -> u64| parts.iter().map(of).sum::<u64>();
        type Count<'a> = &'a dyn Fn(&GeneratorOutcome<Ipv4Addr>) -> u64;
        let counts: [Count<'_>; 17] = [
            &|o| o.received,
            &|o| o.counted,
            &|o| o.malformed,
            &|o| o.too_short,
            &|o| o.local_limit,
            &|o| o.preloaded[0],
            &|o| o.preloaded[1],
            &|o| o.leases[0].untracked(),
            &|o| o.leases[1].untracked(),
            &|o| o.link.broadcast,
            &|o| o.link.unicast,
            &|o| o.link.overheard,
            &|o| o.link.arp_answered,
            &|o| o.loop_result.sends.sent,
            &|o| o.loop_result.sends.refused,
            &|o| o.loop_result.socket_drops,
            &|o| o.loop_result.cpu_ns,
        ];
        for (index, count) in counts.into_iter().enumerate() {
            assert_eq!(count(&whole), sum(count), "count {index}");
        }
        for kind in ExchangeKind::ALL {
            let of = |o: &GeneratorOutcome<Ipv4Addr>| o.accounts[kind.index()].clone();
            let all = of(&whole);
            for class in ExchangeClass::ALL {
                let each = sum(&|o| of(o).ledger.count(class));
                assert_eq!(all.ledger.count(class), each);
            }
            assert_eq!(all.ledger.late_sends(), sum(&|o| of(o).ledger.late_sends()));
            assert_eq!(all.duplicates, sum(&|o| of(o).duplicates));
            assert_eq!(all.overdue, sum(&|o| of(o).overdue));
            let mut values: Vec<u64> = parts
                .iter()
                .flat_map(|part| of(part).ledger.latency_due().entries().collect::<Vec<_>>())
                .flat_map(|(ns, count)| vec![ns; count as usize])
                .collect();
            values.sort_unstable();
            for quantile in [0.5, 0.9, 0.99] {
                let rank = (quantile * values.len() as f64).ceil() as usize;
                let latency = all.ledger.latency_due();
                let truth = values[rank - 1].min(latency.max().unwrap());
                assert_eq!(latency.quantile(quantile), Some(truth));
            }
        }
        whole.merge(GeneratorOutcome::none(SendingEndReason::Interrupted));
        assert_eq!(whole.loop_result.reason, SendingEndReason::Interrupted);
    }
}
