//! Rules of tidy on everything except Rust code: the documents agree with the workspace, and no
//! tracked file depends on one machine. Links have rules of their own (`links`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::finding::RuleViolation;
use super::style::has_word;
use super::workspace::{CargoWorkspace, Layer};

/// Names of the rules of this module, as findings have them.
pub(crate) const RULES: [&str; 6] =
    ["architecture", "dependencies", "machine-path", "merge-mark", "size", "text-marker"];

/// Document whose table lists the crates.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Document whose table lists the third-party dependencies.
const DEPENDENCIES: &str = "docs/design/dependencies.md";
/// Names of crates that no other crate may depend on: the build of the first four needs more than a
/// C compiler, and the last one brings twenty others
/// ([dependencies](../../../docs/design/dependencies.md)).
const NEVER_LOCKED: [&str; 5] =
    ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "icu_properties"];
/// Names of third-party crates that a crate of the workspace replaces: the registry's version would
/// bring parts that ours leaves out.
const REPLACED: [&str; 1] = ["webpki-roots"];
/// Maximum size of a tracked file in bytes.
const SIZE_MAX_BYTES: u64 = 2 * 1024 * 1024;
/// Paths of the machine that a file was written on, which no tracked file may contain.
/// Concatenated, so that this file passes.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "bash_jobs")];

/// Checks the documents and the tracked files by the rules of this module, and adds violations to
/// `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    check_crate_list(workspace, findings);
    check_dependency_list(workspace, findings);
    check_lock_file(workspace, findings);
    for path in &workspace.files {
        let size_bytes = fs::metadata(workspace.root.join(path)).map_or(0, |data| data.len());
        if size_bytes > SIZE_MAX_BYTES {
            let message = format!("{size_bytes} bytes, {SIZE_MAX_BYTES} at most");
            findings.push(RuleViolation::new("size", path, 1, message));
            continue;
        }
        let Some(text) = workspace.read(path) else { continue };
        for (index, line) in text.lines().enumerate() {
            check_line(path, index + 1, line, findings);
        }
    }
}

fn check_line(path: &str, number: usize, line: &str, findings: &mut Vec<RuleViolation>) {
    for machine_path in MACHINE_PATHS.into_iter().filter(|each| line.contains(each)) {
        let message = format!("{machine_path} is a folder of one machine");
        findings.push(RuleViolation::new("machine-path", path, number, message));
    }
    if is_merge_mark(line) {
        findings.push(RuleViolation::new("merge-mark", path, number, "a merge was left undecided"));
    }
    let is_markdown = path.ends_with(".md");
    let is_script = [".sh", ".toml", ".ci/run", ".yml"].iter().any(|end| path.ends_with(end));
    let remark = if is_script { line.split_once('#').map_or("", |(_, rest)| rest) } else { line };
    if (is_markdown || is_script) && ["TODO", "FIXME"].iter().any(|marker| has_word(remark, marker))
    {
        let message = "do it, or open an issue";
        findings.push(RuleViolation::new("text-marker", path, number, message));
    }
}

/// Returns true if `line` is a mark that git puts around two versions that it cannot merge.
fn is_merge_mark(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark))
}

/// Returns the rows of Markdown tables whose cell `column` is one name in backticks: name to (line,
/// cells).
fn table(text: &str, column: usize) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut rows = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let cells: Vec<String> =
            line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let name = cells.get(column).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`'));
        if line.trim_start().starts_with('|')
            && let Some(name) = name
        {
            rows.insert(name.to_owned(), (index + 1, cells.clone()));
        }
    }
    rows
}

/// Checks that `ARCHITECTURE.md` has a table `| layer | crate | ... |` with exactly the crates that
/// exist.
fn check_crate_list(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let Some(text) = workspace.read(ARCHITECTURE) else {
        findings.push(RuleViolation::new("architecture", ARCHITECTURE, 1, "is missing"));
        return;
    };
    let rows = table(&text, 1);
    for package in &workspace.packages {
        let Some((line, cells)) = rows.get(&package.name) else {
            let message = format!("the crate table has no row for `{}`", package.name);
            findings.push(RuleViolation::new("architecture", ARCHITECTURE, 1, message));
            continue;
        };
        let layer = match package.layer {
            Ok(Layer::Number(number)) => number.to_string(),
            Ok(Layer::Check) => "check".to_owned(),
            Err(_) => continue,
        };
        if cells[0] != layer {
            let message = format!("`{}` is in layer {layer}, not {}", package.name, cells[0]);
            findings.push(RuleViolation::new("architecture", ARCHITECTURE, *line, message));
        }
    }
    for (name, (line, _)) in rows {
        if workspace.package(&name).is_none() {
            let message = format!("no crate `{name}` in the workspace");
            findings.push(RuleViolation::new("architecture", ARCHITECTURE, line, message));
        }
    }
}

/// Checks that `docs/design/dependencies.md` has a row for every direct third-party dependency and
/// no other.
fn check_dependency_list(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let text = workspace.read(DEPENDENCIES);
    let rows = table(text.as_deref().unwrap_or_default(), 0);
    for package in &workspace.packages {
        for dependency in package.dependencies.iter().filter(|each| !each.is_internal) {
            used.insert(&dependency.name);
            if !rows.contains_key(&dependency.name) {
                let line = workspace.manifest_line(&package.manifest, &dependency.name);
                let message = format!("say in {DEPENDENCIES} what `{}` is for", dependency.name);
                findings.push(RuleViolation::new("dependencies", &package.manifest, line, message));
            }
        }
    }
    for (name, (line, _)) in &rows {
        if !used.contains(name.as_str()) {
            let message = format!("no crate depends on `{name}`");
            findings.push(RuleViolation::new("dependencies", DEPENDENCIES, *line, message));
        }
    }
}

/// Checks that `Cargo.lock` has none of the crates that are forbidden or replaced.
fn check_lock_file(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let text = workspace.read("Cargo.lock").unwrap_or_default();
    for (index, line) in text.lines().enumerate() {
        let name = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"'));
        if let Some(name) = name.filter(|name| NEVER_LOCKED.contains(name)) {
            let message = format!("`{name}` must not be a dependency, with any features");
            findings.push(RuleViolation::new("dependencies", "Cargo.lock", index + 1, message));
        }
        // Name, version, source: crates of the workspace have no source.
        let source = text.lines().nth(index + 2).filter(|line| line.starts_with("source"));
        if name.is_some_and(|name| REPLACED.contains(&name)) && source.is_some() {
            let message = "is not ours: see [patch.crates-io] in Cargo.toml".to_owned();
            findings.push(RuleViolation::new("dependencies", "Cargo.lock", index + 1, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_merges_are_found() {
        for mark in ["<<<<<<< HEAD", ">>>>>>> branch"] {
            assert!(is_merge_mark(mark));
        }
        for line in ["let bits = 1 <<<<<<< 2;", "=======", ">>>>>>>", "> > quoted"] {
            assert!(!is_merge_mark(line), "{line}");
        }
    }

    #[test]
    fn tables_give_rows_by_name() {
        let text = "| layer | crate |\n|---|---|\n| 0 | `a` |\n| 1 | `b` and c |\n0 | `d` |\n";
        let rows = table(text, 1);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows["a"], (3, vec!["0".to_owned(), "`a`".to_owned()]));
    }
}
