//! Coordinator's link to one generator: a program that SSH starts, lines to it and from it, and its
//! error messages.
//!
//! One thread writes the orders and another one reads the answers, each line with the time at which
//! it came. The coordinator waits for a generator only when that ends, and then only a few seconds.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netio::Clock;

use super::message::{GeneratorAnswer, GeneratorOrder, line};
use crate::perfdhcp::plan::{PerfdhcpFailure, PerfdhcpResult};

/// Largest length of a line of JSON from a generator on another machine, in bytes.
const LINE_MAX: u64 = 64 << 20;
/// Number of lines of a generator's error messages that are passed on.
const LAST_LINES: usize = 4;
/// Largest number of characters shown of a generator's line.
const TEXT_CHARS_MAX: usize = 200;
/// Longest time for a generator to end after its orders have ended.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which the coordinator checks whether the generator has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Event that the coordinator gets from a generator.
#[derive(Debug)]
pub(crate) enum GeneratorEvent {
    /// The generator sent an answer, which came at this time in nanoseconds of the coordinator's
    /// monotonic clock.
    Answer(GeneratorAnswer, u64),
    /// The generator wrote a line that is no answer.
    Babbled(String),
    /// The generator has closed its output and will send nothing more.
    Ended,
}

/// Generator on another machine, with the pipes to the program that starts it.
#[derive(Debug)]
pub(crate) struct RemoteGenerator {
    host: String,
    command: String,
    child: RefCell<Child>,
    /// Queue of orders to the generator; `None` when there are no more orders.
    orders: Option<Sender<String>>,
    complaints: Arc<Mutex<VecDeque<String>>>,
    complains: JoinHandle<()>,
    /// Longest time that the generator may take to end.
    grace: Duration,
}

impl RemoteGenerator {
    /// Starts the command `words` for a generator on `host`; its events go to `events` under
    /// `index`.
    ///
    /// # Errors
    ///
    /// Fails when the program cannot be started on this machine.
    pub(crate) fn start(
        host: &str,
        words: &[String],
        index: usize,
        events: Sender<(usize, GeneratorEvent)>,
    ) -> PerfdhcpResult<Self> {
        let command = words.join(" ");
        // A group of its own: Ctrl-C reaches the coordinator alone, which ends the others in order.
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failure(host, &command, &format!("cannot be started: {error}")))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            unreachable!("all three are pipes")
        };
        let (orders, waiting) = channel();
        let complaints = Arc::new(Mutex::new(VecDeque::new()));
        let last_lines = Arc::clone(&complaints);
        std::thread::spawn(move || write(input, &waiting));
        std::thread::spawn(move || read(output, index, &events));
        let complains = std::thread::spawn(move || keep(errors, &last_lines));
        let (host, child) = (host.to_owned(), RefCell::new(child));
        Ok(Self { host, command, child, orders: Some(orders), complaints, complains, grace: GRACE })
    }

    /// Returns the name of the generator's machine, as SSH takes it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Sends an order to the generator. A generator that has ended, which an event reports, gets
    /// none.
    pub(crate) fn send_order(&self, order: &GeneratorOrder) {
        if let Some(orders) = &self.orders {
            orders.send(line(order)).ok();
        }
    }

    /// Closes the queue of orders, which makes the generator end.
    pub(crate) fn dismiss(&mut self) {
        self.orders = None;
    }

    /// Waits 5 s at most for the generator to end, and returns its exit status if it did.
    fn status(&self) -> Option<ExitStatus> {
        let status = || self.child.borrow_mut().try_wait().unwrap_or(None);
        self.wait_until(|| status().is_some());
        status()
    }

    /// Waits until `is_done` returns true, 5 s at most.
    fn wait_until(&self, is_done: impl Fn() -> bool) {
        let until = Instant::now() + self.grace;
        while !is_done() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Sets the longest time that the generator may take to end, instead of 5 s.
    #[cfg(test)]
    pub(crate) const fn set_grace(&mut self, grace: Duration) {
        self.grace = grace;
    }

    /// Returns the failure `problem` of this generator, with its command and its error messages.
    pub(crate) fn failed(&self, problem: &str) -> PerfdhcpFailure {
        failure(&self.host, &self.command, &format!("{problem}{}", self.last_error_lines()))
    }

    /// Returns the failure of a generator that ended too early, with its exit status.
    pub(crate) fn early_end_failure(&self) -> PerfdhcpFailure {
        let how = self.status().map_or_else(|| "it still runs".into(), |status| status.to_string());
        // The error messages end with the generator, unless it left a process behind that holds
        // them.
        self.wait_until(|| self.complains.is_finished());
        self.failed(&format!("ended too early ({how})"))
    }

    fn last_error_lines(&self) -> String {
        let lines = self.complaints.lock().expect("the reader of complaints does not panic");
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        if lines.is_empty() { String::new() } else { format!(": {}", lines.join(" / ")) }
    }
}

impl Drop for RemoteGenerator {
    /// Waits for the generator to end, once dismissed, and kills the program that starts it when
    /// that takes too long.
    fn drop(&mut self) {
        self.dismiss();
        if self.status().is_none() {
            let mut child = self.child.borrow_mut();
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn failure(host: &str, command: &str, problem: &str) -> PerfdhcpFailure {
    PerfdhcpFailure::Environment(format!("generator {host}: `{command}` {problem}"))
}

fn write(mut input: ChildStdin, waiting: &Receiver<String>) {
    for line in waiting {
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

/// Returns the next line of a generator's output; `None` at the end. A line that is too long comes
/// in pieces.
fn next_line(output: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let count = output.take(LINE_MAX).read_until(b'\n', &mut line)?;
    Ok((count > 0).then_some(line))
}

fn line_text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().chars().take(TEXT_CHARS_MAX).collect()
}

fn read(output: ChildStdout, index: usize, events: &Sender<(usize, GeneratorEvent)>) {
    let mut output = BufReader::new(output);
    while let Ok(Some(line)) = next_line(&mut output) {
        let now_ns = Clock::mono_ns();
        let event = match serde_json::from_slice(&line) {
            Ok(answer) => GeneratorEvent::Answer(answer, now_ns),
            Err(_) => GeneratorEvent::Babbled(line_text(&line)),
        };
        // The receiver is gone when the coordinator has given up.
        if events.send((index, event)).is_err() {
            return;
        }
    }
    events.send((index, GeneratorEvent::Ended)).ok();
}

fn keep(errors: ChildStderr, last_lines: &Mutex<VecDeque<String>>) {
    let mut errors = BufReader::new(errors);
    while let Ok(Some(line)) = next_line(&mut errors) {
        let line = line_text(&line);
        let mut last_lines = last_lines.lock().expect("whoever reads complaints does not panic");
        if !line.is_empty() {
            last_lines.push_back(line);
        }
        if last_lines.len() > LAST_LINES {
            last_lines.pop_front();
        }
    }
}
