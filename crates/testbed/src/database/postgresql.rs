//! Programs of PostgreSQL and their command lines.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PASSWORD, PrivateDatabase, USER, template};
use crate::command::{CommandLine, find_program};
use crate::error::{TestbedError, TestbedResult};
use crate::nobody::{give_away, unprivileged};

/// Path of the folder in which Debian keeps a folder for each version of PostgreSQL, outside
/// `PATH`.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Folder of PostgreSQL's programs.
pub(super) struct PostgreSqlPrograms {
    folder: PathBuf,
}

impl PostgreSqlPrograms {
    /// Finds the newest installed version of PostgreSQL that has a server.
    pub(super) fn find() -> TestbedResult<Self> {
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(VERSIONS)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, folder)| {
                folder.join("postgres").exists() && folder.join("initdb").exists()
            })
            .collect();
        versions.sort();
        if let Some((_, folder)) = versions.pop() {
            return Ok(Self { folder });
        }
        find_program("initdb")
            .and_then(|path| path.parent().map(Path::to_owned))
            .map(|folder| Self { folder })
            .ok_or_else(|| {
                TestbedError::new("postgres", "not found; Debian package postgresql-15 contains it")
            })
    }

    fn program(&self, name: &str) -> CommandLine {
        CommandLine::new(self.folder.join(name).display().to_string())
    }
}

/// Makes the data folder of a private PostgreSQL server without flushing, because it has no data
/// yet.
pub(super) fn create(database: &PrivateDatabase) -> TestbedResult<()> {
    let programs = PostgreSqlPrograms::find()?;
    let password = database.folder().join("password");
    let cannot = |e| TestbedError::new(format!("cannot write {}", password.display()), e);
    fs::write(&password, PASSWORD).map_err(cannot)?;
    give_away(&password)?;
    let make = programs
        .program("initdb")
        .arg(format!("--pgdata={}", database.data().display()))
        .arg(format!("--username={USER}"))
        .arg(format!("--pwfile={}", password.display()))
        .args(["--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8"])
        .args(["--locale=C", "--no-sync"]);
    template::copy_or_make(&programs.folder.join("postgres"), &database.data(), || {
        unprivileged(make).run().map(drop)
    })
}

/// Returns the command that starts the PostgreSQL server.
pub(super) fn server(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    let folder = database.folder().display();
    let addresses = if database.port.is_some() { "127.0.0.1" } else { "" };
    let commit = if database.settings.is_durable { "on" } else { "off" };
    let server = PostgreSqlPrograms::find()?
        .program("postgres")
        .args(["-D", &format!("{folder}/data"), "-k", &folder.to_string()])
        .args(["-p", &database.socket_port().to_string()])
        .args(["-c", &format!("listen_addresses={addresses}")])
        .args(["-c", &format!("synchronous_commit={commit}")])
        // Files of the cluster rather than of the machine, so that a crash leaves nothing behind.
        .args(["-c", "dynamic_shared_memory_type=mmap"]);
    // The last of equal options counts.
    let server = database.options.iter().fold(server, |line, option| line.args(["-c", option]));
    Ok(unprivileged(server))
}

/// Returns the command that succeeds once the PostgreSQL server answers.
pub(super) fn ready(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    Ok(at(PostgreSqlPrograms::find()?.program("pg_isready"), database).arg("--quiet"))
}

/// Returns the command of PostgreSQL's client.
pub(super) fn client(database: &PrivateDatabase) -> TestbedResult<CommandLine> {
    let client = at(PostgreSqlPrograms::find()?.program("psql"), database);
    Ok(client
        .args(["--username", USER, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
        .args(["--field-separator", "\t", "--set", "ON_ERROR_STOP=1"]))
}

fn at(command: CommandLine, database: &PrivateDatabase) -> CommandLine {
    let folder = database.folder().display().to_string();
    command.args(["--host", &folder, "--port", &database.socket_port().to_string()])
}

/// Removes the one segment of System V memory by which a PostgreSQL server knows that it runs: a
/// killed server leaves it behind.
pub(super) fn remove_shared_memory(folder: &Path) {
    let note = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    // The seventh line has the key and the identifier.
    if let Some(id) = note.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
        let _ = CommandLine::new("ipcrm").args(["-m", id]).run();
    }
}
