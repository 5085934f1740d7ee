//! Connection over the kernel's own DCCP sockets, for the tools `send` and `ttcp`.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use dccp_link::DccpError;
use netio::signal::Signals;
use netio::{DccpSocket, NetError, PollFd};

use super::{CLOSING, LOOK, WaitResult, is_stopped};
use crate::kernel;
use crate::options::LinkArgs;

/// Time after which a full send queue of the kernel is tried again; `poll(2)` does not report free
/// room in it.
const RETRY: Duration = Duration::from_millis(1);
/// Length of the longest datagram that IP carries, in bytes.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// Connection over a DCCP socket of the kernel, with blocking calls.
pub(super) struct KernelEnd {
    /// Kernel's DCCP socket of the connection; `None` once it is closed.
    socket: Option<DccpSocket>,
    remote: SocketAddr,
    /// Buffer into which the kernel writes a received datagram.
    received: RefCell<Vec<u8>>,
}

impl KernelEnd {
    /// Connects to the server `host` and waits for its answer or for a signal.
    pub(super) fn connect(
        link: &LinkArgs,
        host: &str,
        signals: &Signals,
    ) -> ToolResult<WaitResult<Self>> {
        let (config, to) = (link.config()?, link.destination(host)?);
        let remote = to.socket_address();
        let socket = DccpSocket::connect(remote, &kernel::options(link, &config))
            .map_err(|error| kernel::explain(error, to.peer))?;
        let timeout = Duration::from_nanos(config.connect_timeout_ns);
        let deadline = Instant::now() + timeout;
        loop {
            if is_stopped(signals) {
                socket.abort();
                return Ok(WaitResult::Interrupted);
            }
            let is_open = wait(PollFd::writable(&socket), signals, LOOK)?;
            if let Some(cause) = socket.take_error().map_err(failed)? {
                return Err(kernel::refusal(to.peer, cause).into());
            }
            if is_open {
                return Ok(WaitResult::Done(Self::new(socket, remote)));
            }
            if Instant::now() >= deadline {
                socket.abort();
                return Err(link.no_answer_error(to, timeout));
            }
        }
    }

    /// Waits for one connection at the configured port and accepts no more; calls `say` with a
    /// sentence when it begins to wait.
    pub(super) fn accept(
        link: &LinkArgs,
        signals: &Signals,
        say: impl FnOnce(&str),
    ) -> ToolResult<WaitResult<Self>> {
        let listener = kernel::listen(link, &link.config()?, 1)?;
        say(&format!("listening on {}", link.describe_ports()));
        loop {
            if is_stopped(signals) {
                return Ok(WaitResult::Interrupted);
            }
            wait(PollFd::readable(&listener), signals, LOOK)?;
            match listener.accept() {
                Ok((socket, remote)) => {
                    return Ok(WaitResult::Done(Self::new(socket, remote)));
                }
                Err(error) if is_nothing_yet(&error) => {}
                Err(error) => {
                    return Err(ToolError::Failed(format!("cannot accept a connection: {error}")));
                }
            }
        }
    }

    fn new(socket: DccpSocket, remote: SocketAddr) -> Self {
        let received = RefCell::new(vec![0; DATAGRAM_BYTES_MAX]);
        Self { socket: Some(socket), remote, received }
    }

    fn socket(&self) -> &DccpSocket {
        self.socket.as_ref().expect("it stays until it is closed")
    }

    /// Returns the address of the other end of the connection.
    pub(super) const fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Returns the count of received packets that the kernel dropped because the receive buffer was
    /// full.
    pub(super) fn unread_drops(&self) -> u64 {
        self.socket().drops().map_or(0, u64::from)
    }

    /// Returns the largest datagram in bytes that the connection accepts.
    pub(super) fn packet_bytes_max(&self) -> Result<usize, DccpError> {
        kernel::packet_bytes_max(self.socket()).map_err(failed)
    }

    /// Returns the CCIDs of the congestion controls of the data that this end sends and receives.
    pub(super) fn ccids(&self) -> Result<(u8, u8), DccpError> {
        let socket = self.socket();
        Ok((socket.tx_ccid().map_err(failed)?, socket.rx_ccid().map_err(failed)?))
    }

    /// Sends a datagram over the connection. When the send queue is full, waits for 1 ms and
    /// returns [`DccpError::TimedOut`].
    pub(super) fn send(&self, datagram: &[u8], signals: &Signals) -> Result<(), DccpError> {
        match self.socket().send(datagram) {
            Ok(()) => Ok(()),
            Err(error) if is_nothing_yet(&error) => {
                wait(PollFd::readable(signals), signals, RETRY)?;
                Err(DccpError::TimedOut(RETRY))
            }
            Err(error) => Err(kernel::connection_error(error)),
        }
    }

    /// Receives the connection's next datagram into `buffer`. When there is none, waits and returns
    /// [`DccpError::TimedOut`]. Returns false at the end of the connection.
    pub(super) fn receive(
        &self,
        buffer: &mut Vec<u8>,
        signals: &Signals,
    ) -> Result<bool, DccpError> {
        let socket = self.socket();
        let mut received = self.received.borrow_mut();
        match socket.receive(&mut received) {
            Ok(len) => {
                buffer.clear();
                buffer.extend_from_slice(received.get(..len).unwrap_or_default());
                Ok(len > 0 || !socket.has_ended().map_err(failed)?)
            }
            Err(error) if is_nothing_yet(&error) => {
                wait(PollFd::readable(socket), signals, LOOK)?;
                Err(DccpError::TimedOut(LOOK))
            }
            Err(error) => Err(kernel::connection_error(error)),
        }
    }

    /// Sends the datagrams in the connection's queue, unless a signal arrives before, and closes
    /// the connection. The kernel waits for the other end.
    pub(super) fn close(&mut self, signals: &Signals) -> ToolResult<WaitResult<()>> {
        // A close discards the data that CCID 2 cannot send at that moment, with any SO_LINGER.
        let deadline = Instant::now() + CLOSING;
        while self.socket().queued_bytes().map_err(failed)? > 0 {
            if is_stopped(signals) {
                return Ok(WaitResult::Interrupted);
            }
            if Instant::now() >= deadline {
                let seconds = CLOSING.as_secs();
                let text = format!("the other end did not accept all datagrams within {seconds} s");
                return Err(ToolError::Failed(text));
            }
            wait(PollFd::readable(signals), signals, RETRY)?;
        }
        self.socket = None;
        Ok(WaitResult::Done(()))
    }

    /// Ends the connection with a DCCP-Reset.
    pub(super) fn abort(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.abort();
        }
    }
}

fn is_nothing_yet(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn failed(cause: std::io::Error) -> DccpError {
    DccpError::Net(NetError::new("use", "a kernel DCCP socket", cause))
}

/// Waits until `socket` is ready, a signal arrives or `time` passes. Returns true if the socket is
/// ready.
fn wait(socket: PollFd<'_>, signals: &Signals, time: Duration) -> Result<bool, DccpError> {
    let mut files = [socket, PollFd::readable(signals)];
    netio::poll(&mut files, Some(time.as_nanos() as u64)).map_err(failed)?;
    let [socket, _] = &files;
    Ok(socket.is_readable() || socket.is_writable())
}
