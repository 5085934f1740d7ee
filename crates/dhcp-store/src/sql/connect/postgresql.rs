//! Connection to one PostgreSQL server.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode as DriverMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error, NoTls, Socket};

use super::super::error::SqlError;
use super::super::fault;
use super::super::settings::{DatabaseSslMode, SqlSettings};
use super::super::tls::{self, Connector};
use super::{KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_RETRIES};
use crate::database::DatabaseFault;

/// Settings of a PostgreSQL session. `enable_seqscan=off`: a statement that is prepared while a
/// table is small must use the index, since the table grows. `jit=off`: no statement here is worth
/// compiling.
const OPTIONS: &str = "-c timezone=UTC -c enable_seqscan=off -c jit=off";

/// Connects to the PostgreSQL server of `settings`; `runtime` drives the connection.
///
/// # Errors
///
/// Returns an error if the server is unreachable, its certificate is not trusted, or it does not
/// accept this user.
pub(in crate::sql) fn connect(
    runtime: &Runtime,
    settings: &SqlSettings,
) -> Result<Client, SqlError> {
    let tried = || format!("open {settings}");
    let explain = |error: Error| match tls::reason(settings, &error) {
        Some(why) => SqlError::new(tried(), why),
        None => failed(tried(), &error),
    };
    if settings.tls() == DatabaseSslMode::Disable {
        return dial(runtime, settings, DriverMode::Disable, NoTls)?.map_err(explain);
    }
    let config = tls::client_config(settings).map_err(|why| SqlError::new(tried(), why))?;
    let is_needed = !tls::may_do_without(settings);
    let mode = if is_needed { DriverMode::Require } else { DriverMode::Prefer };
    match dial(runtime, settings, mode, Connector::new(config))? {
        Err(error) if !is_needed && tls::reason(settings, &error).is_some() => {
            dial(runtime, settings, DriverMode::Disable, NoTls)?.map_err(explain)
        }
        result => result.map_err(explain),
    }
}

/// Tries once to connect to the PostgreSQL server; the outer error means that the attempt took too
/// long.
fn dial<T>(
    runtime: &Runtime,
    settings: &SqlSettings,
    mode: DriverMode,
    tls: T,
) -> Result<Result<Client, Error>, SqlError>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let limit = settings.connect_timeout.max(Duration::from_secs(1));
    let mut config = Config::new();
    config
        .host(&settings.host)
        .port(settings.port())
        .user(&settings.user)
        .password(&settings.password)
        .dbname(&settings.name)
        .options(OPTIONS)
        .connect_timeout(limit)
        .keepalives_idle(Duration::from_secs(KEEPALIVE_IDLE_S.into()))
        .keepalives_interval(Duration::from_secs(KEEPALIVE_INTERVAL_S.into()))
        .keepalives_retries(KEEPALIVE_RETRIES)
        .ssl_mode(mode);
    if let Some(timeout) = settings.tcp_user_timeout {
        config.tcp_user_timeout(timeout);
    }
    runtime.block_on(async {
        let attempt = tokio::time::timeout(limit, config.connect(tls)).await;
        let attempt = attempt.map_err(|_| {
            let why = format!("no answer came within {} s", limit.as_secs());
            SqlError::new(format!("open {settings}"), why).with(DatabaseFault::ConnectionLost)
        })?;
        Ok(attempt.map(|(client, connection)| {
            // The next statement sees the end of the connection.
            tokio::spawn(async { drop(connection.await) });
            client
        }))
    })
}

/// Converts an error of the PostgreSQL driver in the operation `tried` to an [`SqlError`].
pub(in crate::sql) fn failed(tried: String, error: &Error) -> SqlError {
    // The driver's own message only says that the database reported an error.
    let words = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => {
            error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    };
    let is_cut = error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>());
    let fault =
        error.code().map_or(DatabaseFault::Permanent, |code| fault::from_postgresql(code.code()));
    SqlError::new(tried, words).with(fault).lost(is_cut)
}
