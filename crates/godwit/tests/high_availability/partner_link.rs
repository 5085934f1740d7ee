//! Link between the servers of a pair, which a test cuts and mends: a proxy of TCP connections.
//! While it is cut, it accepts connections and passes nothing on; when it is mended, all those
//! connections end, and nothing of them is delivered. It can also hold the commands that ask for a
//! page of leases.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Time after which a connection without data looks at the state of its link.
const LOOK: Duration = Duration::from_millis(20);

/// End of the names of commands that ask for a page of leases.
const PAGE: &[u8] = b"-get-page\"";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LinkState {
    is_cut: bool,
    is_over: bool,
    /// Number of times that the link was mended: connections of earlier times end.
    mended: u64,
    /// Number of commands for a page of leases that have come.
    pages: u64,
    /// Number of such commands up to which the link passes them on; `None` if it passes on all.
    pages_max: Option<u64>,
}

impl LinkState {
    fn holds_page(&self) -> bool {
        self.pages_max.is_some_and(|max| self.pages > max) && !self.is_over
    }
}

#[derive(Default)]
struct LinkShared {
    state: Mutex<LinkState>,
    has_changed: Condvar,
}

impl LinkShared {
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut LinkState)) {
        change(&mut self.state());
        self.has_changed.notify_all();
    }

    /// Counts a command for a page of leases, and waits while the link holds it.
    fn pass_page(&self) {
        self.change(|state| state.pages += 1);
        let mut state = self.state();
        while state.holds_page() {
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits while the link is cut. Returns true if it is as it was at the beginning `mended`.
    fn is_open_since(&self, mended: u64) -> bool {
        let mut state = self.state();
        while state.is_cut && !state.is_over {
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_over && state.mended == mended
    }
}

/// Link to a server at a TCP port of loopback.
pub(super) struct PartnerLink {
    /// Port at which the link accepts connections.
    pub(super) port: u16,
    shared: Arc<LinkShared>,
}

impl PartnerLink {
    /// Creates a whole link to the port `target`.
    pub(super) fn new(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::<LinkShared>::default();
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if of_thread.state().is_over {
                    return;
                }
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || pass_on(stream, target, &shared));
            }
        });
        Self { port, shared }
    }

    pub(super) fn cut(&self) {
        self.shared.change(|state| state.is_cut = true);
    }

    /// Makes the link pass on `count` commands for a page of leases from now on, and hold the next.
    pub(super) fn hold_pages_after(&self, count: u64) {
        self.shared.change(|state| state.pages_max = Some(state.pages + count));
    }

    /// Returns true if the link holds a command for a page of leases.
    pub(super) fn holds_page(&self) -> bool {
        self.shared.state().holds_page()
    }

    /// Makes the link pass on all commands again, also one that it holds.
    pub(super) fn pass_pages(&self) {
        self.shared.change(|state| state.pages_max = None);
    }

    pub(super) fn mend(&self) {
        self.shared.change(|state| {
            state.is_cut = false;
            state.mended += 1;
        });
    }
}

impl Drop for PartnerLink {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_over = true);
        // The thread that accepts connections sees the end.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

/// Passes a connection on to the port `target`, in both directions.
fn pass_on(stream: TcpStream, target: u16, shared: &Arc<LinkShared>) {
    let mended = shared.state().mended;
    if !shared.is_open_since(mended) {
        return;
    }
    let Ok(other) = TcpStream::connect(("127.0.0.1", target)) else { return };
    let (Ok(stream_back), Ok(other_back)) = (stream.try_clone(), other.try_clone()) else { return };
    let of_thread = Arc::clone(shared);
    let back = thread::spawn(move || copy(other_back, stream_back, mended, &of_thread));
    copy(stream, other, mended, shared);
    back.join().expect("it does not panic");
}

/// Copies what comes `from` one end to the other while the link is open.
fn copy(mut from: TcpStream, mut to: TcpStream, mended: u64, shared: &LinkShared) {
    let mut octets = [0; 16 << 10];
    from.set_read_timeout(Some(LOOK)).ok();
    while shared.is_open_since(mended) {
        match from.read(&mut octets) {
            Ok(0) => break,
            Ok(len) if shared.is_open_since(mended) => {
                if octets[..len].windows(PAGE.len()).any(|part| part == PAGE) {
                    shared.pass_page();
                }
                if to.write_all(&octets[..len]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
