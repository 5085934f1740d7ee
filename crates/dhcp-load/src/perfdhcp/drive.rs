//! The loop of `godwit perfdhcp` between schedules, requests and one socket or link ([`crate::wire`]), as
//! [`crate::drive`] runs it for whole exchanges: never early.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use load::Schedule;
use netio::Clock;
use netio::send::SendCounts;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::dialect::{Dialect, Kind};
use super::traffic::Traffic;
use crate::drive::LINGER_NS;
use crate::wire::Wire;

/// When first requests are due.
#[derive(Clone, Debug)]
pub enum Pace {
    /// At set times.
    Scheduled(Schedule),
    /// So many per turn, each due when it is begun, as long as there is room.
    BestEffort(u32),
    /// So many, all due at the start.
    AtOnce(u64),
}

/// What ends a run.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// First and second requests.
    pub counts: [Option<u64>; 2],
    /// Nanoseconds from the start.
    pub period_ns: Option<u64>,
    /// The period ends a run only when all first requests of its schedule were sent, late ones too.
    pub sends_all: bool,
    /// Overdue requests, first and second.
    pub overdue: [Option<u64>; 2],
    /// Overdue requests per cent of those sent, once more than ten were, first and second.
    pub overdue_percent: [Option<f64>; 2],
    /// How long what is awaited then is waited for at most, nanoseconds.
    pub wait_ns: Option<u64>,
}

/// Why no more was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// `-p`.
    Period,
    /// `-n`.
    Requests,
    /// `-D` with a number.
    Drops,
    /// `-D` with a share.
    DropsPercent,
    /// A signal.
    Interrupted,
    /// Every client of an avalanche has begun.
    AllBegun,
}

impl Reason {
    /// As `-x e` says it.
    #[must_use]
    pub const fn shown(self) -> &'static str {
        match self {
            Self::Period => "reached test-period.",
            Self::Requests => "Reached max requests limit.",
            Self::Drops => "Reached maximum drops number.",
            Self::DropsPercent => "Reached maximum percentage of drops.",
            Self::Interrupted => "Interrupted",
            Self::AllBegun => "All clients have begun.",
        }
    }
}

/// What a run leaves behind beside its accounts.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Why it ended.
    pub reason: Reason,
    /// When the first request was due.
    pub start_ns: u64,
    /// When the reason to end was found.
    pub sending_end_ns: u64,
    /// When nothing was awaited any more.
    pub end_ns: u64,
    /// Turns in which nothing was due and nothing had come.
    pub idle_turns: u64,
    /// What the kernel took and refused.
    pub sends: SendCounts,
    /// Datagrams that the kernel dropped at the socket.
    pub socket_drops: u64,
    /// Processor time of the thread, nanoseconds.
    pub cpu_ns: u64,
}

/// A run, ready.
pub struct Run<D: Dialect> {
    /// The own socket and what waits to leave it.
    pub wire: Wire,
    /// The requests.
    pub traffic: Traffic<D>,
    /// When first requests are due.
    pub pace: Pace,
    /// When renewals and releases are due.
    pub lease_paces: [Option<Schedule>; 2],
    /// What ends it.
    pub limits: Limits,
    /// When it begins.
    pub start_ns: u64,
    /// Length of the interval between reports, nanoseconds.
    pub report_ns: Option<u64>,
    /// How long the socket must be silent once nothing is awaited, nanoseconds.
    pub linger_ns: u64,
    begun: u64,
}

impl<D: Dialect> Run<D> {
    /// A run through `wire` that begins at `start_ns`, and ends by a signal only.
    #[must_use]
    pub fn new(wire: Wire, mut traffic: Traffic<D>, pace: Pace, start_ns: u64) -> Self {
        traffic.starts_at(start_ns);
        Self {
            wire,
            traffic,
            pace,
            lease_paces: [None, None],
            limits: Limits::default(),
            start_ns,
            report_ns: None,
            linger_ns: LINGER_NS,
            begun: 0,
        }
    }

    /// Sends `count` first requests at once that are not counted.
    ///
    /// # Errors
    ///
    /// What the kernel reports for the socket.
    pub fn preload(&mut self, count: u32) -> io::Result<()> {
        for _ in 0..count {
            let now_ns = Clock::mono_ns();
            if !self.wire.has_room() {
                self.flush()?;
            }
            self.wire.put(|slot| self.traffic.begin(now_ns, slot, false));
        }
        self.flush()
    }

    /// Runs to the end. `report` is called with the time at every interval.
    ///
    /// # Errors
    ///
    /// What the kernel reports for the socket, and `report` for its output.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut report: impl FnMut(u64, &[Account; Kind::COUNT]) -> io::Result<()>,
    ) -> io::Result<Done> {
        let cpu_start_ns = Clock::thread_cpu_ns();
        let mut next_report_ns = self.report_ns.map(|every_ns| self.start_ns + every_ns);
        let (mut ending, mut settled_ns, mut idle_turns) = (None, None, 0);
        let mut heard_ns = self.start_ns;
        let (reason, sending_end_ns, end_ns) = loop {
            let now_ns = Clock::mono_ns();
            if stop.load(Ordering::Relaxed) {
                let since_ns = ending.map_or(now_ns, |(_, since_ns)| since_ns);
                break (Reason::Interrupted, since_ns, now_ns);
            }
            ending = ending.or_else(|| Some((self.reason(now_ns)?, now_ns)));
            let mut sent = self.send_again(now_ns)?;
            if ending.is_none() {
                sent |= self.send_due(now_ns)?;
            }
            let received = self.wire.take_answers(&mut self.traffic)?;
            if received > 0 || sent {
                heard_ns = now_ns;
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
                // Further answers to the last requests may be on their way.
                let is_silent =
                    settled_ns.is_some() && now_ns.saturating_sub(heard_ns) >= self.linger_ns;
                if is_silent || is_over {
                    break (reason, since_ns, settled_ns.unwrap_or(now_ns));
                }
            }
            if !sent && received == 0 {
                idle_turns += 1;
                self.rest(ending.is_some(), next_report_ns)?;
            } else {
                self.wire.pace(now_ns)?;
            }
        };
        self.traffic.finish(end_ns);
        Ok(Done {
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

    fn reason(&self, now_ns: u64) -> Option<Reason> {
        let (limits, accounts) = (&self.limits, &self.traffic.accounts);
        let since_ns = now_ns.saturating_sub(self.start_ns);
        let has_more =
            matches!(&self.pace, Pace::Scheduled(first) if first.next_due_ns().is_some());
        if limits.period_ns.is_some_and(|period_ns| since_ns >= period_ns)
            && !(limits.sends_all && has_more)
        {
            return Some(Reason::Period);
        }
        for (index, account) in accounts[..2].iter().enumerate() {
            let begun = if index == 0 { self.begun } else { account.ledger.due() };
            if limits.counts[index].is_some_and(|count| begun >= count) {
                return Some(Reason::Requests);
            }
            if limits.overdue[index].is_some_and(|most| account.overdue >= most) {
                return Some(Reason::Drops);
            }
            let percent = 100.0 * account.overdue as f64 / account.sent() as f64;
            if limits.overdue_percent[index]
                .is_some_and(|most| account.sent() > 10 && percent >= most)
            {
                return Some(Reason::DropsPercent);
            }
        }
        matches!(self.pace, Pace::AtOnce(count) if self.begun >= count).then_some(Reason::AllBegun)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush(&mut self.traffic)
    }

    /// The due time of the next first request that may be begun at `now_ns`.
    fn next_first(&mut self, now_ns: u64, in_turn: u32) -> Option<u64> {
        if now_ns < self.start_ns || self.limits.counts[0].is_some_and(|count| self.begun >= count)
        {
            return None;
        }
        match &mut self.pace {
            Pace::Scheduled(schedule) => schedule.take(now_ns),
            Pace::BestEffort(burst) => {
                (in_turn < *burst && self.traffic.has_room()).then_some(now_ns)
            }
            Pace::AtOnce(count) => (self.begun < *count).then_some(self.start_ns),
        }
    }

    /// When the schedule has the next first request.
    fn scheduled_ns(&self) -> Option<u64> {
        match &self.pace {
            Pace::Scheduled(schedule) => schedule.next_due_ns(),
            _ => None,
        }
    }

    /// Has a client of the population do what it does next, when that is before whoever joins next.
    fn live(&mut self, now_ns: u64) -> bool {
        let next_ns = self.traffic.next_life_ns().filter(|&ns| ns <= now_ns);
        let is_next =
            next_ns.is_some_and(|ns| self.scheduled_ns().is_none_or(|due_ns| ns < due_ns));
        if is_next {
            self.wire.put(|slot| self.traffic.live(now_ns, slot));
        }
        is_next
    }

    fn send_due(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut in_turn = 0;
        while self.wire.has_room() {
            if self.live(now_ns) {
                in_turn += 1;
                continue;
            }
            let Some(due_ns) = self.next_first(now_ns, in_turn) else { break };
            in_turn += 1;
            self.begun += 1;
            self.wire.put(|slot| self.traffic.begin(due_ns, slot, true));
        }
        for (index, kind) in [Kind::Renewal, Kind::Release].into_iter().enumerate() {
            let Some(schedule) = &mut self.lease_paces[index] else { continue };
            while self.wire.has_room()
                && let Some(due_ns) = schedule.take(now_ns)
            {
                in_turn += 1;
                let traffic = &mut self.traffic;
                self.wire.put(|slot| traffic.begin_on_lease(kind, due_ns, now_ns, slot));
            }
        }
        self.flush()?;
        Ok(in_turn > 0)
    }

    fn send_again(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut is_any = false;
        while self.wire.put(|slot| self.traffic.resend(now_ns, slot)) {
            is_any = true;
        }
        self.flush()?;
        Ok(is_any)
    }

    /// Sleeps until an answer comes or something is due.
    fn rest(&self, is_ending: bool, report_ns: Option<u64>) -> io::Result<()> {
        let firsts = [self.scheduled_ns(), self.traffic.next_life_ns()];
        let firsts = firsts.into_iter().flatten().filter(|_| !is_ending);
        let leases = self.lease_paces.iter().flatten().filter(|_| !is_ending);
        let dues = leases.filter_map(Schedule::next_due_ns).chain(firsts).chain(report_ns);
        self.wire.rest(dues.chain(self.traffic.next_resend_ns()).min())
    }
}
