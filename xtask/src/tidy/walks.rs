//! Rule of tidy on the walks of `ARCHITECTURE.md` (tours of the code in steps): each step names a
//! Rust file and items that the file defines, steps are numbered in order, and no walk names a file
//! twice.

use std::collections::BTreeMap;

use super::finding::RuleViolation;
use super::source::{CodeToken, RustSource, closing};
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 1] = ["walks"];

/// Path of the document with the walks.
const DOCUMENT: &str = "ARCHITECTURE.md";
/// Heading of the document's section with the walks.
const SECTION: &str = "## Walks";
/// Keywords of Rust that are followed by the name that they define.
const KEYWORDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];

/// Walk of `ARCHITECTURE.md`: a numbered list of steps below a heading.
#[derive(Debug)]
struct DocumentWalk {
    /// Number of the line with the walk's heading, from 1.
    line: usize,
    steps: Vec<WalkStep>,
    /// Rust files that the walk names in steps or elsewhere, each with its line number.
    named_files: Vec<(usize, String)>,
}

/// Step of a walk, a numbered item.
#[derive(Debug)]
struct WalkStep {
    /// Number of the line on which the step begins, from 1.
    line: usize,
    number: usize,
    /// Text of the step after its number, on one line.
    text: String,
}

/// Checks the walks of `ARCHITECTURE.md`, and adds violations to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let text = workspace.read(DOCUMENT).unwrap_or_default();
    let walks = walks(&text);
    let mut add =
        |line, message: String| findings.push(RuleViolation::new("walks", DOCUMENT, line, message));
    if walks.is_empty() {
        add(1, format!("has no walk below `{SECTION}`"));
    }
    for walk in walks {
        check_walk(&walk, &workspace.sources, &mut add);
    }
}

/// Reports the problems of a walk to `add`, each with its line.
fn check_walk(
    walk: &DocumentWalk,
    sources: &BTreeMap<String, RustSource>,
    add: &mut impl FnMut(usize, String),
) {
    if walk.steps.is_empty() {
        add(walk.line, "the walk has no steps".to_owned());
    }
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, path) in &walk.named_files {
        if let Some(first) = known.get(path.as_str()) {
            add(*line, format!("the walk names {path} on line {first} already"));
        }
        known.entry(path.as_str()).or_insert(*line);
    }
    for (step, expected) in walk.steps.iter().zip(1..) {
        if step.number != expected {
            add(step.line, format!("step {expected} has the number {}", step.number));
        }
        let Some((path, items)) = head(&step.text) else {
            add(
                step.line,
                "a step begins with a file and its items: `a/b.rs` (`f`, `T::g`)".into(),
            );
            continue;
        };
        let Some(source) = sources.get(path) else {
            add(step.line, format!("no Rust file {path}"));
            continue;
        };
        for item in items.iter().filter(|item| !defines(source, item)) {
            add(step.line, format!("{path} does not define `{item}`"));
        }
    }
}

/// Returns the walks of the document `text`: the parts below headings of level 3 of the section.
fn walks(text: &str) -> Vec<DocumentWalk> {
    let mut walks: Vec<DocumentWalk> = Vec::new();
    let mut is_in_section = false;
    let mut is_in_step = false;
    for (line, content) in (1..).zip(text.lines()) {
        if content.starts_with("## ") {
            is_in_section = content == SECTION;
        }
        if !is_in_section {
            continue;
        }
        if content.starts_with("### ") {
            walks.push(DocumentWalk { line, steps: Vec::new(), named_files: Vec::new() });
        }
        let Some(walk) = walks.last_mut() else { continue };
        let files = quoted(content).filter(|name| name.contains('/') && name.ends_with(".rs"));
        walk.named_files.extend(files.map(|path| (line, path.to_owned())));
        if let Some((number, text)) = numbered(content) {
            is_in_step = true;
            walk.steps.push(WalkStep { line, number, text: text.to_owned() });
        } else if is_in_step && content.starts_with(' ') {
            let step = walk.steps.last_mut().expect("a step is open");
            step.text.push(' ');
            step.text.push_str(content.trim());
        } else {
            is_in_step = false;
        }
    }
    walks
}

/// Returns number and text of a line that begins a numbered item.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, text) = line.split_once(". ")?;
    Some((number.parse().ok()?, text))
}

/// Returns the names between backticks in `text`.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the file and the items at the beginning of a step, which reads "`file` (`item`,
/// `item`)".
fn head(text: &str) -> Option<(&str, Vec<&str>)> {
    let (path, rest) = text.strip_prefix('`')?.split_once('`')?;
    let (list, _) = rest.strip_prefix(" (")?.split_once(')')?;
    let items: Vec<&str> = quoted(list).collect();
    (!items.is_empty()).then_some((path, items))
}

/// Returns true if `source` defines `item` outside of tests: a name, or `Type::method` in an
/// implementation for the type or in the trait of that name.
fn defines(source: &RustSource, item: &str) -> bool {
    let tests = source.test_ranges();
    let is_tested = |token: &CodeToken<'_>| tests.iter().any(|range| range.contains(&token.offset));
    let tokens: Vec<CodeToken<'_>> =
        source.tokens().into_iter().filter(|token| !is_tested(token)).collect();
    match item.split_once("::") {
        Some((owner, method)) => {
            bodies(&tokens, owner).any(|body| has_definition(body, &["fn"], method))
        }
        None => has_definition(&tokens, &KEYWORDS, item),
    }
}

fn has_definition(tokens: &[CodeToken<'_>], keywords: &[&str], name: &str) -> bool {
    tokens.windows(2).any(|pair| keywords.contains(&pair[0].text) && pair[1].text == name)
}

/// Returns the bodies of the implementations and the trait whose heads name `owner`.
fn bodies<'t, 's>(
    tokens: &'t [CodeToken<'s>],
    owner: &str,
) -> impl Iterator<Item = &'t [CodeToken<'s>]> {
    let starts = tokens.iter().enumerate();
    let starts = starts.filter(|(_, token)| matches!(token.text, "impl" | "trait"));
    starts.filter_map(move |(at, _)| {
        let is_end = |token: &CodeToken<'_>| matches!(token.text, "{" | ";");
        let open = at + tokens[at..].iter().position(is_end)?;
        let is_of_owner = tokens[at..open].iter().any(|token| token.text == owner);
        let has_body = is_of_owner && tokens[open].text == "{";
        has_body.then(|| &tokens[open..closing(tokens, open)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "pub const LIMIT: u8 = 1;
        struct Shard<S> { x: S }
        impl<S: Copy> Shard<S> { pub const fn handle(&self) {} }
        impl Clone for Shard<u8> { fn clone(&self) -> Self { f(1); Self { x: 0 } } }
        trait Store { fn fetch(&self) -> u8; }
        fn other() {}
        #[cfg(test)] mod tests { fn tested() {} impl Shard<u8> { fn check(&self) {} } }
        // fn commented() {}";

    fn found(section: &str) -> Vec<String> {
        let sources = ["a/b.rs", "a/c.rs"]
            .map(|path| (path.to_owned(), RustSource::new(path, CODE)))
            .into_iter()
            .collect();
        let mut found = Vec::new();
        for walk in walks(&format!("# A\n\n1. `x/y.rs` (`z`)\n\n## Walks\n\n{section}")) {
            check_walk(&walk, &sources, &mut |line, text| found.push(format!("{line}: {text}")));
        }
        found
    }

    #[test]
    fn files_with_their_items_are_accepted_once_in_each_walk() {
        let section = "### One\n\n1. `a/b.rs` (`LIMIT`, `Shard`,\n   `Shard::handle`): takes\n   \
                       `clone`.\n\n#### More\n\n2. `a/c.rs` (`Store::fetch`, `Shard::clone`): \
                       b.\n\n### Two\n\n1. `a/b.rs` (`other`, `Clone::clone`): c.\n\n## Next\n\n\
                       1. `x/y.rs` (`z`): d.\n";
        assert_eq!(found(section), Vec::<String>::new());
    }

    #[test]
    fn items_that_the_file_does_not_define_are_found() {
        for item in ["handle2", "Shard::other", "tested", "Shard::check", "commented", "Other::f"] {
            let expected = format!("9: a/b.rs does not define `{item}`");
            assert_eq!(found(&format!("### One\n\n1. `a/b.rs` (`{item}`): a.\n")), [expected]);
        }
        assert_eq!(found("### One\n\n1. `a/d.rs` (`f`): a.\n"), ["9: no Rust file a/d.rs"]);
    }

    #[test]
    fn files_named_twice_are_found_also_outside_of_the_head_of_a_step() {
        let twice = "### One\n\n1. `a/b.rs` (`other`): a.\n2. `a/b.rs` (`LIMIT`): b.\n";
        assert_eq!(found(twice), ["10: the walk names a/b.rs on line 9 already"]);
        let inside = "### One\n\nAs in `a/c.rs`.\n\n1. `a/b.rs` (`other`): a,\n   `a/c.rs`.\n";
        assert_eq!(found(inside), ["12: the walk names a/c.rs on line 9 already"]);
    }

    #[test]
    fn steps_without_a_number_in_order_or_a_head_are_found() {
        let step = "a step begins with a file and its items: `a/b.rs` (`f`, `T::g`)";
        for text in
            ["A sentence.", "`a/b.rs`: a.", "`a/b.rs` (no item): a.", "a `a/b.rs` (`other`)"]
        {
            assert_eq!(found(&format!("### One\n\n1. {text}\n")), [format!("9: {step}")], "{text}");
        }
        let order = "### One\n\n1. `a/b.rs` (`other`): a.\n3. `a/c.rs` (`other`): b.\n";
        assert_eq!(found(order), ["10: step 2 has the number 3"]);
        assert_eq!(found("### One\n\nNothing.\n"), ["7: the walk has no steps"]);
    }
}
