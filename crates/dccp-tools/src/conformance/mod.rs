//! Command `godwit dccp conformance`: sends hand-made packets to an implementation of DCCP, and
//! judges its answers.
//!
//! `cases` has the tests, each a function over `peer`, which is the other end of a connection, and
//! `bench`, the state that all share. `wire` sends and receives bytes, `answer` keeps received
//! packets, `verdict` has the results, `report` prints them. `responder` is Godwit's target.
//!
//! Background: RFC 4340 §5 to §8 and §11, RFC 6773.

mod answer;
mod case;
mod cases;
mod context;
mod kernel_responder;
mod negotiation;
mod peer;
mod report;
mod responder;
mod verdict;
mod wire;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp_link::{CarrierKind, ConnectionConfig, ScopedAddress, ServiceCode};
use netio::signal::Signals;

use crate::options::{CarrierArg, CarrierName, DccpDestination, LinkArgs};
use crate::outcome::DccpCommandOutcome as Ending;
use crate::outcome::print_text;
use crate::units::parse_seconds;
use case::{ConformanceCase, ConformanceTestMethod};
use context::ConformanceContext;
use kernel_responder::KernelResponder;
use peer::TesterConnection;
use verdict::CaseStopReason;

pub use responder::ConformanceResponder;
pub use verdict::{ConformanceCaseResult, ConformanceVerdict, PacketLogLine};
pub use wire::ConformanceTarget;

/// Test a DCCP implementation (RFC 4340) packet by packet, or be the listener of such a test.
///
/// The suite makes each packet itself, sends it, and judges the answer by RFC 4340, whose sections
/// are those (§) without an RFC number. The target must listen at the DCCP port for the service
/// code; more cases apply if its application sends datagrams back, as --listen does. The path must
/// not lose packets.
///
/// Exit codes: 0 no case failed; 1 the suite could not run, for instance because nothing listens; 2
/// bad arguments; 3 a case failed; 130 interrupted (for --listen).
#[derive(Clone, Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("part").required(true).args(["target", "listen", "list"])))]
pub struct DccpConformanceArgs {
    /// Address of the implementation to test
    #[arg(long, value_name = "ADDRESS")]
    target: Option<String>,
    /// Be a target of the suite on another machine: accept connections, send every datagram back
    #[arg(long)]
    listen: bool,
    /// List the test cases with their requirements
    #[arg(long)]
    list: bool,
    /// Test or list only this case, or the cases of this group; may be repeated
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Seconds to wait for each answer of the target
    #[arg(long, value_name = "S", default_value = "3", value_parser = parse_seconds)]
    wait: Duration,
    /// Write all verdicts with the packets of each case to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// With --listen: local address to listen at; required with --carrier raw, where the command
    /// answers on all its DCCP ports
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<ScopedAddress>,
    /// With --listen: keep no state of a client until its Init Cookie (RFC 4340 §8.1.4) comes back
    #[arg(long)]
    init_cookies: bool,
    // Last, because its heading holds for all flags after it.
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `godwit dccp conformance`: tests a target, listens as a target, or lists the cases.
///
/// # Errors
///
/// Returns the error that made it impossible.
pub fn run(args: &DccpConformanceArgs) -> ToolResult<Ending> {
    if args.listen {
        return listen(args);
    }
    let chosen = choose(&args.only)?;
    let Some(host) = &args.target else {
        let is_chosen =
            |listed: &ConformanceCaseEntry| chosen.iter().any(|case| case.name == listed.name);
        return print_text(&report::list(catalog().filter(is_chosen))).map(|()| Ending::Done);
    };
    let link = &args.link;
    refuse_settings(link)?;
    let DccpDestination { peer, scope } = link.destination(host)?;
    let target = ConformanceTarget {
        address: peer.address,
        scope,
        port: peer.port,
        udp_port: peer.udp_port,
        carrier: link.own_carrier(CarrierName::Udp)?,
    };
    let outcomes = run_cases(target, link.service_code, args.wait, &args.only, |outcome| {
        print_text(&report::line(outcome))
    })?;
    print_text(&report::summary(&outcomes))?;
    if let Some(path) = &args.json {
        let text = report::document(&target, link.service_code, &outcomes);
        std::fs::write(path, text).map_err(|error| {
            ToolError::Failed(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    let has_failed = outcomes.iter().any(|o| matches!(o.verdict, ConformanceVerdict::Fail { .. }));
    Ok(if has_failed { Ending::FellShort } else { Ending::Done })
}

/// Refuses connection flags with --target, because the suite makes each packet itself and has no
/// connection.
fn refuse_settings(link: &LinkArgs) -> ToolResult<()> {
    let settings = [
        (link.ccid.is_some(), "--ccid"),
        (link.tx_ccid.is_some(), "--tx-ccid"),
        (link.rx_ccid.is_some(), "--rx-ccid"),
        (link.cscov > 0, "--cscov"),
        (link.connect_timeout.is_some(), "--connect-timeout"),
        (!link.parameters.is_empty(), "--set"),
        (!link.debug.is_empty(), "--debug"),
    ];
    match settings.into_iter().find(|(is_set, _)| *is_set) {
        None => Ok(()),
        Some((_, flag)) => Err(ToolError::Usage(format!(
            "{flag} applies to --listen only: with --target each case chooses the congestion \
             control and coverage of its packets"
        ))),
    }
}

fn listen(args: &DccpConformanceArgs) -> ToolResult<Ending> {
    let link = &args.link;
    if link.carrier() == CarrierArg::Kernel {
        return listen_by_kernel(args);
    }
    let kind = match link.own_carrier(CarrierName::Udp)? {
        CarrierName::Udp => CarrierKind::Udp { port: link.udp_port },
        CarrierName::Raw if args.bind.is_none() => {
            let text = "--listen over IP needs --bind ADDRESS: the listener answers on all DCCP \
                        ports of that address";
            return Err(ToolError::Usage(text.to_owned()));
        }
        CarrierName::Raw => CarrierKind::Raw { answers_all_ports: true },
    };
    let config = responder_config(link)?;
    let signals = Signals::for_command()?;
    let bind = match (args.bind, link.v4, link.v6) {
        (None, true, _) => Some(IpAddr::from([0; 4]).into()),
        (None, _, true) => Some(IpAddr::from([0; 16]).into()),
        (bind, ..) => bind,
    };
    let responder = ConformanceResponder::open(kind, bind, link.port, config, args.init_cookies)?;
    let mut responder = responder.observed(&link.debug);
    let ports = match responder.udp_port() {
        Some(udp_port) => format!("DCCP port {} in UDP port {udp_port}", link.port),
        None => format!("DCCP port {} over IP", link.port),
    };
    print_text(&format!("Listening on {ports} for {}\n", link.service_code))?;
    responder.serve(signals.stop())?;
    Ok(Ending::Interrupted)
}

/// Runs a responder over the kernel's sockets until a signal arrives.
fn listen_by_kernel(args: &DccpConformanceArgs) -> ToolResult<Ending> {
    let refused = [
        (args.bind.is_some(), "--bind"),
        (args.init_cookies, "--init-cookies"),
        (!args.link.debug.is_empty(), "--debug"),
    ];
    if let Some((_, flag)) = refused.into_iter().find(|(is_set, _)| *is_set) {
        let text = format!("{flag} needs Godwit's own stack: --carrier kernel uses the kernel's");
        return Err(ToolError::Usage(text));
    }
    let mut responder = KernelResponder::open(&args.link, &args.link.config()?)?;
    let signals = Signals::for_command()?;
    print_text(&format!(
        "Listening on {} for {}\n",
        args.link.describe_ports(),
        args.link.service_code
    ))?;
    responder.serve(signals.stop(), &signals)?;
    Ok(Ending::Interrupted)
}

/// Returns the responder's connection settings from the flags, with the defaults that suit the
/// suite.
fn responder_config(link: &LinkArgs) -> ToolResult<ConnectionConfig> {
    let suiting = ConformanceResponder::config(link.service_code);
    let mut config = link.config()?;
    config.allows_short_sequence = suiting.allows_short_sequence;
    if !link.sets("tx_qlen") {
        config.send_queue_len = suiting.send_queue_len;
    }
    if link.connect_timeout.is_none() && !link.sets("request_retries") {
        config.connect_timeout_ns = suiting.connect_timeout_ns;
    }
    Ok(config)
}

/// Returns the conformance cases of these names or groups; all cases when `only` is empty.
fn choose(only: &[String]) -> ToolResult<Vec<&'static ConformanceCase>> {
    let is_named = |case: &ConformanceCase, name: &String| {
        let name = name.to_uppercase();
        case.name == name || case.name.split_once('-').is_some_and(|(group, _)| group == name)
    };
    if let Some(unknown) = only.iter().find(|name| !cases::all().any(|c| is_named(c, name))) {
        return Err(ToolError::Usage(format!(
            "--only {unknown}: no such case; --list prints all cases"
        )));
    }
    let is_chosen =
        |case: &&ConformanceCase| only.is_empty() || only.iter().any(|name| is_named(case, name));
    Ok(cases::all().filter(is_chosen).collect())
}

/// Conformance case in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConformanceCaseEntry {
    /// Name of the test case, such as `HDR-01`.
    pub name: &'static str,
    /// Section of the RFC with the requirement; of RFC 4340 unless it names another RFC.
    pub section: &'static str,
    /// Requirement of the RFC that the case tests.
    pub requirement: &'static str,
    /// Reason why packets cannot test the case; `None` if they can.
    pub untestable_reason: Option<&'static str>,
}

/// Returns entries of all conformance cases, in order.
pub fn catalog() -> impl Iterator<Item = ConformanceCaseEntry> {
    cases::all().map(|case| {
        let ConformanceCase { name, section, requirement, .. } = *case;
        let inside = match case.scope {
            ConformanceTestMethod::Outside(_) => None,
            ConformanceTestMethod::Inside(why) => Some(why),
        };
        ConformanceCaseEntry { name, section, requirement, untestable_reason: inside }
    })
}

/// Runs the conformance cases of these names or groups, or all, and calls `show` with the result of
/// each.
///
/// # Errors
///
/// Fails when there is no such case, the target does not answer, the target has the suite's own
/// address over IP, or the suite's host has an error.
pub fn run_cases(
    target: ConformanceTarget,
    service_code: ServiceCode,
    patience: Duration,
    only: &[String],
    mut show: impl FnMut(&ConformanceCaseResult) -> ToolResult<()>,
) -> ToolResult<Vec<ConformanceCaseResult>> {
    let chosen = choose(only)?;
    let bench = ConformanceContext::open(target, service_code, patience)?;
    if bench.shares_host_with_target() {
        return Err(ToolError::Usage(format!(
            "over IP the suite and the target cannot both have the address {}, because each would \
             answer the packets of the other; run them on two hosts or in two network namespaces \
             (ip netns)",
            target.scoped()
        )));
    }
    if let Err(stop) = TesterConnection::new(&bench).request(&[]) {
        return Err(ToolError::Failed(match stop {
            CaseStopReason::Failed { expected, came } => format!(
                "no connection to {}, DCCP port {}, for {service_code}: expected {expected}, \
                 received {came}",
                target.scoped(),
                target.port
            ),
            CaseStopReason::NotApplicable(why) => why,
            CaseStopReason::Broken(error) => error.to_string(),
        }));
    }
    let mut outcomes = Vec::with_capacity(chosen.len());
    for case in chosen {
        let outcome = run_case(&bench, case)?;
        show(&outcome)?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn run_case(
    bench: &ConformanceContext,
    case: &'static ConformanceCase,
) -> ToolResult<ConformanceCaseResult> {
    bench.take_log();
    let verdict = match case.scope {
        ConformanceTestMethod::Inside(why) => {
            ConformanceVerdict::NotApplicable { why: why.to_owned() }
        }
        ConformanceTestMethod::Outside(ask) => match ask(bench) {
            Ok(()) => ConformanceVerdict::Pass,
            Err(CaseStopReason::Failed { expected, came }) => {
                ConformanceVerdict::Fail { expected, came }
            }
            Err(CaseStopReason::NotApplicable(why)) => ConformanceVerdict::NotApplicable { why },
            Err(CaseStopReason::Broken(error)) => return Err(error.into()),
        },
    };
    let packets = bench.take_log();
    let ConformanceCase { name, section, requirement, .. } = *case;
    Ok(ConformanceCaseResult { case: name, section, requirement, verdict, packets })
}
