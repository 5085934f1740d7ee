//! Examples and manual of Debian's Kea: Godwit has to accept every configuration in them that Kea
//! itself accepts.
//!
//! The manual's snippets are parts of configurations. The test tries each as a whole document and
//! as the content of the maps and lists that it may be in; the first way in which Kea accepts it
//! counts. If `GODWIT_KEA_SOURCE` names a checkout of Kea's repository, the test reads its examples
//! and its manual's chapters instead, and without a Kea of that version every way counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{TempFolder, require};
use dhcp_config::{ConfigProblem, IncludeResolver, parse_dhcp4, parse_dhcp6};

/// Folder of Debian's kea-doc.
const DOCUMENTATION: &str = "/usr/share/doc/kea";

/// Chapters of the manual, each with the families of its snippets.
const CHAPTERS: [(&str, &[u8]); 3] =
    [("dhcp4-srv", &[4]), ("dhcp6-srv", &[6]), ("classify", &[4, 6])];

/// Ways to make a document of a text: `%` is replaced by the text, `F` by the family.
const WAYS: [&str; 11] = [
    "%",
    "{ % }",
    "{ \"DhcpF\": { % } }",
    "{ \"DhcpF\": % }",
    "{ \"DhcpF\": { \"subnetF\": [ % ] } }",
    "{ \"DhcpF\": { \"client-classes\": [ % ] } }",
    "{ \"DhcpF\": { \"option-def\": [ % ] } }",
    "{ \"DhcpF\": { \"option-data\": [ % ] } }",
    "{ \"DhcpF\": { \"reservations\": [ % ] } }",
    "{ \"DhcpF\": { \"shared-networks\": [ % ] } }",
    "{ \"DhcpF\": { \"hooks-libraries\": [ % ] } }",
];

/// Minimum of snippets of the manual that Kea 2.2 accepts. Kea selects them, so a lower number
/// shows that this has stopped working.
const SNIPPETS_AT_LEAST: usize = 150;

/// Snippets of Debian's manual that Kea 2.2 accepts and Godwit does not: their names, a part of
/// Godwit's message, and the reason. The manual's page `coming-from-kea.md` lists them too.
const REFUSED_ON_PURPOSE: [(&str, &str, &str); 2] = [
    (
        "dhcp6-srv 41",
        "excluded prefix 2001:db8:1:8000:cafe:80::/72 is not inside 2001:db8:1::/64",
        "a pool of 48 bits that is written with 64; Kea 3 refuses it and its manual writes 56 bits",
    ),
    (
        "dhcp6-srv 90",
        "prefix pool 2001:db8:1::/48 overlaps another of its subnet",
        "the same pool, which covers the subnet's pool of addresses",
    ),
];

/// Path of the manual's page that lists [`REFUSED_ON_PURPOSE`].
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/coming-from-kea.md");

struct IncludeFolder(PathBuf);

impl IncludeResolver for IncludeFolder {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        fs::read_to_string(self.0.join(path)).map_err(|cause| cause.to_string())
    }
}

/// Returns Godwit's problems with a document; `None` if it accepts the document.
fn refused(family: u8, text: &str, folder: &Path) -> Option<String> {
    let mut files = IncludeFolder(folder.to_owned());
    let problems: Vec<ConfigProblem> = match family {
        4 => parse_dhcp4("snippet", text, &mut files).err()?,
        _ => parse_dhcp6("snippet", text, &mut files).err()?,
    };
    let errors = problems.iter().filter(|p| p.severity == dhcp_config::Severity::Error);
    Some(errors.map(ToString::to_string).collect::<Vec<_>>().join("\n    "))
}

/// Returns true if Kea accepts a document.
fn kea_takes(family: u8, text: &str, folder: &TempFolder) -> bool {
    let path = folder.path().join("snippet.json");
    fs::write(&path, text).expect("the test's folder can be written");
    let mut command = Command::new(format!("kea-dhcp{family}"));
    command.env("KEA_PIDFILE_DIR", folder.path()).env("KEA_LOCKFILE_DIR", folder.path());
    command.env("KEA_LOGGER_DESTINATION", folder.path().join("log"));
    command.arg("-t").arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("Kea can be started").success()
}

/// Returns the document that one of [`WAYS`] makes of `text`.
fn document(template: &str, family: u8, text: &str) -> String {
    template.replace('F', &family.to_string()).replace('%', text)
}

/// Returns true if a refusal is one of [`REFUSED_ON_PURPOSE`], and only for that reason.
fn is_meant(chapter: &str, number: i32, reason: &str) -> bool {
    let name = format!("{chapter} {number}");
    let errors = reason.matches(": error: ").count();
    let is_this = |entry: &&(&str, &str, &str)| entry.0 == name && reason.contains(entry.1);
    errors == 1 && REFUSED_ON_PURPOSE.iter().any(|entry| is_this(&entry))
}

/// Returns the documents that a snippet may make: a member belongs into a map, a map into a list.
fn documents(family: u8, text: &str) -> Vec<String> {
    let is_member = text.starts_with('"');
    let templates =
        WAYS.iter().enumerate().filter(|(index, _)| is_member == matches!(index, 1 | 2));
    templates.map(|(_, template)| document(template, family, text)).collect()
}

/// Returns a snippet without the dots of left-out parts.
fn without_dots(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.replace("\u{2026}", "...");
        let bare = line.trim();
        if bare == "..." || bare == "...," || bare == "# ..." || bare == "// ..." {
            continue;
        }
        out += &line.replace("{ ... }", "{ }").replace("[ ... ]", "[ ]").replace("...", "");
        out.push('\n');
    }
    // Remove the commas before removed parts.
    let mut trimmed = String::with_capacity(out.len());
    for part in out.split(',') {
        if !trimmed.is_empty() && !part.trim_start().starts_with(['}', ']']) {
            trimmed.push(',');
        }
        trimmed += part;
    }
    trimmed.trim().trim_end_matches(',').to_owned()
}

/// Returns the texts of `<pre>` elements.
fn preformatted(page: &str) -> Vec<String> {
    let parts = page.split("<pre>").skip(1).filter_map(|part| part.split("</pre>").next());
    parts.map(plain).collect()
}

/// Returns a text without tags and entities.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for character in html.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            _ if !is_tag => text.push(character),
            _ => {}
        }
    }
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        text = text.replace(entity, character);
    }
    text
}

/// Returns the indented blocks after `::` and `code-block` lines of the manual's source.
fn literal_blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = line.trim_end().ends_with("::") || line.contains(".. code-block::");
        if !opens {
            continue;
        }
        let mut block = String::new();
        while let Some(next) = lines.peek() {
            let is_inside = next.trim().is_empty() || next.starts_with([' ', '\t']);
            if !is_inside {
                break;
            }
            block += next;
            block.push('\n');
            lines.next();
        }
        blocks.push(block);
    }
    blocks
}

#[test]
fn every_example_of_kea_is_taken() {
    if !require(&["kea-dhcp4", "kea-dhcp6"]) {
        return;
    }
    let root = std::env::var("GODWIT_KEA_SOURCE")
        .map_or_else(|_| PathBuf::from(DOCUMENTATION), |path| Path::new(&path).join("doc"));
    let mut faults = Vec::new();
    let mut count = 0;
    for family in [4, 6] {
        let folder = root.join(format!("examples/kea{family}"));
        let entries = fs::read_dir(&folder).expect("kea-doc is installed");
        let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
            count += 1;
            let text = fs::read_to_string(path).expect("it was just listed");
            if let Some(reason) = refused(family, &text, &folder) {
                faults.push(format!("{}:\n    {reason}", path.display()));
            }
        }
    }
    println!("{count} examples, {} refused", faults.len());
    assert!(count >= 40, "only {count} examples in {}", root.display());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_snippet_of_the_manual_is_taken() {
    if !require(&["kea-dhcp4", "kea-dhcp6"]) {
        return;
    }
    let source = std::env::var("GODWIT_KEA_SOURCE").ok();
    let folder = TempFolder::new("manual");
    let mut faults = Vec::new();
    let (mut taken, mut alone) = (0, 0);
    let mut meant = Vec::new();
    for (chapter, families) in CHAPTERS {
        let snippets = match &source {
            None => {
                let path = format!("{DOCUMENTATION}/html/arm/{chapter}.html");
                preformatted(&fs::read_to_string(path).expect("kea-doc is installed"))
            }
            Some(source) => {
                let path = format!("{source}/doc/sphinx/arm/{chapter}.rst");
                literal_blocks(&fs::read_to_string(path).expect("that is Kea's repository"))
            }
        };
        for (number, snippet) in (1..).zip(&snippets) {
            let text = without_dots(snippet);
            if !text.contains(['"', '{']) {
                continue;
            }
            for &family in families {
                let name = format!("{chapter} {number} (DHCPv{family})");
                let documents = documents(family, &text);
                let judged = match source {
                    None => documents.iter().find(|text| kea_takes(family, text, &folder)),
                    Some(_) => {
                        // The accepted document, or else the one with the fewest errors.
                        let errors = |text: &&String| {
                            let reason = refused(family, text, folder.path());
                            reason.map_or(0, |reason| reason.matches(": error: ").count())
                        };
                        documents.iter().min_by_key(errors)
                    }
                };
                let Some(text) = judged else {
                    alone += 1;
                    continue;
                };
                match refused(family, text, folder.path()) {
                    None => taken += 1,
                    Some(reason) if source.is_none() && is_meant(chapter, number, &reason) => {
                        meant.push(format!("{chapter} {number}"));
                    }
                    Some(reason) => faults.push(format!("{name}:\n    {reason}")),
                }
            }
        }
    }
    let refusals = faults.len();
    println!("{taken} snippets taken, {refusals} refused, {alone} that Kea does not take either");
    if source.is_none() {
        let named = REFUSED_ON_PURPOSE.map(|(name, ..)| name);
        assert_eq!(meant, named, "what is refused on purpose, and what was to be");
        let page = fs::read_to_string(PAGE).expect("the manual is part of the repository");
        for (name, _, reason) in REFUSED_ON_PURPOSE {
            assert!(page.contains(&format!("`{name}`")), "{PAGE} leaves out {name}: {reason}");
        }
    }
    assert!(taken + refusals >= SNIPPETS_AT_LEAST, "Kea takes {} only", taken + refusals);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
