//! Pages that `godwit lab serve` makes: the list of stored runs, and a run that goes on. Unlike a report
//! they ask the server that they came from, and only that.

use maud::{Markup, html};

use super::{charts, format, page, tables};
use crate::stored::{RunKind, StoredFigure, StoredRun, StoredRuns, StoredState};
use crate::summary::Summary;

/// Lines of what a run told that are shown.
const LINES: usize = 12;

/// The list.
#[derive(Clone, Debug)]
pub struct ListPage<'a> {
    /// The folder that is shown, for people.
    pub results: &'a str,
    /// What the runs were filtered by.
    pub query: &'a str,
    /// What a form must bring back to be believed.
    pub token: &'a str,
    /// The runs.
    pub found: &'a StoredRuns,
}

/// A run that goes on.
#[derive(Clone, Debug)]
pub struct LivePage<'a> {
    /// What it is called by.
    pub id: &'a str,
    /// What it amounts to so far.
    pub summary: &'a Summary,
    /// Trials that are over.
    pub trials: usize,
    /// What it told so far: seconds and words.
    pub told: &'a [(f64, String)],
    /// What it is doing; empty when it has not told.
    pub now: &'a str,
    /// Whether it goes on.
    pub is_running: bool,
}

/// `text` for a query or a path of a URL; slashes stay.
#[must_use]
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

/// Where the server shows the report of a run.
#[must_use]
pub fn report_of(id: &str) -> String {
    format!("/results/{}/report.html", encoded(id))
}

/// All of the list.
pub(super) fn list(list: &ListPage<'_>) -> Markup {
    let count = list.found.runs.len();
    html! {
        header {
            div {
                p class="kicker" { "godwit lab serve" }
                h1 { "Stored runs" }
                p class="facts" { (list.results) " · " (count) @if count == 1 { " run" } @else { " runs" } }
            }
            (page::theme_button())
        }
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
            @if !list.found.unreadable.is_empty() {
                section class="warnings" {
                    h2 { "Not readable" }
                    ul { @for sentence in &list.found.unreadable { li { (sentence) } } }
                }
            }
        }
        footer { p { (list.found.schema) } }
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
                tbody { @for run in &list.found.runs { (row(run, list.token)) } }
            }
        }
    }
}

fn row(run: &StoredRun, token: &str) -> Markup {
    let is_done = run.state == StoredState::Done;
    let has_figures = is_done && run.kind == RunKind::Plan;
    let report = report_of(&run.id);
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

/// What a run is called in a list: its plan's title, or where that is not known its folder.
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

/// A run that goes on: what it does, and the charts of its report so far.
pub(super) fn live(live: &LivePage<'_>) -> Markup {
    let LivePage { id, summary, trials, told, now, is_running } = live;
    html! {
        (page::head(summary))
        main {
            section id="live" class="figures" data-run=(id) data-next=(told.len()) data-trials=(trials)
                data-lines=(LINES) {
                h2 { "So far" }
                p id="now" { @if *is_running { (now) } @else { "It does not go on." } }
                ol id="told" {
                    @for (at_s, words) in told.iter().rev().take(LINES).rev() {
                        li { (words_at(*at_s, words)) }
                    }
                }
                p { a href="/" { "all runs" } }
            }
            div id="so-far" {
                @if *trials == 0 {
                    p class="dim" { "No trial is over yet." }
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

/// A line of what a run told.
#[must_use]
pub fn words_at(at_s: f64, words: &str) -> String {
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
