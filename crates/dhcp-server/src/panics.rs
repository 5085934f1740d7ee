//! The panic hook of a server: a panic is logged and ends the process, unless the work in which it
//! happened can be given up alone ([`dhcp_engine::contain`]).

use std::future::{Future, poll_fn};
use std::panic::{PanicHookInfo, set_hook};
use std::pin::pin;
use std::process::abort;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::thread;

use dhcp_engine::contain;

use crate::log::DAEMON;

#[cfg(test)]
mod tests;

/// Text of the answer to a command whose execution panicked.
pub(crate) const INTERNAL_ERROR: &str = "a mistake of the server; its log says where";

/// Panics after which the process went on.
static CONTAINED: AtomicU64 = AtomicU64::new(0);

/// Returns how many panics have ended a piece of work only.
pub(crate) fn contained_count() -> u64 {
    CONTAINED.load(Ordering::Relaxed)
}

/// Has every panic of the process logged, and those outside of contained work end it.
pub(crate) fn install() {
    contain::enable();
    set_hook(Box::new(|panic| {
        let (is_contained, words) = (contain::is_contained(), describe(panic));
        CONTAINED.fetch_add(u64::from(is_contained), Ordering::Relaxed);
        let end = if is_contained { "what it did is given up" } else { "the server aborts" };
        let line = format!("a mistake of the server: {words}; {end}");
        // The log is written by another thread, for which an abort does not wait.
        netio::stderr::print_line(&line);
        tracing::error!(target: DAEMON, id = "DHCPX_INTERNAL_ERROR", "{line}");
        if !is_contained {
            abort();
        }
    }));
}

/// A task whose panics end the task only.
pub(crate) async fn contained_task(task: impl Future<Output = ()>) {
    let mut task = pin!(task);
    poll_fn(|context| {
        contain::contained(|| task.as_mut().poll(context)).unwrap_or(Poll::Ready(()))
    })
    .await;
}

/// Panics where a test wants it: the first time that `place` is reached in a process whose
/// environment names it in [`tests::PLANTED`].
#[cfg(test)]
pub(crate) fn planted(place: &str) {
    tests::plant(place);
}

fn describe(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("without a name").to_owned();
    let message = panic.payload_as_str().unwrap_or("no message");
    match panic.location() {
        Some(place) => format!("thread {thread} panicked at {place}: {message}"),
        None => format!("thread {thread} panicked: {message}"),
    }
}
