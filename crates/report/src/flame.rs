//! Flame graph: a tree of calls as boxes, callers below the functions that they call, each as wide
//! as its share of the samples. Boxes are elements with positions in percent, so that names are cut
//! at the ends of boxes and the drawing fits any screen; the script draws the same boxes again for
//! zooming and searching.

use maud::{Markup, PreEscaped, html};

use crate::format;
use measure::profile::{StackFrame, Stacks};

/// Height of a row of boxes in the flame graph, in pixels; the script has an equal constant.
const ROW_PX: usize = 18;
/// Share of the flame graph's width below which a box is not drawn; the script draws it when
/// zoomed.
const LEAST_SHARE: f64 = 0.002;

/// Box of a flame graph: a node of the tree of calls with its position in the drawing.
struct FlameBox {
    position: usize,
    depth: usize,
    /// Left end of the box, as a share of the whole drawing from 0 to 1; `width` likewise.
    left: f64,
    width: f64,
}

/// Returns the boxes of all nodes that are wide enough, callers before the functions that they
/// call.
fn boxes(stacks: &Stacks) -> Vec<FlameBox> {
    let (totals, samples) = (stacks.totals(), stacks.samples() as f64);
    let mut calls: Vec<Vec<usize>> = vec![Vec::new(); stacks.nodes.len() + 1];
    for (position, node) in stacks.nodes.iter().enumerate() {
        calls[(node.parent as usize).min(position)].push(position);
    }
    let name = |&position: &usize| {
        let StackFrame { function, object } = stacks.frame(&stacks.nodes[position]);
        (function.to_owned(), object.to_owned())
    };
    calls.iter_mut().for_each(|calls| calls.sort_by_cached_key(name));
    let mut boxes = Vec::new();
    // Calls that wait to be placed: list of calls, depth and left end.
    let mut waiting = vec![(0, 0, 0.0)];
    while let Some((list, depth, mut left)) = waiting.pop() {
        for &position in &calls[list] {
            let width = totals[position] as f64 / samples;
            if width >= LEAST_SHARE {
                boxes.push(FlameBox { position, depth, left, width });
                waiting.push((position + 1, depth + 1, left));
            }
            left += width;
        }
    }
    boxes
}

/// Returns the kind of an object in the flame graph, as a class of the style sheet: thread, kernel,
/// library or program.
pub(super) fn kind(object: &str) -> &'static str {
    match object {
        "" => "thread",
        "kernel" => "kernel",
        // Modules, and pages that the kernel maps into processes.
        name if name.starts_with('[') => "kernel",
        name if name.contains(".so") => "library",
        _ => "program",
    }
}

/// Draws the flame graph of `stacks`.
pub(super) fn drawing(stacks: &Stacks, name: &str) -> Markup {
    let boxes = boxes(stacks);
    let rows = boxes.iter().map(|flame_box| flame_box.depth + 1).max().unwrap_or(0);
    let (totals, samples) = (stacks.totals(), stacks.samples());
    let percent = |share: f64| format::trimmed(share * 100.0, 3);
    html! {
        div class="flame" role="img" tabindex="0" aria-label=(name)
            style={ "height:" (rows * ROW_PX) "px" } {
            @for flame_box in &boxes {
                @let frame = stacks.frame(&stacks.nodes[flame_box.position]);
                @let words = words(frame, totals[flame_box.position], samples);
                i class=(kind(frame.object)) title=(words)
                    style=(PreEscaped(format!(
                        "left:{}%;width:{}%;bottom:{}px",
                        percent(flame_box.left),
                        percent(flame_box.width),
                        flame_box.depth * ROW_PX
                    ))) { (frame.function) }
            }
        }
    }
}

fn words(frame: StackFrame<'_>, total: u64, samples: u64) -> String {
    let object = if frame.object.is_empty() { "thread" } else { frame.object };
    let (total, samples) = (total as f64, samples as f64);
    format!(
        "{}\n{object}\n{} of {} samples, {}",
        frame.function,
        format::whole(total),
        format::whole(samples),
        format::percent(total / samples)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::profile::StacksBuilder;

    #[test]
    fn boxes_are_as_wide_as_their_shares_and_stand_on_their_callers() {
        let frame = |function, object| StackFrame { function, object };
        let (thread, main) = (frame("t", ""), frame("main", "p"));
        let (a, b) = (frame("a", "kernel"), frame("b", "c.so.6"));
        let mut builder = StacksBuilder::default();
        builder.add(&[thread, main, b]);
        builder.add(&[thread, main, a]);
        builder.add(&[thread, main, a]);
        builder.add(&[thread, main]);
        let stacks = builder.finish();
        let actual: Vec<(String, usize, f64, f64)> = boxes(&stacks)
            .iter()
            .map(|flame_box| {
                let name = stacks.frame(&stacks.nodes[flame_box.position]).function.to_owned();
                (name, flame_box.depth, flame_box.left, flame_box.width)
            })
            .collect();
        let at = |name: &str, depth, left, width| (name.to_owned(), depth, left, width);
        assert_eq!(
            actual,
            [
                at("t", 0, 0.0, 1.0),
                at("main", 1, 0.0, 1.0),
                at("a", 2, 0.0, 0.5),
                at("b", 2, 0.5, 0.25)
            ]
        );
        let drawn = drawing(&stacks, "x").into_string();
        assert!(drawn.contains("height:54px"), "{drawn}");
        let one = "<i class=\"library\" title=\"b\nc.so.6\n1 of 4 samples, 25 %\" \
                   style=\"left:50%;width:25%;bottom:36px\">b</i>";
        assert!(drawn.contains(one), "{drawn}");
        assert!(drawing(&Stacks::default(), "x").into_string().contains("height:0px"));
    }

    #[test]
    fn objects_have_kinds() {
        let kinds = ["", "kernel", "[nf_tables]", "libc.so.6", "named"].map(kind);
        assert_eq!(kinds, ["thread", "kernel", "kernel", "library", "program"]);
    }
}
