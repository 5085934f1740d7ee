//! What plans of DNS have of their own: how the load is made, and rates that rise in steps.

use serde::{Deserialize, Serialize};

use super::{Plan, Protocol};

/// The query that plans of DNS ask, `NAME TYPE`.
pub const QUERY: &str = "www.google.com AAAA";
/// That query as an Ethernet frame, octets without the check sequence: IPv4, UDP, one question and
/// EDNS without options. By it Mbit/s become queries per second.
pub const QUERY_FRAME_BYTES: f64 = 85.0;

/// Preamble, check sequence and the gap between frames of Ethernet, octets.
pub const WIRE_BYTES: f64 = 24.0;
/// What Gigabit Ethernet carries each way, octets per second.
pub const GIGABIT_BYTES_PER_S: f64 = 125e6;

/// Of so many steps of a ramp a quick look has one.
const QUICK_STEPS: f64 = 2.0;
/// Trials of a quick look are shorter by this factor.
const QUICK_DWELL: f64 = 0.5;
/// A confirming trial of a quick look is not made shorter than this, seconds: what waits at its end
/// would weigh too much in the figure.
const QUICK_CONFIRM_S: f64 = 1.0;
/// And so is the time that all of it may take.
const QUICK_BUDGET: f64 = 0.3;
/// A quick look has no more rounds.
const QUICK_ROUNDS: u32 = 2;
/// Runs of a quick look at most, which are the least of which the best and the worst are dropped.
const QUICK_RUNS: u32 = 4;

/// How DNS servers are run and loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DnsPlan {
    /// Threads of each server, on the one processor that it has; processes where it has no threads.
    pub threads: u32,
    /// Ports that queries leave from. Servers divide their load among threads by these.
    pub ports: u32,
    /// Queries of one port leave in groups (`UDP_SEGMENT`), which spares the generator's processor
    /// and makes interface counters count groups.
    pub segmentation: bool,
    /// Queries leave as frames by AF_XDP (in groups by sockets, where both are asked for) and answers come
    /// from a ring, past UDP of the kernel, where the topology is a veth pair: a good deal cheaper for the
    /// generator's processor.
    pub frames: bool,
}

impl Default for DnsPlan {
    fn default() -> Self {
        Self { threads: 1, ports: 64, segmentation: false, frames: false }
    }
}

/// Trials at rates that rise in equal steps, the same for every server, in Mbit/s of the query's
/// frame ([`QUERY_FRAME_BYTES`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RampPlan {
    /// The first step.
    pub first_mbit_s: f64,
    /// From a step to the next.
    pub step_mbit_s: f64,
    /// No step is above this.
    pub last_mbit_s: f64,
    /// Length of a step's trial, seconds; 0 when there is no ramp.
    pub dwell_s: f64,
}

impl Default for RampPlan {
    fn default() -> Self {
        Self { first_mbit_s: 25.0, step_mbit_s: 25.0, last_mbit_s: 750.0, dwell_s: 0.0 }
    }
}

impl RampPlan {
    /// The rates of the steps, queries per second, ascending; none without a ramp.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        if self.dwell_s <= 0.0 || self.last_mbit_s < self.first_mbit_s {
            return Vec::new();
        }
        // What is lost in adding fractions must not lose the last step.
        let last = ((self.last_mbit_s - self.first_mbit_s) / self.step_mbit_s + 1e-9).floor();
        let mbit_s = |step: u32| self.first_mbit_s + f64::from(step) * self.step_mbit_s;
        (0..=last as u32).map(|step| queries_per_s(mbit_s(step))).collect()
    }
}

/// Mbit/s of the query's frame as queries per second.
fn queries_per_s(mbit_s: f64) -> f64 {
    mbit_s * 1e6 / (QUERY_FRAME_BYTES * 8.0)
}

/// Queries per second as Mbit/s of the query's frame.
#[must_use]
pub fn mbit_per_s(queries_per_s: f64) -> f64 {
    queries_per_s * QUERY_FRAME_BYTES * 8.0 / 1e6
}

impl Plan {
    /// Makes the plan a quick look: every second step of a ramp, trials half as long (a confirming
    /// one not below 1 s), two rounds or four runs at most, and three tenths of a time budget.
    pub fn quicken(&mut self) {
        self.ramp.step_mbit_s *= QUICK_STEPS;
        let dwells = [
            &mut self.ramp.dwell_s,
            &mut self.search.dwell_s,
            &mut self.blocks.dwell_s,
            &mut self.curve.dwell_s,
            &mut self.profile.seconds,
            &mut self.exhaustion.dwell_s,
            &mut self.exhaustion.at_s,
        ];
        for dwell_s in dwells {
            *dwell_s *= QUICK_DWELL;
        }
        let confirm_s = &mut self.search.confirm_dwell_s;
        *confirm_s = (*confirm_s * QUICK_DWELL).max(confirm_s.min(QUICK_CONFIRM_S));
        self.blocks.rounds = self.blocks.rounds.min(QUICK_ROUNDS);
        self.runs.count = self.runs.count.min(QUICK_RUNS);
        self.time_budget_s *= QUICK_BUDGET;
    }
}

impl Protocol {
    /// True for DHCP, whose servers have pools and stores of leases.
    #[must_use]
    pub const fn is_dhcp(self) -> bool {
        matches!(self, Self::Dhcp4 | Self::Dhcp6)
    }

    /// Octets of the Ethernet, IP and UDP headers of one datagram.
    #[must_use]
    pub const fn header_bytes(self) -> u64 {
        let ip = if matches!(self, Self::Dhcp6) { 40 } else { 20 };
        14 + ip + 8
    }

    /// What is offered, for people: `exchanges` or `queries`.
    #[must_use]
    pub const fn offered(self) -> &'static str {
        if self.is_dhcp() { "exchanges" } else { "queries" }
    }

    /// What each completed exchange gives, for people: `leases` or `answers`.
    #[must_use]
    pub const fn yields(self) -> &'static str {
        if self.is_dhcp() { "leases" } else { "answers" }
    }

    /// Messages that a server sends in one exchange.
    #[must_use]
    pub const fn answers_per_exchange(self) -> f64 {
        if self.is_dhcp() { 2.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slides_ramp_has_their_thirty_rates() {
        let ramp = RampPlan { dwell_s: 1.0, ..RampPlan::default() };
        let rates: Vec<u64> = ramp.rates().iter().map(|rate| rate.round() as u64).collect();
        assert_eq!(rates.len(), 30);
        assert_eq!(
            [rates[0], rates[9], rates[19], rates[29]],
            [36_765, 367_647, 735_294, 1_102_941]
        );
        assert_eq!(mbit_per_s(ramp.rates()[29]).round(), 750.0);
        assert_eq!(RampPlan::default().rates(), Vec::<f64>::new());
        let tenths = RampPlan { first_mbit_s: 0.1, step_mbit_s: 0.1, last_mbit_s: 0.7, ..ramp };
        assert_eq!(tenths.rates().len(), 7);
    }

    #[test]
    fn a_quick_look_is_shorter_in_every_way() {
        let whole =
            Plan { ramp: RampPlan { dwell_s: 4.0, ..RampPlan::default() }, ..Plan::default() };
        let mut quick = whole.clone();
        quick.quicken();
        assert_eq!((quick.ramp.rates().len(), quick.ramp.dwell_s), (15, 2.0));
        assert_eq!(quick.search.dwell_s, whole.search.dwell_s / 2.0);
        assert_eq!(
            (quick.blocks.rounds, quick.search.loss_percent),
            (2, whole.search.loss_percent)
        );
    }
}
