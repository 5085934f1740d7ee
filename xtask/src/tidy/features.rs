//! Rule of tidy on one set of features: a test of one crate is built from the same third-party
//! crates as the tests of the whole workspace, so that `cargo test -p CRATE` builds nothing again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::finding::RuleViolation;
use super::workspace::{CargoWorkspace, Package};

/// Name of the rule of this module, as findings contain it.
pub(crate) const RULE: &str = "features";
/// Path of the manifest that has to name a missing feature.
const MANIFEST: &str = "crates/test-features/Cargo.toml";

/// Returns a violation for each crate whose third-party features differ from those in the
/// workspace.
pub(crate) fn check(workspace: &CargoWorkspace) -> Result<Vec<RuleViolation>, String> {
    let root = &workspace.root;
    let all = chosen(root, &["--workspace"])?;
    let find = |package: &Package| -> Result<Vec<RuleViolation>, String> {
        let own = chosen(root, &["--package", &package.name])?;
        let message =
            |line| format!("for {} alone cargo chooses other features: {line}", package.name);
        Ok(own
            .difference(&all)
            .map(|line| RuleViolation::new(RULE, MANIFEST, 1, message(line)))
            .collect())
    };
    // Each call of cargo computes for a quarter of a second.
    let processors = thread::available_parallelism().map_or(2, usize::from);
    let part_len = workspace.packages.len().div_ceil(processors).max(1);
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = workspace
            .packages
            .chunks(part_len)
            .map(|part| scope.spawn(|| part.iter().map(find).collect::<Result<Vec<_>, _>>()))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a check ends")).collect::<Vec<_>>()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(parts.into_iter().flatten().flatten().collect())
}

/// Returns the third-party crates that cargo selects for `selection`, with their features.
fn chosen(root: &Path, selection: &[&str]) -> Result<BTreeSet<String>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .arg("tree")
        .args(selection)
        .args(["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p} [{f}]"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(third_party(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses lines of `cargo tree` like `memchr v2.8.3 [alloc,std] (*)`; crates of the workspace have
/// a path.
fn third_party(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.contains(" (/"))
        .map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", ""))
        .filter(|line| !line.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_third_parties_are_compared() {
        let text = "base v0.1.0 (/w/crates/base) []\nmemchr v2.8.3 [alloc]\n\n\
                    syn v3.0.9 [full] (*)\nserde_derive v1.0.229 (proc-macro) [default]\n";
        let expected =
            ["memchr v2.8.3 [alloc]", "serde_derive v1.0.229 [default]", "syn v3.0.9 [full]"];
        assert_eq!(third_party(text), expected.map(str::to_owned).into());
    }
}
