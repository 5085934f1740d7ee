//! Private MariaDB and PostgreSQL servers: from Debian's packages, in a folder of their own, on a
//! unix socket, ended when the value is dropped.
//!
//! They do not touch a database that the machine runs already: the programs start with a
//! configuration, a data folder and a socket made for them, and as `nobody` if the caller is root
//! (PostgreSQL refuses to run as root). The callers decide about the contents.
//!
//! To have read: mariadbd(8), mariadb-install-db(1), initdb(1), postgres(1), setpriv(1).

pub mod galera;
mod mariadb;
mod postgresql;
mod template;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::command::CommandLine;
use crate::error::{TestbedError, TestbedResult};
use crate::nobody::{can_reach, give_away};
use crate::proc::process_tree;
use crate::process::{ChildProcess, describe};

/// Maximum time until a fresh database server answers, which may have to wait for a busy disk.
const READY_LIMIT: Duration = Duration::from_secs(300);
/// Interval between two checks if the database server answers.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Maximum time that an orderly end of a database server may take before its process is killed.
const STOP_LIMIT: Duration = Duration::from_secs(120);

/// Name of the user that every private database server has, with all rights.
pub const USER: &str = "kea";
/// Password of the user [`USER`] of private database servers.
pub const PASSWORD: &str = "a private password";

/// Kind of a private database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseEngine {
    /// MariaDB server, with MySQL's protocol.
    MariaDb,
    /// PostgreSQL server.
    PostgreSql,
}

impl DatabaseEngine {
    /// All kinds of database servers.
    pub const ALL: [Self; 2] = [Self::MariaDb, Self::PostgreSql];

    /// Returns the reason why no database server of this kind can start on this machine; `None` if
    /// one can.
    pub fn missing(self) -> Option<String> {
        let programs = match self {
            Self::MariaDb => mariadb::MariaDbPrograms::find().map(drop),
            Self::PostgreSql => postgresql::PostgreSqlPrograms::find().map(drop),
        };
        programs.err().map(|error| error.to_string())
    }
}

/// Settings of a private database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateDatabaseSettings {
    /// True if the database server has a commit on the disk before it reports the commit, which is
    /// the default of both servers. Otherwise a commit survives only a crash of the database
    /// server, not of the machine, which is what Kea's users usually choose.
    pub is_durable: bool,
    /// True if the database server listens on a port of the loopback interface as well.
    pub on_loopback: bool,
    /// Processor that the database server is pinned to; `None` for any.
    pub cpu: Option<usize>,
}

impl Default for PrivateDatabaseSettings {
    fn default() -> Self {
        Self { is_durable: true, on_loopback: false, cpu: None }
    }
}

/// Running private database server. Dropping it ends the server and removes its folder.
#[derive(Debug)]
pub struct PrivateDatabase {
    engine: DatabaseEngine,
    settings: PrivateDatabaseSettings,
    folder: PathBuf,
    port: Option<u16>,
    /// Words that run the database server's command, put before it, such as `taskset -c 1`.
    command_prefix: Vec<String>,
    /// Further settings of the database server itself, as `name=value`.
    options: Vec<String>,
    process: Option<ChildProcess>,
}

impl PrivateDatabase {
    /// Makes an empty database server in a new temporary folder, starts it, and waits until it
    /// answers.
    ///
    /// # Errors
    /// The programs are not installed, the folder cannot be made, or the server does not start; its
    /// last log lines are in the error.
    pub fn start(engine: DatabaseEngine, settings: PrivateDatabaseSettings) -> TestbedResult<Self> {
        Self::start_as(engine, settings, &[], &[])
    }

    /// Starts a database server like [`Self::start`], with its command run through `words`, which
    /// end where its own name begins: in a network namespace, on a processor. Its socket is
    /// reachable from any namespace.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with_prefix(
        engine: DatabaseEngine,
        settings: PrivateDatabaseSettings,
        words: &[String],
    ) -> TestbedResult<Self> {
        Self::start_as(engine, settings, words, &[])
    }

    /// Starts a database server like [`Self::start`], with further settings of the server itself,
    /// each as `name=value`.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(
        engine: DatabaseEngine,
        settings: PrivateDatabaseSettings,
        options: &[String],
    ) -> TestbedResult<Self> {
        Self::start_as(engine, settings, &[], options)
    }

    fn start_as(
        engine: DatabaseEngine,
        settings: PrivateDatabaseSettings,
        words: &[String],
        options: &[String],
    ) -> TestbedResult<Self> {
        let mut database = Self::make(engine, settings)?;
        database.command_prefix = words.to_vec();
        match engine {
            DatabaseEngine::MariaDb => mariadb::create(&database)?,
            DatabaseEngine::PostgreSql => postgresql::create(&database)?,
        }
        database.options = options.to_vec();
        database.launch()?;
        if engine == DatabaseEngine::MariaDb {
            mariadb::create_user(&database)?;
        }
        Ok(database)
    }

    /// Makes the value of a database server, not started and without data, in a new folder.
    fn make(engine: DatabaseEngine, settings: PrivateDatabaseSettings) -> TestbedResult<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("godwit-database-{}-{count}", std::process::id());
        let folder = reachable_folder().join(name);
        let failed = |e| TestbedError::new(format!("cannot create {}", folder.display()), e);
        fs::create_dir_all(&folder).map_err(failed)?;
        let port = if settings.on_loopback { Some(free_port()?) } else { None };
        let (through, options) = (Vec::new(), Vec::new());
        let database = Self {
            engine,
            settings,
            folder,
            port,
            command_prefix: through,
            options,
            process: None,
        };
        give_away(&database.folder)?;
        Ok(database)
    }

    /// Returns the kind of the database server.
    pub fn engine(&self) -> DatabaseEngine {
        self.engine
    }

    /// Returns the path at which clients on this machine reach the database server: MariaDB's
    /// socket itself, the folder of PostgreSQL's.
    pub fn socket(&self) -> PathBuf {
        match self.engine {
            DatabaseEngine::MariaDb => self.folder.join("socket"),
            DatabaseEngine::PostgreSql => self.folder.clone(),
        }
    }

    /// Returns the database server's port on the loopback interface; `None` if it does not listen
    /// on one. PostgreSQL's socket has a number as well: [`Self::socket_port`].
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the port number in the name of PostgreSQL's unix socket.
    pub fn socket_port(&self) -> u16 {
        self.port.unwrap_or(5432)
    }

    /// Returns the process ID of the database server, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ChildProcess::pid)
    }

    /// Makes an empty database called `name` in the server.
    ///
    /// # Errors
    /// It exists already, or the server does not answer.
    pub fn create(&self, name: &str) -> TestbedResult<()> {
        let maintenance = match self.engine {
            DatabaseEngine::MariaDb => "mysql",
            DatabaseEngine::PostgreSql => "postgres",
        };
        self.query(maintenance, &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// Removes the database called `name` from the server with all its contents, at a cost that
    /// does not grow with its size.
    ///
    /// # Errors
    /// It does not exist, or the server does not answer.
    pub fn remove(&self, name: &str) -> TestbedResult<()> {
        let (maintenance, how) = match self.engine {
            DatabaseEngine::MariaDb => ("mysql", ""),
            // A connection that is not closed yet would prevent the removal.
            DatabaseEngine::PostgreSql => ("postgres", " WITH (FORCE)"),
        };
        self.query(maintenance, &format!("DROP DATABASE {name}{how}")).map(drop)
    }

    /// Executes `statements` on the database `name` by the server's own client, and returns its
    /// output: a row per line, values separated by tabs, without a header.
    ///
    /// # Errors
    /// The server refuses; its error output is in the error.
    pub fn query(&self, name: &str, statements: &str) -> TestbedResult<String> {
        match self.engine {
            DatabaseEngine::MariaDb => {
                mariadb::client(self)?.arg(name).arg("-e").arg(statements).run()
            }
            DatabaseEngine::PostgreSql => {
                postgresql::client(self)?.arg(name).arg("-c").arg(statements).run()
            }
        }
    }

    /// Ends the database server at once, with all its processes, as a crash would. Its folder
    /// stays.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let tree = stopped_tree(process.pid());
        // PostgreSQL's processes lead sessions of their own, so they are not in the group. One
        // command ends all: an id that was free in between could be that of another program.
        let pids: Vec<String> = tree.iter().map(u32::to_string).collect();
        let script = format!("kill -s KILL {}", pids.join(" "));
        let _ = CommandLine::new("sh").arg("-c").arg(script).to_command().output();
        process.kill();
        wait_until(STOP_LIMIT, || tree.iter().all(|pid| !is_running(*pid)));
    }

    /// Ends the database server in order (MariaDB by SIGTERM, PostgreSQL by SIGINT). Its folder
    /// stays.
    ///
    /// # Errors
    /// It had to be killed.
    pub fn stop(&mut self) -> TestbedResult<()> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let pid = process.pid();
        // PostgreSQL would wait for its clients on SIGTERM; SIGINT ends it fast and in order.
        let signal = match self.engine {
            DatabaseEngine::MariaDb => "TERM",
            DatabaseEngine::PostgreSql => "INT",
        };
        CommandLine::new("sh").arg("-c").arg(format!("kill -s {signal} {pid}")).run()?;
        let until = Instant::now() + STOP_LIMIT;
        let ended = process.wait(|| Instant::now() >= until);
        if !matches!(ended, Ok(Some(_))) {
            let words = process.last_error_lines(1);
            self.kill();
            return Err(TestbedError::new(
                self.display(),
                format!("the server did not end: {words}"),
            ));
        }
        self.process = None;
        Ok(())
    }

    /// Starts the database server again on the contents of its folder, after [`Self::kill`] or
    /// [`Self::stop`].
    ///
    /// # Errors
    /// It does not start, or does not answer.
    pub fn launch(&mut self) -> TestbedResult<()> {
        self.launch_with(&[])
    }

    /// Starts the database server again, with `arguments` on its command line for this start only.
    fn launch_with(&mut self, arguments: &[&str]) -> TestbedResult<()> {
        let command = match self.engine {
            DatabaseEngine::MariaDb => mariadb::server(self)?,
            DatabaseEngine::PostgreSql => postgresql::server(self)?,
        };
        let command = command.args(arguments.iter().copied());
        let cpu = self.settings.cpu.map(|cpu| cpu.to_string());
        let command = match &cpu {
            Some(cpu) => command.with_prefix(&["taskset", "-c", cpu]),
            None => command,
        };
        let words: Vec<&str> = self.command_prefix.iter().map(String::as_str).collect();
        let command = command.with_prefix(&words);
        let ready = match self.engine {
            DatabaseEngine::MariaDb => mariadb::ready(self)?,
            DatabaseEngine::PostgreSql => postgresql::ready(self)?,
        };
        let socket = self.socket();
        if self.engine == DatabaseEngine::MariaDb {
            // A killed server leaves its socket behind.
            let _ = fs::remove_file(&socket);
        }
        let process = self.process.insert(ChildProcess::start(&command, "server", &self.folder)?);
        let mut ended = None;
        let is_up = wait_until(READY_LIMIT, || {
            ended = process.exit_status().ok().flatten();
            // A start of the client is more expensive than a look for the socket.
            ended.is_some() || (socket.exists() && ready.run().is_ok())
        });
        match ended {
            Some(status) => Err(TestbedError::new(
                command.to_string(),
                format!("{}: {}", describe(status), process.last_error_lines(3)),
            )),
            None if !is_up => {
                Err(TestbedError::new(command.to_string(), "the server does not answer"))
            }
            None => Ok(()),
        }
    }

    fn display(&self) -> String {
        format!("{:?} in {}", self.engine, self.folder.display())
    }

    /// Returns the path of the database server's data folder.
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the path of the database server's folder, which is removed with the server.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PrivateDatabase {
    fn drop(&mut self) {
        self.kill();
        if self.engine == DatabaseEngine::PostgreSql {
            postgresql::remove_shared_memory(&self.folder);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folder for temporary files, or `/tmp` if the user `nobody` could not reach it.
fn reachable_folder() -> PathBuf {
    let wanted = std::env::temp_dir();
    if can_reach(&wanted) { wanted } else { "/tmp".into() }
}

/// Returns a free port of the loopback interface that this function has not returned in this
/// process before.
fn free_port() -> TestbedResult<u16> {
    crate::topology::free_port(Ipv4Addr::LOCALHOST.into())
}

fn wait_until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// Returns process `pid` and all its descendants after stopping all of them, so that none of them
/// starts another process between this list and the kill.
fn stopped_tree(pid: u32) -> Vec<u32> {
    let mut seen = Vec::new();
    wait_until(STOP_LIMIT, || {
        let mut tree = process_tree(pid);
        tree.sort_unstable();
        let moving: Vec<String> =
            tree.iter().filter(|of| is_active(**of)).map(u32::to_string).collect();
        let is_still = moving.is_empty() && tree == seen;
        if !moving.is_empty() {
            let script = format!("kill -s STOP {}", moving.join(" "));
            let _ = CommandLine::new("sh").arg("-c").arg(script).to_command().output();
        }
        seen = tree;
        is_still
    });
    seen
}

/// Returns true if the process `pid` exists and is neither stopped nor ended.
fn is_active(pid: u32) -> bool {
    let stat = crate::proc::read(format!("/proc/{pid}/stat"));
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['T', 't', 'Z', 'X']))
}

/// Returns true if the process `pid` exists and is not a zombie.
fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
