//! Last loss intervals of a CCID 3 receiver, their mean (RFC 5348 §5.4, §5.5) and the option that
//! reports them (RFC 4342 §8.6).

use std::collections::VecDeque;

use crate::option::{DccpOptionWriter, number};
use crate::sequence::SequenceNumber;

/// Weights of loss intervals in their mean, the newest interval first (RFC 5348 §5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Largest number of loss intervals kept: those with a weight and one more.
const INTERVALS_MAX: usize = WEIGHTS.len() + 1;
/// Least factor by which old loss intervals count (THRESHOLD, RFC 5348 §5.5).
const DISCOUNT_LEAST: f64 = 0.25;
/// Bytes of one interval in the Loss Intervals option.
const INTERVAL_LEN: usize = 9;
/// Greatest length of a loss interval that the Loss Intervals option can report, in packets; longer
/// intervals are reported with this length.
const LENGTH_MAX: u64 = (1 << 24) - 1;

/// Returns the mean of loss intervals in packets, the open one first, without discounting. Returns
/// `None` without a closed interval.
pub fn mean_interval(lengths: &[f64]) -> Option<f64> {
    let (_, mean) = totals(lengths, &[1.0; INTERVALS_MAX], 1.0)?;
    Some(mean)
}

/// Returns the mean of loss intervals without the open one, and the larger of the means with and
/// without it. `discount` weakens all intervals but the open one.
fn totals(lengths: &[f64], discounts: &[f64; INTERVALS_MAX], discount: f64) -> Option<(f64, f64)> {
    let closed = lengths.len().checked_sub(1).filter(|&count| count > 0)?.min(WEIGHTS.len());
    let (mut total_0, mut weight_0) = (0.0, 0.0);
    let (mut total_1, mut weight_1) = (0.0, 0.0);
    for index in 0..closed {
        let factor = if index == 0 { 1.0 } else { discounts[index] * discount };
        total_0 += lengths[index] * WEIGHTS[index] * factor;
        weight_0 += WEIGHTS[index] * factor;
        total_1 += lengths[index + 1] * WEIGHTS[index] * discounts[index + 1];
        weight_1 += WEIGHTS[index] * discounts[index + 1];
    }
    let without_open = total_1 / weight_1;
    Some((without_open, (total_0 / weight_0).max(without_open)))
}

#[derive(Clone, Copy, Debug)]
struct LossInterval {
    /// Sequence number of the first lost packet of the interval; in a connection's first interval,
    /// that of its first packet.
    first: SequenceNumber,
    /// Count of packets from the first to the last lost packet of the event; 0 in the first
    /// interval.
    loss_len: u64,
    /// Count of packets without data in the loss interval.
    non_data: u64,
    /// Length of the connection's first loss interval in data packets, calculated from the rate
    /// (RFC 5348 §6.3.1); `None` for later intervals.
    synthetic: Option<u64>,
    /// Factor to which later discounting has reduced the interval's weight.
    discount: f64,
}

/// History of the loss intervals of a CCID 3 receiver.
#[derive(Clone, Debug)]
pub struct IntervalHistory {
    /// Loss intervals, the open one first.
    intervals: VecDeque<LossInterval>,
    newest: SequenceNumber,
}

impl IntervalHistory {
    /// Returns a history of loss intervals that begins with the packet `first`, before any loss.
    pub fn new(first: SequenceNumber) -> Self {
        let interval =
            LossInterval { first, loss_len: 0, non_data: 0, synthetic: None, discount: 1.0 };
        Self { intervals: [interval].into(), newest: first }
    }

    /// Returns true if the receiver has seen a loss event.
    pub fn has_loss(&self) -> bool {
        self.intervals.len() > 1
    }

    /// Records a packet that arrived, or that is known not to be lost, in the open loss interval.
    pub(super) fn record_arrival(&mut self, number: SequenceNumber, is_data: bool) {
        self.newest = self.newest.max(number);
        self.intervals[0].non_data += u64::from(!is_data);
    }

    /// Extends the current loss event up to the packet `last`.
    pub(super) fn extend_event(&mut self, last: SequenceNumber) {
        let open = &mut self.intervals[0];
        open.loss_len = open.loss_len.max((last.distance_from(open.first) + 1).max(0) as u64);
        self.newest = self.newest.max(last);
    }

    /// Begins a new loss event with the packets `first` to `last`. The very first event gives the
    /// interval before it the data length `synthetic`.
    pub(super) fn begin_event(
        &mut self,
        first: SequenceNumber,
        last: SequenceNumber,
        synthetic: impl FnOnce() -> u64,
    ) {
        if self.intervals.len() == 1 {
            self.intervals[0].synthetic = Some(synthetic());
        }
        let discount = self.discount();
        for interval in &mut self.intervals {
            interval.discount *= discount;
        }
        let loss_len = (last.distance_from(first) + 1).max(1) as u64;
        self.intervals.push_front(LossInterval {
            first,
            loss_len,
            non_data: 0,
            synthetic: None,
            discount: 1.0,
        });
        self.intervals.truncate(INTERVALS_MAX);
        self.newest = self.newest.max(last);
    }

    /// Returns the loss event rate of the history; 0 before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        let (lengths, discounts) = self.columns();
        let mean = totals(&lengths[..self.intervals.len()], &discounts, self.discount());
        mean.map_or(0.0, |(_, mean)| (1.0 / mean).min(1.0))
    }

    /// Returns the factor, at most 1, by which a long time without loss reduces the weight of older
    /// loss intervals (RFC 5348 §5.5).
    fn discount(&self) -> f64 {
        let (lengths, discounts) = self.columns();
        match totals(&lengths[..self.intervals.len()], &discounts, 1.0) {
            Some((_, mean)) if lengths[0] > 2.0 * mean => {
                (2.0 * mean / lengths[0]).max(DISCOUNT_LEAST)
            }
            _ => 1.0,
        }
    }

    fn columns(&self) -> ([f64; INTERVALS_MAX], [f64; INTERVALS_MAX]) {
        let mut lengths = [0.0; INTERVALS_MAX];
        let mut discounts = [1.0; INTERVALS_MAX];
        for (index, interval) in self.intervals.iter().enumerate() {
            lengths[index] = self.data_len(index) as f64;
            discounts[index] = interval.discount;
        }
        (lengths, discounts)
    }

    /// Returns the number of packets from the first of a loss interval to the last before the next
    /// interval.
    fn sequence_len(&self, index: usize) -> u64 {
        let end = match index.checked_sub(1) {
            Some(newer) => self.intervals[newer].first,
            None => self.newest.next(),
        };
        end.distance_from(self.intervals[index].first).max(1) as u64
    }

    fn data_len(&self, index: usize) -> u64 {
        let interval = &self.intervals[index];
        let counted = || self.sequence_len(index).saturating_sub(interval.non_data).max(1);
        interval.synthetic.unwrap_or_else(counted)
    }

    /// Writes a Loss Intervals option for a packet that acknowledges `acknowledgement`
    /// (RFC 4342 §8.6.1).
    pub(super) fn write(
        &self,
        acknowledgement: SequenceNumber,
        options: &mut DccpOptionWriter<'_>,
    ) {
        let skip = acknowledgement.distance_from(self.newest).clamp(0, 255) as u8;
        let mut octets = [0; 1 + INTERVALS_MAX * INTERVAL_LEN];
        octets[0] = skip;
        let mut at = 1;
        for (index, interval) in self.intervals.iter().enumerate() {
            let lossless = self.sequence_len(index).saturating_sub(interval.loss_len);
            for length in [lossless, interval.loss_len.min(LENGTH_MAX >> 1), self.data_len(index)] {
                octets[at..at + 3].copy_from_slice(&length.min(LENGTH_MAX).to_be_bytes()[5..]);
                at += 3;
            }
        }
        let _fits = options.pieces(number::LOSS_INTERVALS, &[&octets[..at]]);
    }
}

/// One interval of a Loss Intervals option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossIntervalEntry {
    /// Count of packets after the losses of the interval.
    pub lossless_len: u64,
    /// Count of packets from the first to the last lost packet of the interval.
    pub loss_len: u64,
    /// ECN nonce echo of the interval's lossless part.
    pub nonce: bool,
    /// Count of data packets in the whole interval.
    pub data_len: u64,
}

/// Returns the intervals of a Loss Intervals option, newest first; `None` when its length is
/// impossible. Returns the first byte, too: how many packets before the acknowledged one the
/// intervals end.
pub fn read_intervals(
    value: &[u8],
) -> Option<(u8, impl Iterator<Item = LossIntervalEntry> + Clone + '_)> {
    let (&skip, rest) = value.split_first()?;
    let (intervals, extra) = rest.as_chunks::<INTERVAL_LEN>();
    if intervals.is_empty() || !extra.is_empty() {
        return None;
    }
    let read = |octets: &[u8]| octets.iter().fold(0, |sum, &octet| sum << 8 | u64::from(octet));
    let entries = intervals.iter().map(move |octets| {
        let loss = read(&octets[3..6]);
        LossIntervalEntry {
            lossless_len: read(&octets[..3]),
            loss_len: loss & (LENGTH_MAX >> 1),
            nonce: loss > LENGTH_MAX >> 1,
            data_len: read(&octets[6..]),
        }
    });
    Some((skip, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u64) -> SequenceNumber {
        SequenceNumber::new(value)
    }

    #[test]
    fn means_of_the_worked_numbers() {
        let ten = [10.0; 8];
        let with = |first: f64| [&[first][..], &ten].concat();
        let eight = [15.0, 7.0, 22.0, 9.0, 11.0, 30.0, 6.0];
        let long = |first: f64| [&[first, 8.0][..], &eight].concat();
        for (lengths, expected) in [
            (vec![5.0, 100.0], 100.0),
            (vec![120.0, 100.0], 120.0),
            (vec![10.0, 20.0, 30.0], 25.0),
            (vec![40.0, 20.0, 30.0], 30.0),
            (with(1.0), 10.0),
            (with(100.0), 25.0),
            (long(3.0), 13.166_7),
            (long(50.0), 18.9),
        ] {
            let mean = mean_interval(&lengths).unwrap();
            assert!((mean - expected).abs() < 1e-4, "{lengths:?}: {mean}");
        }
        assert_eq!(mean_interval(&[5.0]), None);
    }

    #[test]
    fn tfrc_02_the_example_of_loss_intervals() {
        // RFC 4342 §8.6.2: acknowledged is 44; losses 10, 19 to 23 and 32; 2 packets skipped.
        let mut history = IntervalHistory::new(n(0));
        for (from, lost, last) in [(0, 10, 10), (11, 19, 23), (24, 32, 32)] {
            (from..lost).for_each(|number| history.record_arrival(n(number), true));
            history.begin_event(n(lost), n(last), || 15);
        }
        (33..=42).for_each(|number| history.record_arrival(n(number), number != 40));
        history.intervals[2].non_data = 1;
        history.intervals[1].non_data = 3;
        let mut area = [0; 100];
        let mut options = DccpOptionWriter::new(&mut area);
        history.write(n(44), &mut options);
        let mut expected = vec![0xc1, 0x27, 2];
        for lengths in [[10_u32, 1, 10], [8, 5, 10], [8, 1, 8], [10, 0, 15]] {
            lengths.iter().for_each(|length| expected.extend(&length.to_be_bytes()[1..]));
        }
        assert_eq!(options.written(), expected);
        // Read back, and with the nonces of the example.
        expected[6] = 0x80;
        expected[33] = 0x80;
        let (skip, entries) = read_intervals(&expected[2..]).unwrap();
        assert_eq!(skip, 2);
        let entries: Vec<_> =
            entries.map(|i| (i.lossless_len, i.loss_len, i.nonce, i.data_len)).collect();
        assert_eq!(
            entries,
            [(10, 1, true, 10), (8, 5, false, 10), (8, 1, false, 8), (10, 0, true, 15)]
        );
        assert!(read_intervals(&expected[2..20]).is_none());
    }

    #[test]
    fn a_long_time_without_loss_discounts_the_past() {
        let mut history = IntervalHistory::new(n(0));
        history.begin_event(n(10), n(10), || 10);
        for event in 2..12 {
            (event * 10 - 9..event * 10).for_each(|number| history.record_arrival(n(number), true));
            history.begin_event(n(event * 10), n(event * 10), || 0);
        }
        assert!((history.loss_event_rate() - 0.1).abs() < 1e-9);
        (111..210).for_each(|number| history.record_arrival(n(number), true));
        // The open interval of 100 has a plain mean of 25; discounted by a half, 1600/45.
        assert!(
            (history.loss_event_rate() - 3.5 / 125.0).abs() < 1e-9,
            "{}",
            history.loss_event_rate()
        );
    }
}
