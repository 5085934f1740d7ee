//! Rule of tidy on the version: the changelog has a section about the workspace's version, and the
//! manual and the table of support name it.

use super::finding::RuleViolation;
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings have them.
pub(crate) const RULES: [&str; 1] = ["version"];

/// Document with a section for each version.
const CHANGELOG: &str = "CHANGELOG.md";
/// Page of the manual whose commands name packages.
const INSTALLING: &str = "docs/book/installing.md";
/// Document with the table of support.
const SECURITY: &str = "SECURITY.md";

/// Checks that the documents name the workspace's version, and adds violations to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let manifest = workspace.read("Cargo.toml").unwrap_or_default();
    // Workspaces of tests have no version.
    let Some(version) = version_of(&manifest) else { return };
    for (path, words) in named(version) {
        let text = workspace.read(path).unwrap_or_default();
        if !text.contains(&words) {
            let message = format!("does not have `{}`", words.trim_end());
            findings.push(RuleViolation::new("version", path, 1, message));
        }
    }
}

/// Returns the documents that name `version`, each with the words for it.
fn named(version: &str) -> [(&'static str, String); 4] {
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    [
        (CHANGELOG, format!("\n## {version} (")),
        (INSTALLING, format!("./godwit_{version}_amd64.deb ")),
        (INSTALLING, format!("./godwit-{version}-1.x86_64.rpm ")),
        (SECURITY, format!("the newest minor version ({minor})")),
    ]
}

/// Returns the version in the table `[workspace.package]` of a manifest.
fn version_of(manifest: &str) -> Option<&str> {
    let (_, table) = manifest.split_once("[workspace.package]\n")?;
    let table = table.split("\n[").next()?;
    let value = table.lines().find_map(|line| line.strip_prefix("version = \""))?;
    value.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[package]\nversion = \"9.9.9\"\n\n[workspace.package]\nedition = \"2024\"\n\
                        version = \"1.2.3\"\n\n[workspace.dependencies]\n";
        assert_eq!(version_of(manifest), Some("1.2.3"));
        assert_eq!(version_of("[workspace]\n[package]\nversion = \"1.2.3\"\n"), None);
    }

    #[test]
    fn documents_name_the_version() {
        let words = named("1.2.3").map(|(_, words)| words);
        assert_eq!(words[0], "\n## 1.2.3 (");
        assert_eq!(words[3], "the newest minor version (1.2)");
    }
}
