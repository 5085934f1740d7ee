//! A connection to one MariaDB or MySQL server.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mysql::error::DriverError;
use mysql::{ClientIdentity, Conn, OptsBuilder, SslOpts};

use super::super::error::SqlError;
use super::super::settings::{Settings, SslMode};
use super::super::{fault, tls};
use super::{KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_RETRIES};
use crate::database::Fault;

/// What every session begins with.
const INIT: [&str; 6] = [
    "SET time_zone = '+00:00'",
    "SET NAMES binary",
    // Rows that are not there are not locked: two servers would lock each other out.
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    // As Kea has it: thirty days without a client end no session, and nothing waits for a commit
    // that no one sends. The maximum is less on some systems, which then take theirs.
    "SET SESSION wait_timeout = 2592000",
    "SET SESSION autocommit = 1",
    // A value that does not fit is an error of its row, not cut.
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES'",
];

/// Connects.
///
/// # Errors
///
/// The server cannot be reached, is not believed, or does not let this user in.
pub(in crate::sql) fn connect(settings: &Settings) -> Result<Conn, SqlError> {
    let tried = || format!("open {settings}");
    let tls = ssl(settings).map_err(|why| SqlError::new(tried(), why))?;
    let told = |error: mysql::Error| match tls::reason(settings, inner(&error)) {
        Some(why) => SqlError::new(tried(), why),
        None => failed(tried(), &error),
    };
    let is_encrypted = tls.is_some();
    match dial(settings, tls) {
        Err(error) if is_encrypted && tls::may_do_without(settings) && !is_refusal(&error) => {
            dial(settings, None).map_err(told)
        }
        Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) => {
            Err(SqlError::new(tried(), "the server has no TLS"))
        }
        result => result.map_err(told),
    }
}

/// Whether the server itself said no, which it would say without TLS too.
const fn is_refusal(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(_))
}

/// What the error says, below the words of the driver, which hides it.
fn inner(error: &mysql::Error) -> &(dyn Error + 'static) {
    match error {
        mysql::Error::IoError(error) => error,
        mysql::Error::CodecError(error) => error,
        mysql::Error::TlsError(error) => error,
        other => other,
    }
}

/// An error of the driver as ours.
pub(in crate::sql) fn failed(tried: String, error: &mysql::Error) -> SqlError {
    let fault = match error {
        mysql::Error::MySqlError(error) => fault::of_mysql(error.code, &error.state),
        error if error.is_connectivity_error() => Fault::Lost,
        _ => Fault::Permanent,
    };
    // The driver's own words are names of its types.
    let said = match error {
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, cause, _)))) => {
            format!("nothing answers there ({cause})")
        }
        mysql::Error::DriverError(DriverError::CouldNotConnect(None)) => {
            "nothing answers there".to_owned()
        }
        mysql::Error::DriverError(DriverError::ConnectTimeout) => {
            "nothing answers there in time".to_owned()
        }
        mysql::Error::DriverError(error) => error.to_string(),
        mysql::Error::IoError(error) => error.to_string(),
        mysql::Error::MySqlError(error) => {
            format!("the server says: {} (error {}, {})", error.message, error.code, error.state)
        }
        other => other.to_string(),
    };
    SqlError::new(tried, said).with(fault)
}

/// What the driver has to know of TLS; `None` for none.
fn ssl(settings: &Settings) -> Result<Option<SslOpts>, String> {
    let mode = settings.tls();
    if mode == SslMode::Disable {
        return Ok(None);
    }
    // The driver reads the files again, and would not say which of them does not serve.
    tls::client_config(settings)?;
    if let Some(folder) = settings.trust_anchor.as_ref().filter(|anchor| anchor.is_dir()) {
        let folder = folder.display();
        return Err(format!("{folder} is a folder: the trust-anchor of MySQL is a file here"));
    }
    let identity = settings.cert_file.clone().zip(settings.key_file.clone());
    let options = SslOpts::default()
        .with_root_cert_path(settings.trust_anchor.clone())
        .with_client_identity(identity.map(|(chain, key)| ClientIdentity::new(chain, key)))
        .with_cipher_suites(&tls::suites(settings)?)
        .with_danger_skip_domain_validation(mode != SslMode::VerifyFull)
        .with_danger_accept_invalid_certs(settings.trust_anchor.is_none());
    Ok(Some(options))
}

/// Connects to the first address of the host that answers. The driver gives up after the first one
/// when it may use any, and `localhost` is often an address first that no server listens on.
fn dial(settings: &Settings, tls: Option<SslOpts>) -> mysql::Result<Conn> {
    let first = dial_by(settings, tls.clone(), None);
    match first {
        Err(mysql::Error::DriverError(DriverError::CouldNotConnect(_))) => {
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            dial_by(settings, tls, Some(any)).or(first)
        }
        result => result,
    }
}

/// Connects by addresses of the family of `local`, in a thread of its own: the driver bounds the time
/// of the connection, not that of the handshake.
fn dial_by(
    settings: &Settings,
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
        // Nobody listens any more when it took too long.
        let _ = sender.send(Conn::new(options));
    });
    dialing.map_err(mysql::Error::IoError)?;
    let limit = settings.connect_timeout.max(Duration::from_secs(1));
    receiver.recv_timeout(limit).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(mysql::Error::DriverError(DriverError::ConnectTimeout)),
        RecvTimeoutError::Disconnected => Err(mysql::Error::server_disconnected()),
    })
}
