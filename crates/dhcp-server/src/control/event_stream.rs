//! `GET /events`: lease events as an HTTP response without an end, as server-sent events or as
//! lines of JSON.
//!
//! A task for each subscriber passes texts from its subscription to the body of the response, one
//! at a time: what a subscriber does not read waits in the feed, not here.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::http::{HttpControl, HttpRefusal};
use super::progress::{ControlConnectionPhase, ControlConnectionProgress};
use crate::events::{
    EventFormat, EventSource, EventSubscription, SubscribeRefusal, SubscriptionRequest,
    SubscriptionText,
};
use crate::panics::contained_task;

/// Time without events after which a subscriber gets a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time between two texts to a subscriber that has all events: those that come meanwhile go
/// together.
const GATHER: Duration = Duration::from_millis(10);
/// Maximum number of subscribers that get the leases of a snapshot at the same time.
const SNAPSHOTS_MAX: usize = 4;
/// Header by which a subscriber says which event it had last.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Body of an HTTP response.
pub(super) enum ResponseBody {
    /// Body that exists as a whole.
    Whole(Full<Bytes>),
    /// Body of lease events.
    Events(EventBody),
}

/// Body with the texts that the task of a subscriber sends.
pub(super) struct EventBody(mpsc::Receiver<Bytes>);

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Events(EventBody(texts)) => {
                texts.poll_recv(context).map(|text| text.map(|text| Ok(Frame::data(text))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Streams of lease events of all control sockets.
#[derive(Clone)]
pub(super) struct EventStreams {
    source: Arc<dyn EventSource>,
    snapshots: Rc<Semaphore>,
}

impl EventStreams {
    pub(super) fn new(source: Arc<dyn EventSource>) -> Self {
        Self { source, snapshots: Rc::new(Semaphore::new(SNAPSHOTS_MAX)) }
    }

    /// Counts a subscriber whose connection is closed because it did not read.
    pub(super) fn count_cut_off(&self) {
        self.source.count_cut_off();
    }

    /// Begins the stream that `http_request` asks for, and returns its body and format.
    pub(super) fn open(
        &self,
        http_request: &Request<Incoming>,
        control: &HttpControl,
        progress: &Rc<ControlConnectionProgress>,
    ) -> Result<(EventBody, EventFormat), HttpRefusal> {
        let request = subscription_request(http_request)?;
        let changes = self.source.progress();
        let subscription = self.source.subscribe(&request).map_err(|refusal| HttpRefusal {
            status: StatusCode::SERVICE_UNAVAILABLE,
            why: Some(match refusal {
                SubscribeRefusal::TooMany => "there are too many subscribers already",
                SubscribeRefusal::NoThread => "the system refused a thread",
                SubscribeRefusal::NoLeases => "this process has no leases",
            }),
        })?;
        let (texts, body) = mpsc::channel(1);
        let authorization = http_request.headers().get(header::AUTHORIZATION).cloned();
        let stream = EventStream {
            subscription,
            format: request.format,
            texts,
            changes,
            snapshots: Rc::clone(&self.snapshots),
            control: control.clone(),
            authorization,
        };
        let progress = Rc::clone(progress);
        progress.enter(ControlConnectionPhase::Streaming);
        spawn_local(contained_task(async move {
            stream.run().await;
            // The connection goes on with the next request.
            progress.enter(ControlConnectionPhase::Answering);
        }));
        Ok((EventBody(body), request.format))
    }
}

/// Reads the request of a subscriber from its HTTP request.
fn subscription_request(request: &Request<Incoming>) -> Result<SubscriptionRequest, HttpRefusal> {
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    let is_lines = accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains("application/x-ndjson"));
    let format = if is_lines { EventFormat::JsonLines } else { EventFormat::ServerSent };
    let last = request.headers().get(LAST_EVENT_ID);
    let last = last.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut wants_snapshot = false;
    let mut after = None;
    let query = request.uri().query().unwrap_or_default();
    for item in query.split('&').filter(|item| !item.is_empty()) {
        match item.split_once('=') {
            Some(("snapshot", "true")) => wants_snapshot = true,
            Some(("snapshot", "false")) => wants_snapshot = false,
            Some(("after", position)) => after = Some(position.to_owned()),
            _ => return Err(HttpRefusal::bad_request("use `snapshot=true` and `after=ID` only")),
        }
    }
    // A client that connects again repeats the URL and says in the header what it has had since.
    let after = last.or(after).filter(|position| !position.is_empty());
    Ok(SubscriptionRequest { format, wants_snapshot, after })
}

/// Stream of events to one subscriber.
struct EventStream {
    subscription: Box<dyn EventSubscription>,
    format: EventFormat,
    texts: mpsc::Sender<Bytes>,
    changes: watch::Receiver<u64>,
    snapshots: Rc<Semaphore>,
    control: HttpControl,
    /// Credentials of the subscriber, which the socket must go on to admit.
    authorization: Option<HeaderValue>,
}

impl EventStream {
    /// Sends events until the subscriber goes, or the server ends the stream.
    async fn run(mut self) {
        if self.send_snapshot().await {
            self.send_events().await;
        }
    }

    /// Returns true if the socket's present settings admit the subscriber.
    fn is_admitted(&self) -> bool {
        let settings = self.control.settings.borrow();
        let authorization = self.authorization.as_ref().map(HeaderValue::as_bytes);
        settings.credentials.as_ref().is_none_or(|known| known.admits(authorization))
    }

    async fn send(&self, text: Bytes) -> bool {
        text.is_empty() || self.texts.send(text).await.is_ok()
    }

    /// Sends the snapshot, if the subscriber wants one. Returns false if the stream has ended.
    async fn send_snapshot(&mut self) -> bool {
        if !self.subscription.is_in_snapshot() {
            return true;
        }
        let snapshots = Rc::clone(&self.snapshots);
        let permit = tokio::select! {
            permit = snapshots.acquire() => permit,
            () = self.texts.closed() => return false,
        };
        while self.subscription.is_in_snapshot() && self.is_admitted() {
            match self.subscription.next() {
                SubscriptionText::Text { text, .. } => {
                    if !self.send(text).await {
                        return false;
                    }
                    tokio::task::yield_now().await;
                }
                SubscriptionText::Wait => {}
                SubscriptionText::End(text) => {
                    self.send(text).await;
                    return false;
                }
            }
        }
        drop(permit);
        true
    }

    async fn send_events(&mut self) {
        while self.is_admitted() {
            // Looked at before the events: one that comes in between is not missed.
            self.changes.borrow_and_update();
            match self.subscription.next() {
                SubscriptionText::Text { text, is_more } => {
                    if !self.send(text).await {
                        return;
                    }
                    if !is_more {
                        sleep(GATHER).await;
                    }
                }
                SubscriptionText::End(text) => {
                    self.send(text).await;
                    return;
                }
                SubscriptionText::Wait => {
                    let has_news = tokio::select! {
                        news = timeout(HEARTBEAT, self.changes.changed()) => news.is_ok(),
                        () = self.texts.closed() => return,
                    };
                    if !has_news && !self.send(self.format.heartbeat().into()).await {
                        return;
                    }
                }
            }
        }
    }
}
