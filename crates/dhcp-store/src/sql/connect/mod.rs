//! Connections to an SQL database: its hosts in turn, and the nodes among them that can be written
//! to.
//!
//! - [`mysql`], [`postgresql`]: one connection to one host, with TLS as the settings say.
//! - [`node`]: settings and states that a database server reports, which show if leases can be
//!   written there and if they survive a power cut.

pub(super) mod mysql;
pub(super) mod node;
pub(super) mod postgresql;

use super::database::Database;
use super::error::SqlError;
use super::settings::SqlSettings;
use crate::database::DatabaseFault;

/// Idle time of a database connection before the first TCP keepalive probe, in seconds.
pub(super) const KEEPALIVE_IDLE_S: u32 = 10;
/// Time between two TCP keepalive probes on a database connection, in seconds.
pub(super) const KEEPALIVE_INTERVAL_S: u32 = 5;
/// Number of unanswered TCP keepalive probes after which a database connection counts as lost.
pub(super) const KEEPALIVE_RETRIES: u32 = 3;

/// Connection to a database host that leases can be written to.
pub(super) struct ReachedHost {
    pub(super) database: Database,
    /// Number of the host among the configured ones, from 0.
    pub(super) number: usize,
    /// Notes for the operator about the database host's settings, and about the hosts that were
    /// passed over.
    pub(super) notes: Vec<String>,
}

/// Connects to the first host of `settings` that leases can be written to, beginning with number
/// `first`, and trying each host once.
///
/// # Errors
///
/// Returns an error if there is no such host; it has the reason for each host.
pub(super) fn reach(settings: &SqlSettings, first: usize) -> Result<ReachedHost, SqlError> {
    let count = settings.host_count();
    let mut passed: Vec<SqlError> = Vec::new();
    for number in (first..first + count).map(|number| number % count) {
        match reach_host(&settings.at_host(number)) {
            Ok((database, weaknesses)) => {
                let passed = passed.iter().map(|error| format!("skipped: {error}"));
                let notes = passed.chain(weaknesses).collect();
                return Ok(ReachedHost { database, number, notes });
            }
            Err(error) => passed.push(error),
        }
    }
    Err(all_of(settings, passed))
}

fn reach_host(settings: &SqlSettings) -> Result<(Database, Vec<String>), SqlError> {
    let mut database = Database::open_host(settings)?;
    let facts = node::facts(&mut database, settings.backend)?;
    if let Some(why) = node::objection(&facts) {
        return Err(
            SqlError::new(format!("use {settings}"), why).with(DatabaseFault::ConnectionLost)
        );
    }
    if node::is_of_cluster(&facts) {
        // Statements here see the commits of other nodes.
        database.run("SET SESSION wsrep_sync_wait = 1")?;
        // Another node's transaction may undo ours between two statements of one query.
        database.part_writes();
    }
    Ok((database, node::weaknesses(&facts)))
}

/// Returns one error for all database hosts: the only one, or one with the cause of each.
pub(super) fn all_of(settings: &SqlSettings, mut errors: Vec<SqlError>) -> SqlError {
    if errors.len() == 1 {
        return errors.remove(0);
    }
    let is_connection_lost = errors.iter().any(SqlError::is_connection_lost);
    let why: Vec<String> =
        (0..).zip(&errors).map(|(number, error)| format!("{number}: {}", error.cause())).collect();
    let tried = format!(
        "use any of the {} hosts of the {} database {}",
        errors.len(),
        settings.backend,
        settings.name
    );
    SqlError::new(tried, why.join("; ")).lost(is_connection_lost)
}
