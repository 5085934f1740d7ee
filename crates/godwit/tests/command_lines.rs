//! Tests of published command lines of dnsperf, resperf, perfdhcp, trafgen, ifpps, mpstat, pidstat,
//! iperf, iperf3 and ttcp (`command_lines/lines.toml`): by the name of the tool and as a subcommand
//! each runs unchanged, or is refused with a message that says what to write. The test interrupts a
//! line that would run for long as soon as it has sent or printed something.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::common::link::{inside, ip, within};
use crate::common::namespaces::Namespaces;
use crate::common::{PATIENCE, TempFolder, is_root, require};

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");
/// Interval between two looks at the progress of a line.
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(serde::Deserialize)]
struct CommandLineCase {
    line: String,
    #[serde(rename = "from")]
    _from: String,
    /// Words of the message that refuses the line.
    refused: Option<String>,
}

#[derive(serde::Deserialize)]
struct CommandLineTable {
    addresses: Vec<String>,
    interfaces: Vec<String>,
    files: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    lines: BTreeMap<String, Vec<CommandLineCase>>,
}

fn table() -> CommandLineTable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command_lines/lines.toml");
    toml::from_str(&fs::read_to_string(path).expect("it can be read")).expect("a table of lines")
}

/// Splits `line` into words as a shell does: at blanks outside single quotes.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    let parts = quoted.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    parts.collect()
}

/// Namespace with the addresses and interfaces that command lines name, and a folder with their
/// files.
struct CommandLineSetup {
    namespace: Namespaces<1>,
    folder: TempFolder,
    lines: Vec<CommandLineCase>,
}

impl CommandLineSetup {
    /// Makes the namespace and the folder for the command lines of `tools`, with the interfaces
    /// that they name.
    fn new(tools: &[&str]) -> Option<Self> {
        if !require(&["ip"]) || !is_root() {
            return None;
        }
        let CommandLineTable { addresses, interfaces, files, mut lines } = table();
        let lines = tools.iter().filter_map(|tool| lines.remove(*tool)).flatten().collect();
        let setup = Self { namespace: Namespaces::make(), folder: TempFolder::new("lines"), lines };
        let mut batch = "link set lo up\n".to_owned();
        for address in addresses {
            let (bits, ending) = if address.contains(':') { (128, " nodad") } else { (32, "") };
            let _ = writeln!(batch, "addr add {address}/{bits} dev lo{ending}");
        }
        let is_named = |name: &&String| setup.lines.iter().any(|line| line.line.contains(&**name));
        for name in interfaces.iter().filter(is_named) {
            let _ = writeln!(batch, "link add {name} type veth peer name {name}-peer");
            for end in [name.clone(), format!("{name}-peer")] {
                let _ = writeln!(batch, "link set {end} addrgenmode none up");
            }
            if name == "eth0" {
                batch += "addr add 198.51.100.1/24 dev eth0\naddr add fe80::1/64 dev eth0 nodad\n";
            }
        }
        setup.ip_batch(&batch);
        for (kind, names) in files {
            for name in names {
                fs::write(setup.path(&name), content(&kind)).expect("the folder can be written");
            }
        }
        Some(setup)
    }

    /// Runs the commands of `batch` in the namespace by `ip -batch`.
    fn ip_batch(&self, batch: &str) {
        let file = self.path("batch");
        fs::write(&file, batch).expect("the folder can be written");
        ip(&format!("-n {} -batch {}", self.namespace[0], file.display()));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns `program` as a command in the namespace, with its output in the files `out` and
    /// `err` of the folder.
    fn command(&self, program: &Path, words: &[String], outputs: &str) -> Command {
        let mut command = inside(&self.namespace[0]);
        command.arg(program).args(words).current_dir(self.folder.path());
        let output = |name: &str| {
            File::create(self.path(&format!("{outputs}.{name}"))).expect("it can be written")
        };
        command.stdin(Stdio::null()).stdout(output("out")).stderr(output("err"));
        command
    }

    fn output(&self, name: &str) -> String {
        let octets = fs::read(self.path(name)).expect("it was created");
        String::from_utf8_lossy(&octets).into_owned()
    }

    /// Starts `godwit` with `words` as a server for the lines, and waits for its first output.
    fn serve(&self, words: &str, number: usize) -> CommandLineServer {
        let words: Vec<String> = words.split(' ').map(ToOwned::to_owned).collect();
        let name = format!("server{number}");
        let server = CommandLineServer(
            self.command(Path::new(GODWIT), &words, &name).spawn().expect("it starts"),
        );
        let began = Instant::now();
        while self.output(&format!("{name}.out")).is_empty()
            && self.output(&format!("{name}.err")).is_empty()
        {
            assert!(began.elapsed() < PATIENCE, "{words:?} says nothing");
            std::thread::sleep(LOOK_EVERY);
        }
        server
    }

    /// Returns the number of datagrams, TCP segments, or frames that the namespace has sent.
    fn sent(&self, by_frames: bool) -> u64 {
        // /proc/thread-self/net is that of the thread's namespace.
        within(&self.namespace[0], || {
            let read = |name: &str| {
                fs::read_to_string(format!("/proc/thread-self/net/{name}"))
                    .expect("procfs is there")
            };
            if by_frames {
                let numbers = read("dev");
                let of_line = |line: &str| line.split_whitespace().nth(10)?.parse::<u64>().ok();
                return numbers.lines().filter_map(of_line).sum();
            }
            counter(&read("snmp"), "Udp:", "OutDatagrams")
                + counter(&read("snmp"), "Tcp:", "OutSegs")
                + read("snmp6")
                    .lines()
                    .filter_map(|line| line.strip_prefix("Udp6OutDatagrams"))
                    .filter_map(|number| number.trim().parse::<u64>().ok())
                    .sum::<u64>()
        })
    }
}

/// Returns the number under `name` in the lines of `/proc/net/snmp` that begin with `group`.
fn counter(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, numbers) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let at = names.split_whitespace().position(|found| found == name).expect("it is counted");
    numbers.split_whitespace().nth(at).and_then(|number| number.parse().ok()).expect("a number")
}

fn content(kind: &str) -> Vec<u8> {
    match kind {
        "queries" => b"www.example.com A\nexample.net MX\n".to_vec(),
        "messages" => {
            let message = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x07example\0\0\x01\0\x01";
            [&(message.len() as u16).to_be_bytes()[..], message].concat()
        }
        "macs" => b"00:0c:01:02:03:04\n00:0c:01:02:03:05\n".to_vec(),
        _ => b"{ eth(da=00:11:22:33:44:55), ipv4(da=192.0.2.7, ttl=64), udp(dp=9), \"text\" }\n"
            .to_vec(),
    }
}

/// Process that ends with the value.
struct CommandLineServer(Child);

impl Drop for CommandLineServer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Result of a command line.
struct CommandLineResult {
    status: ExitStatus,
    out: String,
    err: String,
}

/// Sign that a command line runs and that the test may interrupt it.
#[derive(Clone, Copy)]
enum ProgressSign {
    /// Number of datagrams or segments that the line and its server have sent.
    Datagrams(u64),
    /// Number of frames that the line has sent.
    Frames(u64),
    /// Any output of the line.
    Output,
}

impl CommandLineSetup {
    /// Runs `program` with `words`, interrupts it by SIGINT after the sign, and returns its output.
    fn run(
        &self,
        program: &Path,
        words: &[String],
        stdin: &str,
        sign: ProgressSign,
    ) -> CommandLineResult {
        let mut command = self.command(program, words, "line");
        let by_frames = matches!(sign, ProgressSign::Frames(_));
        let (before, began) = (self.sent(by_frames), Instant::now());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
        // A program that reads no input closes it.
        let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
        let mut is_interrupted = false;
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "{words:?} goes on and on");
            let has_given_sign = match sign {
                ProgressSign::Output => !self.output("line.out").is_empty(),
                ProgressSign::Datagrams(count) => self.sent(false) >= before + count,
                ProgressSign::Frames(count) => self.sent(true) >= before + count,
            };
            if has_given_sign && !is_interrupted {
                let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                assert!(kill.expect("kill starts").success());
                is_interrupted = true;
            }
            std::thread::sleep(LOOK_EVERY);
        };
        CommandLineResult { status, out: self.output("line.out"), err: self.output("line.err") }
    }

    /// Runs each line by the name of its tool and as a subcommand. `has_run` returns true for the
    /// output of a line that has run.
    fn check(&self, stdin: &str, sign: ProgressSign, serve: Serve, has_run: fn(&str) -> bool) {
        let mut wrong = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let mut words = words(&line.line);
            let tool = words.remove(0);
            let link = self.path(&tool);
            if !link.exists() {
                std::os::unix::fs::symlink(GODWIT, &link).expect("the folder can be written");
            }
            let command = subcommand(&tool).iter().map(|&word| word.to_owned());
            let as_subcommand: Vec<String> = command.chain(words.iter().cloned()).collect();
            for (program, words) in [(&link, &words), (&PathBuf::from(GODWIT), &as_subcommand)] {
                let server = serve(&line.line).map(|words| self.serve(&words, number));
                let sign = if server.is_some() { ProgressSign::Datagrams(100) } else { sign };
                let CommandLineResult { status, out, err } = self.run(program, words, stdin, sign);
                let is_right = match &line.refused {
                    Some(refused) => status.code() == Some(2) && err.contains(&**refused),
                    None => [Some(0), Some(3), Some(130)].contains(&status.code()) && has_run(&out),
                };
                if !is_right {
                    let program = program.display();
                    wrong.push(format!("{program} {words:?}: {status}\n{out}\n{err}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Function that returns the command line of the server to start before a line, if any.
type Serve = fn(&str) -> Option<String>;

fn subcommand(tool: &str) -> &'static [&'static str] {
    match tool {
        "dnsperf" => &["dns", "dnsperf"],
        "resperf" => &["dns", "resperf"],
        "perfdhcp" => &["perfdhcp"],
        "trafgen" => &["trafgen"],
        "ifpps" => &["ifpps"],
        "mpstat" => &["cpustat", "mpstat"],
        "pidstat" => &["cpustat", "pidstat"],
        "iperf" | "iperf3" => &["dccp", "perf"],
        "ttcp" => &["dccp", "ttcp"],
        other => panic!("{other} has no subcommand"),
    }
}

#[test]
fn there_are_lines_of_every_tool() {
    let lines = table().lines;
    let refused = lines.values().flatten().filter(|line| line.refused.is_some()).count();
    let count = lines.values().map(Vec::len).sum::<usize>();
    assert!(count - refused >= 40, "{count} lines, {refused} are refused");
    for tool in [
        "dnsperf", "resperf", "perfdhcp", "trafgen", "ifpps", "mpstat", "pidstat", "iperf",
        "iperf3", "ttcp",
    ] {
        assert!(lines[tool].len() >= 3, "{tool}");
    }
    assert_eq!(words("a 'b c' d"), ["a", "b c", "d"]);
}

#[test]
fn lines_of_dnsperf_and_resperf_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["dnsperf", "resperf"]) else { return };
    let _servers = [53, 5353].map(|port| setup.serve(&format!("dns echo -l 0.0.0.0:{port}"), port));
    let has_run = |out: &str| {
        let completed = out.split("Queries completed:").nth(1).unwrap_or_default();
        completed.split_whitespace().next().is_some_and(|count| count != "0")
    };
    setup.check("example.com A\n", ProgressSign::Datagrams(10), |_| None, has_run);
}

#[test]
fn lines_of_perfdhcp_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["perfdhcp"]) else { return };
    let has_run = |out: &str| {
        let sent = out.lines().filter_map(|line| line.trim().strip_prefix("sent packets:"));
        sent.filter_map(|count| count.trim().parse::<u64>().ok()).sum::<u64>() > 0
    };
    setup.check("", ProgressSign::Datagrams(1), |_| None, has_run);
}

#[test]
fn lines_of_trafgen_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["trafgen"]) else { return };
    let has_run = |out: &str| {
        let before = out.split(" packets outgoing").next().unwrap_or_default();
        before.split_whitespace().last().is_some_and(|count| count != "0" && out != before)
    };
    setup.check("{ 1, 2, 3, fill(0x55, 60) }\n", ProgressSign::Frames(10), |_| None, has_run);
}

#[test]
fn lines_of_ifpps_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["ifpps"]) else { return };
    setup.check("", ProgressSign::Output, |_| None, |out| !out.is_empty());
}

#[test]
fn lines_of_mpstat_and_pidstat_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["mpstat", "pidstat"]) else { return };
    let has_run = |out: &str| {
        ["Linux ", "{\"sysstat\"", "godwit "].iter().any(|begin| out.starts_with(begin))
    };
    setup.check("", ProgressSign::Output, |_| None, has_run);
}

#[test]
fn lines_of_iperf_and_iperf3_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["iperf", "iperf3"]) else { return };
    // A client needs a server at its port.
    let serve = |line: &str| {
        let port = if line.contains("-p 5010") { " -p 5010" } else { "" };
        line.contains("-c ").then(|| format!("dccp perf -s{port}"))
    };
    let has_run = |out: &str| {
        out.starts_with("Server listening") || out.contains("sender") || out.starts_with('{')
    };
    setup.check("", ProgressSign::Output, serve, has_run);
}

#[test]
fn lines_of_ttcp_run_or_name_what_to_write() {
    let Some(setup) = CommandLineSetup::new(&["ttcp"]) else { return };
    // A transmitter needs a receiver.
    let serve = |line: &str| line.contains(" -t").then(|| "dccp ttcp -r".to_owned());
    setup.check("", ProgressSign::Output, serve, |out| out.starts_with("ttcp-"));
}
