//! `cargo xtask tidy`: the rules of the house that the compiler does not know.
//!
//! Each rule module names its rules, so that a run can say how many held. A finding is one line
//! `file:line: rule: message`. The text rules take a fraction of a second; `cargo fmt --check` and
//! `cargo clippy` follow unless `--fast` is given.

mod documents;
mod finding;
mod layers;
mod modules;
mod purity;
mod source;
mod style;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use finding::Finding;
use workspace::Workspace;

/// How many rules held and how many did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Rules without a finding.
    pub(crate) passed: usize,
    /// Rules with at least one.
    pub(crate) failed: usize,
}

/// Checks the workspace at `root` and prints what breaks a rule.
///
/// # Errors
///
/// When the workspace cannot be read.
pub(crate) fn run(root: &Path, is_fast: bool) -> Result<Verdict, String> {
    let workspace = Workspace::load(root)?;
    let findings = findings(&workspace);
    for finding in &findings {
        println!("{finding}");
    }
    let broken: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
    let rules = [
        layers::RULES.as_slice(),
        &purity::RULES,
        &modules::RULES,
        &style::RULES,
        &documents::RULES,
    ]
    .concat();
    let mut verdict = Verdict { passed: rules.len() - broken.len(), failed: broken.len() };
    if !is_fast {
        let fmt: &[&str] = &["fmt", "--all", "--check"];
        let clippy: &[&str] =
            &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        for arguments in [fmt, clippy] {
            if cargo_agrees(root, arguments)? {
                verdict.passed += 1;
            } else {
                println!("cargo {} found something", arguments[0]);
                verdict.failed += 1;
            }
        }
    }
    Ok(verdict)
}

/// Name and folder of every crate, from the lowest layer up.
pub(crate) fn crates_from_below(root: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut packages = Workspace::packages_of(root)?;
    packages.sort_by_key(|package| package.layer.clone().ok());
    Ok(packages.into_iter().map(|package| (package.name, root.join(package.folder))).collect())
}

/// Everything that the text rules have to say, sorted by place.
fn findings(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    layers::check(workspace, &mut findings);
    let test_files = modules::check(workspace, &mut findings);
    modules::check_stray_folders(workspace, &mut findings);
    purity::check(workspace, &test_files, &mut findings);
    style::check(workspace, &mut findings);
    documents::check(workspace, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}

fn cargo_agrees(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run cargo {}: {error}", arguments[0]))?;
    Ok(status.success())
}
