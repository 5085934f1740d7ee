//! Connection of a simple command such as `send` or `ttcp`: blocking calls, and signals that end
//! them. Each call checks for SIGINT and SIGTERM before it begins and while it waits, with or
//! without data.

mod kernel;
mod own;

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{ToolError, ToolResult};
use dccp_link::{DccpError, SenderFigures};
use netio::PollFd;
use netio::signal::Signals;

use crate::options::{CarrierArg, LinkArgs};
use kernel::KernelEnd;
use own::OwnEnd;

/// Longest time until a blocking call notices a signal (SIGINT, SIGTERM).
const LOOK: Duration = Duration::from_millis(200);
/// Longest time that the other end has to answer a DCCP-Close. Linux answers after its application
/// has read the data that came before.
const CLOSING: Duration = Duration::from_secs(60);
/// Length of a connection's receive queue in datagrams, so that a slow pipe loses no data for a
/// while.
const RECEIVE_QUEUE_LEN: usize = 4_096;

/// Bytes that a writable pipe accepts without waiting (`PIPE_BUF`, pipe(7)).
const PIPE_BYTES: usize = 4_096;

/// Connection of a command, over Godwit's own DCCP stack or the kernel's.
pub(crate) struct CommandConnection {
    end: StackEnd,
    signals: Signals,
}

/// DCCP stack to which the connection belongs: Godwit's own or the kernel's.
enum StackEnd {
    Own(OwnEnd),
    Kernel(KernelEnd),
}

/// Result of a blocking call: its value, or an interruption by a signal.
pub(crate) enum WaitResult<T> {
    Done(T),
    /// Blocking call that a signal ended.
    Interrupted,
}

impl<T> WaitResult<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> WaitResult<U> {
        match self {
            Self::Done(done) => WaitResult::Done(change(done)),
            Self::Interrupted => WaitResult::Interrupted,
        }
    }
}

/// Returns true if a signal has requested the command to stop.
fn is_stopped(signals: &Signals) -> bool {
    signals.stop().load(Ordering::Acquire)
}

/// Waits until `file` is ready, a signal has arrived or [`LOOK`] has passed. Returns true if the
/// file is ready.
fn wait_for_file(signals: &Signals, file: PollFd<'_>) -> ToolResult<bool> {
    // A signal between the check and the wait makes the descriptor readable.
    signals.drain();
    if is_stopped(signals) {
        return Ok(false);
    }
    let mut files = [file, PollFd::readable(signals)];
    netio::poll(&mut files, Some(LOOK.as_nanos() as u64))
        .map_err(|error| ToolError::Failed(format!("cannot wait for a file: {error}")))?;
    let [file, _] = &files;
    Ok(file.is_readable() || file.is_writable())
}

impl CommandConnection {
    /// Connects to the server `host` over the carrier that the flags name.
    pub(crate) fn connect(link: &LinkArgs, host: &str) -> ToolResult<WaitResult<Self>> {
        let signals = Signals::for_command()?;
        let end = match link.carrier() {
            CarrierArg::Kernel => KernelEnd::connect(link, host, &signals)?.map(StackEnd::Kernel),
            _ => OwnEnd::connect(link, host, &signals)?.map(StackEnd::Own),
        };
        Ok(end.map(|end| Self { end, signals }))
    }

    /// Waits for one connection at the configured port and accepts no more; calls `say` with a
    /// sentence when it begins to wait.
    pub(crate) fn accept(link: &LinkArgs, say: impl FnOnce(&str)) -> ToolResult<WaitResult<Self>> {
        let signals = Signals::for_command()?;
        let end = match link.carrier() {
            CarrierArg::Kernel => KernelEnd::accept(link, &signals, say)?.map(StackEnd::Kernel),
            _ => OwnEnd::accept(link, &signals, say)?.map(StackEnd::Own),
        };
        Ok(end.map(|end| Self { end, signals }))
    }

    /// Returns the largest datagram in bytes that the connection accepts.
    pub(crate) fn packet_bytes_max(&self) -> ToolResult<usize> {
        match &self.end {
            StackEnd::Own(end) => Ok(end.connection().packet_bytes_max()),
            StackEnd::Kernel(end) => Ok(end.packet_bytes_max()?),
        }
    }

    /// Returns the CCIDs of the congestion controls of the data that this end sends and receives.
    pub(crate) fn ccids(&self) -> ToolResult<(u8, u8)> {
        match &self.end {
            StackEnd::Own(end) => Ok(end.connection().ccids()),
            StackEnd::Kernel(end) => Ok(end.ccids()?),
        }
    }

    /// Returns the figures of the congestion control of sent data; `None` over the kernel's
    /// sockets.
    pub(crate) fn sender_figures(&self) -> Option<SenderFigures> {
        match &self.end {
            StackEnd::Own(end) => end.connection().sender_figures(),
            StackEnd::Kernel(_) => None,
        }
    }

    /// Returns the count of received datagrams that were dropped because this end had not read
    /// earlier ones in time.
    pub(crate) fn unread_drops(&self) -> u64 {
        match &self.end {
            StackEnd::Own(end) => end.connection().unread_drops(),
            StackEnd::Kernel(end) => end.unread_drops(),
        }
    }

    /// Returns the IP address of the other end, as text.
    pub(crate) fn remote(&self) -> String {
        match &self.end {
            StackEnd::Own(end) => end.connection().key().remote.to_string(),
            StackEnd::Kernel(end) => end.remote().ip().to_canonical().to_string(),
        }
    }

    /// Reads from `file` into `buffer` once the file is readable. Returns 0 at the end of the file.
    pub(crate) fn read(&self, file: &mut File, buffer: &mut [u8]) -> ToolResult<WaitResult<usize>> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(WaitResult::Interrupted);
            }
            if !wait_for_file(&self.signals, PollFd::readable(file))? {
                continue;
            }
            match file.read(buffer) {
                Ok(count) => return Ok(WaitResult::Done(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ToolError::Failed(format!("cannot read: {error}"))),
            }
        }
    }

    /// Writes all of `data` to `file`, as fast as the file accepts it.
    pub(crate) fn write(&self, file: &mut File, data: &[u8]) -> ToolResult<WaitResult<()>> {
        let mut rest = data;
        while !rest.is_empty() {
            if self.is_interrupted() {
                return Ok(WaitResult::Interrupted);
            }
            if !wait_for_file(&self.signals, PollFd::writable(file))? {
                continue;
            }
            match file.write(&rest[..rest.len().min(PIPE_BYTES)]) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ToolError::Failed(format!("cannot write: {error}"))),
            }
        }
        Ok(WaitResult::Done(()))
    }

    /// Sends a datagram over the connection; waits while its send queue is full.
    pub(crate) fn send(&self, datagram: &[u8]) -> ToolResult<WaitResult<()>> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(WaitResult::Interrupted);
            }
            let sent = match &self.end {
                StackEnd::Own(end) => end.connection().send(datagram),
                StackEnd::Kernel(end) => end.send(datagram, &self.signals),
            };
            match sent {
                Ok(()) => return Ok(WaitResult::Done(())),
                Err(DccpError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Receives the connection's next datagram into `buffer`, in place of its content. Returns
    /// false at the end of the connection.
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> ToolResult<WaitResult<bool>> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(WaitResult::Interrupted);
            }
            let received = match &self.end {
                StackEnd::Own(end) => end.connection().receive_into(buffer),
                StackEnd::Kernel(end) => end.receive(buffer, &self.signals),
            };
            match received {
                Ok(is_there) => return Ok(WaitResult::Done(is_there)),
                Err(DccpError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Prints the changes of the connection's state, if `--debug` requests them.
    fn observe(&self) {
        if let StackEnd::Own(end) = &self.end {
            end.observe();
        }
    }

    fn is_interrupted(&self) -> bool {
        is_stopped(&self.signals)
    }

    /// Closes the connection, and waits until the other end has closed it. When a signal arrives
    /// first, or arrived before, the connection is reset.
    pub(crate) fn close(mut self) -> ToolResult<WaitResult<()>> {
        self.observe();
        if self.is_interrupted() {
            return Ok(WaitResult::Interrupted);
        }
        match &mut self.end {
            StackEnd::Own(end) => end.close(&self.signals),
            StackEnd::Kernel(end) => end.close(&self.signals),
        }
    }
}

impl Drop for CommandConnection {
    /// Resets the connection after a signal, without waiting for the other end.
    fn drop(&mut self) {
        if self.is_interrupted() {
            match &mut self.end {
                StackEnd::Own(end) => end.abort(),
                StackEnd::Kernel(end) => end.abort(),
            }
        }
    }
}
