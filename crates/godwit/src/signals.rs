//! SIGINT and SIGTERM as a flag for the commands that clean up behind themselves.

use std::sync::atomic::AtomicBool;

use netio::signal::Signals;

/// A flag that SIGINT and SIGTERM set. The first signal makes the lab end everything at once;
/// further ones say nothing new and do not cut that short, or namespaces would be left.
///
/// # Errors
/// In words, when the kernel refuses the handlers.
pub(crate) fn stop_flag() -> Result<&'static AtomicBool, String> {
    let signals =
        Signals::install().map_err(|error| format!("cannot install signal handlers: {error}"))?;
    Ok(signals.stop())
}
