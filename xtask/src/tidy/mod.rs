//! `cargo xtask tidy`: the rules of the house that the compiler does not know.
//!
//! Each rule module names its rules, so that a run can say how many held. A finding is one line
//! `file:line: rule: message`. The text rules take a fraction of a second; the features that cargo
//! chooses, `cargo fmt --check` and `cargo clippy` follow unless `--fast` is given.

mod documents;
mod features;
mod finding;
mod language;
mod layers;
mod modules;
mod purity;
mod security;
mod source;
mod style;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use finding::Finding;
use workspace::Layer;
pub(crate) use workspace::{Package, Workspace};

/// How many rules held and how many did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Rules without a finding.
    pub(crate) passed: usize,
    /// Rules with at least one.
    pub(crate) failed: usize,
}

impl Verdict {
    fn count(&mut self, is_kept: bool) {
        self.passed += usize::from(is_kept);
        self.failed += usize::from(!is_kept);
    }
}

/// How much of the workspace is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The rules that need only the texts.
    Texts,
    /// Also what cargo says of features and format, but nothing that compiles.
    Cargo,
    /// Also clippy.
    All,
}

/// Checks the workspace at `root` and prints what breaks a rule.
///
/// # Errors
///
/// When the workspace cannot be read.
pub(crate) fn run(root: &Path, extent: Extent) -> Result<Verdict, String> {
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
        &language::RULES,
        &security::RULES,
    ]
    .concat();
    let mut verdict = Verdict { passed: rules.len() - broken.len(), failed: broken.len() };
    if extent == Extent::Texts {
        return Ok(verdict);
    }
    let findings = features::check(&workspace)?;
    findings.iter().for_each(|finding| println!("{finding}"));
    verdict.count(findings.is_empty());
    verdict.count(agrees(cargo(root).args(["fmt", "--all", "--check"]))?);
    if extent == Extent::All {
        verdict.count(agrees(&mut clippy(root))?);
    }
    Ok(verdict)
}

/// Prints how many places break each rule of plain language, and the places of `rule`. True when
/// there is none.
///
/// # Errors
///
/// When the workspace cannot be read, or there is no such rule.
pub(crate) fn language(root: &Path, rule: Option<&str>) -> Result<bool, String> {
    language::report(&Workspace::load(root)?, rule)
}

/// A crate as a suite of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CrateSuite {
    /// Name of the crate.
    pub(crate) name: String,
    /// Folder of the crate.
    pub(crate) folder: PathBuf,
    /// Parts that its integration program runs in.
    pub(crate) split: Split,
}

/// Parts in which an integration program runs, each a job of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// All tests together: crates below layer 3, which only compute.
    Whole,
    /// The tests of a module together: crates with real sockets, files and databases.
    ByModule,
    /// Each test alone: the binary, whose tests start servers and wait for them.
    ByTest,
}

/// Returns all crates, from the lowest layer up.
pub(crate) fn crates_from_below(root: &Path) -> Result<Vec<CrateSuite>, String> {
    let mut packages = Workspace::packages_of(root)?;
    packages.sort_by_key(|package| package.layer.clone().ok());
    let suites = packages.into_iter().map(|package| CrateSuite {
        folder: root.join(&package.folder),
        split: match package.layer {
            _ if package.name == layers::BINARY => Split::ByTest,
            Ok(layer) if layer >= Layer::Number(3) => Split::ByModule,
            _ => Split::Whole,
        },
        name: package.name,
    });
    Ok(suites.collect())
}

/// Returns the names of the crates with examples in their documentation, which rustdoc would run:
/// fences without the name of another language.
pub(crate) fn crates_with_examples(root: &Path) -> Result<Vec<String>, String> {
    let workspace = Workspace::load(root)?;
    let mut names = BTreeSet::new();
    for (path, source) in &workspace.sources {
        if path.contains("/src/") && has_example(&source.text) {
            names.extend(workspace.package_of(path).map(|package| package.name.clone()));
        }
    }
    Ok(names.into_iter().collect())
}

/// Returns whether the documentation in `text` has a fence that rustdoc takes for Rust.
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

/// Everything that the text rules have to say, sorted by place.
fn findings(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    layers::check(workspace, &mut findings);
    let test_files = modules::check(workspace, &mut findings);
    modules::check_stray_folders(workspace, &mut findings);
    purity::check(workspace, &test_files, &mut findings);
    style::check(workspace, &mut findings);
    documents::check(workspace, &mut findings);
    language::check(workspace, &mut findings);
    security::check(workspace, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}

/// Returns the command that runs clippy for all targets.
pub(crate) fn clippy(root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    command
}

/// Returns the cargo that runs this program, in the workspace.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Returns whether a command of cargo found nothing.
fn agrees(command: &mut Command) -> Result<bool, String> {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !status.success() {
        println!("{command:?} found something");
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
