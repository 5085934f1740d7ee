//! Command `godwit ubench`: translates flags to the subjects of the measurement of lease stores.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use base::ToolError;
use clap::{ArgAction, ValueEnum};
use dhcp_store::sql;
use ubench::output::{self, compat};
use ubench::{
    BenchmarkSubject, ChangeSafety, SqliteJournalMode, SubjectBackend, TransactionSharing,
    UbenchEvent, UbenchParameters, UbenchReport, UserServer, WorkloadStep,
};

/// Measure lease stores: create, search, update and delete, with and without durability.
///
/// Without a store: all that need no server, both as the DHCP server uses them and as dhcp-ubench
/// of 2012 did. Each combination of store and settings is a row of the result; rows are measured in
/// turn, run after run. A rate is all operations divided by all time.
///
/// Exit codes: 0 done; 1 a step failed; 2 bad arguments.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct UbenchArgs {
    /// Lease stores to measure
    #[arg(value_enum)]
    stores: Vec<StoreName>,
    /// Measure all stores, with private MariaDB and PostgreSQL servers if installed
    #[arg(long)]
    all: bool,
    /// Prefix of the two databases that are created on a running server, and dropped; for memfile
    /// and sqlite the path of a file that must not exist
    #[arg(short = 'f', long = "file", value_name = "NAME")]
    file: Option<String>,
    /// Running mysql or pgsql server, or the folder of its socket [default: a private server]
    #[arg(short = 'm', long, value_name = "HOST")]
    host: Option<String>,
    /// Port of the running mysql or pgsql server
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// User of the running mysql or pgsql server
    #[arg(short = 'u', long, value_name = "NAME", default_value = "root")]
    user: String,
    /// Password for the running mysql or pgsql server; visible to other users on the command line
    #[arg(short = 'p', long, value_name = "PASSWORD", default_value = "")]
    password: String,
    /// Lease records in each run [default: chosen for each row by the speed of its store]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..100_000_000))]
    records: Option<u32>,
    /// Durable operation, in which each change is flushed to the disk, yes or no [default: both]
    #[arg(short = 's', long, value_name = "YES|NO", value_parser = yes)]
    sync: Option<bool>,
    /// Show progress, yes or no [default: yes on a terminal; with --compat yes]
    #[arg(short = 'v', long, value_name = "YES|NO", value_parser = yes)]
    verbose: Option<bool>,
    /// Prepared statements, yes or no; only with --schema ubench-2012 [default: both]
    #[arg(short = 'c', long, value_name = "YES|NO", value_parser = yes)]
    compiled: Option<bool>,
    /// Schema of the tables
    #[arg(
        long,
        value_enum,
        value_name = "SCHEMA",
        value_delimiter = ',',
        default_value = "kea,ubench-2012"
    )]
    schema: Vec<UbenchSchema>,
    /// Operations in flight at a time
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,64")]
    concurrency: Vec<u32>,
    /// Operations per transaction: a number, or adaptive for all that are waiting
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "adaptive", value_parser = sharing)]
    per_transaction: Vec<TransactionSharing>,
    /// Storage engine of mysql; only with --schema ubench-2012
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = engine)]
    engine: Vec<String>,
    /// Journal mode of sqlite; only with --schema ubench-2012
    #[arg(long, value_enum, value_name = "MODE", value_delimiter = ',')]
    journal: Vec<JournalName>,
    /// Also measure each store's third flush setting: memfile interval 1 s, sqlite
    /// synchronous=NORMAL, mysql innodb_flush_log_at_trx_commit=0, pgsql unlogged tables
    #[arg(long)]
    settings: bool,
    /// Number of measured runs of each combination of store and settings
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = clap::value_parser!(u32).range(1..1000))]
    runs: u32,
    /// Skip the short warm-up run before each row of the table; its result never counts
    #[arg(long)]
    no_warm_up: bool,
    /// Seed of the order of operations
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Milliseconds to add to every flush of memfile and sqlite
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    flush_ms: Duration,
    /// Folder for files during the measurement [default: the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print the output of dhcp-ubench of 2012, for one store
    #[arg(long, conflicts_with_all = ["all", "json", "csv"])]
    compat: bool,
    /// Print the results as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the results as comma-separated values
    #[arg(long)]
    csv: bool,
    /// Write a page with the results next to the figures of 2012
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print help
    #[arg(short = 'h', long, action = ArgAction::Help)]
    help: Option<bool>,
}

flag_values! {
    enum StoreName of SubjectBackend {
        /// Lease table in memory, without a file or database
        Memory,
        /// Lease file in Kea's format
        Memfile,
        /// SQLite database in a file
        Sqlite,
        /// MariaDB or MySQL server
        Mysql,
        /// PostgreSQL server
        Pgsql,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UbenchSchema {
    /// Kea's tables, through the code of the DHCP server
    Kea,
    /// Tables of dhcp-ubench of 2012, one statement per operation
    #[value(name = "ubench-2012")]
    Ubench2012,
}

flag_values! {
    enum JournalName of SqliteJournalMode {
        Wal,
        Delete,
        Truncate,
        Persist,
        Memory,
        Off,
    }
}

/// Parses the word of a flag, yes or no: as in `dhcp-ubench` of 2012, anything but yes means no.
fn yes(word: &str) -> Result<bool, String> {
    Ok(word.eq_ignore_ascii_case("yes") || word == "1")
}

fn sharing(word: &str) -> Result<TransactionSharing, String> {
    match (word, word.parse()) {
        ("adaptive", _) => Ok(TransactionSharing::Adaptive),
        (_, Ok(count)) if count > 0 => Ok(TransactionSharing::Fixed(count)),
        _ => Err("must be a number above 0, or adaptive".to_owned()),
    }
}

/// Checks the name of a storage engine of mysql, which goes into an SQL statement unchanged.
fn engine(word: &str) -> Result<String, String> {
    let is_name = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric());
    if is_name {
        Ok(word.to_owned())
    } else {
        Err("must be the name of a storage engine, such as InnoDB".to_owned())
    }
}

fn milliseconds(word: &str) -> Result<Duration, String> {
    let wrong = || "must be a number of milliseconds, 10000 at most".to_owned();
    let value: f64 = word.parse().map_err(|_| wrong())?;
    if (0.0..=10_000.0).contains(&value) {
        Ok(Duration::from_secs_f64(value / 1e3))
    } else {
        Err(wrong())
    }
}

/// Runs the measurement that `args` select, and returns the exit code.
pub(crate) fn run(args: &UbenchArgs) -> ExitCode {
    let done = if args.compat { run_as_2012(args) } else { run_all(args) };
    netio::stderr::exit_code(done.map(|()| ExitCode::SUCCESS))
}

fn stores(args: &UbenchArgs) -> Vec<SubjectBackend> {
    match (&args.stores[..], args.all) {
        (_, true) => SubjectBackend::ALL.to_vec(),
        ([], false) => {
            SubjectBackend::ALL.into_iter().filter(|backend| backend.is_embedded()).collect()
        }
        (names, false) => names.iter().map(|&name| name.into()).collect(),
    }
}

/// Returns all useful combinations of the flags in `args` as subjects. A combination that the user
/// named must be useful.
fn subjects(args: &UbenchArgs) -> Vec<BenchmarkSubject> {
    let mut modes = match args.sync {
        Some(true) => vec![ChangeSafety::Sync],
        Some(false) => vec![ChangeSafety::Async],
        None => vec![ChangeSafety::Sync, ChangeSafety::Async],
    };
    if args.settings {
        modes.push(ChangeSafety::Other);
    }
    let mut subjects = Vec::new();
    for backend in stores(args) {
        for &schema in &args.schema {
            for &mode in &modes {
                for subject in variants(args, backend, schema, mode) {
                    if subject.check().is_ok() && !subjects.contains(&subject) {
                        subjects.push(subject);
                    }
                }
            }
        }
    }
    subjects
}

fn variants(
    args: &UbenchArgs,
    backend: SubjectBackend,
    schema: UbenchSchema,
    mode: ChangeSafety,
) -> Vec<BenchmarkSubject> {
    // Memory has no durability, so both modes are equal.
    let mode = if backend == SubjectBackend::Memory { ChangeSafety::Async } else { mode };
    let mut of_schema = Vec::new();
    match schema {
        UbenchSchema::Kea => of_schema.push(BenchmarkSubject::kea(backend, mode)),
        UbenchSchema::Ubench2012 => {
            let compiled = match (backend.speaks_sql(), args.compiled) {
                (false, _) => vec![true],
                (true, Some(is_compiled)) => vec![is_compiled],
                (true, None) => vec![false, true],
            };
            let of_2012 = compiled.iter().map(|&is| BenchmarkSubject::for_2012(backend, mode, is));
            of_schema.extend(of_2012);
        }
    }
    let is_2012 = schema == UbenchSchema::Ubench2012;
    if backend == SubjectBackend::Sqlite && is_2012 && !args.journal.is_empty() {
        of_schema = with(&of_schema, &args.journal, |subject, &name| {
            subject.journal = Some(name.into());
        });
    }
    if backend == SubjectBackend::Mysql && is_2012 && !args.engine.is_empty() {
        of_schema = with(&of_schema, &args.engine, |subject, name| {
            subject.engine = Some(name.clone());
        });
    }
    let of_schema = with(&of_schema, &args.concurrency, |subject, &count| {
        subject.concurrency = count;
    });
    with(&of_schema, &args.per_transaction, |subject, &count| subject.sharing = count)
}

/// Returns each of `subjects` (stores with settings) with each of `values`, which `set` puts into
/// it.
fn with<T>(
    subjects: &[BenchmarkSubject],
    values: &[T],
    mut set: impl FnMut(&mut BenchmarkSubject, &T),
) -> Vec<BenchmarkSubject> {
    let mut all = Vec::new();
    for subject in subjects {
        for value in values {
            let mut subject = subject.clone();
            set(&mut subject, value);
            all.push(subject);
        }
    }
    all
}

fn request(args: &UbenchArgs, subjects: Vec<BenchmarkSubject>) -> UbenchParameters {
    let settings = |backend, kind| {
        let host = args.host.clone()?;
        let name = args.file.clone().unwrap_or_else(|| "godwit_ubench".to_owned());
        let is_socket = host.starts_with('/');
        let mut settings = sql::SqlSettings {
            port: args.port,
            user: args.user.clone(),
            password: args.password.clone(),
            ..sql::SqlSettings::new(kind, name)
        };
        if is_socket && backend == SubjectBackend::Mysql {
            settings.socket = Some(host.into());
        } else {
            settings.host = host;
        }
        Some((backend, UserServer { settings }))
    };
    let servers = [
        settings(SubjectBackend::Mysql, sql::SqlDatabaseKind::Mysql),
        settings(SubjectBackend::Pgsql, sql::SqlDatabaseKind::Postgresql),
    ];
    let is_file = args.host.is_none();
    UbenchParameters {
        subjects,
        records: args.records,
        steps: WorkloadStep::ALL.to_vec(),
        runs: args.runs,
        warms_up: !args.no_warm_up,
        seed: args.seed,
        flush_delay: args.flush_ms,
        folder: args.folder.clone().unwrap_or_else(std::env::temp_dir),
        file: if is_file { args.file.as_ref().map(PathBuf::from) } else { None },
        servers: servers.into_iter().flatten().collect(),
        keeps_marks: false,
    }
}

fn run_all(args: &UbenchArgs) -> Result<(), ToolError> {
    let subjects = subjects(args);
    if subjects.is_empty() {
        return Err(ToolError::usage("no combination of these options can be measured"));
    }
    let request = request(args, subjects);
    let is_verbose = args.verbose.unwrap_or_else(|| std::io::stderr().is_terminal());
    let report = ubench::measure(&request, &mut |event| match event {
        UbenchEvent::Run(subject, 0) if is_verbose => {
            netio::stderr::print_line(format_args!("warm-up: {subject}"))
        }
        UbenchEvent::Run(subject, run) if is_verbose => {
            netio::stderr::print_line(format_args!("run {run}: {subject}"))
        }
        UbenchEvent::Note(note) => netio::stderr::print_line(format_args!("note: {note}")),
        UbenchEvent::Run(..) | UbenchEvent::Marks(..) => {}
    })?;
    if let Some(path) = &args.html {
        write(path, &output::page(&report))?;
    }
    print(args, &report)
}

fn print(args: &UbenchArgs, report: &UbenchReport) -> Result<(), ToolError> {
    let text = if args.json {
        let json = serde_json::to_string_pretty(report);
        json.map_err(|error| ToolError::failed("write JSON", error))? + "\n"
    } else if args.csv {
        output::csv(report)
    } else {
        output::text(report)
    };
    map_print_error(netio::stdout::write(&text))
}

fn map_print_error(result: std::io::Result<()>) -> Result<(), ToolError> {
    result.map_err(|error| ToolError::failed("print", error))
}

fn write(path: &Path, text: &str) -> Result<(), ToolError> {
    std::fs::write(path, text)
        .map_err(|error| ToolError::failed(format!("write {}", path.display()), error))
}

/// Measures one store and prints the result in the format of dhcp-ubench of 2012.
fn run_as_2012(args: &UbenchArgs) -> Result<(), ToolError> {
    let [store] = &args.stores[..] else {
        return Err(ToolError::usage("--compat takes one store: mysql, sqlite or memfile"));
    };
    let backend = (*store).into();
    let mode = if args.sync.unwrap_or(true) { ChangeSafety::Sync } else { ChangeSafety::Async };
    let is_compiled = args.compiled.unwrap_or(true);
    let is_verbose = args.verbose.unwrap_or(backend != SubjectBackend::Memfile);
    let mut subject = BenchmarkSubject::for_2012(backend, mode, is_compiled);
    if let (SubjectBackend::Sqlite, Some(&name)) = (backend, args.journal.first()) {
        subject.journal = Some(name.into());
    }
    subject.engine = match backend {
        SubjectBackend::Mysql => args.engine.first().cloned(),
        _ => None,
    };
    subject.check()?;
    let records = args.records.unwrap_or(100);
    let request = UbenchParameters {
        records: Some(records),
        steps: WorkloadStep::FOUR.to_vec(),
        runs: 1,
        warms_up: false,
        keeps_marks: true,
        ..request(args, vec![subject])
    };
    let parameters = compat::Parameters {
        iterations: records,
        mode,
        is_verbose,
        is_compiled,
        name: args.file.as_deref().unwrap_or_else(|| compat::default_name(backend)),
        host: args.host.as_deref().unwrap_or("localhost"),
        user: &args.user,
        password: &args.password,
    };
    map_print_error(netio::stdout::write(&compat::head(backend, &parameters)))?;
    let report = ubench::measure(&request, &mut |event| match event {
        UbenchEvent::Marks(step, hits) => {
            let line = compat::progress(step, hits, backend, is_compiled, is_verbose);
            // The final print reports a closed output.
            let _ = netio::stdout::print(&line);
        }
        UbenchEvent::Note(note) => netio::stderr::print_line(format_args!("note: {note}")),
        UbenchEvent::Run(..) => {}
    })?;
    let row = report.rows.first().ok_or_else(|| ToolError::from_message("nothing was measured"))?;
    map_print_error(netio::stdout::write(&compat::summary(row)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct UbenchCommandLine {
        #[command(flatten)]
        args: UbenchArgs,
    }

    fn lines(line: &str) -> Vec<String> {
        let words = std::iter::once("ubench").chain(line.split_whitespace());
        let args = UbenchCommandLine::try_parse_from(words).unwrap().args;
        subjects(&args).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_arguments_all_that_need_no_server_are_measured() {
        assert_eq!(
            lines(""),
            [
                "memory kea async, 1 at a time",
                "memory kea async, 64 at a time",
                "memfile kea sync, 1 at a time",
                "memfile kea sync, 64 at a time",
                "memfile kea async, 1 at a time",
                "memfile kea async, 64 at a time",
                "memfile ubench-2012 sync, 1 at a time",
                "memfile ubench-2012 async, 1 at a time",
                "sqlite kea sync WAL, 1 at a time",
                "sqlite kea sync WAL, 64 at a time",
                "sqlite kea async WAL, 1 at a time",
                "sqlite kea async WAL, 64 at a time",
                "sqlite ubench-2012 sync plain WAL, 1 at a time",
                "sqlite ubench-2012 sync compiled WAL, 1 at a time",
                "sqlite ubench-2012 async plain WAL, 1 at a time",
                "sqlite ubench-2012 async compiled WAL, 1 at a time",
            ]
        );
    }

    #[test]
    fn settings_are_rows() {
        assert_eq!(
            lines("mysql -s no -c yes --schema ubench-2012 --engine InnoDB,MyISAM --concurrency 1"),
            [
                "mysql ubench-2012 async compiled InnoDB, 1 at a time",
                "mysql ubench-2012 async compiled MyISAM, 1 at a time",
            ]
        );
        assert_eq!(
            lines("sqlite --schema kea --settings --concurrency 1 --per-transaction 1,10,adaptive")
                .len(),
            9
        );
        assert_eq!(lines("sqlite -s 1 -c no --schema ubench-2012 --journal wal,delete").len(), 2);
    }
}
