//! Parts of a round by their names, with the expected duration of each.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::LinuxRunExtent;
use super::cells::{self, Impairment, MatrixPart, PartProperty, SendingEnd};
use super::closings::{self, ClosingEnd};
use super::conformance::{self, ConformanceGroup};
use super::counts;
use super::echo;
use super::goodput;
use super::machine::VirtualMachine;

/// Number of parts of the matrix in the test command.
const SAMPLE: usize = 4;

/// Part that needs a machine for itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum RoundPart {
    Cell(MatrixPart),
    Closing(ClosingEnd),
    Echo {
        ccid: u8,
    },
    Perf {
        ccid: u8,
    },
    Refusals,
    Conformance(ConformanceGroup),
    /// Throughput measurement, played only by its name, in no round.
    Goodput {
        is_short: bool,
    },
}

impl fmt::Display for RoundPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell(cell) => f.write_str(&cell_name(*cell)),
            Self::Closing(closing) => write!(f, "closing/{}", words_of(&format!("{closing:?}"))),
            Self::Echo { ccid } => write!(f, "echo/ccid{ccid}"),
            Self::Perf { ccid } => write!(f, "perf/ccid{ccid}"),
            Self::Refusals => f.write_str("refusals"),
            Self::Conformance(group) => write!(f, "conformance/{group}"),
            Self::Goodput { is_short: false } => f.write_str("goodput"),
            Self::Goodput { is_short: true } => f.write_str("goodput-short"),
        }
    }
}

/// Returns the parts of one round.
pub(super) fn of_round(extent: LinuxRunExtent) -> Vec<RoundPart> {
    let mut chosen = cells::cells();
    if !extent.is_whole() {
        // 16 MB through an emulated processor are too expensive for each run.
        chosen.retain(|cell| cell.particular != PartProperty::Many);
    }
    let mut parts: Vec<RoundPart> =
        extent.choose(chosen, SAMPLE).into_iter().map(RoundPart::Cell).collect();
    parts.extend(extent.choose(closings::all(), 1).into_iter().map(RoundPart::Closing));
    for ccid in extent.choose(vec![2, 3], 1) {
        parts.extend([RoundPart::Echo { ccid }, RoundPart::Perf { ccid }]);
    }
    parts.push(RoundPart::Refusals);
    let groups =
        if extent.is_whole() { ConformanceGroup::all() } else { vec![conformance::SAMPLE] };
    parts.extend(groups.into_iter().map(RoundPart::Conformance));
    parts
}

/// Returns the parts to play in all rounds: those of a round, or the one with the name `only`, or
/// those whose names begin with it.
pub(super) fn chosen(extent: LinuxRunExtent, only: Option<&str>) -> Vec<RoundPart> {
    let parts = of_round(extent);
    let Some(only) = only else { return all_rounds(&parts, extent) };
    let goodput = [false, true].map(|is_short| RoundPart::Goodput { is_short });
    if let Some(part) = goodput.into_iter().find(|part| part.to_string() == only) {
        // It plays its rounds itself, in turn.
        return vec![part];
    }
    all_rounds(&named(&parts, only), extent)
}

/// Returns the parts of all rounds, in each the longest first, so that the machines end together.
fn all_rounds(parts: &[RoundPart], extent: LinuxRunExtent) -> Vec<RoundPart> {
    let mut parts = parts.to_vec();
    parts.sort_by(|a, b| b.expected_s().total_cmp(&a.expected_s()));
    parts.repeat(extent.rounds() as usize)
}

/// Returns the part with that name, or those whose names begin with it.
fn named(parts: &[RoundPart], only: &str) -> Vec<RoundPart> {
    let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let is_whole_name = names.iter().any(|name| name == only);
    let is_named =
        |name: &String| if is_whole_name { name == only } else { name.starts_with(only) };
    let chosen: Vec<RoundPart> = parts
        .iter()
        .zip(&names)
        .filter(|(_, name)| is_named(name))
        .map(|(part, _)| *part)
        .collect();
    assert!(!chosen.is_empty(), "no part begins with {only}; there are {}", names.join(", "));
    chosen
}

/// Returns the name of a part of the matrix: sender, congestion control, IP version, path, and
/// special property.
fn cell_name(cell: MatrixPart) -> String {
    let MatrixPart { sender, ccid, is_v6, impairment, particular } = cell;
    let sender = if sender == SendingEnd::Ours { "ours" } else { "kernel" };
    let ccid = ccid.map_or_else(|| "any".to_owned(), |ccid| format!("ccid{ccid}"));
    let family = if is_v6 { "v6" } else { "v4" };
    let path = match impairment {
        Impairment::None => "clean".to_owned(),
        impairment => words_of(&format!("{impairment:?}")),
    };
    let particular = match particular {
        PartProperty::Plain => String::new(),
        PartProperty::Coverage(coverage) => format!("-coverage{coverage}"),
        particular => format!("-{}", words_of(&format!("{particular:?}"))),
    };
    format!("cell/{sender}-{ccid}-{family}-{path}{particular}")
}

/// Returns a Rust name in small letters with hyphens.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('-');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

impl RoundPart {
    /// Plays the part, asserts its conditions, and returns the figures as text.
    pub(super) fn play(
        self,
        machine: &mut VirtualMachine,
        extent: LinuxRunExtent,
        say: &dyn Fn(&str),
    ) -> String {
        if !matches!(self, Self::Cell(_)) {
            machine.clean_path();
        }
        match self {
            Self::Cell(cell) => cells::play_and_check(machine, cell),
            Self::Closing(closing) => closing.play(machine),
            Self::Echo { ccid } => echo::every_datagram_comes_back(machine, ccid),
            Self::Perf { ccid } => counts::perf_counts_the_same_at_both_ends(machine, ccid, extent),
            Self::Refusals => counts::refusals_have_the_same_reason_at_both_ends(machine, extent),
            Self::Conformance(group) => {
                conformance::the_verdict_of_each_case_is_known(machine, group, extent)
            }
            Self::Goodput { is_short } => goodput::compare(machine, extent.rounds(), is_short, say),
        }
    }

    /// Returns the time after which the part hangs for sure, also on a busy machine. The comparison
    /// of goodput takes nine minutes for each of `rounds`.
    pub(super) fn limit(self, rounds: u64) -> Duration {
        match self {
            Self::Goodput { .. } => Duration::from_secs(1_800).saturating_mul(rounds.max(1) as u32),
            _ => Duration::from_secs_f64(600.0 + 10.0 * self.expected_s()),
        }
    }

    /// Returns the seconds that the part takes on processors with little other load.
    pub(super) fn expected_s(self) -> f64 {
        match self {
            Self::Cell(MatrixPart { impairment: Impairment::Blackout, .. }) => 20.0,
            Self::Cell(MatrixPart { particular: PartProperty::Many, .. }) => 10.0,
            Self::Cell(_) | Self::Closing(_) | Self::Echo { .. } => 2.0,
            Self::Perf { .. } => 20.0,
            Self::Refusals => 15.0,
            Self::Conformance(group) => group.expected_s(),
            Self::Goodput { .. } => 1.0,
        }
    }
}

#[test]
fn every_part_has_a_name_that_finds_it_alone() {
    let parts = of_round(LinuxRunExtent::Whole { rounds: 1 });
    let names: BTreeSet<String> = parts.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), parts.len());
    assert!(parts.len() > 100, "{names:?}");
    for name in &names {
        let found: Vec<String> = named(&parts, name).iter().map(ToString::to_string).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), [name]);
    }
    let all_of_kernel = named(&parts, "cell/kernel");
    assert_eq!(all_of_kernel.len(), cells::cells().len() / 2);
    let extent = LinuxRunExtent::Whole { rounds: 3 };
    assert_eq!(chosen(extent, None).len(), 3 * parts.len());
    assert_eq!(chosen(extent, Some("echo")).len(), 6);
    assert!(matches!(
        chosen(extent, Some("goodput"))[..],
        [RoundPart::Goodput { is_short: false }]
    ));
}
