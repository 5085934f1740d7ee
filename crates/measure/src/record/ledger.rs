//! Conversion of a load generator's counts to its record.

use ::load::{ExchangeClass, ExchangeLedger, GeneratorVerdict, Health, Timeline, TimelinePoint};
use base::time::NS_PER_S;

use super::{ExchangeCounts, LOAD_SCHEMA, LatencySummary, LoadRecord, LoadTimeline};

impl LoadRecord {
    /// Makes a load record of the exchanges that came due for `duration_ns`, with the values that
    /// every generator counts alike: outcomes, latencies, lateness of sends, drops at its own
    /// socket. The generator adds settings, datagrams and processor time.
    pub fn from_ledger(
        ledger: &ExchangeLedger,
        timeline: &Timeline,
        health: Health,
        duration_ns: u64,
    ) -> Self {
        let duration_s = duration_ns as f64 / NS_PER_S as f64;
        let exchanges = ExchangeCounts::from_ledger(ledger);
        let reason = match ledger.verdict(health) {
            GeneratorVerdict::Sound => String::new(),
            GeneratorVerdict::GeneratorLimited(reasons) => reasons.join("; "),
        };
        Self {
            schema: LOAD_SCHEMA.into(),
            duration_s,
            exchanges,
            completed_per_s: if duration_s > 0.0 {
                exchanges.carried() as f64 / duration_s
            } else {
                0.0
            },
            latency_due: LatencySummary::from_histogram(ledger.latency_due()),
            latency_sent: LatencySummary::from_histogram(ledger.latency_sent()),
            histogram_due: ledger.latency_due().entries().collect(),
            late_sends: ledger.late_sends(),
            late_send_max_us: ledger.late_send_max_ns() as f64 / 1e3,
            own_socket_drops: health.socket_drops,
            send_refused: health.sends_refused,
            generator_limited: !reason.is_empty(),
            generator_limited_reason: reason,
            timeline: LoadTimeline::from_timeline(timeline),
            ..Self::default()
        }
    }
}

impl ExchangeCounts {
    /// Returns the counts of exchanges by outcome from a generator's ledger.
    pub fn from_ledger(ledger: &ExchangeLedger) -> Self {
        Self {
            due: ledger.due(),
            sent: ledger.sent(),
            on_time: ledger.count(ExchangeClass::OnTime),
            behind: ledger.queued_too_long().min(ledger.count(ExchangeClass::OnTime)),
            late: ledger.count(ExchangeClass::Late),
            lost: ledger.count(ExchangeClass::Lost),
            nak: ledger.count(ExchangeClass::Nak),
            invalid: ledger.count(ExchangeClass::Invalid),
            wrong_client: ledger.count(ExchangeClass::WrongClient),
            duplicate_answered: ledger.count(ExchangeClass::DuplicateAnswered),
            in_flight_at_end: ledger.in_flight(),
        }
    }
}

impl LoadTimeline {
    /// Returns the intervals of a generator's timeline; `None` when the generator counted none.
    pub fn from_timeline(counted: &Timeline) -> Option<Self> {
        let points =
            counted.points().iter().map(|point| [point.due, point.completed, point.missed]);
        (!counted.points().is_empty()).then(|| Self {
            start_ns: counted.start_ns(),
            interval_s: counted.interval_ns() as f64 / NS_PER_S as f64,
            points: points.collect(),
            rejected: counts_unless_zero(counted, |point| point.rejected),
            unanswered: counts_unless_zero(counted, |point| point.unanswered),
            answers: counts_unless_zero(counted, |point| {
                [point.sent, point.answered, point.silent]
            }),
        })
    }
}

/// Returns the counts `of` every interval of the timeline; an empty list if all counts are 0.
fn counts_unless_zero<const N: usize>(
    counted: &Timeline,
    of: fn(&TimelinePoint) -> [u64; N],
) -> Vec<[u64; N]> {
    let all: Vec<_> = counted.points().iter().map(of).collect();
    if all.iter().all(|counts| *counts == [0; N]) { Vec::new() } else { all }
}

#[cfg(test)]
mod tests {
    use ::load::AwaitedReply;

    use super::*;

    #[test]
    fn every_outcome_stands_in_its_field() {
        let (mut ledger, mut timeline) =
            (ExchangeLedger::default(), Timeline::new(0, NS_PER_S / 2, 2));
        let outcomes = [
            (ExchangeClass::Late, 2),
            (ExchangeClass::Lost, 3),
            (ExchangeClass::Nak, 4),
            (ExchangeClass::Invalid, 5),
        ];
        let outcomes = outcomes.into_iter().chain([
            (ExchangeClass::OnTime, 1),
            (ExchangeClass::WrongClient, 6),
            (ExchangeClass::DuplicateAnswered, 7),
        ]);
        for (class, count) in outcomes {
            for _ in 0..count {
                ledger.record_due();
                ledger.record_sent(0, 0);
                ledger.record_end(class);
            }
        }
        ledger.record_completed(0, 0, 1_000_000);
        timeline.record_due(NS_PER_S);
        let health = Health { socket_drops: 8, sends_refused: 9 };
        let record = LoadRecord::from_ledger(&ledger, &timeline, health, 2 * NS_PER_S);
        let of = record.exchanges;
        let classes = [of.on_time, of.late, of.lost, of.nak, of.invalid, of.wrong_client];
        assert_eq!(classes, [1, 2, 3, 4, 5, 6]);
        assert_eq!((of.due, of.sent, of.duplicate_answered, of.in_flight_at_end), (28, 28, 7, 0));
        assert_eq!((record.duration_s, record.completed_per_s), (2.0, 0.5));
        assert_eq!((record.own_socket_drops, record.send_refused), (8, 9));
        assert!(record.generator_limited && !record.generator_limited_reason.is_empty());
        assert_eq!(record.latency_due.count, 1);
        let timeline = record.timeline.unwrap();
        assert_eq!((timeline.interval_s, timeline.points), (0.5, vec![[0; 3], [1, 0, 0]]));
        assert_eq!((timeline.rejected.len(), timeline.unanswered.len()), (0, 0));
        assert_eq!(LoadTimeline::from_timeline(&Timeline::default()), None);
    }

    #[test]
    fn rejections_stand_beside_the_exchanges_of_their_interval() {
        let mut counted = Timeline::new(0, NS_PER_S, 3);
        counted.record_rejected(AwaitedReply::Grant, NS_PER_S);
        let timeline = LoadTimeline::from_timeline(&counted).unwrap();
        assert_eq!(timeline.rejected, [[0, 0], [0, 1], [0, 0]]);
        assert!(timeline.unanswered.is_empty());
    }
}
