//! Keys that a plan may have: type of value, default, meaning. The checker and the manual are made
//! from this table.

use super::{Headline, ServerFeature};

/// Description of one key of a plan, for the checker and the manual.
#[derive(Clone, Copy, Debug)]
pub struct PlanKey {
    /// Table and name of the plan's key, e.g. `search.dwell_s`.
    pub path: &'static str,
    /// Values that the plan's key takes.
    pub takes: KeyValueSet,
    /// Value when the plan leaves the key out, as TOML text; empty when the key is mandatory.
    pub default: &'static str,
    /// Meaning of the plan's key, one sentence for the manual.
    pub meaning: &'static str,
}

/// Kind of values that a key of a plan takes.
#[derive(Clone, Copy, Debug)]
pub enum KeyValueSet {
    /// Word of letters, digits and dashes, not empty.
    Name,
    /// Any text that is not empty.
    Text,
    /// Any text, including an empty one.
    AnyText,
    /// List of texts as in [`KeyValueSet::Text`], possibly empty.
    Texts,
    /// One word of a list.
    Choice(&'static [&'static str]),
    /// List of at least one word, each from the given words and at most once.
    Choices(&'static [&'static str]),
    /// List of at least one name as in [`KeyValueSet::Name`], each at most once.
    Names,
    /// Number from the first bound to the second, fractions allowed.
    Number(f64, f64),
    /// List of numbers from the first bound to the second, fractions allowed, possibly empty.
    Numbers(f64, f64),
    /// Whole number from the first bound to the second.
    Whole(i64, i64),
    /// TOML Boolean: `true` or `false`.
    Flag,
}

pub(crate) const fn key(
    path: &'static str,
    takes: KeyValueSet,
    default: &'static str,
    meaning: &'static str,
) -> PlanKey {
    PlanKey { path, takes, default, meaning }
}

const DURABILITIES: &[&str] = &["none", "interval", "always"];
const STORES: &[&str] = &["memfile", "mysql", "postgresql", "sqlite"];
const SHARINGS: &[&str] =
    &["open", "exclusive", "two-servers", "1-ms-away", "5-ms-away", "20-ms-away"];

const FEATURES: &[&str] = &{
    let mut names = [""; ServerFeature::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ServerFeature::ALL[at].name();
        at += 1;
    }
    names
};

const HEADLINES: &[&str] = &{
    let mut names = [""; Headline::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Headline::ALL[at].name();
        at += 1;
    }
    names
};

/// All keys of a plan, in the order of the manual.
pub const KEYS: &[PlanKey] = &[
    key("name", KeyValueSet::Name, "", "Short name; part of the result folder's name."),
    key("title", KeyValueSet::Text, "", "Title of the report, one line."),
    key(
        "protocol",
        KeyValueSet::Choice(&["dhcp4", "dhcp6", "dns"]),
        "\"dhcp4\"",
        "Protocol under test.",
    ),
    key(
        "headline",
        KeyValueSet::Choice(HEADLINES),
        "\"highest-rate\"",
        "Figure of each server that the report shows first.",
    ),
    key(
        "topology",
        KeyValueSet::Choice(&["auto", "veth", "loopback"]),
        "\"auto\"",
        "Connection of generator and server; auto is veth with the necessary privilege.",
    ),
    key(
        "servers",
        KeyValueSet::Names,
        "[\"godwit\"]",
        "Servers measured when the command line names none; the first is the numerator of ratios. \
         For DNS [\"installed\"] means those of BIND, Knot, NSD and Unbound that are installed.",
    ),
    key(
        "seed",
        KeyValueSet::Whole(0, i64::MAX),
        "1",
        "Seed from which every trial's seed is derived.",
    ),
    key(
        "time_budget_s",
        KeyValueSet::Number(0.0, 86_400.0),
        "0.0",
        "Longest wall time of the whole run; if it is short there are fewer rounds; 0 is no limit.",
    ),
    key(
        "sampling_interval_ms",
        KeyValueSet::Whole(10, 10_000),
        "100",
        "Interval between two readings of processors, memory and drop counters during a trial.",
    ),
    key(
        "search.loss_percent",
        KeyValueSet::Number(0.0, 100.0),
        "2.5",
        "Largest share of exchanges that may be missed: late, lost, refused or queued too long.",
    ),
    key(
        "search.deadline_s",
        KeyValueSet::Number(0.001, 60.0),
        "2.0",
        "Time after which an exchange is late, counted from its due time.",
    ),
    key(
        "search.start_per_s",
        KeyValueSet::Number(1.0, 1e8),
        "1000.0",
        "First rate tried, exchanges per second.",
    ),
    key(
        "search.max_per_s",
        KeyValueSet::Number(1.0, 1e8),
        "1000000.0",
        "Highest rate tried, exchanges per second.",
    ),
    key(
        "search.growth",
        KeyValueSet::Number(1.1, 16.0),
        "2.0",
        "Factor between two rates of the coarse search, before bisection.",
    ),
    key(
        "search.bisections",
        KeyValueSet::Whole(0, 30),
        "6",
        "Largest number of bisection steps between the highest rate met and the lowest missed.",
    ),
    key(
        "search.width_percent",
        KeyValueSet::Number(0.1, 50.0),
        "5.0",
        "Width of the interval between the highest rate met and the lowest missed at which \
         bisection ends.",
    ),
    key("search.dwell_s", KeyValueSet::Number(0.1, 3_600.0), "1.0", "Length of a search trial."),
    key(
        "search.confirm_dwell_s",
        KeyValueSet::Number(0.1, 3_600.0),
        "3.0",
        "Length of a confirming trial at the rate found.",
    ),
    key(
        "search.confirmations",
        KeyValueSet::Whole(1, 20),
        "5",
        "Largest number of confirming trials, each at a lower rate than the one before. When one \
         is met after others were missed, up to three more halve the gap.",
    ),
    key(
        "search.quiet_s",
        KeyValueSet::Number(0.0, 60.0),
        "0.0",
        "Seconds without an answer after which a trial stops waiting, 1 s at least for a \
         confirming one; 0 waits for the deadline.",
    ),
    key(
        "search.void_repeats",
        KeyValueSet::Whole(0, 20),
        "2",
        "Number of repetitions of a void trial (see the keys void.*) before its rate counts as out \
         of reach.",
    ),
    key(
        "blocks.rounds",
        KeyValueSet::Whole(1, 100),
        "4",
        "Number of times that every server's highest rate is found; each round gives one pair of \
         figures to a ratio.",
    ),
    key(
        "blocks.order",
        KeyValueSet::Choice(&["abba", "abab", "random"]),
        "\"abba\"",
        "Order of the servers in one pass over them; abba reverses every second pass, which \
         cancels steady drift; random draws an order for every two passes and reverses it for the \
         second.",
    ),
    key(
        "blocks.limit",
        KeyValueSet::Flag,
        "true",
        "Also measure the limit responder, a program that sends every message back, in turn with \
         the servers.",
    ),
    key(
        "blocks.dwell_s",
        KeyValueSet::Number(0.0, 3_600.0),
        "1.0",
        "Length of a further trial of each server in each round, at a fixed rate near its highest; \
         0 leaves these trials out.",
    ),
    key(
        "runs.count",
        KeyValueSet::Whole(0, 100),
        "0",
        "Whole measurements of every server, each from the beginning and without leases; replaces \
         blocks.rounds.",
    ),
    key(
        "runs.drop",
        KeyValueSet::Choice(&["none", "best-and-worst"]),
        "\"best-and-worst\"",
        "Runs that are dropped before the mean over runs.",
    ),
    key(
        "runs.unconfirmed",
        KeyValueSet::Choice(&["lower-bound", "void"]),
        "\"lower-bound\"",
        "Value of a run whose highest rate could not be confirmed as the highest; lower-bound is \
         the rate that it confirmed, 0 without one.",
    ),
    key(
        "curve.fractions",
        KeyValueSet::Numbers(0.01, 100.0),
        "[0.25, 0.5, 0.75, 0.9, 1.1, 1.5]",
        "Points of the load curve as fractions of the highest rate found.",
    ),
    key(
        "curve.same_rate",
        KeyValueSet::Flag,
        "false",
        "Add one more point for every server: half of the highest rate of the slowest.",
    ),
    key(
        "curve.avalanche_s",
        KeyValueSet::Number(0.0, 600.0),
        "0.0",
        "Size of a trial in which all clients begin at once: as many as the highest rate would \
         serve in this number of seconds; 0 for none (DHCP).",
    ),
    key("curve.dwell_s", KeyValueSet::Number(0.1, 3_600.0), "1.0", "Length of a curve trial."),
    key(
        "ramp.first_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "25.0",
        "First step of the ramp, a series of rising loads (DNS), in Mbit/s of query frames of 85 \
         bytes.",
    ),
    key(
        "ramp.step_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "25.0",
        "Difference between two steps of the ramp, in Mbit/s.",
    ),
    key(
        "ramp.last_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "750.0",
        "Upper limit of the steps of the ramp, in Mbit/s.",
    ),
    key(
        "ramp.dwell_s",
        KeyValueSet::Number(0.0, 3_600.0),
        "0.0",
        "Length of a step's trial; 0 leaves the ramp out.",
    ),
    key(
        "profile.fractions",
        KeyValueSet::Numbers(0.01, 100.0),
        "[]",
        "Loads, as fractions of the highest rate found, at which perf samples the functions of \
         each server, in a separate trial; empty for no profiles.",
    ),
    key(
        "profile.seconds",
        KeyValueSet::Number(0.1, 600.0),
        "3.0",
        "Time for which perf samples in each of these trials.",
    ),
    key(
        "profile.frequency_hz",
        KeyValueSet::Whole(1, 50_000),
        "997",
        "Samples per second of each running thread.",
    ),
    key(
        "profile.event",
        KeyValueSet::Choice(&["auto", "cycles", "cpu-clock"]),
        "\"auto\"",
        "Event of the kernel that triggers a sample; auto is cycles, or cpu-clock on a machine \
         without hardware counters.",
    ),
    key(
        "profile.call_graph",
        KeyValueSet::Choice(&["dwarf", "frame-pointer"]),
        "\"dwarf\"",
        "Method to find callers; frame pointers cost less, and end at the first function that was \
         built without them, as most packages are.",
    ),
    key(
        "restart.database",
        KeyValueSet::Choice(&["none", "stop", "kill", "both"]),
        "\"none\"",
        "End and restart of the database in the middle of a separate trial: none; stop, in order; \
         kill, by SIGKILL; both, in one trial each.",
    ),
    key(
        "restart.fraction",
        KeyValueSet::Number(0.01, 1.0),
        "0.5",
        "Constant load of the trial with the restart of the database, as a fraction of the highest \
         rate found.",
    ),
    key(
        "restart.dwell_s",
        KeyValueSet::Number(1.0, 3_600.0),
        "20.0",
        "Length of the trial with the restart of the database.",
    ),
    key(
        "restart.at_s",
        KeyValueSet::Number(0.1, 3_600.0),
        "6.0",
        "Time at which the database is ended, from the beginning of its trial.",
    ),
    key(
        "exhaustion.dwell_s",
        KeyValueSet::Number(0.0, 3_600.0),
        "0.0",
        "Length of a separate trial in which the pool runs out, shown second by second; 0 for none \
         (DHCP).",
    ),
    key(
        "exhaustion.fraction",
        KeyValueSet::Number(0.01, 1.0),
        "0.5",
        "Constant load of the trial in which the pool runs out, as a fraction of the highest rate \
         found.",
    ),
    key(
        "exhaustion.at_s",
        KeyValueSet::Number(0.1, 3_600.0),
        "15.0",
        "Time at which the server assigns the last address of the pool, from the beginning of the \
         trial.",
    ),
    key(
        "clients.count",
        KeyValueSet::Whole(1, 16_777_216),
        "100000",
        "Distinct clients, each with its own hardware address.",
    ),
    key(
        "clients.frames",
        KeyValueSet::Flag,
        "false",
        "Send messages as frames by AF_XDP, past the kernel's UDP, instead of in groups \
         (UDP_SEGMENT); needs a veth pair.",
    ),
    key(
        "clients.turn_us",
        KeyValueSet::Whole(0, 10_000),
        "0",
        "Shortest time between two send and receive cycles of the generator. A longer time sends \
         and reads more messages at once, which saves processor time; latencies are up to that \
         much longer.",
    ),
    key("server.pool_size", KeyValueSet::Whole(1, 16_777_216), "262144", "Addresses in the pool."),
    key(
        "server.lease_time_s",
        KeyValueSet::Whole(1, 4_294_967_294),
        "3600",
        "Lifetime of a lease.",
    ),
    key(
        "server.durability",
        KeyValueSet::Choices(DURABILITIES),
        "[\"none\", \"always\"]",
        "Godwit's durabilities to measure: how far a lease is on the disk before its reply leaves. \
         Ratios to other servers use the first.",
    ),
    key(
        "server.stores",
        KeyValueSet::Choices(STORES),
        "[\"memfile\"]",
        "Lease backends to measure, by Kea's names; every server that has the backend gets a row \
         of results for it.",
    ),
    key(
        "server.sharing",
        KeyValueSet::Choices(SHARINGS),
        "[\"open\"]",
        "Use of a lease database: open to other writers, exclusive (Godwit only), two servers on \
         one database with the load split between them, or a database behind a delay; each gets a \
         row of results.",
    ),
    key(
        "dns.threads",
        KeyValueSet::Whole(1, 256),
        "1",
        "Threads of each DNS server, or processes where it has no threads; all share one processor.",
    ),
    key(
        "dns.ports",
        KeyValueSet::Whole(1, 1_024),
        "64",
        "Source ports of queries; servers divide their load among threads by these.",
    ),
    key(
        "dns.segmentation",
        KeyValueSet::Flag,
        "false",
        "Send the queries of one port in groups (UDP_SEGMENT), which saves the generator's \
         processor time.",
    ),
    key(
        "dns.frames",
        KeyValueSet::Flag,
        "false",
        "Send queries as frames by AF_XDP, or in groups by sockets, and read answers from a ring, \
         past the kernel's UDP; needs a veth pair, saves the generator's processor time.",
    ),
    key(
        "hosts.server",
        KeyValueSet::AnyText,
        "\"\"",
        "SSH name of the servers' machine; without it everything runs on this machine.",
    ),
    key(
        "hosts.server_address",
        KeyValueSet::AnyText,
        "\"\"",
        "The servers' address towards the generators; needed if any part runs on another machine.",
    ),
    key(
        "hosts.generators",
        KeyValueSet::Texts,
        "[]",
        "SSH names of the generators' machines, which divide the load; without any, this machine \
         sends.",
    ),
    key(
        "hosts.generator_addresses",
        KeyValueSet::Texts,
        "[]",
        "The address of each generator towards the server, in the same order; for DHCP it is the \
         relay's address.",
    ),
    key(
        "hosts.godwit",
        KeyValueSet::Text,
        "\"godwit\"",
        "Path of the program on those machines; its version must be this one's.",
    ),
    key(
        "hosts.ssh",
        KeyValueSet::Text,
        "\"ssh -o BatchMode=yes\"",
        "Command that reaches a machine, with everything before the machine's name.",
    ),
    key(
        "hosts.first_port",
        KeyValueSet::Whole(1_024, 65_000),
        "16700",
        "UDP port of the generators; the servers have the following ones.",
    ),
    key(
        "server.processor_share",
        KeyValueSet::Number(0.01, 1.0),
        "1.0",
        "Share of a processor that each server gets, for overloads beyond the generator's \
         capacity; below 1 it needs control groups, and root.",
    ),
    key(
        "server.features",
        KeyValueSet::Choices(FEATURES),
        "[\"plain\"]",
        "Configurations of the server: plain is one subnet with one pool. Each gets a row of \
         results, compared with plain, or with pool-50 where clients release leases.",
    ),
    key(
        "void.late_sends_percent",
        KeyValueSet::Number(0.0, 100.0),
        "1.0",
        "Share of exchanges begun late by the generator above which a trial is void.",
    ),
    key(
        "void.socket_drops_percent",
        KeyValueSet::Number(0.0, 100.0),
        "0.0",
        "Share of messages dropped at the generator's socket above which a trial is void.",
    ),
    key(
        "void.softnet_drops_percent",
        KeyValueSet::Number(0.0, 100.0),
        "0.0",
        "Share of messages dropped at a processor's backlog above which a trial is void.",
    ),
    key(
        "void.steal_percent",
        KeyValueSet::Number(0.0, 100.0),
        "25.0",
        "Share of the processors' time withheld by the hypervisor above which a trial is void.",
    ),
];
