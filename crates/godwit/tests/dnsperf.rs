//! Tests of a link called `dnsperf` as a user sees it: its lines are those of Debian's dnsperf.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{TempFolder, require};
use crate::dns::DnsEchoProcess;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Runs the link `dnsperf` to this program with `words`.
fn linked(folder: &Path, words: &[&str]) -> Output {
    let link = folder.join("dnsperf");
    if !link.exists() {
        std::os::unix::fs::symlink(GODWIT, &link).expect("the folder can be written");
    }
    Command::new(link).args(words).stdin(Stdio::null()).output().expect("the link starts")
}

#[test]
fn a_link_called_dnsperf_takes_its_words_and_prints_its_lines() {
    let echo = DnsEchoProcess::start(&[]);
    let port = echo.address.rsplit(':').next().expect("a port").to_owned();
    let folder = TempFolder::new("dnsperf");
    let file = folder.path().join("queries");
    fs::write(&file, "a.example A\nb.example AAAA\n").expect("the folder can be written");
    let file = file.to_str().expect("a plain path");
    let words = ["-s", "127.0.0.1", "-p", &port, "-d", file, "-n", "50", "-t", "300"];
    let shape = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("Started at"));
        lines.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    let ours = linked(folder.path(), &words);
    let text = String::from_utf8_lossy(&ours.stdout).into_owned();
    assert!(ours.status.success(), "{ours:?}");
    assert!(text.contains("  Queries sent:         100\n"), "{text}");
    assert!(text.contains("  Queries completed:    100 (100.00%)\n"), "{text}");
    assert!(text.contains("  Response codes:       NOERROR 100 (100.00%)\n"), "{text}");
    assert!(text.contains("Average packet size"), "{text}");
    let tcp = [&words[..], &["-m", "tcp", "-c", "2"]].concat();
    for words in [&words[..], &tcp] {
        if !require(&["dnsperf"]) {
            break;
        }
        let ours = linked(folder.path(), words);
        let theirs = Command::new("dnsperf").args(words).output().expect("it is installed");
        let [ours, theirs] = [ours, theirs].map(|output| {
            let lines = shape(&String::from_utf8_lossy(&output.stdout)).into_iter();
            lines.filter(|line| !line.starts_with("Version")).collect::<Vec<_>>()
        });
        assert_eq!(ours, theirs);
    }
    let output = linked(folder.path(), &["-s", "127.0.0.1", "-u"]);
    assert_eq!(output.status.code(), Some(2), "updates are not sent");
}

#[test]
fn each_query_that_times_out_has_a_line_unless_those_are_suppressed() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let port = socket.local_addr().expect("it is bound").port().to_string();
    let folder = TempFolder::new("dnsperf-silence");
    let file = folder.path().join("queries");
    fs::write(&file, "a.example A\nb.example AAAA\n").expect("the folder can be written");
    let words = ["-p", &port, "-t", "0.1", "-d", file.to_str().expect("a plain path")];
    for (more, lines) in [(&[][..], 2), (&["-O", "suppress=timeout"], 0)] {
        let output = linked(folder.path(), &[&words[..], more].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let timeouts = text.matches("\n[Timeout] Query timed out: msg id ").count();
        assert_eq!(timeouts, lines, "{text}");
    }
}

#[test]
fn a_link_called_dnsperf_prints_its_intervals_while_it_runs() {
    let echo = DnsEchoProcess::start(&[]);
    let port = echo.address.rsplit(':').next().expect("a port").to_owned();
    let folder = TempFolder::new("dnsperf-intervals");
    let (file, link) = (folder.path().join("queries"), folder.path().join("dnsperf"));
    fs::write(&file, "a.example A\n").expect("the folder can be written");
    std::os::unix::fs::symlink(GODWIT, &link).expect("the folder can be written");
    // The load ends after the interrupt, otherwise after ten minutes.
    let words = ["-s", "127.0.0.1", "-p", &port, "-l", "600", "-Q", "200", "-S", "0.1", "-d"];
    let mut command = Command::new(&link);
    command.args(words).arg(&file).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the link can be run");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut rates: Vec<f64> = Vec::new();
    // The first answers may come some intervals after the first queries.
    while rates.len() < 3 || !rates.iter().any(|&rate| rate > 0.0) {
        let line = lines.next().expect("lines come while it runs").expect("a line");
        let rate = line.split_once(": ").and_then(|(at, rate)| {
            at.parse::<f64>().ok()?;
            rate.parse::<f64>().ok()
        });
        rates.extend(rate);
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("kill is there").success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line == "Statistics:"), "{rest:?}");
    assert!(child.wait().expect("it is ours").success());
}
