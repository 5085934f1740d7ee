//! Lease events as JSON text, for subscribers and webhooks.

use std::fmt::Write as _;

use base::CivilTime;
use base::time::US_PER_S;
use dhcp_events::LeaseEvent;
use dhcp_lease::Lease;

use crate::service::DaemonFamily;

/// Form in which a subscriber gets events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventFormat {
    /// Server-sent events (WHATWG HTML, "Server-sent events"), `text/event-stream`.
    ServerSent,
    /// One JSON map a line, `application/x-ndjson`.
    JsonLines,
}

impl EventFormat {
    /// Returns the text that keeps a connection without events in use.
    pub(crate) const fn heartbeat(self) -> &'static str {
        match self {
            Self::ServerSent => ": heartbeat\n\n",
            Self::JsonLines => "\n",
        }
    }

    /// Appends to `text` the entry `json`, a JSON map on one line, of the kind `kind`. `id` is the
    /// position from which a subscriber can resume: `None` leaves the last one, an empty one clears
    /// it.
    pub(super) fn append(self, text: &mut String, kind: &str, id: Option<&str>, json: &str) {
        match self {
            Self::JsonLines => {
                text.push_str(json);
                text.push('\n');
            }
            Self::ServerSent => {
                if let Some(id) = id {
                    let _ = writeln!(text, "id: {id}");
                }
                let _ = write!(text, "event: {kind}\ndata: {json}\n\n");
            }
        }
    }
}

/// Appends the event to `text` as a JSON map on one line. `instance` is the instance of its number.
pub(super) fn write_event<P: DaemonFamily>(
    text: &mut String,
    instance: &str,
    event: &LeaseEvent<P>,
) {
    let change = &event.change;
    let lease = change.after.as_ref().or(change.before.as_ref());
    let subnet_id = lease.map_or(0, |lease| lease.subnet_id);
    let exchange = change.exchange.as_ref().and_then(|exchange| exchange.record());
    let message = exchange.and_then(|exchange| P::message_name(&exchange.message));
    let _ = write!(
        text,
        r#"{{"id":"{instance}-{number}","number":{number},"kind":"{}","time":"{}","family":"{}","#,
        change.kind,
        Rfc3339(event.changed_us()),
        P::NAME,
        number = event.number,
    );
    let _ = write!(text, r#""subnet-id":{subnet_id},"address":"{}","#, change.address);
    if let Some(message) = message {
        let _ = write!(text, r#""message":"{message}","#);
    }
    let json = |lease: &Option<Lease<P>>| lease.as_ref().map(P::to_json).unwrap_or_default();
    let _ = write!(text, r#""before":{},"after":{}}}"#, json(&change.before), json(&change.after));
}

/// Returns the entry of a snapshot for `lease`, as a JSON map on one line.
pub(super) fn snapshot_entry<P: DaemonFamily>(lease: &Lease<P>) -> String {
    let (family, subnet_id, json) = (P::NAME, lease.subnet_id, P::to_json(lease));
    format!(r#"{{"kind":"lease","family":"{family}","subnet-id":{subnet_id},"lease":{json}}}"#)
}

/// Wall-clock time in microseconds since 1970, displayed as `2026-11-28T09:05:00.000000Z` (RFC
/// 3339).
struct Rfc3339(u64);

impl std::fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unix_s = i64::try_from(self.0 / US_PER_S).unwrap_or(i64::MAX);
        let CivilTime { year, month, day, hour, minute, second } = CivilTime::from_unix_s(unix_s);
        let us = self.0 % US_PER_S;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_rfc_3339() {
        assert_eq!(Rfc3339(1_000_000_000_000_042).to_string(), "2001-09-09T01:46:40.000042Z");
    }

    #[test]
    fn an_entry_has_the_form_of_its_format() {
        let mut text = String::new();
        EventFormat::ServerSent.append(&mut text, "renewed", Some("a-1"), "{}");
        EventFormat::ServerSent.append(&mut text, "lease", None, "{}");
        assert_eq!(text, "id: a-1\nevent: renewed\ndata: {}\n\nevent: lease\ndata: {}\n\n");
        text.clear();
        EventFormat::JsonLines.append(&mut text, "renewed", Some("a-1"), "{}");
        assert_eq!(text, "{}\n");
    }
}
