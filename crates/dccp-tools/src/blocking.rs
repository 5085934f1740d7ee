//! What the simple commands share: one connection, calls that wait, and signals that end the waiting.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dccp_link::{Connection, Endpoint, Limits, LinkError};
use netio::Clock;
use netio::signal::Signals;

use crate::ToolError;
use crate::debug::Observer;
use crate::options::LinkArgs;

/// A signal is noticed after this time.
const LOOK: Duration = Duration::from_millis(200);
/// How long the other end may take to answer a Close.
const CLOSING: Duration = Duration::from_secs(5);
/// Datagrams that wait for a reader, so that a pipe may be slow for a while.
const RECEIVE_QUEUE_LEN: usize = 4_096;

/// One connection of a command, and what it stands on.
pub(crate) struct Single {
    pub(crate) connection: Connection,
    endpoint: Endpoint,
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

impl Single {
    /// Connects to `host`.
    pub(crate) fn connect(link: &LinkArgs, host: &str) -> Result<Self, ToolError> {
        let (config, to) = (link.config()?, link.destination(host)?);
        let endpoint = Endpoint::open(&link.client_carrier(to.peer), Limits::default())?;
        let connected = endpoint.connect_with(to.peer, to.options(), &config);
        let connection = connected.map_err(|error| match error {
            LinkError::TimedOut(timeout) => ToolError::Failed(format!(
                "no answer from {}, {}, within {} s",
                to.address(),
                link.door(),
                timeout.as_secs()
            )),
            other => other.into(),
        })?;
        Self::new(connection, endpoint, install()?, link)
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
                    return Self::new(connection, endpoint, signals, link).map(Waited::Done);
                }
                Err(LinkError::TimedOut(_)) if signals.stop().load(Ordering::Acquire) => {
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
        link: &LinkArgs,
    ) -> Result<Self, ToolError> {
        connection.set_send_timeout(Some(LOOK));
        connection.set_receive_timeout(Some(LOOK));
        let observer = RefCell::new(Observer::new(&link.debug));
        let single = Self { connection, endpoint, signals, observer };
        single.observe();
        Ok(single)
    }

    /// Sends a datagram.
    pub(crate) fn send(&self, datagram: &[u8]) -> Result<Waited<()>, ToolError> {
        loop {
            self.observe();
            match self.connection.send(datagram) {
                Ok(()) => return Ok(Waited::Done(())),
                Err(LinkError::TimedOut(_)) if self.is_interrupted() => {
                    return Ok(Waited::Interrupted);
                }
                Err(LinkError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes the next datagram in the place of what is in `buffer`; false at the end.
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> Result<Waited<bool>, ToolError> {
        loop {
            self.observe();
            match self.connection.receive_into(buffer) {
                Ok(is_there) => return Ok(Waited::Done(is_there)),
                Err(LinkError::TimedOut(_)) if self.is_interrupted() => {
                    return Ok(Waited::Interrupted);
                }
                Err(LinkError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells what the connection has done.
    fn observe(&self) {
        if let Some(observer) = &mut *self.observer.borrow_mut() {
            let (now_ns, key) = (Clock::mono_ns(), self.connection.key());
            let told = self.connection.look(|core| observer.changes(now_ns, key, core));
            eprint!("{}", told.unwrap_or_default());
        }
    }

    fn is_interrupted(&self) -> bool {
        self.signals.stop().load(Ordering::Acquire)
    }

    /// Closes, and waits for the other end.
    pub(crate) fn close(self) -> Result<(), ToolError> {
        self.observe();
        self.connection.close();
        if self.endpoint.wait_closed(CLOSING) {
            Ok(())
        } else {
            let seconds = CLOSING.as_secs();
            Err(ToolError::Failed(format!("the other end has not closed within {seconds} s")))
        }
    }
}
