//! Command `cargo xtask tidy`: the project rules that the compiler does not know.
//!
//! Each rule module names its rules, so that a run can print how many passed. A finding is one line
//! `file:line: rule: message`. The text rules take a fraction of a second; the features that cargo
//! selects, `cargo fmt --check` and `cargo clippy` follow unless `--fast` is given.

mod documents;
mod features;
mod finding;
mod forwarding;
mod language;
mod layers;
mod links;
mod modules;
mod purity;
mod security;
mod source;
mod style;
mod version;
mod walks;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output;
use finding::RuleViolation;
use workspace::Layer;
pub(crate) use workspace::{CargoWorkspace, Package};

/// Numbers of tidy's passed and failed rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    /// Number of rules without a violation.
    pub(crate) passed: usize,
    /// Number of rules with at least one violation.
    pub(crate) failed: usize,
}

impl RuleCounts {
    fn count(&mut self, holds: bool) {
        self.passed += usize::from(holds);
        self.failed += usize::from(!holds);
    }
}

/// Extent of tidy's checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckExtent {
    /// Rules that need only the texts of the files.
    Texts,
    /// Rules on texts, and cargo's checks of features and format, without compiling.
    Cargo,
    /// Rules on texts, cargo's checks, and clippy.
    All,
}

/// Checks the workspace at `root` and prints each violation of a rule.
///
/// # Errors
///
/// The workspace cannot be read.
pub(crate) fn run(root: &Path, extent: CheckExtent) -> Result<RuleCounts, String> {
    let workspace = CargoWorkspace::load(root)?;
    let findings = findings(&workspace);
    for finding in &findings {
        output::print_line(finding);
    }
    let broken: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
    let rules = [
        layers::RULES.as_slice(),
        &purity::RULES,
        &modules::RULES,
        &style::RULES,
        &documents::RULES,
        &links::RULES,
        &language::RULES,
        &security::RULES,
        &forwarding::RULES,
        &version::RULES,
        &walks::RULES,
    ]
    .concat();
    let mut verdict = RuleCounts { passed: rules.len() - broken.len(), failed: broken.len() };
    if extent == CheckExtent::Texts {
        return Ok(verdict);
    }
    let findings = features::check(&workspace)?;
    findings.iter().for_each(output::print_line);
    verdict.count(findings.is_empty());
    verdict.count(agrees(cargo(root).args(["fmt", "--all", "--check"]))?);
    if extent == CheckExtent::All {
        verdict.count(agrees(&mut clippy(root))?);
    }
    Ok(verdict)
}

/// Prints the number of places that break each rule of plain language, and the places of `rule`.
/// Returns true if there are none.
///
/// # Errors
///
/// The workspace cannot be read, or the rule does not exist.
pub(crate) fn language(root: &Path, rule: Option<&str>) -> Result<bool, String> {
    language::report(&CargoWorkspace::load(root)?, rule)
}

/// Suite of one crate's tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CrateSuite {
    /// Name of the crate.
    pub(crate) name: String,
    /// Folder of the crate.
    pub(crate) folder: PathBuf,
    /// Division of the crate's integration program into jobs.
    pub(crate) split: JobDivision,
}

/// Division of a crate's integration program into jobs of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobDivision {
    /// One job for all tests: for crates below layer 3, which only compute.
    Whole,
    /// One job per module: for crates with real sockets, files and databases.
    ByModule,
    /// One job per test: for the `godwit` binary, whose tests start servers and wait for them.
    ByTest,
}

/// Returns the suites of all crates, from the lowest layer up.
pub(crate) fn crates_from_below(root: &Path) -> Result<Vec<CrateSuite>, String> {
    let mut packages = CargoWorkspace::packages_of(root)?;
    packages.sort_by_key(|package| package.layer.clone().ok());
    let suites = packages.into_iter().map(|package| CrateSuite {
        folder: root.join(&package.folder),
        split: match package.layer {
            _ if package.name == layers::BINARY => JobDivision::ByTest,
            Ok(layer) if layer >= Layer::Number(3) => JobDivision::ByModule,
            _ => JobDivision::Whole,
        },
        name: package.name,
    });
    Ok(suites.collect())
}

/// Returns the names of the crates with examples in their documentation, which rustdoc would run:
/// fences without the name of another language.
pub(crate) fn crates_with_examples(root: &Path) -> Result<Vec<String>, String> {
    let workspace = CargoWorkspace::load(root)?;
    let mut names = BTreeSet::new();
    for (path, source) in &workspace.sources {
        if path.contains("/src/") && has_example(&source.text) {
            names.extend(workspace.package_of(path).map(|package| package.name.clone()));
        }
    }
    Ok(names.into_iter().collect())
}

/// Returns true if the documentation in `text` has a code fence that rustdoc takes for Rust.
fn has_example(text: &str) -> bool {
    let mut is_open = false;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(words) = line.strip_prefix("//!").or_else(|| line.strip_prefix("///")) else {
            is_open = false;
            continue;
        };
        let Some(language) = words.trim().strip_prefix("```") else { continue };
        if !is_open && (language.is_empty() || language.contains("rust") || language == "no_run") {
            return true;
        }
        is_open = !is_open;
    }
    false
}

/// Returns the violations of all text rules, sorted by position.
fn findings(workspace: &CargoWorkspace) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    layers::check(workspace, &mut findings);
    let test_files = modules::check(workspace, &mut findings);
    modules::check_stray_folders(workspace, &mut findings);
    purity::check(workspace, &test_files, &mut findings);
    style::check(workspace, &mut findings);
    documents::check(workspace, &mut findings);
    links::check(workspace, &mut findings);
    language::check(workspace, &mut findings);
    security::check(workspace, &mut findings);
    forwarding::check(workspace, &mut findings);
    version::check(workspace, &mut findings);
    walks::check(workspace, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}

/// Returns the command that runs clippy for all targets of the workspace `root`.
pub(crate) fn clippy(root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    command
}

/// Returns a command for the cargo that runs xtask, in the folder of the workspace.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Runs a command of cargo and returns true if it found nothing.
fn agrees(command: &mut Command) -> Result<bool, String> {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !status.success() {
        output::print_line(format_args!("{command:?} found something"));
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_fences_of_rust() {
        let fence =
            |language: &str| format!("/// A.\n/// ```{language}\n/// x\n/// ```\nfn f() {{}}\n");
        assert!(has_example(&fence("")) && has_example(&fence("rust,no_run")));
        assert!(!has_example(&fence("text")) && !has_example(&fence("sh")));
        let two = format!("{}{}", fence("text"), fence(""));
        assert!(has_example(&two));
    }
}
