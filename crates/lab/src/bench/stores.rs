//! Databases of a run, the servers' tables in them, and the cost of flushes to the disk below them.
//!
//! One database server of each kind serves all servers that are measured on it, on their processor,
//! at their priority, and with their settings for durability: a committed row is on the disk. Each
//! measured server has tables of its own there, or shares them with its second half. Only one
//! server fills them while it runs; a server that is started anew finds empty ones.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use measure::plan::{DatabaseAccess, LeaseStoreKind};
use measure::record::FlushCost;
use testbed::database::{PASSWORD, PrivateDatabaseSettings, USER};
use testbed::{ChildProcess, CommandLine, DatabaseEngine, PrivateDatabase, TopologySide};

use super::recorder::RunRecorder;
use super::service::MeasuredServer;
use super::topology::BenchTopology;
use crate::driver::{self, LEASE_FILE, StoreLocation};
use crate::error::{LabError, LabResult};
use crate::family::AddressFamily;
use crate::subject::MeasurementSubject;

/// Age from which the lab measures the cost of a flush to the disk again, in seconds: every trial
/// has one of its own minute.
const FLUSH_AGE_S: f64 = 50.0;
/// Number of appends in one measurement of the cost of flushes.
const FLUSH_APPENDS: usize = 40;
/// Version of Kea's database schema, that of Kea 2.2, which all servers use.
const SCHEMA: &str = "2.2";
/// Name of the processes that delay connections to a distant database, in the names of files.
const DISTANCE: &str = "distance";
/// Longest time that a process which delays database connections may take to begin; `LOOK_EVERY` is
/// the time between checks.
const DISTANCE_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Names of disks in records of flush costs: `results` has the lease files, `databases` the
/// databases.
const RESULTS: &str = "results";
const DATABASES: &str = "databases";

impl BenchTopology<'_> {
    /// Makes the command `godwit db COMMAND` for the store at `location`; `None` for a store
    /// without a database.
    fn tool(&self, location: &StoreLocation, command: &str) -> Option<CommandLine> {
        let line = CommandLine::new(self.godwit.to_string_lossy()).args(["db", command]);
        match location {
            StoreLocation::Memfile => None,
            StoreLocation::Sqlite(file) => {
                Some(line.args(["sqlite", "-n", &file.to_string_lossy()]))
            }
            StoreLocation::Database { engine, name, .. } => {
                let database = self.database(Some(*engine))?;
                let socket = database.socket().to_string_lossy().into_owned();
                let line = match engine {
                    DatabaseEngine::MariaDb => line.args(["mysql", "--socket", &socket]),
                    DatabaseEngine::PostgreSql => {
                        let port = database.socket_port().to_string();
                        line.args(["pgsql", "-h", &socket, "-P", &port])
                    }
                };
                Some(line.args(["-n", name, "-u", USER]).env("KEA_ADMIN_DB_PASSWORD", PASSWORD))
            }
        }
    }

    /// Returns the database server of `engine` if it was started.
    pub(super) fn database(&self, engine: Option<DatabaseEngine>) -> Option<&PrivateDatabase> {
        self.databases.iter().find(|database| Some(database.engine()) == engine)
    }

    /// Starts the database server of `engine` unless it runs; returns the port at which it listens.
    fn start_database(
        &mut self,
        engine: DatabaseEngine,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<u16> {
        let port = |of: &PrivateDatabase| of.port().expect("it listens on loopback");
        if let Some(database) = self.database(Some(engine)) {
            return Ok(port(database));
        }
        recorder.progress.step(&format!("starting {engine:?}"));
        let settings = PrivateDatabaseSettings { is_durable: true, on_loopback: true, cpu: None };
        let cpu = Some(self.processors.server);
        let line = self.network.command(TopologySide::Server, cpu, CommandLine::new("program"));
        let words = &line.words()[..line.words().len() - 1];
        let database = PrivateDatabase::start_with_prefix(engine, settings, words)?;
        self.run.register_folder(database.folder())?;
        if let Some(pid) = database.pid() {
            self.run.register_group(pid)?;
        }
        let port = port(&database);
        self.databases.push(database);
        Ok(port)
    }

    /// Returns the location of the lease store for the server `subject`, in `folder` or in empty
    /// database tables of its own.
    pub(super) fn prepare_store(
        &mut self,
        subject: &MeasurementSubject,
        folder: &Path,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<StoreLocation> {
        let location = match (subject.store, driver::engine(subject.store)) {
            (_, Some(engine)) => {
                let name = subject.file_name().replace('-', "_").to_ascii_lowercase();
                let mut port = self.start_database(engine, recorder)?;
                if let Some(round_trip_ms) = subject.sharing.round_trip_ms() {
                    port = self.delayed_port(port, round_trip_ms, folder)?;
                }
                let is_exclusive = subject.sharing == DatabaseAccess::Exclusive;
                StoreLocation::Database { engine, name, port, is_exclusive }
            }
            (LeaseStoreKind::Sqlite, None) => StoreLocation::Sqlite(folder.join("leases.sqlite")),
            (_, None) => return Ok(StoreLocation::Memfile),
        };
        self.make_tables(&location)?;
        Ok(location)
    }

    /// Returns the port at which the database at `port` seems to be a round trip of `round_trip_ms`
    /// away. The process that delays bytes runs on the generator's processor, so that the server's
    /// has no more to do than with a near database.
    fn delayed_port(&mut self, port: u16, round_trip_ms: u32, folder: &Path) -> LabResult<u16> {
        let command = CommandLine::new(self.godwit.to_string_lossy())
            .args(["lab", "distance", "--listen", "127.0.0.1:0"])
            .args(["--to", &format!("127.0.0.1:{port}")])
            .args(["--round-trip-ms", &round_trip_ms.to_string()]);
        let cpu = Some(self.processors.generator);
        let command = self.network.command(TopologySide::Server, cpu, command);
        let mut process = ChildProcess::start(&command, DISTANCE, folder)?;
        self.run.register_group(process.pid())?;
        let (output_path, began) = (folder.join(format!("{DISTANCE}.out")), Instant::now());
        loop {
            let text = fs::read_to_string(&output_path).unwrap_or_default();
            if let Some(port) = text.strip_suffix('\n').and_then(|line| line.rsplit(':').next()) {
                self.delay_proxies.push(process);
                let unreadable = || LabError::Failed(format!("{command} printed: {text}"));
                return port.parse().map_err(|_| unreadable());
            }
            let is_over = process.exit_status().is_ok_and(|exit_status| exit_status.is_some());
            if is_over || began.elapsed() > DISTANCE_LIMIT {
                let words = process.last_error_lines(3);
                return Err(LabError::Failed(format!("{command} does not start: {words}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn make_tables(&self, location: &StoreLocation) -> LabResult<()> {
        let Some(mut line) = self.tool(location, "init") else { return Ok(()) };
        if let StoreLocation::Database { engine, name, .. } = location {
            self.database(Some(*engine)).map(|database| database.create(name)).transpose()?;
            line = line.args(["--schema", SCHEMA]);
        }
        line.run()?;
        Ok(())
    }

    /// Empties the lease store at `location` of a server that does not run, at a cost that does not
    /// grow with the number of leases.
    pub(super) fn empty_store(&self, location: &StoreLocation) -> LabResult<()> {
        match location {
            StoreLocation::Memfile => return Ok(()),
            StoreLocation::Sqlite(file) => {
                for more in ["", "-wal", "-shm"] {
                    let _ = fs::remove_file(format!("{}{more}", file.display()));
                }
            }
            StoreLocation::Database { engine, name, .. } => {
                self.database(Some(*engine)).map(|database| database.remove(name)).transpose()?;
            }
        }
        self.make_tables(location)
    }

    /// Writes the leases in the database of `server` to its lease file, and compares their number
    /// with the count of the database's own client.
    pub(super) fn write_leases(&self, server: &MeasuredServer) -> LabResult<()> {
        let Some(line) = self.tool(&server.store, "dump") else { return Ok(()) };
        let family = match self.family.version() {
            AddressFamily::V4 => "-4",
            AddressFamily::V6 => "-6",
        };
        let file = server.folder.join(LEASE_FILE);
        let output = line.args([family, "-y", "-o", &file.to_string_lossy()]).run()?;
        let StoreLocation::Database { engine, name, .. } = &server.store else { return Ok(()) };
        let Some(database) = self.database(Some(*engine)) else { return Ok(()) };
        let table = format!("lease{}", &family[1..]);
        let counted = database.query(name, &format!("SELECT COUNT(*) FROM {table}"))?;
        if output.starts_with(&format!("wrote {} leases", counted.trim())) {
            return Ok(());
        }
        Err(LabError::Failed(format!(
            "the database has {} leases, but `godwit db dump` printed: {}",
            counted.trim(),
            output.trim()
        )))
    }

    /// Returns the cost of a flush on the disk of the lease store of `server`, in microseconds;
    /// measures it again when it is old. 0 for a store without a disk of this machine.
    pub(super) fn flush_us(
        &self,
        server: &MeasuredServer,
        recorder: &mut RunRecorder<'_>,
    ) -> LabResult<f64> {
        if !self.family.protocol.is_dhcp() || server.started.is_none() {
            return Ok(0.0);
        }
        let now_s = recorder.elapsed_s();
        let flushes = &mut recorder.run.flushes;
        if flushes.last().is_none_or(|last| now_s - last.at_s > FLUSH_AGE_S) {
            self.measure_flushes(now_s, flushes)?;
        }
        let disk = if server.subject.store.is_database() { DATABASES } else { RESULTS };
        let latest = |name: &str| flushes.iter().rev().find(|flush| flush.disk == name);
        Ok(latest(disk).or_else(|| latest(RESULTS)).map_or(0.0, |flush| flush.median_us))
    }

    fn measure_flushes(&self, at_s: f64, flushes: &mut Vec<FlushCost>) -> LabResult<()> {
        let device = |folder: &Path| fs::metadata(folder).map(|metadata| metadata.dev()).ok();
        let mut disks = vec![(RESULTS, self.folder.as_path())];
        if let Some(database) = self.databases.first()
            && device(database.folder()) != device(&self.folder)
        {
            disks.push((DATABASES, database.folder()));
        }
        for (disk, folder) in disks {
            let took = testbed::flush::measure(folder, FLUSH_APPENDS)?;
            let us = |at: usize| took[at].as_secs_f64() * 1e6;
            flushes.push(FlushCost {
                at_s,
                disk: disk.to_owned(),
                count: took.len() as u32,
                min_us: us(0),
                median_us: us(took.len() / 2),
                max_us: us(took.len() - 1),
            });
        }
        Ok(())
    }
}
