//! Helpers that the test files share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dhcp_config::{
    CheckedConfig, ConfigParseOptions, ConfigProblem, Dhcp4, Dhcp6, DhcpConfig, IncludeResolver,
    ReadConfig, parse_dhcp4, parse_dhcp6,
};

/// Included files by name.
#[derive(Default)]
pub(crate) struct IncludeFiles(pub(crate) BTreeMap<String, String>);

impl IncludeResolver for IncludeFiles {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// Parses a text as a server does that leaves out subnets and reservations with errors.
pub(crate) fn parse_leniently<F: ReadConfig>(
    name: &str,
    text: &str,
    files: &mut dyn IncludeResolver,
) -> Result<CheckedConfig<DhcpConfig<F>>, Vec<ConfigProblem>> {
    let options = ConfigParseOptions { is_lenient: true, ..ConfigParseOptions::default() };
    F::read_config(&options, name, text, files)
}

/// Returns the path of `tests/data`.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Returns the files of a folder below `tests/data` by name, in order.
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

/// Returns the files that the shipped configurations include.
pub(crate) fn shipped_includes() -> IncludeFiles {
    let files = folder("include").into_iter();
    IncludeFiles(files.map(|(name, text)| (format!("include/{name}"), text)).collect())
}

/// Parses a text without a file around it.
pub(crate) fn parse(text: &str) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    parse_dhcp4("t", text, &mut shipped_includes())
}

/// Parses a text of DHCPv6 without a file around it.
pub(crate) fn parse6(text: &str) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
    parse_dhcp6("t", text, &mut shipped_includes())
}

/// Returns the configuration of a text that must be accepted.
fn must<T>(text: &str, parsed: Result<CheckedConfig<T>, Vec<ConfigProblem>>) -> CheckedConfig<T> {
    parsed.unwrap_or_else(|problems| panic!("{text}\n{}", lines(&problems).join("\n")))
}

/// Returns the configuration of a text that must be accepted.
pub(crate) fn accepted(text: &str) -> CheckedConfig<Dhcp4> {
    must(text, parse(text))
}

/// Returns the configuration of a DHCPv6 text that must be accepted.
pub(crate) fn accepted6(text: &str) -> CheckedConfig<Dhcp6> {
    must(text, parse6(text))
}

/// Returns each problem as `line:column severity message`.
pub(crate) fn lines(problems: &[ConfigProblem]) -> Vec<String> {
    let line =
        |p: &ConfigProblem| format!("{}:{} {} {}", p.line, p.column, p.severity.name(), p.message);
    problems.iter().map(line).collect()
}

/// Returns all problems of a parsed text, whether it is accepted or not.
fn problems_of<T>(parsed: Result<CheckedConfig<T>, Vec<ConfigProblem>>) -> Vec<ConfigProblem> {
    match parsed {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

/// Returns all problems of a text.
pub(crate) fn problems(text: &str) -> Vec<ConfigProblem> {
    problems_of(parse(text))
}

/// Returns all problems of a text of DHCPv6.
pub(crate) fn problems6(text: &str) -> Vec<ConfigProblem> {
    problems_of(parse6(text))
}

/// Compares the problems of a text with the expected ones. Each `^` in the text marks the position
/// of one, and is removed before parsing.
pub(crate) fn check_marked(
    problems: fn(&str) -> Vec<ConfigProblem>,
    marked: &str,
    expected: &[&str],
) {
    let mut text = String::new();
    let mut positions = Vec::new();
    let (mut line, mut column) = (1, 1);
    for c in marked.chars() {
        match c {
            '^' => positions.push(format!("{line}:{column}")),
            '\n' => {
                (line, column) = (line + 1, 1);
                text.push(c);
            }
            _ => {
                column += 1;
                text.push(c);
            }
        }
    }
    assert_eq!(positions.len(), expected.len(), "as many marks as problems: {marked}");
    let expected: Vec<String> = positions
        .iter()
        .zip(expected)
        .map(|(position, message)| format!("{position} {message}"))
        .collect();
    assert_eq!(lines(&problems(&text)), expected, "{text}");
}

/// Checks a file of option vectors: the bytes that Kea sent, Godwit's bytes, and the option.
/// Returns the number of equal and of different ones.
pub(crate) fn check_vectors(vectors: &str, octets_of: fn(&str) -> String) -> (u32, u32) {
    let mut counts = (0, 0);
    let mut wrong = Vec::new();
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kea, godwit, option] = columns[..] else { panic!("{line}") };
        let expected = if godwit == "=" { kea } else { godwit };
        let octets = octets_of(option);
        if octets != expected {
            wrong.push(format!("{option}: {octets} instead of {expected}"));
        }
        if godwit == "=" { counts.0 += 1 } else { counts.1 += 1 }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    counts
}

/// Returns the bytes of an option as the vectors write them.
pub(crate) fn spelled(octets: &[u8]) -> String {
    if octets.is_empty() {
        return "empty".to_owned();
    }
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
