//! Parser of the output of `perf script`.
//!
//! The text is that of `perf script --no-inline --show-lost-events -F comm,tid,event,ip,sym,dso`:
//! for each sample a line with thread and event, a line for each frame from the innermost on, and
//! an empty line; between samples a line for each time that samples were lost. See perf-script(1).

use super::{StackFrame, Stacks, StacksBuilder};

/// Samples that a text of `perf script` contains, folded into stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedSamples {
    /// Event at which perf took the samples, without its modifiers; empty when there was no sample.
    pub event: String,
    /// True if perf's event excluded the kernel, so that no sample is in the kernel.
    pub is_user_only: bool,
    /// Number of samples that perf took.
    pub samples: u64,
    /// Number of samples that perf lost.
    pub lost: u64,
    /// Stacks of the samples, with the thread as the outermost frame.
    pub stacks: Stacks,
}

/// Reads the samples of `text`, the output of `perf script`. Threads whose names differ only in
/// their digits are joined; unknown lines are ignored.
pub fn fold(text: &str) -> FoldedSamples {
    let mut folded = FoldedSamples::default();
    let mut builder = StacksBuilder::default();
    let mut sample = StackSample::default();
    for line in text.lines() {
        if line.is_empty() {
            sample.end(&mut builder, &mut folded);
        } else if line.starts_with([' ', '\t']) && sample.thread.is_some() {
            sample.frames.extend(frame(line));
        } else if let Some(lost) = lost(line) {
            folded.lost += lost;
        } else if let Some(head) = head(line) {
            sample.end(&mut builder, &mut folded);
            if folded.event.is_empty() {
                let (event, modifiers) = head.event.split_once(':').unwrap_or((head.event, ""));
                folded.event = event.to_owned();
                folded.is_user_only = modifiers.contains('u');
            }
            // Without callers perf prints the one frame after the head.
            sample = StackSample { thread: Some(threads(head.thread)), frames: Vec::new() };
            sample.frames.extend(frame(head.rest));
        }
    }
    sample.end(&mut builder, &mut folded);
    folded.stacks = builder.finish();
    folded
}

/// Sample of a stack that is being read from the output of `perf script`.
#[derive(Default)]
struct StackSample<'t> {
    thread: Option<String>,
    /// Frames of the sample's stack, the innermost frame first.
    frames: Vec<(String, &'t str)>,
}

impl StackSample<'_> {
    /// Counts the sample in `folded` and adds its stack to `builder`, if a sample was begun.
    fn end(&mut self, builder: &mut StacksBuilder, folded: &mut FoldedSamples) {
        let Some(thread) = self.thread.take() else { return };
        let thread = StackFrame { function: &thread, object: "" };
        let frames = self.frames.iter().rev();
        let frames = frames.map(|(function, object)| StackFrame { function, object });
        builder.add(&core::iter::once(thread).chain(frames).collect::<Vec<_>>());
        folded.samples += 1;
        self.frames.clear();
    }
}

/// Header of a sample in the output of `perf script`: the line before its frames.
struct StackSampleHeader<'t> {
    thread: &'t str,
    event: &'t str,
    rest: &'t str,
}

/// Parses the header of a sample, `THREAD NUMBER EVENT:`; a thread's name may have spaces and
/// digits.
fn head(line: &str) -> Option<StackSampleHeader<'_>> {
    let mut from = 0;
    while let Some(at) = line[from..].find(": ").map(|at| from + at).or_else(|| {
        let end = line.trim_end();
        (end.ends_with(':') && end.len() > from).then(|| end.len() - 1)
    }) {
        let (before, event) = line[..at].rsplit_once(' ').unwrap_or(("", &line[..at]));
        let before = before.trim_end();
        let (thread, number) = before.rsplit_once(' ').unwrap_or(("", before));
        if !number.is_empty() && number.bytes().all(|octet| octet.is_ascii_digit()) {
            return Some(StackSampleHeader { thread: thread.trim(), event, rest: &line[at + 1..] });
        }
        from = at + 1;
    }
    None
}

/// Parses a line about lost samples, `THREAD NUMBER PERF_RECORD_LOST lost COUNT` or
/// `..._LOST_SAMPLES ...`, into the count.
fn lost(line: &str) -> Option<u64> {
    let (_, what) = line.split_once(" PERF_RECORD_LOST")?;
    what.split_ascii_whitespace().last()?.parse().ok()
}

/// Parses the line of a frame, `ADDRESS FUNCTION (OBJECT)`, into the names of the function and the
/// object.
fn frame(line: &str) -> Option<(String, &str)> {
    let (address, rest) = line.trim().split_once(' ')?;
    if !address.bytes().all(|octet| octet.is_ascii_hexdigit()) {
        return None;
    }
    // Both names may have parentheses and spaces; a path begins with `/`, an object without a path
    // with `[`.
    let begins = [" (/", " (["].into_iter().find_map(|begin| rest.rfind(begin));
    let begins = begins.or_else(|| rest.rfind(" ("))?;
    let object = object_name(rest[begins + 2..].strip_suffix(')')?);
    let function = rest[..begins].trim();
    Some(match function {
        "[unknown]" | "" if object == UNKNOWN => (UNKNOWN.to_owned(), object),
        "[unknown]" | "" => (format!("[{object}]"), object),
        function => (without_hash(function).to_owned(), object),
    })
}

/// Name that perf prints for an unknown function or object.
const UNKNOWN: &str = "[unknown]";
/// Name of the kernel in flame graphs, where other functions have the name of their program or
/// library.
const KERNEL: &str = "kernel";

/// Returns the name of an object from its path, the last part; the kernel has one name for every
/// file of its symbols.
fn object_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_kernel = name.starts_with("[kernel") || name.starts_with("vmlinux") || name == "kcore";
    if is_kernel { KERNEL } else { name }
}

/// Returns a function's name without the hash that older compilers of Rust append, and without the
/// suffix that LLVM appends.
fn without_hash(name: &str) -> &str {
    let name = name.split_once(".llvm.").map_or(name, |(name, _)| name);
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|o| o.is_ascii_hexdigit());
    name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(name, _)| name)
}

/// Returns a thread's name with `*` instead of each run of digits: `worker-12` and `worker-3` do
/// the same work.
fn threads(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '0'..='9' if plain.ends_with('*') => {}
            '0'..='9' => plain.push('*'),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{top_functions, top_objects};

    // Printed by perf 6.1 for `godwit dns echo` under 20,000 queries per second, DWARF call graphs.
    const ECHO: &str = include_str!("../../tests/data/perf/echo-20000.txt");
    // Printed by the same command with a buffer too small for the samples.
    const LOST: &str = include_str!("../../tests/data/perf/lost.txt");
    // Profile of a copy of dd(1) under the name `a b (x)`, deleted since; frame pointers.
    const FRAME_POINTERS: &str = include_str!("../../tests/data/perf/frame-pointers.txt");
    const USER_ONLY: &str = include_str!("../../tests/data/perf/user-only.txt");

    /// Returns the stacks as lines `COUNT outermost;...;innermost`.
    fn lines(stacks: &Stacks) -> Vec<String> {
        let nodes = stacks.nodes.iter().enumerate().filter(|(_, node)| node.samples > 0);
        nodes
            .map(|(position, node)| {
                let mut names: Vec<String> = stacks
                    .path(position)
                    .map(|node| stacks.frame(node))
                    .map(|frame| format!("{}@{}", frame.function, frame.object))
                    .collect();
                names.reverse();
                format!("{} {}", node.samples, names.join(";"))
            })
            .collect()
    }

    #[test]
    fn the_echo_is_read_to_its_outermost_function() {
        let folded = fold(ECHO);
        let heads = ECHO.lines().filter(|line| line.contains("cpu-clock:pppH:")).count() as u64;
        assert_eq!((folded.samples, folded.lost, heads), (24, 0, 24));
        assert_eq!((folded.event.as_str(), folded.is_user_only), ("cpu-clock", false));
        assert_eq!(folded.stacks.samples(), 24);
        let outermost: Vec<&str> =
            folded.stacks.nodes[..4].iter().map(|n| folded.stacks.frame(n).function).collect();
        assert_eq!(outermost[..2], ["dns-echo-*", "clone3"]);
        let functions = top_functions(&folded.stacks);
        let total = |name: &str| functions.iter().find(|f| f.function == name).map(|f| f.total);
        assert_eq!(total("netio::responder::answer"), Some(1.0));
        assert_eq!(total("dns-echo-*"), None);
        let objects: Vec<String> =
            top_objects(&folded.stacks).into_iter().map(|share| share.object).collect();
        assert_eq!(objects[0], "kernel");
        for object in ["godwit", "libc.so.6"] {
            assert!(objects.iter().any(|name| name == object), "{objects:?}");
        }
    }

    #[test]
    fn names_with_spaces_and_parentheses_hold_together() {
        let folded = fold(FRAME_POINTERS);
        let kernel = "do_syscall_64@kernel";
        let entry = "entry_SYSCALL_64_after_hwframe@kernel";
        assert_eq!(
            lines(&folded.stacks),
            [
                "1 a b (x)@;read@libc.so.6".to_owned(),
                format!("1 a b (x)@;read@libc.so.6;{entry};{kernel}"),
                format!("1 a b (x)@;__GI___libc_write@libc.so.6;{entry};{kernel}"),
                "1 a b (x)@;[unknown]@[unknown];[a b (x)]@a b (x)".to_owned(),
            ]
        );
    }

    #[test]
    fn lost_samples_and_a_kernel_left_out_are_seen() {
        let folded = fold(LOST);
        assert_eq!((folded.samples, folded.lost), (3, 42 + 72 + 72));
        let folded = fold(USER_ONLY);
        assert_eq!((folded.event.as_str(), folded.is_user_only), ("cpu-clock", true));
        assert_eq!(folded.samples, 3);
    }

    #[test]
    fn other_forms_of_lines_are_read_or_passed_over() {
        let text = "# a comment\n\nx 1 lone 7 cycles:P:  \n\t 7f32 core::f::h0123456789abcdef (/a/b)\n\n\
                    one 9 cycles:   5593a0 g.llvm.123 (/x/vmlinux-6.1)\nnonsense\n\
                    bare 3 cycles: \n\nx 4 PERF_RECORD_LOST_SAMPLES lost 5\n\
                    y 5 cycles: \n\t 12 <T as F<(A, B)>>::f (anon)\n\t zz nothing\n";
        let folded = fold(text);
        assert_eq!((folded.event.as_str(), folded.samples, folded.lost), ("cycles", 4, 5));
        assert_eq!(
            lines(&folded.stacks),
            [
                "1 x * lone@;core::f@b",
                "1 one@;g@kernel",
                "1 bare@",
                "1 y@;<T as F<(A, B)>>::f@anon",
            ]
        );
        assert_eq!(fold(""), FoldedSamples::default());
    }
}
