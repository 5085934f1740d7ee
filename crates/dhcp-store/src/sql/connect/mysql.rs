//! Connection to one MariaDB or MySQL server.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mysql::error::DriverError;
use mysql::{ClientIdentity, Conn, OptsBuilder, SslOpts};

use super::super::error::SqlError;
use super::super::settings::{DatabaseSslMode, SqlSettings};
use super::super::{fault, tls};
use super::{KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_RETRIES};
use crate::database::DatabaseFault;

/// Statements that begin every session with a MariaDB or MySQL server.
const INIT: [&str; 6] = [
    "SET time_zone = '+00:00'",
    "SET NAMES binary",
    // Missing rows are not locked: two servers would lock each other out.
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    // These are Kea's settings: the server keeps a session for thirty days without a client, and
    // nothing waits for a commit that the client never sends. The maximum is less on some systems,
    // which then use theirs.
    "SET SESSION wait_timeout = 2592000",
    "SET SESSION autocommit = 1",
    // A value that does not fit is an error of its row; the server does not truncate it.
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES'",
];

/// Connects to the MariaDB or MySQL server of `settings`.
///
/// # Errors
///
/// Returns an error if the server is unreachable, its certificate is not trusted, or it does not
/// accept this user.
pub(in crate::sql) fn connect(settings: &SqlSettings) -> Result<Conn, SqlError> {
    let tried = || format!("open {settings}");
    let tls = ssl(settings).map_err(|why| SqlError::new(tried(), why))?;
    let explain = |error: mysql::Error| match tls::reason(settings, inner(&error)) {
        Some(why) => SqlError::new(tried(), why),
        None => failed(tried(), &error),
    };
    let is_encrypted = tls.is_some();
    match dial(settings, tls) {
        Err(error) if is_encrypted && tls::may_do_without(settings) && !is_refusal(&error) => {
            dial(settings, None).map_err(explain)
        }
        Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) => {
            Err(SqlError::new(tried(), "the server has no TLS"))
        }
        result => result.map_err(explain),
    }
}

/// Returns true if the MariaDB or MySQL server itself refused the connection, as it would without
/// TLS as well.
const fn is_refusal(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(_))
}

/// Returns the inner error of a driver's error, whose message hides it.
fn inner(error: &mysql::Error) -> &(dyn Error + 'static) {
    match error {
        mysql::Error::IoError(error) => error,
        mysql::Error::CodecError(error) => error,
        mysql::Error::TlsError(error) => error,
        other => other,
    }
}

/// Converts an error of the MySQL driver in the operation `tried` to an [`SqlError`].
pub(in crate::sql) fn failed(tried: String, error: &mysql::Error) -> SqlError {
    let fault = match error {
        mysql::Error::MySqlError(error) => fault::from_mysql(error.code, &error.state),
        error if error.is_connectivity_error() => DatabaseFault::ConnectionLost,
        _ => DatabaseFault::Permanent,
    };
    // The driver's own messages are names of its types.
    let text = match error {
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, cause, _)))) => {
            format!("no server answers there ({cause})")
        }
        mysql::Error::DriverError(DriverError::CouldNotConnect(None)) => {
            "no server answers there".to_owned()
        }
        mysql::Error::DriverError(DriverError::ConnectTimeout) => {
            "no server answers there in time".to_owned()
        }
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        mysql::Error::MySqlError(error) => {
            format!("the server reports: {} (error {}, {})", error.message, error.code, error.state)
        }
        other => other.to_string(),
    };
    SqlError::new(tried, text).with(fault)
}

/// Returns the MySQL driver's TLS options for `settings`; `None` for a connection without TLS.
fn ssl(settings: &SqlSettings) -> Result<Option<SslOpts>, String> {
    let mode = settings.tls();
    if mode == DatabaseSslMode::Disable {
        return Ok(None);
    }
    // The driver reads the files again, and its errors would not name the unusable one.
    tls::client_config(settings)?;
    if let Some(folder) = settings.trust_anchor.as_ref().filter(|anchor| anchor.is_dir()) {
        let folder = folder.display();
        return Err(format!("{folder} is a folder: with MySQL the trust-anchor must be a file"));
    }
    let identity = settings.cert_file.clone().zip(settings.key_file.clone());
    let options = SslOpts::default()
        .with_root_cert_path(settings.trust_anchor.clone())
        .with_client_identity(identity.map(|(chain, key)| ClientIdentity::new(chain, key)))
        .with_cipher_suites(&tls::suites(settings)?)
        .with_danger_skip_domain_validation(mode != DatabaseSslMode::VerifyFull)
        .with_danger_accept_invalid_certs(settings.trust_anchor.is_none());
    Ok(Some(options))
}

/// Connects to the first address of the MariaDB or MySQL host that answers. The driver alone would
/// only try the first address, and on the first address of `localhost` often no server listens.
fn dial(settings: &SqlSettings, tls: Option<SslOpts>) -> mysql::Result<Conn> {
    let first = dial_by(settings, tls.clone(), None);
    match first {
        Err(mysql::Error::DriverError(DriverError::CouldNotConnect(_))) => {
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            dial_by(settings, tls, Some(any)).or(first)
        }
        result => result,
    }
}

/// Connects to the MariaDB or MySQL host by addresses of the family of `local`, in a thread of its
/// own: the driver limits the time of the connection, but not that of the handshake.
fn dial_by(
    settings: &SqlSettings,
    tls: Option<SslOpts>,
    local: Option<SocketAddr>,
) -> mysql::Result<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(settings.host.clone()))
        .tcp_port(settings.port())
        .socket(settings.socket.as_ref().map(|path| path.display().to_string()))
        .bind_address(local)
        .prefer_socket(false)
        .user(Some(settings.user.clone()))
        .pass(Some(settings.password.clone()))
        .db_name(Some(settings.name.clone()))
        .tcp_connect_timeout(Some(settings.connect_timeout))
        .tcp_keepalive_time_ms(Some(KEEPALIVE_IDLE_S * 1000))
        .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL_S))
        .tcp_keepalive_probe_count(Some(KEEPALIVE_RETRIES))
        .read_timeout(settings.read_timeout)
        .write_timeout(settings.write_timeout)
        .ssl_opts(tls)
        .init(INIT.to_vec());
    let (sender, receiver) = channel();
    let dialing = std::thread::Builder::new().name("lease-database-dial".into()).spawn(move || {
        // After the time limit, the receiver is gone.
        let _ = sender.send(Conn::new(options));
    });
    dialing.map_err(mysql::Error::IoError)?;
    let limit = settings.connect_timeout.max(Duration::from_secs(1));
    receiver.recv_timeout(limit).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(mysql::Error::DriverError(DriverError::ConnectTimeout)),
        RecvTimeoutError::Disconnected => Err(mysql::Error::server_disconnected()),
    })
}
