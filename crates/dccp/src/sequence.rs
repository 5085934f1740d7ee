//! Sequence numbers of DCCP: arithmetic modulo 2^48, validity windows, and 24-bit short numbers
//! (RFC 4340 §3.1, §7.1, §7.5.1, §7.6).

use core::fmt;

/// Count of different sequence numbers; after the last one they start again at 0.
const CIRCLE: u64 = 1 << 48;
const MASK: u64 = CIRCLE - 1;
const SHORT_MASK: u64 = (1 << 24) - 1;

/// 48-bit sequence number of a DCCP packet. The shorter way between two numbers decides which
/// comes first, so there is no total order that `Ord` could express.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// Returns the sequence number with the lower 48 bits of `value`.
    pub const fn new(value: u64) -> Self {
        Self(value & MASK)
    }

    /// Returns the sequence number as an integer below 2^48.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Returns the sequence number `count` after this one.
    #[must_use]
    pub const fn plus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Returns the sequence number `count` before this one.
    #[must_use]
    pub const fn minus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_sub(count))
    }

    /// Returns the next sequence number.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Returns the number of steps from `origin` to this sequence number, -2^47 to 2^47 - 1;
    /// negative when this number comes first (RFC 4340 §3.1).
    pub const fn distance_from(self, origin: Self) -> i64 {
        let distance = self.0.wrapping_sub(origin.0) & MASK;
        if distance < CIRCLE / 2 { distance as i64 } else { distance as i64 - CIRCLE as i64 }
    }

    /// Returns true if this sequence number comes after `other`.
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }

    /// Returns the later one of two sequence numbers.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// Returns the lower 24 bits of the sequence number, for a packet with X = 0.
    pub const fn short(self) -> u64 {
        self.0 & SHORT_MASK
    }

    /// Returns the sequence number with the lower 24 bits `short` that is nearest to `reference`
    /// (RFC 4340 §7.6).
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

/// Range of valid sequence numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First valid number of the window.
    pub low: SequenceNumber,
    /// Last valid number of the window.
    pub high: SequenceNumber,
}

impl Window {
    /// Returns true if the sequence number `number` lies in the window.
    pub const fn contains(self, number: SequenceNumber) -> bool {
        number.distance_from(self.low) >= 0 && number.distance_from(self.high) <= 0
    }
}

/// Windows of valid numbers in packets of the other end: its sequence numbers around the greatest
/// one received, and its acknowledgement numbers up to the greatest one sent (RFC 4340 §7.5.1). A
/// window never begins before the first number of the connection. Once the window has moved past
/// that number, the bound is dropped; otherwise it would apply again when the numbers have gone
/// around the circle.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Sequence Window of the other end in packets (W), for its sequence numbers.
    remote_width: u64,
    /// Sequence Window of this end in packets (W'), for the other end's acknowledgement numbers.
    local_width: u64,
    first_received: Option<SequenceNumber>,
    first_sent: Option<SequenceNumber>,
}

impl Windows {
    /// Returns the windows of a connection that begins with the sequence numbers `iss` (sent) and
    /// `isr` (received).
    pub const fn new(iss: SequenceNumber, isr: SequenceNumber, width: u64) -> Self {
        Self {
            remote_width: width,
            local_width: width,
            first_received: Some(isr),
            first_sent: Some(iss),
        }
    }

    /// Sets the width of the window for the other end's sequence numbers, in packets.
    pub const fn set_remote_width(&mut self, width: u64) {
        self.remote_width = width;
    }

    /// Sets the width of the window for the other end's acknowledgement numbers, in packets.
    pub const fn set_local_width(&mut self, width: u64) {
        self.local_width = width;
    }

    /// Returns the window of valid sequence numbers, SWL to SWH, around the greatest number
    /// received (GSR).
    pub const fn sequence(&self, gsr: SequenceNumber) -> Window {
        let width = self.remote_width;
        let low = gsr.next().minus(width / 4);
        Window { low: clamped(low, self.first_received), high: gsr.plus((3 * width).div_ceil(4)) }
    }

    /// Returns the window of valid acknowledgement numbers, AWL to AWH, up to the greatest number
    /// sent (GSS).
    pub const fn acknowledgement(&self, gss: SequenceNumber) -> Window {
        let low = gss.next().minus(self.local_width);
        Window { low: clamped(low, self.first_sent), high: gss }
    }

    /// Drops the bounds of the windows at the first numbers once the windows have moved past them.
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
        // Windows that have moved past the first numbers.
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
