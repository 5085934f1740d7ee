//! Simulated lab: servers with a capacity, a cost and some noise, measured as the lab measures, for
//! tests of the digest and the report.

use std::collections::BTreeMap;

use base::{Histogram, Random};
use measure::plan::{CallGraph, Plan};
use measure::profile::{Profile, fold};
use measure::record::{
    CpuSample, Environment, ExchangeCounts, FlushCost, LIMIT_SERVER, LOAD_SCHEMA, LatencySummary,
    LoadRecord, MachineSample, MessageCounts, Purpose, RUN_SCHEMA, RunRecord, SampleDigest,
    SearchEnd, TRIAL_SCHEMA, TrialRecord, VoidReason,
};
use measure::search::{Search, SearchStep, TrialOutcome};
use measure::summary::{LongTrial, LongTrialPoint, RunSummary, digest};

/// Model of a server in the simulation.
#[derive(Clone, Copy)]
pub(crate) struct ServerModel {
    pub(crate) server: &'static str,
    pub(crate) variant: &'static str,
    /// Capacity of the server, in exchanges per second.
    pub(crate) capacity_per_s: f64,
    /// Processor seconds per exchange.
    pub(crate) cost_s: f64,
    /// Latency without load, in microseconds.
    pub(crate) latency_us: f64,
    pub(crate) rss_mib: u64,
}

/// Models of the limit responder, Godwit twice and Kea in both ways.
pub(crate) const MODELS: [ServerModel; 5] = [
    model(LIMIT_SERVER, "", 236_000.0, 3.9e-6, 38.0, 4),
    model("godwit-none", "durability none", 182_000.0, 5.2e-6, 55.0, 46),
    model("godwit", "durability always", 141_000.0, 5.9e-6, 480.0, 47),
    model("kea", "single-threaded", 9_800.0, 1.01e-4, 160.0, 88),
    model("kea", "multi-threaded", 14_200.0, 1.32e-4, 230.0, 131),
];

const fn model(
    server: &'static str,
    variant: &'static str,
    capacity_per_s: f64,
    cost_s: f64,
    latency_us: f64,
    rss_mib: u64,
) -> ServerModel {
    ServerModel { server, variant, capacity_per_s, cost_s, latency_us, rss_mib }
}

/// Fault of a server in a run of the simulated lab.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServerFault {
    /// Fault by which the server misses every confirmation of its highest rate.
    Fails,
    /// Fault by which every trial of the server is void.
    Void,
    /// Fault by which trials at more than half of the server's capacity are void, so that it never
    /// misses the criterion.
    Blinded,
    /// Fault by which the server reaches only this share of its capacity.
    Slowed(f64),
}

/// Number of latencies per trial that is enough for every percentile.
const ENOUGH: u32 = 10_000;

pub(crate) struct Lab {
    pub(crate) plan: Plan,
    random: Random,
    clock_s: f64,
    pub(crate) trials: Vec<TrialRecord>,
    pub(crate) searches: Vec<SearchEnd>,
    /// Faults of servers in runs: name of the server, number of the run, fault.
    pub(crate) mishaps: Vec<(&'static str, u32, ServerFault)>,
    /// Number of trials of which one, on average, is void; 0 if none is.
    pub(crate) void_one_in: u64,
    /// Number of latencies in the record of each trial.
    pub(crate) latencies: u32,
}

impl Lab {
    pub(crate) fn new(plan: Plan) -> Self {
        let random = Random::from_seed(plan.seed);
        Self {
            plan,
            random,
            clock_s: 1.2,
            trials: Vec::new(),
            searches: Vec::new(),
            mishaps: Vec::new(),
            void_one_in: 0,
            latencies: 4_000,
        }
    }

    /// Measures the servers `models` in turn, in the plan's number of rounds, with curve points at
    /// the end.
    pub(crate) fn measure(&mut self, models: &[ServerModel]) {
        let mut rates: BTreeMap<usize, f64> = BTreeMap::new();
        let mut models = models.to_vec();
        for round in 0..self.plan.rounds() {
            if round == 1 {
                // Of several variants only the best continues.
                let best = |of: &ServerModel| {
                    let same = self.trials.iter().filter(|t| t.server == of.server);
                    same.filter(|t| t.purpose == Purpose::Confirm)
                        .max_by(|a, b| a.achieved_per_s().total_cmp(&b.achieved_per_s()))
                        .is_none_or(|t| t.variant == of.variant)
                };
                models.retain(best);
                rates.clear();
            }
            for turn in self.plan.blocks.order.turns(models.len(), round, self.plan.seed) {
                let known_rate = rates.get(&turn).copied().or_else(|| self.known(&models[turn]));
                let plan = self.plan.round_search(round, &self.plan.search);
                let search = match known_rate {
                    Some(rate) if !self.plan.has_runs() => Search::near(&plan, rate),
                    _ => Search::new(&plan),
                };
                if let Some(rate) = self.search(&models[turn], search, round) {
                    rates.insert(turn, rate);
                }
            }
            for turn in self.plan.blocks.order.turns(models.len(), round, self.plan.seed) {
                let rate = rates.get(&turn).copied().unwrap_or(1_000.0);
                self.trial(&models[turn], Purpose::Pair, round, rate, self.plan.blocks.dwell_s);
            }
        }
        for (turn, model) in models.iter().enumerate() {
            for fraction in self.plan.curve.fractions.clone() {
                let rate = rates.get(&turn).copied().unwrap_or(1_000.0) * fraction;
                self.trial(model, Purpose::Curve, 0, rate, self.plan.curve.dwell_s);
            }
        }
    }

    /// Returns the rate of the last trial that had to confirm a rate of `model`.
    fn known(&self, model: &ServerModel) -> Option<f64> {
        let same = |t: &&TrialRecord| t.server == model.server && t.variant == model.variant;
        let mut confirmed = self.trials.iter().filter(same);
        confirmed.rfind(|t| t.purpose == Purpose::Confirm).map(|t| t.rate_per_s)
    }

    fn search(&mut self, model: &ServerModel, mut search: Search, round: u32) -> Option<f64> {
        loop {
            match search.next_step() {
                SearchStep::Done(result) => {
                    self.searches.push(SearchEnd {
                        server: model.server.to_owned(),
                        variant: model.variant.to_owned(),
                        round,
                        rate_per_s: result.rate_per_s,
                        stop: result.stop,
                    });
                    return result.rate_per_s;
                }
                SearchStep::Probe(probe) => {
                    let (purpose, dwell_s) = (probe.purpose, probe.dwell_s);
                    search.report(self.trial(model, purpose, round, probe.rate_per_s, dwell_s));
                }
            }
        }
    }

    fn trial(
        &mut self,
        model: &ServerModel,
        purpose: Purpose,
        round: u32,
        rate_per_s: f64,
        dwell_s: f64,
    ) -> TrialOutcome {
        let number = self.trials.len() as u32;
        let drift = 1.0 + 0.04 * (self.clock_s / 9.0).sin();
        let capacity = model.capacity_per_s * drift * (0.98 + 0.04 * self.random.unit());
        let mishaps = self.mishaps_of(model, purpose, round);
        let capacity = mishaps.iter().fold(capacity, |capacity, mishap| match mishap {
            ServerFault::Slowed(share) => capacity * share,
            ServerFault::Fails if purpose == Purpose::Confirm => rate_per_s * 0.5,
            _ => capacity,
        });
        let load = self.load(model, capacity, rate_per_s, dwell_s, number);
        let is_over = rate_per_s > capacity;
        let start_s = self.clock_s;
        self.clock_s += dwell_s
            + match (is_over, purpose) {
                (false, _) => 0.05,
                (true, Purpose::Search) => self.plan.search.quiet_s,
                (true, _) => self.plan.search.deadline_s,
            };
        let samples = self.samples(model, load.completed_per_s, start_s, is_over);
        let is_void = self.void_one_in > 0 && self.random.chance(1, self.void_one_in) && number > 3;
        let is_void = is_void
            || mishaps.contains(&ServerFault::Void)
            || mishaps.contains(&ServerFault::Blinded) && rate_per_s > model.capacity_per_s / 2.0;
        let mut trial = TrialRecord {
            wait_s: 0.001,
            flush_us: 350.0,
            schema: TRIAL_SCHEMA.to_owned(),
            number,
            server: model.server.to_owned(),
            variant: model.variant.to_owned(),
            purpose,
            round,
            rate_per_s,
            seed: self.plan.trial_seed(number),
            start_s,
            end_s: self.clock_s,
            commands: commands(model, rate_per_s, dwell_s),
            server_cpus: vec![0],
            generator_cpus: vec![1],
            digest: SampleDigest::from_samples(&samples, &[0], &[1]),
            load: Some(load),
            samples,
            void: Vec::new(),
            files: vec![format!("trials/{number:03}/trial.json")],
            ..TrialRecord::default()
        };
        trial.digest.server_cpu_s =
            trial.load.as_ref().map_or(0.0, |load| load.exchanges.carried() as f64) * model.cost_s;
        if is_void {
            trial.void = vec![VoidReason::SoftnetDrops];
        }
        self.clock_s += 0.1;
        let outcome = match (is_void, trial.meets(self.plan.search.loss_percent)) {
            (true, _) => TrialOutcome::Void,
            (_, true) => TrialOutcome::Met,
            _ => TrialOutcome::Missed,
        };
        self.trials.push(trial);
        outcome
    }

    fn mishaps_of(&self, model: &ServerModel, purpose: Purpose, round: u32) -> Vec<ServerFault> {
        let is_of = |server: &str, of: u32| {
            server == model.server && of == round && purpose != Purpose::Curve
        };
        let all = self.mishaps.iter();
        all.filter(|(server, of, _)| is_of(server, *of)).map(|(_, _, mishap)| *mishap).collect()
    }

    fn load(
        &mut self,
        model: &ServerModel,
        capacity: f64,
        rate_per_s: f64,
        dwell_s: f64,
        number: u32,
    ) -> LoadRecord {
        let due = (rate_per_s * dwell_s).round().max(1.0) as u64;
        let share = (capacity / rate_per_s).min(1.0);
        // An overloaded server wastes a part of its time on exchanges that are too late.
        let carried = (due as f64 * if share < 1.0 { share * share.powf(0.3) } else { 1.0 }) as u64;
        // Half of the others are completed on time, out of a queue that grew; for every third
        // server a quarter of the rest is late.
        let behind = (due - carried) / 2;
        let late = if number.is_multiple_of(3) { (due - carried - behind) / 4 } else { 0 };
        let on_time = carried + behind;
        let utilization = (rate_per_s / capacity).min(0.985);
        let mut histogram = Histogram::up_to(100_000_000_000);
        for _ in 0..self.latencies {
            let wait = -(1.0 - self.random.unit()).ln() * model.latency_us * 1.4 * utilization
                / (1.0 - utilization);
            let overload =
                if share < 1.0 { self.random.unit() * 1.7e6 * (1.0 - share) } else { 0.0 };
            let us = model.latency_us * (0.8 + 0.5 * self.random.unit()) + wait + overload;
            histogram.record((us * 1e3) as u64);
        }
        LoadRecord {
            schema: LOAD_SCHEMA.to_owned(),
            tool: "godwit load dhcp4".to_owned(),
            version: "0.1.0".to_owned(),
            seed: self.plan.trial_seed(number),
            offered_per_s: rate_per_s,
            duration_s: dwell_s,
            exchanges: ExchangeCounts {
                due,
                sent: due,
                on_time,
                behind,
                late,
                lost: due - on_time - late,
                ..ExchangeCounts::default()
            },
            messages: MessageCounts {
                sent: due + carried,
                received: 2 * carried,
                sent_bytes: 262 * due + 274 * carried,
                received_bytes: 2 * 290 * carried,
                ..Default::default()
            },
            completed_per_s: carried as f64 / dwell_s,
            deadline_s: self.plan.search.deadline_s,
            latency_due: LatencySummary::from_histogram(&histogram),
            latency_sent: LatencySummary::from_histogram(&histogram),
            histogram_due: histogram.entries().collect(),
            ..LoadRecord::default()
        }
    }

    fn samples(
        &mut self,
        model: &ServerModel,
        per_s: f64,
        start_s: f64,
        is_over: bool,
    ) -> Vec<MachineSample> {
        let interval_s = f64::from(self.plan.sampling_interval_ms) / 1e3;
        let count = ((self.clock_s - start_s) / interval_s).floor() as u32;
        let drops = if is_over { (per_s * interval_s * 0.05) as u64 } else { 0 };
        (1..=count)
            .map(|index| {
                let mut cpu = |cpu, load: f64| {
                    let steal_s = interval_s * 0.02 * self.random.unit();
                    let busy = load * (0.94 + 0.1 * self.random.unit());
                    let busy_s = busy.clamp(0.01, 0.97) * (interval_s - steal_s);
                    CpuSample {
                        cpu,
                        busy_s,
                        steal_s,
                        idle_s: interval_s - steal_s - busy_s,
                        softirq_s: busy_s * 0.3,
                    }
                };
                MachineSample {
                    at_s: start_s + f64::from(index) * interval_s,
                    interval_s,
                    cpus: vec![cpu(0, per_s * model.cost_s), cpu(1, per_s * 3.4e-6 + 0.04)],
                    server_rss_bytes: (model.rss_mib << 20) + u64::from(index) * 90_000,
                    generator_rss_bytes: 21 << 20,
                    server_socket_drops: drops,
                    ..MachineSample::default()
                }
            })
            .collect()
    }

    /// Returns the record of the run that the trials belong to.
    pub(crate) fn run(&self) -> RunRecord {
        let pairs = |list: &[(&str, &str)]| {
            list.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
        };
        RunRecord {
            schema: RUN_SCHEMA.to_owned(),
            plan: self.plan.clone(),
            started: "2026-03-14T15:09:26+01:00".to_owned(),
            duration_s: self.clock_s + 0.4,
            flushes: vec![FlushCost {
                at_s: 0.3,
                disk: "results".to_owned(),
                count: 40,
                min_us: 310.0,
                median_us: 350.0,
                max_us: 912.0,
            }],
            starts: Vec::new(),
            environment: Environment {
                os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
                kernel: "6.1.0-31-amd64".to_owned(),
                cpu_model: "Example CPU @ 2.60GHz".to_owned(),
                cpus: 2,
                memory_bytes: 8 << 30,
                virtualization: "kvm".to_owned(),
                topology: "veth".to_owned(),
                godwit: "0.1.0 (0123abc)".to_owned(),
                commit: String::new(),
                profile: "release".to_owned(),
                servers: pairs(&[("godwit", "0.1.0"), ("kea", "2.2.0")]),
                settings: pairs(&[
                    ("net.core.netdev_max_backlog", "100000"),
                    ("net.core.rmem_max", "212992"),
                ]),
            },
            searches: self.searches.clone(),
            is_interrupted: false,
            commands: vec![format!("godwit lab run {} --server godwit,kea", self.plan.name)],
            warnings: Vec::new(),
            files: vec!["run.json".to_owned(), "summary.json".to_owned()],
        }
    }
}

fn commands(model: &ServerModel, rate_per_s: f64, dwell_s: f64) -> BTreeMap<String, String> {
    let server = match model.server {
        "kea" => format!("kea-dhcp4 -c kea-{}.json -p 67", model.variant),
        LIMIT_SERVER => "godwit lab limit --listen 192.0.2.1:67".to_owned(),
        name => format!("godwit dhcp4 -c {name}.json"),
    };
    let generator = format!(
        "godwit load dhcp4 --server 192.0.2.1 --relay 198.18.0.1 --rate {rate_per_s:.0} \
         --duration {dwell_s} --clients 100000 --json load.json"
    );
    BTreeMap::from([("server".to_owned(), server), ("generator".to_owned(), generator)])
}

/// Runs the quick plan with all servers of the simulation and some void trials, and returns its
/// summary.
pub(crate) fn quick() -> RunSummary {
    let text = include_str!("../../../../plans/dhcp4-quick.toml");
    let mut plan = Plan::parse("dhcp4-quick.toml", text).expect("the shipped plan is good");
    plan.servers = vec!["godwit".to_owned(), "kea".to_owned()];
    let mut lab = Lab::new(plan);
    lab.void_one_in = 25;
    lab.latencies = ENOUGH;
    lab.measure(&MODELS);
    digest(&lab.run(), &lab.trials)
}

/// Returns the full plan, for two servers.
pub(crate) fn full_plan() -> Plan {
    let text = include_str!("../../../../plans/dhcp4-full.toml");
    let mut plan = Plan::parse("dhcp4-full.toml", text).expect("the shipped plan is good");
    plan.servers = vec!["godwit".to_owned(), "kea".to_owned()];
    plan
}

/// Runs the full plan with all servers of the simulation and one fault of each kind, and returns
/// its summary.
pub(crate) fn full() -> RunSummary {
    let mut plan = full_plan();
    plan.sampling_interval_ms = 1_000;
    let mut lab = Lab::new(plan);
    lab.void_one_in = 60;
    lab.latencies = ENOUGH;
    lab.mishaps = vec![
        ("godwit-none", 6, ServerFault::Slowed(0.6)),
        ("kea", 2, ServerFault::Fails),
        ("kea", 4, ServerFault::Void),
        ("godwit", 7, ServerFault::Blinded),
    ];
    lab.measure(&MODELS);
    digest(&lab.run(), &lab.trials)
}

/// Runs the quick plan with few trials and samples, and returns its summary.
pub(crate) fn small() -> RunSummary {
    let mut plan = quick().plan;
    plan.search.start_per_s = 8_000.0;
    plan.search.growth = 8.0;
    plan.search.bisections = 2;
    plan.search.width_percent = 20.0;
    plan.blocks.rounds = 2;
    plan.blocks.dwell_s = 0.4;
    plan.curve.fractions = vec![0.5];
    plan.sampling_interval_ms = 250;
    plan.seed = 7;
    let mut lab = Lab::new(plan);
    lab.latencies = ENOUGH;
    lab.void_one_in = 12;
    lab.measure(&[MODELS[0], MODELS[1], MODELS[4]]);
    digest(&lab.run(), &lab.trials)
}

/// Returns the summary of a run with servers with long names at rates close together, of which one
/// is never confirmed, in one round, so that no ratio has an interval; and a long trial.
pub(crate) fn crowded() -> RunSummary {
    const NAMES: [&str; 5] = [
        "godwit-postgresql",
        "godwit-postgresql-two-servers",
        "godwit-postgresql-20-ms-away",
        "godwit-mysql-1-ms-away",
        "godwit-mysql-exclusive",
    ];
    let mut plan = quick().plan;
    plan.blocks.rounds = 1;
    plan.sampling_interval_ms = 500;
    let mut lab = Lab::new(plan);
    lab.mishaps = vec![(NAMES[0], 0, ServerFault::Fails), (NAMES[3], 0, ServerFault::Blinded)];
    let models: Vec<ServerModel> = std::iter::zip(NAMES, 0_u32..)
        .map(|(server, n)| ServerModel {
            server,
            capacity_per_s: 14_000.0 + 300.0 * f64::from(n),
            ..MODELS[1]
        })
        .collect();
    lab.measure(&models);
    let mut summary = digest(&lab.run(), &lab.trials);
    let point = |n: u64| LongTrialPoint {
        due: 125_000,
        completed: 124_000 - 10 * n,
        server_cpus_busy: Some(0.7),
        server_rss_bytes: Some(200 << 20),
        ..LongTrialPoint::default()
    };
    summary.long_trials.push(LongTrial {
        server: NAMES[1].to_owned(),
        purpose: Purpose::Curve,
        offered_per_s: 125_000.0,
        interval_s: 1.0,
        points: (0..60).map(point).collect(),
        ..LongTrial::default()
    });
    summary
}

/// Profiles of `godwit dns echo` at 20,000 and at 60,000 queries per second, a part of the output
/// of perf 6.1.
const ECHO: [(f64, &str); 2] = [
    (20_000.0, include_str!("../../../measure/tests/data/perf/echo-20000.txt")),
    (60_000.0, include_str!("../../../measure/tests/data/perf/echo-60000.txt")),
];

/// Returns the profile of `text`, perf's output.
pub(crate) fn profile(text: &str) -> Profile {
    let folded = fold(text);
    Profile {
        event: folded.event,
        frequency_hz: 997,
        call_graph: CallGraph::Dwarf,
        seconds: 1.0,
        samples: folded.samples,
        lost: folded.lost,
        is_user_only: folded.is_user_only,
        stacks: folded.stacks,
    }
}

/// Returns the records of a DNS plan for the echo, profiled at two rates; `others` are profiled at
/// the first of them, with the samples of the second, under their own names.
pub(crate) fn profiled(others: &[&'static str]) -> (RunRecord, Vec<TrialRecord>) {
    let text = include_str!("../../../../plans/dns-quick.toml");
    let mut plan = Plan::parse("dns-quick.toml", text).expect("the shipped plan is good");
    plan.servers = vec!["echo".to_owned()];
    let mut lab = Lab::new(plan);
    let echo = model("echo", "", 210_000.0, 4.4e-6, 40.0, 5);
    let others: Vec<ServerModel> =
        others.iter().map(|&name| ServerModel { server: name, ..MODELS[1] }).collect();
    lab.measure(&[&[echo], &others[..]].concat());
    let measured = lab.trials.len();
    for (rate_per_s, text) in ECHO {
        lab.trial(&echo, Purpose::Profile, 0, rate_per_s, 4.0);
        lab.trials.last_mut().expect("a trial").profile = Some(profile(text));
    }
    for other in &others {
        lab.trial(other, Purpose::Profile, 0, ECHO[0].0, 4.0);
        lab.trials.last_mut().expect("a trial").profile = Some(profile(ECHO[1].1));
    }
    assert_eq!(lab.trials.len(), measured + 2 + others.len());
    (lab.run(), lab.trials)
}
