//! Handlers of SIGINT and SIGTERM that set a flag, for the commands that clean up after themselves.

use std::sync::atomic::AtomicBool;

use netio::NetError;
use netio::signal::Signals;

/// Returns a flag that SIGINT and SIGTERM set. The first signal makes the lab end everything at
/// once. Further signals have no effect, because they would interrupt the clean-up and leave
/// namespaces.
///
/// # Errors
/// The reason if the kernel refuses the handlers.
pub(crate) fn stop_flag() -> Result<&'static AtomicBool, NetError> {
    Ok(Signals::for_command()?.stop())
}
