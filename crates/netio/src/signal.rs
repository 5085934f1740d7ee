//! SIGINT, SIGTERM, SIGHUP and, where it is asked for, SIGUSR1 as flags plus a descriptor to wait for.
//!
//! Handlers, not a signalfd: a blocked signal mask would be inherited by child processes, a
//! handler is not. Installing is once per process.
#![allow(unsafe_code, reason = "sigaction")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::Waker;

static STOP: AtomicBool = AtomicBool::new(false);
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);
static RELOAD: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static WAKER: OnceLock<Waker> = OnceLock::new();

/// The signals of this process, once installed.
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
    // Set before the handlers were, and `wake` is one write(2): allowed in a handler.
    if let Some(waker) = WAKER.get() {
        waker.wake();
    }
}

/// Asks the process to stop as a signal does, without one.
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
    /// Installs handlers: SIGINT and SIGTERM ask to stop, as often as they come (whoever stops
    /// does so in bounded time, and a second one must not cut the cleaning up short); SIGHUP asks
    /// to reload. Calling it again installs them afresh.
    ///
    /// # Errors
    ///
    /// When no descriptor is left.
    pub fn install() -> io::Result<Self> {
        if WAKER.get().is_none() {
            // Losing a race against another thread drops the second line, nothing more.
            WAKER.set(Waker::new()?).ok();
        }
        let waker = WAKER.get().expect("set just above");
        handle(libc::SIGINT, 0)?;
        handle(libc::SIGTERM, 0)?;
        handle(libc::SIGHUP, libc::SA_RESTART)?;
        Ok(Self { waker })
    }

    /// Lets SIGUSR1 ask for a report, which ends the process otherwise.
    ///
    /// # Errors
    ///
    /// What `sigaction(2)` reports.
    pub fn take_reports_too(self) -> io::Result<Self> {
        handle(libc::SIGUSR1, libc::SA_RESTART)?;
        Ok(self)
    }

    /// Set once SIGINT or SIGTERM has come, or the reader of the standard output has closed its end
    /// ([`crate::stdout`]); never cleared.
    #[must_use]
    pub fn stop(&self) -> &'static AtomicBool {
        &STOP
    }

    /// The signal that asked to stop (`SIGINT` is 2, `SIGTERM` 15), if one did.
    #[must_use]
    pub fn stopped_by(&self) -> Option<i32> {
        let number = STOP.load(Ordering::Acquire).then(|| STOPPED_BY.load(Ordering::Relaxed));
        number.filter(|&number| number != 0)
    }

    /// True once per reload request; requests that come before the look are merged.
    #[must_use]
    pub fn take_reload(&self) -> bool {
        RELOAD.swap(false, Ordering::AcqRel)
    }

    /// True once per request for a report; requests that come before the look are merged.
    #[must_use]
    pub fn take_report(&self) -> bool {
        REPORT.swap(false, Ordering::AcqRel)
    }

    /// Makes the descriptor unreadable again. Call it before looking at the flags.
    pub fn drain(&self) {
        self.waker.drain();
    }
}

impl AsFd for Signals {
    /// Readable when a signal has come since the last [`Signals::drain`].
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
