//! Stacks of functions, folded into a tree of calls.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Function in a sampled stack, with borrowed names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackFrame<'t> {
    /// Name of the function, or of the thread for the outermost frame.
    pub function: &'t str,
    /// Name of the file that contains the function: a program, a library, `kernel`; empty for a
    /// thread.
    pub object: &'t str,
}

/// Function at its position in the tree of calls. As JSON `[parent, function, samples]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "[u32; 3]", into = "[u32; 3]")]
pub struct CallTreeNode {
    /// Position of the caller's node in the tree of calls plus one; 0 for an outermost node.
    pub parent: u32,
    /// Position of the node's function in [`Stacks::functions`].
    pub function: u32,
    /// Number of samples taken in the node's function itself, not in functions that it called.
    pub samples: u32,
}

impl From<[u32; 3]> for CallTreeNode {
    fn from([parent, function, samples]: [u32; 3]) -> Self {
        Self { parent, function, samples }
    }
}

impl From<CallTreeNode> for [u32; 3] {
    fn from(node: CallTreeNode) -> Self {
        [node.parent, node.function, node.samples]
    }
}

/// Sampled stacks with their counts. Each name is stored once; equal beginnings of stacks are one
/// path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stacks {
    /// Names of the files (programs, libraries, `kernel`) that contain the sampled functions.
    pub objects: Vec<String>,
    /// Sampled functions: the name of each, and the position of its file in `objects`.
    pub functions: Vec<(String, u32)>,
    /// Tree of calls with the counts of samples; callers come before the functions that they call.
    pub nodes: Vec<CallTreeNode>,
}

impl Stacks {
    /// Returns the names of the function and the file of `node`; empty names where the tree is not
    /// sound.
    pub fn frame(&self, node: &CallTreeNode) -> StackFrame<'_> {
        let Some((function, object)) = self.functions.get(node.function as usize) else {
            return StackFrame { function: "", object: "" };
        };
        let object = self.objects.get(*object as usize).map_or("", String::as_str);
        StackFrame { function, object }
    }

    /// Returns the number of samples in all stacks.
    pub fn samples(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.samples)).sum()
    }

    /// Returns for each node of the tree the samples taken in it and in everything that it called.
    pub fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| u64::from(node.samples)).collect();
        for (position, node) in self.nodes.iter().enumerate().rev() {
            if let Some(caller) = caller(position, node) {
                totals[caller] += totals[position];
            }
        }
        totals
    }

    /// Returns the nodes of the stack that ends at the node at `position`, the innermost frame
    /// first.
    pub fn path(&self, position: usize) -> impl Iterator<Item = &CallTreeNode> {
        let mut next = Some(position);
        core::iter::from_fn(move || {
            let position = next?;
            let node = self.nodes.get(position)?;
            next = caller(position, node);
            Some(node)
        })
    }
}

/// Returns the position of the caller of `node`. Only a smaller position counts, so that a wrong
/// stored file cannot form a cycle.
fn caller(position: usize, node: &CallTreeNode) -> Option<usize> {
    (node.parent as usize).checked_sub(1).filter(|&caller| caller < position)
}

/// Builder of a tree of calls from sampled stacks. Equal stacks in an equal order give an equal
/// value.
#[derive(Debug, Default)]
pub struct StacksBuilder {
    stacks: Stacks,
    objects: BTreeMap<String, u32>,
    functions: BTreeMap<(String, u32), u32>,
    /// Map from a caller's position in the tree and a function to the position of the called
    /// function's node.
    nodes: BTreeMap<(u32, u32), u32>,
}

impl StacksBuilder {
    /// Counts one sampled `stack`, the outermost frame first; an empty stack is not counted.
    pub fn add(&mut self, stack: &[StackFrame<'_>]) {
        let mut parent = 0;
        for frame in stack {
            let function = self.function(frame);
            let nodes = &mut self.stacks.nodes;
            let position = *self.nodes.entry((parent, function)).or_insert_with(|| {
                nodes.push(CallTreeNode { parent, function, samples: 0 });
                nodes.len() as u32 - 1
            });
            parent = position + 1;
        }
        if parent > 0 {
            self.stacks.nodes[parent as usize - 1].samples += 1;
        }
    }

    fn function(&mut self, frame: &StackFrame<'_>) -> u32 {
        let object = match self.objects.get(frame.object) {
            Some(&object) => object,
            None => {
                let object = self.stacks.objects.len() as u32;
                self.stacks.objects.push(frame.object.to_owned());
                self.objects.insert(frame.object.to_owned(), object);
                object
            }
        };
        let functions = &mut self.stacks.functions;
        let function = (frame.function.to_owned(), object);
        *self.functions.entry(function).or_insert_with_key(|function| {
            functions.push(function.clone());
            functions.len() as u32 - 1
        })
    }

    /// Returns the tree of calls made from all stacks that were added.
    #[must_use]
    pub fn finish(self) -> Stacks {
        self.stacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames<'t>(names: &[&'t str]) -> Vec<StackFrame<'t>> {
        names.iter().map(|&function| StackFrame { function, object: "program" }).collect()
    }

    fn built(stacks: &[&[&str]]) -> Stacks {
        let mut builder = StacksBuilder::default();
        stacks.iter().for_each(|stack| builder.add(&frames(stack)));
        builder.finish()
    }

    #[test]
    fn equal_beginnings_are_one_path() {
        let stacks =
            built(&[&["main", "read"], &["main", "write"], &["main", "read"], &["main"], &[]]);
        assert_eq!(stacks.objects, ["program"]);
        let names: Vec<&str> = stacks.functions.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["main", "read", "write"]);
        let nodes: Vec<[u32; 3]> = stacks.nodes.iter().map(|&node| node.into()).collect();
        assert_eq!(nodes, [[0, 0, 1], [1, 1, 2], [1, 2, 1]]);
        assert_eq!((stacks.samples(), stacks.totals()), (4, vec![4, 2, 1]));
        let path: Vec<&str> = stacks.path(1).map(|node| stacks.frame(node).function).collect();
        assert_eq!(path, ["read", "main"]);
    }

    #[test]
    fn a_function_may_stand_in_several_places_and_objects() {
        let mut builder = StacksBuilder::default();
        builder.add(&[
            StackFrame { function: "f", object: "a" },
            StackFrame { function: "f", object: "b" },
        ]);
        builder.add(&frames(&["f"]));
        let stacks = builder.finish();
        assert_eq!((stacks.objects.len(), stacks.functions.len(), stacks.nodes.len()), (3, 3, 3));
    }

    #[test]
    fn the_json_is_small_and_reads_back() {
        let stacks = built(&[&["main", "read"], &["main"]]);
        let text = serde_json::to_string(&stacks).unwrap();
        assert_eq!(
            text,
            r#"{"objects":["program"],"functions":[["main",0],["read",0]],"nodes":[[0,0,1],[1,1,1]]}"#
        );
        assert_eq!(serde_json::from_str::<Stacks>(&text).unwrap(), stacks);
    }

    #[test]
    fn a_file_that_is_not_sound_harms_nothing() {
        let text = r#"{"functions":[["f",9]],"nodes":[[1,0,1],[9,7,2],[2,0,3]]}"#;
        let stacks: Stacks = serde_json::from_str(text).unwrap();
        assert_eq!(stacks.totals(), [1, 5, 3]);
        assert_eq!(
            (stacks.path(0).count(), stacks.path(2).count(), stacks.path(3).count()),
            (1, 2, 0)
        );
        assert_eq!(stacks.frame(&stacks.nodes[1]).function, "");
    }
}
