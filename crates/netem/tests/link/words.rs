//! Tests of parsing and printing the words of link settings.

use core::num::NonZeroU64;

use base::Random;
use netem::{
    BucketLimit, Delay, Distribution, LinkLayer, LinkSettings, Loss, Peak, RandomEvent, Rate,
    Reorder, SlotInterval, SlotSettings, TokenBucket, UnitShare, WordProblem,
};

use crate::link::run::settings;

const fn per_s(bytes: u64) -> NonZeroU64 {
    NonZeroU64::new(bytes).expect("not 0")
}

const fn often(percent: u32, correlation: u32) -> RandomEvent {
    RandomEvent { share: UnitShare::percent(percent), correlation: UnitShare::percent(correlation) }
}

#[test]
fn the_words_of_the_manual() {
    let words = "delay 75ms 10ms 25% distribution normal loss 10% reorder 25% 50% gap 5 duplicate 1% \
                 corrupt 0.1% rate 20mbit limit 1000";
    let expected = LinkSettings {
        limit_packets: 1_000,
        delay: Delay {
            base_ns: 75_000_000,
            jitter_ns: 10_000_000,
            correlation: UnitShare::percent(25),
            distribution: Distribution::Normal,
        },
        loss: Loss::Random(often(10, 0)),
        reorder: Some(Reorder { often: often(25, 50), gap: 5 }),
        duplicate: often(1, 0),
        corrupt: RandomEvent {
            share: UnitShare::from_bits(4_294_967),
            correlation: UnitShare::NONE,
        },
        rate: Some(Rate {
            bytes_per_s: per_s(2_500_000),
            packet_overhead_bytes: 0,
            cell_bytes: 0,
            cell_overhead_bytes: 0,
        }),
        ..LinkSettings::default()
    };
    assert_eq!(settings(words), expected);
    assert_eq!(settings(&format!("netem {words}")), expected);
}

#[test]
fn a_bucket_behind() {
    let bucket = TokenBucket {
        bytes_per_s: per_s(12_500_000),
        burst_bytes: 5 * 1_024,
        limit: BucketLimit::Time { latency_ns: 50_000_000 },
        peak: None,
        packet_bytes_min: 0,
        overhead_bytes: 0,
        link_layer: LinkLayer::Ethernet,
    };
    let alone = settings("tbf rate 100mbit burst 5kb latency 50ms");
    assert_eq!(alone, LinkSettings { bucket: Some(bucket), ..LinkSettings::default() });
    let full = settings(
        "delay 1ms tbf rate 100mbit buffer 5kb/8 limit 30000 peakrate 1gbit minburst 2kb mpu 64 \
         overhead 14 linklayer adsl",
    );
    let expected = TokenBucket {
        limit: BucketLimit::Bytes(30_000),
        peak: Some(Peak { bytes_per_s: per_s(125_000_000), burst_bytes: 2_048 }),
        packet_bytes_min: 64,
        overhead_bytes: 14,
        link_layer: LinkLayer::Atm,
        ..bucket
    };
    assert_eq!((full.bucket, full.delay.base_ns), (Some(expected), 1_000_000));
}

#[test]
fn every_loss_model_with_its_defaults() {
    let [p1, p2, p3, p99] = [1, 2, 3, 99].map(UnitShare::percent);
    let loss = |words: &str| settings(words).loss;
    assert_eq!(loss("loss 10% 25%"), Loss::Random(often(10, 25)));
    assert_eq!(loss("drop random 10"), Loss::Random(often(10, 0)));
    assert_eq!(loss("loss 0%"), Loss::None);
    let state = Loss::State {
        p13: p1,
        p31: p99,
        p32: UnitShare::NONE,
        p23: UnitShare::ALL,
        p14: UnitShare::NONE,
    };
    assert_eq!(loss("loss state 1%"), state);
    let state = Loss::State { p13: p1, p31: p2, p32: p3, p23: p99, p14: p1 };
    assert_eq!(loss("loss state 1% 2% 3% 99% 1%"), state);
    let gilbert = Loss::Gilbert {
        to_bad: p1,
        to_good: p99,
        bad_loss: UnitShare::ALL,
        good_loss: UnitShare::NONE,
    };
    assert_eq!(loss("loss gemodel 1%"), gilbert);
    let gilbert = Loss::Gilbert { to_bad: p1, to_good: p2, bad_loss: p99, good_loss: p3 };
    assert_eq!(loss("loss gemodel 1% 2% 99% 3%"), gilbert);
}

#[test]
fn slots() {
    let slot = |words: &str| settings(words).slot.unwrap();
    let between = |min_ns, max_ns| SlotInterval::Between { min_ns, max_ns };
    let expected =
        SlotSettings { opening: between(800_000, 800_000), packets_max: 0, bytes_max: 0 };
    assert_eq!(slot("slot 800us"), expected);
    let expected =
        SlotSettings { opening: between(800_000, 1_000_000), packets_max: 42, bytes_max: 65_536 };
    assert_eq!(slot("slot 800us 1ms packets 42 bytes 64k"), expected);
    let expected = SlotSettings {
        opening: SlotInterval::Around {
            base_ns: 10_000_000,
            jitter_ns: 2_000_000,
            distribution: Distribution::Pareto,
        },
        packets_max: 0,
        bytes_max: 100,
    };
    assert_eq!(slot("slot distribution pareto 10ms 2ms bytes 100"), expected);
}

#[test]
fn units_mean_what_they_mean_to_tc() {
    let delay = |word: &str| settings(&format!("delay {word}")).delay.base_ns;
    let times = ["1", "1ns", "1.5us", "2MSEC", "0.25secs", "7s"].map(delay);
    assert_eq!(times, [1, 1, 1_500, 2_000_000, 250_000_000, 7_000_000_000]);
    let rate = |word: &str| settings(&format!("rate {word}")).rate.unwrap().bytes_per_s.get();
    let rates = ["800", "8kbit", "8Kibit", "1mbit", "2.5gbit", "3Bps", "1kBps", "1MiBps"].map(rate);
    assert_eq!(rates, [100, 1_000, 1_024, 125_000, 312_500_000, 3, 1_000, 1 << 20]);
    let limit = |word: &str| settings(&format!("limit {word}")).limit_packets;
    assert_eq!(["7", "2k", "1kb", "8kbit", "1.5m"].map(limit), [7, 2_048, 1_024, 1_024, 1_572_864]);
    let bucket = settings("tbf rate 1mbit burst 2kb latency 400").bucket.unwrap();
    assert_eq!(
        bucket.limit,
        BucketLimit::Time { latency_ns: 400_000 },
        "tbf counts in microseconds"
    );
    let overheads = settings("rate 1mbit -14 48 -2").rate.unwrap();
    let overheads =
        (overheads.packet_overhead_bytes, overheads.cell_bytes, overheads.cell_overhead_bytes);
    assert_eq!(overheads, (-14, 48, -2));
}

#[test]
fn words_may_be_cut_short() {
    let short =
        settings("lim 5 lat 10ms 2ms dist pareto dr 1% dup 2% cor 3% reo 5% g 3 ra 1mbit s 7");
    let long = settings(
        "limit 5 delay 10ms 2ms distribution pareto loss 1% duplicate 2% corrupt 3% reorder 5% gap 3 \
         rate 1mbit seed 7",
    );
    assert_eq!(short, long);
    assert_eq!(settings("delay 1ms reorder 0%").reorder, None);
}

/// Returns positions and messages of all problems in `words`.
fn problems(words: &str) -> Vec<(usize, String)> {
    let problems = LinkSettings::parse(words).expect_err(words);
    assert!(problems.iter().all(|problem| !problem.help.is_empty()));
    problems.into_iter().map(|problem| (problem.offset_bytes, problem.message)).collect()
}

#[test]
fn everything_wrong_is_said_at_once_and_where() {
    let words = "delay 75mx loss 101% rate 0bit bogus limit";
    let expected = [
        (6, "invalid value `75mx` of `delay`"),
        (16, "invalid value `101%` of `loss`"),
        (26, "invalid value `0bit` of `rate`"),
        (31, "unknown keyword `bogus`"),
        (42, "the value of `limit` is missing"),
    ];
    assert_eq!(problems(words), expected.map(|(at, message)| (at, message.to_owned())));
    let first: &WordProblem = &LinkSettings::parse(words).unwrap_err()[0];
    assert_eq!(
        first.to_string(),
        "column 7: invalid value `75mx` of `delay`; a time is a number with s, ms, us or \
         ns, such as 75ms \
         or 1.5s"
    );
}

#[test]
fn what_must_be_together_is_asked_for() {
    for (words, at, message) in [
        ("reorder 5%", 0, "`reorder` has no effect without `delay`"),
        ("delay 1ms gap 5", 10, "`gap` has no effect without `reorder`"),
        ("delay 1ms distribution normal", 10, "`distribution` has no effect without jitter"),
        ("ecn", 0, "`ecn` has no effect without `loss`"),
        ("loss 1% loss 2%", 8, "`loss` is given twice"),
        ("delay 1ms latency 2ms", 10, "`delay` is given twice"),
        ("loss state 60% 60% 50%", 5, "p31 and p32 of `loss state` add up to more than 100 %"),
        ("loss state 60% 1% 1% 1% 41%", 5, "p13 and p14 of `loss state` add up to more than 100 %"),
        ("slot 5ms 4ms", 9, "`4ms` is below the minimum of `slot`"),
        ("slot", 4, "the value of `slot` is missing"),
        ("slot often", 5, "invalid value `often` of `slot`"),
        ("loss sometimes", 5, "invalid value `sometimes` of `loss`"),
        (
            "delay 1ms 1us distribution experimental",
            27,
            "invalid value `experimental` of `distribution`",
        ),
        ("rate 10%", 5, "invalid value `10%` of `rate`"),
        ("limit 5000000000", 6, "invalid value `5000000000` of `limit`"),
        ("delay -1ms", 6, "invalid value `-1ms` of `delay`"),
        ("delay 1.2.3ms", 6, "invalid value `1.2.3ms` of `delay`"),
        (
            "tbf rate 1mbit burst 5kb latency 1ms limit 5",
            25,
            "`latency` and `limit` both set the size of the queue",
        ),
        ("tbf rate 1mbit burst 0 limit 5", 21, "invalid value `0` of `burst`"),
        (
            "tbf rate 1mbit burst 5kb limit 5 peakrate 1mbit mtu 1",
            33,
            "`peakrate` is not above `rate`",
        ),
        ("tbf rate 1mbit burst 5kb limit 5 peakrate 2mbit", 0, "`mtu` of tbf is missing"),
        ("tbf rate 1mbit burst 5kb limit 5 delay 5ms", 33, "unknown keyword `delay` of tbf"),
    ] {
        let parsed = problems(words);
        assert_eq!(parsed[0], (at, message.to_owned()), "{words}");
    }
    let found: Vec<_> = problems("delay 1ms tbf").into_iter().map(|(at, _)| at).collect();
    assert_eq!(found, [10, 10, 10], "rate, burst and room");
}

fn share(random: &mut Random) -> UnitShare {
    match random.below(4) {
        0 => UnitShare::NONE,
        1 => UnitShare::percent(random.below(101) as u32),
        _ => UnitShare::from_bits(random.next_u32()),
    }
}

fn size(random: &mut Random, bits: u64) -> u64 {
    (random.next_u64() >> (64 - bits) >> random.below(bits)).max(1)
}

fn sometimes(random: &mut Random) -> RandomEvent {
    RandomEvent { share: share(random), correlation: share(random) }
}

fn loss(random: &mut Random) -> Loss {
    match random.below(4) {
        0 => Loss::None,
        1 => Loss::Random(RandomEvent { share: UnitShare::percent(3), correlation: share(random) }),
        2 => {
            let half = |share: UnitShare| UnitShare::from_bits(share.bits() / 2);
            let [p13, p31, p32, p23, p14] = core::array::from_fn(|_| half(share(random)));
            Loss::State { p13, p31, p32, p23, p14 }
        }
        _ => {
            let [to_bad, to_good, bad_loss, good_loss] = core::array::from_fn(|_| share(random));
            Loss::Gilbert { to_bad, to_good, bad_loss, good_loss }
        }
    }
}

fn slot(random: &mut Random) -> SlotSettings {
    let (min_ns, span_ns) = (size(random, 40), size(random, 40));
    let distribution = *random.pick(&Distribution::ALL).unwrap();
    let opening = match random.below(2) {
        0 => SlotInterval::Between { min_ns, max_ns: min_ns + span_ns },
        _ => SlotInterval::Around { base_ns: min_ns, jitter_ns: span_ns, distribution },
    };
    let mut budget = || if random.chance(1, 2) { 0 } else { size(random, 32) as u32 };
    SlotSettings { opening, packets_max: budget(), bytes_max: budget() }
}

fn bucket(random: &mut Random) -> TokenBucket {
    let rate = size(random, 40);
    let room = match random.below(2) {
        0 => BucketLimit::Bytes(size(random, 40)),
        _ => BucketLimit::Time { latency_ns: size(random, 40) },
    };
    let peak = Peak { bytes_per_s: per_s(rate + size(random, 40)), burst_bytes: size(random, 32) };
    TokenBucket {
        bytes_per_s: per_s(rate),
        burst_bytes: size(random, 40),
        limit: room,
        peak: random.chance(1, 2).then_some(peak),
        packet_bytes_min: random.below(3) as u32 * 40,
        overhead_bytes: random.below(3) as u16 * 7,
        link_layer: *random.pick(&[LinkLayer::Ethernet, LinkLayer::Atm]).unwrap(),
    }
}

fn any_settings(random: &mut Random) -> LinkSettings {
    let delay = Delay {
        base_ns: size(random, 40),
        jitter_ns: size(random, 40),
        correlation: share(random),
        distribution: *random.pick(&Distribution::ALL).unwrap(),
    };
    let loss = loss(random);
    let reorder = Reorder {
        often: RandomEvent { share: UnitShare::percent(5), correlation: share(random) },
        gap: size(random, 32) as u32,
    };
    let rate = Rate {
        bytes_per_s: per_s(size(random, 62)),
        packet_overhead_bytes: random.below(3) as i32 * 20 - 20,
        cell_bytes: random.below(2) as u32 * 48,
        cell_overhead_bytes: random.below(3) as i32 * 5 - 5,
    };
    LinkSettings {
        limit_packets: random.next_u32(),
        delay: if random.chance(1, 2) { delay } else { Delay { base_ns: 5, ..Delay::default() } },
        loss,
        marks: loss != Loss::None && random.chance(1, 2),
        duplicate: sometimes(random),
        corrupt: sometimes(random),
        reorder: random.chance(1, 2).then_some(reorder),
        rate: random.chance(1, 2).then_some(rate),
        slot: random.chance(1, 2).then(|| slot(random)),
        seed: random.chance(1, 2).then(|| random.next_u64()),
        bucket: random.chance(1, 2).then(|| bucket(random)),
    }
}

#[test]
fn all_settings_are_printed_as_words_that_give_them_again() {
    let mut random = Random::from_seed(0x7c);
    for _ in 0..20_000 {
        let any = any_settings(&mut random);
        let words = any.to_string();
        assert_eq!(LinkSettings::parse(&words), Ok(any), "{words}");
    }
}

#[test]
fn what_is_printed_is_what_one_would_write() {
    for words in [
        "limit 1000",
        "limit 2000 delay 75ms 10ms 25% distribution normal loss 10% 3% ecn corrupt 0.1% duplicate 1% \
         reorder 25% 50% gap 5 rate 20mbit 34 seed 42",
        "limit 1000 loss gemodel 1% 10% 100% 0% slot 800us 1ms packets 5 bytes 64kb",
        "limit 1000 delay 0ns 2us rate 1gbit 0 48 5 tbf rate 100mbit burst 5kb latency 50ms",
        "limit 1000 tbf rate 1500kbit burst 10000b limit 30000b peakrate 2mbit mtu 1540b",
    ] {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(settings(&words).to_string(), words);
    }
}
