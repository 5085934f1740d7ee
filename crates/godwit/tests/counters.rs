//! `godwit ifpps` and `godwit cpustat` as a user sees them: they count every packet of a veth pair
//! in a namespace, cope with interfaces that are missing or vanish, and have the same columns and
//! figures as ifpps and mpstat. Links named mpstat and pidstat print what these tools print.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::common::namespaces::Namespaces;
use crate::common::{TempFolder, is_root, require, waited_until};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");
/// Frame of 82 bytes of a type that no station answers.
const PACKET: &str = "{ eth(da=02:00:00:00:00:05, sa=02:00:00:00:00:01, type=0x88b5), fill(7,68) }";
const COUNT: u64 = 3_001;
/// Number of lines after which a test gives up: minutes of output.
const LINES_MAX: usize = 12_000;

/// Namespace with a veth pair that carries only the test's packets.
struct CounterTestLink(Namespaces<1>);

impl CounterTestLink {
    /// Makes the link. Returns `None`, with a message, if that is not possible.
    fn new() -> Option<Self> {
        if !require(&["ip"]) || !is_root() {
            return None;
        }
        let link = Self(Namespaces::make());
        link.inside(&["sh", "-ec", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"]);
        link.inside(&["ip", "link", "add", "out0", "type", "veth", "peer", "name", "in0"]);
        for end in ["out0", "in0"] {
            link.inside(&["ip", "link", "set", end, "up"]);
        }
        Some(link)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[0]]).args(words).stdin(Stdio::null());
        command
    }

    fn inside(&self, words: &[&str]) -> String {
        let output = self.command(words).output().expect("ip starts");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("plain text")
    }

    fn send(&self) {
        let count = COUNT.to_string();
        self.inside(&[GODWIT, "trafgen", "-o", "out0", "-P", "1", "-n", &count, PACKET]);
    }
}

/// Running command whose lines the test reads.
struct CounterProcess {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl CounterProcess {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("it goes on").expect("plain text")
    }

    fn document(&mut self) -> Value {
        serde_json::from_str(&self.line()).expect("JSON")
    }

    /// Interrupts the command as a user does, and returns the rest of its lines and its output.
    fn interrupt(self) -> (Vec<String>, Output) {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        self.rest()
    }

    fn rest(self) -> (Vec<String>, Output) {
        let lines = self.lines.map(|line| line.expect("plain text")).collect();
        (lines, self.child.wait_with_output().expect("it was started here"))
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Process that is killed when the value is dropped.
struct Killed(Child);

fn godwit(words: &[&str]) -> Output {
    Command::new(GODWIT).args(words).stdin(Stdio::null()).output().expect("the binary starts")
}

fn outcome(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

fn cells(line: &str) -> Vec<u64> {
    line.split(' ').map(|cell| cell.parse().expect("a number")).collect()
}

#[test]
fn columns_count_every_packet_and_a_signal_ends_them() {
    let Some(link) = CounterTestLink::new() else { return };
    let words = [GODWIT, "ifpps", "-d", "in0", "-t", "50", "--csv", "--loop"];
    let mut running = CounterProcess::start(link.command(&words));
    let head: Vec<String> = (0..5).map(|_| running.line()).collect();
    assert_eq!(head[1], "# networking interface: in0");
    let first = cells(&running.line());
    link.send();
    let mut last = first.clone();
    for _ in 0..LINES_MAX {
        if last[6] - first[6] >= COUNT {
            break;
        }
        last = cells(&running.line());
        assert_eq!(last.len(), first.len());
    }
    let (rest, output) = running.interrupt();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let last = rest.last().map_or(last, |line| cells(line));
    // The columns rx-pkts and rx-bytes.
    assert_eq!((last[6] - first[6], last[5] - first[5]), (COUNT, COUNT * 82));
    let names = head[3].split(' ').skip(1).count();
    assert_eq!(first.len(), names, "a name for each column");
}

#[test]
fn documents_leave_no_packet_out_between_two_intervals() {
    let Some(link) = CounterTestLink::new() else { return };
    let words = [GODWIT, "ifpps", "out0", "-t", "20", "--json"];
    let mut running = CounterProcess::start(link.command(&words));
    let first = running.document();
    assert_eq!(
        (&first["schema"], &first["interface"]),
        (&"godwit.ifpps.v1".into(), &"out0".into())
    );
    link.send();
    let count = |document: &Value, key: &str| document["sent"][key].as_u64().expect("a count");
    let (mut packets, mut bytes) = (0, 0);
    for _ in 0..LINES_MAX {
        let document = running.document();
        packets += count(&document, "packets");
        bytes += count(&document, "bytes");
        let shares =
            ["usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle"];
        let sum: f64 = shares.iter().map(|share| document["all"][share].as_f64().unwrap()).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{document}");
        if packets >= COUNT {
            break;
        }
    }
    assert_eq!((packets, bytes), (COUNT, COUNT * 82));
    assert_eq!(running.interrupt().1.status.code(), Some(0));
}

#[test]
fn an_interface_that_goes_away_is_said_and_ends_with_1() {
    let Some(link) = CounterTestLink::new() else { return };
    let words = [GODWIT, "ifpps", "-d", "out0", "-t", "20", "--json", "-p"];
    let mut running = CounterProcess::start(link.command(&words));
    running.document();
    // While the command reads, the interface is promiscuous.
    let shown = link.inside(&["ip", "-d", "link", "show", "out0"]);
    assert!(shown.contains("promiscuity 1"), "{shown}");
    link.inside(&["ip", "link", "del", "out0"]);
    let (text, code) = outcome(&running.rest().1);
    assert_eq!((text.as_str(), code), ("error: interface out0 no longer exists\n", Some(1)));
}

#[test]
fn mistakes_are_one_message_each_and_end_with_2() {
    for (words, complaint) in [
        (&["ifpps", "-d", "nosuch0"][..], "error: no such interface: nosuch0; interfaces are "),
        (&["ifpps", "l", "--csv"], "error: no such interface: l; interfaces are "),
        (&["cpustat", "-p", "4294967295"], "error: there is no process 4294967295\n"),
        (
            &["cpustat", "-P", "65000", "1"],
            "error: processor 65000 is not in use; the processors in use are 0",
        ),
    ] {
        let (text, code) = outcome(&godwit(words));
        assert!(text.starts_with(complaint) && text.lines().count() == 1, "{words:?}: {text}");
        assert_eq!(code, Some(2), "{words:?}");
        assert!(!text.contains("interface") || text.contains("lo"), "{text}");
    }
}

#[test]
fn loopback_is_an_interface_and_frames_are_text_where_there_is_no_terminal() {
    let output = godwit(&["ifpps", "lo", "-t", "20", "--count", "2", "-m", "-P"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text.matches("link:yes").count(), 2, "{text}");
    for part in ["  rx: ", "line rate unknown", " sirq ", " steal ", "avg:", "med:", " mem:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\x1b'));
}

#[test]
fn the_columns_and_totals_of_ifpps_are_found_at_their_places() {
    let Some(link) = CounterTestLink::new() else { return };
    if !require(&["ifpps"]) {
        return;
    }
    link.send();
    // Repeat until both have read about the same: a machine uses and frees memory all the time.
    let mut rows = ifpps_and_ours(&link);
    let is_near = |rows: &[Vec<u64>; 2]| rows[0][19].abs_diff(rows[1][19]) < rows[1][20] / 10;
    waited_until(|| {
        rows = ifpps_and_ours(&link);
        is_near(&rows)
    });
    let [reference, ours] = &rows;
    // Totals both ways, memory and swap.
    for columns in [5..9, 13..17, 20..21, 23..24] {
        assert_eq!(reference[columns.clone()], ours[columns.clone()], "{columns:?}");
    }
    assert_eq!(ours[6], COUNT);
    // mem-used
    assert!(is_near(&rows), "{} {}", ours[19], reference[19]);
}

/// Returns the first row of ifpps and of Godwit, which have the same columns.
fn ifpps_and_ours(link: &CounterTestLink) -> [Vec<u64>; 2] {
    let words = ["ifpps", "-d", "in0", "-c", "-t", "100"];
    let [reference, ours] = [&words[..], &[&[GODWIT], &words[..]].concat()].map(|words| {
        let text = link.inside(words);
        let names = text.lines().find(|line| line.starts_with("# 1:")).expect("a head").to_owned();
        let row =
            text.lines().find(|line| !line.starts_with('#')).expect("a row").trim().to_owned();
        (names.trim().to_owned(), row)
    });
    assert!(ours.0.starts_with(&reference.0), "{}\n{}", ours.0, reference.0);
    [reference.1, ours.1].map(|row| cells(&row))
}

#[test]
fn processors_since_boot_are_as_mpstat_tells() {
    if !require(&["mpstat"]) {
        return;
    }
    // Repeat until both have read at about the same time: shares since boot change, if slowly.
    let mut tables = mpstat_and_ours();
    waited_until(|| {
        tables = mpstat_and_ours();
        are_near(&tables)
    });
    let [reference, ours] = &tables;
    assert_eq!((reference.len(), &reference[0]), (ours.len(), &ours[0]));
    for (theirs, own) in std::iter::zip(&reference[1..], &ours[1..]) {
        assert_eq!(theirs[0], own[0]);
    }
    assert!(are_near(&tables), "{reference:?}\n{ours:?}");
}

/// Table of words, row by row.
type Table = Vec<Vec<String>>;

fn mpstat_and_ours() -> [Table; 2] {
    let mpstat = Command::new("mpstat").args(["-P", "ALL"]).env("LC_ALL", "C").output();
    let reference = String::from_utf8(mpstat.expect("mpstat starts").stdout).expect("plain text");
    let ours = String::from_utf8(godwit(&["cpustat", "-P", "ALL"]).stdout).expect("plain text");
    [reference, ours].map(|text| {
        // The columns follow the time of day, which may have two words.
        let rows = text.lines().skip_while(|line| !line.contains("CPU ")).map(|line| {
            let words = line.split_whitespace().skip(1).map(str::to_owned);
            words.skip_while(|word| word.ends_with('M')).collect::<Vec<_>>()
        });
        rows.collect()
    })
}

fn are_near([reference, ours]: &[Table; 2]) -> bool {
    let cells = |table: &Table| -> Vec<f64> {
        let rows = table.iter().skip(1);
        rows.flat_map(|row| &row[1..]).map(|cell| cell.parse().expect("a share")).collect()
    };
    let (theirs, own) = (cells(reference), cells(ours));
    theirs.len() == own.len()
        && std::iter::zip(theirs, own).all(|(theirs, own)| (theirs - own).abs() < 0.1)
}

#[test]
fn a_busy_process_is_seen_and_its_end_too() {
    let mut busy = Command::new("sh");
    let mut busy = Killed(busy.args(["-c", "while :; do :; done"]).spawn().expect("sh starts"));
    let pid = busy.0.id();
    let mut command = Command::new(GODWIT);
    command.args(["cpustat", "-p", &pid.to_string(), "-P", "ALL", "0.05", "--json"]);
    let mut running = CounterProcess::start(command);
    let used = |document: &Value| document["processes"][0]["cpu_percent"].as_f64();
    let mut seen = running.document();
    for _ in 0..LINES_MAX {
        if used(&seen) > Some(0.0) {
            break;
        }
        seen = running.document();
    }
    assert!(used(&seen) > Some(0.0), "{seen}");
    assert_eq!((&seen["schema"], &seen["kind"]), (&"godwit.cpustat.v1".into(), &"interval".into()));
    assert_eq!(
        (&seen["processes"][0]["pid"], &seen["cpus"][0]["cpu"]),
        (&pid.into(), &"all".into())
    );
    let (rest, output) = running.interrupt();
    assert_eq!(output.status.code(), Some(0));
    let last: Value = serde_json::from_str(rest.last().expect("averages")).expect("JSON");
    assert_eq!((&last["kind"], last["processes"][0]["cpu"].is_null()), (&"average".into(), true));
    assert!(used(&last) > Some(0.0), "{last}");
    // With a single process, the command ends when the process ends.
    let mut command = Command::new(GODWIT);
    command.args(["cpustat", "-p", &pid.to_string(), "0.05"]);
    let mut running = CounterProcess::start(command);
    let head: Vec<String> = (0..4).map(|_| running.line()).collect();
    assert!(head[2].contains("%usr %system  %guest   %wait    %CPU   CPU  Command"), "{head:?}");
    assert!(head[3].ends_with("  sh"), "{head:?}");
    busy.0.kill().expect("it runs");
    busy.0.wait().expect("it was started here");
    let (rest, output) = running.rest();
    assert!(rest.last().expect("averages").starts_with("Average:"), "{rest:?}");
    assert_eq!(outcome(&output), ("all processes have ended\n".to_owned(), Some(0)));
}

/// Returns the outputs of Debian's `tool` and of a link with its name, for the same words.
fn theirs_and_ours(folder: &Path, tool: &str, words: &str) -> [String; 2] {
    let link = folder.join(tool);
    if !link.exists() {
        symlink(GODWIT, &link).expect("the folder can be written");
    }
    [Path::new(tool), &link].map(|program| {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).env("LC_ALL", "C").env_remove("S_TIME_FORMAT");
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        assert!(output.status.success(), "{tool} {words}: {output:?}");
        String::from_utf8(output.stdout).expect("plain text")
    })
}

/// Returns true if both texts have the same lines, apart from times of day and small differences of
/// figures.
fn are_alike([theirs, ours]: &[String; 2]) -> bool {
    let is_time = |word: &str| word.len() == 8 && word.split(':').count() == 3;
    let number = |word: &str| word.parse::<f64>().ok();
    let are_alike_words = |theirs: &str, ours: &str| match (number(theirs), number(ours)) {
        (Some(a), Some(b)) => (a - b).abs() <= 0.1 + 0.02 * a.abs(),
        _ => theirs == ours || is_time(theirs) && is_time(ours),
    };
    let are_alike_lines = |theirs: &str, ours: &str| {
        let (theirs, ours) = (theirs.split_whitespace(), ours.split_whitespace());
        theirs.clone().count() == ours.clone().count()
            && std::iter::zip(theirs, ours).all(|(a, b)| are_alike_words(a, b))
    };
    theirs.lines().count() == ours.lines().count()
        && std::iter::zip(theirs.lines(), ours.lines()).all(|(a, b)| are_alike_lines(a, b))
        && std::iter::zip(heads(theirs), heads(ours)).all(|(a, b)| a == b)
}

/// Returns the lines with names of columns, from the end of the time of day on.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    let is_head = |line: &&str| line.contains("/s") || line.contains("%usr");
    text.lines().filter(is_head).map(|line| line.get(8..).unwrap_or(line))
}

fn assert_alike(folder: &Path, tool: &str, words: &str) {
    let mut both = theirs_and_ours(folder, tool, words);
    // Repeat until both have read at about the same time.
    waited_until(|| {
        both = theirs_and_ours(folder, tool, words);
        are_alike(&both)
    });
    assert!(are_alike(&both), "{tool} {words}\n{}\n{}", both[0], both[1]);
}

#[test]
fn a_link_called_mpstat_prints_what_mpstat_prints() {
    if !require(&["mpstat"]) {
        return;
    }
    let folder = TempFolder::new("mpstat");
    for words in [
        "",
        "0",
        "-P ALL",
        "-P 0 -u --dec=1",
        "-n",
        "-N ALL -P all",
        "-I SUM -P ALL",
        "-I CPU",
        "-I SCPU",
        "-u -n -I CPU,SCPU",
    ] {
        assert_alike(folder.path(), "mpstat", words);
    }
    // With -A, mpstat shows the sum of software interrupts as that of a processor's interrupts.
    let both = theirs_and_ours(folder.path(), "mpstat", "-A");
    assert!(heads(&both[0]).eq(heads(&both[1])), "{}\n{}", both[0], both[1]);
    // Figures of an interval differ; the lines do not.
    for words in ["1 1", "-P ALL 1 1", "-P 0 -I ALL 1 1"] {
        let [theirs, ours] = theirs_and_ours(folder.path(), "mpstat", words);
        let labels = |text: &str| -> Vec<String> {
            let words = |line: &str| line.split_whitespace().skip(1).take(1).collect::<String>();
            text.lines().map(words).collect()
        };
        assert_eq!(labels(&theirs), labels(&ours), "{words}");
        assert!(heads(&theirs).eq(heads(&ours)), "{theirs}\n{ours}");
    }
}

#[test]
fn a_link_called_mpstat_prints_the_document_of_mpstat() {
    if !require(&["mpstat"]) {
        return;
    }
    let folder = TempFolder::new("mpstat-json");
    for words in ["-o JSON", "-A -o JSON", "-P ALL -o JSON 1 2"] {
        // Digits differ.
        let both = theirs_and_ours(folder.path(), "mpstat", words).map(|text| {
            text.chars().filter(|character| !character.is_ascii_digit()).collect::<String>()
        });
        assert_eq!(both[0], both[1], "{words}");
    }
}

#[test]
fn a_link_called_pidstat_prints_what_pidstat_prints() {
    if !require(&["pidstat"]) {
        return;
    }
    let folder = TempFolder::new("pidstat");
    let program = folder.path().join("idle-process");
    fs::copy("/bin/sleep", &program).expect("the folder can be written");
    let idle = Killed(Command::new(&program).arg("1000").spawn().expect("it starts"));
    let pid = idle.0.id();
    for words in [
        format!("-p {pid}"),
        format!("-p {pid} -l -u --dec=0"),
        format!("-p {pid} -urdw"),
        format!("-p {pid} -hurdwl"),
        format!("-p {pid} -t -I"),
        "-p ALL -C ^idle-process$|^none$".to_owned(),
        format!("-p {pid},4194304 -r 1 2"),
        format!("-p {pid} 1 2"),
        format!("-p {pid} -h 1 2"),
        "-C ^none$ 1 1".to_owned(),
    ] {
        assert_alike(folder.path(), "pidstat", &words);
    }
}
