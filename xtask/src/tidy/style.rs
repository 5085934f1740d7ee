//! Rules of tidy on the text of single Rust files: nothing unfinished, nothing silenced without a
//! reason, nothing commented out, no file or function too long to understand.

use super::finding::RuleViolation;
use super::source::{CodeToken, Comment, CommentKind, RustSource, attribute_at, closing, is_word};
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 7] = [
    "unfinished",
    "reason",
    "commented-out",
    "file-length",
    "function-length",
    "module-head",
    "marker",
];

/// Maximum number of lines of a Rust file.
const FILE_LINES_MAX: usize = 700;
/// Maximum number of lines of a function, from `fn` to the closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Comment before a table in the code, which is read by searching and may be long.
const TABLE_MARK: &str = "tidy: table";
/// Words that mark unfinished work.
const MARKERS: [&str; 3] = ["TODO", "FIXME", "XXX"];
/// Names of macros that finished code must not have.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Checks every Rust file of the workspace by the rules of this module, and adds violations to
/// `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    for source in workspace.sources.values() {
        check_source(source, findings);
    }
}

fn check_source(source: &RustSource, findings: &mut Vec<RuleViolation>) {
    let mut report = |rule, line, message: String| {
        findings.push(RuleViolation::new(rule, &source.path, line, message));
    };
    let head = source.text.trim_start();
    if !head.starts_with("//!") {
        report("module-head", 1, "begin with `//!`: what the module owns".to_owned());
    }
    let line_count = source.text.lines().count();
    let is_table = source.comments.iter().any(is_table_mark);
    if line_count > FILE_LINES_MAX && !is_table {
        let message = format!("{line_count} lines, {FILE_LINES_MAX} at most: split it");
        report("file-length", 1, message);
    }
    let tokens = source.tokens();
    for (name, line, lines) in functions(&tokens) {
        let marks = source.comments.iter().filter(|comment| is_table_mark(comment));
        let is_table =
            marks.map(|comment| comment.line).any(|at| (line..line + lines).contains(&at));
        if lines > FUNCTION_LINES_MAX && !is_table {
            let message = format!("fn {name} has {lines} lines, {FUNCTION_LINES_MAX} at most");
            report("function-length", line, message);
        }
    }
    for pair in tokens.windows(2) {
        if pair[1].text == "!" && UNFINISHED.contains(&pair[0].text) {
            report("unfinished", pair[0].line, format!("`{}!` must not stay", pair[0].text));
        }
    }
    for (line, message) in silenced(source, &tokens) {
        report("reason", line, message);
    }
    for comment in &source.comments {
        for (index, text) in comment.text.lines().enumerate() {
            for marker in MARKERS.into_iter().filter(|marker| has_word(text, marker)) {
                let message = format!("{marker}: do it, or open an issue");
                report("marker", comment.line + index, message);
            }
        }
        if comment.kind == CommentKind::Line && is_code(&comment.text) {
            report("commented-out", comment.line, "commented-out code: delete it".to_owned());
        }
    }
}

fn is_table_mark(comment: &Comment) -> bool {
    comment.kind == CommentKind::Line && comment.text.contains(TABLE_MARK)
}

/// Returns name, first line and length in lines of every function in `tokens` that has a body.
fn functions<'a>(tokens: &[CodeToken<'a>]) -> Vec<(&'a str, usize, usize)> {
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        if pair[0].text != "fn" || !pair[1].text.starts_with(is_word) {
            continue;
        }
        let mut at = index + 2;
        while let Some(token) = tokens.get(at) {
            match token.text {
                ";" => break,
                "(" | "[" => at = closing(tokens, at) + 1,
                "{" => {
                    let end = tokens[closing(tokens, at)].line;
                    functions.push((pair[1].text, pair[0].line, end - pair[0].line + 1));
                    break;
                }
                _ => at += 1,
            }
        }
    }
    functions
}

/// Returns the lints and tests that a file switches off without a reason, each with its line.
fn silenced(source: &RustSource, tokens: &[CodeToken<'_>]) -> Vec<(usize, String)> {
    let mut silenced = Vec::new();
    for index in 0..tokens.len() {
        let Some(range) = attribute_at(tokens, index) else { continue };
        let has = |word: &str| tokens[range.clone()].iter().any(|token| token.text == word);
        let line = tokens[index].line;
        if (has("allow") || has("expect")) && !has("reason") {
            silenced
                .push((line, "give a `reason = \"...\"` or repair what the lint saw".to_owned()));
        }
        if has("ignore") && !has("=") {
            let code = &source.code[tokens[index].offset..];
            let first_line = code.lines().next().unwrap_or_default();
            silenced
                .push((line, format!("`{first_line}`: write #[ignore = \"why\"] or let it run")));
        }
    }
    silenced
}

/// Returns true if `word` occurs alone in `text`. In backticks or quotes it is a mention.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let is_part = |character: Option<char>| character.is_some_and(is_word);
        !is_part(before) && !is_part(after) && !matches!(before, Some('`' | '"' | '\''))
    })
}

/// Returns true if a line comment looks like a statement rather than a sentence.
fn is_code(comment: &str) -> bool {
    let text = comment.trim_start_matches('/').trim();
    if matches!(text, "}" | "};" | "});" | "})" | ");") || text.starts_with("#[") {
        return true;
    }
    let first = text.split(|character: char| !is_word(character)).next().unwrap_or_default();
    let is_statement = text.ends_with(';')
        && (matches!(first, "let" | "use" | "return" | "mod" | "pub" | "const" | "break")
            || text.contains(" = ")
            || is_call(text));
    let opens_block = text.ends_with('{')
        && matches!(first, "fn" | "pub" | "if" | "for" | "while" | "match" | "impl" | "struct");
    is_statement || opens_block
}

/// Returns true if `text` looks like a call `path.to::call(...);` without a space before the
/// parenthesis.
fn is_call(text: &str) -> bool {
    let Some((name, rest)) = text.split_once('(') else { return false };
    let is_path = |character| is_word(character) || matches!(character, ':' | '.' | '!' | '?');
    rest.trim_end_matches(';').ends_with([')', '?'])
        && !name.is_empty()
        && name.chars().all(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<(&'static str, usize)> {
        let mut findings = Vec::new();
        check_source(&RustSource::new("x.rs", text), &mut findings);
        findings.into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn markers_count_in_comments_only() {
        assert_eq!(rules("//! A.\n// TODO: b\n"), [("marker", 2)]);
        assert_eq!(rules("//! A.\n/* x\n FIXME */\n"), [("marker", 3)]);
        assert_eq!(rules("//! A.\n/// XXX\nfn f() {}\n"), [("marker", 2)]);
        assert_eq!(rules("//! A `TODO` and a TODOS.\nconst X: &str = \"TODO\";\n"), []);
    }

    #[test]
    fn unfinished_macros_are_seen_in_code_only() {
        assert_eq!(rules("//! A.\nfn f() { todo!() }\n"), [("unfinished", 2)]);
        assert_eq!(rules("//! A.\nfn f() {\n dbg!(1);\n}\n"), [("unfinished", 3)]);
        assert_eq!(rules("//! A todo!().\nfn todo() {}\n"), []);
    }

    #[test]
    fn silence_needs_a_reason() {
        assert_eq!(rules("//! A.\n#[allow(dead_code)]\nfn f() {}\n"), [("reason", 2)]);
        assert_eq!(rules("//! A.\n#![expect(dead_code)]\n"), [("reason", 2)]);
        assert_eq!(rules("//! A.\n#[allow(dead_code,\n reason = \"b\")]\nfn f() {}\n"), []);
        assert_eq!(rules("//! A.\n#[ignore]\nfn f() {}\n"), [("reason", 2)]);
        assert_eq!(rules("//! A.\n#[ignore = \"b\"]\nfn f() {}\n"), []);
    }

    #[test]
    fn code_in_comments_is_told_from_sentences() {
        for code in ["// let x = 1;", "// }", "// f.g(x);", "// if a {", "//x = y;", "// #[test]"] {
            assert!(is_code(code), "{code}");
        }
        for sentence in [
            "// Taken; the next one is free.",
            "// held back (RFC 2131 §4.3);",
            "// for a lease that has ended:",
            "// SAFETY: the buffer outlives the call;",
        ] {
            assert!(!is_code(sentence), "{sentence}");
        }
    }

    #[test]
    fn lengths_are_limited_but_for_tables() {
        let body = "    x();\n".repeat(69);
        assert_eq!(rules(&format!("//! A.\nfn f() {{\n{body}}}\n")), [("function-length", 2)]);
        let body = "    x();\n".repeat(68);
        assert_eq!(rules(&format!("//! A.\nfn f() {{\n{body}}}\n")), []);
        let long = "const A: u8 = 1;\n".repeat(700);
        assert_eq!(rules(&format!("//! A.\n{long}")), [("file-length", 1)]);
        assert_eq!(rules(&format!("//! A.\n// tidy: table\n{long}")), []);
    }

    #[test]
    fn a_file_says_what_it_owns() {
        assert_eq!(rules("fn f() {}\n"), [("module-head", 1)]);
    }
}
