//! End and restart of a database server in the middle of a trial.

use measure::plan::LeaseStoreKind;
use measure::record::{LoadRecord, Purpose, RestartTimes};
use netio::Clock;

use super::topology::BenchTopology;
use crate::driver;
use crate::error::LabResult;

/// Interval of the generator's counts in trials with a restart of the database, in seconds.
pub(super) const INTERVAL_S: &str = "0.1";

/// Times of the restart of a database server, in nanoseconds of the monotonic clock, which the
/// generator's timeline also uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatabaseRestart {
    ended_ns: u64,
    started_ns: u64,
    answered_ns: u64,
}

impl DatabaseRestart {
    /// Converts the times of the database's restart to seconds from the due time of the first
    /// exchange of `load`.
    pub(super) fn since_due(self, load: &LoadRecord) -> RestartTimes {
        let due_ns = load.timeline.as_ref().map_or(self.ended_ns, |timeline| timeline.start_ns);
        let since = |ns: u64| (ns as f64 - due_ns as f64) / 1e9;
        RestartTimes {
            ended_at_s: since(self.ended_ns),
            started_at_s: since(self.started_ns),
            answered_at_s: since(self.answered_ns),
        }
    }
}

impl BenchTopology<'_> {
    /// Ends the database server of `store` in the way of `purpose`, and starts it again at once;
    /// `None` for a store without a database.
    pub(super) fn restart_database(
        &mut self,
        store: LeaseStoreKind,
        purpose: Purpose,
    ) -> LabResult<Option<DatabaseRestart>> {
        let engine = driver::engine(store);
        let Some(database) =
            self.databases.iter_mut().find(|database| Some(database.engine()) == engine)
        else {
            return Ok(None);
        };
        let ended_ns = Clock::mono_ns();
        if purpose == Purpose::DatabaseKill {
            database.kill();
        } else {
            database.stop()?;
        }
        let started_ns = Clock::mono_ns();
        database.launch()?;
        let answered_ns = Clock::mono_ns();
        if let Some(pid) = database.pid() {
            self.run.register_group(pid)?;
        }
        Ok(Some(DatabaseRestart { ended_ns, started_ns, answered_ns }))
    }
}

#[cfg(test)]
mod tests {
    use measure::record::LoadTimeline;

    use super::*;

    #[test]
    fn times_count_from_the_first_due_exchange() {
        let restart = DatabaseRestart {
            ended_ns: 7_500_000_000,
            started_ns: 8_000_000_000,
            answered_ns: 9_000_000_000,
        };
        let mut load = LoadRecord::default();
        assert_eq!(restart.since_due(&load).answered_at_s, 1.5);
        load.timeline = Some(LoadTimeline { start_ns: 2_000_000_000, ..LoadTimeline::default() });
        let since = restart.since_due(&load);
        assert_eq!((since.ended_at_s, since.started_at_s, since.answered_at_s), (5.5, 6.0, 7.0));
    }
}
