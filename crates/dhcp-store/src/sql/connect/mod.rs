//! Connecting: the hosts of a database in turn, and the nodes among them that can be written to.
//!
//! - [`mysql`], [`postgresql`]: one connection to one host, with TLS as the settings say.
//! - [`node`]: what a server says of itself: whether leases can be written there, and whether it
//!   forgets them in a power cut.

pub(super) mod mysql;
pub(super) mod node;
pub(super) mod postgresql;

use super::database::Database;
use super::error::SqlError;
use super::settings::Settings;
use crate::database::Fault;

/// A server whose connection is gone without a word is missed after this time, seconds, and so many
/// questions of the kernel.
pub(super) const KEEPALIVE_IDLE_S: u32 = 10;
pub(super) const KEEPALIVE_INTERVAL_S: u32 = 5;
pub(super) const KEEPALIVE_RETRIES: u32 = 3;

/// A host that leases can be written to.
pub(super) struct Reached {
    pub(super) database: Database,
    /// Its number among the hosts.
    pub(super) number: usize,
    /// What an operator should know of its settings, and of the hosts that were passed over.
    pub(super) notes: Vec<String>,
}

/// Connects to the first host of `settings` that leases can be written to, beginning with number
/// `first` and going round once.
///
/// # Errors
///
/// There is none; the error says of each why.
pub(super) fn reach(settings: &Settings, first: usize) -> Result<Reached, SqlError> {
    let count = settings.host_count();
    let mut passed: Vec<SqlError> = Vec::new();
    for number in (first..first + count).map(|number| number % count) {
        match reach_host(&settings.at_host(number)) {
            Ok((database, weaknesses)) => {
                let passed = passed.iter().map(|error| format!("passed over: {error}"));
                let notes = passed.chain(weaknesses).collect();
                return Ok(Reached { database, number, notes });
            }
            Err(error) => passed.push(error),
        }
    }
    Err(all_of(settings, passed))
}

fn reach_host(settings: &Settings) -> Result<(Database, Vec<String>), SqlError> {
    let mut database = Database::open_host(settings)?;
    let facts = node::facts(&mut database, settings.backend)?;
    if let Some(why) = node::objection(&facts) {
        return Err(SqlError::new(format!("use {settings}"), why).with(Fault::Lost));
    }
    if node::is_of_cluster(&facts) {
        // What was committed at another node before is seen here.
        database.run("SET SESSION wsrep_sync_wait = 1")?;
        // Another node's transaction may undo ours between two statements of one question.
        database.part_writes();
    }
    Ok((database, node::weaknesses(&facts)))
}

/// One error for all hosts: the only one, or what was said of each.
pub(super) fn all_of(settings: &Settings, mut errors: Vec<SqlError>) -> SqlError {
    if errors.len() == 1 {
        return errors.remove(0);
    }
    let is_lost = errors.iter().any(SqlError::is_lost);
    let why: Vec<String> =
        (0..).zip(&errors).map(|(number, error)| format!("{number}: {}", error.cause())).collect();
    let tried = format!(
        "use any of {} hosts of the {} database {}",
        errors.len(),
        settings.backend,
        settings.name
    );
    SqlError::new(tried, why.join("; ")).lost(is_lost)
}
