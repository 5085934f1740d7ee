//! Messages to the service manager that has started the process, such as systemd, and the time in
//! which it expects signs of life (sd_notify(3), sd_watchdog_enabled(3)). Nothing is sent if the
//! process has no service manager.

use std::io;
use std::time::Duration;

use sd_notify::NotifyState;

/// Connection of a service with the manager that has started it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceManager {
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Creates the connection from the process's environment (`NOTIFY_SOCKET`, `WATCHDOG_USEC`).
    #[must_use]
    pub fn from_environment() -> Self {
        Self { watchdog: sd_notify::watchdog_enabled() }
    }

    /// Returns the longest time without a sign of life after which the manager ends the service, in
    /// nanoseconds; `None` if the manager expects none.
    #[must_use]
    pub fn watchdog_ns(self) -> Option<u64> {
        let limit = self.watchdog.filter(|limit| !limit.is_zero())?;
        Some(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reports that the service has started, or has finished a reload; `status` is one line for
    /// people.
    ///
    /// # Errors
    ///
    /// The manager's socket cannot be reached.
    pub fn report_ready(self, status: &str) -> io::Result<()> {
        sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)])
    }

    /// Reports that the service reads its configuration again.
    ///
    /// # Errors
    ///
    /// The manager's socket cannot be reached.
    pub fn report_reload(self) -> io::Result<()> {
        sd_notify::notify(&[NotifyState::Reloading, NotifyState::monotonic_usec_now()?])
    }

    /// Reports that the service ends.
    ///
    /// # Errors
    ///
    /// The manager's socket cannot be reached.
    pub fn report_end(self) -> io::Result<()> {
        sd_notify::notify(&[NotifyState::Stopping])
    }

    /// Gives the sign of life that [`ServiceManager::watchdog_ns`] is about.
    ///
    /// # Errors
    ///
    /// The manager's socket cannot be reached.
    pub fn report_life(self) -> io::Result<()> {
        sd_notify::notify(&[NotifyState::Watchdog])
    }
}
