//! Throughput equation of TCP (RFC 5348 §3.1), with b = 1 and a retransmission timeout of four
//! round trips, and its inverse (§6.3.1).

/// Returns the denominator f(p) of the throughput equation for the loss event rate `p`: a sender's
/// packets per round trip are 1 / f(p). Returns 0 without losses.
pub fn f(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

/// Returns the rate in bytes per second that TCP would reach with packets of `segment_bytes`, a
/// round-trip time of `rtt_s` and a loss event rate of `p` (above 0).
pub fn rate(segment_bytes: f64, rtt_s: f64, p: f64) -> f64 {
    segment_bytes / (rtt_s * f(p))
}

/// Returns the loss event rate at which the throughput equation gives `rate` bytes per second, at
/// most 1.
pub fn loss_event_rate(segment_bytes: f64, rtt_s: f64, rate: f64) -> f64 {
    let target = segment_bytes / (rtt_s * rate);
    if f(1.0) <= target {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    // f grows with p; 60 halvings are exact to the last digit that matters.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) < target { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(value: f64, expected: f64, digits: f64) {
        assert!((value - expected).abs() <= digits, "{value} is not {expected}");
    }

    #[test]
    fn f_of_the_worked_numbers() {
        for (p, expected) in [
            (1e-4, 0.008_172),
            (5e-4, 0.018_340),
            (1e-3, 0.026_052),
            (2e-3, 0.037_172),
            (5e-3, 0.060_335),
            (0.01, 0.089_022),
            (0.02, 0.136_521),
            (0.05, 0.271_305),
            (0.1, 0.564_939),
            (0.2, 1.863_717),
            (0.5, 23.960_036),
            (1.0, 243.315_981),
        ] {
            assert_near(f(p), expected, 6e-7);
        }
    }

    #[test]
    fn rates_of_the_worked_numbers() {
        for (s, r, p, expected) in [
            (1424.0, 0.150, 0.1, 16_804.17),
            (1424.0, 0.040, 0.01, 399_902.75),
            (1424.0, 0.300, 0.1, 8_402.08),
            (1424.0, 0.080, 0.01, 199_951.38),
            (1460.0, 0.100, 0.01, 164_005.06),
            (1460.0, 0.100, 0.001, 560_411.70),
            (1460.0, 0.200, 0.0001, 893_259.82),
            (1000.0, 0.100, 0.05, 36_858.85),
            (256.0, 0.050, 0.02, 37_503.47),
            (100.0, 0.200, 0.1, 885.05),
            (1424.0, 0.100, 1.0, 58.52),
        ] {
            assert_near(rate(s, r, p), expected, 0.006);
        }
        assert_near(rate(1424.0, 0.0005, 0.001), 109_318_666.0, 1.0);
    }

    #[test]
    fn the_inverse_of_the_worked_numbers() {
        for (s, r, x, p, length) in [
            (1424.0, 0.15, 16_803.0, 0.100_005, 10.00),
            (1424.0, 0.04, 400_000.0, 0.009_996, 100.04),
            (1460.0, 0.1, 146_000.0, 0.012_173, 82.15),
            (1424.0, 0.1, 1424.0 * 0.5 / 0.1, 0.206_429, 4.844),
            (1424.0, 0.01, 11.8e6, 0.000_218, 4_596.0),
        ] {
            let rate = loss_event_rate(s, r, x);
            assert_near(rate, p, 6e-7);
            assert_near(1.0 / rate, length, length * 2e-4);
        }
        assert_near(loss_event_rate(1000.0, 1.0, 1.0), 1.0, 0.0);
    }
}
