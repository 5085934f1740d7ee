//! Processes of the binary at this end.

use std::io::{BufRead, BufReader, Read, read_to_string};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use super::machine::VirtualMachine;

/// Returns a command that runs the binary at this end.
pub(super) fn ours(machine: &VirtualMachine, words: &str) -> Command {
    let mut command = machine.here();
    command.arg(env!("CARGO_BIN_EXE_godwit")).args(words.split_whitespace());
    command
}

/// Process of the binary at this end that waits for a connection, or has one. It ends with the
/// value: a process that a failed part left would answer the packets of the next part.
pub(super) struct HostDccpProcess {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl HostDccpProcess {
    /// Starts the process and waits until it prints that it listens.
    pub(super) fn start(machine: &VirtualMachine, words: &str) -> Self {
        Self::start_until(machine, words, "istening")
    }

    /// Starts the process and waits until its standard error has a line with `word`.
    pub(super) fn start_until(machine: &VirtualMachine, words: &str, word: &str) -> Self {
        let mut receiver = Self::spawn(machine, words);
        receiver.wait_for(word);
        receiver
    }

    /// Starts a command that prints on its standard output that it listens, and waits for that.
    pub(super) fn start_listing(machine: &VirtualMachine, words: &str) -> Self {
        let mut receiver = Self::spawn(machine, words);
        let output = receiver.child.stdout.take().expect("it is piped");
        let mut lines = BufReader::with_capacity(1, output);
        let mut line = String::new();
        lines.read_line(&mut line).expect("it is text");
        assert!(line.contains("istening"), "{line}");
        receiver.child.stdout = Some(lines.into_inner());
        receiver
    }

    fn spawn(machine: &VirtualMachine, words: &str) -> Self {
        let mut command = ours(machine, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let errors = BufReader::with_capacity(1, child.stderr.take().expect("it is piped"));
        Self { child, errors }
    }

    /// Reads the process's standard error up to a line with `word`.
    pub(super) fn wait_for(&mut self, word: &str) {
        let mut output_text = String::new();
        while !output_text.lines().last().is_some_and(|line| line.contains(word)) {
            let length = self.errors.read_line(&mut output_text).expect("it is text");
            assert!(length > 0, "it ended before it said {word}: {output_text}");
        }
    }

    /// Returns the process's standard input.
    pub(super) fn input(&mut self) -> &mut impl std::io::Write {
        self.child.stdin.as_mut().expect("it is piped")
    }

    /// Sends SIGINT to the process.
    pub(super) fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        assert!(status.success(), "{status}");
    }

    /// Waits for the end of the process, and returns its exit code and its output to standard
    /// output and error.
    pub(super) fn wait(mut self) -> (ExitStatus, Vec<u8>, String) {
        drop(self.child.stdin.take());
        let mut output = Vec::new();
        self.child.stdout.take().expect("it is piped").read_to_end(&mut output).expect("a pipe");
        let errors = read_to_string(&mut self.errors).unwrap_or_default();
        (self.child.wait().expect("it was started here"), output, errors)
    }

    /// Waits for the end of the process, which must succeed, and returns its standard output.
    pub(super) fn end(self) -> Vec<u8> {
        let (status, output, errors) = self.wait();
        assert!(status.success(), "{status}: {errors}");
        output
    }

    /// Kills the process.
    pub(super) fn stop(self) {
        drop(self);
    }
}

impl Drop for HostDccpProcess {
    fn drop(&mut self) {
        // A failure means that the process has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
