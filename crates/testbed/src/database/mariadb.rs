//! Programs of MariaDB and their command lines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{PASSWORD, PrivateDatabase, USER, template};
use crate::command::{CommandLine, require_program};
use crate::error::{TestbedError, TestbedResult};
use crate::nobody::unprivileged;

const PACKAGE: &str = "mariadb-server";

/// Paths of MariaDB's programs.
pub(super) struct MariaDbPrograms {
    install: String,
    server: String,
    client: String,
    admin: String,
}

impl MariaDbPrograms {
    pub(super) fn find() -> TestbedResult<Self> {
        Ok(Self {
            install: require_program("mariadb-install-db", PACKAGE)?,
            server: require_program("mariadbd", PACKAGE)?,
            client: require_program("mariadb", PACKAGE)?,
            admin: require_program("mariadb-admin", PACKAGE)?,
        })
    }
}

/// Writes the configuration of a private MariaDB server and makes its system tables. The programs
/// ignore the machine's configuration.
pub(super) fn create(database: &PrivateDatabase) -> TestbedResult<()> {
    let programs = MariaDbPrograms::find()?;
    let path = configure(database)?;
    let install = CommandLine::new(programs.install)
        .arg(format!("--defaults-file={}", path.display()))
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg("--skip-name-resolve");
    template::copy_or_make(Path::new(&programs.server), &database.data(), || {
        unprivileged(install).run().map(drop)
    })
}

/// Writes the configuration of a private MariaDB server, and returns its path.
pub(super) fn configure(database: &PrivateDatabase) -> TestbedResult<PathBuf> {
    let folder = database.folder().display();
    // A starting server removes everything that looks like a temporary table from the folder for
    // them, also tables of other servers, so each has its own folder. The binary log is off, and
    // users may create triggers without it. All processes of a user share a small number of
    // asynchronous requests of the kernel, and several servers may run. On a busy machine a client
    // may take longer than the default of 10 s to answer the server's greeting.
    let mut text = format!(
        "[mariadbd]\ndatadir={folder}/data\ntmpdir={folder}\nsocket={folder}/socket\n\
         pid-file={folder}/pid\nskip-name-resolve\nsync_binlog=0\ninnodb_buffer_pool_size=128M\n\
         innodb_use_native_aio=0\nconnect_timeout=600\ninnodb_flush_log_at_trx_commit={}\n",
        if database.settings.is_durable { 1 } else { 2 },
    );
    let _ = match database.port {
        Some(port) => writeln!(text, "bind-address=127.0.0.1\nport={port}"),
        None => writeln!(text, "skip-networking"),
    };
    let path = database.folder().join("my.cnf");
    fs::write(&path, text)
        .map_err(|e| TestbedError::new(format!("cannot write {}", path.display()), e))?;
    Ok(path)
}

/// Returns the command that starts the MariaDB server.
pub(super) fn server(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    let settings = format!("--defaults-file={}/my.cnf", database.folder().display());
    let server = CommandLine::new(MariaDbPrograms::find()?.server).arg(settings);
    // The last of equal options counts.
    let options: Vec<String> =
        database.options.iter().map(|option| format!("--{option}")).collect();
    Ok(unprivileged(server.args(options.iter().map(String::as_str))))
}

/// Returns the command that succeeds once the MariaDB server answers.
pub(super) fn ready(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    let admin = CommandLine::new(MariaDbPrograms::find()?.admin);
    Ok(as_root(admin, database).arg("ping"))
}

/// Returns the command of MariaDB's client, as the server's root.
pub(super) fn client(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    let client = CommandLine::new(MariaDbPrograms::find()?.client);
    Ok(as_root(client, database).args(["--batch", "--skip-column-names", "--raw"]))
}

fn as_root(command: CommandLine, database: &PrivateDatabase) -> CommandLine {
    let socket = format!("--socket={}", database.socket().display());
    command.args(["--no-defaults", "--user=root"]).arg(socket)
}

/// Makes the MariaDB user [`USER`], for socket and TCP.
pub(super) fn create_user(database: &PrivateDatabase) -> TestbedResult<()> {
    let mut statements = String::new();
    for host in ["localhost", "127.0.0.1"] {
        let _ = write!(
            statements,
            "CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}';\
             GRANT ALL ON *.* TO '{USER}'@'{host}' WITH GRANT OPTION;"
        );
    }
    database.query("mysql", &statements).map(drop)
}
