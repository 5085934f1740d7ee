//! Figure of servers' profiles: a flame graph for each profile, of which the script shows one at a
//! time, and the functions and objects with the largest shares, step next to step.

use maud::{Markup, html};

use crate::{flame, format};
use measure::profile::{Profile, ProfileShare, top_functions, top_objects};
use measure::summary::{RunSummary, ServerProfile};

/// Number of functions in the table of a server's profiles.
const FUNCTIONS: usize = 15;
/// Number of objects in the table of a server's profiles.
const OBJECTS: usize = 8;
/// Share of lost samples from which the page warns of a profile, 0 to 1.
const MANY_LOST: f64 = 0.1;

/// Draws the figure of all profiles; nothing without profiles.
pub(super) fn figure(summary: &RunSummary) -> Markup {
    let profiles = &summary.profiles;
    html! {
        @if !profiles.is_empty() {
            figure data-chart="profile" {
                figcaption {
                    h2 { "Where the servers' time goes" }
                    p {
                        "Samples of the functions that were running, under constant load in trials of "
                        "their own, which enter no other figure. A box is as wide as its share of the "
                        "samples and is above its caller. Click a box to zoom, Escape or its callers to "
                        "go back; arrow keys walk."
                    }
                }
                (legend())
                @for (index, of) in profiles.iter().enumerate() { (section(index, of, summary)) }
                @for servers in profiles.chunk_by(|a, b| a.server == b.server) {
                    (tables(servers))
                }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        p class="legend kinds" {
            @for (kind, words) in
                [("program", "program"), ("library", "library"), ("kernel", "kernel"), ("thread", "thread")]
            {
                span { i class=(kind) {} (words) }
            }
        }
    }
}

/// Names the profile of a server by its rate: "echo at 21,000/s".
fn name(of: &ServerProfile) -> String {
    format!("{} at {}/s", of.server, format::rate(of.offered_per_s))
}

fn section(index: usize, of: &ServerProfile, summary: &RunSummary) -> Markup {
    let name = name(of);
    html! {
        section class="profile" data-profile=(index) data-server=(of.server) {
            h3 { (name) }
            p class="dim" {
                (facts(&of.profile)) "; " (summary.plan.protocol.result_noun()) " on time: "
                (format::rate(of.achieved_per_s)) "/s."
                @if let Some(words) = doubts(&of.profile) { " " b class="attention" { (words) } }
            }
            (flame::drawing(&of.profile.stacks, &format!("Flame graph of {name}")))
        }
    }
}

fn facts(profile: &Profile) -> String {
    let lost = match profile.lost {
        0 => "none".to_owned(),
        lost => format::whole(lost as f64),
    };
    format!(
        "{} at {} Hz for {} s, callers by {}: {} samples, {lost} lost; {} processors busy",
        if profile.event.is_empty() { "no event" } else { &profile.event },
        format::whole(f64::from(profile.frequency_hz)),
        format::trimmed(profile.seconds, 1),
        profile.call_graph.name(),
        format::whole(profile.samples as f64),
        format::trimmed(profile.cpus_busy(), 2)
    )
}

/// Describes the defects of a profile that its reader must know, such as lost samples; `None`
/// without any.
fn doubts(profile: &Profile) -> Option<String> {
    let mut doubts = Vec::new();
    if profile.samples == 0 {
        doubts.push("The server did not run while samples were taken.");
    }
    if profile.lost as f64 > profile.samples as f64 * MANY_LOST {
        doubts.push("Many samples were lost: shares may be off.");
    }
    if profile.is_user_only {
        doubts.push(
            "The kernel's part is missing: it needs root, or kernel.perf_event_paranoid at 1 or \
             less.",
        );
    }
    (!doubts.is_empty()).then(|| doubts.join(" "))
}

/// Draws the tables of functions and objects in one server's profiles, with a column for each
/// profile.
fn tables(profiles: &[ServerProfile]) -> Markup {
    let of = |top: fn(&measure::profile::Stacks) -> Vec<ProfileShare>| -> Vec<Vec<ProfileShare>> {
        profiles.iter().map(|of| top(&of.profile.stacks)).collect()
    };
    let (functions, objects) = (of(top_functions), of(top_objects));
    html! {
        div class="tops" {
            div class="scroll" {
                table class="top-functions" {
                    thead {
                        tr {
                            th { (profiles[0].server) ": functions, own share" }
                            th { "object" }
                            @for of in profiles { th.n { (format::rate(of.offered_per_s)) "/s" } }
                        }
                    }
                    tbody {
                        @for row in rows(&functions, FUNCTIONS) {
                            tr {
                                td { code { (row.function) } }
                                td { (row.object) }
                                (cells(row, &functions))
                            }
                        }
                    }
                }
            }
            div class="scroll" {
                table class="top-objects" {
                    thead {
                        tr {
                            th { "programs and libraries" }
                            @for of in profiles { th.n { (format::rate(of.offered_per_s)) "/s" } }
                        }
                    }
                    tbody {
                        @for row in rows(&objects, OBJECTS) {
                            tr { td { (row.object) } (cells(row, &objects)) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the `count` functions or objects with the largest shares, by the largest share that each
/// has in any of `profiles`.
fn rows(profiles: &[Vec<ProfileShare>], count: usize) -> Vec<&ProfileShare> {
    let mut rows: Vec<&ProfileShare> = Vec::new();
    for share in profiles.iter().flatten().filter(|share| share.own > 0.0) {
        match rows.iter_mut().find(|row| is_same(row, share)) {
            Some(row) if row.own < share.own => *row = share,
            Some(_) => {}
            None => rows.push(share),
        }
    }
    rows.sort_by(|a, b| b.own.total_cmp(&a.own));
    rows.truncate(count);
    rows
}

fn is_same(a: &ProfileShare, b: &ProfileShare) -> bool {
    (&a.function, &a.object) == (&b.function, &b.object)
}

fn cells(row: &ProfileShare, profiles: &[Vec<ProfileShare>]) -> Markup {
    html! {
        @for profile in profiles {
            @let own = profile.iter().find(|share| is_same(share, row)).map_or(0.0, |s| s.own);
            td.n { (format::percent(own)) }
        }
    }
}
