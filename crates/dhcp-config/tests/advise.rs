//! Tests of the advice on slow configurations: files with planted faults, and the findings for
//! each.
//!
//! The comment `// planted: NAME` in files of `tests/data/advise` marks each line that a finding
//! must name, and no other.

use crate::common;
use std::collections::BTreeSet;

use dhcp_config::advise::{
    Advice, AdviceSubject, LeasedResources, MeasuredRate, PerformanceFault, ServerObservations,
    ShareMeaning,
};
use dhcp_config::{ConfigProblem, NoIncludes};

const MARK: &str = "// planted: ";

/// Returns the observations that go with the file of this name.
fn observed(name: &str) -> ServerObservations {
    let v4 = |a: u32, b: u32| (0x0a00_0000 | (a << 16) | b).into();
    let carried = |leases_per_s| {
        Some(MeasuredRate { leases_per_s, is_at_least: false, source: "a result".to_owned() })
    };
    match name {
        "pools.conf" => {
            let full = (1..=18).map(|host| v4(1, host));
            let half = (100..200).map(|host| v4(1, host));
            let leases =
                LeasedResources::new(full.chain(half).chain([v4(3, 1)]).collect(), Vec::new());
            ServerObservations { leases: Some(leases), carried: None }
        }
        // 64 pools of 241 addresses, renewed every 300 s.
        "many-subnets.conf" => ServerObservations { leases: None, carried: carried(51.0) },
        "clean.conf" => {
            // All addresses of the pool that has a queue, too.
            let leased =
                (0..32_000).map(|host| v4(0, host)).chain((10..27).map(|host| v4(1, host)));
            let leases = LeasedResources::new(leased.collect(), Vec::new());
            ServerObservations { leases: Some(leases), carried: carried(10.0) }
        }
        "clean6.conf" => {
            let prefix = |n: u128| (0x2001_0db8_000f_u128 << 80) | (n << 68);
            let prefixes = (0..3_600).map(prefix).collect();
            ServerObservations {
                leases: Some(LeasedResources::new(Vec::new(), prefixes)),
                carried: carried(3.0),
            }
        }
        _ => ServerObservations::default(),
    }
}

fn advise(
    name: &str,
    text: &str,
    observed: &ServerObservations,
) -> Result<Advice, Vec<ConfigProblem>> {
    AdviceSubject::read(name, text, &mut NoIncludes).map(|subject| subject.advise(observed))
}

fn judged(name: &str, text: &str) -> Advice {
    advise(name, text, &observed(name)).unwrap_or_else(|problems| {
        panic!("{name}: {}", common::lines(&problems).join("\n"));
    })
}

/// Returns line and name of each planted fault.
fn planted(text: &str) -> BTreeSet<(u32, &str)> {
    let marks = (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| Some((line, text.split_once(MARK)?.1.trim())));
    marks.collect()
}

/// Checks that subnets are used in the order of their ids, and named where the file has them.
#[test]
fn a_fault_is_named_in_its_subnet_wherever_the_file_has_that() {
    let one = |n: u32, id: &str, threshold: &str| {
        format!(
            r#"{{ {id} "subnet": "10.0.{n}.0/24", {threshold}
                "pools": [ {{ "pool": "10.0.{n}.0/24" }} ] }}"#
        )
    };
    let off = r#""cache-threshold": 0.0,"#;
    for (subnets, line) in [
        ([one(1, r#""id": 22,"#, off), one(2, r#""id": 3,"#, "")], 2),
        ([one(1, r#""id": 22,"#, ""), one(2, r#""id": 3,"#, off)], 4),
        ([one(1, r#""id": 22,"#, ""), one(2, "", off)], 4),
    ] {
        let text = format!("{{ \"Dhcp4\": {{ \"subnet4\": [\n{} ] }} }}", subnets.join(",\n"));
        let advice = judged("order.conf", &text);
        let off = advice
            .findings
            .iter()
            .filter(|finding| finding.fault == PerformanceFault::LeaseCachingOff);
        let lines: Vec<_> =
            off.flat_map(|finding| &finding.places).map(|position| position.line).collect();
        assert_eq!(lines, [line], "{text}");
    }
}

#[test]
fn exactly_the_planted_faults_are_named() {
    let files = common::folder("advise");
    let files: Vec<_> = files.iter().filter(|(name, _)| name.ends_with(".conf")).collect();
    let mut seen = BTreeSet::new();
    for (name, text) in &files {
        let advice = judged(name, text);
        let lines = advice.findings.iter().flat_map(|finding| {
            assert!(!finding.places.is_empty() && !finding.reason.is_empty(), "{name}");
            assert!(!finding.change.is_empty() && !finding.cost.figures.is_empty(), "{name}");
            let source = &finding.cost.source;
            assert!(finding.cost.share.is_none() || source.is_some(), "{name}: a figure of nobody");
            finding.places.iter().map(|position| (position.line, finding.fault.name()))
        });
        let faults: BTreeSet<(u32, &str)> = lines.collect();
        assert_eq!(faults, planted(text), "{name}");
        assert_eq!(faults.is_empty(), name.starts_with("clean"), "{name}");
        assert_eq!(advice.notes, Vec::<String>::new(), "{name}");
        seen.extend(faults.into_iter().map(|(_, fault)| fault));
    }
    assert_eq!(files.len(), 13, "eleven with faults, two without");
    let all: BTreeSet<&str> = PerformanceFault::ALL.iter().map(|fault| fault.name()).collect();
    assert_eq!(seen, all, "every fault is planted somewhere");
}

#[test]
fn places_have_columns_and_the_dearest_comes_first() {
    let (name, text) = common::folder("advise")
        .into_iter()
        .find(|(name, _)| name == "one-thread.conf")
        .expect("the file is shipped");
    let advice = judged(&name, &text);
    let first = &advice.findings[0];
    assert_eq!(first.fault, PerformanceFault::MultiThreadingOff);
    assert_eq!((first.places[0].line, first.places[0].column), (5, 5));
    assert_eq!(first.places[0].file, name);
    let share = first.cost.share.expect("it was measured");
    assert_eq!(
        (format!("{:.3}", share.value).as_str(), share.bound),
        ("0.384", ShareMeaning::Measured)
    );
    // Findings without a measured cost are in the order of the faults.
    let order: Vec<PerformanceFault> =
        advice.findings.iter().map(|finding| finding.fault).collect();
    let mut sorted = order.clone();
    sorted[1..].sort_unstable();
    assert_eq!(order, sorted);
}

#[test]
fn what_nobody_measured_stands_between_the_dear_and_the_cheap() {
    let text = |classes: usize| {
        let class = |n| format!(r#"{{ "name": "{n}", "test": "option[60].exists" }}"#);
        let classes: Vec<String> = (0..classes).map(class).collect();
        format!(
            r#"{{ "Dhcp4": {{ "loggers": [ {{ "name": "kea-dhcp4", "severity": "DEBUG" }} ],
               "client-classes": [ {} ],
               "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/16" }} ] }} }}"#,
            classes.join(",")
        )
    };
    let faults = |classes| {
        let advice = judged("t", &text(classes));
        advice
            .findings
            .iter()
            .map(|finding| (finding.fault, finding.cost.share))
            .collect::<Vec<_>>()
    };
    let hundred = faults(100);
    let order: Vec<PerformanceFault> = hundred.iter().map(|(fault, _)| *fault).collect();
    assert_eq!(
        order,
        [
            PerformanceFault::ManyClasses,
            PerformanceFault::DebugLogging,
            PerformanceFault::UnusedReservations
        ]
    );
    let shares: Vec<String> = hundred
        .iter()
        .map(|(_, share)| share.map_or_else(String::new, |share| format!("{:.3}", share.value)))
        .collect();
    assert_eq!(shares, ["0.637", "", ""]);
    assert_eq!(faults(7).len(), 3, "a tenth");
    assert_eq!(faults(6).len(), 2, "less than a tenth");
}

#[test]
fn lease_times_are_judged_by_what_was_measured() {
    let text = |pool: &str| {
        format!(
            r#"{{ "Dhcp6": {{ "reservations-in-subnet": false, "subnet6": [ {{ "id": 1,
               "subnet": "2001:db8::/32", "pools": [ {{ "pool": "{pool}" }} ],
               "preferred-lifetime": 1000 }} ] }} }}"#
        )
    };
    let judge = |pool: &str, leases: Option<LeasedResources>, leases_per_s: f64| {
        let carried = MeasuredRate { leases_per_s, is_at_least: true, source: "r".to_owned() };
        let observed = ServerObservations { leases, carried: Some(carried) };
        advise("t", &text(pool), &observed).expect("it is sound")
    };
    // 65,536 addresses renewed every 500 s are 131.07/s.
    assert!(judge("2001:db8::/112", None, 131.1).findings.is_empty());
    let advice = judge("2001:db8::/112", None, 131.0);
    assert_eq!(advice.findings[0].fault, PerformanceFault::LeaseTime);
    let share = advice.findings[0].cost.share.expect("it was measured");
    assert!(share.value > 1.0 && share.bound == ShareMeaning::AtMost);
    // No network has as many clients as a pool of 2^64.
    let advice = judge("2001:db8::/64", None, 1.0);
    assert!(advice.findings.is_empty() && advice.notes[0].contains("--leases"));
    let base = 0x2001_0db8_u128 << 96;
    let some = |count: u128| Some(LeasedResources::new((base..base + count).collect(), Vec::new()));
    assert!(judge("2001:db8::/64", some(500), 1.0).findings.is_empty());
    assert_eq!(judge("2001:db8::/64", some(501), 1.0).findings.len(), 1);
}

#[test]
fn a_wrong_configuration_is_refused_with_its_problems() {
    let refused = |text: &str| {
        let problems = advise("t", text, &ServerObservations::default());
        common::lines(&problems.expect_err("it is wrong"))
    };
    let problems = refused(r#"{ "Dhcp4": { "valid-lifetime": -1, "subnet4": 7 } }"#);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(refused("{ \"Dhcp6\": { ").len(), 1);
    assert!(!refused("{ }").is_empty() && !refused("[]").is_empty() && !refused("").is_empty());
}
