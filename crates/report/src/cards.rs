//! Cards of the report, one per server: its figures, with the plan's headline figure first.

use maud::{Markup, html};

use crate::{format, headline, plot, runs};
use measure::plan::Headline;
use measure::summary::{LatencyAt, LinkTraffic, RunSummary, ServerResult};

/// Draws the report's card of a server: the plan's headline figure, then further figures.
pub(super) fn card(index: usize, result: &ServerResult, summary: &RunSummary) -> Markup {
    html! {
        article class={ "card " (plot::series_class(index)) } {
            h2 { (glyph(index)) (result.server) }
            @if !result.variant.is_empty() {
                p class="variant" {
                    (result.variant)
                    @for other in result.variants.iter().filter(|v| v.variant != result.variant) {
                        " · " (other.variant) " "
                        (other.leases_per_s.map_or_else(|| "none".to_owned(), format::rate)) "/s"
                    }
                }
            }
            @if summary.plan.headline == Headline::HighestRate {
                (highest_rate(result, summary))
            } @else {
                (other_headline(result, summary))
            }
            (facts(result, summary))
        }
    }
}

/// Draws the headline figure of a server for a plan that is not about highest rates.
fn other_headline(result: &ServerResult, summary: &RunSummary) -> Markup {
    let headline_text = headline::headline_text(summary, result);
    let name = summary.plan.headline.name();
    html! {
        @match headline_text {
            Some(headline_text) => {
                p class="figure" data-figure=(name) {
                    (headline_text.figure)
                    @if !headline_text.unit.is_empty() { span class="unit" { (headline_text.unit) } }
                }
                @if !headline_text.condition.is_empty() { p class="dim" { (headline_text.condition) } }
            }
            None => { p class="figure none" data-figure=(name) { "not measured" } }
        }
    }
}

/// Draws the highest rate of a server as the headline figure of its card.
fn highest_rate(result: &ServerResult, summary: &RunSummary) -> Markup {
    let (several, yields) = (result.rounds.len() > 1, summary.plan.protocol.result_noun());
    let name = summary.plan.headline.name();
    html! {
        @match result.leases_per_s {
            Some(rate) => {
                p class="figure" data-figure=(name) {
                    @if result.is_at_least { span class="bound" { "≥ " } }
                    (format::rate(rate)) span class="unit" { (yields) "/s" }
                }
                @if let Some(mean) = &result.mean {
                    p class="dim" {
                        (runs::share(mean, summary.plan.runs.count)) ": "
                        (runs::range(mean))
                    }
                } @else if let (true, Some(low), Some(high)) =
                    (several, result.leases_per_s_low, result.leases_per_s_high)
                {
                    p class="dim" {
                        (result.rounds.len()) " rounds: " (format::rate(low)) " to "
                        (format::rate(high))
                    }
                }
            }
            None => {
                p class="figure none" data-figure=(name) {
                    @if result.loses_at_every_rate.is_some() {
                        "never meets " (summary.plan.search.loss_percent) " %"
                    } @else { "not confirmed" }
                }
            }
        }
    }
}

/// Draws further figures of a server below the headline figure of its card.
fn facts(result: &ServerResult, summary: &RunSummary) -> Markup {
    let yields = summary.plan.protocol.result_noun();
    html! {
        dl {
            @if summary.plan.headline != Headline::HighestRate {
                dt { "highest rate" }
                dd {
                    @match result.leases_per_s {
                        Some(rate) => { (format::rate(rate)) " " (yields) "/s" }
                        None => { "not confirmed" }
                    }
                }
            }
            @if let Some(rate) = result.leases_per_cpu_s {
                dt { "per CPU-second" } dd { (format::rate(rate)) }
            }
            (latency("p99 at half load", result.latency_half))
            (latency("p99 at the maximum", result.latency_max))
            (carried(result.carried_max))
            @if let Some(all) = result.avalanche {
                dt { "all at once" }
                dd { (format::rate(all.clients as f64)) " clients in " (format::seconds(all.took_s)) }
            }
            @if let (Some(share), Some(limit)) = (result.share_of_limit, &summary.limit) {
                dt { "of the limit responder" }
                dd title={ "limit responder: " (format::rate(limit.leases_per_s)) " " (yields) "/s" } {
                    (bar(share)) (format::percent(share))
                }
            }
            @if result.rss_bytes > 0 {
                dt { "memory" } dd { (format::bytes(result.rss_bytes)) }
            }
            dt { "void trials" }
            dd class=[(result.voids > 0).then_some("attention")] {
                (result.voids) " of " (result.trials)
            }
        }
    }
}

/// Draws the throughput of the link between generator and server at the server's highest rate;
/// nothing if it was not counted.
fn carried(carried: Option<LinkTraffic>) -> Markup {
    html! {
        @if let Some(carried) = carried {
            dt { "Mbit/s at the maximum" }
            dd title="Ethernet frames to the server and from it, without preamble, checksum and gap" {
                (format::trimmed(carried.to_server_mbit_s, 1)) " in, "
                (format::trimmed(carried.from_server_mbit_s, 1)) " out"
            }
        }
    }
}

/// Draws the 99 % latency of a server at one load, under `name`.
fn latency(name: &str, at: Option<LatencyAt>) -> Markup {
    html! {
        @if let Some(at) = at.filter(|at| at.latency.count > 0) {
            dt { (name) }
            dd title={ "at " (format::rate(at.offered_per_s)) "/s" } {
                (format::percentile_us(at.latency.p99_us))
            }
        }
    }
}

/// Draws the mark of series `index`, which identifies a server's card and chart lines without
/// color.
fn glyph(index: usize) -> Markup {
    html! {
        svg class="glyph" viewBox="-7 -7 14 14" aria-hidden="true" {
            path d=(plot::outline(index)) {}
        }
    }
}

/// Draws `share`, 0 to 1, as a bar of that length.
fn bar(share: f64) -> Markup {
    let width = format::coordinate(share.clamp(0.0, 1.0) * 60.0);
    html! {
        svg class="bar" viewBox="0 0 60 6" aria-hidden="true" {
            rect class="whole" width="60" height="6" rx="3" {}
            rect class="part" width=(width) height="6" rx="3" {}
        }
    }
}
