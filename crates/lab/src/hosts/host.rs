//! Connection to another machine: a copy of the lab that SSH starts there and keeps for the run,
//! orders to it and answers from it, and the commands that run a program there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base::{Offset, RoundTrip};
use measure::plan::HostsPlan;
use netio::Clock;
use testbed::{CommandLine, TopologySide};

use super::message::{Copy, Hello, RemoteAnswer, RemoteOrder};
use crate::error::{LabError, LabResult};

/// Longest time that SSH and the other machine may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time that the copy of the lab on the other machine may take to end.
const GRACE: Duration = Duration::from_secs(60);
/// Time between checks whether the copy of the lab on the other machine has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Number of requests for the other machine's monotonic time, one after another, to find the offset
/// of its clock.
const PINGS: usize = 16;

/// Part of a measurement on another machine: the server or a generator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemotePart {
    pub(crate) side: TopologySide,
    /// Address at which the part of the measurement receives datagrams.
    pub(crate) address: SocketAddr,
    /// Processor of the other machine that runs the part.
    pub(crate) cpu: usize,
    /// Time between two samples of the other machine, in milliseconds.
    pub(crate) interval_ms: u32,
}

/// Connection to another machine that takes part in a measurement.
#[derive(Debug)]
pub(crate) struct RemoteHost {
    /// Name of the other machine for SSH.
    name: String,
    /// Words of the SSH command before the machine's name.
    ssh: Vec<String>,
    /// Path of the program `godwit` on the other machine.
    godwit: String,
    /// Paths of this machine that the lab translates in texts: the result folder and this program.
    local_paths: (PathBuf, PathBuf),
    hello: Hello,
    clock: Offset,
    session: RemoteSession,
}

/// Session with the lab's copy on another machine.
#[derive(Debug)]
struct RemoteSession {
    child: Child,
    /// Pipe for orders to the lab's copy; taken when there are no more orders.
    orders: Option<ChildStdin>,
    /// Lines of answers from the lab's copy with the times at which they arrived, in nanoseconds.
    answers: Receiver<(String, u64)>,
    complaints: PathBuf,
}

impl RemoteSession {
    fn answer(&self) -> Result<(RemoteAnswer, u64), String> {
        let (line, at_ns) = match self.answers.recv_timeout(PATIENCE) {
            Ok(line_and_time) => line_and_time,
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("sent nothing within {} s", PATIENCE.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err("ended".to_owned()),
        };
        match serde_json::from_str(&line) {
            Ok(RemoteAnswer::Failed(problem)) => Err(problem),
            Ok(answer) => Ok((answer, at_ns)),
            Err(_) => Err(format!("wrote `{line}`, which is not an answer of godwit")),
        }
    }

    fn send_order(&mut self, order: &RemoteOrder) -> Result<(RemoteAnswer, u64), String> {
        let line = serde_json::to_string(order).expect("orders are plain data");
        let orders = self.orders.as_mut().expect("it is open until the value goes");
        // A copy that has ended is detected by the missing answer.
        let _ = writeln!(orders, "{line}").and_then(|()| orders.flush());
        self.answer()
    }

    /// Returns the last line of the error output of the SSH command.
    fn last_error_line(&self) -> String {
        let text = fs::read_to_string(&self.complaints).unwrap_or_default();
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        last.map(|line| format!(": {}", line.trim())).unwrap_or_default()
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        self.orders = None;
        let until = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RemoteHost {
    /// Connects to the machine `name`. Paths in `folder`, the result folder, and `godwit`, this
    /// program, are translated for it.
    ///
    /// # Errors
    /// The machine cannot be reached, or has no program `godwit` of this version.
    pub(crate) fn open(
        name: &str,
        plan: &HostsPlan,
        folder: &Path,
        godwit: &Path,
    ) -> LabResult<Self> {
        let ssh: Vec<String> = plan.ssh.split_whitespace().map(str::to_owned).collect();
        let there = CommandLine::new(plan.godwit.clone()).args(["lab", "attend"]).to_string();
        let words: Vec<&str> = ssh.iter().map(String::as_str).chain([name, &there]).collect();
        let failed = |problem: &str| {
            LabError::Failed(format!("host {name}: `{}` {problem}", words.join(" ")))
        };
        let (Some(program), arguments) = (words.first(), &words[1..]) else {
            return Err(LabError::Usage("`hosts.ssh` names no program".to_owned()));
        };
        let file = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let complaints = folder.join(format!("host-{file}.err"));
        let errors = fs::File::create(&complaints)
            .map_err(|e| LabError::cannot(format!("create {}", complaints.display()), e))?;
        // The child has a process group of its own: Ctrl-C reaches the lab alone, which ends the
        // others in order.
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|e| failed(&format!("cannot be started: {e}")))?;
        let (orders, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output.expect("it is a pipe")).lines().map_while(Result::ok)
            {
                if sender.send((line, Clock::mono_ns())).is_err() {
                    return;
                }
            }
        });
        let mut session = RemoteSession { child, orders, answers, complaints };
        let wrong = |session: &RemoteSession, problem: &str| {
            failed(&format!("{problem}{}", session.last_error_line()))
        };
        let hello = match session.answer() {
            Ok((RemoteAnswer::Hello(hello), _)) => hello,
            Ok(_) => return Err(wrong(&session, "did not send its version")),
            Err(problem) => return Err(wrong(&session, &problem)),
        };
        let own = env!("CARGO_PKG_VERSION");
        if hello.version != own {
            let problem = format!(
                "is version {}, but that of this machine is {own}; both must have the same version",
                hello.version
            );
            return Err(wrong(&session, &problem));
        }
        let clock = clock(&mut session).map_err(|problem| wrong(&session, &problem))?;
        let here = (folder.to_owned(), godwit.to_owned());
        let name = name.to_owned();
        Ok(Self {
            name,
            ssh,
            godwit: plan.godwit.clone(),
            local_paths: here,
            hello,
            clock,
            session,
        })
    }

    /// Returns the other machine's name for SSH.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the offset of the other machine's monotonic clock from this machine's.
    pub(crate) const fn clock(&self) -> Offset {
        self.clock
    }

    /// Returns the processors that may be used on the other machine, at least one.
    pub(crate) fn processors(&self) -> &[usize] {
        &self.hello.processors
    }

    /// Returns the name of the other machine's interface that has `address`.
    pub(crate) fn interface_of(&self, address: IpAddr) -> LabResult<&str> {
        let has_it = |(_, own): &&(String, Vec<IpAddr>)| own.contains(&address);
        let name = self.hello.interfaces.iter().find(has_it).map(|(name, _)| name.as_str());
        name.ok_or_else(|| {
            LabError::Failed(format!(
                "host {}: none of its interfaces has the address \
                                      {address}",
                self.name
            ))
        })
    }

    /// Translates paths of this machine in `text` to those of the other machine.
    fn with_remote_paths(&self, text: &str) -> String {
        let (folder, godwit) =
            (self.local_paths.0.to_string_lossy(), self.local_paths.1.to_string_lossy());
        text.replace(&*folder, &self.hello.folder).replace(&*godwit, &self.godwit)
    }

    /// Copies the files of `folder`, which is in the result folder, to the other machine, and
    /// replaces the content of its copy.
    pub(crate) fn copy_to_remote(&mut self, folder: &Path) -> LabResult<()> {
        let there = self.with_remote_paths(&folder.to_string_lossy());
        self.carry_out(&RemoteOrder::Clear(there.clone()))?;
        let entries = fs::read_dir(folder)
            .map_err(|e| LabError::cannot(format!("read {}", folder.display()), e))?;
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            let text = fs::read_to_string(&path)
                .map_err(|e| LabError::cannot(format!("read {}", path.display()), e))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let copy =
                Copy { path: format!("{there}/{name}"), text: self.with_remote_paths(&text) };
            self.carry_out(&RemoteOrder::Put(copy))?;
        }
        Ok(())
    }

    /// Copies the files of the other machine's copy of `folder` to this machine.
    pub(crate) fn copy_from_remote(&mut self, folder: &Path) -> LabResult<()> {
        let there = self.with_remote_paths(&folder.to_string_lossy());
        match self.session.send_order(&RemoteOrder::Get(there)) {
            Ok((RemoteAnswer::Files(files), _)) => {
                for Copy { path, text } in files {
                    let path = folder.join(Path::new(&path).file_name().unwrap_or_default());
                    fs::write(&path, text)
                        .map_err(|e| LabError::cannot(format!("write {}", path.display()), e))?;
                }
                Ok(())
            }
            Ok(_) => Err(self.host_error("sent an answer to another request")),
            Err(problem) => Err(self.host_error(&problem)),
        }
    }

    /// Returns the command that runs `inner` on the other machine as `part`, its paths translated,
    /// as long as the command's input is open, with its files in the copy of `folder`.
    pub(crate) fn command(
        &self,
        part: RemotePart,
        folder: &Path,
        inner: CommandLine,
    ) -> LabResult<CommandLine> {
        let RemotePart { side, address, cpu, interval_ms } = part;
        let side = if side == TopologySide::Server { "server" } else { "generator" };
        let hold = CommandLine::new(self.godwit.clone())
            .args(["lab", "hold", "--side", side, "--address", &address.to_string()])
            .args(["--interface", self.interface_of(address.ip())?])
            .args(["--processor", &cpu.to_string(), "--interval-ms", &interval_ms.to_string()])
            .args(["--folder", &self.with_remote_paths(&folder.to_string_lossy()), "--"]);
        let inner =
            inner.with_environment_as_words().map_words(|text| self.with_remote_paths(text));
        let hold = hold.args(inner.words().iter().map(String::as_str));
        let ssh = CommandLine::new(self.ssh[0].clone());
        Ok(ssh
            .args(self.ssh[1..].iter().map(String::as_str))
            .args([self.name.as_str(), &hold.to_string()]))
    }

    fn carry_out(&mut self, order: &RemoteOrder) -> LabResult<()> {
        match self.session.send_order(order) {
            Ok((RemoteAnswer::Done, _)) => Ok(()),
            Ok(_) => Err(self.host_error("sent an answer to another request")),
            Err(problem) => Err(self.host_error(&problem)),
        }
    }

    fn host_error(&self, problem: &str) -> LabError {
        LabError::Failed(format!("host {}: {problem}{}", self.name, self.session.last_error_line()))
    }
}

/// Measures the offset of the other machine's monotonic clock from this machine's.
fn clock(session: &mut RemoteSession) -> Result<Offset, String> {
    let mut trips = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let asked_ns = Clock::mono_ns();
        match session.send_order(&RemoteOrder::Clock)? {
            (RemoteAnswer::Clock(there_ns), answered_ns) => trips.push(RoundTrip {
                asked_ns,
                received_ns: there_ns,
                sent_ns: there_ns,
                answered_ns,
            }),
            _ => return Err("did not send its time".to_owned()),
        }
    }
    Ok(Offset::from_round_trips(&trips).expect("there were questions"))
}
