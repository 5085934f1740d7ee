//! Functions and objects with the largest shares of a profile's samples.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{StackFrame, Stacks};

/// Share of a function, or of all functions of an object, in a profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProfileShare {
    /// Name of the function with this share; empty for an object.
    pub function: String,
    /// Name of the file that contains the function, or of the object itself.
    pub object: String,
    /// Share of the samples taken in the function or object itself, 0 to 1.
    pub own: f64,
    /// Share of the samples whose stack contains the function or object, counted once, 0 to 1.
    pub total: f64,
}

/// Returns the functions of a profile by their own share of the samples, the largest first, without
/// threads.
pub fn top_functions(stacks: &Stacks) -> Vec<ProfileShare> {
    shares(stacks, |frame| frame)
}

/// Returns the objects of a profile (programs, libraries, the kernel) by the share of samples taken
/// in them.
pub fn top_objects(stacks: &Stacks) -> Vec<ProfileShare> {
    shares(stacks, |frame| StackFrame { function: "", object: frame.object })
}

/// Returns own and total samples of each group of a profile's frames; `group` maps a frame to its
/// group.
fn shares<'t>(
    stacks: &'t Stacks,
    group: impl Fn(StackFrame<'t>) -> StackFrame<'t>,
) -> Vec<ProfileShare> {
    let mut counts: BTreeMap<StackFrame<'t>, (u64, u64)> = BTreeMap::new();
    for (position, node) in stacks.nodes.iter().enumerate().filter(|(_, node)| node.samples > 0) {
        let samples = u64::from(node.samples);
        let mut seen = BTreeSet::new();
        for (depth, caller) in stacks.path(position).enumerate() {
            let frame = stacks.frame(caller);
            if frame.object.is_empty() {
                continue;
            }
            let group = group(frame);
            let (own, total) = counts.entry(group).or_default();
            *own += if depth == 0 { samples } else { 0 };
            // Recursion does not count twice.
            *total += if seen.insert(group) { samples } else { 0 };
        }
    }
    let all = stacks.samples() as f64;
    let mut shares: Vec<ProfileShare> = counts
        .into_iter()
        .map(|(frame, (own, total))| ProfileShare {
            function: frame.function.to_owned(),
            object: frame.object.to_owned(),
            own: own as f64 / all,
            total: total as f64 / all,
        })
        .collect();
    // The sort is stable: equal shares stay in the order of names.
    shares.sort_by(|a, b| b.own.total_cmp(&a.own).then(b.total.total_cmp(&a.total)));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::StacksBuilder;

    #[test]
    fn recursion_counts_once_and_threads_not_at_all() {
        let frame = |function, object| StackFrame { function, object };
        let (thread, walk) = (frame("worker", ""), frame("walk", "program"));
        let (send, copy) = (frame("send", "libc"), frame("copy", "kernel"));
        let mut builder = StacksBuilder::default();
        builder.add(&[thread, walk, walk, walk]);
        builder.add(&[thread, walk, send, copy]);
        builder.add(&[thread, walk, send, copy]);
        builder.add(&[thread, walk, send]);
        let stacks = builder.finish();
        let words = |shares: Vec<ProfileShare>| -> Vec<(String, String, f64, f64)> {
            shares.into_iter().map(|s| (s.function, s.object, s.own, s.total)).collect()
        };
        let row = |function: &str, object: &str, own, total| {
            (function.to_owned(), object.to_owned(), own, total)
        };
        assert_eq!(
            words(top_functions(&stacks)),
            [
                row("copy", "kernel", 0.5, 0.5),
                row("walk", "program", 0.25, 1.0),
                row("send", "libc", 0.25, 0.75),
            ]
        );
        assert_eq!(
            words(top_objects(&stacks)),
            [
                row("", "kernel", 0.5, 0.5),
                row("", "program", 0.25, 1.0),
                row("", "libc", 0.25, 0.75),
            ]
        );
        assert_eq!(top_functions(&Stacks::default()), []);
    }
}
