//! Rules of tidy on purity: layers 0 to 2 take bytes and times and return values: no clock, file,
//! socket, thread, environment or terminal, and no hash map whose order differs from run to run.
//! Outside `netio` no code is unsafe, and no program prints by the macros of the standard library,
//! which panic on a closed pipe.

use std::ops::Range;

use super::finding::RuleViolation;
use super::source::{CodeToken, RustSource, is_word};
use super::workspace::{CargoWorkspace, Layer};

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 3] = ["print", "pure", "unsafe"];

/// Name of the crate that has all unsafe code.
const UNSAFE_CRATE: &str = "netio";

/// Paths that the code of a pure crate (layers 0 to 2) must not contain, as segments, each with the
/// reason. `*` at the end means an import of everything.
const FORBIDDEN: [(&[&str], &str); 27] = [
    (&["std", "time", "Instant"], "a clock: take `base::Now` as an argument"),
    (&["std", "time", "SystemTime"], "a clock: take `base::Now` as an argument"),
    (&["std", "time", "*"], "imports clocks: name what is needed"),
    (&["Instant", "now"], "reads a clock: take `base::Now` as an argument"),
    (&["SystemTime", "now"], "reads a clock: take `base::Now` as an argument"),
    (&["std", "fs"], "files belong to layer 3"),
    (&["std", "env"], "the environment: take an argument"),
    (&["std", "thread"], "threads belong to the products"),
    (&["std", "process"], "processes belong to the products"),
    (&["std", "os"], "the operating system belongs to netio"),
    (&["std", "net", "UdpSocket"], "sockets belong to netio"),
    (&["std", "net", "TcpStream"], "sockets belong to netio"),
    (&["std", "net", "TcpListener"], "sockets belong to netio"),
    (&["std", "net", "ToSocketAddrs"], "resolves names: take an address"),
    (&["std", "net", "*"], "imports sockets: name what is needed"),
    (&["std", "io", "stdin"], "the terminal belongs to the products"),
    (&["std", "io", "stdout"], "the terminal belongs to the products"),
    (&["std", "io", "stderr"], "the terminal belongs to the products"),
    (&["std", "collections", "HashMap"], "its order differs from run to run: seed a hasher"),
    (&["std", "collections", "HashSet"], "its order differs from run to run: seed a hasher"),
    (&["RandomState"], "its order differs from run to run: seed a hasher"),
    (&["libc"], "system calls belong to netio"),
    (&["print!"], "the terminal belongs to the products"),
    (&["println!"], "the terminal belongs to the products"),
    (&["eprint!"], "the terminal belongs to the products"),
    (&["eprintln!"], "the terminal belongs to the products"),
    (&["std", "sync", "mpsc"], "channels belong to the products"),
];

/// Macros that panic when the output is a closed pipe or a full disk.
const PRINTS: [&str; 4] = ["print!", "println!", "eprint!", "eprintln!"];

/// Checks every Rust file by the rules on purity (no clock, file, socket); `test_files` are those
/// that only tests compile.
pub(crate) fn check(
    workspace: &CargoWorkspace,
    test_files: &[String],
    findings: &mut Vec<RuleViolation>,
) {
    for (path, source) in &workspace.sources {
        let Some(package) = workspace.package_of(path) else { continue };
        if package.name != UNSAFE_CRATE {
            for token in source.tokens().iter().filter(|token| token.text == "unsafe") {
                let message = format!("unsafe code belongs to crate `{UNSAFE_CRATE}`");
                findings.push(RuleViolation::new("unsafe", path, token.line, message));
            }
        }
        let is_library_code = path
            .strip_prefix(&package.folder)
            .is_some_and(|rest| rest.trim_start_matches('/').starts_with("src/"));
        if !is_library_code || test_files.contains(path) {
            continue;
        }
        match package.layer {
            Ok(Layer::Number(0..=2)) => check_source(source, findings),
            Ok(Layer::Number(_)) => check_prints(source, findings),
            _ => {}
        }
    }
}

fn check_prints(source: &RustSource, findings: &mut Vec<RuleViolation>) {
    let tests = source.test_ranges();
    for path in paths(&source.tokens()) {
        let [.., last] = path.segments[..] else { continue };
        if PRINTS.contains(&last) && !tests.iter().any(|range| range.contains(&path.offset)) {
            let message = format!(
                "`{last}` panics on a closed pipe: call `netio::stdout::print_line` or \
                 `netio::stderr::print_line`"
            );
            findings.push(RuleViolation::new("print", &source.path, path.line, message));
        }
    }
}

fn check_source(source: &RustSource, findings: &mut Vec<RuleViolation>) {
    let tests = source.test_ranges();
    let is_tested_only =
        |offset: usize| tests.iter().any(|range: &Range<usize>| range.contains(&offset));
    for path in paths(&source.tokens()) {
        if is_tested_only(path.offset) {
            continue;
        }
        let hit = FORBIDDEN.iter().find(|(segments, _)| {
            path.segments.windows(segments.len()).any(|window| window == *segments)
        });
        if let Some((segments, reason)) = hit {
            let message = format!("`{}`: {reason}", segments.join("::"));
            findings.push(RuleViolation::new("pure", &source.path, path.line, message));
        }
    }
}

/// Path in Rust code such as `a::b::c`, with imports unfolded.
#[derive(Debug, PartialEq, Eq)]
struct CodePath<'a> {
    segments: Vec<&'a str>,
    line: usize,
    offset: usize,
}

/// Returns all paths of the code: `a::b::c`, macros as `name!`, and each leaf of an import.
fn paths<'a>(tokens: &[CodeToken<'a>]) -> Vec<CodePath<'a>> {
    let mut paths = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let token = tokens[index];
        if token.text == "use" {
            index = import(tokens, index + 1, &[], &mut paths);
        } else if token.text.starts_with(is_word) {
            let mut segments = vec![token.text];
            index += 1;
            while let [colons, next, ..] = &tokens[index..] {
                if colons.text != "::" || !next.text.starts_with(is_word) {
                    break;
                }
                segments.push(next.text);
                index += 2;
            }
            let is_macro = tokens.get(index).is_some_and(|next| next.text == "!")
                && tokens.get(index + 1).is_some_and(|next| matches!(next.text, "(" | "[" | "{"));
            if is_macro && let Some(last) = segments.last_mut() {
                *last = macro_name(last);
            }
            paths.push(CodePath { segments, line: token.line, offset: token.offset });
        } else {
            index += 1;
        }
    }
    paths
}

/// Returns the name of a macro that a rule knows with its mark `!`, and any other name unchanged.
fn macro_name(name: &str) -> &str {
    match name {
        "print" => "print!",
        "println" => "println!",
        "eprint" => "eprint!",
        "eprintln" => "eprintln!",
        other => other,
    }
}

/// Unfolds the import tree at `index`, below `prefix`, and returns the index after it.
fn import<'a>(
    tokens: &[CodeToken<'a>],
    mut index: usize,
    prefix: &[&'a str],
    paths: &mut Vec<CodePath<'a>>,
) -> usize {
    let mut segments = prefix.to_vec();
    let Some(&first) = tokens.get(index) else { return index };
    while let Some(token) = tokens.get(index) {
        match token.text {
            "{" => {
                index += 1;
                while tokens.get(index).is_some_and(|token| token.text != "}") {
                    let before = index;
                    index = import(tokens, index, &segments, paths);
                    if tokens.get(index).is_some_and(|token| token.text == ",") {
                        index += 1;
                    }
                    if index == before {
                        return index + 1;
                    }
                }
                return index + 1;
            }
            "as" => index += 2,
            "::" => index += 1,
            "," | ";" | "}" => break,
            "self" if !prefix.is_empty() => index += 1,
            text => {
                segments.push(text);
                index += 1;
            }
        }
    }
    paths.push(CodePath { segments, line: first.line, offset: first.offset });
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let source = RustSource::new("x.rs", text);
        paths(&source.tokens()).iter().map(|path| path.segments.join("::")).collect()
    }

    fn lines(text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check_source(&RustSource::new("x.rs", text), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn imports_are_unfolded() {
        assert_eq!(
            seen("use std::{fs::{self, File}, net as n, time::*}; pub use a::b;"),
            ["std::fs", "std::fs::File", "std::net", "std::time::*", "pub", "a::b"]
        );
        assert_eq!(seen("use {"), Vec::<String>::new());
    }

    #[test]
    fn every_way_to_a_clock_is_seen() {
        assert_eq!(lines("use std::time::Instant;"), [1]);
        assert_eq!(lines("use std::time::{Duration,\n SystemTime};"), [2]);
        assert_eq!(lines("fn f() { std::time::Instant::now(); }"), [1]);
        assert_eq!(lines("use std::time;\nfn f() { time::Instant::now(); }"), [2]);
        assert!(lines("use std::time::Duration; // Instant::now()").is_empty());
        assert!(lines("const X: &str = \"std::time::Instant::now()\";").is_empty());
    }

    #[test]
    fn macros_that_print_are_seen_outside_of_tests() {
        let text = "fn f() {\n std::eprintln!(\"x\"); print_line(\"x\"); }\n\
                    #[cfg(test)]\nmod tests { fn f() { println!(\"x\"); } }";
        let mut findings = Vec::new();
        check_prints(&RustSource::new("x.rs", text), &mut findings);
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn tests_may_do_what_they_want() {
        let text = "#[cfg(test)]\nmod tests { fn f() { println!(\"x\"); std::fs::read(\"\"); } }";
        assert!(lines(text).is_empty());
        assert_eq!(lines("fn f() { println!(\"x\"); }"), [1]);
    }
}
