//! Keys that a plan may have: type of value, default, meaning. The checker and the manual are made
//! from this one table.

use super::{Headline, ServerFeature};

/// One key of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanKey {
    /// Table and name of the key, e.g. `search.dwell_s`.
    pub path: &'static str,
    /// Values that the key takes.
    pub takes: KeyValueSet,
    /// Value when the key is left out, as TOML text; empty when the key is mandatory.
    pub default: &'static str,
    /// Meaning of the key, one sentence.
    pub meaning: &'static str,
}

/// Values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum KeyValueSet {
    /// Letters, digits and dashes, not empty.
    Name,
    /// Any text, not empty.
    Text,
    /// Any text, also an empty one.
    AnyText,
    /// A list of [`KeyValueSet::Text`], possibly empty.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of at least one of these words, each at most once.
    Choices(&'static [&'static str]),
    /// A list of at least one [`KeyValueSet::Name`], each at most once.
    Names,
    /// A number from the first to the second, fractions allowed.
    Number(f64, f64),
    /// A list of such numbers, possibly empty.
    Numbers(f64, f64),
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// `true` or `false`.
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

/// All keys, in the order of the manual.
pub const KEYS: &[PlanKey] = &[
    key("name", KeyValueSet::Name, "", "Short name; part of the result folder's name."),
    key("title", KeyValueSet::Text, "", "One line for people; the report's title."),
    key(
        "protocol",
        KeyValueSet::Choice(&["dhcp4", "dhcp6", "dns"]),
        "\"dhcp4\"",
        "What is spoken.",
    ),
    key(
        "headline",
        KeyValueSet::Choice(HEADLINES),
        "\"highest-rate\"",
        "The figure of each server that the report shows first.",
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
        "Servers measured when the command line names none; the first is what ratios divide. \
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
        "Wall time of the whole run at most; where it is short there are fewer rounds; 0 for as long as all takes.",
    ),
    key(
        "sampling_interval_ms",
        KeyValueSet::Whole(10, 10_000),
        "100",
        "How often processors, memory and drop counters are read during a trial.",
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
        "When an exchange is late, counted from when it was due.",
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
        "Rate never exceeded, exchanges per second.",
    ),
    key("search.growth", KeyValueSet::Number(1.1, 16.0), "2.0", "Factor between coarse steps."),
    key(
        "search.bisections",
        KeyValueSet::Whole(0, 30),
        "6",
        "Most steps between the highest rate met and the lowest missed.",
    ),
    key(
        "search.width_percent",
        KeyValueSet::Number(0.1, 50.0),
        "5.0",
        "Bisection ends when that interval is this narrow.",
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
        "Confirming trials tried at most, each at a lower rate than the one before. When one is met after others were missed, up to three more halve the gap.",
    ),
    key(
        "search.quiet_s",
        KeyValueSet::Number(0.0, 60.0),
        "0.0",
        "Trials other than confirming ones stop waiting when no answer came for so long; 0 waits for the deadline.",
    ),
    key(
        "search.void_repeats",
        KeyValueSet::Whole(0, 20),
        "2",
        "How often a void trial is repeated before its rate counts as out of reach.",
    ),
    key(
        "blocks.rounds",
        KeyValueSet::Whole(1, 100),
        "4",
        "How many times every server's highest rate is found; each round gives one pair.",
    ),
    key(
        "blocks.order",
        KeyValueSet::Choice(&["abba", "abab", "random"]),
        "\"abba\"",
        "Order of turns; abba runs every second turn backwards, which cancels steady drift; random draws each two turns, one backwards.",
    ),
    key(
        "blocks.limit",
        KeyValueSet::Flag,
        "true",
        "Whether the limit responder takes its turn between the servers.",
    ),
    key(
        "blocks.dwell_s",
        KeyValueSet::Number(0.0, 3_600.0),
        "1.0",
        "Length of a block at a fixed rate, taken in turn; 0 leaves these blocks out.",
    ),
    key(
        "runs.count",
        KeyValueSet::Whole(0, 100),
        "0",
        "Whole measurements of every server, each from the beginning and without leases; takes the place of blocks.rounds.",
    ),
    key(
        "runs.drop",
        KeyValueSet::Choice(&["none", "best-and-worst"]),
        "\"best-and-worst\"",
        "Which runs are dropped before the mean over runs is taken.",
    ),
    key(
        "runs.unconfirmed",
        KeyValueSet::Choice(&["lower-bound", "void"]),
        "\"lower-bound\"",
        "What a run counts as whose highest rate could not be confirmed as the highest; its lower bound is what it confirmed, 0 when that is nothing.",
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
        "One more point for every server: half of the highest rate of the slowest.",
    ),
    key(
        "curve.avalanche_s",
        KeyValueSet::Number(0.0, 600.0),
        "0.0",
        "All clients at once: as many as the highest rate would serve in this number of seconds; 0 for none (DHCP).",
    ),
    key("curve.dwell_s", KeyValueSet::Number(0.1, 3_600.0), "1.0", "Length of a curve trial."),
    key(
        "ramp.first_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "25.0",
        "First step of a ramp, Mbit/s of the query's frame of 85 octets (DNS).",
    ),
    key(
        "ramp.step_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "25.0",
        "From a step of the ramp to the next.",
    ),
    key(
        "ramp.last_mbit_s",
        KeyValueSet::Number(0.01, 100_000.0),
        "750.0",
        "No step of the ramp is above this.",
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
        "Where perf samples the functions of each server, in a trial of its own, as fractions of the highest rate found; empty for no profiles.",
    ),
    key(
        "profile.seconds",
        KeyValueSet::Number(0.1, 600.0),
        "3.0",
        "How long samples are taken in each such trial.",
    ),
    key(
        "profile.frequency_hz",
        KeyValueSet::Whole(1, 50_000),
        "997",
        "Samples per second of each thread that runs.",
    ),
    key(
        "profile.event",
        KeyValueSet::Choice(&["auto", "cycles", "cpu-clock"]),
        "\"auto\"",
        "What makes the kernel take a sample; auto is cycles, or cpu-clock where the machine has no hardware counters.",
    ),
    key(
        "profile.call_graph",
        KeyValueSet::Choice(&["dwarf", "frame-pointer"]),
        "\"dwarf\"",
        "How callers are found; frame pointers cost less, and end at the first function that was built without, as those of most packages are.",
    ),
    key(
        "restart.database",
        KeyValueSet::Choice(&["none", "stop", "kill", "both"]),
        "\"none\"",
        "How databases are ended and started again in the middle of a trial of their own: not at all, in order, killed, or one trial for each.",
    ),
    key(
        "restart.fraction",
        KeyValueSet::Number(0.01, 1.0),
        "0.5",
        "Constant load of that trial, as a fraction of the highest rate found.",
    ),
    key("restart.dwell_s", KeyValueSet::Number(1.0, 3_600.0), "20.0", "Length of that trial."),
    key(
        "restart.at_s",
        KeyValueSet::Number(0.1, 3_600.0),
        "6.0",
        "When the database is ended, counted from the beginning of that trial.",
    ),
    key(
        "exhaustion.dwell_s",
        KeyValueSet::Number(0.0, 3_600.0),
        "0.0",
        "Length of a trial of its own in whose middle the pool runs out, drawn second by second; 0 for none (DHCP).",
    ),
    key(
        "exhaustion.fraction",
        KeyValueSet::Number(0.01, 1.0),
        "0.5",
        "Constant load of that trial, as a fraction of the highest rate found.",
    ),
    key(
        "exhaustion.at_s",
        KeyValueSet::Number(0.1, 3_600.0),
        "15.0",
        "When the last address is given, counted from the beginning of that trial.",
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
        "Whether messages leave as frames by AF_XDP, past UDP of the kernel, where there is a veth pair, instead of in \
         groups.",
    ),
    key(
        "clients.turn_us",
        KeyValueSet::Whole(0, 10_000),
        "0",
        "How far apart the generator's turns are at least: more leaves and is read in one, which spares it, and latencies are \
         up to that much longer.",
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
        "Godwit's durabilities measured; the first is the one compared with other servers.",
    ),
    key(
        "server.stores",
        KeyValueSet::Choices(STORES),
        "[\"memfile\"]",
        "Where servers keep their leases, by Kea's names; each is a line of every server that has it.",
    ),
    key(
        "server.sharing",
        KeyValueSet::Choices(SHARINGS),
        "[\"open\"]",
        "How servers use a database: open to other writers, exclusive (Godwit only), two servers on one with the load split between them, or a round trip away; each is a line.",
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
        "Ports that queries leave from; servers divide their load among threads by these.",
    ),
    key(
        "dns.segmentation",
        KeyValueSet::Flag,
        "false",
        "Whether queries of one port leave in groups (UDP_SEGMENT), which spares the generator.",
    ),
    key(
        "dns.frames",
        KeyValueSet::Flag,
        "false",
        "Whether queries leave as frames by AF_XDP, or in groups by sockets, and answers come from a ring, past UDP of \
         the kernel, where there is a veth pair: it spares the generator.",
    ),
    key(
        "hosts.server",
        KeyValueSet::AnyText,
        "\"\"",
        "What SSH knows the servers' machine by; without it this machine has every part.",
    ),
    key(
        "hosts.server_address",
        KeyValueSet::AnyText,
        "\"\"",
        "The servers' address towards the generators; needed as soon as another machine has a part.",
    ),
    key(
        "hosts.generators",
        KeyValueSet::Texts,
        "[]",
        "What SSH knows the generators' machines by, which divide the load between them; without any this one sends.",
    ),
    key(
        "hosts.generator_addresses",
        KeyValueSet::Texts,
        "[]",
        "The address of each generator towards the server, in the same order; for DHCP that of the relay that it plays.",
    ),
    key(
        "hosts.godwit",
        KeyValueSet::Text,
        "\"godwit\"",
        "The program on those machines; its version must be this one's.",
    ),
    key(
        "hosts.ssh",
        KeyValueSet::Text,
        "\"ssh -o BatchMode=yes\"",
        "The command that reaches a machine, with everything before its name.",
    ),
    key(
        "hosts.first_port",
        KeyValueSet::Whole(1_024, 65_000),
        "16700",
        "The UDP port of the generators; the servers have those that follow.",
    ),
    key(
        "server.processor_share",
        KeyValueSet::Number(0.01, 1.0),
        "1.0",
        "Share of a processor that each server gets, so that it can be overloaded by far; below 1 it needs control groups, and root.",
    ),
    key(
        "server.features",
        KeyValueSet::Choices(FEATURES),
        "[\"plain\"]",
        "What configurations have beyond one subnet with one pool; each is a separate line, compared with plain, or with pool-50 where clients release leases.",
    ),
    key(
        "void.late_sends_percent",
        KeyValueSet::Number(0.0, 100.0),
        "1.0",
        "A trial is void when more of its exchanges were begun late by the generator.",
    ),
    key(
        "void.socket_drops_percent",
        KeyValueSet::Number(0.0, 100.0),
        "0.0",
        "A trial is void when more of its messages were dropped at the generator's socket.",
    ),
    key(
        "void.softnet_drops_percent",
        KeyValueSet::Number(0.0, 100.0),
        "0.0",
        "A trial is void when more of its messages were dropped at a processor's backlog.",
    ),
    key(
        "void.steal_percent",
        KeyValueSet::Number(0.0, 100.0),
        "25.0",
        "A trial is void when the hypervisor took more of the processors' time.",
    ),
];
