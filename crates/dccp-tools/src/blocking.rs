//! One connection of a simple command, calls that wait, and signals that end them: SIGINT and SIGTERM are
//! looked at before each call and while it waits, whether data flows or not.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dccp_link::{Connection, Endpoint, Limits, LinkError};
use netio::signal::Signals;
use netio::{Clock, PollFd};

use crate::ToolError;
use crate::debug::Observer;
use crate::options::LinkArgs;

/// A signal is noticed after this time.
const LOOK: Duration = Duration::from_millis(200);
/// How long the other end may take to answer a Close.
const CLOSING: Duration = Duration::from_secs(5);
/// Datagrams that wait for a reader, so that a pipe may be slow for a while.
const RECEIVE_QUEUE_LEN: usize = 4_096;

/// Octets that a pipe which can be written takes without waiting (`PIPE_BUF`, pipe(7)).
const PIPE_BYTES: usize = 4_096;

/// One connection of a command, and what it stands on.
pub(crate) struct Single {
    /// `None` once it is closed.
    connection: Option<Connection>,
    /// `None` once it is gone.
    endpoint: Option<Endpoint>,
    signals: Signals,
    observer: RefCell<Option<Observer>>,
}

/// What a call that waits came to.
pub(crate) enum Waited<T> {
    Done(T),
    /// A signal asked to stop.
    Interrupted,
}

fn install() -> Result<Signals, ToolError> {
    Signals::install()
        .map_err(|error| ToolError::Failed(format!("cannot install signal handlers: {error}")))
}

/// Returns whether a signal asked to stop.
fn is_stopped(signals: &Signals) -> bool {
    signals.stop().load(Ordering::Acquire)
}

/// Waits until a file is ready, a signal has come or some time has passed; true when it is ready.
fn wait_for_file(signals: &Signals, file: PollFd<'_>) -> Result<bool, ToolError> {
    // A signal between the look and the wait leaves its mark in the descriptor.
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

impl Single {
    /// Connects to `host`.
    pub(crate) fn connect(link: &LinkArgs, host: &str) -> Result<Waited<Self>, ToolError> {
        let (config, to) = (link.config()?, link.destination(host)?);
        let signals = install()?;
        let endpoint = Endpoint::open(&link.client_carrier(to.peer), Limits::default())?;
        let mut connecting = endpoint.begin_connect(to.peer, to.options(), &config)?;
        let mut observer = Observer::new(&link.debug);
        if let Some(observer) = &mut observer {
            observer.begin(connecting.key());
        }
        loop {
            let is_open = connecting.wait_within(LOOK.min(Duration::from_millis(20)));
            if let Some(observer) = &mut observer {
                let (now_ns, key) = (Clock::mono_ns(), connecting.key());
                let changes = connecting.look(|core| observer.changes(now_ns, key, core));
                eprint!("{}", changes.unwrap_or_default());
            }
            match is_open {
                Ok(true) => break,
                Ok(false) if is_stopped(&signals) => {
                    endpoint.abort();
                    return Ok(Waited::Interrupted);
                }
                Ok(false) => {}
                Err(LinkError::TimedOut(timeout)) => {
                    return Err(ToolError::Failed(format!(
                        "no answer from {}, {}, within {} s",
                        to.address(),
                        link.door(),
                        timeout.as_secs_f64()
                    )));
                }
                Err(other) => return Err(other.into()),
            }
        }
        let connection = connecting.into_connection();
        Ok(Waited::Done(Self::new(connection, endpoint, signals, observer)))
    }

    /// Waits for one connection and takes no more; `say` is told when it waits.
    pub(crate) fn accept(
        link: &LinkArgs,
        say: impl FnOnce(&str),
    ) -> Result<Waited<Self>, ToolError> {
        let signals = install()?;
        let mut config = link.config()?;
        config.receive_queue_len = RECEIVE_QUEUE_LEN;
        let endpoint = Endpoint::open(&link.server_carrier(), Limits::default())?;
        let listener = endpoint.listen(link.port, &config, vec![config.service_code], 1);
        say(&format!("listening on {}", link.door()));
        loop {
            match listener.accept_within(LOOK) {
                Ok(connection) => {
                    drop(listener);
                    let observer = Observer::new(&link.debug);
                    return Ok(Waited::Done(Self::new(connection, endpoint, signals, observer)));
                }
                Err(LinkError::TimedOut(_)) if is_stopped(&signals) => {
                    endpoint.abort();
                    return Ok(Waited::Interrupted);
                }
                Err(LinkError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn new(
        mut connection: Connection,
        endpoint: Endpoint,
        signals: Signals,
        observer: Option<Observer>,
    ) -> Self {
        connection.set_send_timeout(Some(LOOK));
        connection.set_receive_timeout(Some(LOOK));
        let observer = RefCell::new(observer);
        let (connection, endpoint) = (Some(connection), Some(endpoint));
        let single = Self { connection, endpoint, signals, observer };
        single.observe();
        single
    }

    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("it stays until close() takes it")
    }

    /// Reads from `file` when there is something to read; 0 at its end.
    pub(crate) fn read(
        &self,
        file: &mut File,
        buffer: &mut [u8],
    ) -> Result<Waited<usize>, ToolError> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(Waited::Interrupted);
            }
            if !wait_for_file(&self.signals, PollFd::readable(file))? {
                continue;
            }
            match file.read(buffer) {
                Ok(count) => return Ok(Waited::Done(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ToolError::Failed(format!("cannot read: {error}"))),
            }
        }
    }

    /// Writes all of `data` to `file`, as fast as it takes it.
    pub(crate) fn write(&self, file: &mut File, data: &[u8]) -> Result<Waited<()>, ToolError> {
        let mut rest = data;
        while !rest.is_empty() {
            if self.is_interrupted() {
                return Ok(Waited::Interrupted);
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
        Ok(Waited::Done(()))
    }

    /// Sends a datagram.
    pub(crate) fn send(&self, datagram: &[u8]) -> Result<Waited<()>, ToolError> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(Waited::Interrupted);
            }
            match self.connection().send(datagram) {
                Ok(()) => return Ok(Waited::Done(())),
                Err(LinkError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes the next datagram in the place of what is in `buffer`; false at the end.
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> Result<Waited<bool>, ToolError> {
        loop {
            self.observe();
            if self.is_interrupted() {
                return Ok(Waited::Interrupted);
            }
            match self.connection().receive_into(buffer) {
                Ok(is_there) => return Ok(Waited::Done(is_there)),
                Err(LinkError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells what the connection has done.
    fn observe(&self) {
        if let Some(observer) = &mut *self.observer.borrow_mut() {
            let (now_ns, key) = (Clock::mono_ns(), self.connection().key());
            let told = self.connection().look(|core| observer.changes(now_ns, key, core));
            eprint!("{}", told.unwrap_or_default());
        }
    }

    fn is_interrupted(&self) -> bool {
        is_stopped(&self.signals)
    }

    /// Closes, and waits for the other end. When a signal comes first, or came before, the connection
    /// is reset.
    pub(crate) fn close(mut self) -> Result<Waited<()>, ToolError> {
        self.observe();
        if self.is_interrupted() {
            return Ok(Waited::Interrupted);
        }
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
        let endpoint = self.endpoint.as_ref().expect("it stays until this value goes");
        let deadline = Instant::now() + CLOSING;
        while Instant::now() < deadline {
            if endpoint.wait_closed(LOOK) {
                return Ok(Waited::Done(()));
            }
            if self.is_interrupted() {
                return Ok(Waited::Interrupted);
            }
        }
        let seconds = CLOSING.as_secs();
        Err(ToolError::Failed(format!("the other end has not closed within {seconds} s")))
    }
}

impl Drop for Single {
    /// After a signal nothing waits for the other end: it gets a Reset.
    fn drop(&mut self) {
        if self.is_interrupted()
            && let Some(endpoint) = self.endpoint.take()
        {
            endpoint.abort();
        }
    }
}
