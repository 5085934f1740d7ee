//! Tests of every command after the readers of its outputs have gone: it ends as usual, never by a
//! signal, and an endless command ends by itself.

use std::fs;
use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::ports::free_port;
use crate::common::{TempFolder, configuration, configuration6, confine, waited_until};
use crate::dns_updates::updater_configuration;

/// End of a command that a row expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedEnd {
    /// Command that ends with a code.
    ByItself,
    /// Command that prints endlessly until the reader of its standard output has gone.
    WhenClosed,
    /// Command that serves until SIGTERM comes, also without readers of its outputs.
    BySigterm,
}
use ExpectedEnd::{ByItself, BySigterm, WhenClosed};

/// Command lines of every command: with output, endless, and wrong ones, which print errors.
const ROWS: &[(ExpectedEnd, &str)] = &[
    (ByItself, "lab run no-such-plan"),
    (ByItself, "lab report FOLDER/none"),
    (ByItself, "lab compare --results FOLDER"),
    (ByItself, "lab list --results FOLDER"),
    (ByItself, "lab pin --results FOLDER"),
    (ByItself, "lab trend dhcp4-quick --results FOLDER"),
    (WhenClosed, "lab serve --port 0 --results FOLDER"),
    (ByItself, "lab plans"),
    (ByItself, "lab peers"),
    (BySigterm, "lab limit --listen 127.0.0.1:0"),
    (WhenClosed, "lab distance --listen 127.0.0.1:0 --to 127.0.0.1:9 --round-trip-ms 1"),
    (ByItself, "lab attend"),
    (ByItself, "lab hold"),
    (ByItself, "lab top no-such-server"),
    (ByItself, "lab clean --no-such-flag"),
    (BySigterm, "dhcp4 -X -c CONFIG4 -p PORT"),
    (ByItself, "dhcp4 -X -t CONFIG4"),
    (ByItself, "dhcp4 -t WRONG"),
    (ByItself, "dhcp4 -c WRONG"),
    (BySigterm, "dhcp6 -X -c CONFIG6 -p PORT"),
    (ByItself, "dhcp6 -t WRONG"),
    (BySigterm, "ddns -X -c CONFIGD"),
    (ByItself, "ddns -t WRONG"),
    (ByItself, "ddns -V"),
    (ByItself, "ddns check CONFIGD"),
    (ByItself, "ddns check WRONG"),
    (ByItself, "db init sqlite -n FOLDER/none/leases"),
    (ByItself, "db upgrade sqlite -n FOLDER/none"),
    (ByItself, "db version sqlite -n FOLDER/none"),
    (ByItself, "db dump sqlite -4 -n FOLDER/none -o FOLDER/leases"),
    (ByItself, "db upload sqlite -4 -n FOLDER/none -i FOLDER/leases"),
    (ByItself, "db recount sqlite -n FOLDER/none"),
    (ByItself, "kea-lfc -v"),
    // No process listens at the port; the command's standard input is empty.
    (ByItself, "kea-shell --host 127.0.0.1 --port 9 --timeout 5 list-commands"),
    (ByItself, "kea-lfc -4 -d -p FOLDER/pid -x FOLDER/2 -i FOLDER/1 -o FOLDER/o -f FOLDER/f"),
    (ByItself, "keactrl status -c WRONG"),
    (ByItself, "keactrl -v"),
    (ByItself, "events --socket FOLDER/none"),
    (ByItself, "completions bash"),
    (ByItself, "completions no-such-shell"),
    (ByItself, "man FOLDER/manual"),
    (ByItself, "schema dhcp4"),
    (ByItself, "schema none"),
    (ByItself, "convert FOLDER/none"),
    (ByItself, "convert WRONG"),
    (ByItself, "advise CONFIG4"),
    (ByItself, "advise WRONG"),
    (ByItself, "ubench memfile --records 10 --runs 1 --verbose true"),
    (ByItself, "netem show FOLDER/none"),
    (ByItself, "netem change FOLDER/none delay 1ms"),
    (ByItself, "netem off --between none none"),
    (ByItself, "netem --between none none"),
    (ByItself, "trafgen --no-such-flag"),
    (ByItself, "trafgen -o lo FOLDER/none"),
    (WhenClosed, "ifpps lo --csv --loop -t 10"),
    (WhenClosed, "ifpps lo --json -t 10"),
    (WhenClosed, "ifpps lo -t 10"),
    (ByItself, "ifpps none"),
    (ByItself, "cpustat"),
    (ByItself, "cpustat mpstat -A"),
    (ByItself, "cpustat pidstat -p 1"),
    (WhenClosed, "cpustat 0.01"),
    (WhenClosed, "cpustat 0.01 --json"),
    (WhenClosed, "cpustat -p 1 0.01"),
    (WhenClosed, "cpustat mpstat -A 0.01"),
    (WhenClosed, "cpustat mpstat -o JSON 0.01"),
    (WhenClosed, "cpustat pidstat -p 1 0.01"),
    (WhenClosed, "dccp perf -s -p 0 --udp-port 0"),
    (WhenClosed, "dccp perf -s --udp"),
    (ByItself, "dccp perf -c 256.0.0.1"),
    (ByItself, "dccp send 256.0.0.1"),
    (ByItself, "dccp recv FOLDER/none/x"),
    (ByItself, "dccp ttcp -t 256.0.0.1"),
    (ByItself, "dccp probe FOLDER/none"),
    (WhenClosed, "dccp probe --follow PROBE"),
    (ByItself, "dccp conformance --list"),
    (ByItself, "dccp conformance --target 256.0.0.1"),
    (ByItself, "dccp regression --runs no"),
    (ByItself, "dccp fairness --time no"),
    (ByItself, "dns load -s 127.0.0.1:9 --rate 100 --duration 0.1"),
    (ByItself, "dns load -s 127.0.0.1:9 --rate 100 --queries FOLDER/none"),
    (BySigterm, "dns echo -l 127.0.0.1:0"),
    (ByItself, "dns zone --zone-like 10"),
    (ByItself, "capacity"),
    (ByItself, "capacity --measured FOLDER/none"),
    (WhenClosed, "perfdhcp -4 -r 10 -t 1 -L 0 -l 127.0.0.1 127.0.0.1"),
    (ByItself, "perfdhcp -4 -r 10 -x aeilstT -n 1 -W 0 -L 0 -l 127.0.0.1 127.0.0.1"),
    (ByItself, "perfdhcp -4"),
    (ByItself, "load dhcp4 --no-such-flag"),
    (ByItself, "load dhcp6 --no-such-flag"),
];

/// Files that command lines of [`ROWS`] name.
struct ClosedPipeFiles {
    folder: TempFolder,
    words: [(&'static str, String); 6],
}

impl ClosedPipeFiles {
    fn new() -> Self {
        let folder = TempFolder::new("closed-pipes");
        let path = |name: &str| folder.path().join(name);
        for name in ["4", "6"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("wrong"), "{ \"Dhcp4\": { \"subnet4\": 1 } }\n").unwrap();
        let probe = "0.01 10.0.0.1:1 10.0.0.2:2 1424 1000 1000 1000 1000 0.1 1000 1000\n";
        fs::write(path("probe"), probe.repeat(2_000)).unwrap();
        let shown = |path: &Path| path.to_str().unwrap().to_owned();
        let words = [
            ("CONFIG4", shown(&configuration(&path("4"), "none", 1))),
            ("CONFIG6", shown(&configuration6(&path("6"), "\"lo/::1\"", "", ""))),
            ("CONFIGD", shown(&updater_configuration(folder.path()))),
            ("WRONG", shown(&path("wrong"))),
            ("PROBE", shown(&path("probe"))),
            ("FOLDER", shown(folder.path())),
        ];
        Self { folder, words }
    }

    /// Starts the command `line` with these outputs and an empty standard input.
    fn start(&self, line: &str, stdout: Stdio, stderr: Stdio) -> Child {
        let line =
            self.words.iter().fold(line.to_owned(), |line, (name, path)| line.replace(name, path));
        let line = line.replace("PORT", &free_port().to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        confine(&mut command, self.folder.path());
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        command.spawn().unwrap()
    }
}

/// Returns a pipe without a reader.
fn closed() -> PipeWriter {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer
}

/// Returns true if the process has a handler for SIGTERM.
fn takes_sigterm(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & 1 << (15 - 1) != 0)
}

fn end_of(mut child: Child, ends: ExpectedEnd, line: &str) -> ExitStatus {
    let pid = child.id();
    let mut has_ended = || child.try_wait().unwrap().is_some();
    if ends == BySigterm {
        assert!(waited_until(|| takes_sigterm(pid) || has_ended()), "{line}");
        assert!(!has_ended(), "{line} does not serve");
        let killed = Command::new("kill").arg(pid.to_string()).status().unwrap();
        assert!(killed.success());
    }
    if !waited_until(has_ended) {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{line} runs on");
    }
    child.wait().unwrap()
}

#[test]
fn no_command_ends_by_a_signal_or_runs_on_when_nobody_reads_its_outputs() {
    let files = ClosedPipeFiles::new();
    for (ends, line) in ROWS {
        let outputs: [(Stdio, Stdio); 3] = [
            (closed().into(), closed().into()),
            (closed().into(), Stdio::null()),
            (Stdio::null(), closed().into()),
        ];
        // The last combination has an open standard output, so nothing ends an endless command.
        let count = if *ends == WhenClosed { 2 } else { 3 };
        for (stdout, stderr) in outputs.into_iter().take(count) {
            let status = end_of(files.start(line, stdout, stderr), *ends, line);
            assert_eq!(status.signal(), None, "{line}");
        }
    }
}

/// Number of bytes that a pipe of Linux holds before writers wait, pipe(7).
const PIPE_BYTES: usize = 65_536;
/// Number of the system call write(2).
const WRITE: &str = if cfg!(target_arch = "x86_64") { "1" } else { "64" };

/// Returns a pipe that is full, so that a process waits at its first output.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    writer.write_all(&[b'x'; PIPE_BYTES]).unwrap();
    (reader, writer)
}

/// Returns true if the process waits in a write to its standard output.
fn waits_at_output(pid: u32) -> bool {
    // The number of the system call, then its arguments.
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let mut words = call.split_whitespace();
    words.next() == Some(WRITE) && words.next() == Some("0x1")
}

/// Returns true if the help of the command of `line` says how signals end it.
fn is_ended_by_signals(line: &str) -> bool {
    // Words of the line that are options, or the first one's value, are left to the parser, which
    // prints the help of the command before them.
    let words = line.split_whitespace().take_while(|word| word.starts_with(char::is_lowercase));
    let output = Command::new(env!("CARGO_BIN_EXE_godwit")).args(words).arg("--help").output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    help.contains("SIGTERM") || help.contains("SIGINT")
}

#[test]
fn who_has_seen_output_of_a_command_can_end_it_in_order() {
    let files = ClosedPipeFiles::new();
    let (mut waited, mut wrong) = (0, Vec::new());
    // A check of a configuration is short, as is a version, and signals may end them.
    let is_short = |line: &str| line.contains(" -t ") || line.ends_with(" -V");
    let rows = ROWS.iter().filter(|(_, line)| is_ended_by_signals(line) && !is_short(line));
    for (ends, line) in rows {
        let (reader, writer) = full_pipe();
        let mut child = files.start(line, writer.into(), Stdio::null());
        let pid = child.id();
        let mut has_ended = || child.try_wait().unwrap().is_some();
        let has_come = || waits_at_output(pid) || takes_sigterm(pid) || has_ended();
        assert!(waited_until(has_come), "{line}");
        if waits_at_output(pid) {
            waited += 1;
            if !takes_sigterm(pid) {
                wrong.push(line);
            }
        }
        drop(reader);
        end_of(child, *ends, line);
    }
    assert!(wrong.is_empty(), "these print before they take signals: {wrong:?}");
    assert!(waited > 0);
}

/// Returns the words of the commands below `words` that have no subcommands.
fn leaves(words: &[String]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_godwit")).args(words).arg("--help").output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    let block = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let block = block.split("\n\n").next().unwrap_or_default();
    let names = block.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        line.split_whitespace().next().filter(|_| !line.starts_with(' '))
    });
    let below: Vec<String> = names
        .filter(|name| *name != "help")
        .flat_map(|name| leaves(&[words, &[name.to_owned()]].concat()))
        .collect();
    if below.is_empty() { vec![words.join(" ")] } else { below }
}

#[test]
fn every_command_has_a_row() {
    let commands = leaves(&[]);
    assert!(commands.len() > 30, "{commands:?}");
    let has_row = |command: &String| {
        ROWS.iter().any(|(_, line)| line.starts_with(&format!("{command} ")) || line == command)
    };
    let missing: Vec<_> = commands.iter().filter(|command| !has_row(command)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
