//! Process `perf record`, which takes orders on its standard input.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::profile::Profile;
use testbed::CommandLine;

use super::{PARANOID, Perf, SamplingSettings, explain_failure, make_profile};

/// Longest time that perf may take to carry out an order: it shares a processor with a generator.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between checks whether perf has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Recording of a server by `perf record`. Dropping it ends perf and removes its data.
#[derive(Debug)]
pub struct PerfRecording {
    perf: Perf,
    sampling: SamplingSettings,
    data: PathBuf,
    child: Child,
    orders: Option<ChildStdin>,
    /// Channel with a message for each order that perf carried out; closed when perf has ended.
    acknowledgments: Receiver<()>,
    complaint: Option<JoinHandle<String>>,
    /// Time at which perf began to take samples.
    began: Option<Instant>,
}

impl PerfRecording {
    /// Starts `command`, a `perf record`, and waits until perf is attached.
    pub(super) fn start(
        command: &CommandLine,
        perf: Perf,
        sampling: SamplingSettings,
        data: PathBuf,
    ) -> Result<Self, String> {
        let mut child = command
            .clone()
            .with_prefix(&["setpriv", "--pdeathsig", "KILL", "--"])
            .to_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at the terminal is for the process that started it.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("perf cannot be started: {error}"))?;
        let (answered, obeyed) = channel();
        let answers = child.stdout.take().expect("the standard output is a pipe");
        std::thread::spawn(move || {
            for _ in BufReader::new(answers).split(b'\n').map_while(Result::ok) {
                if answered.send(()).is_err() {
                    break;
                }
            }
        });
        let mut complaints = child.stderr.take().expect("the standard error is a pipe");
        let complaint = std::thread::spawn(move || {
            let mut text = Vec::new();
            // The text up to a read error is the complaint.
            let _ = complaints.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let orders = child.stdin.take();
        let complaint = Some(complaint);
        let mut recording = Self {
            perf,
            sampling,
            data,
            child,
            orders,
            acknowledgments: obeyed,
            complaint,
            began: None,
        };
        recording.order("ping")?;
        Ok(recording)
    }

    /// Orders perf to start to take samples.
    ///
    /// # Errors
    /// perf has ended or does not obey; in one sentence.
    pub fn begin(&mut self) -> Result<(), String> {
        self.order("enable")?;
        self.began = Some(Instant::now());
        Ok(())
    }

    /// Orders perf to stop sampling, and returns the samples. Samples of a server that has ended
    /// are also included.
    ///
    /// # Errors
    /// perf has ended before it began, or does not obey; in one sentence.
    pub fn end(mut self) -> Result<UnreadSamples, String> {
        let began = self.began.ok_or("perf received no order to begin")?;
        // perf ends by itself with the last process that it is attached to.
        let is_obeyed = self.order("disable").is_ok();
        let seconds = began.elapsed().as_secs_f64();
        if is_obeyed {
            self.order("stop")?;
        }
        self.orders = None;
        match self.wait() {
            Some(status) if status.success() => Ok(UnreadSamples { recording: self, seconds }),
            Some(_) => Err(self.failure_reason()),
            None => Err("perf did not end when ordered to".to_owned()),
        }
    }

    fn order(&mut self, word: &str) -> Result<(), String> {
        let is_written = self.orders.as_mut().is_some_and(|orders| {
            orders.write_all(format!("{word}\n").as_bytes()).and_then(|()| orders.flush()).is_ok()
        });
        match self.acknowledgments.recv_timeout(PATIENCE) {
            Ok(()) if is_written => Ok(()),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "perf did not carry out the command `{word}` within {} \
                             s",
                PATIENCE.as_secs()
            )),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(self.failure_reason()),
        }
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
                _ => return None,
            }
        }
    }

    /// Returns the reason of perf's end, which perf prints at its end.
    fn failure_reason(&mut self) -> String {
        self.kill();
        let complaint = self.complaint.take().and_then(|thread| thread.join().ok());
        explain_failure(&complaint.unwrap_or_default(), &testbed::proc::read(PARANOID))
    }

    fn kill(&mut self) {
        self.orders = None;
        // perf may have ended already; either way the lab waits for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for PerfRecording {
    fn drop(&mut self) {
        self.kill();
        // Raw samples are megabytes for each second; the profile has their content.
        let _ = std::fs::remove_file(&self.data);
    }
}

/// Raw samples of `perf record` that have not been read yet.
#[derive(Debug)]
pub struct UnreadSamples {
    recording: PerfRecording,
    seconds: f64,
}

impl UnreadSamples {
    /// Reads the samples and looks up the functions, which takes about a second of a processor.
    ///
    /// # Errors
    /// perf cannot read the samples; one sentence with the reason.
    pub fn read(self) -> Result<Profile, String> {
        let PerfRecording { perf, sampling, data, .. } = &self.recording;
        Ok(make_profile(&perf.script(data)?, *sampling, self.seconds))
    }
}
