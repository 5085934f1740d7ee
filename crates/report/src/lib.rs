//! Report of a run as one HTML page without external files. This crate draws charts as inline SVG
//! and flame graphs as boxes; scripts add tooltips, zoom and search, so the page reads the same
//! without scripts and on paper.
//!
//! Equal summaries always give equal bytes.

mod capacity;
mod cards;
mod comparison;
mod flame;
pub mod format;
pub mod goals;
pub mod headline;
mod kernel;
mod latency;
mod load_curve;
mod long_trials;
pub mod over_time;
mod page;
mod plot;
mod profile;
mod queues;
mod ratios;
mod restarts;
mod runs;
mod scale;
pub mod served_pages;
mod suite;
mod system_load;
mod tables;
mod timeline;
mod trend;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use measure::capacity::CapacityChart;
use measure::compare::Comparison;
use measure::stored::Trend;
use measure::suite::SuiteSummary;
use measure::summary::RunSummary;
pub use page::header;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Script of pages with flame graphs, in addition to the common one.
const FLAME_SCRIPT: &str = include_str!("flame.js");
/// Content security policy of a report page: the browser loads nothing; style and script are in the
/// page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// Content security policy of the pages of `godwit lab serve`, which may also send requests to the
/// server that they came from.
const SERVED_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                             img-src data:; connect-src 'self'; base-uri 'none'; form-action 'self'";
const LIST_SCRIPT: &str = include_str!("list.js");
const LIVE_SCRIPT: &str = include_str!("live.js");

/// Scripts and content security policy of a page, in which pages of reports differ.
struct PageSettings {
    scripts: &'static [&'static str],
    policy: &'static str,
}

/// Draws the report of the run in `summary` as an HTML page.
///
/// # Panics
///
/// Never: a summary can always be written as JSON.
pub fn render(summary: &RunSummary) -> String {
    let body = html! {
        (page::head(summary))
        main {
            (page::headline(summary))
            (page::warnings(summary))
            (charts(summary))
            (queues::section(summary))
            (tables::trials(summary))
            (kernel::section(summary))
            (tables::flushes(summary))
            (tables::environment(summary))
            (tables::commands(summary))
            (page::method(summary))
        }
        (page::foot(summary))
    };
    let data = serde_json::to_string(summary);
    let scripts: &[&str] =
        if summary.profiles.is_empty() { &[SCRIPT] } else { &[SCRIPT, FLAME_SCRIPT] };
    document_with(
        &PageSettings { scripts, policy: POLICY },
        &page::title(summary),
        "summary",
        &data,
        &body,
    )
}

/// Draws the page of two results next to each other, with the reasons against the comparison, if
/// any.
///
/// # Panics
///
/// Never: a comparison can always be written as JSON.
pub fn render_comparison(comparison: &Comparison) -> String {
    let data = serde_json::to_string(comparison);
    let body = comparison::body(comparison);
    document(&comparison::title(comparison), "comparison", &data, &body)
}

/// Draws the front page of the suite in `summary`.
///
/// # Panics
///
/// Never: a suite's summary can always be written as JSON.
pub fn render_suite(summary: &SuiteSummary) -> String {
    let data = serde_json::to_string(summary);
    document(&suite::title(summary), "suite", &data, &suite::body(summary))
}

/// Draws the page of the figures of a plan's servers over stored runs.
///
/// # Panics
///
/// Never: a trend can always be written as JSON.
pub fn render_trend(trend: &Trend) -> String {
    document(&trend::title(trend), "trend", &serde_json::to_string(trend), &trend::body(trend))
}

/// Draws the page of the list of stored runs for a browser that requests it from `godwit lab
/// serve`.
///
/// # Panics
///
/// Never: a list can always be written as JSON.
pub fn render_list(page: &served_pages::ListPage<'_>) -> String {
    let data = serde_json::to_string(page.runs);
    let look = PageSettings { scripts: &[SCRIPT, LIST_SCRIPT], policy: SERVED_POLICY };
    document_with(&look, "Stored runs — godwit", "stored", &data, &served_pages::list(page))
}

/// Draws the page of a run in progress, for a browser that requests it from `godwit lab serve`.
///
/// # Panics
///
/// Never: a string can always be written as JSON.
pub fn render_live(page: &served_pages::LivePage<'_>) -> String {
    let data = serde_json::to_string(page.id);
    let look = PageSettings { scripts: &[SCRIPT, LIVE_SCRIPT], policy: SERVED_POLICY };
    document_with(&look, &page::title(page.summary), "run", &data, &served_pages::live(page))
}

/// Draws the page of `godwit capacity`: a table of operations per second with its chart.
///
/// # Panics
///
/// Never: a table can always be written as JSON.
pub fn render_capacity(chart: &CapacityChart) -> String {
    let data = serde_json::to_string(chart);
    document(capacity::TITLE, "capacity", &data, &capacity::body(chart))
}

/// Makes a whole page around `body`, with style, script, and the data that it was drawn from.
///
/// # Panics
///
/// When there is no data: all drawn values can be written as JSON.
pub fn document(title: &str, id: &str, data: &serde_json::Result<String>, body: &Markup) -> String {
    document_with(&PageSettings { scripts: &[SCRIPT], policy: POLICY }, title, id, data, body)
}

fn document_with(
    look: &PageSettings,
    title: &str,
    id: &str,
    data: &serde_json::Result<String>,
    body: &Markup,
) -> String {
    // In a script element only `<` could end or nest an element.
    let data = data.as_ref().expect("plain data is JSON").replace('<', "\\u003c");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(look.policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="godwit lab";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                div id="tip" role="status" hidden {}
                script type="application/json" id=(id) { (PreEscaped(data)) }
                script { @for script in look.scripts { (PreEscaped(script)) } }
            }
        }
    }
    .into_string()
}

fn charts(summary: &RunSummary) -> Markup {
    let last = summary.plan.protocol.last_message();
    let has_curve = summary.results.iter().any(|result| !result.curve.is_empty());
    html! {
        (every_run(summary))
        @if !ratios::is_empty(summary) {
            (figure(
                "ratios",
                "Side by side",
                &html! {
                    @if summary.plan.has_runs() { "One pair per run" } @else { "One pair per round" }
                    "; whiskers are 95 % intervals. "
                    @if summary.noise.is_some() {
                        "The band around 1× shows how much two measurements of the same server \
                         differ."
                    }
                },
                &html! {},
                &ratios::chart(summary),
                &ratios::table(summary),
            ))
        }
        (every_restart(summary))
        (second_by_second(summary))
        @if has_curve {
            (figure(
                "load-curve",
                "Load curve",
                &html! {
                    "On the diagonal the server answers all offered exchanges on time. Hollow "
                    "marks missed the criterion; horizontal lines: the highest confirmed rates."
                    @if let Some(variants) = page::variants(summary) { " " (variants) }
                },
                &html! {},
                &load_curve::chart(summary),
                &load_curve::table(summary),
            ))
            (figure(
                "latency",
                "Latency against load",
                &html! {
                    "From an exchange's due time to \
                     its " (last) ". Shaded: beyond the highest rate. "
                    "Each panel has its own load axis and all share the latency axis."
                },
                &html! {},
                &latency::chart(summary),
                &load_curve::table(summary),
            ))
        }
        (processor_load(summary))
        (profile::figure(summary))
        (over_the_run(summary))
    }
}

/// Draws the section on processors and memory over the run, as far as their use is known.
fn over_the_run(summary: &RunSummary) -> Markup {
    html! {
        @if !summary.timeline.is_empty() {
            (figure(
                "cpu",
                "Processors over the run",
                &html! {
                    "For servers the processor time of their processes, with their share of "
                    "interrupts; for the generator elapsed time minus idle and stolen time of its "
                    "processor."
                },
                &timeline::legend(summary, timeline::TimelineQuantity::Cpu),
                &timeline::chart(summary, timeline::TimelineQuantity::Cpu),
                &timeline::table(summary),
            ))
        }
        @if summary.timeline.iter().any(|point| point.server_rss_bytes > 0) {
            (figure(
                "memory",
                "Memory over the run",
                &html! { "Resident memory of the server with its children." },
                &timeline::legend(summary, timeline::TimelineQuantity::Memory),
                &timeline::chart(summary, timeline::TimelineQuantity::Memory),
                &timeline::table(summary),
            ))
        }
    }
}

fn processor_load(summary: &RunSummary) -> Markup {
    html! {
        @if !system_load::is_empty(summary) {
            (figure(
                "system-load",
                "Answers against processor load",
                &html! {
                    "A mark per trial, joined in the order of offered rates. Hollow marks missed "
                    "the criterion; marks that crowd show a server that answers no more at higher "
                    "offered rates. Load is the share of its processors that the server itself "
                    "used, with its share of interrupts, without stolen time. Horizontal lines, if "
                    "within reach: the number of queries, and of answers of the measured size, "
                    "that Gigabit Ethernet carries."
                },
                &html! {},
                &system_load::chart(summary),
                &system_load::table(summary),
            ))
        }
    }
}

fn every_restart(summary: &RunSummary) -> Markup {
    html! {
        @if !restarts::is_empty(summary) {
            (figure(
                "restarts",
                "A database ended and started again",
                &html! {
                    "Leases completed on time, moment by moment, at constant load (thin line). "
                    "Shaded: from the end of the database until it answered its own client."
                },
                &html! {},
                &restarts::chart(summary),
                &restarts::table(summary),
            ))
        }
    }
}

fn second_by_second(summary: &RunSummary) -> Markup {
    html! {
        @if !long_trials::is_empty(summary) {
            (figure(
                "seconds",
                "Second by second",
                &long_trials::caption(summary),
                &long_trials::legend(summary),
                &long_trials::chart(summary),
                &long_trials::table(summary),
            ))
        }
    }
}

fn every_run(summary: &RunSummary) -> Markup {
    html! {
        @if !runs::is_empty(summary) {
            (figure(
                "runs",
                "Every run",
                &html! {
                    "Each run is a whole measurement; from top to bottom in the order they were "
                    "done. Hollow marks were dropped before the mean was taken. Line and band: the "
                    "mean and its 95 % interval. A line to the right of a mark: at least."
                },
                &html! {},
                &runs::chart(summary),
                &runs::table(summary),
            ))
        }
    }
}

fn figure(
    name: &str,
    heading: &str,
    caption: &Markup,
    legend: &Markup,
    drawing: &Markup,
    table: &Markup,
) -> Markup {
    html! {
        figure data-chart=(name) {
            figcaption { h2 { (heading) } p { (caption) } }
            (legend)
            (drawing)
            details { summary { "Figures" } div class="scroll" { (table) } }
        }
    }
}
