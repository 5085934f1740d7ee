//! Loop of `godwit perfdhcp` between schedules, requests and one socket or link ([`crate::wire`]),
//! like that of [`crate::drive`] for whole exchanges: it never sends early.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use load::Schedule;
use netio::Clock;
use netio::send::SendCounts;
use serde::{Deserialize, Serialize};

use super::account::ExchangeAccount;
use super::dialect::{Dialect, ExchangeKind};
use super::traffic::RequestTraffic;
use crate::drive::LINGER_NS;
use crate::wire::GeneratorSocket;

/// Kinds of requests that [`PerfdhcpRun::lease_schedules`] has due times for.
const LEASE_KINDS: [ExchangeKind; 2] = [ExchangeKind::Renewal, ExchangeKind::Release];

/// Rule for the due times of a run's first requests.
#[derive(Clone, Debug)]
pub enum RequestPacing {
    /// First requests are due when a schedule says so.
    Scheduled(Schedule),
    /// This many first requests per send and receive cycle, each due when it is begun, as long as
    /// there is room.
    BestEffort(u32),
    /// This many first requests, all due at the start.
    AtOnce(u64),
}

/// Limits that end a perfdhcp run.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Largest numbers of first and of second requests (`-n`); `None` for any number.
    pub counts: [Option<u64>; 2],
    /// Length of the run in nanoseconds from the start; `None` for any length.
    pub period_ns: Option<u64>,
    /// True if the period ends a run only when all first requests of its schedule were sent, also
    /// late ones.
    pub sends_all: bool,
    /// Numbers of overdue first requests and of overdue second requests at which the run ends
    /// (`-D`).
    pub overdue: [Option<u64>; 2],
    /// Percentages of overdue requests among those sent, for first and for second requests, at
    /// which the run ends (`-D` with `%`), once more than ten were sent.
    pub overdue_percent: [Option<f64>; 2],
    /// Longest wait for missing replies after the end of sending, in nanoseconds (`-W`).
    pub wait_ns: Option<u64>,
}

base::worded! {
    /// Reason why a run stopped sending requests. Words are those of the diagnostics `-x e`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SendingEndReason {
        /// The run reached its length (`-p`).
        Period = "reached test-period.",
        /// The run reached its number of requests (`-n`).
        Requests = "Reached max requests limit.",
        /// The run reached a number of overdue requests (`-D` with a number).
        Drops = "Reached maximum drops number.",
        /// The run reached a percentage of overdue requests (`-D` with a share).
        DropsPercent = "Reached maximum percentage of drops.",
        /// A signal interrupted the process.
        Interrupted = "Interrupted",
        /// All clients of an avalanche have begun their exchanges.
        AllBegun = "All clients have begun.",
    }
}

/// Results of a perfdhcp run in addition to its accounts.
#[derive(Clone, Copy, Debug)]
pub struct PerfdhcpLoopResult {
    /// Reason why the run stopped sending requests.
    pub reason: SendingEndReason,
    /// Time at which the first request was due, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// Time at which the run stopped sending, in nanoseconds of the monotonic clock.
    pub sending_end_ns: u64,
    /// Time from which no reply was awaited any more, in nanoseconds of the monotonic clock.
    pub end_ns: u64,
    /// Number of send and receive cycles (turns) in which no request was due and no reply had come.
    pub idle_turns: u64,
    /// Counts of the run's messages that the kernel took and refused.
    pub sends: SendCounts,
    /// Number of datagrams that the kernel dropped at the run's socket.
    pub socket_drops: u64,
    /// Processor time of the run's thread, in nanoseconds.
    pub cpu_ns: u64,
}

/// Perfdhcp run that is ready to begin.
pub struct PerfdhcpRun<D: Dialect> {
    /// Generator's socket, with the messages that wait to leave it.
    pub wire: GeneratorSocket,
    /// Requests of the run, with the counts of their ends.
    pub traffic: RequestTraffic<D>,
    /// Rule for the due times of the run's first requests.
    pub pacing: RequestPacing,
    /// Due times of renewals and of releases; `None` for a run without them.
    pub lease_schedules: [Option<Schedule>; 2],
    /// Limits that end the perfdhcp run.
    pub limits: RunLimits,
    /// Beginning of the run, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// Interval between periodic reports, in nanoseconds; `None` for no reports.
    pub report_ns: Option<u64>,
    /// Time for which the socket must be silent before the run ends, in nanoseconds, once no reply
    /// is awaited.
    pub linger_ns: u64,
    begun: u64,
}

impl<D: Dialect> PerfdhcpRun<D> {
    /// Creates a run through `wire` that begins at `start_ns`, and that only a signal ends.
    pub fn new(
        wire: GeneratorSocket,
        mut traffic: RequestTraffic<D>,
        pacing: RequestPacing,
        start_ns: u64,
    ) -> Self {
        traffic.starts_at(start_ns);
        Self {
            wire,
            traffic,
            pacing,
            lease_schedules: [None, None],
            limits: RunLimits::default(),
            start_ns,
            report_ns: None,
            linger_ns: LINGER_NS,
            begun: 0,
        }
    }

    /// Sends `count` first requests at once that the run does not count.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the socket.
    pub fn preload(&mut self, count: u32) -> io::Result<()> {
        for _ in 0..count {
            let now_ns = Clock::mono_ns();
            if !self.wire.has_room() {
                self.flush()?;
            }
            self.wire.queue_message(|slot| self.traffic.begin(now_ns, slot, false));
        }
        self.flush()
    }

    /// Runs the load to its end and returns the results; calls `report` with time and accounts at
    /// every interval.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for the socket, or `report` for its output.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut report: impl FnMut(u64, &[ExchangeAccount; ExchangeKind::COUNT]) -> io::Result<()>,
    ) -> io::Result<PerfdhcpLoopResult> {
        let cpu_start_ns = Clock::thread_cpu_ns();
        let mut next_report_ns = self.report_ns.map(|every_ns| self.start_ns + every_ns);
        let (mut ending, mut settled_ns, mut idle_turns) = (None, None, 0);
        let mut heard_ns = self.start_ns;
        let (reason, sending_end_ns, end_ns) = loop {
            let now_ns = Clock::mono_ns();
            if stop.load(Ordering::Relaxed) {
                let since_ns = ending.map_or(now_ns, |(_, since_ns)| since_ns);
                break (SendingEndReason::Interrupted, since_ns, now_ns);
            }
            let mut sent = self.send_again(now_ns)?;
            if ending.is_none() {
                ending = self.reason(now_ns).map(|reason| (reason, now_ns));
                if matches!(ending, Some((SendingEndReason::Period, _))) {
                    sent |= self.close_period()?;
                }
            }
            if ending.is_none() {
                sent |= self.send_due(now_ns)?;
            }
            let received = self.wire.receive_replies(&mut self.traffic)?;
            if received > 0 || sent {
                // The thread may have stood still since the turn began.
                let is_settled = self.traffic.is_settled();
                heard_ns = if is_settled { Clock::mono_ns() } else { now_ns };
            }
            self.traffic.expire(now_ns);
            if let Some(at_ns) = next_report_ns.filter(|&at_ns| at_ns <= now_ns) {
                report(now_ns, &self.traffic.accounts)?;
                next_report_ns = self.report_ns.map(|every_ns| at_ns + every_ns);
            }
            if let Some((reason, since_ns)) = ending {
                let waited_ns = now_ns - since_ns;
                let is_over = self.limits.wait_ns.is_some_and(|wait_ns| waited_ns >= wait_ns);
                let is_settled = self.traffic.is_settled();
                settled_ns = if is_settled { settled_ns.or(Some(now_ns)) } else { None };
                // Further replies to the last requests may be on their way.
                let is_silent =
                    settled_ns.is_some() && now_ns.saturating_sub(heard_ns) >= self.linger_ns;
                if is_silent || is_over {
                    break (reason, since_ns, settled_ns.unwrap_or(now_ns));
                }
            }
            if !sent && received == 0 {
                idle_turns += 1;
                self.wait(ending.is_some(), next_report_ns)?;
            } else {
                self.wire.pace(now_ns)?;
            }
        };
        self.traffic.finish(end_ns);
        Ok(PerfdhcpLoopResult {
            reason,
            start_ns: self.start_ns,
            sending_end_ns,
            end_ns,
            idle_turns,
            sends: self.wire.counts(),
            socket_drops: self.wire.drops()?,
            cpu_ns: Clock::thread_cpu_ns() - cpu_start_ns,
        })
    }

    fn reason(&self, now_ns: u64) -> Option<SendingEndReason> {
        let (limits, accounts) = (&self.limits, &self.traffic.accounts);
        let since_ns = now_ns.saturating_sub(self.start_ns);
        let has_more = matches!(&self.pacing, RequestPacing::Scheduled(first) if first.next_due_ns().is_some());
        if limits.period_ns.is_some_and(|period_ns| since_ns >= period_ns)
            && !(limits.sends_all && has_more)
        {
            return Some(SendingEndReason::Period);
        }
        for (index, account) in accounts[..2].iter().enumerate() {
            let begun = if index == 0 { self.begun } else { account.ledger.due() };
            if limits.counts[index].is_some_and(|count| begun >= count) {
                return Some(SendingEndReason::Requests);
            }
            if limits.overdue[index].is_some_and(|most| account.overdue >= most) {
                return Some(SendingEndReason::Drops);
            }
            let percent = 100.0 * account.overdue as f64 / account.sent() as f64;
            if limits.overdue_percent[index]
                .is_some_and(|most| account.sent() > 10 && percent >= most)
            {
                return Some(SendingEndReason::DropsPercent);
            }
        }
        matches!(self.pacing, RequestPacing::AtOnce(count) if self.begun >= count)
            .then_some(SendingEndReason::AllBegun)
    }

    /// Sends requests that came due before the end of the period (`-p`) and were not sent yet, one
    /// batch at most, and counts the others as due and not sent. Returns true if some were sent.
    fn close_period(&mut self) -> io::Result<bool> {
        let (Some(period_ns), RequestPacing::Scheduled(_)) = (self.limits.period_ns, &self.pacing)
        else {
            return Ok(false);
        };
        let last_ns = self.start_ns + period_ns.saturating_sub(1);
        let is_any = self.send_due(last_ns)?;
        while self.next_first(last_ns, 0).is_some() {
            self.begun += 1;
            self.traffic.skip(ExchangeKind::First);
        }
        for (index, kind) in LEASE_KINDS.into_iter().enumerate() {
            let Some(schedule) = &mut self.lease_schedules[index] else { continue };
            while schedule.take(last_ns).is_some() {
                self.traffic.skip(kind);
            }
        }
        Ok(is_any)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush(&mut self.traffic)
    }

    /// Returns the due time of the next first request that may begin at `now_ns`, in nanoseconds;
    /// `None` when none may.
    fn next_first(&mut self, now_ns: u64, in_turn: u32) -> Option<u64> {
        if now_ns < self.start_ns || self.limits.counts[0].is_some_and(|count| self.begun >= count)
        {
            return None;
        }
        match &mut self.pacing {
            RequestPacing::Scheduled(schedule) => schedule.take(now_ns),
            RequestPacing::BestEffort(burst) => {
                (in_turn < *burst && self.traffic.has_room()).then_some(now_ns)
            }
            RequestPacing::AtOnce(count) => (self.begun < *count).then_some(self.start_ns),
        }
    }

    /// Returns the due time of the next first request in the run's schedule, in nanoseconds; `None`
    /// without one.
    fn scheduled_ns(&self) -> Option<u64> {
        match &self.pacing {
            RequestPacing::Scheduled(schedule) => schedule.next_due_ns(),
            _ => None,
        }
    }

    /// Queues the next message of a client of the population, when it is due before the next client
    /// joins; returns true if one was due.
    fn send_lifecycle_message(&mut self, now_ns: u64) -> bool {
        let next_ns = self.traffic.next_life_ns().filter(|&ns| ns <= now_ns);
        let is_next =
            next_ns.is_some_and(|ns| self.scheduled_ns().is_none_or(|due_ns| ns < due_ns));
        if is_next {
            self.wire.queue_message(|slot| self.traffic.begin_lifecycle_exchange(now_ns, slot));
        }
        is_next
    }

    fn send_due(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut in_turn = 0;
        while self.wire.has_room() {
            if self.send_lifecycle_message(now_ns) {
                in_turn += 1;
                continue;
            }
            let Some(due_ns) = self.next_first(now_ns, in_turn) else { break };
            in_turn += 1;
            self.begun += 1;
            self.wire.queue_message(|slot| self.traffic.begin(due_ns, slot, true));
        }
        for (index, kind) in LEASE_KINDS.into_iter().enumerate() {
            let Some(schedule) = &mut self.lease_schedules[index] else { continue };
            while self.wire.has_room()
                && let Some(due_ns) = schedule.take(now_ns)
            {
                in_turn += 1;
                let traffic = &mut self.traffic;
                self.wire.queue_message(|slot| traffic.begin_on_lease(kind, due_ns, now_ns, slot));
            }
        }
        self.flush()?;
        Ok(in_turn > 0)
    }

    fn send_again(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut is_any = false;
        while self.wire.queue_message(|slot| self.traffic.resend(now_ns, slot)) {
            is_any = true;
        }
        self.flush()?;
        Ok(is_any)
    }

    /// Sleeps until a reply comes or a request or report is due.
    fn wait(&self, is_ending: bool, report_ns: Option<u64>) -> io::Result<()> {
        let mut next_ns = report_ns.into_iter().chain(self.traffic.next_resend_ns()).min();
        if !is_ending {
            let firsts = [self.scheduled_ns(), self.traffic.next_life_ns()].into_iter().flatten();
            let leases = self.lease_schedules.iter().flatten().filter_map(Schedule::next_due_ns);
            next_ns = firsts.chain(leases).chain(next_ns).min();
        }
        self.wire.wait_for_reply(next_ns)
    }
}
