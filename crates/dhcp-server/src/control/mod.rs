//! Control thread: sockets at which operators and their tools command the server, with an
//! asynchronous runtime of its own. The supervisor carries out commands; the control thread only
//! communicates with clients. Therefore neither a slow client nor a long command delays the other,
//! and neither touches the packet path. Where processors are scarce the thread yields to threads
//! that serve packets: an answer of twenty million bytes is work for the kernel, too.
//!
//! Every connection is bounded: in number per socket, in time by [`progress`], in memory by
//! [`budget`].

mod auth;
mod budget;
mod connections;
mod event_stream;
mod http;
mod parse;
mod partner;
mod progress;
mod progress_stream;
mod requests;
mod scanner;
mod sockets;
#[cfg(test)]
mod tests;
mod tls;
mod unix;

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dhcp_config::ControlSocket;
use dhcp_engine::contain::run_contained;
use netio::Waker;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

pub(crate) use partner::RELATIONSHIP;
pub(crate) use requests::{ControlRequest, Inbox, PendingControlRequest};

use crate::ServerError;
use crate::events::EventSource;
use crate::log;
use crate::panics::INTERNAL_ERROR;
use sockets::ControlSocketSet;

/// Time in which the control thread may still send answers when the server ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Order of the supervisor to the control thread.
enum ControlOrder {
    /// Control sockets to open, and the channel for the outcome.
    Configure(Vec<ControlSocket>, mpsc::Sender<Result<(), Vec<String>>>),
    /// Request to end the control thread.
    Stop,
}

/// Handle of the running control thread.
#[derive(Debug)]
pub(crate) struct ControlThread {
    orders: UnboundedSender<ControlOrder>,
    thread: JoinHandle<()>,
}

impl ControlThread {
    /// Starts the control thread with no socket open. Commands arrive in the inbox; subscribers get
    /// `events`. The thread has a lower priority than those that serve clients, unless it
    /// `answers_partner`: a partner in high availability takes a server that answers late for
    /// failed.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread, an event or a runtime.
    pub(crate) fn start(
        events: Arc<dyn EventSource>,
        answers_partner: bool,
    ) -> Result<(Self, Inbox), ServerError> {
        let system = |cause| ServerError::System { tried: "start the control thread", cause };
        let waker = Arc::new(Waker::new().map_err(system)?);
        let (asking, inbox) = requests::channel(waker);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let (orders, received) = unbounded_channel();
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                if !answers_partner {
                    log::give_way("commands");
                }
                let sockets = ControlSocketSet::new(asking, events);
                LocalSet::new().block_on(&runtime, execute_orders(received, sockets));
            })
            .map_err(system)?;
        Ok((Self { orders, thread }, inbox))
    }

    /// Opens and closes control sockets until exactly `sockets` are open.
    ///
    /// # Errors
    ///
    /// Texts of all problems; the open sockets then stay as they were.
    pub(crate) fn configure(&self, sockets: Vec<ControlSocket>) -> Result<(), Vec<String>> {
        let (sender, outcome) = mpsc::channel();
        self.orders.send(ControlOrder::Configure(sockets, sender)).ok();
        outcome.recv().expect("the control thread runs until it is told to stop")
    }

    /// Sends the answers that are under way, closes all control sockets and ends the thread.
    pub(crate) fn stop(self) {
        self.orders.send(ControlOrder::Stop).ok();
        self.thread.join().expect("the control thread does not panic");
    }
}

async fn execute_orders(
    mut orders: UnboundedReceiver<ControlOrder>,
    mut sockets: ControlSocketSet,
) {
    while let Some(ControlOrder::Configure(config, outcome)) = orders.recv().await {
        let configured = run_contained(|| sockets.configure(&config));
        outcome.send(configured.unwrap_or_else(|| Err(vec![INTERNAL_ERROR.to_owned()]))).ok();
    }
    sockets.refuse();
    let farewell = async {
        while sockets.is_busy() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SHUTDOWN_TIMEOUT, farewell).await.ok();
}
