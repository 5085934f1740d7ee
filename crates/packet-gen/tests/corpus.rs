//! Tests of packet files in the manner of those that people publish: the frames of this crate
//! against those of Debian's trafgen, byte by byte. `corpus/differs.txt` states why some are not
//! equal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use packet_gen::FrameStream;
use packet_gen::language::{self, PacketParserSettings};
use testkit::TempFolder;

use crate::reference::{FRAMES, hex, theirs, trafgen};

/// Behaviour of trafgen with a file that it does not read as godwit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deviation {
    Quirk,
    Refuses,
    Hangs,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Returns trafgen's deviations, which `corpus/differs.txt` lists, by the names of the packet
/// files.
fn deviations() -> BTreeMap<String, Deviation> {
    let text = fs::read_to_string(folder().join("differs.txt")).expect("the list can be read");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut parts = line.splitn(3, ": ");
            let (name, kind) = (parts.next().expect("a name"), parts.next().expect("a kind"));
            assert!(parts.next().is_some_and(|reason| reason.len() > 10), "{line}: no reason");
            let kind = match kind {
                "quirk" => Deviation::Quirk,
                "refuses" => Deviation::Refuses,
                "hangs" => Deviation::Hangs,
                other => panic!("{line}: {other} is no deviation"),
            };
            (name.to_owned(), kind)
        })
        .collect()
}

/// Returns the texts of the packet files by their names without the ending.
fn files() -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder()).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "cfg"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a file can be read"))
        })
        .collect()
}

/// Returns true for a file that needs the preprocessor.
fn has_directives(text: &str) -> bool {
    let is_directive =
        |line: &str| ["#include", "#define", "#if"].iter().any(|word| line.starts_with(word));
    text.lines().any(is_directive)
}

fn ours(name: &str, text: &str, quirks: bool) -> Vec<String> {
    let preprocess = has_directives(text);
    let settings = PacketParserSettings { quirks, preprocess, ..PacketParserSettings::default() };
    let program = language::compile(text.as_bytes(), &settings)
        .unwrap_or_else(|problems| panic!("{name}: {}", problems[0]));
    let mut stream = FrameStream::new(&program, Some(0), program.random.clone(), false);
    (0..FRAMES).map(|_| hex(stream.frame().expect("a packet takes part"))).collect()
}

#[test]
fn each_file_becomes_what_trafgen_makes_of_it_or_states_why_not() {
    let (files, deviations) = (files(), deviations());
    assert!(files.len() >= 60, "{} files", files.len());
    for name in deviations.keys() {
        assert!(files.contains_key(name), "{name} is no file");
    }
    for (name, text) in &files {
        ours(name, text, false);
    }
    let Some(program) = trafgen() else { return };
    let temporary = TempFolder::new("corpus");
    let folder = temporary.path();
    let mut wrong = Vec::new();
    for (name, text) in &files {
        let deviation = deviations.get(name).copied();
        if deviation == Some(Deviation::Hangs) {
            continue;
        }
        let flags: &[&str] = if has_directives(text) { &["-p"] } else { &[] };
        let theirs_result = theirs(&program, folder, text, flags);
        let is_equal = |quirks| {
            theirs_result
                .as_ref()
                .is_ok_and(|theirs_result| *theirs_result == ours(name, text, quirks))
        };
        let is_as_stated = match deviation {
            None => is_equal(false),
            Some(Deviation::Quirk) => is_equal(true) && !is_equal(false),
            Some(Deviation::Refuses) => theirs_result.is_err(),
            Some(Deviation::Hangs) => true,
        };
        if !is_as_stated {
            wrong.push(format!("{name}: {deviation:?} is stated, trafgen makes {theirs_result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
