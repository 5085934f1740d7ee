//! Lease backend in an SQL database: connecting, loading, and the thread that writes leases.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dhcp_config::{Durability, GlobalSettings, OnFail, SecretSource, SqlDatabase, SqlKind};
use dhcp_lease::LeaseTable;
use dhcp_store::database::{
    DatabaseError, DatabaseThread, DatabaseThreadOptions, LeaseDatabaseConnection, OnLoss,
};
use dhcp_store::log::{self, SharedLogState};
use dhcp_store::regular_file;
use dhcp_store::sql::settings::DatabaseSslMode;
use dhcp_store::sql::{SharedLeases, SqlDatabaseKind, SqlSettings};
use netio::Clock;

use crate::ServerError;
use crate::loading::LeaseTableIntake;
use crate::log::counted;
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;

/// Path of the socket of Debian's MariaDB servers. Kea's client library uses this socket when the
/// host is `localhost`, instead of a TCP connection.
const MYSQL_SOCKET: &str = "/run/mysqld/mysqld.sock";
const LOCALHOST: &str = "localhost";

/// Connects to the lease database `database` and loads its leases.
pub(super) fn open<P: DaemonFamily>(
    config: &GlobalSettings,
    database: &SqlDatabase,
    loading: LeaseTableIntake<'_, P>,
) -> Result<SharedLeases, ServerError> {
    let settings = settings(config, database)?;
    let source = settings.to_string();
    let id = match database.kind {
        SqlKind::Mysql => "DHCPSRV_MYSQL_DB",
        SqlKind::Postgresql => "DHCPSRV_PGSQL_DB",
        SqlKind::Sqlite => "DHCPSRV_SQLITE_DB",
    };
    tracing::info!(target: DHCPSRV, id, "opening the {source} for leases");
    let mut leases = SharedLeases::new(settings);
    let mut tries_left = if database.retries_on_startup { database.max_reconnect_tries } else { 0 };
    let notes = loop {
        match LeaseDatabaseConnection::<P>::connect(&mut leases) {
            Ok(notes) => break notes,
            Err(error) if tries_left > 0 => {
                tracing::warn!(
                    target: DHCPSRV,
                    id = "DHCPSRV_LEASE_DATABASE_RETRY",
                    "{error}; {} left", counted(tries_left as usize, "attempt")
                );
                tries_left -= 1;
                let wait_ms = u64::from(database.reconnect_wait_time_ms);
                std::thread::sleep(Duration::from_millis(wait_ms));
            }
            Err(error) => return Err(failed(&error)),
        }
    };
    for note in notes {
        tracing::warn!(target: DHCPSRV, id = "DHCPSRV_LEASE_DATABASE_NOTE", "{source}: {note}");
    }
    let notes =
        LeaseDatabaseConnection::<P>::load(&mut leases, &mut |lease| loading.take_one(lease))
            .map_err(|error| failed(&error))?;
    for note in notes {
        tracing::warn!(target: DHCPSRV, id = "DHCPSRV_LEASE_SANITY_FAIL", "{note}");
    }
    let count = counted(loading.finish(), "lease");
    let id = "DHCPSRV_LEASE_DATABASE_LOAD";
    tracing::info!(target: DHCPSRV, id, "loaded {count} from the {source}");
    Ok(leases)
}

fn failed(error: &DatabaseError) -> ServerError {
    ServerError::Leases(error.to_string())
}

/// Starts the thread that writes leases to the database.
pub(super) fn start<P: DaemonFamily>(
    config: &GlobalSettings,
    database: &SqlDatabase,
    leases: SharedLeases,
    shards: Arc<SharedLogState>,
    table: Arc<LeaseTable<P>>,
) -> Result<DatabaseThread<P>, ServerError> {
    let tries_max = match database.on_fail {
        OnFail::StopRetryExit | OnFail::ServeRetryExit => database.max_reconnect_tries,
        OnFail::ServeRetryContinue => u32::MAX,
    };
    let wait_ms = match database.on_fail {
        OnFail::ServeRetryContinue => database.reconnect_wait_time_ms.max(super::RETRY_MS),
        _ => database.reconnect_wait_time_ms,
    };
    let is_shared = config.lease_database.is_shared(&config.godwit.lease_database);
    let options = DatabaseThreadOptions { on_loss: OnLoss { tries_max, wait_ms }, is_shared };
    DatabaseThread::start(shards, table, leases, options, Box::new(Clock::now)).map_err(|cause| {
        ServerError::System { tried: "start the thread of the lease database", cause }
    })
}

/// Converts the configuration of a lease database to connection settings.
pub(crate) fn settings(
    config: &GlobalSettings,
    database: &SqlDatabase,
) -> Result<SqlSettings, ServerError> {
    let backend = match database.kind {
        SqlKind::Mysql => SqlDatabaseKind::Mysql,
        SqlKind::Postgresql => SqlDatabaseKind::Postgresql,
        SqlKind::Sqlite => SqlDatabaseKind::Sqlite,
    };
    let timeout = |seconds: u32| (seconds > 0).then(|| Duration::from_secs(seconds.into()));
    let path = |path: &Option<String>| path.as_ref().map(PathBuf::from);
    Ok(SqlSettings {
        host: database.host.clone(),
        port: database.port,
        socket: socket(database, Path::new(MYSQL_SOCKET)),
        user: database.user.clone(),
        password: password(&database.password)?,
        connect_timeout: Duration::from_secs(u64::from(database.connect_timeout_s).max(1)),
        read_timeout: timeout(database.read_timeout_s),
        write_timeout: timeout(database.write_timeout_s),
        tcp_user_timeout: timeout(database.tcp_user_timeout_s),
        hosts: config.godwit.lease_database.hosts.clone(),
        ssl_mode: database.tls.mode.map(ssl_mode),
        trust_anchor: path(&database.tls.trust_anchor),
        cert_file: path(&database.tls.cert_file),
        key_file: path(&database.tls.key_file),
        cipher_list: database.tls.cipher_list.clone(),
        durability: match config.godwit.durability {
            Durability::None => log::RowDurability::None,
            Durability::Interval => log::RowDurability::Interval(config.godwit.flush_interval_ms),
            Durability::Always => log::RowDurability::Always,
        },
        ..SqlSettings::new(backend, database.name.clone())
    })
}

const fn ssl_mode(mode: dhcp_config::SslMode) -> DatabaseSslMode {
    match mode {
        dhcp_config::SslMode::Disable => DatabaseSslMode::Disable,
        dhcp_config::SslMode::Prefer => DatabaseSslMode::Prefer,
        dhcp_config::SslMode::Require => DatabaseSslMode::Require,
        dhcp_config::SslMode::VerifyCa => DatabaseSslMode::VerifyCa,
        dhcp_config::SslMode::VerifyFull => DatabaseSslMode::VerifyFull,
    }
}

/// Returns the path of the socket that a MySQL client would use for `database`, if `path` exists.
fn socket(database: &SqlDatabase, path: &Path) -> Option<PathBuf> {
    let is_meant =
        database.kind == SqlKind::Mysql && database.host == LOCALHOST && database.port.is_none();
    (is_meant && path.exists()).then(|| path.to_owned())
}

fn password(secret: &SecretSource) -> Result<String, ServerError> {
    match secret {
        SecretSource::Text(text) => Ok(text.clone()),
        SecretSource::File(path) => {
            let text = regular_file::read_text(path.as_ref()).map_err(|cause| {
                let text =
                    format!("cannot read the password of the lease database, {path}: {cause}");
                ServerError::Leases(text)
            })?;
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn localhost_is_the_socket_to_mysql_alone() {
        let at = |kind, host: &str, port, path: &str| {
            let database = SqlDatabase { host: host.into(), port, ..SqlDatabase::new(kind, "kea") };
            socket(&database, Path::new(path)).is_some()
        };
        let here = "/proc/self/exe";
        assert!(at(SqlKind::Mysql, "localhost", None, here));
        assert!(!at(SqlKind::Mysql, "localhost", Some(3306), here));
        assert!(!at(SqlKind::Mysql, "127.0.0.1", None, here));
        assert!(!at(SqlKind::Mysql, "localhost", None, "/nowhere/mysqld.sock"));
        assert!(!at(SqlKind::Postgresql, "localhost", None, here));
    }

    #[test]
    fn a_password_is_the_first_line_of_its_file() {
        let folder = TempFolder::new("password");
        let path = folder.path().join("password");
        std::fs::write(&path, "secret\nnot this\n").unwrap();
        let secret = SecretSource::File(path.display().to_string());
        assert_eq!(password(&secret).unwrap(), "secret");
        std::fs::remove_file(&path).unwrap();
        let error = password(&secret).unwrap_err().to_string();
        assert!(error.starts_with("cannot read the password of the lease database, "), "{error}");
    }
}
