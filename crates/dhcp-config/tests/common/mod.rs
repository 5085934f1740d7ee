//! What the test files share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dhcp_config::{Checked, Dhcp4, IncludeResolver, Problem, parse_dhcp4};

/// Included files by name.
#[derive(Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl IncludeResolver for Files {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// `tests/data`.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The files of a folder below `tests/data` by name, in order.
pub(crate) fn folder(name: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(data().join(name)).expect("the folder is shipped");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("the folder is readable"))
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).expect("the file is text");
            (entry.file_name().into_string().expect("file names are ASCII"), text)
        })
        .collect();
    files.sort();
    assert!(files.len() > 2, "{name} has {} files", files.len());
    files
}

/// The files that the shipped configurations include.
pub(crate) fn shipped_includes() -> Files {
    let files = folder("include").into_iter();
    Files(files.map(|(name, text)| (format!("include/{name}"), text)).collect())
}

/// Parses a text that stands alone.
pub(crate) fn parse(text: &str) -> Result<Checked<Dhcp4>, Vec<Problem>> {
    parse_dhcp4("t", text, &mut shipped_includes())
}

/// A configuration that must be accepted.
pub(crate) fn accepted(text: &str) -> Checked<Dhcp4> {
    parse(text).unwrap_or_else(|problems| panic!("{text}\n{}", lines(&problems).join("\n")))
}

/// Each problem as `line:column severity message`.
pub(crate) fn lines(problems: &[Problem]) -> Vec<String> {
    let line = |p: &Problem| format!("{}:{} {} {}", p.line, p.column, p.severity.name(), p.message);
    problems.iter().map(line).collect()
}

/// All problems of a text, whether it is accepted or not.
pub(crate) fn problems(text: &str) -> Vec<Problem> {
    match parse(text) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}
