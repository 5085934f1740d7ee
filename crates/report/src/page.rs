//! Parts of the report page that are words and large figures.

use maud::{Markup, Render, html};

use crate::{cards, format, ratios};
use measure::plan::{DroppedRuns, Headline, Plan, QUERY, QUERY_FRAME_BYTES, UnconfirmedRunRule};
use measure::record::NETWORK;
use measure::statistics::RatioInterval;
use measure::summary::{Ratio, RunSummary};

/// Returns the title of the browser's window with the report of a run.
pub(super) fn title(summary: &RunSummary) -> String {
    let title = if summary.title.is_empty() { "Measurement" } else { &summary.title };
    format!("{title} — godwit")
}

/// Draws the head of the report: the subject, time and machine of the measurement, and the switch
/// between light and dark.
pub(super) fn head(summary: &RunSummary) -> Markup {
    let environment = &summary.environment;
    let facts = [
        &summary.started.replace('T', " "),
        &format::seconds(summary.duration_s),
        &environment.topology,
        &environment.cpu_model,
        &environment.virtualization,
    ];
    let facts: Vec<&str> =
        facts.into_iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    let kicker = format!("godwit lab · {}", summary.plan.name);
    header(&kicker, &summary.title, facts.join(" · "))
}

/// Draws the head of a page: `kicker` above its title, `facts` below, and the switch between light
/// and dark.
pub fn header(kicker: &str, title: &str, facts: impl Render) -> Markup {
    html! {
        header {
            div {
                p class="kicker" { (kicker) }
                h1 { (title) }
                p class="facts" { (facts) }
            }
            (theme_button())
        }
    }
}

/// Draws the switch between light and dark, which works with the script only.
fn theme_button() -> Markup {
    html! {
        button id="theme" type="button" hidden aria-label="switch between light and dark" { "◐" }
    }
}

/// Returns the ratios that the run was made for: the plan's first server over its second, in each
/// lease store where the plan names several.
fn main_ratios(summary: &RunSummary) -> impl Iterator<Item = (&Ratio, RatioInterval)> {
    let is_main = |ratio: &&Ratio| summary.plan.is_main_pair(&ratio.server, &ratio.to);
    let ratios = summary.ratios.iter().filter(is_main);
    ratios.filter_map(|ratio| Some((ratio, ratio.leases_per_s?)))
}

/// Draws the sentence with the ratio of two servers' rates.
fn main_ratio(summary: &RunSummary, ratio: &Ratio, interval: RatioInterval) -> Markup {
    html! {
        p class="ratio" data-figure=(summary.plan.headline.name()) {
            @if ratio.bottleneck.is_some() {
                strong class="none" { "Not measured" }
            } @else if interval.ends().is_some() {
                strong { (ratios::times(ratio, &interval)) }
            }
            span {
                (summary.plan.protocol.result_noun()) " per second: "
                b { (ratio.server) } " over " b { (ratio.to) }
                br;
                span class="dim" {
                    @if let Some(bottleneck) = ratio.bottleneck {
                        (bottleneck.words())
                    } @else if interval.ends().is_some() {
                        "95 % interval " (ratios::range(&interval)) ", "
                        (interval.pairs) " pairs"
                    } @else {
                        (ratios::range(&interval))
                    }
                    @if let Some(cpu) = ratio.leases_per_cpu_s.filter(|cpu| cpu.ends().is_some()) {
                        "; per CPU-second "
                        b { (format::ratio_within(cpu.ratio, cpu.ends())) "×" }
                    }
                    @if let Some(noise) = summary.noise {
                        "; noise floor ± " (format::trimmed(noise.typical_percent, 1)) " %"
                    }
                }
            }
        }
    }
}

/// Draws the headline of the report: the sentence with the ratio of two servers, or the name of the
/// headline figure if no ratio has an interval; then a card per server with that figure.
pub(super) fn headline(summary: &RunSummary) -> Markup {
    let headline = summary.plan.headline;
    let is_rate = headline == Headline::HighestRate;
    html! {
        section class="headline" {
            @if is_rate {
                @for (ratio, interval) in main_ratios(summary) {
                    (main_ratio(summary, ratio, interval))
                }
            } @else {
                p class="subject" { (headline.words()) }
            }
            div class="cards" {
                @for (index, result) in summary.results.iter().enumerate() {
                    (cards::card(index, result, summary))
                }
            }
        }
    }
}

/// Lists the variant (way to run it) of each server that has a load curve, if the variant has a
/// name: "kea: multi-threaded".
pub(super) fn variants(summary: &RunSummary) -> Option<String> {
    let with_variant = summary.results.iter().filter(|result| !result.variant.is_empty());
    let words: Vec<String> =
        with_variant.map(|result| format!("{}: {}", result.server, result.variant)).collect();
    (!words.is_empty()).then(|| words.join("; ") + ".")
}

/// Draws the warnings that the reader must know before believing the figures.
pub(super) fn warnings(summary: &RunSummary) -> Markup {
    html! {
        @if !summary.warnings.is_empty() {
            section class="warnings" {
                h2 { "Before believing the figures" }
                ul { @for warning in &summary.warnings { li { (warning) } } }
            }
        }
    }
}

/// Describes the method of the measurement in plain words with this run's settings.
pub(super) fn method(summary: &RunSummary) -> Markup {
    let plan = &summary.plan;
    let search = &plan.search;
    let number = |value: f64| format::trimmed(value, 2);
    html! {
        section class="method" {
            h2 { "How it was measured" }
            (exchange(plan))
            p {
                "The rate that counts is the highest at which at most "
                (number(search.loss_percent)) " % of exchanges are missed: late, lost, refused, or "
                "queued too long: complete so long after the last request (more than the time of "
                "the fastest exchange plus 1 % of the time of the offer, at least 10 and at most "
                "50 ms) that a queue must have grown. The lab searches for it in "
                "steps of ×" (number(search.growth)) " from " (format::whole(search.start_per_s))
                "/s, then by bisection to " (number(search.width_percent)) " %, with trials of "
                (number(search.dwell_s)) " s; a trial of " (number(search.confirm_dwell_s))
                " s confirms it. No unconfirmed rate is reported"
                @if plan.has_runs() { ". " } @else { "; of several rounds the report has the \
                                                      (lower) median. " }
                (load(plan)) "; seed: " (plan.seed) "."
            }
            @if search.quiet_s > 0.0 {
                p {
                    "Trials end when no answer came for " (number(search.quiet_s))
                    " s; confirming ones wait longer."
                }
            }
            @if plan.has_runs() { (runs_method(plan)) }
            @if summary.environment.topology == NETWORK {
                p {
                    "The lab measured one running server over the network between it and the "
                    "generator: the figures are those of both, on this machine and in this hour."
                }
            } @else { (turns(plan)) }
            p {
                "A trial is void when its generator could not keep the schedule (more than "
                (number(plan.void.late_sends_percent)) " % late), lost answers in its own socket ("
                (number(plan.void.socket_drops_percent)) " %) or at a processor's backlog ("
                (number(plan.void.softnet_drops_percent)) " %), or when the hypervisor took more "
                "than " (number(plan.void.steal_percent)) " % of the processors. Void trials are "
                "repeated and counted per server; no figure includes them. Percentiles come from "
                "whole histograms and are never averaged. Of several variants of a server the "
                "report shows the best one."
            }
        }
    }
}

/// Describes in which order the servers, which run in parallel, are loaded in turn.
fn turns(plan: &Plan) -> Markup {
    let number = |value: f64| format::trimmed(value, 2);
    html! {
        p {
            "Servers take turns, every second turn backwards where the plan says so, with the "
            "limit responder among them: a plain program that sends every message back with the "
            "same socket calls. Machines drift, so the result is the ratio of rounds measured in "
            "turn; absolute rates hold for this machine and hour."
            @if !plan.has_runs() {
                " The interval is Student's on the logarithms of the pairs' ratios, widened by the "
                "factor to which the search distinguishes rates ("
                (number(((plan.search.resolution() - 1.0) * 100.0).round())) " %)."
            }
        }
    }
}

/// Describes an exchange of the plan's protocol and the condition for a good one.
fn exchange(plan: &Plan) -> Markup {
    let (messages, last) = (plan.protocol.messages(), plan.protocol.last_message());
    html! {
        p {
            @if plan.protocol.is_dhcp() {
                "An exchange is a whole " (messages.join(", ")) " through a relay; it makes one lease. "
            } @else {
                "An exchange is a " (messages.join(" and its ")) " over UDP: " (QUERY) " with EDNS, "
                "always the same, a frame of " (QUERY_FRAME_BYTES) " bytes. An answer must come in "
                "time from the server to the query's port, with the query's identifier and "
                "question, and with the response code NOERROR or NXDOMAIN. "
            }
            "The generator keeps a schedule that does not wait for answers. An exchange "
            "is good when its " (last) " arrives within " (format::trimmed(plan.search.deadline_s, 2))
            " s of when its " (messages[0]) " was " em { "due" } ", not of when it was sent, so a "
            "generator or server that stalls cannot hide it."
        }
    }
}

/// Text of the report for messages that leave the generator as frames (AF_XDP).
const AS_FRAMES: &str = "as frames that bypass the kernel's UDP, if there is a veth pair";

/// Describes the load of the plan, clients or queries, in one clause.
fn load(plan: &Plan) -> String {
    let whole = |number: u32| format::whole(f64::from(number));
    if plan.protocol.is_dhcp() {
        format!(
            "Clients: {}; pool: {} addresses; lease time: {} s; messages leave {}{}",
            whole(plan.clients.count),
            whole(plan.server.pool_size),
            whole(plan.server.lease_time_s),
            if plan.clients.frames { AS_FRAMES } else { "in groups where the kernel can" },
            match plan.clients.turn_us {
                0 => String::new(),
                turn_us => format!(", in send cycles at least {turn_us} µs apart"),
            }
        )
    } else {
        format!(
            "Ports of the generator: {}; threads of each server: {}; queries leave {}",
            whole(plan.dns.ports),
            whole(plan.dns.threads),
            match (plan.dns.frames, plan.dns.segmentation) {
                (false, false) => "one by one",
                (false, true) => "in groups",
                (true, false) => AS_FRAMES,
                (true, true) =>
                    "in groups, and answers bypass the kernel's UDP, if there is a veth pair",
            }
        )
    }
}

/// Describes how the several runs of a server become one figure.
fn runs_method(plan: &Plan) -> Markup {
    html! {
        p {
            "The plan measures every server " (plan.runs.count) " times, each time from the "
            "beginning and from another first rate, so that the runs do not agree only because "
            "they tried the same rates. "
            @match plan.runs.drop {
                DroppedRuns::BestAndWorst => {
                    "The best and the worst of the runs that count are dropped; the figure is the "
                    "mean of the others. "
                }
                DroppedRuns::None => { "The figure is the mean of the runs that count. " }
            }
            "A run that confirmed a rate but did not see the server fail above it, and one in which "
            "the server missed every confirmation, "
            @match plan.runs.unconfirmed {
                UnconfirmedRunRule::LowerBound => { "count as their lower bound: what they confirmed, or 0. " }
                UnconfirmedRunRule::Void => { "are void. " }
            }
            "A run is also void when its trials were void or the time was up; the report shows "
            "void runs, but no figure includes them."
        }
        p {
            "The interval is that of Tukey and McLaughlin (Sankhyā A 25, 1963) for a mean without its "
            "ends: its width comes from the winsorized spread of all runs that count, not from the "
            "smaller spread of those that were kept. Ratios are taken run by run, and of their "
            "logarithms in the same way. Rates that were found are rates that were met: the true "
            "highest rate lies up to " (format::trimmed(plan.search.width_percent, 2)) " % above."
        }
    }
}

/// Draws the footer of the report with the location of the raw records.
pub(super) fn foot(summary: &RunSummary) -> Markup {
    html! {
        footer {
            p {
                "godwit " (summary.environment.godwit)
                @if !summary.environment.profile.is_empty() {
                    ", profile " (summary.environment.profile)
                }
                " · " (summary.schema)
                " · raw records in this page's folder"
            }
            @if !summary.files.is_empty() {
                details {
                    summary { (summary.files.len()) " files" }
                    p class="files" {
                        @for file in &summary.files { code { (file) } " " }
                    }
                }
            }
        }
    }
}
