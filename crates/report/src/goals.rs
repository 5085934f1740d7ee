//! Page of repeated measurements: the values of each, the goal, the accepted range, and values that
//! other implementations reached.

use maud::{Markup, html};
use serde::Serialize;

use crate::page::header;
use crate::plot::{self, Axis, ChartMark, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use crate::{document, format};
use measure::statistics::standard_deviation;

const TICKS: usize = 6;
/// Margin of a chart's axis beyond the drawn values, as a share of their span.
const MARGIN: f64 = 0.08;

/// Set of measured values of one quantity, measured several times.
#[derive(Clone, Debug, Serialize)]
pub struct Set {
    /// Name of the quantity that the set's values measure.
    pub name: String,
    /// Measured values in the order of their measurement.
    pub values: Vec<f64>,
    /// True if the values are those of another implementation, for comparison.
    pub is_reference: bool,
}

/// Chart of sets of measured values with one goal.
#[derive(Clone, Debug, Serialize)]
pub struct GoalChart {
    /// Name of the drawing, one word.
    pub name: String,
    /// Heading above the drawing of the chart.
    pub heading: String,
    /// Caption of the drawing: a description of the measurement, one sentence.
    pub caption: String,
    /// Unit of all values in the chart.
    pub unit: &'static str,
    /// Goal of the measured values, in the chart's unit.
    pub goal: f64,
    /// Least and largest accepted value, and the name of the quantity that this range applies to.
    pub accepted: Option<(f64, f64, &'static str)>,
    /// Sets of measured values in the chart.
    pub sets: Vec<Set>,
}

/// Explanation of the figures: a text, and lines that are printed verbatim.
#[derive(Clone, Debug, Serialize)]
pub struct FigureNote {
    /// Heading above the note on the figures.
    pub heading: &'static str,
    /// Lines of the note with a formula or with figures, printed verbatim.
    pub lines: Vec<String>,
    /// Explanation printed below the `lines` of the note.
    pub text: String,
}

/// Draws a page of charts: `kicker` above its title, `facts` below. Equal charts always give equal
/// bytes.
pub fn render(
    kicker: &str,
    title: &str,
    facts: &[String],
    charts: &[GoalChart],
    notes: &[FigureNote],
) -> String {
    let body = html! {
        (header(kicker, title, facts.join(" · ")))
        main {
            @for chart in charts { (figure(chart)) }
            section class="method" {
                @for note in notes {
                    h2 { (note.heading) }
                    pre { (note.lines.join("\n")) }
                    p { (note.text) }
                }
            }
        }
        footer { p { "godwit " (env!("CARGO_PKG_VERSION")) } }
    };
    document(&format!("{title} — godwit"), "charts", &serde_json::to_string(charts), &body)
}

fn figure(chart: &GoalChart) -> Markup {
    html! {
        figure data-chart=(chart.name) {
            figcaption {
                h2 { (chart.heading) }
                p {
                    (chart.caption) " Line: the desired \
                                     value, " (value(chart.goal)) " " (chart.unit) "."
                    @if let Some((least, most, of)) = chart.accepted {
                        " Shaded: accepted range of " (of) ": " (value(least)) " to " (value(most))
                        " " (chart.unit) "."
                    }
                }
            }
            @for size in ChartWidth::ALL { (drawing(chart, size)) }
            div class="scroll" { (table(chart)) }
        }
    }
}

/// Returns the range of values that the axis of `chart` must contain.
fn reach(chart: &GoalChart) -> (f64, f64) {
    let accepted = chart.accepted.into_iter().flat_map(|(least, most, _)| [least, most]);
    let values = chart.sets.iter().flat_map(|set| set.values.iter().copied());
    let all = values.chain(accepted).chain([chart.goal]);
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let margin = ((high - low) * MARGIN).max(high.abs() * 1e-3).max(1e-9);
    ((low - margin).max(0.0), high + margin)
}

fn drawing(chart: &GoalChart, size: ChartWidth) -> Markup {
    let c = format::coordinate;
    let (width, left, right, row_height, top) = match size {
        ChartWidth::Wide => (960.0, 190.0, 170.0, 40.0, 8.0),
        ChartWidth::Narrow => (380.0, 14.0, 20.0, 58.0, 8.0),
    };
    let (low, high) = reach(chart);
    let frame = PlotArea {
        width,
        height: top + chart.sets.len() as f64 * row_height + 44.0,
        left,
        right,
        top,
        bottom: 44.0,
        x: AxisScale::between(low, high, TICKS),
        y: AxisScale::Linear { max: 1.0 },
    };
    let goal = c(frame.at_x(chart.goal));
    let content = html! {
        @if let Some((least, most, _)) = chart.accepted {
            @let (from, to) = (frame.at_x(least), frame.at_x(most));
            rect class="noise" x=(c(from)) y=(c(top)) width=(c((to - from).max(1.0)))
                height=(c(frame.floor() - top)) {}
        }
        (frame.axes(
            &Axis { title: chart.unit, ticks: TICKS, format: |v| format::trimmed(v, 3) },
            &Axis { title: "", ticks: 0, format: |_| String::new() },
        ))
        line class="equal" x1=(goal) y1=(c(top)) x2=(goal) y2=(c(frame.floor())) {}
        @for index in 0..chart.sets.len() {
            (strip(&frame, size, chart, index, top + index as f64 * row_height, row_height))
        }
    };
    frame.svg(size.name(), &chart.heading, "xy", &content)
}

/// Draws the row of set `index` of `chart`: its name, its values and their mean.
fn strip(
    frame: &PlotArea,
    size: ChartWidth,
    chart: &GoalChart,
    index: usize,
    top: f64,
    height: f64,
) -> Markup {
    let (c, set) = (format::coordinate, &chart.sets[index]);
    let class = plot::series_class(index);
    let marks = if set.is_reference { format!("{class} beyond") } else { class.clone() };
    let figure = summary(set).map_or_else(String::new, |s| {
        let spread = s.deviation.map_or_else(String::new, |d| format!(" ± {}", value(d)));
        format!("{}{spread} {}", value(s.mean), chart.unit)
    });
    let at_y = if size == ChartWidth::Wide { top + height / 2.0 } else { top + height - 14.0 };
    html! {
        @match size {
            ChartWidth::Wide => {
                text class="row-name" x="0" y=(c(at_y)) dy="0.32em" { (set.name) }
                text class="row-figure" x=(c(frame.end() + 12.0)) y=(c(at_y)) dy="0.32em" { (figure) }
            }
            ChartWidth::Narrow => {
                text class="row-name" x="0" y=(c(top + 12.0)) dy="0.32em" { (set.name) }
                text class="row-figure" x="0" y=(c(top + 28.0)) dy="0.32em" { (figure) }
            }
        }
        @if let Some(SetStatistics { mean, .. }) = summary(set) {
            @let x = c(frame.at_x(mean));
            line class={ "whisker " (class) } x1=(x) y1=(c(at_y - 11.0)) x2=(x) y2=(c(at_y + 11.0)) {}
        }
        @for (run, &figure) in set.values.iter().enumerate() {
            (ChartMark {
                class: &marks,
                shape: index,
                at: (frame.at_x(figure), at_y),
                data: &[("set", set.name.clone()), ("run", (run + 1).to_string())],
                title: format!("{}, run {}\n{} {}", set.name, run + 1, value(figure), chart.unit),
            }.draw())
        }
    }
}

/// Statistics of the values of one set of measurements.
struct SetStatistics {
    mean: f64,
    /// Standard deviation of the set's values; `None` for one value.
    deviation: Option<f64>,
}

fn summary(set: &Set) -> Option<SetStatistics> {
    let mean = set.values.iter().sum::<f64>() / set.values.len() as f64;
    let deviation = standard_deviation(&set.values);
    (!set.values.is_empty()).then_some(SetStatistics { mean, deviation })
}

fn table(chart: &GoalChart) -> Markup {
    let runs = chart.sets.iter().map(|set| set.values.len()).max().unwrap_or(0);
    html! {
        table class="runs" {
            thead {
                tr {
                    th { (chart.unit) }
                    @for run in 1..=runs { th.n { "run " (run) } }
                    th.n { "mean" }
                    th.n { "standard deviation" }
                    th.n { "desired" }
                    th.n { "of the desired value" }
                }
            }
            tbody {
                @for set in &chart.sets {
                    @let summary = summary(set);
                    tr {
                        td { (set.name) }
                        @for run in 0..runs {
                            td.n { @if let Some(&figure) = set.values.get(run) { (value(figure)) } }
                        }
                        td.n { b { @if let Some(s) = &summary { (value(s.mean)) } } }
                        td.n { @if let Some(d) = summary.as_ref().and_then(|s| s.deviation) { (value(d)) } }
                        td.n { (value(chart.goal)) }
                        td.n {
                            @if let Some(s) = &summary { (format::percent(s.mean / chart.goal)) }
                        }
                    }
                }
            }
        }
    }
}

/// Formats a measured value with four significant digits; the published values of 2007 have three.
fn value(value: f64) -> String {
    format::trimmed(format::significant(value, 4), 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> GoalChart {
        let set = |name: &str, is_reference| Set {
            name: name.to_owned(),
            values: values.to_vec(),
            is_reference,
        };
        GoalChart {
            name: "case".to_owned(),
            heading: "A <b> case".to_owned(),
            caption: "What was done.".to_owned(),
            unit: "kbit/s",
            goal: 134.0,
            accepted: Some((125.0, 215.0, "ours")),
            sets: vec![set("ours", false), set("theirs", true)],
        }
    }

    #[test]
    fn every_value_is_a_mark_and_stands_in_the_table() {
        let note = FigureNote {
            heading: "Desired",
            lines: vec!["X = s / R".to_owned()],
            text: "That.".to_owned(),
        };
        let page =
            render("k", "Title", &["fact".to_owned()], &[chart(&[152.0, 164.0, 139.0])], &[note]);
        // Two sizes of two sets of three values.
        assert_eq!(page.matches("class=\"mark ").count(), 12);
        assert_eq!(page.matches("beyond").count() - page.matches(".beyond").count(), 6);
        assert!(page.contains("151.7 ± 12.5 kbit/s"), "mean and standard deviation");
        assert!(page.contains("<td class=\"n\">164</td>"));
        assert!(page.contains("<pre>X = s / R</pre>"));
        assert!(page.contains("125 to 215 kbit/s") && !page.contains("<b> case"));
    }

    #[test]
    fn one_value_has_no_spread_and_none_no_mark() {
        let page = render("k", "Title", &[], &[chart(&[95.0])], &[]);
        assert!(!page.contains('±') && page.matches("class=\"mark ").count() == 4);
        let page = render("k", "Title", &[], &[chart(&[])], &[]);
        assert_eq!(page.matches("class=\"mark ").count(), 0);
    }
}
