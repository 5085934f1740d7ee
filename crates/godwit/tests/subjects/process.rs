//! Server behind sockets on loopback: Godwit or Kea, started alike.
//!
//! Both reply to the source of a message if `KEA_TEST_SEND_RESPONSES_TO_SOURCE` is set, so one
//! socket plays every relay agent.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scenario::{Scenario, ScenarioFamily, ScenarioServer, ScenarioServerError};

use testbed::Debian13;
use testbed::debian::{LEASES, LOGS, SCRIPTS, SOCKETS};

use super::document;
use crate::common::ports::has_unread;
use crate::common::{PATIENCE, TempFolder, free_port, waited_at_most, waited_until};

/// Time after which a message is sent again to Kea, as clients do: while Kea loads a new
/// configuration, it has no socket for a moment. Godwit gets no message twice, since all are
/// counted.
const RETRANSMISSION: Duration = Duration::from_secs(20);
/// Time without a reply that counts as silence. A later reply is told from the next one by its
/// transaction id, and fails nothing: on a machine that was delayed for so long it only makes a
/// false silence look true.
const SILENCE: Duration = Duration::from_millis(250);
/// Maximum time that a server may take to read messages that get no reply.
const TAKING: Duration = Duration::from_secs(60);

/// Make of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerMake {
    Godwit,
    /// Kea 2.2 of Debian 12.
    Kea,
    /// Kea 3.0 of Debian 13.
    Kea3,
}

impl ServerMake {
    /// Returns true for any version of Kea.
    pub(crate) const fn is_kea(self) -> bool {
        matches!(self, Self::Kea | Self::Kea3)
    }
}

/// Inputs to the start of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) family: ScenarioFamily,
    /// Map inside `Dhcp4` or `Dhcp6`, without interfaces, lease database and loggers.
    pub(crate) config: &'a str,
    /// True if the server has a control socket.
    pub(crate) has_commands: bool,
    /// True if the server writes a lease file.
    pub(crate) persists: bool,
    /// Link on which the server serves clients without relay agents, at DHCP's own ports; `None`
    /// for relay agents on loopback.
    pub(crate) link: Option<ServedLink<'a>>,
}

/// Interfaces on which a server serves clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedLink<'a> {
    /// Name of the network namespace.
    pub(crate) namespace: &'a str,
    /// Interfaces in the namespace, as a JSON list without brackets.
    pub(crate) interfaces: &'a str,
    /// True if a DHCPv4 server opens packet sockets, false if it opens UDP sockets.
    pub(crate) has_raw_sockets: bool,
}

impl<'a> Setup<'a> {
    /// Returns the setup that `scenario` needs.
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        Self {
            family: scenario.family,
            config: &scenario.config,
            has_commands: scenario.has_commands(),
            persists: true,
            link: None,
        }
    }
}

/// Server with a configuration of its own.
pub(crate) struct Daemon {
    make: ServerMake,
    pub(crate) family: ScenarioFamily,
    /// Command that starts the process, also again.
    command: Command,
    child: Child,
    folder: TempFolder,
    socket: UdpSocket,
    server: (IpAddr, u16),
    further: String,
    /// Maximum time for an expected reply.
    answer_limit: Duration,
}

impl Daemon {
    /// Starts `make` with `setup`. `number` distinguishes its folder, and an expected reply may
    /// take as long as `answer_limit`.
    pub(crate) fn start(
        make: ServerMake,
        setup: Setup<'_>,
        number: usize,
        answer_limit: Duration,
    ) -> Result<Self, String> {
        let label = format!("scenario-{make:?}-{number}").to_lowercase();
        Self::start_in(TempFolder::new(&label), make, setup, answer_limit)
    }

    /// Starts `make` with `setup` in a folder that may have files already, such as leases.
    pub(crate) fn start_in(
        folder: TempFolder,
        make: ServerMake,
        setup: Setup<'_>,
        answer_limit: Duration,
    ) -> Result<Self, String> {
        Self::start_with_clients(folder, make, setup, answer_limit, 0)
    }

    /// Starts `make` like [`Self::start_in`]; the server sends its replies to the port
    /// `client_port` of another program, or for 0 to this value's own socket.
    pub(crate) fn start_with_clients(
        folder: TempFolder,
        make: ServerMake,
        setup: Setup<'_>,
        answer_limit: Duration,
        client_port: u16,
    ) -> Result<Self, String> {
        let (address, interface): (IpAddr, _) = match setup.family {
            ScenarioFamily::V4 => (Ipv4Addr::LOCALHOST.into(), "lo/127.0.0.1"),
            ScenarioFamily::V6 => (Ipv6Addr::LOCALHOST.into(), "lo/::1"),
        };
        let paths = ServerPaths::of(make, &folder);
        let further = members(make, &paths, setup, interface);
        let config = setup.config.replace(SOCKETS_MARK, &paths.sockets.display().to_string());
        let config = with_scripts(make, folder.path(), &config);
        let text = document(setup.family, &config, &further);
        let credentials = folder.path().join(CREDENTIALS);
        fs::write(credentials, "user:password").map_err(|error| error.to_string())?;
        let text = with_libraries(make, text);
        fs::write(folder.path().join(CONFIGURATION), text).map_err(|error| error.to_string())?;
        let socket = UdpSocket::bind((address, 0)).map_err(|error| error.to_string())?;
        let own_port = match client_port {
            0 => socket.local_addr().map_err(|error| error.to_string())?.port(),
            port => port,
        };
        let port = free_port();
        let mut command = program(make, setup.family, &folder)?;
        if let Some(link) = setup.link {
            command = in_namespace(&command, link.namespace);
        } else {
            command.args(["-p", &port.to_string(), "-P", &own_port.to_string()]);
            command.env("KEA_TEST_SEND_RESPONSES_TO_SOURCE", "1");
        }
        let child = spawn(&mut command, folder.path()).map_err(|error| error.to_string())?;
        let (family, server) = (setup.family, (address, port));
        let mut daemon =
            Self { make, family, command, child, folder, socket, server, further, answer_limit };
        daemon.wait_until_serving(1)?;
        Ok(daemon)
    }

    /// Returns the port to which the server sends its replies, for another program; this value's
    /// own socket no longer uses it.
    pub(crate) fn give_up_client_port(&mut self) -> u16 {
        let port = self.ports()[1];
        self.socket = UdpSocket::bind((self.server.0, 0)).expect("loopback has ports");
        port
    }

    /// Kills the server at once. It can be started again with [`ScenarioServer::restart`].
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server was started here");
        self.child.wait().expect("the server was started here");
    }

    /// Sets environment variables with which the server starts from now on.
    pub(crate) fn set_environment(&mut self, variables: &[(&str, &Path)]) {
        self.command.envs(variables.iter().copied());
    }

    /// Returns the folder with everything that the server writes.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the ports of the server and of the socket that sends messages to it.
    pub(crate) fn ports(&self) -> [u16; 2] {
        let own = self.socket.local_addr().map_or(0, |address| address.port());
        [self.server.1, own]
    }

    /// Sends `messages` and then `last`, whose reply is the one for which `is_last` returns true.
    /// Returns all replies before that one, which a server with one thread sends after those to
    /// `messages`.
    pub(crate) fn exchange_all(
        &self,
        messages: &[Vec<u8>],
        last: &[u8],
        is_last: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError> {
        let error_text = |error: std::io::Error| error.to_string();
        for message in messages.iter().map(Vec::as_slice).chain([last]) {
            self.socket.send_to(message, self.server).map_err(error_text)?;
        }
        self.socket.set_read_timeout(Some(self.answer_limit)).map_err(error_text)?;
        let mut replies = Vec::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let len = self.socket.recv(&mut buffer).map_err(|e| format!("no last answer: {e}"))?;
            if is_last(&buffer[..len]) {
                return Ok(replies);
            }
            replies.push(buffer[..len].to_vec());
        }
    }

    /// Waits until the log reports the start with the number `start`, from 1 on.
    fn wait_until_serving(&mut self, start: usize) -> Result<(), String> {
        let mark = self.mark_of_start();
        let mut has_ended = false;
        let has_come = waited_until(|| {
            has_ended = matches!(self.child.try_wait(), Ok(Some(_)));
            has_ended || self.log().matches(mark).count() >= start
        });
        if has_come && !has_ended {
            return Ok(());
        }
        let log = self.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("ERROR")).collect();
        Err(format!("it does not start: {}", if lines.is_empty() { log } else { lines.join(" ") }))
    }

    /// Returns words that the log has once for each start.
    const fn mark_of_start(&self) -> &'static str {
        match self.make {
            ServerMake::Godwit => "serving",
            ServerMake::Kea | ServerMake::Kea3 => "_STARTED ",
        }
    }

    /// Returns the server's standard error and its log.
    pub(crate) fn log(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("stderr") + &read("kea.log")
    }

    /// Ends the server by SIGTERM and waits for its end.
    pub(crate) fn end(&mut self) -> Result<(), ScenarioServerError> {
        let error_text = |error: std::io::Error| error.to_string();
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().map_err(error_text)?;
        self.child.wait().map_err(error_text)?;
        Ok(())
    }

    /// Returns a text that states if the process runs, for the message of a failure.
    pub(crate) fn state(&mut self) -> String {
        match self.child.try_wait() {
            Ok(None) => "it runs".to_owned(),
            Ok(Some(status)) => format!("it has ended: {status}"),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) fn control_path(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    /// Returns the number of configurations that the server has loaded.
    fn reloads(&self) -> usize {
        let mark = match self.make {
            ServerMake::Godwit => "reloaded",
            ServerMake::Kea => "CONFIG_COMPLETE",
            // Between the two lines the sockets are opened anew, so that a message may be lost.
            ServerMake::Kea3 => "DYNAMIC_RECONFIGURATION_SUCCESS",
        };
        self.log().matches(mark).count()
    }
}

/// Replaces the plain names of hook libraries, which newer versions of Kea accept, by paths, which
/// Debian's needs.
fn with_libraries(make: ServerMake, text: String) -> String {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().filter_map(Result::ok);
    let hooks = folders.map(|entry| entry.path().join("kea/hooks")).find(|path| path.is_dir());
    match (make, hooks) {
        (ServerMake::Kea, Some(folder)) => {
            text.replace("\"libdhcp_", &format!("\"{}/libdhcp_", folder.display()))
        }
        _ => text,
    }
}

/// Replaces [`SCRIPTS_MARK`] in `config` by the path at which the server sees the folder of
/// scripts.
fn with_scripts(make: ServerMake, folder: &Path, config: &str) -> String {
    let scripts = match make {
        ServerMake::Kea3 => PathBuf::from(SCRIPTS),
        ServerMake::Godwit | ServerMake::Kea => folder.join("scripts"),
    };
    config.replace(SCRIPTS_MARK, &scripts.display().to_string())
}

/// Mark in a configuration that is replaced by the folder of scripts.
const SCRIPTS_MARK: &str = "@scripts@";
/// Mark in a configuration that is replaced by the folder of control sockets.
pub(crate) const SOCKETS_MARK: &str = "@sockets@";
/// Name of a file in that folder with the user `user` and the password `password`.
pub(crate) const CREDENTIALS: &str = "credentials";

/// Name of the configuration in the server's folder.
const CONFIGURATION: &str = "server.conf";

/// Starts `command` and appends its standard error to the file for it.
fn spawn(command: &mut Command, folder: &Path) -> std::io::Result<Child> {
    let log = fs::File::options().create(true).append(true).open(folder.join("stderr"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
}

/// Returns the command that starts a server with the configuration in `folder`.
fn program(
    make: ServerMake,
    family: ScenarioFamily,
    folder: &TempFolder,
) -> Result<Command, String> {
    let name = match family {
        ScenarioFamily::V4 => "dhcp4",
        ScenarioFamily::V6 => "dhcp6",
    };
    let path = folder.path();
    if make == ServerMake::Kea3 {
        let debian = Debian13::find().ok_or("there is no root folder of Debian 13")?;
        let mut command = debian.command(path, &format!("kea-{name}")).to_command();
        command.arg("-c").arg(Path::new(LEASES).join(CONFIGURATION));
        return Ok(command);
    }
    let mut command = Command::new(format!("kea-{name}"));
    if make == ServerMake::Godwit {
        command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.arg(name);
    }
    command.arg("-c").arg(path.join(CONFIGURATION));
    crate::common::confine(&mut command, path);
    Ok(command)
}

/// Returns the command that runs `command` in `namespace`.
fn in_namespace(command: &Command, namespace: &str) -> Command {
    let mut inside = crate::common::link::inside(namespace);
    inside.arg(command.get_program()).args(command.get_args());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    inside.envs(variables);
    inside
}

/// Paths at which a server sees its folder: unchanged, or in Kea 3's root folder at the folder for
/// each kind of file.
struct ServerPaths {
    leases: PathBuf,
    sockets: PathBuf,
    logs: PathBuf,
}

impl ServerPaths {
    fn of(make: ServerMake, folder: &TempFolder) -> Self {
        let path = folder.path();
        let [leases, sockets, logs] = if make == ServerMake::Kea3 {
            [LEASES, SOCKETS, LOGS].map(PathBuf::from)
        } else {
            [path, path, path].map(Path::to_owned)
        };
        Self { leases, sockets, logs }
    }
}

/// Returns the members that the subject adds to the scenario's configuration.
fn members(make: ServerMake, paths: &ServerPaths, setup: Setup<'_>, interface: &str) -> String {
    let ServerPaths { leases, sockets, logs } = paths;
    let (leases, sockets, logs) = (leases.display(), sockets.display(), logs.display());
    let interfaces =
        setup.link.map_or_else(|| format!("\"{interface}\""), |link| link.interfaces.to_owned());
    let mut members = format!(
        r#""interfaces-config": {{ "interfaces": [ {interfaces} ] {} }},"#,
        match setup.family {
            ScenarioFamily::V4 if setup.link.is_some_and(|link| link.has_raw_sockets) =>
                r#", "dhcp-socket-type": "raw""#,
            ScenarioFamily::V4 => r#", "dhcp-socket-type": "udp""#,
            ScenarioFamily::V6 => "",
        },
    );
    if !setup.config.contains("\"lease-database\"") {
        members += &format!(
            r#""lease-database": {{ "type": "memfile", "name": "{leases}/leases.csv",
                                    "lfc-interval": 0, "persist": {} }},"#,
            setup.persists,
        );
    }
    if !setup.config.contains("\"loggers\"") {
        let name = match setup.family {
            ScenarioFamily::V4 => "kea-dhcp4",
            ScenarioFamily::V6 => "kea-dhcp6",
        };
        members += &format!(
            r#""loggers": [ {{ "name": "{name}", "severity": "INFO",
                               "output_options": [ {{ "output": "{logs}/kea.log" }} ] }} ],"#
        );
    }
    if setup.family == ScenarioFamily::V6 {
        members += &format!(r#""data-directory": "{leases}","#);
    }
    if make != ServerMake::Kea && !setup.config.contains("\"multi-threading\"") {
        // With several threads, the default of both, Kea counts a reply some time after it was
        // sent, and Godwit serves clients in no certain order.
        members += r#""multi-threading": { "enable-multi-threading": false },"#;
    }
    if setup.has_commands {
        members += &format!(
            r#""control-socket": {{ "socket-type": "unix", "socket-name": "{sockets}/control" }},"#
        );
    }
    members
}

impl ScenarioServer for Daemon {
    fn exchange(
        &mut self,
        octets: &[u8],
        expects_none: bool,
        is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError> {
        let begin = Instant::now();
        let mut until = begin + if expects_none { SILENCE } else { self.answer_limit };
        let mut replies = Vec::new();
        let mut buffer = vec![0; 65_536];
        let mut send_due = begin;
        let retransmission = if self.make.is_kea() { RETRANSMISSION } else { 2 * PATIENCE };
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if Instant::now() >= send_due {
                self.socket.send_to(octets, self.server).map_err(|error| error.to_string())?;
                send_due += retransmission;
                if expects_none {
                    // Silence counts from when the daemon has it, which the next step relies on.
                    waited_at_most(TAKING, || !has_unread(self.server.1));
                    until = Instant::now() + SILENCE;
                    send_due = until + retransmission;
                }
            }
            let left = left.min(retransmission).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
            let Ok(len) = self.socket.recv(&mut buffer) else { continue };
            replies.push(buffer[..len].to_vec());
            if is_answer(&buffer[..len]) {
                break;
            }
        }
        Ok(replies)
    }

    fn wait_s(&mut self, seconds: u64) -> Result<(), ScenarioServerError> {
        std::thread::sleep(Duration::from_secs(seconds));
        Ok(())
    }

    fn reload(&mut self, config: &str) -> Result<(), ScenarioServerError> {
        let before = self.reloads();
        let config = with_scripts(self.make, self.folder.path(), config);
        let text = with_libraries(self.make, document(self.family, &config, &self.further));
        fs::write(self.folder.path().join(CONFIGURATION), text).map_err(|e| e.to_string())?;
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-HUP", &pid]).status().map_err(|error| error.to_string())?;
        if waited_until(|| self.reloads() > before) {
            return Ok(());
        }
        Err(format!("it does not take the configuration: {}", self.log()))
    }

    fn command(&mut self, command: &str) -> Result<String, ScenarioServerError> {
        let error_text = |error: std::io::Error| format!("the control socket: {error}");
        let mut stream = UnixStream::connect(self.control_path()).map_err(error_text)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(error_text)?;
        stream.write_all(command.as_bytes()).map_err(error_text)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(error_text)?;
        Ok(answer)
    }

    fn restart(&mut self) -> Result<(), ScenarioServerError> {
        let error_text = |error: std::io::Error| error.to_string();
        let starts = self.log().matches(self.mark_of_start()).count();
        self.end()?;
        self.child = spawn(&mut self.command, self.folder.path()).map_err(error_text)?;
        self.wait_until_serving(starts + 1)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
