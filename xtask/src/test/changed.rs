//! Selection of tests by changes: `cargo xtask test --changed [REV]` runs the suites that a change
//! can break.
//!
//! These are the crates with a changed file, and all that depend on them, also only for their
//! tests. A file outside of crates concerns the crates whose sources name its folder (`docs/`,
//! `conformance/`), a file of the workspace itself all of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tidy::{CargoWorkspace, Package};

/// Returns the names of the crates whose tests a change since `revision` can break.
pub(crate) fn suites(root: &Path, revision: &str) -> Result<BTreeSet<String>, String> {
    let differing = git(root, &["diff", "--name-only", revision])?;
    let untracked = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    let files: Vec<&str> = differing.lines().chain(untracked.lines()).collect();
    Ok(concerned(&CargoWorkspace::load(root)?, &files))
}

/// Returns the names of the crates whose tests a change of `files` can break.
fn concerned(workspace: &CargoWorkspace, files: &[&str]) -> BTreeSet<String> {
    let packages = &workspace.packages;
    let mut names: BTreeSet<String> = BTreeSet::new();
    for file in files {
        if let Some(package) = workspace.package_of(file) {
            names.insert(package.name.clone());
        } else if let Some((folder, _)) = file.split_once('/') {
            let name = format!("{folder}/");
            let readers = workspace.sources.values().filter(|source| source.text.contains(&name));
            names.extend(
                readers
                    .filter_map(|source| workspace.package_of(&source.path))
                    .map(|package| package.name.clone()),
            );
        } else if !file.ends_with(".md") {
            names.extend(packages.iter().map(|package| package.name.clone()));
        }
    }
    loop {
        let depends = |package: &&Package| {
            !names.contains(&package.name)
                && package.dependencies.iter().any(|other| names.contains(&other.name))
        };
        let more: Vec<String> =
            packages.iter().filter(depends).map(|package| package.name.clone()).collect();
        if more.is_empty() {
            return names;
        }
        names.extend(more);
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let words = arguments.join(" ");
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("git {words}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_the_crate_and_all_that_depend_on_it() {
        let workspace = CargoWorkspace::load(crate::workspace_root()).unwrap();
        let concerned = |file: &str| concerned(&workspace, &[file]);
        assert_eq!(concerned("README.md").len(), 0);
        assert_eq!(concerned("Cargo.lock").len(), workspace.packages.len());
        let engine = concerned("crates/dhcp-engine/src/lib.rs");
        assert!(["dhcp-engine", "dhcp-server", "godwit"].iter().all(|&name| engine.contains(name)));
        assert!(!engine.contains("dccp") && !engine.contains("base"), "{engine:?}");
        assert!(concerned("docs/book/lab.md").contains("godwit"));
        assert_eq!(concerned("xtask/src/main.rs"), BTreeSet::from(["xtask".to_owned()]));
    }
}
