//! Result of a perfdhcp run, for either text and for JSON (`godwit.perfdhcp.v1`).

use std::collections::BTreeMap;

use base::time::seconds;
use load::{
    ExchangeClass, ExchangeLedger, GeneratorVerdict, Health, LATENCY_LIMIT_NS, LoadRate, LoadShape,
    hdr,
};
use measure::record::LatencySummary;
use serde::Serialize;
use serde_json::{Value, json};

use super::account::ExchangeAccount;
use super::args::{PerfdhcpArgs, PerfdhcpScenario};
use super::capture::CapturedMessage;
use super::dialect::{Dialect, ExchangeKind};
use super::drive::{PerfdhcpLoopResult, SendingEndReason};
use super::ending::PerfdhcpRunEnd;
use super::outcome::GeneratorOutcome;
use super::run_addresses::{self, RunAddresses};
use super::several::generator::GeneratorResult;
use super::trace::Trace;
use super::traffic::{LinkCounts, RequestTraffic};
use crate::fault::{ReplyFault, ServerRefusal};
use crate::leases::{Conflict, LeaseSummary};

#[cfg(test)]
mod tests;

/// UDP port of DHCPv4 clients.
const CLIENT_PORT: u16 = 68;
/// Schema of the JSON document.
const SCHEMA: &str = "godwit.perfdhcp.v1";

/// Result of a finished perfdhcp run.
pub(crate) struct PerfdhcpReport {
    pub(crate) names: [&'static str; ExchangeKind::COUNT],
    /// Kinds of exchanges that the command line selects.
    pub(crate) kinds: Vec<ExchangeKind>,
    /// True for kinds of requests to which servers send replies, by [`ExchangeKind::index`].
    pub(crate) is_awaited: [bool; ExchangeKind::COUNT],
    pub(crate) accounts: [ExchangeAccount; ExchangeKind::COUNT],
    /// Addresses that two clients got, by the kind of exchange that gave them.
    pub(crate) conflicts: [LeaseSummary; ExchangeKind::COUNT],
    pub(crate) trace: Trace,
    /// Clients of the leases in `trace`, by number, as text.
    pub(crate) clients: BTreeMap<u32, String>,
    pub(crate) loop_result: PerfdhcpLoopResult,
    pub(crate) seed: u64,
    pub(crate) received: u64,
    pub(crate) malformed: u64,
    pub(crate) too_short: u64,
    pub(crate) local_limit: u64,
    pub(crate) preloaded: [u64; 2],
    /// Counts of messages over the generator's link; `None` for clients behind a relay.
    pub(crate) link: Option<LinkCounts>,
    pub(crate) leases: u64,
    /// Time during which first requests came due, in seconds; in an avalanche until the last reply,
    /// as all of its clients come at once.
    pub(crate) sending_s: f64,
    /// Number of exchanges completed on time that count in the rate.
    pub(crate) counted: u64,
    /// Time after the last request left that the counted exchanges took, in seconds.
    pub(crate) overtime_s: f64,
    /// Messages for the capture file (`--pcap`).
    pub(crate) messages: Vec<CapturedMessage>,
    pub(crate) warnings: Vec<String>,
    /// Possible reason, as text, why no server has sent a reply or no message has left; `None`
    /// otherwise.
    pub(crate) silence: Option<String>,
    /// Results of each generator of the run, when there were several.
    pub(crate) generators: Vec<GeneratorResult>,
}

/// Entry of one kind of exchange in the JSON document.
#[derive(Serialize)]
pub(crate) struct ExchangeReport {
    name: &'static str,
    due: u64,
    sent: u64,
    is_answer_awaited: bool,
    on_time: u64,
    late: u64,
    lost: u64,
    nak: u64,
    rejected: BTreeMap<&'static str, u64>,
    invalid: u64,
    invalid_reasons: BTreeMap<&'static str, u64>,
    wrong_client: u64,
    in_flight: u64,
    duplicates: u64,
    unmatched: u64,
    malformed: u64,
    conflicts: Vec<Conflict>,
    conflict_count: u64,
    leases_untracked: u64,
    resent: u64,
    without_lease: u64,
    late_sends: u64,
    deadline_s: f64,
    latency_due: LatencySummary,
    latency_sent: LatencySummary,
}

/// Returns the kinds of exchanges that a command line selects.
pub(crate) fn kinds(args: &PerfdhcpArgs) -> Vec<ExchangeKind> {
    let is_lifecycle = args.scenario == PerfdhcpScenario::Lifecycle;
    let all = [
        (true, ExchangeKind::First),
        (!args.offer_only, ExchangeKind::Second),
        (args.renew_rate.is_some() || is_lifecycle, ExchangeKind::Renewal),
        (args.release_rate.is_some() || args.releasing > 0, ExchangeKind::Release),
        (is_lifecycle, ExchangeKind::Rebinding),
        (is_lifecycle && args.stay.is_some(), ExchangeKind::Reboot),
        (args.informing > 0, ExchangeKind::Information),
        (args.declining > 0, ExchangeKind::Decline),
    ];
    all.into_iter().filter(|&(is_measured, _)| is_measured).map(|(_, kind)| kind).collect()
}

impl PerfdhcpReport {
    /// Builds the report of `outcome`, with leases on machines whose clocks may be `apart_ms` from
    /// each other.
    pub(crate) fn from_outcome<D: Dialect>(
        args: &PerfdhcpArgs,
        seed: u64,
        shape: Option<(LoadShape, LoadRate)>,
        mut outcome: GeneratorOutcome<D::Resource>,
        dialect: &D,
        apart_ms: u32,
    ) -> Self {
        let done = outcome.loop_result;
        let name = |owner| dialect.client_text(D::client_of(owner));
        let [granted, offered] =
            outcome.leases.each_mut().map(|log| log.summarize_with(done.end_ns, apart_ms, name));
        let leases = granted.leased;
        let mut conflicts: [LeaseSummary; ExchangeKind::COUNT] = Default::default();
        // With Rapid Commit the first exchange gives the lease.
        let gives = if args.offer_only { ExchangeKind::First } else { ExchangeKind::Second };
        conflicts[ExchangeKind::First.index()] = offered;
        if gives == ExchangeKind::Second || granted.conflicts > 0 || granted.leased > 0 {
            conflicts[gives.index()] = granted;
        }
        let mut warnings = Vec::new();
        let untracked: u64 = conflicts.iter().map(|summary| summary.untracked).sum();
        if untracked > 0 {
            warnings.push(format!(
                "{untracked} leases were not checked for addresses that several clients got: too \
                 many to remember"
            ));
        }
        let begun = outcome.accounts[0].ledger.due();
        let sending_s = match &shape {
            // Each request represents the gap after it.
            Some((LoadShape::Even, rate)) if args.scenario != PerfdhcpScenario::Lifecycle => {
                begun as f64 / rate.as_per_second()
            }
            _ if args.scenario == PerfdhcpScenario::Avalanche => {
                seconds(outcome.answered_ns.max(done.sending_end_ns))
            }
            _ => seconds(done.sending_end_ns),
        };
        let is_avalanche = args.scenario == PerfdhcpScenario::Avalanche;
        let last = if args.offer_only { ExchangeKind::First } else { ExchangeKind::Second };
        let completed = outcome.accounts[last.index()].on_time();
        Self {
            names: D::NAMES,
            kinds: kinds(args),
            is_awaited: ExchangeKind::ALL.map(ExchangeKind::is_answered::<D>),
            conflicts,
            trace: Trace::default(),
            clients: BTreeMap::new(),
            loop_result: done,
            seed,
            received: outcome.received,
            malformed: outcome.malformed,
            too_short: outcome.too_short,
            local_limit: outcome.local_limit,
            preloaded: outcome.preloaded,
            link: args.direct.then_some(outcome.link),
            leases,
            sending_s,
            counted: if is_avalanche { completed } else { outcome.counted },
            overtime_s: if is_avalanche { 0.0 } else { seconds(outcome.overtime_ns) },
            messages: Vec::new(),
            warnings,
            silence: None,
            generators: Vec::new(),
            accounts: outcome.accounts,
        }
    }

    /// Notes a possible reason when no reply at all came back, or no message left.
    pub(crate) fn explain_silence(&mut self, args: &PerfdhcpArgs, addresses: &RunAddresses) {
        if self.is_refused() {
            self.note_silence(addresses.refusal_reason(self.loop_result.sends.refused));
        } else if self.is_unanswered() {
            self.note_silence(addresses.no_reply_reason(args));
            if !args.direct && !args.is_v6() && addresses.local.port() == CLIENT_PORT {
                self.warnings.push(
                    "requests came from a relay at port 68, which is for clients: servers answer \
                     relays at port 67 (-L 67); --direct plays clients on this link"
                        .into(),
                );
            }
        }
    }

    /// Notes a possible reason when no reply at all came back to any of several generators, or no
    /// message left.
    pub(crate) fn explain_silence_of_generators(&mut self) {
        let locals: Vec<&str> =
            self.generators.iter().map(|generator| generator.local.as_str()).collect();
        let locals = locals.join(", ");
        if self.is_refused() {
            self.note_silence(format!(
                "the kernels of the generators refused all messages: does each of {locals} lead to \
                 SERVER?"
            ));
        } else if self.is_unanswered() {
            self.note_silence(format!(
                "no answer at all to any generator: is SERVER up, and does it have a subnet for \
                 each of {locals}?"
            ));
        }
    }

    fn note_silence(&mut self, reason: String) {
        self.warnings.push(reason.clone());
        self.silence = Some(reason);
    }

    /// Returns true when the kernel has refused all messages.
    fn is_refused(&self) -> bool {
        let sends = self.loop_result.sends;
        sends.sent == 0 && sends.refused > 0
    }

    /// Takes the single messages that a run from `start_ns` on has kept for diagnostics and the
    /// capture file.
    pub(crate) fn take_details<D: Dialect>(
        &mut self,
        traffic: &mut RequestTraffic<D>,
        start_ns: u64,
    ) {
        self.trace = std::mem::take(&mut traffic.trace);
        for (sent_ns, answered_ns) in self.trace.times.iter_mut().flatten() {
            *sent_ns = sent_ns.saturating_sub(start_ns);
            *answered_ns = answered_ns.map(|ns| ns.saturating_sub(start_ns));
        }
        let clients = self.trace.leases.iter().flatten().map(|&(client, ..)| client);
        self.clients =
            clients.map(|client| (client, traffic.dialect().client_text(client))).collect();
        let (messages, left_out) = traffic.take_capture();
        self.messages = messages;
        if left_out > 0 {
            self.warnings
                .push(format!("{left_out} messages are missing from the capture, which is full"));
        }
    }

    fn per_s(&self, count: u64) -> f64 {
        if self.sending_s > 0.0 { count as f64 / self.sending_s } else { 0.0 }
    }

    /// Returns the number of exchanges that came due per second.
    pub(crate) fn offered_per_s(&self) -> f64 {
        self.per_s(self.accounts[0].ledger.due())
    }

    /// Returns the number of exchanges completed on time per second. If the server still worked off
    /// its queue after the last request, the duration includes that time.
    pub(crate) fn completed_per_s(&self) -> f64 {
        let took_s = self.sending_s + self.overtime_s;
        if took_s > 0.0 { self.counted as f64 / took_s } else { 0.0 }
    }

    /// Returns the reason why the generator did not keep its schedule, over all kinds of exchanges;
    /// `None` when it kept the schedule.
    pub(crate) fn limit(&self) -> Option<String> {
        // A generator that is too slow counts, even if the others keep their schedules.
        if !self.generators.is_empty() {
            let limits = self.generators.iter().filter_map(|generator| {
                Some(format!("{}: {}", generator.host, generator.report.limit()?))
            });
            let limits: Vec<String> = limits.collect();
            return (!limits.is_empty()).then(|| limits.join("; "));
        }
        let mut all = ExchangeLedger::default();
        for account in &self.accounts {
            all.merge(&account.ledger);
        }
        let health = Health {
            socket_drops: self.loop_result.socket_drops,
            sends_refused: self.loop_result.sends.refused,
        };
        match all.verdict(health) {
            GeneratorVerdict::Sound => None,
            GeneratorVerdict::GeneratorLimited(reasons) => Some(reasons.join("; ")),
        }
    }

    /// Returns the end of the run, for the exit code.
    pub(crate) fn ending(&self) -> PerfdhcpRunEnd {
        let conflicts = self.conflicts.iter().map(|summary| summary.conflicts).sum();
        PerfdhcpRunEnd::from_accounts(
            &self.accounts,
            conflicts,
            self.loop_result.reason == SendingEndReason::Interrupted,
        )
    }

    /// Returns true when requests were sent and no server has replied to any.
    fn is_unanswered(&self) -> bool {
        let sent: u64 = self.accounts.iter().map(ExchangeAccount::sent).sum();
        let came = self.accounts.iter().map(ExchangeAccount::received_messages).sum::<u64>()
            + self.malformed
            + self.preloaded[1];
        sent > 0 && came == 0
    }

    /// Returns the number of late sends over all kinds of exchanges.
    pub(crate) fn late_sends(&self) -> u64 {
        self.accounts.iter().map(|account| account.ledger.late_sends()).sum()
    }

    fn exchange(&self, args: &PerfdhcpArgs, kind: ExchangeKind) -> ExchangeReport {
        let account = &self.accounts[kind.index()];
        let conflicts = &self.conflicts[kind.index()];
        let ledger = &account.ledger;
        let is_answer_awaited = self.is_awaited[kind.index()];
        let deadline = usize::from(kind != ExchangeKind::First);
        ExchangeReport {
            name: self.names[kind.index()],
            due: ledger.due(),
            sent: ledger.sent(),
            is_answer_awaited,
            on_time: account.on_time(),
            late: ledger.count(ExchangeClass::Late),
            lost: ledger.count(ExchangeClass::Lost),
            nak: account.refusals[ServerRefusal::Nak.index()],
            rejected: counted(ServerRefusal::ALL, ServerRefusal::name, |how| {
                account.refusals[how.index()]
            })
            .filter(|&(name, _)| name != ServerRefusal::Nak.name())
            .collect(),
            invalid: ledger.count(ExchangeClass::Invalid),
            invalid_reasons: counted(ReplyFault::ALL, ReplyFault::name, |why| {
                account.faults[why.index()]
            })
            .collect(),
            wrong_client: ledger.count(ExchangeClass::WrongClient),
            in_flight: if is_answer_awaited { ledger.in_flight() } else { 0 },
            duplicates: account.duplicates,
            unmatched: account.unmatched,
            malformed: account.malformed,
            conflicts: conflicts.examples.clone(),
            conflict_count: conflicts.conflicts,
            leases_untracked: conflicts.untracked,
            resent: account.resent,
            without_lease: account.without_lease,
            late_sends: ledger.late_sends(),
            deadline_s: match args.scenario {
                PerfdhcpScenario::Basic | PerfdhcpScenario::Lifecycle => {
                    seconds(args.deadline_ns(deadline))
                }
                PerfdhcpScenario::Avalanche => 1_000.0,
            },
            latency_due: LatencySummary::from_histogram(ledger.latency_due()),
            latency_sent: LatencySummary::from_histogram(ledger.latency_sent()),
        }
    }

    /// Returns the latencies of every kind of exchange that servers reply to, as an HdrHistogram
    /// log.
    pub(crate) fn hdr_log(&self) -> String {
        let length_ns = self.loop_result.end_ns - self.loop_result.start_ns;
        let mut log = hdr::head();
        for kind in self.kinds.iter().filter(|kind| self.is_awaited[kind.index()]) {
            let name = self.names[kind.index()].replace(" (", "-").replace(')', "");
            let ledger = &self.accounts[kind.index()].ledger;
            for (from, latency) in [("due", ledger.latency_due()), ("sent", ledger.latency_sent())]
            {
                log += &hdr::line(&format!("{name}.{from}"), length_ns, latency);
            }
        }
        log
    }

    /// Returns the longest delay between due time and sending of a request, in microseconds.
    pub(crate) fn late_send_max_us(&self) -> f64 {
        let longest_ns = self.accounts.iter().map(|account| account.ledger.late_send_max_ns());
        longest_ns.max().unwrap_or(0) as f64 / 1e3
    }

    /// Returns the entries of all kinds of exchanges for the JSON document.
    pub(crate) fn exchanges(&self, args: &PerfdhcpArgs) -> Vec<ExchangeReport> {
        self.kinds.iter().map(|&kind| self.exchange(args, kind)).collect()
    }

    /// Returns the JSON document of the run; without addresses, for generators on other machines.
    pub(crate) fn json(&self, args: &PerfdhcpArgs, addresses: Option<&RunAddresses>) -> Value {
        let limit = self.limit();
        let mut document = json!({
            "schema": SCHEMA,
            "tool": "godwit perfdhcp",
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.seed,
            "settings": settings(args, addresses),
            "ended": self.loop_result.reason.words(),
            "interrupted": self.loop_result.reason == SendingEndReason::Interrupted,
            "exchanges": self.exchanges(args),
            "leases": self.leases,
            "duration_s": self.sending_s,
            "elapsed_s": seconds(self.loop_result.end_ns - self.loop_result.start_ns),
            "offered_per_s": self.offered_per_s(),
            "completed_per_s": self.completed_per_s(),
            "overtime_s": self.overtime_s,
            "messages_sent": self.loop_result.sends.sent,
            "messages_received": self.received,
            "malformed": self.malformed,
            "too_short": self.too_short,
            "orphans": self.accounts.iter().map(|account| account.unmatched).sum::<u64>(),
            "local_limit": self.local_limit + self.loop_result.sends.refused,
            "preload_sent": self.preloaded[0],
            "preload_answers": self.preloaded[1],
            "late_sends": self.late_sends(),
            "late_send_max_us": self.late_send_max_us(),
            "own_socket_drops": self.loop_result.socket_drops,
            "generator_cpu_s": seconds(self.loop_result.cpu_ns),
            "generator_limited": limit.is_some(),
            "generator_limited_reason": limit.unwrap_or_default(),
            "latency_resolution": "1/1024 of the value",
            "latency_limit_s": seconds(LATENCY_LIMIT_NS),
            "warnings": self.warnings,
        });
        if let Some(link) = self.link {
            document["link"] = json!(link);
        }
        if !self.generators.is_empty() {
            let each = self.generators.iter().map(|generator| generator.json(args));
            document["generators"] = each.collect();
        }
        document
    }
}

/// Returns names and counts of the items in `all` that occurred.
fn counted<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    count: impl Fn(T) -> u64,
) -> impl Iterator<Item = (&'static str, u64)> {
    all.into_iter().map(move |item| (name(item), count(item))).filter(|&(_, count)| count > 0)
}

/// Returns every setting of the run for the JSON document, also those that were not given.
fn settings(args: &PerfdhcpArgs, addresses: Option<&RunAddresses>) -> Value {
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let options = |options: &[(u16, Vec<u8>)]| {
        options.iter().map(|(code, value)| format!("{code},{}", hex(value))).collect::<Vec<_>>()
    };
    let text = |debug: String| debug.to_lowercase();
    let mut settings = json!({
        "family": if args.is_v6() { 6 } else { 4 },
        "server": match addresses {
            Some(addresses) => addresses.server.to_string(),
            None => run_addresses::server(args).map(|server| server.to_string()).unwrap_or_default(),
        },
        "local": addresses.map(|addresses| addresses.local.to_string()),
        "scenario": text(format!("{:?}", args.scenario)),
        "resend": text(format!("{:?}", args.resend)),
        "rate": args.rate,
        "renew_rate": args.renew_rate,
        "release_rate": args.release_rate,
        "aggressivity": args.aggressivity,
        "clients": args.clients.max(1),
        "counts": args.counts,
        "period_s": args.period_s,
        "deadlines_s": [seconds(args.deadline_ns(0)), seconds(args.deadline_ns(1))],
        "max_drops": args.max_drops.iter().map(|limit| text(format!("{limit:?}"))).collect::<Vec<_>>(),
        "wait_us": args.wait_us,
        "preload": args.preload,
        "report_s": args.report_s,
        "lease_type": args.lease_type.name(),
        "offer_only": args.offer_only,
        "rapid_commit": args.rapid_commit,
        "first_server": args.first_server,
        "relayed": if args.is_v6() { args.relay.is_some() } else { !args.direct },
        "relay_list": args.relay_list,
        "mac_list": args.mac_list,
        "bases": args.bases.iter().map(|base| format!("{base:?}")).collect::<Vec<_>>(),
        "broadcast": args.broadcast,
        "options": options(&args.options),
        "relay_options": options(&args.relay_options),
        "age_from_s": args.age_from_s,
        "age_for_s": args.age_for_s,
        "templates": args.templates,
        "xid_offsets": args.xid_offsets,
        "client_offsets": args.client_offsets,
        "elapsed_offset": args.elapsed_offset,
        "server_offset": args.server_offset,
        "address_offset": args.address_offset,
        "unique": args.unique,
        "wrapped": args.wrapped,
        "diagnostics": args.diagnostics,
        "threads": 1,
    });
    if !args.generators.is_empty() {
        settings["generators"] = args.generators.iter().map(|host| json!(host.name)).collect();
        settings["ssh_command"] = json!(args.ssh_command);
        settings["remote_godwit"] = json!(args.remote_godwit);
    }
    settings["shape"] = json!(args.shape.as_ref().map(ToString::to_string));
    settings["separator"] = json!(args.separator);
    settings["compat"] = json!(args.compat);
    settings["pcap"] = json!(args.pcap);
    settings["pcap_failed"] = json!(args.pcap_failed);
    settings["hdr"] = json!(args.hdr);
    settings["interface"] = json!(args.frames.interface);
    let colons = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
    settings["server_mac"] = json!(args.frames.server_mac.map(colons));
    settings["lifecycle"] = lifecycle(args);
    settings["direct"] = direct(args, addresses);
    settings
}

/// Returns the settings of clients on the generator's link for the JSON document; `null` without
/// any.
fn direct(args: &PerfdhcpArgs, addresses: Option<&RunAddresses>) -> Value {
    if !args.direct {
        return Value::Null;
    }
    json!({
        "interface": addresses.map(RunAddresses::text),
        "broadcast_flag": args.broadcast_flag,
        "answer_arp": args.answer_arp,
    })
}

/// Returns the settings of a lifecycle population for the JSON document; `null` without one.
fn lifecycle(args: &PerfdhcpArgs) -> Value {
    if args.scenario != PerfdhcpScenario::Lifecycle {
        return Value::Null;
    }
    json!({
        "speed": args.speed,
        "stay_s": args.stay,
        "away_s": args.away,
        "releasing_percent": args.releasing,
        "informing_percent": args.informing,
        "declining_percent": args.declining,
    })
}
