//! Tests of the comparison of two simulated results: their ratio, and every reason for which they
//! may not be compared.

use std::sync::LazyLock;

use crate::simulated::{Lab, MODELS, full_plan};
use base::Random;
use measure::compare::{COMPARE_SCHEMA, Comparison, ReasonKind, compare};
use measure::statistics::RatioInterval;
use measure::summary::{RunFigure, RunSummary, digest};
use report::render_comparison;

/// Measures Godwit and Kea in the simulated lab; Godwit reaches `share` of its capacity.
fn measured(seed: u64, share: f64) -> RunSummary {
    let mut plan = full_plan();
    plan.seed = seed;
    plan.sampling_interval_ms = 5_000;
    plan.curve.fractions = vec![0.5];
    let mut lab = Lab::new(plan);
    let mut models = [MODELS[0], MODELS[1], MODELS[4]];
    models[1].capacity_per_s *= share;
    models[1].cost_s /= share;
    lab.measure(&models);
    digest(&lab.run(), &lab.trials)
}

static A: LazyLock<RunSummary> = LazyLock::new(|| measured(1, 1.0));
static B: LazyLock<RunSummary> = LazyLock::new(|| measured(3, 0.8));

fn side_by_side(a: &RunSummary, b: &RunSummary) -> Comparison {
    compare(("results/a", a), ("results/b", b), false)
}

/// Returns the kinds of reasons against comparing result A with result B, which `change` has
/// changed, and the reasons' texts.
fn reasons(change: impl FnOnce(&mut RunSummary)) -> (Vec<ReasonKind>, String) {
    let mut changed = B.clone();
    change(&mut changed);
    let comparison = side_by_side(&A, &changed);
    assert_eq!(comparison.is_comparable, comparison.reasons.is_empty());
    assert_eq!(comparison.servers.is_empty(), !comparison.is_comparable);
    let words: Vec<String> = comparison.reasons.iter().map(|r| r.words.clone()).collect();
    (comparison.reasons.iter().map(|reason| reason.kind).collect(), words.join("; "))
}

fn refused(kind: ReasonKind, words: &str, change: impl FnOnce(&mut RunSummary)) {
    let (kinds, words_of_reasons) = reasons(change);
    assert_eq!(kinds, [kind], "{words_of_reasons}");
    assert!(words_of_reasons.contains(words), "{words_of_reasons}");
}

#[test]
fn a_change_is_found_with_its_size_and_nothing_else_is() {
    let comparison = side_by_side(&A, &B);
    assert_eq!(comparison.reasons, []);
    assert_eq!(comparison.a.plan_hash, comparison.b.plan_hash);
    let [godwit, kea] = comparison.servers.as_slice() else { panic!("two servers") };
    for interval in [godwit.leases_per_s.unwrap(), godwit.of_limit.unwrap()] {
        assert!(interval.low < 0.8 && 0.8 < interval.high && interval.high < 0.9, "{interval:?}");
    }
    let per_cpu = godwit.leases_per_cpu_s.unwrap();
    assert!((per_cpu.ratio - 0.8).abs() < 0.01, "{per_cpu:?}");
    let share = godwit.cpu_of_limit.unwrap();
    assert!((share.ratio - 0.8).abs() < 0.02, "{share:?}");
    for interval in [kea.leases_per_s.unwrap(), kea.of_limit.unwrap()] {
        assert!(interval.low < 1.0 && 1.0 < interval.high, "{interval:?}");
    }
    assert_eq!((godwit.a.values.len(), godwit.a.is_interval), (9, true));
    let top = godwit.a.latency_max.unwrap();
    assert!(top.latency.count > 0 && top.loss <= 0.025, "{top:?}");
    assert!(comparison.method.contains("Yuen"), "{}", comparison.method);
    assert_eq!(comparison.notes, ["plan: seed is 1 in A, 3 in B"]);
}

#[test]
fn the_ratio_is_that_of_scipy() {
    // SciPy 1.17.1 gives t and df by stats.ttest_ind(log(b), log(a), equal_var=False,
    // trim=1/9 + 1e-9); the ratio is exp of the difference d of stats.trim_mean of both logarithms,
    // and its interval exp of d more or less t.ppf(0.975, df) times d over t.
    let a =
        [41_230.0, 40_120.0, 43_510.0, 39_990.0, 42_040.0, 41_870.0, 28_700.0, 44_020.0, 40_760.0];
    let b =
        [51_230.0, 50_120.0, 46_510.0, 52_990.0, 49_040.0, 51_870.0, 58_700.0, 50_020.0, 53_760.0];
    let with = |summary: &RunSummary, values: [f64; 9]| {
        let mut summary = summary.clone();
        for (run, value) in summary.results[0].runs.iter_mut().zip(values) {
            run.counts_as = Some(value);
        }
        summary
    };
    let comparison = side_by_side(&with(&A, a), &with(&B, b));
    let ratio = comparison.servers[0].leases_per_s.unwrap();
    for (got, expected) in [
        (ratio.ratio, 1.239_972_512_165_796),
        (ratio.low, 1.182_694_816_595_317_3),
        (ratio.high, 1.300_024_156_149_534),
    ] {
        assert!((got / expected - 1.0).abs() < 1e-9, "{got} is not {expected}");
    }
}

#[test]
fn a_result_against_itself_is_one() {
    let comparison = side_by_side(&A, &A);
    for server in &comparison.servers {
        for interval in [server.leases_per_s, server.leases_per_cpu_s, server.of_limit] {
            let interval = interval.unwrap();
            assert!(
                (interval.ratio - 1.0).abs() < 1e-12 && interval.low <= 1.0 && interval.high >= 1.0
            );
        }
    }
    assert_eq!((comparison.notes.len(), comparison.schema.as_str()), (0, COMPARE_SCHEMA));
}

#[test]
fn plans_that_decide_otherwise_are_refused_with_their_keys() {
    refused(ReasonKind::Plan, "search.deadline_s (2.0 in A, 1.0 in B)", |b| {
        b.plan.search.deadline_s = 1.0;
    });
    // A generator whose turns are apart saves the server work, too.
    refused(ReasonKind::Plan, "clients.turn_us (0 in A, 100 in B)", |b| {
        b.plan.clients.turn_us = 100;
    });
    let (kinds, words_of_reasons) = reasons(|b| {
        b.plan.name = "mine".to_owned();
        b.plan.void.steal_percent = 50.0;
    });
    assert_eq!(kinds, [ReasonKind::Plan], "one reason with all keys");
    assert!(
        words_of_reasons.contains("name (\"dhcp4-full\" in A, \"mine\" in B), void.steal_percent"),
        "{words_of_reasons}"
    );
    let (kinds, _) = reasons(|b| {
        b.plan.title = "other words".to_owned();
        b.plan.servers.pop();
        b.plan.time_budget_s = 1e4;
    });
    assert_eq!(kinds, [], "keys that decide nothing");
}

#[test]
fn segmentation_is_refused_when_it_differs_or_is_not_known() {
    refused(ReasonKind::Segmentation, "godwit-none left one by one in A, in groups", |b| {
        b.results[0].segmentation = Some(true);
    });
    refused(ReasonKind::Segmentation, "not known whether messages to kea", |b| {
        b.results[1].segmentation = None;
    });
}

#[test]
fn other_machines_are_refused() {
    type Change = fn(&mut RunSummary);
    let changes: [(&str, Change); 7] = [
        ("the processor differs", |b| b.environment.cpu_model = "Other CPU".to_owned()),
        ("the number of processors differs: 2 in A, 4 in B", |b| b.environment.cpus = 4),
        ("the kernel differs", |b| b.environment.kernel = "6.12".to_owned()),
        ("the topology differs: veth in A, loopback", |b| {
            "loopback".clone_into(&mut b.environment.topology)
        }),
        ("the hypervisor differs: kvm in A, none in B", |b| b.environment.virtualization.clear()),
        ("the memory differs: 8192 MiB in A, 4096", |b| b.environment.memory_bytes /= 2),
        ("net.core.rmem_max differs", |b| {
            b.environment.settings.insert("net.core.rmem_max".to_owned(), "1".to_owned());
        }),
    ];
    for (words, change) in changes {
        refused(ReasonKind::Machine, words, change);
    }
    let (kinds, _) = reasons(|b| {
        b.environment.memory_bytes -= b.environment.memory_bytes / 100;
        b.environment.settings.insert("leases verified, kea".to_owned(), "1 of 2".to_owned());
    });
    assert_eq!(kinds, []);
}

#[test]
fn tools_and_durabilities_are_refused_and_versions_and_profiles_are_notes() {
    refused(ReasonKind::Tool, "0.1.0 (0123abc) in A, 0.2.0 in B", |b| {
        b.environment.godwit = "0.2.0".to_owned();
    });
    refused(ReasonKind::Durability, "is durability none in A, durability always", |b| {
        b.results[0].variant = "durability always".to_owned();
    });
    let mut b = B.clone();
    b.environment.servers.insert("kea".to_owned(), "3.0.0".to_owned());
    b.results[1].variant = "single-threaded".to_owned();
    b.environment.profile = "dist".to_owned();
    let comparison = side_by_side(&A, &b);
    assert!(comparison.is_comparable);
    let notes = [
        "kea is 2.2.0 in A, 3.0.0 in B",
        "the variant with the higher rate differs: kea is multi-threaded",
        "Godwit is built with profile release in A, with profile dist in B",
    ];
    for words in notes {
        assert!(comparison.notes.iter().any(|note| note.contains(words)), "{:?}", comparison.notes);
    }
}

#[test]
fn noise_and_stolen_time_are_refused() {
    refused(ReasonKind::Noise, "differed from itself by 30 % in B", |b| {
        b.noise.as_mut().unwrap().typical_percent = 30.0;
    });
    refused(ReasonKind::Steal, "of the time in A, 7 % in B", |b| {
        b.trials.iter_mut().for_each(|row| row.steal_share = 0.07);
    });
    let (kinds, words_of_reasons) =
        reasons(|b| b.trials.iter_mut().for_each(|row| row.steal_share = 0.2));
    assert_eq!(kinds, [ReasonKind::Steal; 2], "too much, and not the same: {words_of_reasons}");
}

#[test]
fn a_machine_that_changed_its_speed_is_refused() {
    let slower = |summary: &mut RunSummary, factor: f64| {
        let limit = summary.limit.as_mut().unwrap();
        limit.leases_per_s *= factor;
        for run in &mut limit.runs {
            run.counts_as = run.counts_as.map(|rate| rate * factor);
        }
    };
    refused(ReasonKind::Limit, "limit responder has 0.7", |b| slower(b, 0.75));
    assert_eq!(reasons(|b| slower(b, 0.93)).0, []);
    refused(ReasonKind::Limit, "limit responder has 0.", |b| {
        slower(b, 0.5);
        let limit = b.limit.as_mut().unwrap();
        (limit.runs, limit.rounds) = (Vec::new(), Vec::new());
    });
}

#[test]
fn what_is_not_there_is_refused() {
    refused(ReasonKind::MissingData, "kea has no confirmed rate in B", |b| {
        b.results[1].leases_per_s = None;
    });
    refused(ReasonKind::MissingData, "no server is in both", |b| {
        b.results.iter_mut().for_each(|result| result.server.push('2'));
    });
    refused(ReasonKind::MissingData, "the noise floor of B is not known", |b| b.noise = None);
    refused(ReasonKind::MissingData, "the processor of B is not known", |b| {
        b.environment.cpu_model.clear();
    });
    refused(ReasonKind::MissingData, "the memory of B is not known", |b| {
        b.environment.memory_bytes = 0
    });
    refused(ReasonKind::MissingData, "the limit responder has no rate in B", |b| b.limit = None);
    refused(ReasonKind::MissingData, "kea has 3 runs that count in B", |b| {
        b.results[1].runs.truncate(3);
    });
    let (kinds, _) = reasons(|b| *b = RunSummary::default());
    assert!(kinds.contains(&ReasonKind::MissingData) && kinds.contains(&ReasonKind::Plan));
    let mut fewer = B.clone();
    fewer.runs_done = 6;
    assert!(side_by_side(&A, &fewer).notes.contains(&"B has 6 of 9 runs".to_owned()));
}

#[test]
fn every_kind_of_reason_has_been_seen_above() {
    let text = include_str!("compare.rs");
    for kind in ReasonKind::ALL {
        assert!(text.contains(&format!("refused(ReasonKind::{kind:?}")), "{kind:?}");
    }
}

#[test]
fn force_shows_the_figures_and_marks_them() {
    let mut b = B.clone();
    b.environment.kernel = "6.12".to_owned();
    let refused = side_by_side(&A, &b);
    assert!(refused.servers.is_empty() && refused.limit.is_none() && !refused.is_forced);
    let forced = compare(("a", &A), ("b", &b), true);
    assert!(forced.is_forced && !forced.is_comparable && forced.servers.len() == 2);
    assert_eq!(forced.reasons, refused.reasons);
    let page = render_comparison(&forced);
    assert!(page.contains("Not comparable because (shown because of --force)"));
    assert!(!compare(("a", &A), ("b", &B), true).is_forced, "nothing to force");
}

#[test]
fn the_page_holds_the_comparison_and_nothing_breaks_out_of_it() {
    let evil = "</script><script>alert(1)</script>";
    let mut b = B.clone();
    b.environment.kernel = evil.to_owned();
    let comparison = compare((evil, &A), ("b", &b), true);
    let page = render_comparison(&comparison);
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    assert!(!page.contains("NaN") && !page.contains("alert(1)<"));
    let (_, rest) = page.split_once("id=\"comparison\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(data).unwrap(), comparison);
}

#[test]
fn rounds_are_compared_by_welch_and_widened() {
    let rounds = |summary: &RunSummary| {
        let mut summary = summary.clone();
        summary.plan.runs.count = 0;
        for result in &mut summary.results {
            (result.runs, result.mean) = (Vec::new(), None);
        }
        let limit = summary.limit.as_mut().unwrap();
        (limit.runs, limit.mean) = (Vec::new(), None);
        summary
    };
    let comparison = side_by_side(&rounds(&A), &rounds(&B));
    assert!(comparison.method.contains("Welch") && comparison.method.contains("widened"));
    let welch = comparison.servers[0].leases_per_s.unwrap();
    assert!(welch.low < 0.8 && 0.8 < welch.high);
    let yuen = side_by_side(&A, &B).servers[0].leases_per_s.unwrap();
    assert!(welch.high / welch.low > yuen.high / yuen.low * 1.02, "{welch:?} {yuen:?}");
}

#[test]
fn nineteen_of_twenty_intervals_of_whole_results_hold_the_truth() {
    // Whole simulated measurements with drift, noise, dropped runs and searches of limited
    // resolution; the truth is that Godwit became slower by a fifth.
    let mut covered = (0, 0);
    for seed in 0..10 {
        let (a, b) = (measured(2 * seed + 50, 1.0), measured(2 * seed + 51, 0.8));
        let comparison = compare(("a", &a), ("b", &b), true);
        let holds = |interval: Option<RatioInterval>| {
            let of = interval.unwrap();
            u32::from((of.low..=of.high).contains(&0.8))
        };
        covered.0 += holds(comparison.servers[0].leases_per_s);
        covered.1 += holds(comparison.servers[0].of_limit);
    }
    assert!(covered.0 >= 8 && covered.1 >= 8, "{covered:?} of 10");
}

#[test]
fn two_results_of_the_same_servers_seldom_seem_to_differ() {
    // Runs drawn alike on both sides: an interval that leaves out 1 is a false alarm.
    let mut random = Random::from_seed(11);
    let mut drawn = |summary: &RunSummary| {
        let mut summary = summary.clone();
        for run in &mut summary.results[0].runs {
            let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            *run = RunFigure { counts_as: Some(100_000.0 * (0.04 * normal).exp()), ..*run };
        }
        summary
    };
    let small = |summary: &RunSummary| RunSummary {
        trials: Vec::new(),
        timeline: Vec::new(),
        ..summary.clone()
    };
    let (a, b) = (small(&A), small(&B));
    let mut alarms = 0;
    for _ in 0..1_000 {
        let comparison = compare(("a", &drawn(&a)), ("b", &drawn(&b)), true);
        let ratio = comparison.servers[0].leases_per_s.unwrap();
        alarms += u32::from(!(ratio.low..=ratio.high).contains(&1.0));
    }
    assert!((25..=80).contains(&alarms), "{alarms} false alarms of 1000");
}
