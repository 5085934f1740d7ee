//! Sequence numbers: 48 bits in a circle, their windows, and how 24 bits stand for 48
//! (RFC 4340 §3.1, §7.1, §7.5.1, §7.6).

use core::fmt;

/// Numbers on the circle.
const CIRCLE: u64 = 1 << 48;
const MASK: u64 = CIRCLE - 1;
const SHORT_MASK: u64 = (1 << 24) - 1;

/// A 48-bit number. Which of two comes first depends on the shorter way between them, so there is
/// no order that `Ord` could give.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// The number with the lower 48 bits of `value`.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value & MASK)
    }

    /// As an integer below 2^48.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The number `count` further on.
    #[must_use]
    pub const fn plus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// The number `count` before.
    #[must_use]
    pub const fn minus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_sub(count))
    }

    /// The next number.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Steps from `origin` to here, negative when here comes first (§3.1): -2^47 to 2^47 - 1.
    #[must_use]
    pub const fn distance_from(self, origin: Self) -> i64 {
        let distance = self.0.wrapping_sub(origin.0) & MASK;
        if distance < CIRCLE / 2 { distance as i64 } else { distance as i64 - CIRCLE as i64 }
    }

    /// Whether this one comes later.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }

    /// The later one of two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The lower 24 bits, for a packet with X = 0.
    #[must_use]
    pub const fn short(self) -> u64 {
        self.0 & SHORT_MASK
    }

    /// The number with these lower 24 bits that is nearest to `reference` (§7.6).
    #[must_use]
    pub const fn extend(short: u64, reference: Self) -> Self {
        let candidate = Self((reference.0 & !SHORT_MASK) | (short & SHORT_MASK));
        let distance = candidate.distance_from(reference);
        if distance > (SHORT_MASK / 2) as i64 {
            candidate.minus(SHORT_MASK + 1)
        } else if distance < -(SHORT_MASK as i64 / 2) - 1 {
            candidate.plus(SHORT_MASK + 1)
        } else {
            candidate
        }
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first valid number.
    pub low: SequenceNumber,
    /// The last valid number.
    pub high: SequenceNumber,
}

impl Window {
    /// Whether `number` lies in the window.
    #[must_use]
    pub const fn contains(self, number: SequenceNumber) -> bool {
        number.distance_from(self.low) >= 0 && number.distance_from(self.high) <= 0
    }
}

/// What is valid from the other end: its sequence numbers around the greatest one that came, its
/// acknowledgements of the latest that were sent (§7.5.1). While a window would begin before the
/// first number of the connection it begins there; once it has moved past, that is forgotten, lest
/// it come back when the numbers have gone around.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Sequence Window of the other end (W), for its numbers.
    remote_width: u64,
    /// Sequence Window of this end (W'), for its acknowledgements.
    local_width: u64,
    first_received: Option<SequenceNumber>,
    first_sent: Option<SequenceNumber>,
}

impl Windows {
    /// The windows of a connection that begins with these numbers.
    #[must_use]
    pub const fn new(iss: SequenceNumber, isr: SequenceNumber, width: u64) -> Self {
        Self {
            remote_width: width,
            local_width: width,
            first_received: Some(isr),
            first_sent: Some(iss),
        }
    }

    /// The other end's Sequence Window changed.
    pub const fn set_remote_width(&mut self, width: u64) {
        self.remote_width = width;
    }

    /// This end's Sequence Window changed.
    pub const fn set_local_width(&mut self, width: u64) {
        self.local_width = width;
    }

    /// SWL to SWH, around the greatest number received (GSR).
    #[must_use]
    pub const fn sequence(&self, gsr: SequenceNumber) -> Window {
        let width = self.remote_width;
        let low = gsr.next().minus(width / 4);
        Window { low: clamped(low, self.first_received), high: gsr.plus((3 * width).div_ceil(4)) }
    }

    /// AWL to AWH, up to the greatest number sent (GSS).
    #[must_use]
    pub const fn acknowledgement(&self, gss: SequenceNumber) -> Window {
        let low = gss.next().minus(self.local_width);
        Window { low: clamped(low, self.first_sent), high: gss }
    }

    /// Drops the bounds by the first numbers once the windows are past them.
    pub const fn moved(&mut self, gsr: SequenceNumber, gss: SequenceNumber) {
        if let Some(isr) = self.first_received
            && gsr.next().minus(self.remote_width / 4).is_after(isr)
        {
            self.first_received = None;
        }
        if let Some(iss) = self.first_sent
            && gss.next().minus(self.local_width).is_after(iss)
        {
            self.first_sent = None;
        }
    }
}

const fn clamped(low: SequenceNumber, first: Option<SequenceNumber>) -> SequenceNumber {
    match first {
        Some(first) => low.max(first),
        None => low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u64) -> SequenceNumber {
        SequenceNumber::new(value)
    }

    fn ends(window: Window) -> (u64, u64) {
        (window.low.value(), window.high.value())
    }

    #[test]
    fn distances_go_the_shorter_way() {
        assert_eq!(n(5).distance_from(n(3)), 2);
        assert_eq!(n(3).distance_from(n(5)), -2);
        assert_eq!(n(1).distance_from(n(MASK)), 2);
        assert_eq!(n(MASK).distance_from(n(1)), -2);
        assert_eq!(n(CIRCLE / 2).distance_from(n(0)), -(1 << 47));
        assert_eq!(n(CIRCLE / 2 - 1).distance_from(n(0)), (1 << 47) - 1);
        assert!(n(0).is_after(n(MASK)) && !n(7).is_after(n(7)));
        assert_eq!(n(MASK).max(n(2)), n(2));
        assert_eq!(n(MASK).next(), n(0));
    }

    #[test]
    fn windows_of_the_vectors() {
        // Windows that have left the first numbers behind.
        let windows = |width| Windows {
            remote_width: width,
            local_width: width,
            first_received: None,
            first_sent: None,
        };
        assert_eq!(ends(windows(100).sequence(n(1000))), (976, 1075));
        assert_eq!(ends(windows(101).sequence(n(1000))), (976, 1076));
        assert_eq!(ends(windows(32).sequence(n(1000))), (993, 1024));
        assert_eq!(ends(windows(100).acknowledgement(n(1000))), (901, 1000));
    }

    #[test]
    fn the_first_numbers_bound_the_windows_once() {
        let mut windows = Windows::new(n(500), n(1000), 100);
        assert_eq!(windows.sequence(n(1000)).low, n(1000));
        assert_eq!(windows.acknowledgement(n(500)).low, n(500));
        windows.moved(n(1024), n(599));
        assert_eq!(windows.sequence(n(1024)).low, n(1000));
        assert!(windows.first_received.is_some() && windows.first_sent.is_some());
        windows.moved(n(1025), n(600));
        assert_eq!(windows.sequence(n(1025)).low, n(1001));
        assert!(windows.first_received.is_none() && windows.first_sent.is_none());
        // Half the circle later the old bound would have been ahead again.
        let far = n(1000).minus(2);
        assert_eq!(windows.sequence(far).low, far.minus(24));
    }

    #[test]
    fn windows_reach_over_zero() {
        let windows = Windows::new(n(MASK - 10), n(MASK - 10), 100);
        let window = windows.sequence(n(MASK - 5));
        assert_eq!(ends(window), (MASK - 10, 69));
        assert!(window.contains(n(MASK)) && window.contains(n(0)) && window.contains(n(69)));
        assert!(!window.contains(n(70)) && !window.contains(n(MASK - 11)));
    }

    #[test]
    fn short_numbers_extend_to_the_nearest() {
        for (short, reference, long) in [
            (0x00_0010, 0x0000_01ff_fff0, 0x0000_0200_0010),
            (0xff_fff0, 0x0000_0200_0010, 0x0000_01ff_fff0),
            (0x00_0005, 0x0000_0300_0000, 0x0000_0300_0005),
            (0xff_ffff, 0x0000_0300_0000, 0x0000_02ff_ffff),
            (0x00_0001, 0xffff_ffff_ffff, 0x0000_0000_0001),
            (0xff_ffff, 0x0000_0000_0001, 0xffff_ffff_ffff),
        ] {
            assert_eq!(SequenceNumber::extend(short, n(reference)), n(long), "{short:x}");
        }
    }

    #[test]
    fn every_number_within_half_the_short_circle_survives_shortening() {
        let mut random = base::Random::from_seed(4340);
        for _ in 0..100_000 {
            let reference = n(random.next_u64());
            let number = reference.plus(random.below(1 << 24)).minus(1 << 23);
            assert_eq!(SequenceNumber::extend(number.short(), reference), number);
        }
    }
}
