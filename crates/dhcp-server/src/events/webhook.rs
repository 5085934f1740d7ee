//! Webhook: a listener that sends lease events to an HTTP server, in batches, each until the server
//! has taken it.
//!
//! A batch that fails is sent again after a wait that doubles, with the same identifier: the server
//! gets every event at least once. Meanwhile events wait in the feed, up to the webhook's limit;
//! then the oldest are dropped and counted, and the next batch says how many.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use dhcp_config::Webhook;
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_store::regular_file;

use super::text::write_event;
use super::{EventListener, FeedFacts};
use crate::http_client::{ClientTls, CommandFailure, CommandRequest, send_command};
use crate::service::DaemonFamily;

/// Names of the webhooks in statistics, in the order of the configuration.
const NAMES: [&str; dhcp_config::WEBHOOKS_MAX] = [
    "webhook-1",
    "webhook-2",
    "webhook-3",
    "webhook-4",
    "webhook-5",
    "webhook-6",
    "webhook-7",
    "webhook-8",
];
/// Wait before the first repetition of a batch; each further one is twice as long.
const WAIT_MIN: Duration = Duration::from_millis(500);
/// Longest wait before a repetition of a batch.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time after which a wait looks whether the server ends.
const LOOK: Duration = Duration::from_millis(50);
/// Time limit of a request while the server ends.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of bytes of the body of a receiver's answer.
const ANSWER_MAX: usize = 1 << 20;

/// Listener that sends events to an HTTP server.
pub(super) struct WebhookListener {
    name: &'static str,
    config: Webhook,
    /// Instance of the numbers of events.
    instance: String,
    is_ending: Arc<AtomicBool>,
    /// Number of the last event that the listener was given, or that was there before it.
    last_number: u64,
    /// True if the last request failed.
    has_failed: bool,
}

/// Returns the listeners of `webhooks`.
pub(super) fn listeners_of<P: DaemonFamily>(
    webhooks: &[Webhook],
) -> impl Iterator<Item = Box<dyn EventListener<P>>> {
    NAMES.iter().zip(webhooks).map(|(name, config)| {
        Box::new(WebhookListener::new(name, config.clone())) as Box<dyn EventListener<P>>
    })
}

impl WebhookListener {
    pub(super) fn new(name: &'static str, config: Webhook) -> Self {
        Self {
            name,
            config,
            instance: String::new(),
            is_ending: Arc::default(),
            last_number: 0,
            has_failed: false,
        }
    }

    /// Returns the request that carries `body`.
    ///
    /// # Errors
    ///
    /// The reason why the file with the password cannot be read.
    fn request(&self, body: &str) -> Result<CommandRequest, String> {
        let Webhook { host, port, path, trust_anchor, identity, .. } = &self.config;
        let credentials = match &self.config.credentials {
            Some((user, file)) => {
                let text = regular_file::read_text(Path::new(file))
                    .map_err(|cause| format!("cannot read {file}: {cause}"))?;
                Some((user.clone(), text.trim_end_matches(['\r', '\n']).to_owned()))
            }
            None => None,
        };
        let is_ending = self.is_ending.load(Ordering::Acquire);
        let timeout = Duration::from_millis(self.config.timeout_ms.into());
        Ok(CommandRequest {
            host: host.clone(),
            port: *port,
            path: path.clone(),
            user_agent: concat!("godwit/", env!("CARGO_PKG_VERSION")).to_owned(),
            credentials,
            tls: self.config.is_tls.then(|| ClientTls {
                authorities: PathBuf::from(trust_anchor),
                identity: identity.as_ref().map(|(file, key)| (file.into(), key.into())),
                checks_name: true,
            }),
            body: body.to_owned(),
            timeout: if is_ending { timeout.min(LAST_TIMEOUT) } else { timeout },
            answer_max: ANSWER_MAX,
        })
    }

    /// Sends a batch once.
    ///
    /// # Errors
    ///
    /// The reason why the HTTP server has not taken it.
    pub(super) fn send(&self, body: &str) -> Result<(), String> {
        match send_command(&self.request(body)?) {
            Ok(response) if (200..300).contains(&response.status) => Ok(()),
            Ok(response) => Err(format!("status {} {}", response.status, response.reason)),
            Err(CommandFailure::Timeout) => Err("no answer in time".to_owned()),
            Err(CommandFailure::Failed(why)) => Err(why),
        }
    }

    /// Sends a batch until the HTTP server has taken it, or this server ends.
    fn deliver(&mut self, body: &str, count: usize) {
        let mut wait = WAIT_MIN;
        loop {
            let is_last = self.is_ending.load(Ordering::Acquire);
            if is_last && self.has_failed {
                tracing::warn!(
                    target: "events",
                    id = "EVENTS_WEBHOOK_GIVEN_UP",
                    "{count} events did not reach the webhook {}", self.config.url
                );
                return;
            }
            let sent = self.send(body);
            self.report(&sent);
            if sent.is_ok() {
                return;
            }
            let mut waited = Duration::ZERO;
            while waited < wait && !self.is_ending.load(Ordering::Acquire) {
                sleep(LOOK);
                waited += LOOK;
            }
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    /// Logs the first failure in a row, and the first success after it.
    pub(super) fn report(&mut self, sent: &Result<(), String>) {
        match sent {
            Err(why) if !self.has_failed => tracing::warn!(
                target: "events",
                id = "EVENTS_WEBHOOK_FAILED",
                "the webhook {} does not take events: {why}; trying again", self.config.url
            ),
            Ok(()) if self.has_failed => tracing::info!(
                target: "events",
                id = "EVENTS_WEBHOOK_RECOVERED",
                "the webhook {} takes events again", self.config.url
            ),
            _ => {}
        }
        self.has_failed = sent.is_err();
    }
}

/// Returns the body of a request with `events`, which follow `dropped` lost ones.
fn batch<P: DaemonFamily>(instance: &str, events: &[LeaseEvent<P>], dropped: u64) -> String {
    let number = |event: Option<&LeaseEvent<P>>| event.map_or(0, |event| event.number);
    let (first, last) = (number(events.first()), number(events.last()));
    let mut body = format!(
        r#"{{"id":"{instance}-{first}-{last}","family":"{}","dropped":{dropped},"events":["#,
        P::NAME
    );
    for (index, event) in events.iter().enumerate() {
        body.push_str(if index > 0 { "," } else { "" });
        write_event(&mut body, instance, event);
    }
    body.push_str("]}");
    body
}

impl<P: DaemonFamily> EventListener<P> for WebhookListener {
    fn name(&self) -> &'static str {
        self.name
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(self.config.backlog_max as usize)
    }

    fn begin(&mut self, context: &FeedFacts) {
        self.instance.clone_from(&context.instance);
        self.last_number = context.last_number;
        self.is_ending = Arc::clone(&context.is_ending);
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        // Answers that change nothing are recorded for other listeners.
        let changes: Vec<_> =
            events.iter().filter(|event| event.change.is_change()).cloned().collect();
        let dropped = first.number.saturating_sub(self.last_number + 1);
        self.last_number = last.number;
        if changes.is_empty() && dropped == 0 {
            return;
        }
        let body = batch(&self.instance, &changes, dropped);
        self.deliver(&body, changes.len());
    }
}
