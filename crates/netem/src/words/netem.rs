//! Parser of the words of `tc-netem`: settings of the netem stage.

use super::look_up;
use super::reader::{SettingsWord, WordReader};
use super::units::{self, WordValueError};
use crate::distribution::Distribution;
use crate::settings::{LinkSettings, Loss, RandomEvent, Rate, Reorder, SlotInterval, SlotSettings};
use crate::share::UnitShare;

/// Words of `tc-netem` in the order in which `tc` searches them for abbreviations.
const WORDS: [&str; 15] = [
    "limit",
    "latency",
    "delay",
    "loss",
    "drop",
    "seed",
    "ecn",
    "reorder",
    "corrupt",
    "gap",
    "duplicate",
    "distribution",
    "rate",
    "slot",
    "tbf",
];

/// Values of netem's words that are checked or combined after all words were read.
#[derive(Default)]
struct AuxiliaryWords<'a> {
    gap: Option<(SettingsWord<'a>, u32)>,
    reorder: Option<(SettingsWord<'a>, RandomEvent)>,
    distribution: Option<SettingsWord<'a>>,
    marks: Option<SettingsWord<'a>>,
}

/// Reads the words of `tc-netem` into `settings`, up to `tbf` or the end of the text.
pub(super) fn read(reader: &mut WordReader<'_>, settings: &mut LinkSettings) {
    let mut auxiliary = AuxiliaryWords::default();
    while reader.peek().is_some_and(|word| word != "tbf") {
        let Some(word) = reader.take() else { break };
        let name = match look_up(&WORDS, word.text) {
            Some("latency") => "delay",
            Some("drop") => "loss",
            Some(name) if name != "tbf" => name,
            _ => {
                let message = format!("unknown keyword `{}`", word.text);
                let help = "keywords are limit, delay, distribution, loss, ecn, corrupt, \
                            duplicate, reorder, gap, rate, slot, seed and, for a token bucket \
                            after them, tbf";
                reader.problem_at(word, message, help);
                continue;
            }
        };
        reader.note(word, name);
        read_one(reader, settings, &mut auxiliary, word, name);
    }
    check(reader, settings, &auxiliary);
}

fn read_one<'a>(
    reader: &mut WordReader<'a>,
    settings: &mut LinkSettings,
    auxiliary: &mut AuxiliaryWords<'a>,
    word: SettingsWord<'a>,
    name: &str,
) {
    match name {
        "limit" => {
            if let Some(limit) = reader.value(name, units::size_u32) {
                settings.limit_packets = limit;
            }
        }
        "delay" => read_delay(reader, settings),
        "loss" => settings.loss = read_loss(reader),
        "seed" => settings.seed = reader.value(name, units::whole),
        "ecn" => {
            settings.marks = true;
            auxiliary.marks = Some(word);
        }
        "reorder" => auxiliary.reorder = Some((word, sometimes(reader, name))),
        "corrupt" => settings.corrupt = sometimes(reader, name),
        "duplicate" => settings.duplicate = sometimes(reader, name),
        "gap" => {
            if let Some(gap) = reader.value(name, units::whole) {
                auxiliary.gap = Some((word, gap));
            }
        }
        "distribution" => {
            auxiliary.distribution = Some(word);
            if let Some(distribution) = reader.value(name, distribution) {
                settings.delay.distribution = distribution;
            }
        }
        "rate" => settings.rate = read_rate(reader),
        _ => settings.slot = read_slot(reader),
    }
}

/// Reads the values of a random event: a percentage and, if present, a correlation.
fn sometimes(reader: &mut WordReader<'_>, name: &str) -> RandomEvent {
    let share = reader.value(name, units::share).unwrap_or_default();
    let correlation = reader.further(name, units::share).unwrap_or_default();
    RandomEvent { share, correlation }
}

fn distribution(word: &str) -> Result<Distribution, WordValueError> {
    let mut all = Distribution::ALL.into_iter();
    all.find(|distribution| distribution.name() == word).ok_or(WordValueError::Distribution)
}

fn read_delay(reader: &mut WordReader<'_>, settings: &mut LinkSettings) {
    let delay = &mut settings.delay;
    delay.base_ns = reader.value("delay", units::time_ns).unwrap_or_default();
    if reader.number_follows() {
        delay.jitter_ns = reader.value("delay", units::time_ns).unwrap_or_default();
        delay.correlation = reader.further("delay", units::share).unwrap_or_default();
    }
}

fn read_loss(reader: &mut WordReader<'_>) -> Loss {
    if reader.number_follows() {
        return random_loss(sometimes(reader, "loss"));
    }
    match reader.peek() {
        Some("random") => {
            reader.take();
            random_loss(sometimes(reader, "loss random"))
        }
        Some("state") => read_state(reader),
        Some("gemodel") => {
            let name = "loss gemodel";
            reader.take();
            let to_bad = reader.value(name, units::share).unwrap_or_default();
            let mut further =
                |otherwise: UnitShare| reader.further(name, units::share).unwrap_or(otherwise);
            let to_good = further(to_bad.rest());
            let bad_loss = further(UnitShare::ALL);
            let good_loss = further(UnitShare::NONE);
            Loss::Gilbert { to_bad, to_good, bad_loss, good_loss }
        }
        _ => {
            // The word, if there is one, is read as the missing percentage.
            reader.value("loss", units::share);
            Loss::None
        }
    }
}

fn random_loss(often: RandomEvent) -> Loss {
    if often == RandomEvent::default() { Loss::None } else { Loss::Random(often) }
}

fn read_state(reader: &mut WordReader<'_>) -> Loss {
    let name = "loss state";
    let Some(word) = reader.take() else { return Loss::None };
    let p13 = reader.value(name, units::share).unwrap_or_default();
    let mut further =
        |otherwise: UnitShare| reader.further(name, units::share).unwrap_or(otherwise);
    let p31 = further(p13.rest());
    let p32 = further(UnitShare::NONE);
    let p23 = further(UnitShare::ALL);
    let p14 = further(UnitShare::NONE);
    for (first, second, names) in [(p13, p14, "p13 and p14"), (p31, p32, "p31 and p32")] {
        if first.rest() < second {
            let message = format!("{names} of `loss state` add up to more than 100 %");
            reader.problem_at(
                word,
                message,
                "the transitions from one state add up to at most 100 %",
            );
        }
    }
    Loss::State { p13, p31, p32, p23, p14 }
}

fn read_rate(reader: &mut WordReader<'_>) -> Option<Rate> {
    let bytes_per_s = reader.value("rate", units::bytes_per_s);
    let (mut overhead, mut cell, mut cell_overhead) = (0, 0, 0);
    if reader.signed_number_follows() {
        overhead = reader.value("rate", units::signed).unwrap_or_default();
        cell = reader.further("rate", units::whole).unwrap_or_default();
        if reader.signed_number_follows() {
            cell_overhead = reader.value("rate", units::signed).unwrap_or_default();
        }
    }
    bytes_per_s.map(|bytes_per_s| Rate {
        bytes_per_s,
        packet_overhead_bytes: overhead,
        cell_bytes: cell,
        cell_overhead_bytes: cell_overhead,
    })
}

fn read_slot(reader: &mut WordReader<'_>) -> Option<SlotSettings> {
    let opening = if reader.number_follows() {
        read_between(reader)
    } else if reader.peek() == Some("distribution") {
        reader.take();
        let distribution = reader.value("slot distribution", distribution);
        let base_ns = reader.value("slot distribution", units::time_ns);
        let jitter_ns = reader.value("slot distribution", units::time_ns);
        distribution.zip(base_ns).zip(jitter_ns).map(|((distribution, base_ns), jitter_ns)| {
            SlotInterval::Around { base_ns, jitter_ns, distribution }
        })
    } else {
        reader.value("slot", |_| Err::<SlotInterval, _>(WordValueError::Time))
    };
    let mut slot = SlotSettings {
        opening: SlotInterval::Between { min_ns: 0, max_ns: 0 },
        packets_max: 0,
        bytes_max: 0,
    };
    // As in `tc`, only in this order, and directly after the times.
    if reader.peek().is_some_and(|word| look_up(&["packets"], word).is_some()) {
        reader.take();
        slot.packets_max = reader.value("packets", units::whole).unwrap_or_default();
    }
    if reader.peek().is_some_and(|word| look_up(&["bytes"], word).is_some()) {
        reader.take();
        slot.bytes_max = reader.value("bytes", units::size_u32).unwrap_or_default();
    }
    opening.map(|opening| SlotSettings { opening, ..slot })
}

fn read_between(reader: &mut WordReader<'_>) -> Option<SlotInterval> {
    let min_ns = reader.value("slot", units::time_ns);
    let mut max_ns = min_ns;
    if reader.number_follows() {
        let word = reader.take()?;
        match units::time_ns(word.text) {
            Ok(ns) if min_ns.is_none_or(|min_ns| ns >= min_ns) => max_ns = Some(ns),
            Ok(_) => {
                let message = format!("`{}` is below the minimum of `slot`", word.text);
                reader.problem_at(word, message, "give the minimum first, then the maximum");
            }
            Err(unfit) => {
                reader.problem_at(
                    word,
                    format!("invalid value `{}` of `slot`", word.text),
                    unfit.help(),
                );
            }
        }
    }
    min_ns.zip(max_ns).map(|(min_ns, max_ns)| SlotInterval::Between { min_ns, max_ns })
}

/// Checks words that have an effect only together, such as `gap` with `reorder`, and sets
/// `reorder`.
fn check(reader: &mut WordReader<'_>, settings: &mut LinkSettings, auxiliary: &AuxiliaryWords<'_>) {
    let reorders = auxiliary.reorder.filter(|(_, often)| !often.share.is_none());
    if let Some((word, often)) = reorders {
        if settings.delay.base_ns == 0 {
            let message = "`reorder` has no effect without `delay`".to_owned();
            reader.problem_at(word, message, "give a `delay` too");
        }
        let gap = auxiliary.gap.map_or(1, |(_, gap)| gap.max(1));
        settings.reorder = Some(Reorder { often, gap });
    } else if let Some((word, _)) = auxiliary.gap.filter(|&(_, gap)| gap > 0) {
        let message = "`gap` has no effect without `reorder`".to_owned();
        reader.problem_at(word, message, "give `reorder` with a percentage too");
    }
    if let Some(word) = auxiliary.distribution
        && (settings.delay.base_ns == 0 || settings.delay.jitter_ns == 0)
    {
        let message = "`distribution` has no effect without jitter".to_owned();
        reader.problem_at(word, message, "give `delay` with a jitter too");
    }
    if let Some(word) = auxiliary.marks
        && settings.loss == Loss::None
    {
        let message = "`ecn` has no effect without `loss`".to_owned();
        reader.problem_at(word, message, "give `loss` too");
    }
}
