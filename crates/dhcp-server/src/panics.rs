//! Panic hook of a server: a panic is logged and ends the process, unless the work in which it
//! happened can be given up alone ([`dhcp_engine::contain`]).

use crate::loggers::DAEMON;
use std::future::{Future, poll_fn};
use std::panic::{PanicHookInfo, set_hook};
use std::pin::pin;
use std::process::abort;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::thread;

use dhcp_engine::contain;

#[cfg(test)]
mod tests;

/// Text of the answer to a control command whose execution panicked.
pub(crate) const INTERNAL_ERROR: &str = "internal error of the server; its log has the position in \
                                         the code";

/// Number of panics after which the server's process went on.
static CONTAINED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of panics that ended only a piece of work, not the server's process.
pub(crate) fn contained_count() -> u64 {
    CONTAINED.load(Ordering::Relaxed)
}

/// Installs the panic hook: every panic is logged, and a panic outside of contained work ends the
/// process.
pub(crate) fn install() {
    contain::enable();
    set_hook(Box::new(|panic| {
        let (is_contained, words) = (contain::is_contained(), describe(panic));
        CONTAINED.fetch_add(u64::from(is_contained), Ordering::Relaxed);
        let end = if is_contained {
            "the server gives up this piece of work and continues"
        } else {
            "the server aborts"
        };
        let line = format!("internal error of the server: {words}; {end}");
        // Another thread writes the log, and an abort does not wait for it.
        netio::stderr::print_line(&line);
        tracing::error!(target: DAEMON, id = "DHCPX_INTERNAL_ERROR", "{line}");
        if !is_contained {
            abort();
        }
    }));
}

/// Runs the task `task`, whose panics end this task only.
pub(crate) async fn contained_task(task: impl Future<Output = ()>) {
    let mut task = pin!(task);
    poll_fn(|context| {
        contain::run_contained(|| task.as_mut().poll(context)).unwrap_or(Poll::Ready(()))
    })
    .await;
}

/// Panics in tests: the first time that the process reaches `site`, if its environment names it in
/// [`tests::PLANTED`].
#[cfg(test)]
pub(crate) fn planted(site: &str) {
    tests::plant(site);
}

fn describe(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("without a name").to_owned();
    let message = panic.payload_as_str().unwrap_or("no message");
    match panic.location() {
        Some(location) => format!("thread {thread} panicked at {location}: {message}"),
        None => format!("thread {thread} panicked: {message}"),
    }
}
