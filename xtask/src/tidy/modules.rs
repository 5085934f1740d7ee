//! Rule of tidy on files that the compiler reads: every Rust file must be reached from the root of
//! a cargo target.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::RuleViolation;
use super::source::{CodeToken, RustSource, attribute_at};
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 1] = ["reached"];

/// Adds a violation for each Rust file that no `mod` reaches, and returns the files that only tests
/// compile.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) -> Vec<String> {
    let reached = reached_files(workspace);
    for path in workspace.sources.keys() {
        if workspace.package_of(path).is_some() && !reached.contains_key(path) {
            let message = "no target and no `mod` reaches this file";
            findings.push(RuleViolation::new("reached", path, 1, message));
        }
    }
    reached.into_iter().filter(|(_, is_test)| *is_test).map(|(path, _)| path).collect()
}

/// Returns the files that the compiler reads; the value is true for those that only tests compile.
fn reached_files(workspace: &CargoWorkspace) -> BTreeMap<String, bool> {
    let mut reached: BTreeMap<String, bool> = BTreeMap::new();
    let mut open: Vec<(String, bool, bool)> = Vec::new();
    for package in &workspace.packages {
        for root in &package.target_roots {
            let inside = root.strip_prefix(&package.folder).unwrap_or(root).trim_start_matches('/');
            let is_test = inside.starts_with("tests/") || inside.starts_with("benches/");
            open.push((root.clone(), is_test, true));
        }
    }
    while let Some((path, is_test, is_root)) = open.pop() {
        let Some(source) = workspace.sources.get(&path) else { continue };
        // A file may be reached twice; once outside tests decides.
        if reached.get(&path).is_some_and(|before| !*before || is_test) {
            continue;
        }
        reached.insert(path.clone(), is_test);
        for child in children(source, is_root) {
            let path = child.candidates.into_iter().find(|at| workspace.sources.contains_key(at));
            open.extend(path.map(|at| (at, is_test || child.is_test, false)));
        }
    }
    reached
}

/// File that a `mod`, an `include!` or a `#[path]` names in a Rust file.
struct Child {
    candidates: Vec<String>,
    is_test: bool,
}

fn children(source: &RustSource, is_root: bool) -> Vec<Child> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let module_folder = if is_root || stem == "mod" { folder.into() } else { join(folder, stem) };
    let tests = source.test_ranges();
    let tokens = source.tokens();
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut path_attribute: Option<String> = None;
    let mut children = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_test = tests.iter().any(|range| range.contains(&token.offset));
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inline.retain(|(_, at)| *at <= depth);
            }
            "#" => {
                path_attribute =
                    path_value(source, &tokens, index).or_else(|| path_attribute.take())
            }
            "include" => {
                let name = quoted(source, &tokens, index);
                let candidates = name.iter().map(|name| join(folder, name)).collect();
                children.push(Child { candidates, is_test });
            }
            "mod" => {
                let (Some(name), Some(next)) = (tokens.get(index + 1), tokens.get(index + 2))
                else {
                    continue;
                };
                let attribute = path_attribute.take();
                if next.text == "{" {
                    inline.push((name.text.to_owned(), depth + 1));
                } else if next.text == ";" {
                    let names = inline.iter().map(|(name, _)| name.as_str());
                    let below = names.fold(module_folder.clone(), |at, name| join(&at, name));
                    let candidates = match attribute {
                        Some(path) => vec![join(folder, &path)],
                        None => vec![
                            join(&below, &format!("{}.rs", name.text)),
                            join(&below, &format!("{}/mod.rs", name.text)),
                        ],
                    };
                    children.push(Child { candidates, is_test });
                }
            }
            _ => {}
        }
    }
    children
}

/// Returns the file that `#[path = "..."]` at token `index` names.
fn path_value(source: &RustSource, tokens: &[CodeToken<'_>], index: usize) -> Option<String> {
    let attribute = attribute_at(tokens, index)?;
    if tokens.get(index + 2)?.text != "path" || attribute.len() <= 3 {
        return None;
    }
    quoted(source, tokens, index + 2)
}

/// Returns the next string literal after token `index`.
fn quoted(source: &RustSource, tokens: &[CodeToken<'_>], index: usize) -> Option<String> {
    let mut quotes = tokens[index..].iter().filter(|token| token.text == "\"");
    let (first, last) = (quotes.next()?, quotes.next()?);
    Some(source.text[first.offset + 1..last.offset].to_owned())
}

/// Returns `folder/name` with `..` resolved.
fn join(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Reports folders directly below `crates/` that have Rust files but no crate of the workspace.
pub(crate) fn check_stray_folders(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let stray: BTreeSet<&String> =
        workspace.sources.keys().filter(|path| workspace.package_of(path).is_none()).collect();
    for path in stray {
        findings.push(RuleViolation::new(
            "reached",
            path,
            1,
            "belongs to no crate of the workspace",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(path: &str, text: &str, is_root: bool) -> Vec<(String, bool)> {
        children(&RustSource::new(path, text), is_root)
            .into_iter()
            .map(|child| (child.candidates[0].clone(), child.is_test))
            .collect()
    }

    #[test]
    fn modules_lead_to_files() {
        let text = "mod a; mod b { pub mod c; } #[path = \"../x/d.rs\"] mod d;\n\
                    #[cfg(test)] mod tests; mod e { } mod f;";
        let expected = [
            ("s/a.rs", false),
            ("s/b/c.rs", false),
            ("x/d.rs", false),
            ("s/tests.rs", true),
            ("s/f.rs", false),
        ];
        let expected = expected.map(|(path, is_test)| (path.to_owned(), is_test));
        assert_eq!(candidates("s/lib.rs", text, true), expected);
        assert_eq!(candidates("s/m.rs", "mod a;", false), [("s/m/a.rs".to_owned(), false)]);
        assert_eq!(candidates("s/m/mod.rs", "mod a;", false), [("s/m/a.rs".to_owned(), false)]);
        assert_eq!(
            candidates("s/m.rs", "include!(\"t.rs\");", false),
            [("s/t.rs".to_owned(), false)]
        );
    }
}
