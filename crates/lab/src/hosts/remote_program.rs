//! Program of a measurement on another machine: it runs as long as the lab that started it is
//! connected, and is sampled meanwhile.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::time::NS_PER_S;
use measure::record::MachineSample;
use netio::Clock;
use testbed::process::pin_self;
use testbed::topology::allowed_cpus;
use testbed::{ChildProcess, CommandLine, SamplerTarget, TopologySide, sampler};

use crate::error::{LabError, LabResult};
use crate::samples::SampleConverter;

/// Longest time that the program on another machine may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(60);
/// Number of the last lines of the program's error output that are passed on.
const LAST_LINES: usize = 3;
/// Base of the exit code that is reported when a signal ended the program, as shells do.
const SIGNALLED: u8 = 128;
/// Name of the files with the program's standard output and error output.
pub(super) const PROGRAM: &str = "program";

/// Program that is run on another machine, with the settings of its sampling.
#[derive(Clone, Debug)]
pub struct RemoteProgram {
    /// Side of the measurement that the program is, the server or the generator.
    pub side: TopologySide,
    /// Address at which the program receives datagrams.
    pub address: SocketAddr,
    /// Name of the interface that has the program's address.
    pub interface: String,
    /// Processors of the machine that are sampled.
    pub cpus: Vec<usize>,
    /// Interval between samples of the program's processors and memory.
    pub interval: Duration,
    /// Folder in which the program runs, created if it does not exist.
    pub folder: PathBuf,
    /// Words of the program's command line: its name and its arguments.
    pub words: Vec<String>,
}

/// Runs `remote_program` until it ends or `input` does, and writes samples to `output`, one a line,
/// whose times are those of the monotonic clock. Returns the code with which the program ended, 128
/// plus the signal's number for a signal, as shells do.
///
/// # Errors
/// The program cannot be started.
pub fn run_program(
    remote_program: &RemoteProgram,
    input: impl Read + Send + 'static,
    mut output: impl Write,
) -> LabResult<u8> {
    let (Some(program), folder) = (remote_program.words.first(), &remote_program.folder) else {
        return Err(LabError::Usage("a program to run is missing".to_owned()));
    };
    std::fs::create_dir_all(folder)
        .map_err(|e| LabError::cannot(format!("create {}", folder.display()), e))?;
    // The sampler leaves the program's processor alone.
    let free = allowed_cpus().into_iter().find(|cpu| !remote_program.cpus.contains(cpu));
    let _pinned = free.map(pin_self).transpose()?;
    let command = CommandLine::new(program)
        .args(remote_program.words[1..].iter().map(String::as_str))
        .with_prefix(&[
            "taskset",
            "-c",
            &remote_program.cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        ]);
    let mut process = ChildProcess::start(&command, PROGRAM, folder)?;
    let (pid, interface) = (process.pid(), remote_program.interface.clone());
    let target =
        SamplerTarget { pid, address: remote_program.address, interface, helpers: Vec::new() };
    let is_over = end_flag(input);
    let origin = (Instant::now(), Clock::mono_ns());
    let read = || sampler::read(origin.0, &remote_program.cpus, std::slice::from_ref(&target));
    let mut sampling = SampleConverter::new(read(), remote_program.side == TopologySide::Server);
    let mut ended = None;
    while ended.is_none() && !is_over.load(Ordering::Acquire) {
        let next = Instant::now() + remote_program.interval;
        let waited = process.wait(|| Instant::now() >= next || is_over.load(Ordering::Acquire));
        ended = waited.map_err(|e| LabError::cannot("wait for the program", e))?;
        let mut sample = sampling.next(&read());
        sample.at_s += origin.1 as f64 / NS_PER_S as f64;
        if write(&mut output, &sample).is_err() {
            break;
        }
    }
    let ended = ended.or_else(|| process.stop(GRACE));
    let words = process.last_error_lines(LAST_LINES);
    if !words.is_empty() {
        netio::stderr::print_line(&words);
    }
    Ok(ended.map_or(SIGNALLED, code))
}

/// Returns the exit code of a program that ended, as shells report it.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| i32::from(SIGNALLED) + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(SIGNALLED)
}

fn write(output: &mut impl Write, sample: &MachineSample) -> io::Result<()> {
    let line = serde_json::to_string(sample)?;
    writeln!(output, "{line}")?;
    output.flush()
}

/// Returns a flag that is set when `input`, the connection to the lab, has ended.
fn end_flag(mut input: impl Read + Send + 'static) -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let mut scratch = [0; 64];
        while matches!(input.read(&mut scratch), Ok(1..)) {}
        flag.store(true, Ordering::Release);
    });
    is_over
}
