//! Tutorials of the manual: every command of a page runs as printed, in order, in one shell, and
//! prints the lines that the page shows below it.

mod page;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use page::CodeBlock;

use crate::common::{TempFolder, is_root, require};

/// Tutorials with the programs that each needs besides Godwit.
const TUTORIALS: [(&str, &[&str]); 5] = [
    ("bottleneck", &["perf"]),
    ("dccp", &["ss"]),
    ("dns-ramp", &["knotd"]),
    ("measure", &["kea-dhcp4"]),
    ("replace-kea", &["kea-dhcp4", "curl"]),
];

const SET_UP: &str = include_str!("set_up.sh");

/// Beginning of the lines that the shell prints before each block, followed by the block's line.
const MARK: &str = "@@ block at line ";

/// Longest time of one tutorial in seconds, on a machine that other tests keep busy.
const LIMIT_S: &str = "1800";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book")
}

/// Writes the program `godwit` of the tutorial's shell to `folder`. On a busy machine a measurement
/// may fall short, and then ends with 3, which is no fault of the page.
fn write_program(folder: &Path) {
    let program = env!("CARGO_BIN_EXE_godwit");
    let script = format!(
        "#!/bin/sh\ncase \"$1 $2 $3\" in\n'lab run '* | 'dccp perf -c') '{program}' \"$@\" || \
         [ $? = 3 ] ;;\n*) exec '{program}' \"$@\" ;;\nesac\n"
    );
    let path = folder.join("godwit");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the script of the command lines among `blocks`.
fn script(blocks: &[CodeBlock]) -> String {
    let is_command = |block: &&CodeBlock| block.language == "sh";
    let marked = |block: &CodeBlock| format!("echo '{MARK}{}'\n{}", block.line, block.text);
    blocks.iter().filter(is_command).map(marked).collect()
}

/// Returns the part of `printed` that the block at `line` printed.
fn printed_by(line: usize, printed: &str) -> &str {
    let mark = format!("{MARK}{line}\n");
    let part = printed.split_once(&mark).map_or("", |(_, rest)| rest);
    part.split(MARK).next().unwrap_or_default()
}

/// Runs the commands of the tutorial `name`, and compares what they print with the page.
fn plays(name: &str) {
    let tools = TUTORIALS.iter().find(|(known, _)| *known == name).expect("it is listed").1;
    if !is_root() || !require(&["bash", "ip", "unshare"]) || !require(tools) {
        return;
    }
    let text = fs::read_to_string(folder().join(format!("tutorial-{name}.md"))).unwrap();
    let blocks = page::blocks(&text);
    let folder = TempFolder::open_to_others("tutorial");
    let at = folder.path();
    let programs = at.join("programs");
    fs::create_dir(&programs).unwrap();
    write_program(&programs);
    let commands = at.join("commands");
    fs::write(&commands, script(&blocks)).unwrap();
    let log = at.join("log");
    let output = fs::File::create(&log).unwrap();
    let mut shell = Command::new("timeout");
    shell
        .args(["--kill-after=60", LIMIT_S, "unshare", "--net", "--mount", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "sh", "-euc", SET_UP, "tutorial"])
        .args([&programs, at, &commands])
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output);
    let status = shell.status().expect("timeout runs");
    let printed = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let last = printed.rsplit(MARK).next().unwrap_or_default();
    assert!(status.success(), "tutorial-{name}.md: {status}; the block at line {last}");
    for pair in blocks.windows(2) {
        let [command, shown] = pair else { continue };
        if command.language != "sh" || shown.language != "text" {
            continue;
        }
        let part = printed_by(command.line, &printed);
        let missing = page::missing_line(&shown.text, part);
        let line = shown.line;
        assert_eq!(missing, None, "tutorial-{name}.md:{line}: not printed in:\n{part}");
    }
}

#[test]
fn every_tutorial_is_tested_and_listed() {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_prefix("tutorial-").and_then(|name| name.strip_suffix(".md"));
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    assert_eq!(names, TUTORIALS.map(|(name, _)| name));
    let summary = fs::read_to_string(folder().join("../SUMMARY.md")).unwrap();
    for name in names {
        assert!(summary.contains(&format!("(book/tutorial-{name}.md)")), "{name}");
    }
}

#[test]
fn the_tutorial_about_bottlenecks_plays() {
    plays("bottleneck");
}

#[test]
fn the_tutorial_about_dccp_plays() {
    plays("dccp");
}

#[test]
fn the_tutorial_about_a_dns_ramp_plays() {
    plays("dns-ramp");
}

#[test]
fn the_tutorial_about_measuring_plays() {
    plays("measure");
}

#[test]
fn the_tutorial_about_replacing_kea_plays() {
    plays("replace-kea");
}
