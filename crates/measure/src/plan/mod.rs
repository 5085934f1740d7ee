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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use dns::{
    DnsPlan, GIGABIT_BYTES_PER_S, QUERY, QUERY_FRAME_BYTES, RampPlan, WIRE_BYTES, mbit_per_s,
};
pub use exhaustion::ExhaustionPlan;
pub use features::ServerFeature;
pub use headline::Headline;
pub use hosts::HostsPlan;
pub use keys::{KEYS, KeyValueSet, PlanKey};
pub(crate) use keys::{default_or, key, plan_section};
pub use parse::PlanProblem;
pub(crate) use parse::{KeyChecker, in_order};
pub use profile::{CallGraph, ProfileEvent, ProfilePlan};
pub use runs::{DroppedRuns, RunsPlan, UnconfirmedRunRule};
pub use stores::{DatabaseAccess, LeaseStoreKind, RestartPlan, Restarts};

use crate::record::VoidRules;

plan_section! {
    /// Plan of a measurement that has been checked. As JSON it is part of every run record.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Plan in "" {
        /// Short name of the plan: letters, digits and dashes. The name becomes part of the result
        /// folder's name.
        name: String = String::new(), "", Name, "Short name; part of the result folder's name.";
        /// Title of the plan in one line, for people.
        title: String = String::new(), "", Text, "Title of the report, one line.";
        /// Protocol that the plan measures.
        protocol: MeasuredProtocol = MeasuredProtocol::default(), "\"dhcp4\"",
            Choice(&MeasuredProtocol::NAMES),
            "Protocol under test.";
        /// Figure of the servers that the plan's report shows first.
        headline: Headline = Headline::default(), "\"highest-rate\"", Choice(&Headline::NAMES),
            "Figure of each server that the report shows first.";
        /// Connection between generator and server in the plan's trials.
        topology: Topology = Topology::default(), "\"auto\"", Choice(&["auto", "veth", "loopback"]),
            "Connection of generator and server; auto is veth with the necessary privilege.";
        /// Names of the servers that are measured when the command line names none.
        servers: Vec<String> = vec!["godwit".to_owned()], "[\"godwit\"]", Names,
            "Servers measured when the command line names none; the first is the numerator of \
             ratios. For DNS [\"installed\"] means those of BIND, Knot, NSD and Unbound that are \
             installed.";
        /// Seed of the plan, from which the seeds of all trials are derived.
        seed: u64 = 1, "1", Whole(0, i64::MAX), "Seed from which every trial's seed is derived.";
        /// Wall time that the whole run should take at most, in seconds; 0 for no limit, in which
        /// case the lab forecasts the time. When time is short, the lab measures fewer rounds and
        /// points, and warns.
        time_budget_s: f64 = 0.0, "0.0", Number(0.0, 86_400.0),
            "Longest wall time of the whole run; if it is short there are fewer rounds; 0 is no \
             limit.";
        /// Interval between samples of the machine during a trial, in milliseconds.
        sampling_interval_ms: u32 = 100, "100", Whole(10, 10_000),
            "Interval between two readings of processors, memory and drop counters during a trial.";
        /// Settings of the search for each server's highest rate.
        search: SearchPlan;
        /// Settings for measuring the servers in turn, round by round.
        blocks: BlocksPlan;
        /// Settings for measuring every server several times from the beginning (runs).
        runs: RunsPlan;
        /// Settings of additional points of the load curve, which shows the completed over the
        /// offered rate.
        curve: CurvePlan;
        /// Settings of a ramp: trials at rates that rise in steps (DNS only).
        ramp: RampPlan;
        /// Settings of the trials in which servers are profiled.
        profile: ProfilePlan;
        /// Machines that the measurement uses in addition to the lab's own.
        hosts: HostsPlan;
        /// Settings of the trials in which the lab ends the servers' databases and starts them
        /// again.
        restart: RestartPlan;
        /// Settings of the trials in whose middle the servers' pools run out.
        exhaustion: ExhaustionPlan;
        /// Settings of the clients that the generator plays.
        clients: ClientsPlan;
        /// Settings of the servers' configuration.
        server: ServerPlan;
        /// Settings for running and loading DNS servers.
        dns: DnsPlan;
        /// Rules by which a trial of the plan is void, which means that it says nothing about the
        /// server.
        void: VoidRules;
    }
}

base::recorded! {
    /// Protocol that a plan can measure. Names are words of plans and of the generator's command
    /// line.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
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
    pub const fn messages(self) -> &'static [&'static str] {
        match self {
            Self::Dhcp4 => &["DISCOVER", "OFFER", "REQUEST", "ACK"],
            Self::Dhcp6 => &["SOLICIT", "ADVERTISE", "REQUEST", "REPLY"],
            Self::Dns => &["query", "answer"],
        }
    }

    /// Returns the name of the last message of an exchange.
    pub const fn last_message(self) -> &'static str {
        let messages = self.messages();
        messages[messages.len() - 1]
    }
}

/// Connection between generator and server in the trials of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

plan_section! {
    /// Settings of the search for a server's highest rate, in exchanges per second.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct SearchPlan in "search." {
        /// Largest share of exchanges that may be late or lost in a trial that meets the criterion,
        /// in percent.
        loss_percent: f64 = 2.5, "2.5", Number(0.0, 100.0),
            "Largest share of exchanges that may be missed: late, lost, refused or queued too \
             long.";
        /// Deadline of an exchange: time after its due time by which it must be complete, in
        /// seconds.
        deadline_s: f64 = 2.0, "2.0", Number(0.001, 60.0),
            "Time after which an exchange is late, counted from its due time.";
        /// First rate of the search, in exchanges per second.
        start_per_s: f64 = 1_000.0, "1000.0", Number(1.0, 1e8),
            "First rate tried, exchanges per second.";
        /// Rate that the search never exceeds, in exchanges per second.
        max_per_s: f64 = 1_000_000.0, "1000000.0", Number(1.0, 1e8),
            "Highest rate tried, exchanges per second.";
        /// Factor between the rates of one step of the search's coarse part and the next step.
        growth: f64 = 2.0, "2.0", Number(1.1, 16.0),
            "Factor between two rates of the coarse search, before bisection.";
        /// Largest number of bisection steps between the highest rate met and the lowest missed in
        /// a search.
        bisections: u32 = 6, "6", Whole(0, 30),
            "Largest number of bisection steps between the highest rate met and the lowest missed.";
        /// Width of the interval between the highest rate met and the lowest missed at which
        /// bisection ends, in percent of its lower end.
        width_percent: f64 = 5.0, "5.0", Number(0.1, 50.0),
            "Width of the interval between the highest rate met and the lowest missed at which \
             bisection ends.";
        /// Length of a search trial, in seconds.
        dwell_s: f64 = 1.0, "1.0", Number(0.1, 3_600.0), "Length of a search trial.";
        /// Length of a confirming trial, in seconds.
        confirm_dwell_s: f64 = 3.0, "3.0", Number(0.1, 3_600.0),
            "Length of a confirming trial at the rate found.";
        /// Largest number of confirming trials in a search, each at a lower rate than the one
        /// before.
        confirmations: u32 = 5, "5", Whole(1, 20),
            "Largest number of confirming trials, each at a lower rate than the one before. When \
             one is met after others were missed, up to three more halve the gap.";
        /// Time without an answer, in seconds, after which a search trial stops waiting for
        /// outstanding answers before their deadline; 0 always waits. Confirming trials wait for a
        /// second of silence at least.
        quiet_s: f64 = 0.0, "0.0", Number(0.0, 60.0),
            "Seconds without an answer after which a trial stops waiting, 1 s at least for a \
             confirming one; 0 waits for the deadline.";
        /// Number of times that a void trial is repeated before the search treats its rate as out
        /// of reach.
        void_repeats: u32 = 2, "2", Whole(0, 20),
            "Number of repetitions of a void trial (see the keys void.*) before its rate counts as \
             out of reach.";
    }
}

impl SearchPlan {
    /// Returns the factor between the highest rate met and the lowest missed when the bisection
    /// ends. The search cannot tell rates within this factor apart.
    pub fn resolution(&self) -> f64 {
        let narrowed = self.growth.powf(0.5_f64.powi(self.bisections.cast_signed()));
        narrowed.max(1.0 + self.width_percent / 100.0)
    }
}

plan_section! {
    /// Settings for measuring servers in turn, so that drift of the machine's speed affects all of
    /// them.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct BlocksPlan in "blocks." {
        /// Number of rounds, each with one search for every server's highest rate. The first round
        /// searches from `search.start_per_s`, later ones from the rate found before.
        rounds: u32 = 4, "4", Whole(1, 100),
            "Number of times that every server's highest rate is found; each round gives one pair \
             of figures to a ratio.";
        /// Order in which the servers take their turns in a round.
        order: BlockOrder = BlockOrder::Abba, "\"abba\"", Choice(&["abba", "abab", "random"]),
            "Order of the servers in one pass over them; abba reverses every second pass, which \
             cancels steady drift; random draws an order for every two passes and reverses it for \
             the second.";
        /// True if the limit responder (a program that returns every datagram) is also measured, in
        /// turn with the servers.
        limit: bool = true, "true", Flag,
            "Also measure the limit responder, a program that sends every message back, in turn \
             with the servers.";
        /// Length of a block, a trial at a fixed rate near the server's highest rate, in seconds; 0
        /// leaves blocks out.
        dwell_s: f64 = 1.0, "1.0", Number(0.0, 3_600.0),
            "Length of a further trial of each server in each round, at a fixed rate near its \
             highest; 0 leaves these trials out.";
    }
}

/// Order in which the trials of different servers alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

plan_section! {
    /// Settings of points of the load curve (completed over offered rate) in addition to those that
    /// the search visits.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct CurvePlan in "curve." {
        /// Offered rates of the additional points, as fractions of the server's highest rate.
        fractions: Vec<f64> = vec![0.25, 0.5, 0.75, 0.9, 1.1, 1.5],
            "[0.25, 0.5, 0.75, 0.9, 1.1, 1.5]", Numbers(0.01, 100.0),
            "Points of the load curve as fractions of the highest rate found.";
        /// Length of a trial of the load curve, in seconds.
        dwell_s: f64 = 1.0, "1.0", Number(0.1, 3_600.0), "Length of a curve trial.";
        /// True if every server is also measured at half of the slowest server's highest rate.
        same_rate: bool = false, "false", Flag,
            "Add one more point for every server: half of the highest rate of the slowest.";
        /// Size of an avalanche, the clients that all come at once, in seconds of work at the
        /// server's highest rate; 0 for no avalanche.
        avalanche_s: f64 = 0.0, "0.0", Number(0.0, 600.0),
            "Size of a trial in which all clients begin at once: as many as the highest rate would \
             serve in this number of seconds; 0 for none (DHCP).";
    }
}

plan_section! {
    /// Settings of the clients that the load generator simulates.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ClientsPlan in "clients." {
        /// Number of distinct clients that the generator simulates, each with its own hardware
        /// address.
        count: u32 = 100_000, "100000", Whole(1, 16_777_216),
            "Distinct clients, each with its own hardware address.";
        /// True if, on a veth pair, the clients' messages leave as frames by AF_XDP, without the
        /// kernel's UDP.
        frames: bool = false, "false", Flag,
            "Send messages as frames by AF_XDP, past the kernel's UDP, instead of in groups \
             (UDP_SEGMENT); needs a veth pair.";
        /// Least time between the generator's turns, in microseconds. Each turn sends all messages
        /// that came due since the last turn, and reads all that arrived.
        turn_us: u32 = 0, "0", Whole(0, 10_000),
            "Shortest time between two send and receive cycles of the generator. A longer time \
             sends and reads more messages at once, which saves processor time; latencies are up \
             to that much longer.";
    }
}

plan_section! {
    /// Settings of the measured servers' configuration.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ServerPlan in "server." {
        /// Number of addresses in the server's pool.
        pool_size: u32 = 262_144, "262144", Whole(1, 16_777_216), "Addresses in the pool.";
        /// Lifetime of the server's leases, in seconds.
        lease_time_s: u32 = 3_600, "3600", Whole(1, 4_294_967_294), "Lifetime of a lease.";
        /// Durabilities of Godwit that are measured. The first is compared with other servers; each
        /// further one is a line of its own in the result table.
        durability: Vec<ServerDurability> = vec![ServerDurability::None, ServerDurability::Always],
            "[\"none\", \"always\"]", Choices(&ServerDurability::NAMES),
            "Godwit's durabilities to measure: how far a lease is on the disk before its reply \
             leaves. Ratios to other servers use the first.";
        /// Stores in which the measured servers keep their leases; each is a line of its own in the
        /// result table.
        stores: Vec<LeaseStoreKind> = vec![LeaseStoreKind::Memfile], "[\"memfile\"]",
            Choices(&LeaseStoreKind::NAMES),
            "Lease backends to measure, by Kea's names; every server that has the backend gets a \
             row of results for it.";
        /// Ways in which servers use a database that more than one server may write to; each is a
        /// line of its own in the result table.
        sharing: Vec<DatabaseAccess> = vec![DatabaseAccess::Open], "[\"open\"]",
            Choices(&DatabaseAccess::NAMES),
            "Use of a lease database: open to other writers, exclusive (Godwit only), two servers \
             on one database with the load split between them, or a database behind a delay; each \
             gets a row of results.";
        /// Share of a processor that each measured server gets, above 0; 1 for all of it.
        processor_share: f64 = 1.0, "1.0", Number(0.01, 1.0),
            "Share of a processor that each server gets, for overloads beyond the generator's \
             capacity; below 1 it needs control groups, and root.";
        /// Features of the servers' configuration beyond one subnet with one pool; each is a line
        /// of its own in the result table.
        features: Vec<ServerFeature> = vec![ServerFeature::Plain], "[\"plain\"]",
            Choices(&ServerFeature::NAMES),
            "Configurations of the server: plain is one subnet with one pool. Each gets a row of \
             results, compared with plain, or with pool-50 where clients release leases.";
    }
}

base::recorded! {
    /// Durability of Godwit's leases: the time at which a lease is on the disk. Names are words of
    /// plans and of Godwit's configuration.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
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
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "-none",
            Self::Interval => "-interval",
            Self::Always => "",
        }
    }

    /// Splits the name of a line of the result table into the name without its durability, and that
    /// durability; [`ServerDurability::Always`] for a name without one.
    pub fn split_line(line: &str) -> (&str, Self) {
        let with_suffix = |of: Self| Some((line.strip_suffix(of.suffix())?, of));
        let not_default = Self::ALL.into_iter().filter(|of| !of.suffix().is_empty());
        not_default.filter_map(with_suffix).next().unwrap_or((line, Self::Always))
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
