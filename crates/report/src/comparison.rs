//! Page of `godwit lab compare`, two results next to each other: whether they may be compared, the
//! ratios, the figures.

use maud::{Markup, html};

use crate::ratios::{self, RatioRow};
use crate::{figure, format, page, plot};
use measure::compare::{
    ComparedResult, Comparison, Figures, Gate, GateVerdict, LimitChange, ServerComparison,
};
use measure::statistics::{NoiseFloor, RatioInterval};
use measure::summary::LatencyAt;

/// Returns the title of the browser's window with a comparison.
pub(super) fn title(comparison: &Comparison) -> String {
    format!("{} against {} — godwit", comparison.b.name, comparison.a.name)
}

/// Draws the body of the page of a comparison.
pub(super) fn body(comparison: &Comparison) -> Markup {
    html! {
        (page::header("godwit lab compare", "B against A", html! {
            "A: " (comparison.a.name) br; "B: " (comparison.b.name)
        }))
        main {
            (verdict(comparison))
            @if let Some(gate) = &comparison.gate { (by_margin(gate)) }
            (notes(comparison))
            (ratios_chart(comparison))
            @if !comparison.servers.is_empty() {
                section class="figures" {
                    h2 { "Figures" }
                    @for (index, server) in comparison.servers.iter().enumerate() {
                        (figures_table(index, server))
                    }
                    @if let Some(limit) = &comparison.limit { (limit_line(limit)) }
                }
            }
            (sides(comparison))
            section class="method" {
                h2 { "How it was compared" }
                p { (comparison.method) }
                p {
                    "The two results were not measured in turn, so every change between them is in "
                    "their ratio. The page first checks for the changes that it can know: plan, "
                    "segmentation, machine, tool, durability, noise, stolen time, and the rate of "
                    "the limit responder. Figures as shares of that rate leave out changes that made "
                    "the whole machine slower or faster."
                }
            }
        }
        footer { p { (comparison.schema) } }
    }
}

/// Draws the verdict whether the two results may be compared, with the reasons against it.
fn verdict(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.reasons.is_empty() {
            section class="warnings" {
                h2 {
                    "Not comparable because"
                    @if comparison.is_forced { " (shown because of --force)" }
                }
                ul { @for reason in &comparison.reasons { li { (reason.words) } } }
            }
        }
    }
}

/// Draws the verdict of the gate, whether the second result is worse than the first by more than
/// the margin.
fn by_margin(gate: &Gate) -> Markup {
    html! {
        section class="figures" data-gate=(gate.verdict.words()) {
            h2 { "By a margin of " (format::trimmed(gate.margin_percent, 2)) " %: " (gate.verdict.words()) }
            div class="scroll" {
                table class="sides" {
                    thead { tr { th { "server" } th { "figure" } th { "verdict" } th { "because" } } }
                    tbody {
                        @for line in &gate.lines {
                            @let is_bad = line.verdict == GateVerdict::Regressed;
                            tr {
                                td { (line.server) }
                                td { (line.figure.words()) }
                                td class=[is_bad.then_some("attention")] { (line.verdict.words()) }
                                td { (line.words) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn notes(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.notes.is_empty() {
            section class="notes" {
                h2 { "What else differs" }
                ul { @for note in &comparison.notes { li { (note) } } }
            }
        }
    }
}

fn ratio_rows(comparison: &Comparison) -> Vec<RatioRow> {
    let mut rows = Vec::new();
    for (index, server) in comparison.servers.iter().enumerate() {
        let bound = ratios::bound(server.b.is_at_least, server.a.is_at_least);
        for (what, interval, bound) in [
            ("highest rate", server.leases_per_s, bound),
            ("of the limit responder", server.of_limit, bound),
            ("per CPU-second", server.leases_per_cpu_s, ""),
        ] {
            if let Some(interval) = interval {
                rows.push(RatioRow {
                    name: server.server.clone(),
                    what: what.to_owned(),
                    server: server.server.clone(),
                    to: server.server.clone(),
                    interval,
                    bound,
                    class: plot::series_class(index),
                });
            }
        }
    }
    if let Some(interval) = comparison.limit.and_then(|limit| limit.ratio) {
        rows.push(RatioRow {
            name: "limit".to_owned(),
            what: "kernel and generator".to_owned(),
            server: "limit".to_owned(),
            to: "limit".to_owned(),
            interval,
            bound: "",
            class: plot::LIMIT_CLASS.to_owned(),
        });
    }
    rows
}

/// Returns the larger of the noise floors (differences of a server from itself) of both results.
fn noise(comparison: &Comparison) -> Option<NoiseFloor> {
    let (a, b) = (comparison.a.noise?, comparison.b.noise?);
    Some(if a.typical_percent > b.typical_percent { a } else { b })
}

fn ratios_chart(comparison: &Comparison) -> Markup {
    let rows = ratio_rows(comparison);
    html! {
        @if !rows.is_empty() {
            (figure(
                "ratios",
                "B over A",
                &html! {
                    "Whiskers are 95 % intervals; an interval that contains 1× shows no difference. "
                    @if noise(comparison).is_some() {
                        "The band shows how much two measurements of the same server differ within \
                         a result."
                    }
                },
                &html! {},
                &ratios::rows_chart(&rows, noise(comparison)),
                &ratios::rows_table(&rows),
            ))
        }
    }
}

/// Draws the table with all figures of one server, A next to B.
fn figures_table(index: usize, server: &ServerComparison) -> Markup {
    let ServerComparison { a, b, .. } = server;
    html! {
        div class={ "scroll " (plot::series_class(index)) } {
            table class="sides figures" {
                thead {
                    tr { th class="label" { (server.server) } th.n { "A" } th.n { "B" } th.n { "B over A" } }
                }
                tbody {
                    (row("variant", a.variant.clone(), b.variant.clone(), String::new()))
                    (row("highest rate, per second", rate(a), rate(b), times(server.leases_per_s.as_ref())))
                    (row(range_name(a, b), range(a), range(b), String::new()))
                    tr class="values" { td { "every run or round" } td.n { (values(a)) } td.n { (values(b)) } td {} }
                    (row("highest rate, as share of the limit responder's", String::new(), String::new(), times(server.of_limit.as_ref())))
                    (row("per CPU-second", optional(a.leases_per_cpu_s), optional(b.leases_per_cpu_s),
                        times(server.leases_per_cpu_s.as_ref())))
                    (row("per CPU-second, as share of the limit responder's", String::new(), String::new(),
                        times(server.cpu_of_limit.as_ref())))
                    (latencies("half load", a.latency_half, b.latency_half))
                    (row("missed at half load", share(a.latency_half), share(b.latency_half), String::new()))
                    (latencies("the top", a.latency_max, b.latency_max))
                    (row("missed at the top", share(a.latency_max), share(b.latency_max), String::new()))
                    (row("memory", memory(a), memory(b), change(a.rss_bytes as f64, b.rss_bytes as f64)))
                    (row("void trials", voids(a), voids(b), String::new()))
                }
            }
        }
    }
}

fn row(name: &str, a: String, b: String, ratio: String) -> Markup {
    html! {
        @if !(a.is_empty() && b.is_empty() && ratio.is_empty()) {
            tr { td { (name) } td.n { (a) } td.n { (b) } td.n { (ratio) } }
        }
    }
}

fn latencies(position: &str, a: Option<LatencyAt>, b: Option<LatencyAt>) -> Markup {
    let figures = |at: Option<LatencyAt>| {
        let of = at.filter(|at| at.latency.count > 0).map(|at| at.latency);
        [of.and_then(|of| of.p50_us), of.and_then(|of| of.p99_us), of.and_then(|of| of.p999_us)]
    };
    let duration_text = |us: Option<f64>| us.map(format::duration_us).unwrap_or_default();
    html! {
        @for ((name, a), b) in ["p50", "p99", "p99.9"].into_iter().zip(figures(a)).zip(figures(b)) {
            (row(&format!("{name} at {position}"), duration_text(a), duration_text(b),
                change(a.unwrap_or(0.0), b.unwrap_or(0.0))))
        }
    }
}

fn optional(rate: Option<f64>) -> String {
    rate.map(format::rate).unwrap_or_default()
}

fn rate(figures: &Figures) -> String {
    let sign = if figures.is_at_least { "≥ " } else { "" };
    figures.leases_per_s.map_or_else(|| "none".to_owned(), |r| format!("{sign}{}", format::rate(r)))
}

fn range_name(a: &Figures, b: &Figures) -> &'static str {
    if a.is_interval && b.is_interval { "95 % interval" } else { "lowest to highest round" }
}

fn range(figures: &Figures) -> String {
    match (figures.low, figures.high) {
        (Some(low), Some(high)) => format!("{} to {}", format::rate(low), format::rate(high)),
        _ => String::new(),
    }
}

fn values(figures: &Figures) -> String {
    figures.values.iter().map(|value| format::rate(*value)).collect::<Vec<_>>().join(" · ")
}

fn share(at: Option<LatencyAt>) -> String {
    at.map(|at| format::percent(at.loss)).unwrap_or_default()
}

fn memory(figures: &Figures) -> String {
    if figures.rss_bytes > 0 { format::bytes(figures.rss_bytes) } else { String::new() }
}

fn voids(figures: &Figures) -> String {
    format!("{} of {}", figures.voids, figures.trials)
}

/// Formats the ratio of `b` over `a`, two figures without an interval.
fn change(a: f64, b: f64) -> String {
    if a > 0.0 && b > 0.0 {
        format!("{}×", format::ratio_within(b / a, None))
    } else {
        String::new()
    }
}

fn times(interval: Option<&RatioInterval>) -> String {
    let of =
        |of: &RatioInterval| format!("{} ({})", ratios::times_bound("", of), ratios::range(of));
    interval.map(of).unwrap_or_default()
}

fn limit_line(limit: &LimitChange) -> Markup {
    html! {
        p class="dim" {
            "Limit responder: " (format::rate(limit.a_per_s)) "/s in A, " (format::rate(limit.b_per_s))
            "/s in B"
            @if let Some(ratio) = &limit.ratio { ", " (times(Some(ratio))) }
            "."
        }
    }
}

/// Draws the table of the properties of the two results.
fn sides(comparison: &Comparison) -> Markup {
    let of = |side: &ComparedResult| {
        let environment = &side.environment;
        let noise = side.noise.map(|n| format!("± {} %", format::trimmed(n.typical_percent, 1)));
        // True if a difference of the property matters.
        [
            ("plan", side.plan.clone(), true),
            ("plan's hash", side.plan_hash.clone(), true),
            ("begun", side.started.replace('T', " "), false),
            ("took", format::seconds(side.duration_s), false),
            ("Godwit", environment.godwit.clone(), true),
            ("commit", environment.commit.clone(), false),
            ("profile", environment.profile.clone(), true),
            ("processors", format!("{} × {}", environment.cpus, environment.cpu_model), true),
            ("memory", format::bytes(environment.memory_bytes), true),
            ("kernel", environment.kernel.clone(), true),
            ("hypervisor", environment.virtualization.clone(), true),
            ("topology", environment.topology.clone(), true),
            ("noise floor", noise.unwrap_or_else(|| "unknown".to_owned()), false),
            ("stolen time", format::percent(side.steal_share), false),
        ]
    };
    let rows = of(&comparison.a).into_iter().zip(of(&comparison.b));
    html! {
        section class="environment" {
            h2 { "The two results" }
            div class="scroll" {
                table class="sides" {
                    thead { tr { th { "" } th { "A" } th { "B" } } }
                    tbody {
                        @for ((name, a, counts), (_, b, _)) in rows {
                            tr { td.dim { (name) } td { (a) } td class=[(counts && a != b).then_some("attention")] { (b) } }
                        }
                    }
                }
            }
        }
    }
}
