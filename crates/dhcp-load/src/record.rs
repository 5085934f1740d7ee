//! Result of a DHCP load run: the record `godwit.load.v1`, fields that only this generator has, and
//! the summary for a person.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;

use base::time::seconds;
use load::{ExchangeClass, ExchangeLedger, Health, Timeline};
use measure::record::{LoadRecord, MessageCounts};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drive::DhcpThreadResult;
use crate::fault::{ReplyFault, ServerRefusal};
use crate::leases::{Conflict, LeaseLog, LeaseSummary, LeasedResource};
use crate::population::DhcpMessageTally;
use crate::protocol::{DhcpLoadTarget, DhcpThreadSetup, Expect, Stages};
use crate::settings::DhcpLoadSettings;

/// Load record with the details of a DHCP run. In JSON all fields are in one object; readers of
/// `godwit.load.v1` skip fields that they do not know.
#[derive(Clone, Debug, Serialize)]
pub struct DhcpLoadReport {
    /// Load record in the form that all generators write.
    #[serde(flatten)]
    pub load: LoadRecord,
    /// True if the run was ended before its planned end.
    pub interrupted: bool,
    /// Examples of conflicts between clients ([`LoadRecord::conflicts`]), at most ten.
    pub conflict_examples: Vec<Conflict>,
    /// Number of leases that did not fit into memory and were not compared for conflicts.
    pub leases_untracked: u64,
    /// Counts of the run's messages and exchanges by step of the exchange: offers, grants, losses
    /// and refusals before each.
    pub stages: BTreeMap<&'static str, u64>,
    /// Counts of the servers' refusals by reason: DHCPNAK, or the DHCPv6 status code.
    pub rejections: BTreeMap<&'static str, u64>,
    /// Counts of invalid replies by their fault.
    pub invalid_reasons: BTreeMap<&'static str, u64>,
    /// Size of each socket's receive buffer, in bytes of kernel memory.
    pub receive_buffer_bytes: u64,
    /// Number of the run's `sendmmsg` calls.
    pub send_calls: u64,
    /// Number of the run's send calls that found the socket or the device full and had to wait.
    pub send_stalls: u64,
    /// Warnings about the run that limit the validity of its figures.
    pub warnings: Vec<String>,
}

/// Sizes of the sockets' receive buffers, granted and requested, read before the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketFacts {
    receive_buffer_bytes: usize,
    requested_bytes: usize,
}

impl SocketFacts {
    pub(crate) fn from_setups<P>(
        setups: &[DhcpThreadSetup<P>],
        requested_bytes: usize,
    ) -> io::Result<Self> {
        let granted = setups.iter().map(|setup| setup.socket.receive_buffer_bytes());
        let smallest = granted.collect::<io::Result<Vec<_>>>()?.into_iter().min();
        Ok(Self { receive_buffer_bytes: smallest.unwrap_or(0), requested_bytes })
    }
}

/// Sum of the results of all generator threads.
struct DhcpResultSum<R: LeasedResource> {
    ledger: ExchangeLedger,
    leases: LeaseLog<R>,
    tally: DhcpMessageTally,
    timeline: Timeline,
    sends: netio::send::SendCounts,
    health: Health,
    cpu_ns: u64,
    segmentation: bool,
    stopped_ns: Option<u64>,
}

fn add_up<R: LeasedResource>(results: Vec<DhcpThreadResult<R>>) -> DhcpResultSum<R> {
    let mut sum = DhcpResultSum {
        ledger: ExchangeLedger::default(),
        leases: LeaseLog::with_capacity(0),
        tally: DhcpMessageTally::default(),
        timeline: Timeline::default(),
        sends: netio::send::SendCounts::default(),
        health: Health::default(),
        cpu_ns: 0,
        segmentation: true,
        stopped_ns: None,
    };
    for result in results {
        sum.ledger.merge(&result.finished.ledger);
        sum.leases.merge(result.finished.leases);
        sum.tally.merge(&result.finished.tally);
        sum.timeline.merge(&result.finished.timeline);
        sum.sends.merge(&result.sends);
        sum.health.socket_drops += result.socket_drops;
        sum.cpu_ns += result.cpu_ns;
        sum.segmentation &= result.segmentation;
        sum.stopped_ns = sum.stopped_ns.max(result.stopped_ns);
    }
    sum.health.sends_refused = sum.sends.refused;
    sum
}

impl DhcpLoadReport {
    /// Returns true when requests of the run left and no reply at all came back.
    pub const fn is_unanswered(&self) -> bool {
        self.load.messages.sent > 0 && self.load.messages.received == 0
    }

    /// Builds the report of a run whose exchanges came due from `start_ns` on, and returns it with
    /// the log of leases.
    pub(crate) fn from_thread_results<T: DhcpLoadTarget, R: LeasedResource>(
        settings: &DhcpLoadSettings<T>,
        start_ns: u64,
        results: Vec<DhcpThreadResult<R>>,
        sockets: SocketFacts,
    ) -> (Self, LeaseLog<R>) {
        let mut sum = add_up(results);
        let planned_end_ns = start_ns + settings.duration_ns;
        let end_ns = sum.stopped_ns.map_or(planned_end_ns, |ns| ns.clamp(start_ns, planned_end_ns));
        let leases = sum.leases.summarize(end_ns);
        let mut warnings = settings.warnings();
        if sockets.receive_buffer_bytes < sockets.requested_bytes {
            warnings.push(format!(
                "the kernel granted a receive buffer of {} bytes instead of {}; raise \
                 net.core.rmem_max or run with CAP_NET_ADMIN",
                sockets.receive_buffer_bytes, sockets.requested_bytes
            ));
        }
        if leases.untracked > 0 {
            warnings.push(format!(
                "{} leases were not checked for addresses that several clients got: too many to \
                 remember",
                leases.untracked
            ));
        }
        if sum.segmentation && sum.ledger.count(ExchangeClass::Lost) > 0 {
            warnings.push(
                "messages left in groups (segmentation) and some were lost: a server that reads \
                 raw frames takes a group for one message; measure it with --segmentation off"
                    .into(),
            );
        }
        let report = Self {
            load: load_record(settings, &sum, &leases, end_ns - start_ns),
            interrupted: sum.stopped_ns.is_some(),
            conflict_examples: leases.examples,
            leases_untracked: leases.untracked,
            stages: stages(&T::STAGES, &sum.tally),
            rejections: rejections(&sum.tally),
            invalid_reasons: faults(&sum.tally),
            receive_buffer_bytes: sockets.receive_buffer_bytes as u64,
            send_calls: sum.sends.calls,
            send_stalls: sum.sends.stalled,
            warnings,
        };
        (report, sum.leases)
    }
}

fn stages(names: &Stages, tally: &DhcpMessageTally) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        (names.offers, tally.offers),
        (names.grants, tally.grants),
        ("moved", tally.moved),
        ("renewed", tally.renewed),
        ("repeated", tally.repeated),
        (names.lost_before_offer, tally.lost_before_offer),
        (names.lost_before_grant, tally.lost_before_grant),
        (names.refused_offers, tally.refused_offers),
        (names.refused_grants, tally.refused_grants),
    ])
}

fn rejections(tally: &DhcpMessageTally) -> BTreeMap<&'static str, u64> {
    let all = ServerRefusal::ALL.into_iter().map(|how| (how.name(), tally.refusals[how.index()]));
    all.filter(|&(_, count)| count > 0).collect()
}

fn faults(tally: &DhcpMessageTally) -> BTreeMap<&'static str, u64> {
    let all = ReplyFault::ALL.into_iter().map(|fault| (fault.name(), tally.faults[fault.index()]));
    all.filter(|&(_, count)| count > 0).collect()
}

fn load_record<T: DhcpLoadTarget, R: LeasedResource>(
    settings: &DhcpLoadSettings<T>,
    sum: &DhcpResultSum<R>,
    leases: &LeaseSummary,
    duration_ns: u64,
) -> LoadRecord {
    LoadRecord {
        tool: T::TOOL.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: settings.seed,
        settings: settings_map(settings),
        offered_per_s: settings.rate.as_per_second(),
        messages: MessageCounts {
            sent: sum.sends.sent,
            received: sum.tally.received,
            malformed: sum.tally.malformed,
            unmatched: sum.tally.unmatched,
            sent_bytes: sum.sends.sent_bytes,
            received_bytes: sum.tally.received_bytes,
        },
        deadline_s: seconds(settings.limits.deadline_ns),
        generator_cpu_s: seconds(sum.cpu_ns),
        segmentation: sum.segmentation,
        leases: leases.leased,
        conflicts: leases.conflicts,
        lease_list_path: settings.leases.as_ref().map(|path| path.display().to_string()),
        ..LoadRecord::from_ledger(&sum.ledger, &sum.timeline, sum.health, duration_ns)
    }
}

fn settings_map<T: DhcpLoadTarget>(settings: &DhcpLoadSettings<T>) -> BTreeMap<String, Value> {
    let expect = if settings.expect == Expect::Echo { "echo" } else { "dhcp" };
    let entries = [
        ("rate", json!(settings.rate.as_per_second())),
        ("duration_s", json!(seconds(settings.duration_ns))),
        ("shape", json!(settings.shape.to_string())),
        ("deadline_s", json!(seconds(settings.limits.deadline_ns))),
        ("drain_s", json!(seconds(settings.limits.grace_ns))),
        ("quiet_s", json!(settings.quiet_ns.map(seconds))),
        ("clients", json!(settings.clients)),
        ("client_offset", json!(settings.client_offset)),
        ("threads", json!(settings.threads)),
        ("cpus", json!(settings.cpus)),
        ("segmentation", json!(format!("{:?}", settings.segmentation).to_lowercase())),
        ("turn_us", json!(settings.turn_ns / 1_000)),
        ("interface", json!(settings.frames.as_ref().map(|frames| &frames.interface))),
        ("expect", json!(expect)),
    ];
    let entries = settings.target.settings().into_iter().chain(entries);
    entries.map(|(name, value)| (name.to_owned(), value)).collect()
}

impl fmt::Display for DhcpLoadReport {
    /// Writes the summary of the run for a person, about a dozen lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (load, exchanges) = (&self.load, &self.load.exchanges);
        load.write_rates(f, "exchanges", "completed", self.interrupted)?;
        let mut line = format!("exchanges  due {}, sent {}", exchanges.due, exchanges.sent);
        let classes = [
            ("on time", exchanges.on_time),
            ("late", exchanges.late),
            ("lost", exchanges.lost),
            ("refused", exchanges.nak),
            ("invalid", exchanges.invalid),
            ("wrong client", exchanges.wrong_client),
            ("answered twice", exchanges.duplicate_answered),
        ];
        for (name, count) in classes {
            write!(line, ", {name} {count}")?;
        }
        writeln!(f, "{line}")?;
        for (what, counts) in
            [("refused   ", &self.rejections), ("invalid   ", &self.invalid_reasons)]
        {
            let counts: Vec<_> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
            if !counts.is_empty() {
                writeln!(f, "{what} {}", counts.join(", "))?;
            }
        }
        load.write_latencies(f)?;
        let messages = &load.messages;
        writeln!(
            f,
            "messages   sent {}, received {}, malformed {}, unmatched {}",
            messages.sent, messages.received, messages.malformed, messages.unmatched
        )?;
        writeln!(f, "leases     {} at the end, {} conflicts", load.leases, load.conflicts)?;
        load.write_generator(f, &self.warnings)
    }
}
