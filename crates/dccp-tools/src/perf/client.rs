//! Client of `dccp perf`: connects, lets both ends send the requested data, and judges the received
//! rates.

use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp_link::{ConnectionConfig, ConnectionKey, DccpError, Driver, EndpointLimits};
use netio::Clock;

use super::flow::FlowRequest;
use super::report::{FlowDirectionResult, FlowEnd};
use super::session::{ConnectFailure, PerfSession};
use super::{DccpPerfArgs, SHARE_ENOUGH};
use crate::debug::Observer;
use crate::options::DccpDestination;
use crate::outcome::DccpCommandOutcome;

/// Time in nanoseconds that an interrupted client waits for the server's report.
const INTERRUPTED_NS: u64 = 500_000_000;

/// Runs the client: connects to `host`, sends for the requested time, and prints the result.
pub(super) fn run(
    args: &DccpPerfArgs,
    host: &str,
    config: &ConnectionConfig,
) -> ToolResult<DccpCommandOutcome> {
    let to = args.link.destination(host)?;
    let recorder = args.recorder()?;
    let mut session = connect(args, to, config, args.flow_request(), args.interval())?;
    session.recorder = recorder;
    let (address, ports) = (to.address(), args.link.describe_ports());
    session.output.line(&format!("Connecting to {host} ({address}), {ports}"))?;
    let (ended, is_interrupted) = converse(&mut session, args, to, config)?;
    session.output.summary(&ended)?;
    Ok(if is_interrupted { DccpCommandOutcome::Interrupted } else { command_outcome(args, &ended) })
}

/// Begins the client's connections, each with the same request.
pub(super) fn connect(
    args: &DccpPerfArgs,
    to: DccpDestination,
    config: &ConnectionConfig,
    request: FlowRequest,
    interval: Option<Duration>,
) -> ToolResult<PerfSession> {
    let mut driver =
        Driver::open(&args.bound(args.link.client_carrier(to.peer)?), EndpointLimits::default())?;
    let keys: Vec<_> = (0..args.parallel)
        .map(|_| driver.connect_with(to.peer, to.options(), config, &[]))
        .collect::<Result<_, DccpError>>()?;
    check_length(args, &driver, &keys)?;
    let mut session = PerfSession::new(driver, args.output("client"), interval, true)?;
    session.is_plain = args.plain;
    session.observer = Observer::new(&args.link.debug);
    for key in keys {
        session.add(key, Some(request));
    }
    Ok(session)
}

/// Runs the client's session until all its connections have ended. Returns the results of its
/// flows, and true if a signal ended them.
pub(super) fn converse(
    session: &mut PerfSession,
    args: &DccpPerfArgs,
    to: DccpDestination,
    config: &ConnectionConfig,
) -> ToolResult<(Vec<FlowEnd>, bool)> {
    let mut ended = Vec::new();
    let mut is_interrupted = false;
    let mut abort_ns = u64::MAX;
    while session.flows_count() > 0 {
        session.turn()?;
        ended.extend(session.take_ended());
        if session.is_interrupted() && !is_interrupted {
            is_interrupted = true;
            session.end_now();
            // With --reverse the server would continue to send.
            let patience_ns = if args.reverse || args.bidir { 0 } else { INTERRUPTED_NS };
            abort_ns = Clock::mono_ns() + patience_ns;
        }
        // The time counts while it connects, waits for the server's report or closes.
        if Clock::mono_ns() >= abort_ns {
            session.abort_all();
            ended.extend(session.take_ended());
        }
    }
    if is_interrupted {
        ended.sort_by_key(|flow| flow.flow);
        return Ok((ended, true));
    }
    if let Some(failure) = session.failures.pop() {
        return Err(explain(failure, to, args, config));
    }
    ended.sort_by_key(|flow| flow.flow);
    Ok((ended, is_interrupted))
}

/// Checks that a datagram length requested with -l fits the path.
fn check_length(args: &DccpPerfArgs, driver: &Driver, keys: &[ConnectionKey]) -> ToolResult<()> {
    let max =
        keys.iter().filter_map(|key| driver.connection(key)).map(|c| c.data_bytes_max()).min();
    match (args.len, max) {
        (Some(len), Some(max)) if usize::from(len) > max => Err(ToolError::Usage(format!(
            "-l {len}: the path takes datagrams of at most {max} bytes"
        ))),
        _ => Ok(()),
    }
}

fn explain(
    failure: ConnectFailure,
    to: DccpDestination,
    args: &DccpPerfArgs,
    config: &ConnectionConfig,
) -> ToolError {
    let peer = to.peer;
    match failure {
        ConnectFailure::Ended(error) => error.into(),
        ConnectFailure::Unreachable(code) => {
            let cause = std::io::Error::from_raw_os_error(code);
            DccpError::Unreachable { peer, cause }.into()
        }
        ConnectFailure::Silent => no_answer_error(args, to, config),
    }
}

/// Returns the error for a client whose server did not answer.
pub(super) fn no_answer_error(
    args: &DccpPerfArgs,
    to: DccpDestination,
    config: &ConnectionConfig,
) -> ToolError {
    let seconds = config.connect_timeout_ns / 1_000_000_000;
    let (address, ports) = (to.address(), args.link.describe_ports());
    ToolError::Failed(format!(
        "no answer from {address}, {ports}, within {seconds} s; does `godwit dccp perf -s` run there?"
    ))
}

pub(super) fn command_outcome(args: &DccpPerfArgs, ended: &[FlowEnd]) -> DccpCommandOutcome {
    let directions = || ended.iter().flat_map(|flow| &flow.directions);
    let is_enough = |rate: f64| match args.bandwidth {
        Some(requested) => rate >= requested as f64 * SHARE_ENOUGH,
        None => rate > 0.0,
    };
    // Without a control exchange only the sent data is known, and data that comes back was not
    // requested.
    let rate_of = |direction: &FlowDirectionResult| {
        if args.plain { direction.sent.map(|sent| sent.bits_per_s()) } else { direction.bits_per_s }
    };
    let judged = || directions().filter(|direction| !args.plain || direction.from == "client");
    let has_all = judged().all(|direction| rate_of(direction).is_some_and(is_enough));
    let expected = ended.len() == args.parallel as usize && judged().count() > 0;
    let failed = ended.iter().any(|flow| flow.failure.is_some());
    if has_all && expected && !failed {
        DccpCommandOutcome::Done
    } else {
        DccpCommandOutcome::FellShort
    }
}
