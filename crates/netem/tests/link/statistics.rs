//! Statistics of seeded runs. Bounds are at least four standard deviations wide, from the formula
//! next to them, and the seeds are fixed.

use netem::{Distribution, EmulatedLink};

use crate::link::run::{MS, number, run, settings};

const COUNT: u64 = 100_000;

/// Returns, for each of [`COUNT`] packets through a link with the settings `words`, true if it was
/// lost.
fn losses(words: &str, seed: u64) -> Vec<bool> {
    let mut lost = vec![true; COUNT as usize];
    for out in run(&mut EmulatedLink::new(settings(words), seed), COUNT, MS, 8) {
        lost[number(&out) as usize] = false;
    }
    lost
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

/// Returns the lengths of the runs of packets that were lost, if `value` is true, or of those that
/// were not.
fn runs(lost: &[bool], value: bool) -> Vec<usize> {
    let chunks = lost.chunk_by(|a, b| a == b);
    chunks.filter(|chunk| chunk[0] == value).map(<[bool]>::len).collect()
}

fn mean(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for number in numbers {
        sum += number;
        count += 1;
    }
    sum / f64::from(count)
}

/// Returns the correlation of each value with the next.
fn autocorrelation(values: &[f64]) -> f64 {
    let average = mean(values.iter().copied());
    let variance = mean(values.iter().map(|value| (value - average).powi(2)));
    mean(values.windows(2).map(|pair| (pair[0] - average) * (pair[1] - average))) / variance
}

#[test]
fn random_losses_are_as_many_as_said_and_do_not_lean_on_each_other() {
    for (percent, expected) in [("0.1%", 0.001), ("1%", 0.01), ("10%", 0.1), ("50%", 0.5)] {
        let lost = losses(&format!("loss {percent}"), 17);
        // Four deviations of a binomial share.
        let bound = 4.0 * (expected * (1.0 - expected) / COUNT as f64).sqrt();
        assert!((share(&lost) - expected).abs() < bound, "{percent}: {}", share(&lost));
        let values: Vec<f64> = lost.iter().map(|&lost| f64::from(u8::from(lost))).collect();
        // One over the root of the count.
        assert!(autocorrelation(&values).abs() < 4.0 / (COUNT as f64).sqrt(), "{percent}");
    }
}

#[test]
fn a_correlation_makes_runs_and_narrows() {
    // A number of which half is the previous one is a sum of halves, quarters and so on of uniform
    // ones. Its distribution is Fabius's function, which is 1/288 at 1/8 and 5/72 at 1/4.
    for (percent, expected) in [("12.5%", 1.0 / 288.0), ("25%", 5.0 / 72.0), ("50%", 0.5)] {
        let lost = losses(&format!("loss {percent} 50%"), 17);
        // Correlated numbers scatter about twice as far.
        let bound = 8.0 * (expected * (1.0 - expected) / COUNT as f64).sqrt();
        assert!((share(&lost) - expected).abs() < bound, "{percent}: {}", share(&lost));
    }
    let lost = losses("loss 50% 50%", 17);
    // Without correlation the mean is two.
    assert!(mean(runs(&lost, true).iter().map(|&len| len as f64)) > 2.5);
}

#[test]
fn gilberts_bursts_have_the_length_and_the_share_of_the_model() {
    // Bad with 1 %, good again with 20 %: 5 packets long, 1/21 of all.
    let lost = losses("loss gemodel 1% 20%", 5);
    assert!((share(&lost) - 1.0 / 21.0).abs() < 0.006, "{}", share(&lost));
    let bursts = runs(&lost, true);
    let lengths: Vec<f64> = bursts.iter().map(|&len| len as f64).collect();
    // A geometric length of mean 5 deviates by the root of 20; there are about 950 of them.
    assert!((mean(lengths.iter().copied()) - 5.0).abs() < 0.6);
    assert!((lengths.len() as f64 - 952.0).abs() < 130.0, "{}", lengths.len());
    let gaps = runs(&lost, false);
    assert!((mean(gaps.iter().map(|&len| len as f64)) - 100.0).abs() < 14.0);
}

#[test]
fn elliotts_states_lose_each_their_share() {
    // A third of the time bad, losing 60 %; two thirds good, losing 3 %: 0.6/3 + 0.03*2/3 = 22 %.
    let lost = losses("loss gemodel 10% 20% 60% 3%", 6);
    assert!((share(&lost) - 0.22).abs() < 0.01, "{}", share(&lost));
    // Defaults: out of the bad state with 1 - p, in which everything is lost, so p of all.
    let lost = losses("loss gemodel 30%", 6);
    assert!((share(&lost) - 0.3).abs() < 0.006, "{}", share(&lost));
}

#[test]
fn the_four_states_come_to_their_shares() {
    // In equilibrium 1 changes to 3 as often as 3 to 1: a thousandth against a quarter, and 2 and 3
    // exchange 10 % for 50 %. Weights 1 : 0.04*... are computed here from the words.
    let (p13, p31, p32, p23, p14) = (0.02, 0.25, 0.1, 0.5, 0.01);
    let lost = losses("loss state 2% 25% 10% 50% 1%", 8);
    let bad = p13 / p31;
    let expected = (bad + p14) / (1.0 + bad + bad * p32 / p23 + p14);
    assert!((share(&lost) - expected).abs() < 0.006, "{} {expected}", share(&lost));
    // Two states, as simple Gilbert: p31 is 1 - p13, so p13 of all.
    assert!((share(&losses("loss state 20%", 8)) - 0.2).abs() < 0.006);
    // There are never two single losses in a row.
    let alone = losses("loss state 0% 100% 0% 100% 10%", 8);
    assert_eq!(runs(&alone, true).iter().max(), Some(&1));
    assert!((share(&alone) - 0.1 / 1.1).abs() < 0.004);
}

/// Returns mean and standard deviation of a link's delays around 100 ms, and the delays themselves,
/// in units of a jitter of 10 ms.
fn delays(distribution: Distribution) -> (f64, f64, Vec<f64>) {
    let words = format!("delay 100ms 10ms distribution {} limit 100000", distribution.name());
    let out = run(&mut EmulatedLink::new(settings(&words), 23), COUNT, MS, 8);
    let delays = out.iter().map(|out| (out.at_ns as f64 - number(out) as f64 * 1e6 - 1e8) / 1e7);
    let mut delays: Vec<f64> = delays.collect();
    delays.sort_by(f64::total_cmp);
    let average = mean(delays.iter().copied());
    let variance = mean(delays.iter().map(|delay| (delay - average).powi(2)));
    (average, variance.sqrt(), delays)
}

#[test]
fn delays_have_the_mean_and_the_deviation_of_their_distribution() {
    // Uniform over two: the root of 4/12. Normal: 0 and 1, a little less for the cut tails. Pareto,
    // cut at 4 where u = 4.5^-3: mean 4/3 (1.4753 - 1.5), deviation 4/3 of the root of 2.5556 -
    // 1.4753^2.
    let bound = 4.0 / (COUNT as f64).sqrt();
    for (distribution, expected_mean, expected_deviation) in [
        (Distribution::Uniform, 0.0, 0.577_4),
        (Distribution::Normal, 0.0, 0.999),
        (Distribution::Pareto, -0.032_9, 0.820_9),
    ] {
        let (average, deviation, _) = delays(distribution);
        let name = distribution.name();
        assert!((average - expected_mean).abs() < bound, "{name}: {average}");
        assert!((deviation - expected_deviation).abs() < bound, "{name}: {deviation}");
    }
}

#[test]
fn delays_are_distributed_as_said() {
    // Kolmogorov's distance: 1.95 over the root of the count is exceeded once in a thousand.
    let bound = 1.95 / (COUNT as f64).sqrt();
    let below = |delays: &[f64], at: f64| {
        delays.partition_point(|&delay| delay < at) as f64 / delays.len() as f64
    };
    let (_, _, uniform) = delays(Distribution::Uniform);
    let (_, _, pareto) = delays(Distribution::Pareto);
    for step in 1..40 {
        let at = -1.0 + f64::from(step) / 20.0;
        assert!((below(&uniform, at) - (at + 1.0) / 2.0).abs() < bound, "uniform at {at}");
        // P(u^(-1/3) < y) = 1 - y^-3, in steps of a table with 4,096 entries.
        let y = at * 0.75 + 1.5;
        let expected = if y > 1.0 { 1.0 - y.powi(-3) } else { 0.0 };
        assert!((below(&pareto, at) - expected).abs() < bound + 1.0 / 4_096.0, "pareto at {at}");
    }
    let (_, _, normal) = delays(Distribution::Normal);
    for (at, expected) in
        [(-2.0, 0.022_75), (-1.0, 0.158_66), (0.0, 0.5), (0.5, 0.691_46), (1.5, 0.933_19)]
    {
        assert!((below(&normal, at) - expected).abs() < bound + 1.0 / 4_096.0, "normal at {at}");
    }
}

#[test]
fn a_quarter_normal_and_three_of_pareto() {
    let (average, deviation, mixed) = delays(Distribution::ParetoNormal);
    // Three quarters of the Pareto mean; the deviation is between those of both.
    assert!((average + 0.024_7).abs() < 0.012, "{average}");
    assert!((0.80..1.0).contains(&deviation), "{deviation}");
    // The sum of both tables, entry by entry: at the median 3/4 of 4/3 (2^(1/3) - 1.5).
    let median = mixed[mixed.len() / 2];
    assert!((median + 0.240_1).abs() < 0.012, "{median}");
}

#[test]
fn correlated_delays_lean_on_each_other_by_as_much_as_said() {
    for (words, expected) in [("25%", 0.25), ("0%", 0.0), ("75%", 0.75)] {
        let words = format!("delay 100ms 10ms {words} limit 100000");
        let mut out = run(&mut EmulatedLink::new(settings(&words), 29), COUNT, MS, 8);
        out.sort_by_key(number);
        let delays = out.iter().map(|out| out.at_ns as f64 - number(out) as f64 * 1e6);
        let delays: Vec<f64> = delays.collect();
        assert!((autocorrelation(&delays) - expected).abs() < 0.015, "{words}");
    }
}

#[test]
fn shares_of_all_causes_are_kept() {
    let mut link =
        EmulatedLink::new(settings("delay 1ms duplicate 5% corrupt 2% reorder 25% gap 5"), 31);
    run(&mut link, COUNT, MS, 8);
    let counters = *link.counters();
    let near = |count: u64, share: f64| (count as f64 / COUNT as f64 - share).abs() < 0.005;
    assert!(near(counters.duplicated, 0.05), "{counters:?}");
    assert!(near(counters.corrupted, 0.021), "copies too: {counters:?}");
    // Four delayed packets, then a quarter each time: one in 4 + 4, of packets and copies.
    assert!(near(counters.reordered, 1.05 / 8.0), "{counters:?}");
}
