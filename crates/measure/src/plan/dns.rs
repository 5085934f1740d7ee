//! Settings of plans for DNS only: the generation of the load, and rates that rise in steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MeasuredProtocol, Plan, plan_section};

/// Query that generators send in plans of DNS, as `NAME TYPE`.
pub const QUERY: &str = "www.google.com AAAA";
/// Length of [`QUERY`] as an Ethernet frame, in bytes without the check sequence: IPv4, UDP, one
/// question and EDNS without options. The length converts Mbit/s to queries per second.
pub const QUERY_FRAME_BYTES: f64 = 85.0;

/// Length of the preamble, check sequence and gap of an Ethernet frame on the wire, in bytes.
pub const WIRE_BYTES: f64 = 24.0;
/// Capacity of Gigabit Ethernet in each direction, in bytes per second.
pub const GIGABIT_BYTES_PER_S: f64 = 125e6;

/// Factor by which a quick look (`--quick`) lengthens the steps of a ramp: it measures every second
/// step.
const QUICK_STEPS: f64 = 2.0;
/// Factor by which a quick look (`--quick`) changes the length of a plan's trials.
const QUICK_DWELL: f64 = 0.5;
/// Length of a confirming trial below which a quick look (`--quick`) does not shorten it, in
/// seconds: in a shorter trial the exchanges that wait at its end would weigh too much in the
/// figure.
const QUICK_CONFIRM_S: f64 = 1.0;
/// Factor by which a quick look (`--quick`) changes the plan's time budget.
const QUICK_BUDGET: f64 = 0.3;
/// Largest number of rounds in a quick look (`--quick`).
const QUICK_ROUNDS: u32 = 2;
/// Largest number of runs in a quick look (`--quick`): four is the smallest number of which the
/// best and the worst run are dropped.
const QUICK_RUNS: u32 = 4;

plan_section! {
    /// Settings of a plan for running and loading DNS servers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct DnsPlan in "dns." {
        /// Threads of each DNS server, on the server's one processor; processes for a server
        /// without threads.
        threads: u32 = 1, "1", Whole(1, 256),
            "Threads of each DNS server, or processes where it has no threads; all share one \
             processor.";
        /// Number of source ports of the DNS queries. Servers divide their load among threads by
        /// source port.
        ports: u32 = 64, "64", Whole(1, 1_024),
            "Source ports of queries; servers divide their load among threads by these.";
        /// True if DNS queries from one source port leave in groups (`UDP_SEGMENT`), which saves
        /// processor time of the generator, and makes interface counters count groups instead of
        /// queries.
        segmentation: bool = false, "false", Flag,
            "Send the queries of one port in groups (UDP_SEGMENT), which saves the generator's \
             processor time.";
        /// True if, on a veth pair, the generator sends DNS queries as frames by AF_XDP (in groups
        /// by sockets if `segmentation` is also set) and reads answers from a ring, without the
        /// kernel's UDP. This takes much less processor time of the generator.
        frames: bool = false, "false", Flag,
            "Send queries as frames by AF_XDP, or in groups by sockets, and read answers from a \
             ring, past the kernel's UDP; needs a veth pair, saves the generator's processor time.";
    }
}

plan_section! {
    /// Settings of a ramp: trials at rates that rise in equal steps, equal for every DNS server, in
    /// Mbit/s of the query's frame ([`QUERY_FRAME_BYTES`]).
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct RampPlan in "ramp." {
        /// Rate of the ramp's first step, in Mbit/s of the query's frame.
        first_mbit_s: f64 = 25.0, "25.0", Number(0.01, 100_000.0),
            "First step of the ramp, a series of rising loads (DNS), in Mbit/s of query frames of \
             85 bytes.";
        /// Difference of two neighboring steps of the ramp, in Mbit/s of the query's frame.
        step_mbit_s: f64 = 25.0, "25.0", Number(0.01, 100_000.0),
            "Difference between two steps of the ramp, in Mbit/s.";
        /// Rate that no step of the ramp exceeds, in Mbit/s of the query's frame.
        last_mbit_s: f64 = 750.0, "750.0", Number(0.01, 100_000.0),
            "Upper limit of the steps of the ramp, in Mbit/s.";
        /// Length of the trial of each step of the ramp, in seconds; 0 when the plan has no ramp.
        dwell_s: f64 = 0.0, "0.0", Number(0.0, 3_600.0),
            "Length of a step's trial; 0 leaves the ramp out.";
    }
}

impl RampPlan {
    /// Returns the rates of the ramp's steps, in queries per second, ascending; none without a
    /// ramp.
    pub fn rates(&self) -> Vec<f64> {
        if self.dwell_s <= 0.0 || self.last_mbit_s < self.first_mbit_s {
            return Vec::new();
        }
        // The addition of 1e-9 keeps rounding of fractions from losing the last step.
        let last = ((self.last_mbit_s - self.first_mbit_s) / self.step_mbit_s + 1e-9).floor();
        let mbit_s = |step: u32| self.first_mbit_s + f64::from(step) * self.step_mbit_s;
        (0..=last as u32).map(|step| queries_per_s(mbit_s(step))).collect()
    }
}

/// Converts `mbit_s`, a rate in Mbit/s of the query's frame, to queries per second.
fn queries_per_s(mbit_s: f64) -> f64 {
    mbit_s * 1e6 / (QUERY_FRAME_BYTES * 8.0)
}

/// Converts queries per second to Mbit/s of the query's frame.
pub fn mbit_per_s(queries_per_s: f64) -> f64 {
    queries_per_s * QUERY_FRAME_BYTES * 8.0 / 1e6
}

impl Plan {
    /// Makes the plan a quick look (`--quick`): every second step of a ramp, trials half as long (a
    /// confirming one not below 1 s), two rounds or four runs at most, and three tenths of a time
    /// budget.
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

impl MeasuredProtocol {
    /// Returns true for DHCP, whose servers have pools and stores of leases.
    pub const fn is_dhcp(self) -> bool {
        matches!(self, Self::Dhcp4 | Self::Dhcp6)
    }

    /// Returns the size of the Ethernet, IP and UDP headers of one datagram, in bytes.
    pub const fn header_bytes(self) -> u64 {
        let ip = if matches!(self, Self::Dhcp6) { 40 } else { 20 };
        14 + ip + 8
    }

    /// Returns the noun for the result of an exchange of this protocol: `leases` or `answers`.
    pub const fn result_noun(self) -> &'static str {
        if self.is_dhcp() { "leases" } else { "answers" }
    }

    /// Returns the number of messages that a server sends in one exchange of this protocol.
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
