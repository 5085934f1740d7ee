//! SIGINT and SIGTERM as a flag for the commands that clean up behind themselves.

use std::sync::atomic::AtomicBool;

use netio::signal::Signals;
use netio::{PollFd, poll};

/// A flag that SIGINT and SIGTERM set.
///
/// The first signal makes the lab end everything at once, without waiting for anything; further
/// ones must not cut that short, or namespaces would be left. So a thread makes each of them as
/// harmless as the first.
///
/// # Errors
/// In words, when the kernel refuses the handlers.
pub(crate) fn stop_flag() -> Result<&'static AtomicBool, String> {
    let cannot = |error: std::io::Error| format!("cannot install signal handlers: {error}");
    let signals = Signals::install().map_err(cannot)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while poll(&mut [PollFd::readable(&signals)], None).is_ok() {
                signals.drain();
                if Signals::install().is_err() {
                    return;
                }
            }
        })
        .map_err(cannot)?;
    Ok(signals.stop())
}
