//! Pages of `godwit lab serve`: the list of stored runs, and a run in progress. Unlike a report,
//! these pages send requests to the server that they came from, and only to it.

use maud::{Markup, html};

use crate::{charts, format, page, tables};
use measure::stored::{RunKind, StoredFigure, StoredRun, StoredRuns, StoredState};
use measure::summary::RunSummary;

/// Number of a run's progress lines that the page of a run in progress shows.
const LINES: usize = 12;

/// Data of the page with the list of stored runs.
#[derive(Clone, Debug)]
pub struct ListPage<'a> {
    /// Name of the results folder whose runs are listed, for people.
    pub results: &'a str,
    /// Query by which the listed runs were filtered.
    pub query: &'a str,
    /// Token that a form of the page must send back to be accepted.
    pub token: &'a str,
    /// Runs of the list on the page.
    pub runs: &'a StoredRuns,
}

/// Data of the page of a run in progress.
#[derive(Clone, Debug)]
pub struct LivePage<'a> {
    /// Identifier of the run in progress.
    pub id: &'a str,
    /// Summary of the run so far.
    pub summary: &'a RunSummary,
    /// Number of the run's finished trials.
    pub trials: usize,
    /// Progress lines of the run so far: seconds since its begin, and words.
    pub progress_lines: &'a [(f64, String)],
    /// Current activity of the run; empty when it has reported none.
    pub activity: &'a str,
    /// True if the run is still in progress.
    pub is_running: bool,
}

/// Encodes `text` for a query or a path of a URL; slashes stay.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for octet in text.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._~/".contains(&octet) {
            encoded.push(char::from(octet));
        } else {
            encoded.push_str(&format!("%{octet:02X}"));
        }
    }
    encoded
}

/// Returns the path under which the server shows the report of a run.
pub fn report_path(id: &str) -> String {
    format!("/results/{}/report.html", encoded(id))
}

/// Draws the page with the list of stored runs.
pub(super) fn list(list: &ListPage<'_>) -> Markup {
    let count = list.runs.runs.len();
    html! {
        (page::header("godwit lab serve", "Stored runs", html! {
            (list.results) " · " (count) @if count == 1 { " run" } @else { " runs" }
        }))
        main {
            form id="filter" method="get" action="/" class="flame-bar filters" {
                input type="search" name="q" value=(list.query) aria-label="filter"
                    placeholder="plan, commit, server, pinned, running …";
                button { "Filter" }
            }
            form id="pair" method="get" action="/compare" class="flame-bar filters" {
                span {
                    "Compare B with A, as marked below; without A with the baseline of its plan."
                }
                label for="margin" { "Loss that is accepted, %" }
                input id="margin" name="margin" type="number" min="0" max="99" step="any"
                    placeholder="none: no verdict";
                button { "Compare" }
            }
            (table(list))
            @if count == 0 { p class="dim" { "No run." } }
            @if !list.runs.unreadable.is_empty() {
                section class="warnings" {
                    h2 { "Not readable" }
                    ul { @for sentence in &list.runs.unreadable { li { (sentence) } } }
                }
            }
        }
        footer { p { (list.runs.schema) } }
    }
}

fn table(list: &ListPage<'_>) -> Markup {
    html! {
        div class="scroll" {
            table id="runs" class="stack" {
                thead {
                    tr {
                        th { "run" } th { "highest rates, per second" } th { "begun" }
                        th { "commit" } th title="A: what is compared with" { "A" }
                        th title="B: what is compared" { "B" } th { "" }
                    }
                }
                tbody { @for run in &list.runs.runs { (row(run, list.token)) } }
            }
        }
    }
}

fn row(run: &StoredRun, token: &str) -> Markup {
    let is_done = run.state == StoredState::Done;
    let has_figures = is_done && run.kind == RunKind::Plan;
    let report = report_path(&run.id);
    html! {
        tr data-run=(run.id) {
            td {
                @if is_done { a href=(report) { (name(run)) } } @else { (name(run)) }
                br; span class="dim" { (run.plan) }
                br; span class="dim id" { (run.id) }
            }
            td { @for figure in &run.servers { (figure_words(figure)) br; } }
            td { (run.started.replace('T', " ")) br; span class="dim" { (length(run)) } }
            td { code { (run.commit) } }
            @for (side, what) in [("a", "compare with"), ("b", "compare")] {
                td {
                    @if has_figures {
                        label title=(what) {
                            input type="radio" form="pair" name=(side) value=(run.id)
                                aria-label={ (side.to_uppercase()) ", " (what) ": " (run.id) };
                            span class="side" { (side.to_uppercase()) }
                        }
                    }
                }
            }
            td { (actions(run, has_figures, token)) }
        }
    }
}

/// Returns the name of a run in a list: its plan's title, or its folder if the title is unknown.
fn name(run: &StoredRun) -> &str {
    if run.title.is_empty() { &run.id } else { &run.title }
}

fn length(run: &StoredRun) -> String {
    match run.state {
        StoredState::Done => format::seconds(run.duration_s),
        StoredState::Running => "running".to_owned(),
        StoredState::Unfinished => "unfinished".to_owned(),
    }
}

fn figure_words(figure: &StoredFigure) -> Markup {
    html! {
        (figure.server) " "
        @match figure.leases_per_s {
            Some(rate) => { b { @if figure.is_at_least { "≥ " } (format::rate(rate)) } }
            None => { "none" }
        }
        @if let (Some(low), Some(high)) = (figure.low, figure.high) {
            span class="dim" { " (" (format::rate(low)) " to " (format::rate(high)) ")" }
        }
    }
}

fn actions(run: &StoredRun, has_figures: bool, token: &str) -> Markup {
    html! {
        @if run.state == StoredState::Running {
            a class="follow" href={ "/live?run=" (encoded(&run.id)) } { "follow" }
        }
        @if has_figures {
            @let (action, field, value, word) = if run.is_baseline {
                ("/unpin", "plan", &run.plan, "unpin")
            } else {
                ("/pin", "run", &run.id, "pin")
            };
            form method="post" action=(action) {
                input type="hidden" name="token" value=(token);
                input type="hidden" name=(field) value=(value);
                button aria-pressed=(run.is_baseline.to_string()) title="the baseline of its plan" {
                    (word)
                }
            }
            a href={ "/trend?plan=" (encoded(&run.plan)) } { "trend" }
        }
    }
}

/// Draws the page of a run in progress: its activity, and the charts of its report so far.
pub(super) fn live(live: &LivePage<'_>) -> Markup {
    let LivePage { id, summary, trials, progress_lines, activity: now, is_running } = live;
    html! {
        (page::head(summary))
        main {
            section id="live" class="figures" data-run=(id) data-next=(progress_lines.len()) data-trials=(trials)
                data-lines=(LINES) {
                h2 { "So far" }
                p id="now" { @if *is_running { (now) } @else { "This run has ended." } }
                ol id="told" {
                    @for (at_s, words) in progress_lines.iter().rev().take(LINES).rev() {
                        li { (progress_line(*at_s, words)) }
                    }
                }
                p { a href="/" { "all runs" } }
            }
            div id="so-far" {
                @if *trials == 0 {
                    p class="dim" { "No trial has ended yet." }
                } @else {
                    (page::headline(summary))
                    (charts(summary))
                    (tables::trials(summary))
                }
            }
        }
        footer { p { "godwit lab serve" } }
    }
}

/// Formats a line of a run's progress from its time and its words.
pub fn progress_line(at_s: f64, words: &str) -> String {
    format!("[{at_s:>3.0} s] {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_addresses() {
        assert_eq!(encoded("20260101T000000Z-all/x-y_z.1~"), "20260101T000000Z-all/x-y_z.1~");
        assert_eq!(encoded("a b&c=d?e#f\"é%"), "a%20b%26c%3Dd%3Fe%23f%22%C3%A9%25");
    }
}
