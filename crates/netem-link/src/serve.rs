//! Emulated link for the duration of a command: signals, reports, a control socket.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use netio::signal::Signals;
use netio::{PollFd, poll};

use crate::LinkReport;
use crate::bridge::{Bridge, LinkRequest};
use crate::control::LinkControlSocket;

/// Runs a link until SIGINT, SIGTERM or the end of its duration. Calls `up` once when packets pass,
/// with the warnings, and `tell` with a report at every interval, for every SIGUSR1 and at the end.
///
/// # Errors
///
/// The link cannot be set up or ended by itself, the control socket cannot be opened, or `tell`
/// returns an error.
pub fn serve(
    request: &LinkRequest,
    signals: Signals,
    up: impl FnOnce(&[String]),
    mut tell: impl FnMut(&LinkReport) -> ToolResult<()>,
) -> ToolResult<()> {
    let listener = request.socket.as_deref().map(LinkControlSocket::open).transpose()?;
    let bridge = Bridge::start(request)?;
    up(bridge.warnings());
    let began = Instant::now();
    let ends = request.duration.map(|duration| began + duration);
    let mut reports = request.interval.map(|interval| began + interval);
    loop {
        let mut fds = vec![PollFd::readable(&signals), PollFd::readable(bridge.ended())];
        fds.extend(listener.as_ref().map(PollFd::readable));
        let next = ends.into_iter().chain(reports).min();
        poll(&mut fds, next.map(nanoseconds_until))
            .map_err(ToolError::cannot("wait for", "signals"))?;
        let [has_ended, has_command] =
            [1, 2].map(|at| fds.get(at).is_some_and(PollFd::is_readable));
        signals.drain();
        let now = Instant::now();
        let is_over = ends.is_some_and(|ends| ends <= now);
        if has_ended || is_over || signals.stop().load(Ordering::Acquire) {
            break;
        }
        let is_due = reports.is_some_and(|reports| reports <= now);
        if is_due {
            reports = reports.zip(request.interval).map(|(last, interval)| last + interval);
        }
        if (signals.take_report() || is_due)
            && let Some(report) = bridge.report()
        {
            tell(&report)?;
        }
        if let (true, Some(listener)) = (has_command, &listener) {
            listener.answer(&bridge);
        }
    }
    tell(&bridge.stop()?)
}

fn nanoseconds_until(at: Instant) -> u64 {
    let left: Duration = at.saturating_duration_since(Instant::now());
    u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)
}
