//! Tests of profiles from perf's output to a page whose flame graphs can be searched, zoomed and
//! compared with each other in a browser.
//!
//! The part with a browser is skipped where Chromium is not installed, unless
//! `GODWIT_REQUIRE_TOOLS=1`.

use crate::browser;

use crate::simulated::profiled;
use measure::Plan;
use measure::record::{Purpose, TrialRecord};
use measure::summary::{RunSummary, digest};
use report::render;
use serde::Deserialize;

#[test]
fn profiles_are_in_the_summary_and_in_no_other_figure() {
    let (run, trials) = profiled(&["other"]);
    let with = digest(&run, &trials);
    let rates: Vec<(&str, f64)> =
        with.profiles.iter().map(|of| (of.server.as_str(), of.offered_per_s)).collect();
    assert_eq!(rates, [("echo", 20_000.0), ("echo", 60_000.0), ("other", 20_000.0)]);
    assert_eq!(with.profiles[0].profile.samples, 24);
    let is_measured = |trial: &&TrialRecord| trial.purpose != Purpose::Profile;
    let measured: Vec<TrialRecord> = trials.iter().filter(is_measured).cloned().collect();
    let without = digest(&run, &measured);
    assert_eq!((&with.results, &with.ratios), (&without.results, &without.ratios));
    assert_eq!(with.trials.len(), without.trials.len() + 3);
    // The chart that is drawn from trials has no profile either.
    let chart = |summary: &RunSummary| {
        let page = render(summary);
        let (_, chart) = page.split_once("data-chart=\"system-load\"").expect("a chart");
        chart.split_once("</figure>").expect("its end").0.to_owned()
    };
    assert_eq!(chart(&with), chart(&without));
}

#[test]
fn trials_and_summaries_with_profiles_read_back_as_they_were() {
    let (run, trials) = profiled(&[]);
    let trial = trials.last().expect("a trial");
    let text = serde_json::to_string(trial).expect("plain data");
    assert_eq!(&serde_json::from_str::<TrialRecord>(&text).expect("a trial"), trial);
    let summary = digest(&run, &trials);
    let text = serde_json::to_string(&summary).expect("plain data");
    assert_eq!(serde_json::from_str::<RunSummary>(&text).expect("a summary"), summary);
    // Names are stored once: the tree is far smaller than the text that it is from.
    let stacks = serde_json::to_string(&summary.profiles[0].profile.stacks).expect("plain data");
    assert!(stacks.len() < 12_000, "{} octets", stacks.len());
}

#[test]
fn the_page_shows_graphs_and_tables_without_a_script() {
    let (run, mut trials) = profiled(&["<b>other"]);
    let last = trials.last_mut().and_then(|trial| trial.profile.as_mut()).expect("a profile");
    (last.is_user_only, last.lost) = (true, 900);
    let page = render(&digest(&run, &trials));
    assert_eq!(page.matches("<section class=\"profile\"").count(), 3);
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    for words in [
        "cpu-clock at 997 Hz for 1 s, callers by DWARF: 24 samples, none lost; 0.02 processors busy",
        "netio::responder::answer</i>",
        "udp_sendmsg\nkernel\n",
        "echo: functions, own share",
        "<td>kernel</td>",
        "&lt;b&gt;other at 20,000/s",
        "The kernel's part is missing",
        "900 lost",
        "Many samples were lost",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<b>other"));
    let (run, trials) = profiled(&[]);
    let mut plain = digest(&run, &trials);
    plain.profiles.clear();
    let page = render(&plain);
    assert!(!page.contains("data-chart=\"profile\"") && !page.contains("flame-search"));
}

#[test]
fn profiles_in_plans_are_read_and_their_mistakes_are_placed() {
    let head = "name = 'x'\ntitle = 'X'\n[profile]\n";
    let good = "fractions = [0.25, 0.9]\nevent = 'cpu-clock'\ncall_graph = 'frame-pointer'\n";
    let profile = Plan::parse("p", &format!("{head}{good}")).expect("a plan").profile;
    assert_eq!((profile.fractions, profile.seconds), (vec![0.25, 0.9], 3.0));
    assert_eq!((profile.event.word(), profile.call_graph.word()), (Some("cpu-clock"), "fp"));
    let bad = "fractions = [0, 0.5]\nsecond = 1\nevent = 'branches'\ncall_graph = 'lbr'\n\
               frequency_hz = 0.5\n";
    let problems = Plan::parse("p", &format!("{head}{bad}")).expect_err("problems");
    let messages: Vec<String> =
        problems.iter().map(|p| format!("{}:{}: {}", p.line, p.column, p.message)).collect();
    assert_eq!(
        messages,
        [
            "4:13: `profile.fractions` must be a list of numbers from 0.01 to 100",
            "5:1: unknown key `profile.second`",
            "6:9: `profile.event` must be one of: auto, cycles, cpu-clock",
            "7:14: `profile.call_graph` must be one of: dwarf, frame-pointer",
            "8:16: `profile.frequency_hz` must be a whole number from 1 to 50000",
        ]
    );
}

/// Observations of the probe after one step in the browser.
#[derive(Debug, Deserialize)]
struct FlameStepObservations {
    boxes: usize,
    /// Left and right ends of the box of the function `flushed`, as shares of the drawing's width.
    ends: Option<(f64, f64)>,
    hits: usize,
    found: String,
    heading: String,
    tip: String,
    is_difference: bool,
    changes: Vec<f64>,
    has_reset: bool,
}

#[derive(Debug, Deserialize)]
struct FlameGraphObservations {
    steps: std::collections::BTreeMap<String, FlameStepObservations>,
    scroll_width: u32,
    client_width: u32,
    resources: usize,
    errors: Vec<String>,
}

const PROBE: &str = r##"
const frame = document.createElement("iframe");
frame.style.cssText = "width:WIDTHpx;height:900px;border:0";
const steps = {};
frame.onload = () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const flame = () => [...page.querySelectorAll("section.profile")].find(s => !s.hidden).querySelector(".flame");
  const boxes = () => [...flame().querySelectorAll("i")];
  const box = name => boxes().find(b => b.textContent === name);
  const look = name => {
    const whole = flame().getBoundingClientRect(), of = box("netio::responder::flush");
    const place = of && of.getBoundingClientRect(), tip = page.getElementById("tip");
    steps[name] = {
      boxes: boxes().length,
      ends: of ? [place.left, place.right].map(x => (x - whole.left) / whole.width) : null,
      hits: boxes().filter(b => b.classList.contains("hit")).length,
      found: page.getElementById("flame-found").textContent,
      heading: flame().parentElement.querySelector("h3").textContent,
      tip: tip.hidden ? "" : tip.textContent,
      is_difference: page.querySelector('[data-chart="profile"]').classList.contains("difference"),
      changes: boxes().filter(b => b.dataset.change).map(b => +b.dataset.change),
      has_reset: !page.getElementById("flame-reset").disabled,
    };
  };
  const type = words => {
    const search = page.getElementById("flame-search");
    search.value = words;
    search.dispatchEvent(new view.Event("input"));
  };
  const choose = (id, value) => {
    const select = page.getElementById(id);
    select.value = value;
    select.dispatchEvent(new view.Event("change"));
  };
  const key = name => flame().dispatchEvent(new view.KeyboardEvent("keydown", { key: name, bubbles: true }));
  const point = of => {
    const place = of.getBoundingClientRect();
    const at = { clientX: place.left + 1, clientY: place.top + 1, bubbles: true };
    of.dispatchEvent(new view.PointerEvent("pointermove", at));
  };
  look("1 whole");
  type("SENDMSG"); look("2 searched");
  type("libc"); look("3 library searched");
  type("no such thing"); look("4 nothing found");
  type("");
  box("netio::responder::flush").click(); look("5 zoomed");
  point(box("udp_sendmsg")); look("6 pointed at");
  box("netio::responder::answer").click(); look("7 a caller");
  page.getElementById("flame-reset").click(); look("8 back");
  choose("flame-other", "1"); point(box("udp_sendmsg")); look("9 against the other rate");
  choose("flame-shown", "1"); look("a the other alone");
  choose("flame-other", "0"); look("b the other against the first");
  choose("flame-other", "2"); point(box("udp_sendmsg")); look("c against another server");
  choose("flame-other", "-1");
  key("ArrowUp"); key("ArrowUp"); key("ArrowUp"); look("d walked");
  key("Enter"); look("e entered");
  key("Escape"); look("f escaped");
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({
    steps,
    scroll_width: page.documentElement.scrollWidth,
    client_width: page.documentElement.clientWidth,
    resources: view.performance.getEntriesByType("resource").length,
    errors: view.found || [],
  });
  document.body.innerHTML = "";
  document.body.append(result);
};
frame.srcdoc = page;
document.body.append(frame);
"##;

fn story(browser: &std::path::Path, width: u32, page: &str) -> FlameGraphObservations {
    let probe = PROBE.replace("WIDTH", &width.to_string());
    let (json, console) = browser::browse(browser, &format!("flame-{width}"), page, &probe);
    assert_eq!(console, "", "the console should be silent");
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

impl FlameGraphObservations {
    /// Returns the observations after the step whose name begins with `step`.
    fn at(&self, step: &str) -> &FlameStepObservations {
        let step_found = self.steps.iter().find(|(name, _)| name.starts_with(step));
        step_found.unwrap_or_else(|| panic!("no step {step}")).1
    }
}

impl FlameStepObservations {
    /// Returns true if the box whose ends were recorded has the width `share`.
    fn is_wide(&self, share: f64) -> bool {
        self.ends.is_some_and(|(left, right)| (right - left - share).abs() < 0.01)
    }
}

/// Returns the share of a profile's samples whose stack contains the text `word`.
fn share(summary: &RunSummary, profile: usize, word: &str) -> f64 {
    let stacks = &summary.profiles[profile].profile.stacks;
    let has = |position: usize| {
        stacks.path(position).any(|node| {
            let frame = stacks.frame(node);
            frame.function.contains(word) || frame.object.contains(word)
        })
    };
    let nodes = stacks.nodes.iter().enumerate().filter(|(position, _)| has(*position));
    nodes.map(|(_, node)| f64::from(node.samples)).sum::<f64>() / stacks.samples() as f64
}

fn is_searched_and_zoomed(story: &FlameGraphObservations, summary: &RunSummary) {
    let words_found =
        |word: &str| format!("in {:.1} % of the samples", share(summary, 0, word) * 100.0);
    let flushed = share(summary, 0, "netio::responder::flush");
    assert!((0.3..0.95).contains(&flushed), "{flushed}");
    let whole = story.at("1");
    assert_eq!(whole.heading, "echo at 20,000/s");
    assert!(whole.is_wide(flushed), "{whole:?}");
    assert_eq!((whole.hits, whole.found.as_str(), whole.has_reset), (0, "", false));
    let searched = story.at("2");
    assert_eq!((&searched.found, searched.boxes), (&words_found("sendmsg"), whole.boxes));
    assert!(searched.hits >= 3, "{searched:?}");
    assert_eq!(story.at("3").found, words_found("libc"));
    let nothing = story.at("4");
    assert_eq!((nothing.found.as_str(), nothing.hits), ("in 0.0 % of the samples", 0));
    let zoomed = story.at("5");
    assert!(zoomed.is_wide(1.0) && zoomed.boxes < whole.boxes && zoomed.has_reset, "{zoomed:?}");
    let tip = &story.at("6").tip;
    assert!(tip.starts_with("udp_sendmsg\nkernel\n") && tip.contains(" of 24 samples, "), "{tip}");
    assert!(story.at("7").is_wide(flushed), "{:?}", story.at("7"));
    assert_eq!((story.at("8").boxes, story.at("8").has_reset), (whole.boxes, false));
}

fn is_set_against_others(story: &FlameGraphObservations, summary: &RunSummary) {
    let percent = |profile| share(summary, profile, "udp_sendmsg") * 100.0;
    let (here, there) = (percent(0), percent(1));
    let against = story.at("9");
    assert!(against.is_difference && against.changes.iter().any(|change| *change != 0.0));
    let sign = if here < there { "−" } else { "+" };
    let points = (here - there).abs();
    let words =
        format!("{here:.1} % here, {there:.1} % of echo at 60,000/s ({sign}{points:.1} points)");
    assert!(against.tip.ends_with(&words), "{} without {words}", against.tip);
    let alone = story.at("a");
    assert_eq!((alone.heading.as_str(), alone.is_difference), ("echo at 60,000/s", false));
    assert!(story.at("b").is_difference);
    // The other server has the samples of this one.
    let same = story.at("c");
    assert!(same.changes.iter().all(|change| *change == 0.0), "{:?}", same.changes);
    let anywhere = format!(
        "{there:.1} % here, {there:.1} % of other at 20,000/s (+0.0 points), called from anywhere"
    );
    assert!(same.tip.ends_with(&anywhere), "{}", same.tip);
}

#[test]
fn flame_graphs_of_the_echo_are_searched_and_zoomed_in_a_browser() {
    let Some(browser) = browser::chromium() else { return };
    let (run, trials) = profiled(&["other"]);
    let summary = digest(&run, &trials);
    let page = render(&summary);
    for width in [360, 1280] {
        let story = story(&browser, width, &page);
        assert!(story.errors.is_empty(), "{:?}", story.errors);
        assert!(story.scroll_width <= story.client_width, "scrolls sideways at {width}");
        assert_eq!(story.resources, 0);
        is_searched_and_zoomed(&story, &summary);
        is_set_against_others(&story, &summary);
        let tip = &story.at("d").tip;
        assert!(tip.contains("\nlibc.so.6\n"), "the third of the largest calls: {tip}");
        assert!(story.at("e").has_reset && !story.at("f").has_reset);
    }
}
