//! Cost of a feature: time per exchange (DORA, SARR) of a shard that keeps its leases in memory,
//! for a plain configuration and for others that differ from it by one feature.
//!
//! `cargo run --release -p dhcp-engine --example features` runs all of them in turn, round after
//! round, and prints medians and the median ratio to the plain one of the same round. A part of a
//! name as argument runs those that contain it; a number sets another count of rounds. For
//! instructions:
//!
//! ```sh
//! valgrind --tool=callgrind --toggle-collect='*measured*' features --once v4 plain
//! ```

#![allow(unreachable_pub, reason = "modules of an example")]

mod events;
mod lists;
mod v4;
mod v6;

use std::time::Instant;

use base::Now;
use base::time::NS_PER_S;

/// Number of exchanges of one round.
const EXCHANGES: u32 = 1_000;
const ROUNDS: usize = 21;
/// Number of exchanges before the first round, which grow buffers to their working size.
const WARM_UP: u32 = 2_000;

const START: Now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };

/// Server with its clients, each of which comes once.
trait FeatureServer {
    /// Serves the next clients.
    fn exchange(&mut self, count: u32);
}

/// Measured feature, with its name.
struct MeasuredFeature {
    family: &'static str,
    name: &'static str,
    make: Box<dyn Fn() -> Box<dyn FeatureServer>>,
}

/// Runs exchanges; callgrind counts only this function.
#[inline(never)]
fn measured(bench: &mut dyn FeatureServer, count: u32) {
    bench.exchange(count);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs features in turn. The first one of a family is the plain one.
fn play(features: &[MeasuredFeature], rounds: usize) {
    let mut benches: Vec<_> = features.iter().map(|feature| (feature.make)()).collect();
    benches.iter_mut().for_each(|bench| bench.exchange(WARM_UP));
    let mut times = vec![Vec::new(); benches.len()];
    for _ in 0..rounds {
        for (bench, times) in benches.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            measured(&mut **bench, EXCHANGES);
            times.push(begun.elapsed().as_nanos() as f64 / f64::from(EXCHANGES));
        }
    }
    for (at, feature) in features.iter().enumerate() {
        let plain = features.iter().position(|plain| plain.family == feature.family);
        let plain = &times[plain.unwrap_or(at)];
        let mut ratios: Vec<f64> = times[at].iter().zip(plain).map(|(own, p)| own / p).collect();
        let time = median(&mut times[at].clone());
        let (family, name) = (feature.family, feature.name);
        println!("{family}  {name:<44} {time:>9.0} ns  {:>6.2}", median(&mut ratios));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = || v4::features().into_iter().chain(v6::features());
    if let [once, family, name] = &arguments[..]
        && once == "--once"
    {
        let is_requested =
            |feature: &MeasuredFeature| feature.family == family && feature.name == name;
        let feature =
            all().find(is_requested).unwrap_or_else(|| panic!("no feature {family} {name}"));
        let mut bench = (feature.make)();
        bench.exchange(WARM_UP);
        measured(&mut *bench, EXCHANGES);
        return println!("{family} {name}: {EXCHANGES} exchanges");
    }
    let rounds = arguments.iter().find_map(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let names: Vec<&String> = arguments.iter().filter(|a| a.parse::<usize>().is_err()).collect();
    let is_selected = |feature: &MeasuredFeature| {
        let is_listed = names.iter().any(|name| feature.name.contains(name.as_str()));
        names.is_empty() || feature.name == "plain" || is_listed
    };
    play(&all().filter(is_selected).collect::<Vec<_>>(), rounds);
}
