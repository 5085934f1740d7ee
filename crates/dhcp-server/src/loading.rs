//! Loading of leases into the lease table: several threads check and store the leases, and the log
//! shows progress.

use dhcp_engine::snapshot::Snapshot;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::vec::Drain;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::{ExtendedInfoChecks, LeaseChecks};
use dhcp_control::{ExtendedInfo, IpVersion, check_extended_info};
use dhcp_lease::{Lease, LeaseTable};
use dhcp_store::memfile::{FileRow, Intake, LeaseLoadProgress, take_prefetched};
use netio::Clock;

use crate::log::counted;
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;

/// Time between two log lines about the loading of leases, in nanoseconds.
const INTERVAL_NS: u64 = 5 * NS_PER_S;

/// Schedule of the log lines about the loading of leases.
#[derive(Debug)]
struct LoadLogSchedule {
    began_ns: u64,
    next_ns: AtomicU64,
}

impl LoadLogSchedule {
    const fn new(now: Now) -> Self {
        Self { began_ns: now.mono_ns, next_ns: AtomicU64::new(now.mono_ns + INTERVAL_NS) }
    }

    /// Returns the line about the progress of loading if it is due. Of several threads that call at
    /// once, one gets it.
    fn line(&self, now: Now, progress: LeaseLoadProgress) -> Option<String> {
        let next_ns = self.next_ns.load(Ordering::Relaxed);
        let is_time = now.mono_ns >= next_ns
            && self
                .next_ns
                .compare_exchange(
                    next_ns,
                    now.mono_ns + INTERVAL_NS,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        is_time.then(|| {
            let LeaseLoadProgress { octets, octets_done, rows } = progress;
            let percent = u128::from(octets_done) * 100 / u128::from(octets.max(1));
            let elapsed_ns = u128::from((now.mono_ns - self.began_ns).max(1));
            let rows_per_s = u128::from(rows) * u128::from(NS_PER_S) / elapsed_ns;
            format!("loading: {percent} % of the lease files, {rows} rows, {rows_per_s} rows/s")
        })
    }
}

/// Intake that puts loaded leases into the lease table, with Kea's `sanity-checks` (section 5.11 of
/// the Kea reference).
pub(crate) struct LeaseTableIntake<'l, P: DaemonFamily> {
    table: &'l LeaseTable<P>,
    snapshot: &'l Snapshot<P>,
    checks: LeaseChecks,
    extended_checks: ExtendedInfoChecks,
    log_schedule: LoadLogSchedule,
    /// Number of loaded leases in the lease table.
    leases: AtomicI64,
    /// Number of loaded lease rows with a subnet that does not contain their address
    /// (`lease-checks`); `dropped` counts those dropped for that reason, `upgraded` those with
    /// relay information in an older form.
    wrong: AtomicU64,
    dropped: AtomicU64,
    upgraded: AtomicU64,
}

impl<'l, P: DaemonFamily> LeaseTableIntake<'l, P> {
    pub(crate) fn new(
        checks: LeaseChecks,
        extended_checks: ExtendedInfoChecks,
        table: &'l LeaseTable<P>,
        snapshot: &'l Snapshot<P>,
        now: Now,
    ) -> Self {
        Self {
            table,
            snapshot,
            checks,
            extended_checks,
            log_schedule: LoadLogSchedule::new(now),
            leases: AtomicI64::new(0),
            wrong: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            upgraded: AtomicU64::new(0),
        }
    }

    /// Returns true if the loaded lease `lease` stays; corrects its subnet if `lease-checks` of the
    /// configuration demands it.
    fn correct_subnet(&self, lease: &mut Lease<P>) -> bool {
        let fitting = P::fitting_subnet(self.snapshot, lease);
        if fitting == Some(lease.subnet_id) {
            return true;
        }
        self.wrong.fetch_add(1, Ordering::Relaxed);
        match (self.checks, fitting) {
            (LeaseChecks::Fix | LeaseChecks::FixDel, Some(id)) => lease.subnet_id = id,
            (LeaseChecks::Del, _) | (LeaseChecks::FixDel, None) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            (LeaseChecks::None | LeaseChecks::Warn, _) | (LeaseChecks::Fix, None) => {}
        }
        true
    }

    /// Puts the loaded lease `lease` into the lease table, or removes the lease of its address if
    /// it is dropped; returns the change of the number of leases.
    fn put(&self, mut lease: Lease<P>) -> i64 {
        if !self.correct_subnet(&mut lease) {
            return -i64::from(self.table.unload(lease.address));
        }
        if is_upgraded::<P>(&mut lease, self.extended_checks) {
            self.upgraded.fetch_add(1, Ordering::Relaxed);
        }
        i64::from(self.table.load_row(lease))
    }

    /// Puts one loaded lease into the lease table.
    pub(crate) fn take_one(&self, lease: Lease<P>) {
        self.leases.fetch_add(self.put(lease), Ordering::Relaxed);
    }

    /// Logs the findings about the loaded leases and returns the number of leases in the lease
    /// table.
    pub(crate) fn finish(self) -> usize {
        let upgraded = self.upgraded.into_inner() as usize;
        if upgraded > 0 {
            let count = counted(upgraded, "row");
            tracing::info!(
                target: DHCPSRV,
                id = "DHCPSRV_LEASE_EXTENDED_INFO_UPGRADED",
                "{count} had relay agent information in the form of an older Kea; it is converted \
                 when the leases are next written"
            );
        }
        let (wrong, dropped) = (self.wrong.into_inner(), self.dropped.into_inner());
        if wrong > 0 && self.checks != LeaseChecks::None {
            let count = counted(wrong as usize, "row");
            tracing::warn!(
                target: DHCPSRV,
                id = "DHCPSRV_LEASE_SANITY_FAIL",
                "{count} of leases outside of their subnet; {dropped} dropped (see `lease-checks`)"
            );
        }
        usize::try_from(self.leases.into_inner()).expect("no lease is taken away twice")
    }
}

impl<P: DaemonFamily> Intake<P> for LeaseTableIntake<'_, P> {
    fn take(&self, rows: Drain<'_, FileRow<P>>) {
        let mut leases = 0;
        let expect = |lease: &Lease<P>| self.table.prefetch_load(lease, netio::prefetch);
        take_prefetched(rows, expect, |row| {
            leases += match row {
                FileRow::Lease(lease) => self.put(lease),
                FileRow::Deleted(address) => -i64::from(self.table.unload(address)),
            };
        });
        self.leases.fetch_add(leases, Ordering::Relaxed);
    }

    fn progress(&self, progress: LeaseLoadProgress) {
        if let Some(line) = self.log_schedule.line(Clock::now(), progress) {
            tracing::info!(target: DHCPSRV, id = "DHCPSRV_MEMFILE_LEASE_FILE_PROGRESS", "{line}");
        }
    }
}

/// Checks the relay agent information of the loaded lease `lease` (`extended-info-checks`); returns
/// true if it was in an older form.
fn is_upgraded<P: DaemonFamily>(lease: &mut Lease<P>, checks: ExtendedInfoChecks) -> bool {
    let outcome = check_extended_info::<P>(lease, checks);
    if let ExtendedInfo::Dropped(why) = &outcome {
        let id = match P::VERSION {
            IpVersion::V4 => "DHCPSRV_LEASE4_EXTENDED_INFO_SANITY_FAIL",
            IpVersion::V6 => "DHCPSRV_LEASE6_EXTENDED_INFO_SANITY_FAIL",
        };
        let what = P::resource_text(lease);
        tracing::error!(target: DHCPSRV, id, "dropped invalid relay agent information of {what}: \
                                              {why}");
    }
    outcome == ExtendedInfo::Upgraded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_every_five_seconds_of_loading_and_once() {
        let start = Now { mono_ns: 7 * NS_PER_S, wall_us: 0 };
        let at_s = |s: u64| start.after_ns(s * NS_PER_S);
        let log_schedule = LoadLogSchedule::new(start);
        let half = LeaseLoadProgress { octets: 1_000, octets_done: 505, rows: 10_000 };
        assert_eq!(log_schedule.line(at_s(4), half), None);
        let line = "loading: 50 % of the lease files, 10000 rows, 2000 rows/s";
        assert_eq!(log_schedule.line(at_s(5), half).as_deref(), Some(line));
        assert_eq!(log_schedule.line(at_s(5), half), None);
        assert_eq!(log_schedule.line(at_s(9), half), None);
        // A chunk that took long is not followed by a line for each missed interval.
        assert!(log_schedule.line(at_s(23), half).is_some());
        assert_eq!(log_schedule.line(at_s(27), half), None);
        let all = LeaseLoadProgress { octets: 1_000, octets_done: 1_000, rows: 20_000 };
        let line = "loading: 100 % of the lease files, 20000 rows, 500 rows/s";
        assert_eq!(log_schedule.line(at_s(40), all).as_deref(), Some(line));
    }
}
