//! Notes on trials of DNS servers: reasons for wrong figures that do not make a trial void, and
//! places where queries were lost. Each note is one word, found in the record of a trial or by
//! comparing trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KernelCounts, RunSummary, ServerResult, TrialRow};
use crate::plan::{GIGABIT_BYTES_PER_S, WIRE_BYTES};
use crate::record::{LoadRecord, RunRecord, TrafficCounts, TrialRecord};

/// Share of processor time stolen by the hypervisor from which a trial gets a note, 0 to 1.
const STOLEN_SHARE: f64 = 0.05;
/// Share of a processor's time in software interrupts, 0 to 1, from which these bound the rate.
const SOFTIRQ_SHARE: f64 = 0.8;
/// Share of a processor's time in use, 0 to 1, from which the processor counts as fully busy.
const BUSY_LOAD: f64 = 0.9;
/// Share of a server's best rate below which the server's processor should not be busy.
const LOW_RATE_SHARE: f64 = 0.5;
/// Share by which the packet counts of interface and generator may differ, due to other packets on
/// a link of namespaces.
const COUNTERS_SHARE: f64 = 0.001;
/// Number of packets by which the counts of interface and generator may always differ.
const COUNTERS_PACKETS: u64 = 10;

base::worded! {
    /// Note on a trial's figures in a plan of DNS.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TrialNote {
        /// Queries found the receive buffer of the server's socket full.
        ServerSocketFull = "queries dropped at the server's full sockets",
        /// Answers found the send buffer of the server's socket full.
        ServerSendFull = "answers dropped at the server's full sockets",
        /// An interface of the link dropped packets, or failed to send them.
        InterfaceDrops = "packets dropped by an interface",
        /// The backlog of a processor (`net.core.netdev_max_backlog`) was full, so that the kernel
        /// dropped packets.
        BacklogFull = "packets dropped at a full processor backlog",
        /// Answers found the receive buffer of the generator's socket full.
        GeneratorSocketFull = "answers dropped at the generator's full sockets",
        /// Datagrams came to ports without a socket in the generator's network, which may cost ICMP
        /// messages.
        NoPort = "datagrams to ports without a socket",
        /// Queries were answered with another response code than expected.
        Refused = "answers with another response code",
        /// Answers of the DNS server did not match their queries.
        Wrong = "answers to another query",
        /// Queries were answered more than once by the server.
        AnsweredTwice = "queries answered twice",
        /// Server and generator were on the same processor.
        SharedProcessor = "server and generator on the same processor",
        /// The hypervisor took processor time during the trial.
        Stolen = "processor time stolen",
        /// Interrupts took nearly all of the time of the DNS server's processor.
        InterruptBound = "the server's processor busy with interrupts",
        /// The DNS server's processor was fully busy at a rate far below the server's best.
        AlwaysBusy = "busy at a low rate: it polls, or was disturbed",
        /// Queries left the generator in groups, so that interfaces counted groups.
        Segmented = "queries sent in groups, which interfaces count as one",
        /// The server's network interface received another number of packets than the generator
        /// sent.
        CountersDiffer = "interface and generator counted different numbers of queries",
        /// Traffic of the trial exceeded the capacity of Gigabit Ethernet.
        BeyondGigabit = "more than Gigabit Ethernet carries",
    }
}

impl TrialNote {
    /// Returns true if the note makes even a rate doubtful at which the server met the plan's
    /// criterion (largest share of missed exchanges).
    const fn spoils_rate(self) -> bool {
        matches!(
            self,
            Self::NoPort
                | Self::AnsweredTwice
                | Self::AlwaysBusy
                | Self::CountersDiffer
                | Self::BeyondGigabit
        )
    }
}

/// Returns the notes on a trial that its own record gives reason for, in the order of
/// [`TrialNote::ALL`]; none for plans of other protocols than DNS.
pub(super) fn trial_notes(trial: &TrialRecord, run: &RunRecord) -> Vec<TrialNote> {
    if run.plan.protocol.is_dhcp() {
        return Vec::new();
    }
    let Some(load) = &trial.load else { return Vec::new() };
    let kernel = KernelCounts::from_trial(trial).unwrap_or_default();
    let (server, generator) = (&kernel.server, &kernel.generator);
    let is_veth = run.environment.topology == "veth";
    let holds = |note: &TrialNote| match note {
        TrialNote::ServerSocketFull => trial.digest.server_socket_drops > 0,
        // On loopback the buffers of both sides are counted together.
        TrialNote::ServerSendFull => is_veth && server.send_full > 0,
        TrialNote::InterfaceDrops => {
            [server.received, server.sent, generator.received, generator.sent]
                .iter()
                .any(|traffic| traffic.drops + traffic.errors > 0)
        }
        TrialNote::BacklogFull => trial.digest.softnet_drops > 0,
        TrialNote::GeneratorSocketFull => {
            trial.digest.generator_socket_drops.max(load.own_socket_drops) > 0
        }
        TrialNote::NoPort => is_veth && generator.no_port > 0,
        TrialNote::Refused => load.exchanges.nak > 0,
        TrialNote::Wrong => load.exchanges.wrong_client + load.exchanges.invalid > 0,
        TrialNote::AnsweredTwice => load.exchanges.duplicate_answered > 0,
        TrialNote::SharedProcessor => {
            trial.server_cpus.iter().any(|cpu| trial.generator_cpus.contains(cpu))
        }
        TrialNote::Stolen => trial.digest.steal_share > STOLEN_SHARE,
        TrialNote::InterruptBound => kernel.softirq_share > SOFTIRQ_SHARE,
        TrialNote::AlwaysBusy => false,
        TrialNote::Segmented => load.segmentation,
        TrialNote::CountersDiffer => is_veth && packet_counts_differ(load, &kernel),
        TrialNote::BeyondGigabit => is_veth && is_beyond_gigabit(load, &kernel),
    };
    TrialNote::ALL.into_iter().filter(holds).collect()
}

/// Returns true if the server's interface received another number of packets than the generator
/// sent, and no known drop explains the difference.
fn packet_counts_differ(load: &LoadRecord, kernel: &KernelCounts) -> bool {
    let received = kernel.server.received.packets;
    let is_comparable = received > 0 && !load.segmentation && kernel.softnet_drops == 0;
    let sent = load.messages.sent;
    let allowed = COUNTERS_PACKETS.max((sent as f64 * COUNTERS_SHARE) as u64);
    is_comparable && received.abs_diff(sent) > allowed
}

/// Returns true if queries or answers would have needed a faster link than Gigabit Ethernet.
fn is_beyond_gigabit(load: &LoadRecord, kernel: &KernelCounts) -> bool {
    let needs = |traffic: TrafficCounts| {
        let bytes = traffic.bytes as f64 + traffic.packets as f64 * WIRE_BYTES;
        bytes / load.duration_s > GIGABIT_BYTES_PER_S
    };
    // Interfaces count the headers of a group once.
    let is_known = load.duration_s > 0.0 && !load.segmentation;
    is_known && (needs(kernel.server.received) || needs(kernel.server.sent))
}

/// Adds the notes to `summary` that follow from comparing its trials.
pub(super) fn compare(summary: &mut RunSummary) {
    if summary.plan.protocol.is_dhcp() {
        return;
    }
    for at in 0..summary.trials.len() {
        let row = &summary.trials[at];
        let is_same = |other: &&TrialRow| {
            (&other.server, &other.variant) == (&row.server, &row.variant) && other.void.is_empty()
        };
        let best = summary.trials.iter().filter(is_same).map(|row| row.achieved_per_s);
        let low = best.fold(0.0, f64::max) * LOW_RATE_SHARE;
        if row.void.is_empty()
            && row.server_load.is_some_and(|load| load > BUSY_LOAD)
            && row.offered_per_s < low
        {
            let notes = &mut summary.trials[at].notes;
            notes.push(TrialNote::AlwaysBusy);
            notes.sort();
        }
    }
}

/// Adds warnings to `warnings` about the trials of a DNS server that met the plan's criterion in
/// spite of notes.
pub(super) fn warnings(rows: &[TrialRow], result: &ServerResult, warnings: &mut Vec<String>) {
    let met: Vec<&TrialRow> = rows
        .iter()
        .filter(|row| row.server == result.server && row.meets && row.purpose.is_at_a_rate())
        .collect();
    for note in TrialNote::ALL.into_iter().filter(|note| note.spoils_rate()) {
        let count = met.iter().filter(|row| row.notes.contains(&note)).count();
        if count > 0 {
            warnings.push(format!(
                "{}: {note}, in {count} of the {} trials that met the criterion.",
                result.server,
                met.len()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::MeasuredProtocol;
    use crate::record::{
        CpuSample, ExchangeCounts, MachineSample, MessageCounts, Purpose, SampleDigest, SideCounts,
    };

    fn run() -> RunRecord {
        let mut run = RunRecord::default();
        run.plan.protocol = MeasuredProtocol::Dns;
        run.environment.topology = "veth".to_owned();
        run
    }

    /// Makes a trial of a second at 1,000 DNS queries of 85 bytes per second, all of which were
    /// answered with 113 bytes.
    fn clean() -> TrialRecord {
        let traffic = |packets, frame| TrafficCounts {
            packets,
            bytes: packets * frame,
            ..TrafficCounts::default()
        };
        let server = SideCounts {
            received: traffic(1_000, 85),
            sent: traffic(1_000, 113),
            user_s: 0.1,
            ..SideCounts::default()
        };
        TrialRecord {
            load: Some(LoadRecord {
                duration_s: 1.0,
                exchanges: ExchangeCounts {
                    due: 1_000,
                    on_time: 1_000,
                    ..ExchangeCounts::default()
                },
                messages: MessageCounts {
                    sent: 1_000,
                    received: 1_000,
                    ..MessageCounts::default()
                },
                ..LoadRecord::default()
            }),
            digest: SampleDigest { server_counts: server, ..SampleDigest::default() },
            server_cpus: vec![1],
            generator_cpus: vec![0],
            ..TrialRecord::default()
        }
    }

    #[test]
    fn a_clean_trial_has_no_notes_and_every_note_comes_alone() {
        assert_eq!(trial_notes(&clean(), &run()), []);
        let load = |change: fn(&mut LoadRecord)| {
            let mut trial = clean();
            change(trial.load.as_mut().unwrap());
            trial
        };
        let digest = |change: fn(&mut SampleDigest)| {
            let mut trial = clean();
            change(&mut trial.digest);
            trial
        };
        let interrupts =
            CpuSample { cpu: 1, busy_s: 0.9, idle_s: 0.1, softirq_s: 0.85, ..CpuSample::default() };
        let samples = vec![MachineSample { cpus: vec![interrupts], ..MachineSample::default() }];
        for (note, trial) in [
            (TrialNote::ServerSocketFull, digest(|of| of.server_socket_drops = 1)),
            (TrialNote::ServerSendFull, digest(|of| of.server_counts.send_full = 1)),
            (TrialNote::InterfaceDrops, digest(|of| of.server_counts.sent.drops = 1)),
            (TrialNote::InterfaceDrops, digest(|of| of.generator_counts.sent.errors = 1)),
            (TrialNote::BacklogFull, digest(|of| of.softnet_drops = 1)),
            (TrialNote::GeneratorSocketFull, load(|of| of.own_socket_drops = 1)),
            (TrialNote::NoPort, digest(|of| of.generator_counts.no_port = 1)),
            (TrialNote::Refused, load(|of| of.exchanges.nak = 1)),
            (TrialNote::Wrong, load(|of| of.exchanges.wrong_client = 1)),
            (TrialNote::AnsweredTwice, load(|of| of.exchanges.duplicate_answered = 1)),
            (TrialNote::SharedProcessor, TrialRecord { generator_cpus: vec![1], ..clean() }),
            (TrialNote::Stolen, digest(|of| of.steal_share = 0.06)),
            (TrialNote::InterruptBound, TrialRecord { samples, ..clean() }),
            (TrialNote::Segmented, load(|of| of.segmentation = true)),
            (TrialNote::CountersDiffer, load(|of| of.messages.sent = 1_011)),
        ] {
            assert_eq!(trial_notes(&trial, &run()), [note]);
            let dhcp = RunRecord { environment: run().environment, ..RunRecord::default() };
            assert_eq!(trial_notes(&trial, &dhcp), [], "{note} is of DNS");
        }
        assert_eq!(trial_notes(&load(|of| of.messages.sent = 1_010), &run()), [], "a stray packet");
        let mut on_loopback = run();
        on_loopback.environment.topology = "loopback".to_owned();
        assert_eq!(trial_notes(&load(|of| of.messages.sent = 2_000), &on_loopback), []);
    }

    #[test]
    fn answers_fill_a_link_before_queries_do() {
        // 113 bytes and 24 of the wire: 912,409 answers per second fill the link, and 1,146,789
        // queries do.
        let at = |queries: u64, answers: u64| {
            let mut trial = clean();
            let counts = &mut trial.digest.server_counts;
            (counts.received.packets, counts.received.bytes) = (queries, queries * 85);
            (counts.sent.packets, counts.sent.bytes) = (answers, answers * 113);
            trial.load.as_mut().unwrap().messages.sent = queries;
            trial_notes(&trial, &run())
        };
        assert_eq!(at(1_146_788, 912_408), []);
        assert_eq!(at(1_146_790, 912_408), [TrialNote::BeyondGigabit]);
        assert_eq!(at(912_410, 912_410), [TrialNote::BeyondGigabit]);
    }

    #[test]
    fn a_server_that_is_busy_at_a_low_rate_is_told_of() {
        let row = |server: &str, rate, server_load| TrialRow {
            server: server.to_owned(),
            offered_per_s: rate,
            achieved_per_s: rate,
            server_load,
            meets: true,
            purpose: Purpose::Ramp,
            ..TrialRow::default()
        };
        let mut summary = RunSummary { plan: run().plan, ..RunSummary::default() };
        summary.trials = vec![
            row("spins", 100.0, Some(0.99)),
            row("spins", 1_000.0, Some(0.99)),
            row("sleeps", 100.0, Some(0.1)),
            row("sleeps", 1_000.0, Some(0.99)),
        ];
        compare(&mut summary);
        let noted: Vec<_> = summary.trials.iter().map(|row| row.notes.len()).collect();
        assert_eq!(noted, [1, 0, 0, 0]);
        let result = ServerResult { server: "spins".to_owned(), ..ServerResult::default() };
        let mut notes = Vec::new();
        warnings(&summary.trials, &result, &mut notes);
        let expected = "spins: busy at a low rate: it polls, or was disturbed, in 1 of the 2 trials \
                        that met the criterion.";
        assert_eq!(notes, [expected]);
    }
}
