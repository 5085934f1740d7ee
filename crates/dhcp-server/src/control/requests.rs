//! Channel between the control thread, which communicates with clients, and the supervisor, which
//! carries out their requests: one request at a time, each with the channel for its answer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use netio::Waker;
use serde_json::Value;
use tokio::sync::oneshot;

/// Maximum number of control requests that wait for the supervisor. Each connection sends one
/// request at a time.
const WAITING_MAX: usize = 1_024;

/// Request of a client of a control socket.
#[derive(Debug)]
pub(crate) enum ControlRequest {
    /// Control command; the answer is a map as JSON.
    Command(Value),
    /// Request for the counters in the format of Prometheus.
    Metrics,
}

/// Request of a control client, with the channel for its answer.
#[derive(Debug)]
pub(crate) struct PendingControlRequest {
    pub(crate) request: ControlRequest,
    answer: oneshot::Sender<String>,
}

impl PendingControlRequest {
    /// Sends the answer `text` to the control client. A client that has gone meanwhile is not an
    /// error.
    pub(crate) fn answer(self, text: String) {
        self.answer.send(text).ok();
    }
}

/// Sending end of the channel of control requests, for the control thread.
#[derive(Clone, Debug)]
pub(super) struct ControlRequestSender {
    requests: SyncSender<PendingControlRequest>,
    waker: Arc<Waker>,
}

/// Receiving end of the channel of control requests, for the supervisor.
#[derive(Debug)]
pub(crate) struct Inbox {
    requests: Receiver<PendingControlRequest>,
    waker: Arc<Waker>,
}

/// Creates both ends of the channel of control requests. Every request wakes `waker`.
pub(super) fn channel(waker: Arc<Waker>) -> (ControlRequestSender, Inbox) {
    let (sender, requests) = sync_channel(WAITING_MAX);
    (
        ControlRequestSender { requests: sender, waker: Arc::clone(&waker) },
        Inbox { requests, waker },
    )
}

impl ControlRequestSender {
    /// Sends `request` to the supervisor and returns its answer; `None` if too many requests wait
    /// already or the receiving end is gone.
    pub(super) async fn send_request(&self, request: ControlRequest) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(PendingControlRequest { request, answer }).ok()?;
        self.waker.wake();
        answered.await.ok()
    }
}

impl Inbox {
    /// Returns the object to poll, which is readable when a control request waits.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns the waker of the thread that reads the inbox.
    pub(crate) fn shared_waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Returns the next control request; `None` if none waits.
    pub(crate) fn next(&self) -> Option<PendingControlRequest> {
        self.requests.try_recv().ok()
    }
}
