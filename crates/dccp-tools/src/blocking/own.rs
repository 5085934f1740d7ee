//! Connection of a command over Godwit's own DCCP stack, with the thread that moves its packets.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use dccp_link::{BlockingConnection, BlockingEndpoint, DccpError, EndpointLimits};
use netio::Clock;
use netio::signal::Signals;

use super::{CLOSING, LOOK, RECEIVE_QUEUE_LEN, WaitResult, is_stopped};
use crate::debug::Observer;
use crate::options::LinkArgs;

/// Connection of Godwit's own stack, with the endpoint that it belongs to.
pub(super) struct OwnEnd {
    /// Connection with blocking calls; `None` once it is closed.
    connection: Option<BlockingConnection>,
    /// Endpoint of the connection; `None` once it is gone.
    endpoint: Option<BlockingEndpoint>,
    observer: RefCell<Option<Observer>>,
}

impl OwnEnd {
    /// Connects to the server `host` and waits for its answer or for a signal.
    pub(super) fn connect(
        link: &LinkArgs,
        host: &str,
        signals: &Signals,
    ) -> ToolResult<WaitResult<Self>> {
        let (config, to) = (link.config()?, link.destination(host)?);
        let endpoint =
            BlockingEndpoint::open(&link.client_carrier(to.peer)?, EndpointLimits::default())?;
        let mut connecting = endpoint.begin_connect(to.peer, to.options(), &config)?;
        let mut observer = Observer::new(&link.debug);
        if let Some(observer) = &mut observer {
            observer.begin(connecting.key());
        }
        loop {
            let is_open = connecting.wait_within(LOOK.min(Duration::from_millis(20)));
            if let Some(observer) = &mut observer {
                let (now_ns, key) = (Clock::mono_ns(), connecting.key());
                let changes = connecting.with_core(|core| observer.changes(now_ns, key, core));
                netio::stderr::print(format_args!("{}", changes.unwrap_or_default()));
            }
            match is_open {
                Ok(true) => break,
                Ok(false) if is_stopped(signals) => {
                    endpoint.abort();
                    return Ok(WaitResult::Interrupted);
                }
                Ok(false) => {}
                Err(DccpError::TimedOut(timeout)) => return Err(link.no_answer_error(to, timeout)),
                Err(other) => return Err(other.into()),
            }
        }
        Ok(WaitResult::Done(Self::new(connecting.into_connection(), endpoint, observer)))
    }

    /// Waits for one connection at the configured port and accepts no more; calls `say` with a
    /// sentence when it begins to wait.
    pub(super) fn accept(
        link: &LinkArgs,
        signals: &Signals,
        say: impl FnOnce(&str),
    ) -> ToolResult<WaitResult<Self>> {
        let mut config = link.config()?;
        config.receive_queue_len = RECEIVE_QUEUE_LEN;
        let endpoint = BlockingEndpoint::open(&link.server_carrier()?, EndpointLimits::default())?;
        let listener = endpoint.listen(link.port, &config, vec![config.service_code], 1);
        say(&format!("listening on {}", link.describe_ports()));
        loop {
            match listener.accept_within(LOOK) {
                Ok(connection) => {
                    drop(listener);
                    let observer = Observer::new(&link.debug);
                    return Ok(WaitResult::Done(Self::new(connection, endpoint, observer)));
                }
                Err(DccpError::TimedOut(_)) if is_stopped(signals) => {
                    endpoint.abort();
                    return Ok(WaitResult::Interrupted);
                }
                Err(DccpError::TimedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn new(
        mut connection: BlockingConnection,
        endpoint: BlockingEndpoint,
        observer: Option<Observer>,
    ) -> Self {
        connection.set_send_timeout(Some(LOOK));
        connection.set_receive_timeout(Some(LOOK));
        let observer = RefCell::new(observer);
        let end = Self { connection: Some(connection), endpoint: Some(endpoint), observer };
        end.observe();
        end
    }

    /// Returns the connection with blocking calls.
    pub(super) fn connection(&self) -> &BlockingConnection {
        self.connection.as_ref().expect("it stays until close() takes it")
    }

    /// Prints the changes of the connection's state, if `--debug` requests them.
    pub(super) fn observe(&self) {
        if let Some(observer) = &mut *self.observer.borrow_mut() {
            let (now_ns, key) = (Clock::mono_ns(), self.connection().key());
            let changes = self.connection().with_core(|core| observer.changes(now_ns, key, core));
            netio::stderr::print(format_args!("{}", changes.unwrap_or_default()));
        }
    }

    /// Closes the connection, and waits until the other end has closed it or a signal arrives.
    pub(super) fn close(&mut self, signals: &Signals) -> ToolResult<WaitResult<()>> {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
        let endpoint = self.endpoint.as_ref().expect("it stays until this value goes");
        let deadline = Instant::now() + CLOSING;
        while Instant::now() < deadline {
            if endpoint.wait_closed(LOOK) {
                return Ok(WaitResult::Done(()));
            }
            if is_stopped(signals) {
                return Ok(WaitResult::Interrupted);
            }
        }
        let seconds = CLOSING.as_secs();
        Err(ToolError::Failed(format!(
            "the other end did not close the connection within {seconds} s"
        )))
    }

    /// Ends the connection with a Reset, without waiting for the other end.
    pub(super) fn abort(&mut self) {
        if let Some(endpoint) = self.endpoint.take() {
            endpoint.abort();
        }
    }
}
