//! Page of charts of any quantities against time, for the samples of a run.

use maud::{Markup, html};
use serde::Serialize;

use crate::page::header;
use crate::plot::{self, Axis, ChartWidth, PlotArea};
use crate::scale::AxisScale;
use crate::{document, format};

/// Number of stretches into which a line of a chart is divided, so that a pointer finds each.
const STRETCHES: usize = 60;

/// Line in a chart over time.
#[derive(Clone, Debug, Serialize)]
pub struct ChartSeries {
    /// Name of the subject that the line shows, such as a connection.
    pub name: String,
    /// Points of the line: seconds and value, in the order of time.
    pub points: Vec<(f64, f64)>,
}

/// Chart of a quantity over time.
#[derive(Clone, Debug, Serialize)]
pub struct TimeChart {
    /// Name of the drawing, one word.
    pub name: &'static str,
    /// Heading above the drawing of the chart.
    pub heading: &'static str,
    /// Caption of the chart: a description, one sentence.
    pub caption: &'static str,
    /// Unit of the chart's vertical axis.
    pub axis: &'static str,
    /// Lines of the chart over time.
    pub series: Vec<ChartSeries>,
}

/// Draws a page of charts over time: `kicker` above its title, `facts` below. Equal charts always
/// give equal bytes.
pub fn render(kicker: &str, title: &str, facts: &[String], charts: &[TimeChart]) -> String {
    let end_s = points(charts).fold(0.0_f64, |end_s, point| end_s.max(point.0));
    let body = html! {
        (header(kicker, title, facts.join(" · ")))
        main {
            @for chart in charts { (figure(chart, end_s)) }
        }
        footer { p { "godwit " (env!("CARGO_PKG_VERSION")) } }
    };
    document(&format!("{title} — godwit"), "charts", &serde_json::to_string(charts), &body)
}

fn points(charts: &[TimeChart]) -> impl Iterator<Item = &(f64, f64)> {
    charts.iter().flat_map(|chart| &chart.series).flat_map(|series| &series.points)
}

fn figure(chart: &TimeChart, end_s: f64) -> Markup {
    html! {
        figure data-chart=(chart.name) {
            figcaption { h2 { (chart.heading) } p { (chart.caption) } }
            p class="legend" {
                @for (index, series) in chart.series.iter().enumerate() {
                    span class={ "key " (plot::series_class(index)) } { (series.name) }
                }
            }
            @for size in ChartWidth::ALL { (drawing(chart, end_s, size)) }
            details { summary { "Figures" } div class="scroll" { (table(chart)) } }
        }
    }
}

fn drawing(chart: &TimeChart, end_s: f64, size: ChartWidth) -> Markup {
    let most = points(core::slice::from_ref(chart)).fold(0.0_f64, |most, point| most.max(point.1));
    let (width, left) = match size {
        ChartWidth::Wide => (960.0, 58.0),
        ChartWidth::Narrow => (380.0, 44.0),
    };
    // The time axis ends at the last sample, not at the next round figure.
    let x = AxisScale::Linear { max: end_s.max(0.01) };
    let y = AxisScale::linear(most, 4);
    let frame = PlotArea { width, height: 230.0, left, right: 16.0, top: 34.0, bottom: 44.0, x, y };
    let ticks = if size == ChartWidth::Wide { 10 } else { 5 };
    let content = html! {
        (frame.axes(
            &Axis { title: "seconds", ticks, format: |value| format::trimmed(value, 2) },
            &Axis { title: chart.axis, ticks: 4, format: axis_value },
        ))
        @for (index, series) in chart.series.iter().enumerate() {
            (stretches(chart, series, &plot::series_class(index), &frame))
        }
    };
    frame.svg(size.name(), chart.heading, "x", &content)
}

/// Formats a value on the vertical axis of a chart over time.
fn axis_value(value: f64) -> String {
    if value < 1_000.0 { format::trimmed(value, 3) } else { format::axis_rate(value) }
}

/// Draws one line of a chart in stretches, so that a pointer finds the values of all lines at its
/// position.
fn stretches(chart: &TimeChart, series: &ChartSeries, class: &str, frame: &PlotArea) -> Markup {
    let len = series.points.len().div_ceil(STRETCHES).max(1);
    let count = series.points.len().div_ceil(len);
    html! {
        @for stretch in 0..count {
            @let first = stretch * len;
            // Each stretch ends where the next one begins.
            @let end = (first + len + 1).min(series.points.len());
            @let points = &series.points[first..end];
            @let positions: Vec<_> = points.iter().map(|p| (frame.at_x(p.0), frame.at_y(p.1))).collect();
            (plot::stretch(
                class,
                &positions,
                &[("series", series.name.clone())],
                &words(chart, points[0].0, points[points.len() - 1].0),
            ))
        }
    }
}

/// Returns the values of all lines of `chart` from `from_s` to `to_s` as text.
fn words(chart: &TimeChart, from_s: f64, to_s: f64) -> String {
    let mut text = format!("{} to {} s", format::trimmed(from_s, 2), format::trimmed(to_s, 2));
    for series in &chart.series {
        let within = series.points.iter().filter(|point| (from_s..=to_s).contains(&point.0));
        if let Some(mean) = mean(within.map(|point| point.1)) {
            text += &format!("\n{}: {} {}", series.name, value(mean), chart.axis);
        }
    }
    text
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Formats a value of a chart over time with three significant digits.
fn value(value: f64) -> String {
    format::trimmed(format::significant(value, 3), 6)
}

/// Draws the table of the least, mean and largest value of each line.
fn table(chart: &TimeChart) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { (chart.axis) } th.n { "points" } th.n { "least" } th.n { "mean" } th.n { "most" }
                }
            }
            tbody {
                @for series in &chart.series {
                    @let values = || series.points.iter().map(|point| point.1);
                    tr {
                        td { (series.name) }
                        td.n { (series.points.len()) }
                        td.n { (value(values().fold(f64::INFINITY, f64::min))) }
                        td.n { (value(mean(values()).unwrap_or(0.0))) }
                        td.n { (value(values().fold(0.0, f64::max))) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_whole_and_named() {
        let series = |name: &str, scale: f64| ChartSeries {
            name: name.to_owned(),
            points: (0..200).map(|at| (f64::from(at) / 10.0, f64::from(at % 7) * scale)).collect(),
        };
        let chart = TimeChart {
            name: "rate",
            heading: "Rate",
            caption: "What was sent.",
            axis: "Mbit/s",
            series: vec![series("one <b>", 1.0), series("two", 1e4)],
        };
        let page = render("kicker", "Title", &["a".to_owned(), "b".to_owned()], &[chart]);
        // Both sizes, each line in stretches that reach the next one.
        assert_eq!(page.matches("data-series=\"two\"").count(), 2 * 50);
        assert_eq!(page.matches("<svg class=").count(), 2);
        assert!(page.contains("a · b") && !page.contains("<b>"), "names stay names");
        assert!(page.contains("one &lt;b&gt;: 3"), "the words of a stretch");
    }

    #[test]
    fn no_samples_are_a_page_too() {
        let page = render("kicker", "Title", &[], &[]);
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("[]"));
    }
}
