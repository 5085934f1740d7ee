//! Rule of tidy on `docs/book/security.md`: every vulnerability of its table names tests, and these
//! exist.

use super::finding::RuleViolation;
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 1] = ["named-test"];

/// Path of the document with the table of vulnerabilities.
const DOCUMENT: &str = "docs/book/security.md";
/// Beginning of a row of the table of vulnerabilities.
const ROW: &str = "| CVE-";

/// Checks that the tests in the table of vulnerabilities exist, and adds violations to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    let text = workspace.read(DOCUMENT).unwrap_or_default();
    let sources: Vec<(&str, &str)> =
        workspace.sources.iter().map(|(path, source)| (path.as_str(), &*source.code)).collect();
    let folder = |name: &str| workspace.package(name).map(|package| package.folder.clone());
    let mut rows = 0;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with(ROW)) {
        rows += 1;
        for problem in problems(line, folder, &sources) {
            findings.push(RuleViolation::new("named-test", DOCUMENT, index + 1, problem));
        }
    }
    if rows == 0 {
        findings.push(RuleViolation::new(
            "named-test",
            DOCUMENT,
            1,
            "has no table of vulnerabilities",
        ));
    }
}

/// Returns the problems of the last cell of the table row `row`, which reads "`crate`: `test`,
/// `test`; `crate`: `test`".
fn problems(
    row: &str,
    folder: impl Fn(&str) -> Option<String>,
    sources: &[(&str, &str)],
) -> Vec<String> {
    let cell = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let mut problems = Vec::new();
    let mut count = 0;
    for part in cell.split(';') {
        let mut names = part.split('`').skip(1).step_by(2);
        let Some(package) = names.next() else { continue };
        let Some(folder) = folder(package) else {
            problems.push(format!("no crate `{package}` in the workspace"));
            continue;
        };
        for test in names {
            count += 1;
            if !exists(test, &folder, sources) {
                problems.push(format!("`{package}` has no test `{test}`"));
            }
        }
    }
    if count == 0 && problems.is_empty() {
        problems.push("the row names no test".to_owned());
    }
    problems
}

/// Returns true if a crate in `folder` has the test, or the module of tests, with the path `test`.
fn exists(test: &str, folder: &str, sources: &[(&str, &str)]) -> bool {
    let segments: Vec<&str> = test.split("::").collect();
    let Some((last, modules)) = segments.split_last() else { return false };
    let own = sources.iter().filter_map(|(path, code)| {
        let inside = path.strip_prefix(folder)?.strip_prefix('/')?;
        let segments: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
        let is_in = |module: &&str| *module == "tests" || segments.contains(module);
        modules.iter().all(is_in).then_some((segments, *code))
    });
    let function = format!("fn {last}(");
    let is_test = |code: &str| code.contains("#[test]") && code.contains(&function);
    own.into_iter().any(|(segments, code)| {
        is_test(code) || (code.contains("#[test]") && segments.contains(last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [(&str, &str); 4] = [
        ("crates/a/src/control/parse.rs", "#[test] fn deep_nesting_is_refused() {}"),
        ("crates/a/tests/fuzz/mod.rs", "#[test] fn all() {}"),
        ("crates/a/src/plain.rs", "fn no_test() {}"),
        ("crates/b/tests/other.rs", "#[test] fn elsewhere() {}"),
    ];

    fn problems_of(cell: &str) -> Vec<String> {
        let folder = |name: &str| ["a", "b"].contains(&name).then(|| format!("crates/{name}"));
        problems(&format!("| CVE-1 | x | y | {cell} |"), folder, &SOURCES)
    }

    #[test]
    fn tests_and_modules_that_exist_are_taken() {
        for cell in [
            "`a`: `control::parse::tests::deep_nesting_is_refused`",
            "`a`: `fuzz` (all of it), `fuzz::all`; `b`: `other::elsewhere`",
        ] {
            assert_eq!(problems_of(cell), Vec::<String>::new(), "{cell}");
        }
    }

    #[test]
    fn tests_that_are_nowhere_are_named() {
        for (cell, problem) in [
            ("`a`: `control::parse::tests::gone`", "`a` has no test `control::parse::tests::gone`"),
            (
                "`a`: `fuzz::deep_nesting_is_refused`",
                "`a` has no test `fuzz::deep_nesting_is_refused`",
            ),
            ("`a`: `plain::no_test`", "`a` has no test `plain::no_test`"),
            ("`a`: `other::elsewhere`", "`a` has no test `other::elsewhere`"),
            ("`c`: `x`", "no crate `c` in the workspace"),
            ("none yet", "the row names no test"),
            ("`a`", "the row names no test"),
        ] {
            assert_eq!(problems_of(cell), [problem], "{cell}");
        }
    }
}
