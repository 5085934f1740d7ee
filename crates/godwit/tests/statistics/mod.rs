//! Tests of the statistics of Kea: a script of messages moves every one, and it has the value that
//! the script implies, for the control channel and for Prometheus. Kea plays the same scripts.
//!
//! The values are next to the scripts, derived from the messages that they send. One of the scripts
//! moves every name except those of [`names::UNMOVED`]. Only the names of the hook
//! `libdhcp_perfmon.so` are missing, which are durations.

mod names;
mod player;
mod v4;
mod v6;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use crate::common::{require, waited_until};
use player::{ScriptedServer, StatisticsServerMake};

/// Differences between the families.
struct StatisticsFamily {
    is_v6: bool,
    config: &'static str,
    play: fn(&ScriptedServer),
    /// Statistics that are not zero after [`Self::play`].
    played: &'static [(&'static str, u64)],
    /// Function of the family that makes one client send three messages at once.
    hurry: fn(&ScriptedServer),
    /// Statistics that are not zero after [`Self::hurry`] alone.
    hurried: &'static [(&'static str, u64)],
    /// Statistics that the end of leases changes.
    ended: &'static [(&'static str, u64)],
    /// Statistics that Kea 2.2 counts differently, each with the reason.
    differences: &'static [(&'static str, &'static str)],
}

/// Reason why a failure may be counted in the other subnet of a shared network.
const FAILED_LAST: &str = "looks first where it gave something last, by the wall clock, which may be set back \
    meanwhile, and counts where it looked last";

const V4: StatisticsFamily = StatisticsFamily {
    is_v6: false,
    config: v4::CONFIG,
    play: v4::play,
    played: v4::PLAYED,
    hurry: v4::hurry,
    hurried: v4::HURRIED,
    ended: v4::ENDED,
    differences: &[
        ("pkt4-received", "does not count what comes while service is off, as Kea 3 does"),
        ("pkt4-receive-drop", "does not count all that it drops, as Kea 3 does"),
        ("reclaimed-leases", "deletes at once what is given back; Kea 3 keeps it for the client"),
        ("subnet[1].reclaimed-leases", "the same"),
        ("subnet[7].v4-allocation-fail", FAILED_LAST),
        ("subnet[7].v4-allocation-fail-classes", FAILED_LAST),
        ("subnet[7].v4-allocation-fail-shared-network", FAILED_LAST),
    ],
};

const V6: StatisticsFamily = StatisticsFamily {
    is_v6: true,
    config: v6::CONFIG,
    play: v6::play,
    played: v6::PLAYED,
    hurry: v6::hurry,
    hurried: v6::HURRIED,
    ended: v6::ENDED,
    differences: &[
        ("pkt6-sent", "does not register addresses"),
        ("pkt6-unknown-received", "does not know the types of RFC 9686"),
        ("reclaimed-leases", "deletes at once what is given back; Kea 3 keeps it for the client"),
        ("subnet[1].reclaimed-leases", "the same"),
        ("subnet[6].v6-allocation-fail", FAILED_LAST),
        ("subnet[6].v6-allocation-fail-classes", FAILED_LAST),
        ("subnet[6].v6-allocation-fail-shared-network", FAILED_LAST),
    ],
};

/// Drops of both scripts for some of Godwit's own reasons.
const DROPS: [(&str, u64); 4] =
    [("filtered", 1), ("client-chose-other-server", 1), ("service-disabled", 1), ("held-full", 0)];

/// Returns the value of every statistic of Kea after `changes`, each on top of the earlier ones.
fn expected(is_v6: bool, changes: &[&[(&str, u64)]]) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> =
        names::all(is_v6).into_iter().map(|name| (name, 0)).collect();
    for (name, value) in changes.iter().copied().flatten() {
        *all.get_mut(*name).unwrap_or_else(|| panic!("{name} is no statistic")) = *value;
    }
    all
}

/// Returns the statistics of the server that differ from `expected`, over any channel.
fn wrong(player: &ScriptedServer, is_v6: bool, expected: &BTreeMap<String, u64>) -> Vec<String> {
    let all = player.statistics();
    let metrics = player.metrics();
    let mut wrong = Vec::new();
    for (name, &value) in expected {
        let found = [
            ("statistic-get-all", all.get(name).copied()),
            ("statistic-get", player.statistic(name)),
            ("/metrics", names::in_metrics(is_v6, name, &metrics)),
        ];
        for (path, found) in found.into_iter().filter(|(_, found)| *found != Some(value)) {
            wrong.push(format!("{name} is {found:?} in {path}, not {value}"));
        }
    }
    wrong
}

fn is_as_implied(family: &StatisticsFamily) {
    let player = ScriptedServer::start(StatisticsServerMake::Godwit, family.is_v6, family.config);
    (family.play)(&player);
    let played = expected(family.is_v6, &[family.played]);
    // The server counts the last replies when it has sent them.
    waited_until(|| wrong(&player, family.is_v6, &played).is_empty());
    assert_eq!(wrong(&player, family.is_v6, &played), [""; 0]);
    let (metrics, service) = (player.metrics(), if family.is_v6 { "dhcp6" } else { "dhcp4" });
    for (reason, count) in DROPS {
        let line =
            format!("godwit_drops_total{{family=\"{service}\",reason=\"{reason}\"}} {count}");
        assert!(metrics.lines().any(|known| known == line), "{line}");
    }
    let ended = expected(family.is_v6, &[family.played, family.ended]);
    player.reclaim(ended["reclaimed-leases"]);
    assert_eq!(wrong(&player, family.is_v6, &ended), [""; 0]);
    if require(&["promtool"]) {
        is_good_exposition(&player.metrics());
    }
}

/// Checks that promtool accepts `metrics`.
fn is_good_exposition(metrics: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut child =
        promtool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("promtool runs");
    let mut input = child.stdin.take().expect("it was asked for");
    std::io::Write::write_all(&mut input, metrics.as_bytes()).expect("promtool reads");
    drop(input);
    let output = child.wait_with_output().expect("promtool ends");
    let output_text =
        String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && output_text.is_empty(), "{output_text}");
}

/// Returns Kea's statistics that differ from `expected` and are not known to differ.
fn differing(
    family: &StatisticsFamily,
    statistics: &BTreeMap<String, u64>,
    expected: &BTreeMap<String, u64>,
) -> Vec<String> {
    let is_known = |name: &str| family.differences.iter().any(|(known, _)| *known == name);
    let wrong = statistics.iter().filter_map(|(name, value)| {
        let implied = expected.get(name).filter(|implied| *implied != value)?;
        (!is_known(name)).then(|| format!("{name} is {value}, not {implied}"))
    });
    wrong.collect()
}

fn is_as_in_kea(family: &StatisticsFamily, reclaimed: u64) {
    let program = if family.is_v6 { "kea-dhcp6" } else { "kea-dhcp4" };
    if !require(&[program]) {
        return;
    }
    let player = ScriptedServer::start(StatisticsServerMake::Kea, family.is_v6, family.config);
    (family.play)(&player);
    // The server counts the last replies when it has sent them.
    let differ = |expected: &BTreeMap<String, u64>| {
        let mut differ = Vec::new();
        waited_until(|| {
            differ = differing(family, &player.statistics(), expected);
            differ.is_empty()
        });
        differ
    };
    let played = expected(family.is_v6, &[family.played]);
    assert_eq!(differ(&played), [""; 0]);
    player.reclaim(reclaimed);
    let ended = expected(family.is_v6, &[family.played, family.ended]);
    assert_eq!(differ(&ended), [""; 0]);
    let compared = player.statistics().keys().filter(|name| ended.contains_key(*name)).count();
    assert!(compared > 75, "{compared}");
}

/// Checks that every name either moves in one of the scripts or is listed with the reason.
fn is_complete(family: &StatisticsFamily) {
    let moved: BTreeSet<String> = [family.played, family.ended, family.hurried]
        .iter()
        .copied()
        .flatten()
        .filter(|(_, value)| *value > 0)
        .map(|(name, _)| names::without_numbers(name))
        .collect();
    let all: BTreeSet<String> =
        names::all(family.is_v6).iter().map(|name| names::without_numbers(name)).collect();
    let unmoved: BTreeSet<&str> =
        names::UNMOVED.iter().map(|(name, _)| *name).filter(|&name| all.contains(name)).collect();
    let missing: Vec<&str> = all.difference(&moved).map(String::as_str).collect();
    assert_eq!(missing, unmoved.into_iter().collect::<Vec<_>>());
}

/// Checks that the third message of a client that has one in flight and one held is a duplicate.
fn counts_duplicates(family: &StatisticsFamily) {
    // The first one is in flight while its row is flushed.
    let player = ScriptedServer::start_with(
        "always",
        StatisticsServerMake::Godwit,
        family.is_v6,
        family.config,
    );
    (family.hurry)(&player);
    let mut sizes: Vec<(&str, u64)> = family.played.to_vec();
    sizes.retain(|(name, _)| name.contains("total-"));
    let hurried = expected(family.is_v6, &[&sizes, family.hurried]);
    waited_until(|| wrong(&player, family.is_v6, &hurried).is_empty());
    assert_eq!(wrong(&player, family.is_v6, &hurried), [""; 0]);
}

#[test]
fn every_statistic_is_moved_or_has_a_reason() {
    is_complete(&V4);
    is_complete(&V6);
}

#[test]
fn a_third_message_at_once_is_a_duplicate_in_dhcpv4() {
    counts_duplicates(&V4);
}

#[test]
fn a_third_message_at_once_is_a_duplicate_in_dhcpv6() {
    counts_duplicates(&V6);
}

#[test]
fn statistics_of_dhcpv4_are_what_a_script_implies() {
    is_as_implied(&V4);
}

#[test]
fn statistics_of_dhcpv6_are_what_a_script_implies() {
    is_as_implied(&V6);
}

#[test]
fn kea_counts_the_same_in_dhcpv4() {
    // Released leases are not reclaimed.
    is_as_in_kea(&V4, 2);
}

#[test]
fn kea_counts_the_same_in_dhcpv6() {
    is_as_in_kea(&V6, 3);
}
