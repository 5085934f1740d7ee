//! Counts of a perfdhcp run before their interpretation: of one generator, or the sum of several
//! generators' counts.

use netio::send::SendCounts;

use super::account::ExchangeAccount;
use super::dialect::{Dialect, ExchangeKind};
use super::drive::{PerfdhcpLoopResult, SendingEndReason};
use super::traffic::{LinkCounts, RequestTraffic};
use crate::leases::{LeaseLog, LeasedResource};

/// Counts of a generator's run. All times are nanoseconds from the start of the run.
#[derive(Clone, Debug)]
pub(crate) struct GeneratorOutcome<R: LeasedResource> {
    /// Accounts of each kind of exchange, by [`ExchangeKind::index`].
    pub(crate) accounts: [ExchangeAccount; ExchangeKind::COUNT],
    /// Logs of the leases granted, and of the addresses offered.
    pub(crate) leases: [LeaseLog<R>; 2],
    pub(crate) received: u64,
    pub(crate) malformed: u64,
    pub(crate) too_short: u64,
    pub(crate) local_limit: u64,
    pub(crate) preloaded: [u64; 2],
    pub(crate) link: LinkCounts,
    /// Time of the last reply that was on time, in nanoseconds from the start of the run.
    pub(crate) answered_ns: u64,
    /// Number of whole exchanges on time that count in the rate ([`load::Throughput`]).
    pub(crate) counted: u64,
    /// Time after the last request left that the counted exchanges took, in nanoseconds.
    pub(crate) overtime_ns: u64,
    pub(crate) loop_result: PerfdhcpLoopResult,
}

impl<R: LeasedResource> GeneratorOutcome<R> {
    /// Creates an empty outcome, to which the outcomes of generators are added.
    pub(crate) fn none(reason: SendingEndReason) -> Self {
        Self {
            accounts: Default::default(),
            leases: [(); 2].map(|()| LeaseLog::with_capacity(0)),
            received: 0,
            malformed: 0,
            too_short: 0,
            local_limit: 0,
            preloaded: [0; 2],
            link: LinkCounts::default(),
            answered_ns: 0,
            counted: 0,
            overtime_ns: 0,
            loop_result: PerfdhcpLoopResult {
                reason,
                start_ns: 0,
                sending_end_ns: 0,
                end_ns: 0,
                idle_turns: 0,
                sends: SendCounts::default(),
                socket_drops: 0,
                cpu_ns: 0,
            },
        }
    }

    /// Takes the leases out of `traffic` and returns the counts of its run.
    pub(crate) fn from_traffic<D: Dialect<Resource = R>>(
        traffic: &mut RequestTraffic<D>,
        done: PerfdhcpLoopResult,
    ) -> Self {
        let from_start = |ns: u64| ns.saturating_sub(done.start_ns);
        let counted = traffic.throughput.counted();
        let mut logs = std::mem::take(&mut traffic.leases).into_iter();
        Self {
            accounts: traffic.accounts.clone(),
            leases: [(); 2].map(|()| {
                let log = logs.next().unwrap_or_else(|| LeaseLog::with_capacity(0));
                log.rebased()
            }),
            received: traffic.received,
            malformed: traffic.malformed,
            too_short: traffic.too_short,
            local_limit: traffic.local_limit,
            preloaded: traffic.preloaded,
            link: traffic.link,
            answered_ns: from_start(traffic.answered_ns),
            counted: counted.completed,
            overtime_ns: counted.overtime_ns,
            loop_result: PerfdhcpLoopResult {
                start_ns: 0,
                sending_end_ns: from_start(done.sending_end_ns),
                end_ns: from_start(done.end_ns),
                ..done
            },
        }
    }

    /// Adds the outcome of another generator of the same run.
    pub(crate) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.accounts.iter_mut().zip(&other.accounts) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.leases.iter_mut().zip(other.leases) {
            mine.merge(theirs);
        }
        self.received += other.received;
        self.malformed += other.malformed;
        self.too_short += other.too_short;
        self.local_limit += other.local_limit;
        self.preloaded[0] += other.preloaded[0];
        self.preloaded[1] += other.preloaded[1];
        self.link.merge(&other.link);
        self.answered_ns = self.answered_ns.max(other.answered_ns);
        self.counted += other.counted;
        self.overtime_ns = self.overtime_ns.max(other.overtime_ns);
        let (done, its) = (&mut self.loop_result, other.loop_result);
        if its.reason == SendingEndReason::Interrupted {
            done.reason = its.reason;
        }
        done.sending_end_ns = done.sending_end_ns.max(its.sending_end_ns);
        done.end_ns = done.end_ns.max(its.end_ns);
        done.idle_turns += its.idle_turns;
        done.sends.merge(&its.sends);
        done.socket_drops += its.socket_drops;
        done.cpu_ns += its.cpu_ns;
    }
}
