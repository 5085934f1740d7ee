//! Random worlds: two endpoints over two emulated links that lose up to half of the packets,
//! reorder, duplicate and corrupt them, with paths whose width changes and ends that restart, all
//! from one seed on a virtual clock.
//!
//! In each world every connection closes, no datagram is delivered twice, changed, or to another
//! connection than the one that it was sent on, no state is impossible, and memory stays bounded.
//! `GODWIT_WORLD_SEED=s` runs one world and prints its report, `GODWIT_WORLD_SEEDS=n` runs n
//! worlds, from `GODWIT_WORLD_FIRST` on; `cargo xtask dccp-worlds` runs 10,000 of each kind.

mod application;
mod linux;
mod plan;
mod witness;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plan::{DccpSimulationPlan, LinuxKind};
use world::{DccpSimulation, DccpSimulationReport};

const COMMAND: &str = "cargo test -p dccp --test main worlds:: -- --nocapture";
/// Number of worlds in a run.
const WORLDS_COUNT: u64 = 10_000;
/// Number of threads that share the worlds of a run.
const THREADS_COUNT: usize = 2;
/// Largest number of bytes that a world may hold at once: both ends, both links, and the records of
/// the test.
const WORLD_BYTES_MAX: u64 = 1 << 18;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Runs the world of `seed`. After a failure it prints the command that repeats it.
fn run(seed: u64) -> Result<DccpSimulationReport, u64> {
    let mut outcome = Ok(DccpSimulationReport::default());
    let counted = allocation_counter::measure(|| {
        // Caught inside, because the counting must come to its end.
        outcome = catch_unwind(AssertUnwindSafe(|| {
            DccpSimulation::new(DccpSimulationPlan::from_seed(seed)).run()
        }));
    });
    let allocated_bytes = counted.bytes_max;
    if allocated_bytes > WORLD_BYTES_MAX && outcome.is_ok() {
        outcome = Err(Box::new("too much is held"));
        eprintln!("{allocated_bytes} octets held");
    }
    if let Ok(report) = &mut outcome {
        report.allocated_bytes_max = allocated_bytes;
    }
    outcome.map_err(|_| {
        let plan = DccpSimulationPlan::from_seed(seed);
        eprintln!("world {seed}\n{plan}\nrepeat with: GODWIT_WORLD_SEED={seed} {COMMAND}\n");
        seed
    })
}

/// Returns the seeds of a run: `count` of them, unless an environment variable sets another number.
fn seeds(count: u64) -> Range<u64> {
    let first = number("GODWIT_WORLD_FIRST").unwrap_or(0);
    first..first + number("GODWIT_WORLD_SEEDS").unwrap_or(count)
}

/// Runs the worlds of all seeds, spread over threads. Returns the sum of the reports, and the
/// worlds that failed.
fn spread<F: Send>(
    seeds: &Range<u64>,
    live_one: impl Fn(u64) -> (DccpSimulationReport, Vec<F>) + Sync,
) -> (DccpSimulationReport, Vec<F>) {
    let live_share = |share: usize| {
        let (mut total, mut failed) = (DccpSimulationReport::default(), Vec::new());
        for seed in seeds.clone().skip(share).step_by(THREADS_COUNT) {
            let (report, failures) = live_one(seed);
            total.add(&report);
            failed.extend(failures);
        }
        (total, failed)
    };
    let (mut total, mut failed) = (DccpSimulationReport::default(), Vec::new());
    std::thread::scope(|scope| {
        let live_share = &live_share;
        let threads: Vec<_> =
            (0..THREADS_COUNT).map(|share| scope.spawn(move || live_share(share))).collect();
        for thread in threads {
            let (report, failures) = thread.join().expect("failures are caught");
            total.add(&report);
            failed.extend(failures);
        }
    });
    (total, failed)
}

#[test]
fn every_connection_closes_and_nothing_arrives_twice_or_changed() {
    if let Some(seed) = number("GODWIT_WORLD_SEED") {
        println!(
            "{}\n{:#?}",
            DccpSimulationPlan::from_seed(seed),
            run(seed).expect("a world that holds")
        );
        return;
    }
    let seeds = seeds(WORLDS_COUNT);
    let (total, failed) = spread(&seeds, |seed| match run(seed) {
        Ok(report) => (report, Vec::new()),
        Err(seed) => (DccpSimulationReport::default(), vec![seed]),
    });
    let count = seeds.end - seeds.start;
    println!("dccp-worlds: {count} worlds: {total:?}");
    assert!(failed.is_empty(), "{} worlds failed: {failed:?}", failed.len());
    if count >= 1_000 {
        // Worlds without events prove nothing: a thousand worlds must have this many of each.
        for (name, seen, per_thousand) in total.shares() {
            assert!(seen * 1_000 >= per_thousand * count, "too little of {name}: {total:#?}");
        }
    }
}

/// Number of worlds of each kind in which one end behaves like Linux.
const LINUX_COUNT: u64 = 600;
const LINUX_KINDS: [LinuxKind; 4] =
    [LinuxKind::Clean, LinuxKind::Lossy, LinuxKind::NoCommonCcid, LinuxKind::Fast];
/// Number of seeds for one fast world ([`LinuxKind::Fast`]), which takes as long as ten others.
const FAST_EVERY: u64 = 10;

/// Returns true if a world with an end like Linux has the right result.
fn is_right(plan: &DccpSimulationPlan, kind: LinuxKind, report: &DccpSimulationReport) -> bool {
    let lost = report.accepted.saturating_sub(report.delivered);
    // Linux ends a connection whose first packet after its Response is a Sync (in RFC 4340 §8.5
    // step 7 answers with a Sync). A client sends one for a packet that comes too late, and it may
    // overtake.
    if report.refusals > 0 && kind != LinuxKind::NoCommonCcid {
        return report.connected < 2 && report.syncs > 0;
    }
    match kind {
        // A stalled sender's queue alone would accept half a dozen.
        LinuxKind::Clean => report.connected == 2 && report.accepted >= 15 && lost == 0,
        // Lost Requests leave little time: Linux repeats its own after 3 s.
        LinuxKind::Lossy => {
            let has_met = report.connected == 2 || (report.accepted == 0 && report.lost >= 2);
            has_met && lost <= 2 + report.accepted / 10
        }
        // Linux drops data whose acknowledgement is outside of its own window, and sends a Sync.
        LinuxKind::Fast => {
            report.connected == 2 && report.accepted >= 100 && lost <= report.accepted / 20
        }
        // A client of this crate reports the reason to its user; a server does not report a
        // Request.
        LinuxKind::NoCommonCcid => {
            report.accepted == 0 && (plan.linux != Some(true) || report.disagreements == 1)
        }
    }
}

/// Runs the worlds of a seed in which one end behaves like Linux, one of each kind. Returns the sum
/// of the reports, and the kinds that failed.
fn live_with_linux(seed: u64) -> (DccpSimulationReport, Vec<(u64, LinuxKind)>) {
    let (mut total, mut failed) = (DccpSimulationReport::default(), Vec::new());
    for kind in LINUX_KINDS {
        if kind == LinuxKind::Fast && !seed.is_multiple_of(FAST_EVERY) {
            continue;
        }
        let plan = DccpSimulationPlan::with_linux(seed, kind);
        let outcome = catch_unwind(AssertUnwindSafe(|| DccpSimulation::new(plan.clone()).run()));
        if outcome.as_ref().is_ok_and(|report| is_right(&plan, kind, report)) {
            total.add(outcome.as_ref().expect("it was just looked at"));
        } else {
            eprintln!(
                "{kind:?}\n{plan}{outcome:?}\nrepeat with: GODWIT_WORLD_SEED={seed} {COMMAND}\n"
            );
            failed.push((seed, kind));
        }
    }
    (total, failed)
}

#[test]
fn all_that_is_sent_to_or_by_linux_arrives() {
    let one = number("GODWIT_WORLD_SEED").map(|seed| seed..seed + 1);
    let seeds = one.unwrap_or_else(|| seeds(LINUX_COUNT));
    let (total, failed) = spread(&seeds, live_with_linux);
    let count = seeds.end - seeds.start;
    println!("dccp-worlds: {count} seeds with Linux: {total:?}");
    assert!(failed.is_empty(), "{} worlds failed: {failed:?}", failed.len());
    if count >= 100 {
        let rare = total.overtaken_starts.min(total.disagreements);
        assert!(rare >= count / 50, "{total:?}");
        assert!(total.refusals <= count / 50, "{total:?}");
    }
}

#[test]
fn the_same_seed_lives_the_same_world() {
    for seed in [3, 77, 501, 9_000] {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
