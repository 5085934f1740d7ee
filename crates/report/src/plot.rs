//! Common parts of all charts: the frame with its axes, lines, marks and labels, as inline SVG.
//!
//! Colors, dashes and fonts are classes of the style sheet; series `n` has class `sn`. Each mark
//! has its position in the drawing (`data-cx`, `data-cy`) for the crosshair and its words as a
//! `<title>`, which a browser shows by itself without scripts.

use maud::{Markup, PreEscaped, html};

use crate::format::coordinate as c;
use crate::scale::AxisScale;

/// Number of series of a chart that differ in color, dash and mark.
pub(super) const SERIES: usize = 12;
/// Largest width of a character in the label of an axis's tick, in the drawing's units.
const TICK_CHARACTER: f64 = 7.5;
/// Largest width of a character in the label of a line, in the drawing's units.
const LABEL_CHARACTER: f64 = 9.0;
/// Class in the style sheet of the series of the limit responder, a program that returns every
/// datagram.
pub(super) const LIMIT_CLASS: &str = "limit";

/// Returns the class of series `index` in the style sheet.
pub(super) fn series_class(index: usize) -> String {
    format!("s{}", index % SERIES)
}

base::named! {
    /// Width for which a chart is drawn. Text keeps its size, so a phone gets a drawing of its own.
    /// Names are CSS classes.
    pub(super) enum ChartWidth {
        Wide = "wide",
        Narrow = "narrow",
    }
}

/// Plot area of a drawing, which the axes enclose, in the drawing's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotArea {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: AxisScale,
    pub(super) y: AxisScale,
}

impl PlotArea {
    pub(super) fn at_x(&self, value: f64) -> f64 {
        self.left + self.x.position(value) * (self.width - self.left - self.right)
    }

    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.floor() - self.y.position(value) * (self.floor() - self.top)
    }

    /// Returns the vertical position of the plot area's lower end, in the drawing's units.
    pub(super) fn floor(&self) -> f64 {
        self.height - self.bottom
    }

    /// Returns the horizontal position of the plot area's right end, in the drawing's units.
    pub(super) fn end(&self) -> f64 {
        self.width - self.right
    }

    /// Returns the horizontal position nearest to `x` for the middle of `words` at which the
    /// drawing does not cut them off.
    fn within(&self, x: f64, words: &str) -> f64 {
        let half = words.chars().count() as f64 * TICK_CHARACTER / 2.0;
        x.min(self.width - half).max(half)
    }

    /// Draws the SVG element of a chart around `content`. `nearest` is the way in which a pointer
    /// finds its mark: `xy` or `x`.
    pub(super) fn svg(&self, class: &str, name: &str, nearest: &str, content: &Markup) -> Markup {
        let view = format!("0 0 {} {}", c(self.width), c(self.height));
        let area =
            format!("{} {} {} {}", c(self.left), c(self.top), c(self.end()), c(self.floor()));
        html! {
            svg class=(class) viewBox=(view) role="img" aria-label=(name) tabindex="0"
                data-nearest=(nearest) data-area=(area) {
                (content)
                line class="crosshair" x1="0" y1=(c(self.top)) x2="0" y2=(c(self.floor())) {}
            }
        }
    }

    /// Draws grid, ticks and titles of both axes of a chart. The title of the vertical axis is
    /// above it, where it can be horizontal.
    pub(super) fn axes(&self, x: &Axis, y: &Axis) -> Markup {
        html! {
            g class="axis" {
                @for tick in self.y.ticks(y.ticks) {
                    @let at = c(self.at_y(tick));
                    line class="grid" x1=(c(self.left)) y1=(at) x2=(c(self.end())) y2=(at) {}
                    text class="tick" x=(c(self.left - 8.0)) y=(at) dy="0.32em"
                        text-anchor="end" { ((y.format)(tick)) }
                }
                @for tick in self.x.ticks(x.ticks) {
                    @let at = c(self.at_x(tick));
                    line class="stub" x1=(at) y1=(c(self.floor())) x2=(at)
                        y2=(c(self.floor() + 4.0)) {}
                    @let words = (x.format)(tick);
                    text class="tick" x=(c(self.within(self.at_x(tick), &words)))
                        y=(c(self.floor() + 18.0)) text-anchor="middle" { (words) }
                }
                line class="base" x1=(c(self.left)) y1=(c(self.floor())) x2=(c(self.end()))
                    y2=(c(self.floor())) {}
                text class="title" x="0" y="14" { (y.title) }
                text class="title" x=(c(self.end())) y=(c(self.height - 4.0))
                    text-anchor="end" { (x.title) }
            }
        }
    }
}

/// Axis of a chart: its title, number of ticks, and the format of their labels.
pub(super) struct Axis {
    pub(super) title: &'static str,
    pub(super) ticks: usize,
    pub(super) format: fn(f64) -> String,
}

/// Draws a line through points given in the drawing's units.
pub(super) fn line(class: &str, points: &[(f64, f64)]) -> Markup {
    html! { path class={ "line " (class) } d=(path(points)) {} }
}

/// Draws the area between a line through `points` and the floor of the plot area.
pub(super) fn area(class: &str, points: &[(f64, f64)], floor: f64) -> Markup {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return html! {} };
    let mut outline = vec![(first.0, floor)];
    outline.extend_from_slice(points);
    outline.push((last.0, floor));
    html! { path class={ "area " (class) } d={ (path(&outline)) "Z" } {} }
}

/// Returns SVG path data through `points`; a single point becomes a dot of the line's width.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        data.push(if index == 0 { 'M' } else { 'L' });
        data.push_str(&c(*x));
        data.push(' ');
        data.push_str(&c(*y));
    }
    if points.len() == 1 {
        data.push_str("h0.1");
    }
    data
}

/// Returns the outline of mark number `shape` around the origin: outlines differ without color.
pub(super) fn outline(shape: usize) -> &'static str {
    match shape % SERIES {
        0 => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
        1 => "M-3.6 -3.6h7.2v7.2h-7.2Z",
        2 => "M0 -5L5 0L0 5L-5 0Z",
        3 => "M0 -4.8L4.7 3.6H-4.7Z",
        4 => "M0 4.8L4.7 -3.6H-4.7Z",
        5 => "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z",
        6 => "M-4.8 0L3.6 -4.7V4.7Z",
        7 => "M4.8 0L-3.6 -4.7V4.7Z",
        8 => "M-2.4 -4.2h4.8L4.8 0L2.4 4.2h-4.8L-4.8 0Z",
        9 => "M0 -5L1.5 -1.5L5 0L1.5 1.5L0 5L-1.5 1.5L-5 0L-1.5 -1.5Z",
        10 => "M-4.5 -2h9v4h-9Z",
        _ => "M-4.2 -4L4.2 4V-4L-4.2 4Z",
    }
}

/// Mark in a chart that a pointer can find.
pub(super) struct ChartMark<'a> {
    pub(super) class: &'a str,
    pub(super) shape: usize,
    pub(super) at: (f64, f64),
    /// Attributes `data-*` of the mark: name and value.
    pub(super) data: &'a [(&'static str, String)],
    /// Words of the mark's tooltip, one line each.
    pub(super) title: String,
}

impl ChartMark<'_> {
    pub(super) fn draw(&self) -> Markup {
        let (x, y) = (c(self.at.0), c(self.at.1));
        let transform = format!("translate({x} {y})");
        let mut attributes = String::new();
        for (name, value) in self.data {
            attributes.push_str(&format!(" data-{name}=\"{}\"", escaped(value)));
        }
        PreEscaped(format!(
            "<path class=\"mark {class}\" d=\"{outline}\" transform=\"{transform}\" \
             data-cx=\"{x}\" data-cy=\"{y}\"{attributes}><title>{title}</title></path>",
            class = escaped(self.class),
            outline = outline(self.shape),
            title = escaped(&self.title),
        ))
    }
}

/// Draws a stretch of a line that a pointer finds by its position on the time axis.
pub(super) fn stretch(
    class: &str,
    points: &[(f64, f64)],
    data: &[(&'static str, String)],
    title: &str,
) -> Markup {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return html! {} };
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let mut attributes = String::new();
    for (name, value) in data {
        attributes.push_str(&format!(" data-{name}=\"{}\"", escaped(value)));
    }
    PreEscaped(format!(
        "<path class=\"mark line {class}\" d=\"{data}\" data-cx=\"{x}\" data-cy=\"{y}\" \
         data-x0=\"{x0}\" data-x1=\"{x1}\"{attributes}><title>{title}</title></path>",
        class = escaped(class),
        data = path(points),
        x = c(f64::midpoint(first.0, last.0)),
        y = c(mean_y),
        x0 = c(first.0),
        x1 = c(last.0),
        title = escaped(title),
    ))
}

/// Escapes `text` for an attribute or an element of HTML.
fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Returns the largest width of `name` as a label, in the drawing's units.
pub(super) fn name_width(name: &str) -> f64 {
    name.chars().count() as f64 * LABEL_CHARACTER
}

/// Label at the end of a chart's line.
pub(super) struct Label {
    pub(super) class: String,
    pub(super) text: String,
    pub(super) at: (f64, f64),
}

/// Draws labels, moved apart downwards and upwards until none covers another, `gap` apart, between
/// `top` and `floor`.
pub(super) fn labels(mut labels: Vec<Label>, gap: f64, top: f64, floor: f64) -> Markup {
    labels.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    let mut free = top;
    for label in &mut labels {
        label.at.1 = label.at.1.max(free);
        free = label.at.1 + gap;
    }
    let mut ceiling = floor;
    for label in labels.iter_mut().rev() {
        label.at.1 = label.at.1.min(ceiling);
        ceiling = label.at.1 - gap;
    }
    html! {
        @for label in &labels {
            text class={ "label " (label.class) } x=(c(label.at.0)) y=(c(label.at.1))
                dy="0.32em" { (label.text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_lie_on_each_other() {
        let many = (0..4)
            .map(|n| Label { class: String::new(), text: n.to_string(), at: (0.0, 50.0) })
            .collect();
        let svg = labels(many, 14.0, 0.0, 60.0).into_string();
        let y_positions: Vec<f64> = svg
            .split(" y=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(y_positions, [18.0, 32.0, 46.0, 60.0]);
    }

    #[test]
    fn names_cannot_break_out_of_attributes() {
        let mark = ChartMark {
            class: "s0",
            shape: 0,
            at: (1.0, 2.0),
            data: &[("server", "\"><script>".to_owned())],
            title: "<b>".to_owned(),
        };
        let svg = mark.draw().into_string();
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("data-server=\"&quot;&gt;&lt;script&gt;\""), "{svg}");
    }
}
