//! Figures of a flow's sender and receiver; the receiver's figures are the result of a measurement.

use serde::{Deserialize, Serialize};

/// Figures of a flow that its sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentDataFigures {
    /// Count of datagrams that DCCP accepted for sending.
    pub(crate) datagrams: u64,
    /// Bytes of data in the datagrams that DCCP accepted for sending.
    pub(crate) bytes: u64,
    /// Count of datagrams that were due at the requested rate and were not sent, because congestion
    /// control did not permit them in time. Datagrams of the settling time, in which congestion
    /// control finds its rate, do not count.
    pub(crate) never_sent: u64,
    /// Duration of sending in seconds, from the first to the last due time.
    pub(crate) seconds: f64,
    /// Processor time of the sender's process over the duration, as a share of one processor.
    pub(crate) cpu: f64,
}

/// Figures of a flow that its receiver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReceivedDataFigures {
    /// Count of datagrams that the application read.
    pub(crate) datagrams: u64,
    /// Bytes of data in the datagrams that the application read.
    pub(crate) bytes: u64,
    /// Count of datagrams that were sent and not read.
    pub(crate) lost: u64,
    /// Count of datagrams that arrived after a datagram with a greater number.
    pub(crate) out_of_order: u64,
    /// Count of datagrams without a number: from another program, or too short for one.
    pub(crate) without_number: u64,
    /// Duration that the datagrams cover, in seconds: from the first to the last, and one gap more.
    /// The sender's time counts if it is longer, because a path that fell silent was slow.
    pub(crate) seconds: f64,
    /// Processor time of the receiver's process over the duration, as a share of one processor.
    pub(crate) cpu: f64,
}

impl ReceivedDataFigures {
    /// Returns the receiver's rate of application data, in bits per second.
    pub(crate) fn bits_per_s(&self) -> f64 {
        per_second(self.bytes, self.seconds)
    }
}

impl SentDataFigures {
    /// Returns the sender's rate of application data, in bits per second.
    pub(crate) fn bits_per_s(&self) -> f64 {
        per_second(self.bytes, self.seconds)
    }
}

pub(crate) fn per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// Receiving side of a flow while the flow runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowReceiver {
    datagrams: u64,
    bytes: u64,
    out_of_order: u64,
    without_number: u64,
    /// Greatest datagram number received, plus one.
    expected: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    cpu_first_ns: u64,
    /// Figures that the sender reported in its end message.
    pub(crate) fin: Option<SentDataFigures>,
    mark: LastIntervalCounters,
}

/// Counters of a flow's receiver at the end of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct LastIntervalCounters {
    datagrams: u64,
    bytes: u64,
    expected: u64,
}

/// Counts of the datagrams that a flow's sender or receiver counted within a report interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IntervalDatagramCounts {
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    /// Count of datagram numbers that were skipped in the interval, less datagrams that arrived
    /// late.
    pub(crate) lost: u64,
}

impl FlowReceiver {
    /// Counts a data datagram that the application read at `now_ns`.
    pub(crate) fn count_datagram(
        &mut self,
        now_ns: u64,
        cpu_ns: u64,
        number: Option<u64>,
        len: usize,
    ) {
        if self.first_ns.is_none() {
            (self.first_ns, self.cpu_first_ns) = (Some(now_ns), cpu_ns);
        }
        self.last_ns = now_ns;
        self.datagrams += 1;
        self.bytes += len as u64;
        match number {
            None => self.without_number += 1,
            Some(number) if number < self.expected => self.out_of_order += 1,
            Some(number) => self.expected = number.saturating_add(1),
        }
    }

    /// Returns true if any received datagram had a number, so that losses can be counted.
    pub(crate) const fn is_numbered(&self) -> bool {
        self.expected > 0
    }

    pub(crate) const fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// Returns the counts of datagrams that the flow received since the last call.
    pub(crate) fn step(&mut self) -> IntervalDatagramCounts {
        let LastIntervalCounters { datagrams, bytes, expected } = self.mark;
        self.mark = LastIntervalCounters {
            datagrams: self.datagrams,
            bytes: self.bytes,
            expected: self.expected,
        };
        let datagrams = self.datagrams - datagrams;
        let passed = self.expected - expected;
        let lost = passed.saturating_sub(datagrams);
        IntervalDatagramCounts { datagrams, bytes: self.bytes - bytes, lost }
    }

    /// Returns the receiver's figures of all datagrams of the flow. The figures in the sender's end
    /// message show losses after the last received datagram.
    pub(crate) fn figures(&self, cpu_ns: u64) -> ReceivedDataFigures {
        let numbered = self.datagrams - self.without_number;
        let sent = self.fin.map_or(self.expected + self.without_number, |fin| fin.datagrams);
        let span_s =
            self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns)) as f64 / 1e9;
        let gaps = self.datagrams.saturating_sub(1);
        let received_s = if gaps > 0 { span_s * self.datagrams as f64 / gaps as f64 } else { 0.0 };
        let seconds = received_s.max(self.fin.map_or(0.0, |fin| fin.seconds));
        let cpu_s = cpu_ns.saturating_sub(self.cpu_first_ns) as f64 / 1e9;
        ReceivedDataFigures {
            datagrams: self.datagrams,
            bytes: self.bytes,
            lost: sent.saturating_sub(numbered + self.without_number),
            out_of_order: self.out_of_order,
            without_number: self.without_number,
            seconds,
            cpu: if seconds > 0.0 { cpu_s / seconds } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn loss_is_what_was_sent_and_not_read() {
        let mut incoming = FlowReceiver::default();
        for (at_ms, number) in [(0, 0), (10, 1), (30, 3), (31, 2), (50, 5)] {
            incoming.count_datagram(at_ms * MS, 0, Some(number), 100);
        }
        assert_eq!(incoming.step(), IntervalDatagramCounts { datagrams: 5, bytes: 500, lost: 1 });
        assert_eq!(incoming.step(), IntervalDatagramCounts::default());
        let figures = incoming.figures(25 * MS);
        assert_eq!((figures.datagrams, figures.lost, figures.out_of_order), (5, 1, 1));
        // Five datagrams with four gaps in 50 ms.
        assert!((figures.seconds - 0.0625).abs() < 1e-9);
        assert!((figures.bits_per_s() - 64_000.0).abs() < 1e-6);
        assert!((figures.cpu - 0.4).abs() < 1e-9);
        incoming.fin = Some(SentDataFigures { datagrams: 9, ..SentDataFigures::default() });
        assert_eq!(incoming.figures(0).lost, 4, "also behind the last one that came");
    }

    #[test]
    fn silence_at_the_end_counts_as_time() {
        let mut incoming = FlowReceiver::default();
        for number in 0..5 {
            incoming.count_datagram(number * 10 * MS, 0, Some(number), 100);
        }
        assert!((incoming.figures(0).seconds - 0.05).abs() < 1e-9);
        incoming.fin =
            Some(SentDataFigures { datagrams: 100, seconds: 1.0, ..SentDataFigures::default() });
        assert!((incoming.figures(0).bits_per_s() - 4_000.0).abs() < 1e-6);
        incoming.fin =
            Some(SentDataFigures { datagrams: 5, seconds: 0.04, ..SentDataFigures::default() });
        assert!((incoming.figures(0).seconds - 0.05).abs() < 1e-9);
    }

    #[test]
    fn data_without_numbers_is_counted() {
        let mut incoming = FlowReceiver::default();
        incoming.count_datagram(0, 0, None, 0);
        incoming.count_datagram(MS, 0, None, 10);
        let figures = incoming.figures(0);
        assert_eq!((figures.datagrams, figures.without_number, figures.lost), (2, 2, 0));
        incoming.fin = Some(SentDataFigures { datagrams: 3, ..SentDataFigures::default() });
        assert_eq!(incoming.figures(0).lost, 1);
    }

    #[test]
    fn nothing_at_all_is_no_rate() {
        let figures = FlowReceiver::default().figures(1);
        assert_eq!((figures.seconds, figures.bits_per_s(), figures.cpu), (0.0, 0.0, 0.0));
    }
}
