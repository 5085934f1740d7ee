//! Tests that SIGINT and SIGTERM end every DCCP command in every state, with exit code 130.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::dccp::{DccpListenerProcess, godwit};

/// Time after which a command that still runs fails the test.
const PATIENCE: Duration = Duration::from_secs(120);
const SIGNALS: [&str; 2] = ["INT", "TERM"];

/// Process that ends with the value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }
}

impl Process {
    /// Starts a command whose standard output has no reader.
    fn start(words: &[&str]) -> Self {
        let mut command = godwit(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("the binary starts"))
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
    }

    /// Stops the process by SIGSTOP. The signal may reach it after the command `kill` has ended.
    fn stop(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.0.id());
        // The state follows the name in parentheses (proc(5)).
        let are_stopped = || {
            std::fs::read_dir(&tasks).expect("it runs").flatten().all(|task| {
                let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                stat.contains(") T ")
            })
        };
        let deadline = Instant::now() + PATIENCE;
        while !are_stopped() {
            assert!(Instant::now() < deadline, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads the standard error up to a line with `word`.
    fn wait_for(&mut self, word: &str) {
        let errors = self.0.stderr.as_mut().expect("it is piped");
        let mut lines = BufReader::with_capacity(1, errors);
        loop {
            let mut line = String::new();
            let count = lines.read_line(&mut line).expect("it can be read");
            assert!(count > 0, "it ends before it says {word}");
            if line.contains(word) {
                return;
            }
        }
    }

    fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.0.try_wait().expect("it was started here") {
                Some(status) => return status,
                None => assert!(Instant::now() < deadline, "it does not end"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal, which must end the command.
    fn interrupt(mut self, signal: &str, what: &str) {
        self.signal(signal);
        assert_eq!(self.end().code(), Some(130), "SIG{signal}: {what}");
    }
}

fn receiver(words: &[&str]) -> (Process, String) {
    let DccpListenerProcess { child, port } = DccpListenerProcess::start(words, words[0] == "ttcp");
    (Process(child), port)
}

#[test]
fn while_data_flows() {
    for signal in SIGNALS {
        for (receive, send) in [
            (&["recv", "/dev/null"][..], &["send", "127.0.0.1", "/dev/zero"][..]),
            (&["ttcp", "-r"], &["ttcp", "-t", "127.0.0.1", "-n", "1000000000"]),
            // No process reads its standard output, so it waits for that.
            (&["recv"], &["send", "127.0.0.1", "/dev/zero"]),
        ] {
            for is_sender in [true, false] {
                let (server, port) = receiver(receive);
                let flags = ["--udp-port", &port, "--debug", "ccid"];
                let mut client = Process::start(&[send, &flags].concat());
                client.wait_for("cwnd");
                let (first, what) = if is_sender { (client, send) } else { (server, receive) };
                first.interrupt(signal, &format!("{what:?} while data flows"));
            }
        }
    }
}

#[test]
fn while_it_connects() {
    for signal in SIGNALS {
        for words in [
            &["send", "127.0.0.1", "/dev/zero"][..],
            &["ttcp", "-t", "127.0.0.1"],
            &["perf", "-c", "127.0.0.1"],
        ] {
            let mute = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
            let port = mute.local_addr().expect("it is bound").port().to_string();
            let flags = ["--udp-port", &port, "--connect-timeout", "600"];
            let client = Process::start(&[words, &flags].concat());
            // Its Request: the handlers are installed by then.
            mute.recv_from(&mut [0; 2_000]).expect("a Request");
            client.interrupt(signal, &format!("{words:?} while it connects"));
        }
    }
}

#[test]
fn while_it_waits() {
    for signal in SIGNALS {
        for words in [&["recv", "/dev/null"][..], &["ttcp", "-r"], &["perf", "-s"]] {
            let DccpListenerProcess { child, .. } =
                DccpListenerProcess::start(words, matches!(words[0], "ttcp" | "perf"));
            Process(child).interrupt(signal, &format!("{words:?} while it waits for a client"));
        }
        // A sender without input, and its receiver.
        for is_sender in [true, false] {
            let (server, port) = receiver(&["recv", "/dev/null"]);
            let words = ["send", "127.0.0.1", "--udp-port", &port, "--debug", "connection"];
            let mut client = Process::start(&words);
            client.wait_for("OPEN");
            let (first, other) = if is_sender { (client, server) } else { (server, client) };
            first.interrupt(signal, "while it waits for data");
            drop(other);
        }
    }
}

#[test]
fn while_it_closes() {
    for signal in SIGNALS {
        let (server, port) = receiver(&["recv", "/dev/null"]);
        let words = ["send", "127.0.0.1", "--udp-port", &port, "--debug", "connection"];
        let mut client = Process::start(&words);
        client.wait_for("OPEN");
        server.stop();
        // At the end of its input it closes, and no reply comes.
        drop(client.0.stdin.take());
        client.interrupt(signal, "send while it closes");
        drop(server);
    }
}

/// Checks that `--debug connection` prints every state from the first on.
#[test]
fn debug_tells_of_the_handshake() {
    let (_server, port) = receiver(&["recv", "/dev/null"]);
    let words = ["send", "127.0.0.1", "/dev/null", "--udp-port", &port, "--debug", "connection"];
    let output = godwit(&words).output().expect("the binary runs");
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output_text.contains("client: REQUEST\n"), "{output_text}");
}

/// Checks that a failed negotiation names the feature and the values of both ends, whether the
/// client or the server refuses.
#[test]
fn a_failed_negotiation_names_both_wishes() {
    for (server_ccid, client_ccid) in [("2", "3"), ("3", "2")] {
        for words in [&["send", "127.0.0.1", "/dev/null"][..], &["perf", "-c", "127.0.0.1"]] {
            let (_server, port) = receiver(&["recv", "/dev/null", "--ccid", server_ccid]);
            let flags = ["--udp-port", &port, "--ccid", client_ccid];
            let output = godwit(&[words, &flags].concat()).output().expect("the binary runs");
            let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{output_text}");
            let phrase = format!("this end takes {client_ccid}");
            assert!(
                output_text.contains("congestion control") && output_text.contains(&phrase),
                "{output_text}"
            );
            assert!(
                output_text.contains("the other end takes") && !output_text.contains("no answer"),
                "{output_text}"
            );
        }
    }
}
