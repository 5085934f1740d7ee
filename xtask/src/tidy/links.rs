//! Rule of tidy on links in Markdown: the file exists, a page has the heading, and the pages of
//! `docs`, which are a site, lead to no file outside of it. `cargo xtask book` checks the site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::finding::RuleViolation;
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings have them.
pub(crate) const RULES: [&str; 1] = ["link"];

/// Folder whose pages are the manual's site.
const SITE: &str = "docs";

/// Checks the links of all Markdown files, and adds violations to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let is_page = |path: &&String| path.ends_with(".md");
    let texts: BTreeMap<&str, String> = workspace
        .files
        .iter()
        .filter(is_page)
        .filter_map(|path| Some((path.as_str(), workspace.read(path)?)))
        .collect();
    let headings: BTreeMap<&str, BTreeSet<String>> =
        texts.iter().map(|(path, text)| (*path, headings(text))).collect();
    for (path, text) in &texts {
        for (index, line) in text.lines().enumerate() {
            for target in links(line) {
                if let Some(message) = fault(&workspace.root, &headings, path, target) {
                    findings.push(RuleViolation::new("link", *path, index + 1, message));
                }
            }
        }
    }
}

/// Returns the fault of a link to `target` in the page `path`; `None` if it has none.
fn fault(
    root: &Path,
    headings: &BTreeMap<&str, BTreeSet<String>>,
    path: &str,
    target: &str,
) -> Option<String> {
    let (file, place) = target.split_once('#').unwrap_or((target, ""));
    let found = if file.is_empty() {
        PathBuf::from(path)
    } else {
        if !root.join(path).parent()?.join(file).exists() {
            return Some(format!("link to {file}: no such file"));
        }
        resolve(path, file)
    };
    if path.starts_with(SITE) && !found.starts_with(SITE) {
        return Some(format!(
            "link to {file}, which is not in {SITE} and so not on the site: write its path"
        ));
    }
    let places = headings.get(found.to_str()?)?;
    let is_missing = !place.is_empty() && !places.contains(place);
    is_missing.then(|| format!("link to {target}: no such heading"))
}

/// Returns the path from the workspace's root of the file `file`, as the page `path` calls it.
fn resolve(path: &str, file: &str) -> PathBuf {
    let mut found = Path::new(path).parent().unwrap_or_else(|| Path::new("")).to_owned();
    for component in Path::new(file).components() {
        match component {
            Component::Normal(part) => found.push(part),
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    found
}

/// Returns the targets of `[text](target)` in a line, except addresses.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split_once(')')?.0;
        let is_address = target.contains("://") || target.starts_with("mailto:");
        (!target.is_empty() && !is_address).then_some(target)
    })
}

/// Returns the names by which links call the headings of `text`: in lower case, with a hyphen for
/// each blank, without other characters. A name that was there before gets a number.
fn headings(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let words = line.trim_start_matches('#');
        let depth = line.len() - words.len();
        if is_code || !(1..=6).contains(&depth) || !words.starts_with(' ') {
            continue;
        }
        let name = name_of(words.trim());
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// Returns the name of the heading `words`, in which a link counts as its text.
fn name_of(words: &str) -> String {
    let mut shown = String::new();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once("](") {
        shown.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let kept = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    };
    shown.to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_and_headings_are_found() {
        let line = "a [b](c.md) [d](https://e) [f](#g) [h](i/j.md#k) [l](mailto:m)";
        assert_eq!(links(line).collect::<Vec<_>>(), ["c.md", "#g", "i/j.md#k"]);
    }

    #[test]
    fn headings_have_the_names_of_links() {
        let text = "# The `a` lab\n```\n# no\n```\n## B: c, [d e](f.md)\n## B: c, d e\n#no\n";
        assert_eq!(
            headings(text).into_iter().collect::<Vec<_>>(),
            ["b-c-d-e", "b-c-d-e-1", "the-a-lab"]
        );
    }

    #[test]
    fn faults_of_links_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = BTreeSet::from(["there".to_owned()]);
        let pages = BTreeMap::from([("docs/GLOSSARY.md", names.clone()), ("README.md", names)]);
        let fault = |path, target| fault(&root, &pages, path, target).unwrap_or_default();
        assert_eq!(fault("README.md", "docs/GLOSSARY.md#there"), "");
        assert_eq!(fault("docs/book/lab.md", "../GLOSSARY.md#there"), "");
        assert_eq!(fault("README.md", "#there"), "");
        assert!(fault("README.md", "none.md").contains("no such file"));
        assert!(fault("README.md", "#none").contains("no such heading"));
        assert!(fault("docs/book/lab.md", "../GLOSSARY.md#none").contains("no such heading"));
        assert!(fault("docs/book/lab.md", "../../README.md").contains("not on the site"));
    }
}
