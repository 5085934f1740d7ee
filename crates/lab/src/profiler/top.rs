//! Profiler of `godwit lab top`: the functions in which a running server spends its time, by
//! repeated short profiles.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::profile::{Profile, ProfileShare, top_functions, top_objects};
use serde::Serialize;
use testbed::proc::{process_stat, process_tree, read};

use super::{Perf, SamplingSettings};
use crate::error::{LabError, LabResult};
use crate::peers::PEERS;

/// Value of the field `schema` in a [`ShortProfile`].
pub const TOP_SCHEMA: &str = "godwit.top.v1";
/// Time between checks whether the user wants the profiler to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Number of columns for the name of a function; longer names are cut.
const NAME_COLUMNS: usize = 56;

/// Running server that `godwit lab top` profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfiledServer {
    /// Name of the profiled server's program.
    pub name: String,
    /// Process id of the profiled server's topmost process.
    pub pid: u32,
}

impl ProfiledServer {
    /// Returns the running server whose process has the identifier `pid`.
    ///
    /// # Errors
    /// There is no such process.
    pub fn from_pid(pid: u32) -> LabResult<Self> {
        match process_stat(pid) {
            Some(stat) => Ok(Self { name: stat.name, pid }),
            None => Err(LabError::Usage(format!("there is no process {pid}"))),
        }
    }

    /// Returns the running server of that name: one of the lab's (`bind`, `echo`, ...), or a
    /// program's (`named`).
    ///
    /// # Errors
    /// No such server runs, or several do; the message lists these with their processes.
    pub fn find_by_name(name: &str) -> LabResult<Self> {
        let own = std::process::id();
        let matches = |words: &[String]| has_name(name, words);
        let pids: Vec<u32> = processes()
            .into_iter()
            .filter(|pid| *pid != own && matches(&command_line(*pid)))
            .collect();
        let below: Vec<u32> = pids.iter().flat_map(|&pid| process_tree(pid).split_off(1)).collect();
        let above: Vec<u32> = pids.into_iter().filter(|pid| !below.contains(pid)).collect();
        match above[..] {
            [pid] => Ok(Self { name: name.to_owned(), pid }),
            [] => Err(LabError::Usage(format!(
                "no process is called {name}; --pid selects a process by its number"
            ))),
            _ => {
                let line = |pid: &u32| format!("\n  {pid}  {}", command_line(*pid).join(" "));
                let lines: String = above.iter().map(line).collect();
                Err(LabError::Usage(format!(
                    "several processes are called {name}; choose one with --pid:{lines}"
                )))
            }
        }
    }

    fn exists(&self) -> bool {
        process_stat(self.pid).is_some()
    }
}

/// Returns the identifiers of all processes of the machine.
fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Returns the words of the command line of the process `pid`.
fn command_line(pid: u32) -> Vec<String> {
    let text = read(format!("/proc/{pid}/cmdline"));
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Returns true if `words` is the command line of the server `name`.
fn has_name(name: &str, words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    // Some daemons write more than their name into the first word.
    let program = program.split([' ', ':']).next().unwrap_or(program);
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    let begins = |with: &[&str]| {
        words.iter().skip(1).map(String::as_str).take(with.len()).eq(with.iter().copied())
    };
    match name {
        "echo" => program == "godwit" && begins(&["dns", "echo"]),
        "limit" => program == "godwit" && begins(&["lab", "limit"]),
        "godwit" => program == "godwit" && (begins(&["dhcp4"]) || begins(&["dhcp6"])),
        _ => {
            let mut peers = PEERS.iter().filter(|peer| peer.name == name);
            program == name || peers.any(|peer| peer.program == program)
        }
    }
}

/// Figures of one short profile of a server, as `godwit lab top` shows them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortProfile {
    /// Name of the JSON schema of the short profile, [`TOP_SCHEMA`].
    pub schema: &'static str,
    /// Name of the profiled server.
    pub server: String,
    /// Process id of the profiled server.
    pub pid: u32,
    /// Event at which perf took the samples; empty when the server did not run.
    pub event: String,
    /// Samples per second that perf was to take of each running thread.
    pub frequency_hz: u32,
    /// Time for which perf took samples, in seconds.
    pub seconds: f64,
    /// Number of samples that perf took of the server.
    pub samples: u64,
    /// Number of samples of the server that perf lost.
    pub lost: u64,
    /// Number of processors that the server kept busy.
    pub cpus_busy: f64,
    /// True if samples of the kernel's functions were not visible.
    pub is_user_only: bool,
    /// Functions of the server by the share of samples taken in them.
    pub functions: Vec<ProfileShare>,
    /// Programs, libraries and the kernel by the share of samples taken in them.
    pub objects: Vec<ProfileShare>,
}

impl ShortProfile {
    fn new(server: &ProfiledServer, profile: Profile, rows: usize) -> Self {
        let mut functions = top_functions(&profile.stacks);
        functions.truncate(rows);
        Self {
            schema: TOP_SCHEMA,
            server: server.name.clone(),
            pid: server.pid,
            cpus_busy: profile.cpus_busy(),
            frequency_hz: profile.frequency_hz,
            seconds: profile.seconds,
            samples: profile.samples,
            lost: profile.lost,
            is_user_only: profile.is_user_only,
            functions,
            objects: top_objects(&profile.stacks),
            event: profile.event,
        }
    }

    /// Formats the figures of the short profile as lines for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} (process {}): {:.2} processors busy; {} samples in {:.1} s, {} lost",
            self.server, self.pid, self.cpus_busy, self.samples, self.seconds, self.lost
        );
        if self.samples == 0 {
            return text + "\nThe server used no processor time.\n";
        }
        let kernel = if self.is_user_only { ", without the kernel's part" } else { "" };
        let _ = writeln!(text, "; {} at {} Hz{kernel}", self.event, self.frequency_hz);
        let objects: Vec<String> = self
            .objects
            .iter()
            .filter(|share| share.own > 0.0)
            .map(|share| format!("{} {:.1} %", share.object, share.own * 100.0))
            .collect();
        let _ = writeln!(text, "{}\n", objects.join(", "));
        let _ = writeln!(
            text,
            "{:>7} {:>7}  {:<NAME_COLUMNS$} OBJECT",
            "SELF %", "TOTAL %", "FUNCTION"
        );
        for share in &self.functions {
            let _ = writeln!(
                text,
                "{:>7.1} {:>7.1}  {:<NAME_COLUMNS$} {}",
                share.own * 100.0,
                share.total * 100.0,
                cut(&share.function),
                share.object
            );
        }
        text
    }
}

/// Cuts the name of a function to its column.
fn cut(name: &str) -> String {
    if name.chars().count() <= NAME_COLUMNS {
        return name.to_owned();
    }
    name.chars().take(NAME_COLUMNS - 1).chain(['…']).collect()
}

/// Profiler that takes short profiles of a server again and again.
#[derive(Debug)]
pub struct TopProfiler {
    perf: Perf,
    sampling: SamplingSettings,
    seconds: f64,
    rows: usize,
    data: PathBuf,
}

impl TopProfiler {
    /// Creates a profiler whose short profiles take samples for `seconds` and have at most `rows`
    /// functions.
    ///
    /// # Errors
    /// perf is not installed.
    pub fn new(sampling: SamplingSettings, seconds: f64, rows: usize) -> LabResult<Self> {
        let perf = Perf::find().map_err(LabError::Failed)?;
        let name = format!("godwit-top-{}.data", std::process::id());
        let data = std::env::temp_dir().join(name);
        Ok(Self { perf, sampling, seconds, rows, data })
    }

    /// Takes one short profile of `server`; `None` when `stop` was set meanwhile.
    ///
    /// # Errors
    /// The server has ended, or perf does not work.
    pub fn take_profile(
        &self,
        server: &ProfiledServer,
        stop: &AtomicBool,
    ) -> LabResult<Option<ShortProfile>> {
        if !server.exists() {
            return Err(LabError::Failed(format!("process {} has ended", server.pid)));
        }
        let pids = process_tree(server.pid);
        let attached = self.perf.attach(self.sampling, &pids, self.data.clone());
        let mut recording = attached.map_err(LabError::Failed)?;
        recording.begin().map_err(LabError::Failed)?;
        let until = Instant::now() + Duration::from_secs_f64(self.seconds);
        while Instant::now() < until && server.exists() && !stop.load(Ordering::Acquire) {
            std::thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
        }
        if stop.load(Ordering::Acquire) {
            return Ok(None);
        }
        let profile =
            recording.end().and_then(super::UnreadSamples::read).map_err(LabError::Failed)?;
        Ok(Some(ShortProfile::new(server, profile, self.rows)))
    }
}

#[cfg(test)]
mod tests {
    use measure::plan::ProfilePlan;

    use super::*;
    use crate::profiler::make_profile;

    #[test]
    fn servers_are_known_by_the_labs_names_and_by_their_programs() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        for (name, line) in [
            ("bind", "/usr/sbin/named -g -c x"),
            ("named", "/usr/sbin/named -g"),
            ("kea", "kea-dhcp6 -c x"),
            ("nsd", "nsd:\u{20}server 1"),
            ("echo", "/a/godwit dns echo --threads 1"),
            ("limit", "godwit lab limit --listen x"),
            ("godwit", "./godwit dhcp6 -c x"),
            ("sleep", "sleep 5"),
        ] {
            assert!(has_name(name, &words(line)), "{name}: {line}");
        }
        for (name, line) in [
            ("echo", "/bin/echo dns echo"),
            ("godwit", "godwit lab top godwit"),
            ("named", "vi named"),
            ("bind", ""),
        ] {
            assert!(!has_name(name, &words(line)), "{name}: {line}");
        }
        assert!(!has_name("sleep", &[]));
    }

    #[test]
    fn a_name_finds_its_process_or_tells_several_apart() {
        // No other test on this machine has this name.
        let program = &*format!("godwit-top-{}", std::process::id());
        let start = || {
            use std::os::unix::process::CommandExt;
            std::process::Command::new("sleep").arg0(program).arg("1000").spawn().unwrap()
        };
        let mut first = start();
        let pid_of = |name| ProfiledServer::find_by_name(name).map(|server| server.pid);
        let alone = (0..1_000).find_map(|_| {
            std::thread::yield_now();
            pid_of(program).ok()
        });
        let mut second = start();
        let several = (0..1_000).find_map(|_| {
            std::thread::yield_now();
            pid_of(program).err()
        });
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(alone, Some(first.id()));
        let message = several.unwrap().to_string();
        assert!(
            message.contains(
                "several processes are \
                              called"
            ) && message.contains(&second.id().to_string()),
            "{message}"
        );
        assert!(pid_of("godwit-no-such-server").unwrap_err().to_string().contains("--pid"));
        assert_eq!(ProfiledServer::from_pid(u32::MAX).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_look_shows_shares_and_cuts_long_names() {
        let server = ProfiledServer { name: "echo".to_owned(), pid: 7 };
        let long = "f".repeat(80);
        let text = format!("e 1 cycles:u: \n\t 12 {long} (/b)\n\ne 1 cycles:u: \n\t 13 g (/c)\n\n");
        let profile = make_profile(&text, SamplingSettings::from(&ProfilePlan::default()), 1.0);
        let look = ShortProfile::new(&server, profile, 1);
        let text = look.text();
        assert!(text.starts_with(
            "echo (process 7): 0.00 processors busy; 2 samples in 1.0 s, 0 lost; cycles at 997 Hz, \
             without the kernel's part\nb 50.0 %, c 50.0 %\n"
        ), "{text}");
        let row = text.lines().last().unwrap();
        assert!(row.starts_with("   50.0    50.0  ffff") && row.ends_with("fff… b"), "{row}");
        let idle = make_profile("", SamplingSettings::from(&ProfilePlan::default()), 1.0);
        assert!(ShortProfile::new(&server, idle, 1).text().contains("used no processor time."));
    }
}
