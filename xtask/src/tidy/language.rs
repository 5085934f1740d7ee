//! Rules of tidy on plain language that a program can check, with the number of places that break
//! each: `cargo xtask language`.
//!
//! Texts that are older than these rules break some of them. A rule therefore has a limit in
//! [`LIMITS`], the number of places that were left when it was last lowered, and `cargo xtask tidy`
//! fails when there are more. A rule without a limit allows none.

use std::collections::BTreeMap;

use super::finding::RuleViolation;
use super::source::{CodeToken, Comment, CommentKind, RustSource, closing, is_word};
use super::workspace::CargoWorkspace;
use crate::output;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 5] =
    ["doc-subject", "line-width", "tuple-parameter", "type-name", "type-word"];

/// Path of the file with the number of places that may break a rule, in lines `rule = number`.
const LIMITS: &str = "xtask/language-limits.toml";

/// Maximum number of columns of a Markdown line, or of a line with a comment.
const COLUMNS_MAX: usize = 100;

/// Words with which a doc comment's first sentence must not begin, because it then has no subject
/// of its own.
const HEADLESS: [&str; 9] =
    ["What", "Who", "Whoever", "Whatever", "Whether", "Of", "The same", "In", "As of"];

/// Type names that say nothing about a type: participles and metaphors.
const VAGUE_NAMES: [&str; 32] = [
    "Asked",
    "Asking",
    "Bench",
    "Carried",
    "Court",
    "Course",
    "Crew",
    "Deeds",
    "Desk",
    "Door",
    "Doors",
    "Done",
    "Fate",
    "Found",
    "Given",
    "Happened",
    "Held",
    "Kept",
    "Lane",
    "Lives",
    "Meanwhile",
    "Place",
    "Placed",
    "Room",
    "Said",
    "Seats",
    "Seen",
    "Stash",
    "Taken",
    "Told",
    "Trail",
    "Wish",
];

/// Path of the file with names of types that a crate has once for each address family, with the
/// reason.
const SHARED_NAMES: &str = "xtask/shared-names.toml";

/// Paths of files that others wrote or that a command makes, to which the rules do not apply.
const NOT_WRITTEN_BY_HAND: [&str; 1] = ["conformance/COVERAGE.md"];

/// Files whose tables name tests or repeat texts of the code, which a test compares: their rows may
/// be wide.
const COMPARED_TABLES: [&str; 3] = [
    "crates/dccp/tests/conformance/CASES.md",
    "docs/book/dccp-conformance.md",
    "docs/book/security.md",
];

/// Checks that no rule is broken in more places than its limit, and adds violations to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let all = all_findings(workspace);
    let limits = workspace.read(LIMITS).unwrap_or_default();
    for rule in RULES {
        let limit = limit(&limits, rule);
        let violations: Vec<&RuleViolation> =
            all.iter().filter(|finding| finding.rule == rule).collect();
        if violations.len() > limit {
            let message = format!(
                "{} places, {limit} at most: see `cargo xtask language {rule}`",
                violations.len()
            );
            findings.push(RuleViolation::new(
                rule,
                &violations[0].path,
                violations[0].line,
                message,
            ));
        }
    }
}

/// Prints the number of places that break each rule, and the places of `rule`. Returns true if
/// there are none.
///
/// # Errors
///
/// The rule does not exist.
pub(crate) fn report(workspace: &CargoWorkspace, rule: Option<&str>) -> Result<bool, String> {
    if let Some(rule) = rule.filter(|rule| !RULES.contains(rule)) {
        return Err(format!("no rule `{rule}`; there are {}", RULES.join(", ")));
    }
    let all = all_findings(workspace);
    for finding in all.iter().filter(|finding| rule == Some(finding.rule)) {
        output::print_line(finding);
    }
    let limits = workspace.read(LIMITS).unwrap_or_default();
    for name in RULES {
        let limit = limit(&limits, name);
        let count = all.iter().filter(|finding| finding.rule == name).count();
        output::print_line(format_args!("{name:<16} {count:>5} of at most {limit}"));
    }
    Ok(all.iter().all(|finding| rule.is_some_and(|rule| rule != finding.rule)))
}

/// Returns the limit of `rule` in `text`, 0 without one.
fn limit(text: &str, rule: &str) -> usize {
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    let value = pairs.find(|(name, _)| name.trim() == rule);
    value.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// Returns every place that breaks a rule of plain language.
fn all_findings(workspace: &CargoWorkspace) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let mut types = TypeNames::default();
    for source in workspace.sources.values() {
        check_source(source, &mut findings);
        types.add(source);
    }
    let shared = workspace.read(SHARED_NAMES).unwrap_or_default();
    types.check(&shared_names(&shared), &mut findings);
    for path in workspace.files.iter().filter(|path| path.ends_with(".md")) {
        if NOT_WRITTEN_BY_HAND.contains(&path.as_str()) {
            continue;
        }
        let text = workspace.read(path).unwrap_or_default();
        let is_compared = COMPARED_TABLES.contains(&path.as_str());
        for (number, line) in (1..).zip(text.lines()) {
            if is_compared && line.starts_with('|') {
                continue;
            }
            check_width(path, number, line, &mut findings);
        }
    }
    findings.sort();
    findings
}

fn check_width(path: &str, number: usize, line: &str, findings: &mut Vec<RuleViolation>) {
    let columns = line.chars().count();
    if columns > COLUMNS_MAX {
        let message = format!("{columns} columns, {COLUMNS_MAX} at most");
        findings.push(RuleViolation::new("line-width", path, number, message));
    }
}

fn check_source(source: &RustSource, findings: &mut Vec<RuleViolation>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut last_doc_line = None;
    for comment in &source.comments {
        for (index, _) in comment.text.lines().enumerate() {
            let number = comment.line + index;
            let line = lines.get(number - 1).copied().unwrap_or_default();
            check_width(&source.path, number, line, findings);
        }
        if comment.kind == CommentKind::Doc {
            if last_doc_line != Some(comment.line - 1)
                && let Some(begin) = headless(comment)
            {
                let message = format!("`{begin}` is no subject: begin with a noun or a verb");
                findings.push(RuleViolation::new(
                    "doc-subject",
                    &source.path,
                    comment.line,
                    message,
                ));
            }
            last_doc_line = Some(comment.line);
        }
    }
    for (line, name) in tuple_parameters(&source.tokens()) {
        let message = format!("fn {name}: a parameter is a tuple; give it a type or two names");
        findings.push(RuleViolation::new("tuple-parameter", &source.path, line, message));
    }
}

/// Returns the first words of a doc comment if they are no subject.
fn headless(comment: &Comment) -> Option<&'static str> {
    let text = comment.text.trim_start_matches(['/', '!', '*']).trim_start();
    HEADLESS.into_iter().find(|begin| {
        let rest = text.strip_prefix(begin);
        rest.is_some_and(|rest| !rest.starts_with(is_word))
    })
}

/// Returns the line and the name of each function with a tuple pattern as a parameter.
fn tuple_parameters<'a>(tokens: &[CodeToken<'a>]) -> Vec<(usize, &'a str)> {
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        if pair[0].text != "fn" || !pair[1].text.starts_with(is_word) {
            continue;
        }
        let Some(open) = parameters_at(tokens, index + 2) else { continue };
        let end = closing(tokens, open);
        let mut at = open + 1;
        while at < end {
            let is_first = at == open + 1 || tokens[at - 1].text == ",";
            let close = if tokens[at].text == "(" { closing(tokens, at) } else { at };
            let has_type = tokens.get(close + 1).is_some_and(|token| token.text == ":");
            if close > at && is_first && has_type {
                functions.push((pair[0].line, pair[1].text));
                break;
            }
            at = close + 1;
        }
    }
    functions
}

/// Returns the index of the bracket that opens a function's parameters, after its generics.
fn parameters_at(tokens: &[CodeToken<'_>], begin: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in begin..tokens.len() {
        match tokens[at].text {
            "<" => depth += 1,
            ">" if tokens[at - 1].text != "-" => depth = depth.saturating_sub(1),
            "(" if depth == 0 => return Some(at),
            "{" | ";" => return None,
            _ => {}
        }
    }
    None
}

/// Position of a type's definition in the workspace.
#[derive(Clone, Debug)]
struct DefinitionPosition {
    path: String,
    line: usize,
}

/// Definitions of structs, enums, unions and traits, by name.
#[derive(Debug, Default)]
struct TypeNames {
    definitions: BTreeMap<String, Vec<DefinitionPosition>>,
}

impl TypeNames {
    fn add(&mut self, source: &RustSource) {
        for pair in source.tokens().windows(2) {
            let is_type = matches!(pair[0].text, "struct" | "enum" | "union" | "trait");
            if is_type && pair[1].text.starts_with(char::is_uppercase) {
                let definition =
                    DefinitionPosition { path: source.path.clone(), line: pair[1].line };
                self.definitions.entry(pair[1].text.to_owned()).or_default().push(definition);
            }
        }
    }

    /// Reports each definition but the first of a name that is not `shared`, and vague names. A
    /// shared name is that of one type for each address family in a crate's modules `v4` and `v6`.
    fn check(&self, shared: &[String], findings: &mut Vec<RuleViolation>) {
        for (name, definitions) in &self.definitions {
            if VAGUE_NAMES.contains(&name.as_str()) {
                for DefinitionPosition { path, line } in definitions {
                    let message = format!("`{name}` does not say what the type holds");
                    findings.push(RuleViolation::new("type-word", path, *line, message));
                }
            }
            let mut pairs = Vec::new();
            let mut definitions: Vec<_> = definitions.iter().collect();
            definitions.retain(|definition| {
                let Some(pair) = family_pair(&definition.path, name, shared) else { return true };
                let is_first = !pairs.contains(&pair);
                pairs.push(pair);
                is_first
            });
            let [first, others @ ..] = definitions.as_slice() else { continue };
            for DefinitionPosition { path, line } in others {
                let message = format!("`{name}` is a type of {}:{}, too", first.path, first.line);
                findings.push(RuleViolation::new("type-name", path, *line, message));
            }
        }
    }
}

/// Returns the shared name, `crate/Name`, of a definition in a module of one address family; `None`
/// if it is not shared.
fn family_pair(path: &str, name: &str, shared: &[String]) -> Option<String> {
    let is_of_family = path.contains("v4") || path.contains("v6");
    let mut folders = path.split('/').skip_while(|folder| *folder == "crates");
    let pair = format!("{}/{name}", folders.next()?);
    (is_of_family && shared.contains(&pair)).then_some(pair)
}

/// Returns the names in lines `crate/Name = "reason"`.
fn shared_names(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, reason) = line.split_once('=')?;
        let has_reason = reason.trim().trim_matches('"').contains(' ');
        has_reason.then(|| name.trim().to_owned())
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<(&'static str, usize)> {
        let mut findings = Vec::new();
        check_source(&RustSource::new("x.rs", text), &mut findings);
        findings.into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn first_sentences_have_a_subject() {
        let text = "//! What it is.\n\n/// Whether so.\n/// In the second line.\nstruct A;\n\
                    /// Inside of it.\nstruct B;\n/// The same again.\nfn f() {}\n// Of a line.\n";
        assert_eq!(findings(text), [("doc-subject", 1), ("doc-subject", 3), ("doc-subject", 8)]);
        assert_eq!(findings("//! Rules.\n/// Returns what is.\nfn f() {}\n"), []);
    }

    #[test]
    fn lines_with_comments_and_markdown_are_not_wide() {
        let wide = "x".repeat(94);
        assert_eq!(findings(&format!("//! A.\n    // {wide}\n")), [("line-width", 2)]);
        assert_eq!(findings(&format!("//! A.\n    //{wide}\n")), []);
        let mut findings = Vec::new();
        check_width("x.md", 1, &"ä".repeat(100), &mut findings);
        assert_eq!(findings, []);
        check_width("x.md", 2, &"ä".repeat(101), &mut findings);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn tuples_as_parameters_are_found() {
        let bad = "//! A.\nfn f<F: Fn(u8) -> u8>(a: F, (b, c): (u8, u8)) {}\n";
        assert_eq!(findings(bad), [("tuple-parameter", 2)]);
        let good =
            "//! A.\nfn f(a: Map<u8, (u8, u8)>, [b, c]: [u8; 2]) { |(d, e): (u8, u8)| d; }\n";
        assert_eq!(findings(good), []);
    }

    #[test]
    fn a_name_has_one_definition_unless_it_is_shared() {
        let mut types = TypeNames::default();
        let texts = [
            ("crates/a/src/v4/x.rs", "struct Line; enum Lease {} struct Held;"),
            ("crates/a/src/v6/x.rs", "struct Line; trait Lease {}\n// struct Other;\n"),
            ("crates/b/src/v6/x.rs", "struct Lease;"),
        ];
        for (path, text) in texts {
            types.add(&RustSource::new(path, text));
        }
        let shared = shared_names("# why\na/Lease = \"one of each family\"\na/Line = \"\"\n");
        let mut findings = Vec::new();
        types.check(&shared, &mut findings);
        let findings: Vec<_> = findings.iter().map(|one| (one.rule, one.path.as_str())).collect();
        let expected = [
            ("type-word", "crates/a/src/v4/x.rs"),
            ("type-name", "crates/b/src/v6/x.rs"),
            ("type-name", "crates/a/src/v6/x.rs"),
        ];
        assert_eq!(findings, expected);
    }
}
