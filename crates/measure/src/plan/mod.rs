//! Plans of measurements: settings, servers, and the rules by which figures count.
//!
//! A plan is a TOML file that an operator writes. [`Plan::parse`] reports every problem at once
//! with file, line and column. The lab reads files and expands a plan into child processes.
//! [`KEYS`] describes each key for the manual and the error messages.

mod dns;
mod exhaustion;
mod features;
mod headline;
mod hosts;
mod keys;
mod parse;
mod profile;
mod runs;
mod stores;

use serde::{Deserialize, Serialize};

pub use dns::{
    DnsPlan, GIGABIT_BYTES_PER_S, QUERY, QUERY_FRAME_BYTES, RampPlan, WIRE_BYTES, mbit_per_s,
};
pub use exhaustion::ExhaustionPlan;
pub use features::ServerFeature;
pub use headline::Headline;
pub use hosts::HostsPlan;
pub(crate) use keys::key;
pub use keys::{KEYS, KeyValueSet, PlanKey};
pub use parse::PlanProblem;
pub(crate) use parse::{KeyChecker, in_order};
pub use profile::{CallGraph, ProfileEvent, ProfilePlan};
pub use runs::{DroppedRuns, RunsPlan, UnconfirmedRunRule};
pub use stores::{DatabaseAccess, LeaseStoreKind, RestartPlan, Restarts};

use crate::record::VoidRules;

/// Plan of a measurement that has been checked. As JSON it is part of every run record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Short name of the plan: letters, digits and dashes. The name becomes part of the result
    /// folder's name.
    pub name: String,
    /// Title of the plan in one line, for people.
    pub title: String,
    /// Protocol that the plan measures.
    pub protocol: MeasuredProtocol,
    /// Figure of the servers that the plan's report shows first.
    pub headline: Headline,
    /// Connection between generator and server in the plan's trials.
    pub topology: Topology,
    /// Names of the servers that are measured when the command line names none.
    pub servers: Vec<String>,
    /// Seed of the plan, from which the seeds of all trials are derived.
    pub seed: u64,
    /// Wall time that the whole run should take at most, in seconds; 0 for no limit, in which case
    /// the lab forecasts the time. When time is short, the lab measures fewer rounds and points,
    /// and warns.
    pub time_budget_s: f64,
    /// Interval between samples of the machine during a trial, in milliseconds.
    pub sampling_interval_ms: u32,
    /// Settings of the search for each server's highest rate.
    pub search: SearchPlan,
    /// Settings for measuring the servers in turn, round by round.
    pub blocks: BlocksPlan,
    /// Settings for measuring every server several times from the beginning (runs).
    pub runs: RunsPlan,
    /// Settings of additional points of the load curve, which shows the completed over the offered
    /// rate.
    pub curve: CurvePlan,
    /// Settings of a ramp: trials at rates that rise in steps (DNS only).
    pub ramp: RampPlan,
    /// Settings of the trials in which servers are profiled.
    pub profile: ProfilePlan,
    /// Machines that the measurement uses in addition to the lab's own.
    pub hosts: HostsPlan,
    /// Settings of the trials in which the lab ends the servers' databases and starts them again.
    pub restart: RestartPlan,
    /// Settings of the trials in whose middle the servers' pools run out.
    pub exhaustion: ExhaustionPlan,
    /// Settings of the clients that the generator plays.
    pub clients: ClientsPlan,
    /// Settings of the servers' configuration.
    pub server: ServerPlan,
    /// Settings for running and loading DNS servers.
    pub dns: DnsPlan,
    /// Rules by which a trial of the plan is void, which means that it says nothing about the
    /// server.
    pub void: VoidRules,
}

base::recorded! {
    /// Protocol that a plan can measure. Names are words of plans and of the generator's command
    /// line.
    #[derive(Default, Serialize, Deserialize)]
    pub enum MeasuredProtocol {
        /// DHCPv4: whole DISCOVER-OFFER-REQUEST-ACK exchanges through a relay agent.
        #[default]
        Dhcp4 = "dhcp4",
        /// DHCPv6: whole SOLICIT-ADVERTISE-REQUEST-REPLY exchanges through a relay agent.
        Dhcp6 = "dhcp6",
        /// DNS over UDP: an exchange is a query and its answer.
        Dns = "dns",
    }
}

impl MeasuredProtocol {
    /// Returns the names of the messages of an exchange in their order, for people; at least two.
    #[must_use]
    pub const fn messages(self) -> &'static [&'static str] {
        match self {
            Self::Dhcp4 => &["DISCOVER", "OFFER", "REQUEST", "ACK"],
            Self::Dhcp6 => &["SOLICIT", "ADVERTISE", "REQUEST", "REPLY"],
            Self::Dns => &["query", "answer"],
        }
    }

    /// Returns the name of the last message of an exchange.
    #[must_use]
    pub const fn last_message(self) -> &'static str {
        let messages = self.messages();
        messages[messages.len() - 1]
    }
}

/// Connection between generator and server in the trials of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topology {
    /// Automatic choice: `veth` when the process may make network namespaces, `loopback` otherwise.
    #[default]
    Auto,
    /// Network namespaces for generator and server, joined by a pair of virtual Ethernet
    /// interfaces.
    Veth,
    /// Loopback addresses, `127.0.0.0/8`, of one machine for generator and server; needs no
    /// privilege.
    Loopback,
}

/// Settings of the search for a server's highest rate, in exchanges per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchPlan {
    /// Largest share of exchanges that may be late or lost in a trial that meets the criterion, in
    /// percent.
    pub loss_percent: f64,
    /// Deadline of an exchange: time after its due time by which it must be complete, in seconds.
    pub deadline_s: f64,
    /// First rate of the search, in exchanges per second.
    pub start_per_s: f64,
    /// Rate that the search never exceeds, in exchanges per second.
    pub max_per_s: f64,
    /// Factor between the rates of one step of the search's coarse part and the next step.
    pub growth: f64,
    /// Largest number of bisection steps between the highest rate met and the lowest missed in a
    /// search.
    pub bisections: u32,
    /// Width of the interval between the highest rate met and the lowest missed at which bisection
    /// ends, in percent of its lower end.
    pub width_percent: f64,
    /// Length of a search trial, in seconds.
    pub dwell_s: f64,
    /// Length of a confirming trial, in seconds.
    pub confirm_dwell_s: f64,
    /// Largest number of confirming trials in a search, each at a lower rate than the one before.
    pub confirmations: u32,
    /// Time without an answer, in seconds, after which a search trial stops waiting for outstanding
    /// answers before their deadline; 0 always waits. Confirming trials wait for a second of
    /// silence at least.
    pub quiet_s: f64,
    /// Number of times that a void trial is repeated before the search treats its rate as out of
    /// reach.
    pub void_repeats: u32,
}

impl SearchPlan {
    /// Returns the factor between the highest rate met and the lowest missed when the bisection
    /// ends. The search cannot tell rates within this factor apart.
    #[must_use]
    pub fn resolution(&self) -> f64 {
        let narrowed = self.growth.powf(0.5_f64.powi(self.bisections.cast_signed()));
        narrowed.max(1.0 + self.width_percent / 100.0)
    }
}

/// Settings for measuring servers in turn, so that drift of the machine's speed affects all of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlocksPlan {
    /// Number of rounds, each with one search for every server's highest rate. The first round
    /// searches from `search.start_per_s`, later ones from the rate found before.
    pub rounds: u32,
    /// Order in which the servers take their turns in a round.
    pub order: BlockOrder,
    /// True if the limit responder (a program that returns every datagram) is also measured, in
    /// turn with the servers.
    pub limit: bool,
    /// Length of a block, a trial at a fixed rate near the server's highest rate, in seconds; 0
    /// leaves blocks out.
    pub dwell_s: f64,
}

/// Order in which the trials of different servers alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockOrder {
    /// Order A B B A of the servers' trials: every second turn is reversed, which cancels a steady
    /// drift of the machine.
    #[default]
    Abba,
    /// Order A B A B of the servers' trials: every turn has the order of the plan.
    Abab,
    /// Random order of the servers' trials for every two turns: an order drawn from the plan's
    /// seed, then its reverse.
    Random,
}

impl BlockOrder {
    /// Returns the order in which `count` servers are measured in turn `turn` (one trial of each
    /// server), as positions in the plan. `seed` is the plan's.
    #[must_use]
    pub fn turns(self, count: usize, turn: u32, seed: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        if self == Self::Random {
            let pair = u64::from(turn / 2);
            base::Random::from_seed(seed ^ ORDER_STREAM).fork(pair).shuffle(&mut order);
        }
        if self != Self::Abab && turn % 2 == 1 {
            order.reverse();
        }
        order
    }
}

/// Constant that keeps the order of turns independent of the seeds of trials, which count up from
/// the plan's seed.
const ORDER_STREAM: u64 = 0x6f72_6465_725f_6f66;

/// Settings of points of the load curve (completed over offered rate) in addition to those that the
/// search visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePlan {
    /// Offered rates of the additional points, as fractions of the server's highest rate.
    pub fractions: Vec<f64>,
    /// Length of a trial of the load curve, in seconds.
    pub dwell_s: f64,
    /// True if every server is also measured at half of the slowest server's highest rate.
    pub same_rate: bool,
    /// Size of an avalanche, the clients that all come at once, in seconds of work at the server's
    /// highest rate; 0 for no avalanche.
    pub avalanche_s: f64,
}

/// Settings of the clients that the load generator simulates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientsPlan {
    /// Number of distinct clients that the generator simulates, each with its own hardware address.
    pub count: u32,
    /// True if, on a veth pair, the clients' messages leave as frames by AF_XDP, without the
    /// kernel's UDP.
    pub frames: bool,
    /// Least time between the generator's turns, in microseconds. Each turn sends all messages that
    /// came due since the last turn, and reads all that arrived.
    pub turn_us: u32,
}

/// Settings of the measured servers' configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerPlan {
    /// Number of addresses in the server's pool.
    pub pool_size: u32,
    /// Lifetime of the server's leases, in seconds.
    pub lease_time_s: u32,
    /// Durabilities of Godwit that are measured. The first is compared with other servers; each
    /// further one is a line of its own in the result table.
    pub durability: Vec<ServerDurability>,
    /// Stores in which the measured servers keep their leases; each is a line of its own in the
    /// result table.
    pub stores: Vec<LeaseStoreKind>,
    /// Ways in which servers use a database that more than one server may write to; each is a line
    /// of its own in the result table.
    pub sharing: Vec<DatabaseAccess>,
    /// Share of a processor that each measured server gets, above 0; 1 for all of it.
    pub processor_share: f64,
    /// Features of the servers' configuration beyond one subnet with one pool; each is a line of
    /// its own in the result table.
    pub features: Vec<ServerFeature>,
}

base::recorded! {
    /// Durability of Godwit's leases: the time at which a lease is on the disk. Names are words of
    /// plans and of Godwit's configuration.
    #[derive(Default, Serialize, Deserialize)]
    pub enum ServerDurability {
        /// Lease written to the file without a flush to the disk before the reply, as Kea does.
        #[default]
        None = "none",
        /// Lease written to the file, which is flushed to the disk at intervals.
        Interval = "interval",
        /// Lease flushed to the disk before its reply leaves the server.
        Always = "always",
    }
}

impl ServerDurability {
    /// Returns the ending of the name of any of Godwit's lines in the result table: empty for
    /// `always`, Godwit's own default, else `-none` or `-interval`.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "-none",
            Self::Interval => "-interval",
            Self::Always => "",
        }
    }

    /// Splits the name of a line of the result table into the name without its durability, and that
    /// durability; [`ServerDurability::Always`] for a name without one.
    #[must_use]
    pub fn split_line(line: &str) -> (&str, Self) {
        let with_suffix = |of: Self| Some((line.strip_suffix(of.suffix())?, of));
        let not_default = Self::ALL.into_iter().filter(|of| !of.suffix().is_empty());
        not_default.filter_map(with_suffix).next().unwrap_or((line, Self::Always))
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            protocol: MeasuredProtocol::default(),
            headline: Headline::default(),
            topology: Topology::default(),
            servers: vec!["godwit".to_owned()],
            seed: 1,
            time_budget_s: 0.0,
            sampling_interval_ms: 100,
            search: SearchPlan::default(),
            blocks: BlocksPlan::default(),
            runs: RunsPlan::default(),
            curve: CurvePlan::default(),
            ramp: RampPlan::default(),
            profile: ProfilePlan::default(),
            hosts: HostsPlan::default(),
            restart: RestartPlan::default(),
            exhaustion: ExhaustionPlan::default(),
            clients: ClientsPlan::default(),
            server: ServerPlan::default(),
            dns: DnsPlan::default(),
            void: VoidRules::default(),
        }
    }
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            loss_percent: 2.5,
            deadline_s: 2.0,
            start_per_s: 1_000.0,
            max_per_s: 1_000_000.0,
            growth: 2.0,
            bisections: 6,
            width_percent: 5.0,
            dwell_s: 1.0,
            confirm_dwell_s: 3.0,
            confirmations: 5,
            quiet_s: 0.0,
            void_repeats: 2,
        }
    }
}

impl Default for BlocksPlan {
    fn default() -> Self {
        Self { rounds: 4, order: BlockOrder::Abba, limit: true, dwell_s: 1.0 }
    }
}

impl Default for CurvePlan {
    fn default() -> Self {
        Self {
            fractions: vec![0.25, 0.5, 0.75, 0.9, 1.1, 1.5],
            dwell_s: 1.0,
            same_rate: false,
            avalanche_s: 0.0,
        }
    }
}

impl Default for ClientsPlan {
    fn default() -> Self {
        Self { count: 100_000, frames: false, turn_us: 0 }
    }
}

impl Default for ServerPlan {
    fn default() -> Self {
        Self {
            pool_size: 262_144,
            lease_time_s: 3_600,
            durability: vec![ServerDurability::None, ServerDurability::Always],
            stores: vec![LeaseStoreKind::Memfile],
            sharing: vec![DatabaseAccess::Open],
            processor_share: 1.0,
            features: vec![ServerFeature::Plain],
        }
    }
}

impl Plan {
    /// Reads and checks a plan from the text of the file called `file`.
    ///
    /// # Errors
    ///
    /// Every problem of the text, in the order of their positions.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<PlanProblem>> {
        parse::parse(file, text)
    }

    /// Returns the seed of trial `number`, made from the plan's: independent streams, equal in
    /// every run of the plan.
    #[must_use]
    pub const fn trial_seed(&self, number: u32) -> u64 {
        base::Random::from_seed(self.seed).fork(number as u64 + 1).next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_round_runs_backwards() {
        let turns =
            |order: BlockOrder| (0..3).flat_map(|turn| order.turns(2, turn, 1)).collect::<Vec<_>>();
        assert_eq!(turns(BlockOrder::Abba), [0, 1, 1, 0, 0, 1]);
        assert_eq!(turns(BlockOrder::Abab), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn drawn_orders_come_back_reversed_and_differ() {
        let order = |turn| BlockOrder::Random.turns(4, turn, 7);
        let mut orders = Vec::new();
        for pair in 0..20 {
            let (mut there, back) = (order(2 * pair), order(2 * pair + 1));
            assert!(there.iter().rev().eq(&back));
            orders.push(back);
            there.sort_unstable();
            assert_eq!(there, [0, 1, 2, 3]);
        }
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 8, "{orders:?}");
        assert_ne!(BlockOrder::Random.turns(9, 0, 7), BlockOrder::Random.turns(9, 0, 8));
    }

    #[test]
    fn trials_have_seeds_of_their_own() {
        let plan = Plan::default();
        assert_ne!(plan.trial_seed(0), plan.trial_seed(1));
        assert_eq!(plan.trial_seed(7), Plan::default().trial_seed(7));
        assert_ne!(plan.trial_seed(0), Plan { seed: 2, ..Plan::default() }.trial_seed(0));
    }
}
