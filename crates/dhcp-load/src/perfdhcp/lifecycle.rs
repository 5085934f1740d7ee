//! Population of clients over the life of their leases (`--scenario lifecycle`): clients join,
//! renew their leases at T1, ask any server at T2, begin anew when a lease ends, leave with a
//! RELEASE or silently, come back and request their former addresses. RFC 2131 sections 3.2, 4.4.5
//! and 4.4.6; RFC 9915 section 18.2.
//!
//! Each client either has one planned step, at a set time, or one open exchange, whose end decides
//! on the next step. Nothing is allocated after construction.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::Random;
use base::time::NS_PER_S;
use load::exponential;

use super::dialect::{ExchangeKind, LeaseLifetimes, MessageSender};

/// Wait of a client after an exchange that gave it no lease, and at least after a DECLINE (RFC 2131
/// section 3.1), in seconds.
const RETRY_S: u32 = 10;
/// Shortest wait of a client before another renewal (RFC 2131 section 4.4.5), in seconds.
const RENEW_AGAIN_S: u32 = 60;
/// Time from a new lease to the INFORM or INFORMATION-REQUEST about it, in seconds.
const INFORM_AFTER_S: u32 = 1;

/// Settings of a population of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifecycleSettings {
    /// Number of clients in the population.
    pub clients: u32,
    /// Number of the clients' seconds that pass in one real second.
    pub speed: f64,
    /// Mean time that a client stays, exponentially distributed, in the clients' seconds; `None`:
    /// for ever.
    pub stay_s: Option<f64>,
    /// Mean time that a client is away, exponentially distributed, in the clients' seconds.
    pub away_s: f64,
    /// Percentage of leaving clients that send a RELEASE.
    pub releasing_percent: u8,
    /// Percentage of new leases that are followed by an INFORM or INFORMATION-REQUEST.
    pub informing_percent: u8,
    /// Percentage of new leases that clients decline.
    pub declining_percent: u8,
}

/// Next step that a client of `--scenario lifecycle` has planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LifecycleStep {
    /// Request a new lease, or the lease that the client had.
    Begin,
    Renew,
    Rebind,
    Inform,
    Decline,
    Leave,
}

/// Lease of a client of the population, with its times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct LifecycleLease<L> {
    who: MessageSender,
    lease: L,
    t1_ns: u64,
    t2_ns: u64,
    ends_ns: u64,
}

/// State of one client of the population.
#[derive(Clone, Copy, Debug)]
struct LifecycleClient<L> {
    current_lease: Option<LifecycleLease<L>>,
    leaves_ns: u64,
    /// True if the client has left silently and not come back yet.
    is_away: bool,
}

/// End of an exchange for a client of the population.
#[derive(Clone, Copy, Debug)]
pub enum LifecycleExchangeEnd<L> {
    /// The client has a lease, with these lifetimes.
    Granted(L, LeaseLifetimes),
    /// The server sent a positive reply that gives no lease, as to an INFORM or a RELEASE.
    Agreed,
    /// The server refused the lease.
    Refused,
    /// No reply came in time, or an invalid one.
    Failed,
}

/// Message that a client of the population must send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleMessage<L> {
    /// First request of the client with this number.
    Begin(u32),
    /// Message of this kind, by this client, about this lease.
    About(ExchangeKind, MessageSender, L),
}

/// Population of clients that join, renew, leave and return.
#[derive(Clone, Debug)]
pub struct LifecyclePopulation<L> {
    habits: LifecycleSettings,
    random: Random,
    clients: Vec<LifecycleClient<L>>,
    ahead: BinaryHeap<Reverse<(u64, u32, LifecycleStep)>>,
    joined: u32,
}

impl<L: Copy> LifecyclePopulation<L> {
    /// Creates a population in which no client has joined yet.
    pub fn new(habits: LifecycleSettings, seed: u64) -> Self {
        let blank = LifecycleClient { current_lease: None, leaves_ns: u64::MAX, is_away: false };
        Self {
            clients: vec![blank; habits.clients as usize],
            ahead: BinaryHeap::with_capacity(habits.clients as usize),
            random: Random::from_seed(seed).fork(0x6c69_7665),
            habits,
            joined: 0,
        }
    }

    /// Returns the number of the next client that joins; `None` when all have.
    pub fn join(&mut self) -> Option<u32> {
        let client = self.joined;
        self.joined += u32::from(client < self.habits.clients);
        (client < self.habits.clients).then_some(client)
    }

    /// Returns the duration of `s` of the clients' seconds, in real nanoseconds.
    fn ns(&self, s: f64) -> u64 {
        (s * NS_PER_S as f64 / self.habits.speed) as u64
    }

    /// Returns the time at which `s` of the clients' seconds have passed since `now_ns`, in
    /// nanoseconds; never, for an infinite lease.
    fn after(&self, now_ns: u64, s: u32) -> u64 {
        if s == u32::MAX { u64::MAX } else { now_ns.saturating_add(self.ns(s.into())) }
    }

    fn after_about(&mut self, now_ns: u64, mean_s: f64) -> u64 {
        let s = mean_s * exponential(&mut self.random);
        now_ns.saturating_add(self.ns(s))
    }

    fn percent(&mut self, percent: u8) -> bool {
        self.random.chance(percent.into(), 100)
    }

    fn push(&mut self, at_ns: u64, client: u32, step: LifecycleStep) {
        if at_ns < u64::MAX {
            self.ahead.push(Reverse((at_ns, client, step)));
        }
    }

    /// Returns the time of the next step of any client, in nanoseconds; `None` when no step is
    /// planned.
    pub fn next_ns(&self) -> Option<u64> {
        self.ahead.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Takes the next step that is due at `now_ns`, and returns its due time and the message to
    /// send.
    pub fn take(&mut self, now_ns: u64) -> Option<(u64, LifecycleMessage<L>)> {
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let Reverse((at_ns, client, step)) = self.ahead.pop()?;
            if let Some(act) = self.run_step(at_ns, client, step) {
                return Some((at_ns, act));
            }
        }
        None
    }

    /// Returns true if client `client` is present at `now_ns` with a lease that has not ended.
    pub fn is_present_with_lease(&self, client: u32, now_ns: u64) -> bool {
        let life = self.clients.get(client as usize);
        life.is_some_and(|life| {
            !life.is_away
                && life.current_lease.is_some_and(|current_lease| current_lease.ends_ns > now_ns)
        })
    }

    fn run_step(
        &mut self,
        at_ns: u64,
        client: u32,
        step: LifecycleStep,
    ) -> Option<LifecycleMessage<L>> {
        let index = client as usize;
        let current_lease =
            self.clients[index].current_lease.filter(|current_lease| current_lease.ends_ns > at_ns);
        self.clients[index].current_lease = current_lease;
        let Some(current_lease) = current_lease else {
            return Some(LifecycleMessage::Begin(client));
        };
        let kind = match step {
            LifecycleStep::Begin => ExchangeKind::Reboot,
            LifecycleStep::Renew => ExchangeKind::Renewal,
            LifecycleStep::Rebind => ExchangeKind::Rebinding,
            LifecycleStep::Inform => ExchangeKind::Information,
            LifecycleStep::Decline => ExchangeKind::Decline,
            LifecycleStep::Leave => {
                if !self.percent(self.habits.releasing_percent) {
                    self.clients[index].is_away = true;
                    let back_ns = self.after_about(at_ns, self.habits.away_s);
                    self.push(back_ns, client, LifecycleStep::Begin);
                    return None;
                }
                ExchangeKind::Release
            }
        };
        if matches!(kind, ExchangeKind::Decline | ExchangeKind::Release) {
            self.clients[index].current_lease = None;
        }
        Some(LifecycleMessage::About(kind, current_lease.who, current_lease.lease))
    }

    /// Notes at `now_ns` the end of an exchange of client `who`, and plans the client's next step.
    /// Call it once for each.
    pub fn record_exchange_end(
        &mut self,
        now_ns: u64,
        kind: ExchangeKind,
        who: MessageSender,
        end: LifecycleExchangeEnd<L>,
    ) {
        let client = who.client;
        self.clients[client as usize].is_away = false;
        match (kind, end) {
            (
                ExchangeKind::Second | ExchangeKind::First,
                LifecycleExchangeEnd::Granted(lease, terms),
            ) => {
                self.hold(now_ns, who, lease, terms);
                self.draw_stay(now_ns, client);
                if self.percent(self.habits.declining_percent) {
                    self.push(now_ns, client, LifecycleStep::Decline);
                } else if self.percent(self.habits.informing_percent) {
                    self.push(self.after(now_ns, INFORM_AFTER_S), client, LifecycleStep::Inform);
                } else {
                    self.plan_next_step(now_ns, client);
                }
            }
            (
                ExchangeKind::Reboot,
                LifecycleExchangeEnd::Granted(..)
                | LifecycleExchangeEnd::Agreed
                | LifecycleExchangeEnd::Failed,
            ) => {
                if let LifecycleExchangeEnd::Granted(lease, terms) = end {
                    self.hold(now_ns, who, lease, terms);
                }
                self.draw_stay(now_ns, client);
                self.plan_next_step(now_ns, client);
            }
            (
                ExchangeKind::Renewal | ExchangeKind::Rebinding,
                LifecycleExchangeEnd::Granted(lease, terms),
            ) => {
                self.hold(now_ns, who, lease, terms);
                self.plan_next_step(now_ns, client);
            }
            (
                ExchangeKind::Renewal | ExchangeKind::Rebinding | ExchangeKind::Reboot,
                LifecycleExchangeEnd::Refused,
            ) => {
                self.clients[client as usize].current_lease = None;
                self.push(now_ns, client, LifecycleStep::Begin);
            }
            (ExchangeKind::Renewal | ExchangeKind::Rebinding, _) => {
                self.plan_renewal_retry(now_ns, client)
            }
            (ExchangeKind::Information, _) => self.plan_next_step(now_ns, client),
            (ExchangeKind::Release, _) => {
                let back_ns = self.after_about(now_ns, self.habits.away_s);
                self.push(back_ns, client, LifecycleStep::Begin);
            }
            (ExchangeKind::First | ExchangeKind::Second | ExchangeKind::Decline, _) => {
                self.push(self.after(now_ns, RETRY_S), client, LifecycleStep::Begin);
            }
        }
    }

    fn hold(&mut self, now_ns: u64, who: MessageSender, lease: L, terms: LeaseLifetimes) {
        let [t1_ns, t2_ns, ends_ns] =
            [terms.t1_s, terms.t2_s, terms.valid_s].map(|s| self.after(now_ns, s));
        self.clients[who.client as usize].current_lease =
            Some(LifecycleLease { who, lease, t1_ns, t2_ns, ends_ns });
    }

    /// Draws at random the time for which client `client`, which has just joined or returned,
    /// stays.
    fn draw_stay(&mut self, now_ns: u64, client: u32) {
        let leaves_ns =
            self.habits.stay_s.map_or(u64::MAX, |stay_s| self.after_about(now_ns, stay_s));
        self.clients[client as usize].leaves_ns = leaves_ns;
    }

    /// Plans the next step of client `client`, which has a lease: it renews the lease or leaves,
    /// whichever comes first.
    fn plan_next_step(&mut self, now_ns: u64, client: u32) {
        let life = self.clients[client as usize];
        match life.current_lease {
            Some(current_lease) if life.leaves_ns <= current_lease.t1_ns => {
                self.push(life.leaves_ns.max(now_ns), client, LifecycleStep::Leave);
            }
            // A client that comes back may have been away beyond T2.
            Some(current_lease) if current_lease.t2_ns <= now_ns => {
                self.push(now_ns, client, LifecycleStep::Rebind)
            }
            Some(current_lease) => {
                self.push(current_lease.t1_ns.max(now_ns), client, LifecycleStep::Renew)
            }
            None => self.push(now_ns, client, LifecycleStep::Begin),
        }
    }

    /// Plans another renewal by client `client` after half of the time that is left until T2, and
    /// after T2 of the time that is left of the lease, but at least a minute.
    fn plan_renewal_retry(&mut self, now_ns: u64, client: u32) {
        let Some(current_lease) = self.clients[client as usize].current_lease else {
            return self.push(now_ns, client, LifecycleStep::Begin);
        };
        let least_ns = self.ns(RENEW_AGAIN_S.into());
        let half_way = |until_ns: u64| now_ns + (until_ns.saturating_sub(now_ns) / 2).max(least_ns);
        let (renew_ns, rebind_ns) =
            (half_way(current_lease.t2_ns), half_way(current_lease.ends_ns));
        if renew_ns < current_lease.t2_ns {
            self.push(renew_ns, client, LifecycleStep::Renew);
        } else if now_ns < current_lease.t2_ns {
            self.push(current_lease.t2_ns, client, LifecycleStep::Rebind);
        } else {
            // A client knows only after a while, perhaps after the lease's end, that no server
            // replied.
            self.push(
                rebind_ns.min(current_lease.ends_ns).max(now_ns),
                client,
                LifecycleStep::Rebind,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HABITS: LifecycleSettings = LifecycleSettings {
        clients: 1,
        speed: 1.0,
        stay_s: None,
        away_s: 100.0,
        releasing_percent: 0,
        informing_percent: 0,
        declining_percent: 0,
    };
    const WHO: MessageSender = MessageSender { client: 0, link: 3 };
    const TERMS: LeaseLifetimes = LeaseLifetimes { t1_s: 1_000, t2_s: 1_750, valid_s: 2_000 };

    /// Plays the life of one client whose exchanges end at once with the result of `end`. Returns
    /// the kinds of its messages with their due times, in seconds.
    fn life(
        habits: LifecycleSettings,
        until_s: u64,
        mut end: impl FnMut(ExchangeKind) -> LifecycleExchangeEnd<u8>,
    ) -> Vec<(u64, ExchangeKind)> {
        let mut population = LifecyclePopulation::new(habits, 5);
        assert_eq!((population.join(), population.join()), (Some(0), None));
        population.record_exchange_end(
            0,
            ExchangeKind::Second,
            WHO,
            LifecycleExchangeEnd::Granted(7, TERMS),
        );
        let mut done = Vec::new();
        while let Some(now_ns) = population.next_ns().filter(|&ns| ns < until_s * NS_PER_S) {
            let Some((at_ns, act)) = population.take(now_ns) else { continue };
            assert_eq!(at_ns, now_ns);
            let kind = match act {
                LifecycleMessage::Begin(client) => {
                    assert_eq!(client, 0);
                    ExchangeKind::Second
                }
                LifecycleMessage::About(kind, who, lease) => {
                    assert_eq!((who, lease), (WHO, 7));
                    kind
                }
            };
            done.push((at_ns / NS_PER_S, kind));
            population.record_exchange_end(at_ns, kind, WHO, end(kind));
        }
        done
    }

    #[test]
    fn a_client_renews_at_t1_for_ever() {
        let done = life(HABITS, 10_500, |_| LifecycleExchangeEnd::Granted(7, TERMS));
        assert!(done.iter().map(|step| step.0).eq((1..=10).map(|n| 1_000 * n)), "{done:?}");
        assert!(done.iter().all(|step| step.1 == ExchangeKind::Renewal));
        let fast = LifecycleSettings { speed: 100.0, ..HABITS };
        assert_eq!(life(fast, 105, |_| LifecycleExchangeEnd::Granted(7, TERMS)).len(), 10);
        let infinite = LeaseLifetimes { t1_s: u32::MAX, t2_s: u32::MAX, valid_s: u32::MAX };
        let mut population = LifecyclePopulation::new(HABITS, 5);
        population.record_exchange_end(
            0,
            ExchangeKind::Second,
            WHO,
            LifecycleExchangeEnd::Granted(7, infinite),
        );
        assert_eq!(population.next_ns(), None);
    }

    #[test]
    fn without_answers_it_asks_again_then_anybody_then_begins_anew() {
        let done = life(HABITS, 2_010, |_| LifecycleExchangeEnd::Failed);
        let renewals = [1_000, 1_375, 1_562, 1_656, 1_716].map(|s| (s, ExchangeKind::Renewal));
        let rebindings = [1_750, 1_875, 1_937].map(|s| (s, ExchangeKind::Rebinding));
        // RFC 2131: half of the remaining time, but at least a minute; the last one would be after
        // the end.
        assert_eq!(done[..5], renewals, "{done:?}");
        assert_eq!(done[5..8], rebindings, "{done:?}");
        assert_eq!(
            done[8..],
            [(1_997, ExchangeKind::Rebinding), (2_000, ExchangeKind::Second)],
            "{done:?}"
        );
    }

    #[test]
    fn a_refusal_ends_the_lease_at_once() {
        let done = life(HABITS, 1_005, |kind| match kind {
            ExchangeKind::Renewal => LifecycleExchangeEnd::Refused,
            _ => LifecycleExchangeEnd::Failed,
        });
        assert_eq!(done, [(1_000, ExchangeKind::Renewal), (1_000, ExchangeKind::Second)]);
    }

    #[test]
    fn who_comes_back_asks_for_what_it_had_while_that_is_valid() {
        let quiet = LifecycleSettings { stay_s: Some(400.0), ..HABITS };
        let done = life(quiet, 200_000, |_| LifecycleExchangeEnd::Granted(7, TERMS));
        let reboots = done.iter().filter(|step| step.1 == ExchangeKind::Reboot).count();
        assert!((300..500).contains(&reboots), "about one in 500 s: {reboots}");
        assert!(done.iter().all(|step| step.1 != ExchangeKind::Release));
        let long = LifecycleSettings { away_s: 1e9, ..quiet };
        let done = life(long, 1 << 33, |_| LifecycleExchangeEnd::Granted(7, TERMS));
        assert!(done.iter().any(|step| step.1 == ExchangeKind::Second), "what it had has ended");
        assert!(done.iter().all(|step| step.1 != ExchangeKind::Reboot), "{done:?}");
        let polite = LifecycleSettings { releasing_percent: 100, ..quiet };
        let done = life(polite, 200_000, |_| LifecycleExchangeEnd::Granted(7, TERMS));
        let count = |kind| done.iter().filter(|step| step.1 == kind).count();
        assert!(count(ExchangeKind::Release).abs_diff(count(ExchangeKind::Second)) <= 1);
        assert_eq!(count(ExchangeKind::Reboot), 0);
    }

    #[test]
    fn new_leases_are_declined_and_asked_about_as_often_as_said() {
        let habits = LifecycleSettings {
            stay_s: Some(10.0),
            away_s: 1.0,
            releasing_percent: 100,
            informing_percent: 50,
            declining_percent: 10,
            ..HABITS
        };
        let done = life(habits, 100_000, |_| LifecycleExchangeEnd::Granted(7, TERMS));
        let count = |kind| done.iter().filter(|step| step.1 == kind).count() as f64;
        let fresh = count(ExchangeKind::Second);
        assert!(fresh > 5_000.0, "{fresh}");
        assert!((0.085..0.115).contains(&(count(ExchangeKind::Decline) / fresh)), "{fresh}");
        assert!(
            (0.42..0.48).contains(&(count(ExchangeKind::Information) / fresh)),
            "half of the others"
        );
        // At least ten seconds follow each DECLINE.
        let behind = done.windows(2).filter(|pair| pair[0].1 == ExchangeKind::Decline);
        assert!(behind.map(|pair| pair[1].0 - pair[0].0).all(|s| s >= 10));
    }
}
