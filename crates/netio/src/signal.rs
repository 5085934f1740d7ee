//! Signals SIGINT, SIGTERM, SIGHUP and, if enabled, SIGUSR1 as flags plus a descriptor to wait for.
//!
//! The module uses handlers, not a signalfd: child processes would inherit a blocked signal mask,
//! but they inherit no handler. Handlers are installed once per process.
#![allow(unsafe_code, reason = "sigaction")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::{NetError, Waker};

static STOP: AtomicBool = AtomicBool::new(false);
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);
static RELOAD: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static WAKER: OnceLock<Waker> = OnceLock::new();

/// Handlers of this process's signals, once installed.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    waker: &'static Waker,
}

extern "C" fn on_signal(number: libc::c_int) {
    match number {
        libc::SIGHUP => RELOAD.store(true, Ordering::Release),
        libc::SIGUSR1 => REPORT.store(true, Ordering::Release),
        _ => {
            STOPPED_BY.store(number, Ordering::Relaxed);
            STOP.store(true, Ordering::Release);
        }
    }
    // The waker exists before the handlers, and `wake` is one write(2), which a handler may call.
    if let Some(waker) = WAKER.get() {
        waker.wake();
    }
}

/// Requests that the process stops, as SIGINT or SIGTERM would, without a signal.
pub(crate) fn ask_to_stop() {
    STOP.store(true, Ordering::Release);
    if let Some(waker) = WAKER.get() {
        waker.wake();
    }
}

fn handle(number: libc::c_int, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid (empty mask, no restorer); the handler is a plain
    // function that touches atomics and calls write(2) only, both async-signal-safe.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = flags;
        libc::sigaction(number, &raw const action, std::ptr::null_mut())
    };
    crate::check(result).map(drop)
}

impl Signals {
    /// Installs the signal handlers: SIGINT and SIGTERM request a stop, every time that they come
    /// (a stopping process ends in bounded time, and a second signal must not cut the cleaning up
    /// short); SIGHUP requests a reload. Another call installs them again.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn install() -> io::Result<Self> {
        if WAKER.get().is_none() {
            // Losing a race against another thread drops the second waker, nothing more.
            WAKER.set(Waker::new()?).ok();
        }
        let waker = WAKER.get().expect("set just above");
        handle(libc::SIGINT, 0)?;
        handle(libc::SIGTERM, 0)?;
        handle(libc::SIGHUP, libc::SA_RESTART)?;
        Ok(Self { waker })
    }

    /// Installs the signal handlers as [`Self::install`] does; the error has the action that
    /// failed.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn for_command() -> Result<Self, NetError> {
        Self::install().map_err(NetError::on("install", "signal handlers"))
    }

    /// Installs a handler for SIGUSR1, which requests a report; without the handler SIGUSR1 ends
    /// the process.
    ///
    /// # Errors
    ///
    /// The error of `sigaction(2)`.
    pub fn take_reports_too(self) -> io::Result<Self> {
        handle(libc::SIGUSR1, libc::SA_RESTART)?;
        Ok(self)
    }

    /// Returns the flag that requests a stop: it is set once SIGINT or SIGTERM has come, or the
    /// reader of the standard output has closed its end ([`crate::stdout`]), and never cleared.
    pub fn stop(&self) -> &'static AtomicBool {
        &STOP
    }

    /// Returns the number of the signal that requested the stop (`SIGINT` is 2, `SIGTERM` 15);
    /// `None` without one.
    pub fn stopped_by(&self) -> Option<i32> {
        let number = STOP.load(Ordering::Acquire).then(|| STOPPED_BY.load(Ordering::Relaxed));
        number.filter(|&number| number != 0)
    }

    /// Returns true once per reload request (SIGHUP); several requests since the last call count as
    /// one.
    #[must_use]
    pub fn take_reload(&self) -> bool {
        RELOAD.swap(false, Ordering::AcqRel)
    }

    /// Returns true once per request for a report (SIGUSR1); several requests since the last call
    /// count as one.
    #[must_use]
    pub fn take_report(&self) -> bool {
        REPORT.swap(false, Ordering::AcqRel)
    }

    /// Makes the descriptor of the signals unreadable again. Call it before reading the flags.
    pub fn drain(&self) {
        self.waker.drain();
    }
}

impl AsFd for Signals {
    /// Returns the descriptor, which is readable when a signal has come since the last
    /// [`Signals::drain`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, poll};

    fn raise(number: libc::c_int) {
        // SAFETY: no pointers; the handler is installed.
        assert_eq!(unsafe { libc::raise(number) }, 0);
    }

    #[test]
    fn signals_set_their_flags_and_wake() {
        let signals = Signals::install().unwrap();
        assert!(!signals.take_reload() && signals.stopped_by().is_none());
        raise(libc::SIGHUP);
        assert_eq!(poll(&mut [PollFd::readable(&signals)], Some(0)).unwrap(), 1);
        signals.drain();
        assert!(signals.take_reload() && !signals.take_reload());
        assert!(!signals.take_reports_too().unwrap().take_report());
        raise(libc::SIGUSR1);
        assert!(signals.take_report() && !signals.take_report());
        raise(libc::SIGTERM);
        assert!(signals.stop().load(Ordering::Acquire));
        assert_eq!(signals.stopped_by(), Some(libc::SIGTERM));
        assert_eq!(poll(&mut [PollFd::readable(&signals)], Some(0)).unwrap(), 1);
        Signals::install().unwrap();
    }
}
