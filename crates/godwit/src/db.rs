//! Command `godwit db`: the commands of `kea-admin` for the tables of leases and reservations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgAction, Subcommand, ValueEnum};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::sql::transfer::{self, TransferError};
use dhcp_store::sql::{
    Database, DatabaseSslMode, Schema, SqlDatabaseKind, SqlError, SqlFamily, SqlSettings,
};

use crate::output;

/// Create, upgrade, dump and load the lease tables of a database (like kea-admin).
///
/// Exit codes: 0 done; 1 the database or a file failed, or has unexpected content; 2 bad arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    command: DbCommand,
}

#[derive(Debug, Subcommand)]
enum DbCommand {
    /// Create the tables in an empty database (kea-admin db-init)
    Init {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
        /// Version of Kea's tables to create; a Kea server accepts only those of its own version
        #[arg(long, value_enum, default_value = "current")]
        schema: SchemaName,
    },
    /// Upgrade the tables of Kea 2.2 to the current version (kea-admin db-upgrade).
    ///
    /// MySQL cannot undo an interrupted upgrade: dump the leases first. Only kea-admin upgrades
    /// tables of Kea's configuration backend.
    Upgrade {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
    },
    /// Print the version of the tables (kea-admin db-version)
    Version {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
    },
    /// Count all leases again, for the tables of statistics (kea-admin stats-recount)
    Recount {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
    },
    /// Write all leases to a lease file (kea-admin lease-dump)
    Dump {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
        #[command(flatten)]
        family: DbFamilyArgs,
        /// Lease file to write
        #[arg(short = 'o', long, value_name = "FILE")]
        output: PathBuf,
        /// Replace an existing lease file
        #[arg(short = 'y', long)]
        yes: bool,
    },
    /// Load a lease file into the table (kea-admin lease-upload).
    ///
    /// Replaces leases of the same addresses. Commits ten thousand at a time.
    Upload {
        #[command(flatten)]
        connection: DatabaseConnectionArgs,
        #[command(flatten)]
        family: DbFamilyArgs,
        /// Lease file to read
        #[arg(short = 'i', long, value_name = "FILE")]
        input: PathBuf,
    },
}

/// Connection to a database; the letters of the flags are those of kea-admin.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
struct DatabaseConnectionArgs {
    /// Kind of the database
    #[arg(value_enum)]
    backend: BackendName,
    /// Name of the database, or path of the SQLite file
    #[arg(short = 'n', long, value_name = "NAME", default_value = "keatest")]
    name: String,
    /// Host of the database server; for pgsql also the folder of its socket
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    host: String,
    /// Port of the database server [default: 3306 for mysql, 5432 for pgsql]
    #[arg(short = 'P', long, value_name = "PORT")]
    port: Option<u16>,
    /// Socket of a mysql server on this machine, instead of host and port
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// User of the database
    #[arg(short = 'u', long, value_name = "NAME", default_value = "keatest")]
    user: String,
    /// Password of the database user; visible to other users on the command line [default: variable
    /// KEA_ADMIN_DB_PASSWORD]
    #[arg(short = 'p', long, value_name = "PASSWORD", conflicts_with = "password_file")]
    password: Option<String>,
    /// File whose first line is the password of the database user
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// CA certificates to check the database server's certificate with; enables TLS
    #[arg(long, value_name = "FILE")]
    trust_anchor: Option<PathBuf>,
    /// Client certificate for TLS with the database server
    #[arg(long, value_name = "FILE", requires = "key_file")]
    cert_file: Option<PathBuf>,
    /// Key of the client certificate for TLS
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    key_file: Option<PathBuf>,
    /// Level of TLS with the database server, as in Kea's ssl-mode: disable, prefer, require,
    /// verify-ca or verify-full [default: verify-ca with a trust anchor]
    #[arg(long, value_name = "MODE", value_parser = ssl_mode)]
    ssl_mode: Option<DatabaseSslMode>,
    /// Accepted for kea-admin command lines; no scripts are needed
    #[arg(short = 'd', long, value_name = "FOLDER", hide = true)]
    directory: Option<PathBuf>,
    /// Accepted for kea-admin command lines; no programs are run
    #[arg(short = 'x', long, value_name = "ARGUMENTS", hide = true, allow_hyphen_values = true)]
    extra: Vec<String>,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct DbFamilyArgs {
    /// Use the leases of DHCPv4
    #[arg(short = '4', id = "v4")]
    is_v4: bool,
    /// Use the leases of DHCPv6
    #[arg(short = '6', id = "v6")]
    is_v6: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BackendName {
    /// MariaDB or MySQL server
    Mysql,
    /// PostgreSQL server
    Pgsql,
    /// SQLite file
    Sqlite,
}

flag_values! {
    enum SchemaName of Schema {
        /// Schema of Kea 2.2: 14.0 in mysql, 13.0 in pgsql
        #[value(name = "2.2")]
        Kea22,
        /// Schema of Kea 3.3: 35.0 in mysql and sqlite, 34.0 in pgsql
        Current,
    }
}

/// Name of the environment variable with the database password, which `kea-admin` also reads.
const PASSWORD_VARIABLE: &str = "KEA_ADMIN_DB_PASSWORD";

/// Runs the command of `godwit db` that `args` select, and returns the exit code.
pub(crate) fn run(args: &DbArgs) -> ExitCode {
    let done = match &args.command {
        DbCommand::Init { connection, schema } => init(connection, *schema),
        DbCommand::Upgrade { connection } => upgrade(connection),
        DbCommand::Version { connection } => version(connection),
        DbCommand::Recount { connection } => recount(connection),
        DbCommand::Dump { connection, family, output, yes } => {
            if output.exists() && !yes {
                let problem = format!("{} exists already; -y replaces it", output.display());
                Err(problem)
            } else if family.is_v4 {
                dump::<V4>(connection, output)
            } else {
                dump::<V6>(connection, output)
            }
        }
        DbCommand::Upload { connection, family, input } => {
            if family.is_v4 {
                upload::<V4>(connection, input)
            } else {
                upload::<V6>(connection, input)
            }
        }
    };
    output::exit_code(done)
}

fn init(connection: &DatabaseConnectionArgs, schema: SchemaName) -> Result<(), String> {
    let mut database = open(connection, true)?;
    database.install(schema.into()).map_err(error_text)?;
    output::print_line(format_args!(
        "created the tables, version \
                                     {}",
        schema_version(&mut database)?
    ))
}

fn upgrade(connection: &DatabaseConnectionArgs) -> Result<(), String> {
    let mut database = open(connection, false)?;
    let has_changed = database.upgrade().map_err(error_text)?;
    let version = schema_version(&mut database)?;
    if has_changed {
        output::print_line(format_args!("upgraded the tables to version {version}"))
    } else {
        output::print_line(format_args!("the tables have version {version} already"))
    }
}

fn version(connection: &DatabaseConnectionArgs) -> Result<(), String> {
    output::print_line(schema_version(&mut open(connection, false)?)?)
}

fn recount(connection: &DatabaseConnectionArgs) -> Result<(), String> {
    open(connection, false)?.recount().map_err(error_text)?;
    output::print_line("Recount lease statistics from database")
}

fn dump<F: SqlFamily>(connection: &DatabaseConnectionArgs, path: &Path) -> Result<(), String> {
    let mut database = open(connection, false)?;
    let loaded = transfer::dump::<F>(&mut database, path).map_err(transfer_error_text)?;
    for (row, fault) in &loaded.faults {
        netio::stderr::print_line(format_args!(
            "warning: row {row} is not a lease and is left out: {fault}"
        ));
    }
    output::print_line(format_args!("wrote {} leases to {}", loaded.leases, path.display()))?;
    match loaded.bad_rows {
        0 => Ok(()),
        count => Err(format!("{count} rows are not leases")),
    }
}

fn upload<F: SqlFamily>(connection: &DatabaseConnectionArgs, path: &Path) -> Result<(), String> {
    let mut database = open(connection, false)?;
    let uploaded = transfer::upload::<F>(&mut database, path).map_err(transfer_error_text)?;
    for problem in uploaded.file.errors.iter().map(ToString::to_string).chain(uploaded.refusals) {
        netio::stderr::print_line(format_args!("warning: {problem}"));
    }
    output::print_line(format_args!(
        "wrote {} leases of {} to the database",
        uploaded.leases,
        path.display()
    ))?;
    match (uploaded.file.bad_rows, uploaded.refused) {
        (0, 0) => Ok(()),
        (0, refused) => Err(format!("the database refused {refused} leases of {}", path.display())),
        (bad, 0) => Err(format!("{bad} rows of {} are not leases", path.display())),
        (bad, refused) => Err(format!(
            "{bad} rows of {} are not leases, and the database refused {refused} leases",
            path.display()
        )),
    }
}

fn open(connection: &DatabaseConnectionArgs, may_create: bool) -> Result<Database, String> {
    let backend = match connection.backend {
        BackendName::Mysql => SqlDatabaseKind::Mysql,
        BackendName::Pgsql => SqlDatabaseKind::Postgresql,
        BackendName::Sqlite => SqlDatabaseKind::Sqlite,
    };
    // SQLite would make a file of any name.
    if backend == SqlDatabaseKind::Sqlite && !may_create && !Path::new(&connection.name).exists() {
        return Err(format!("there is no file {}", connection.name));
    }
    let settings = SqlSettings {
        host: connection.host.clone(),
        port: connection.port,
        socket: connection.socket.clone(),
        user: connection.user.clone(),
        password: password(connection)?,
        trust_anchor: connection.trust_anchor.clone(),
        cert_file: connection.cert_file.clone(),
        key_file: connection.key_file.clone(),
        ssl_mode: connection.ssl_mode,
        ..SqlSettings::new(backend, connection.name.clone())
    };
    Database::open(&settings).map_err(error_text)
}

fn ssl_mode(name: &str) -> Result<DatabaseSslMode, String> {
    DatabaseSslMode::from_name(name).ok_or_else(|| {
        let names = DatabaseSslMode::ALL.map(DatabaseSslMode::name).join(", ");
        format!("must be one of: {names}")
    })
}

fn password(connection: &DatabaseConnectionArgs) -> Result<String, String> {
    if let Some(path) = &connection.password_file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        return Ok(text.lines().next().unwrap_or_default().to_owned());
    }
    let option_value = connection.password.clone();
    Ok(option_value.or_else(|| std::env::var(PASSWORD_VARIABLE).ok()).unwrap_or_default())
}

fn schema_version(database: &mut Database) -> Result<String, String> {
    let version = database.version().map_err(error_text)?;
    version
        .map(|version| version.to_string())
        .ok_or_else(|| "this database has no tables of Kea".to_owned())
}

fn error_text(error: SqlError) -> String {
    error.to_string()
}

fn transfer_error_text(error: TransferError) -> String {
    error.to_string()
}
