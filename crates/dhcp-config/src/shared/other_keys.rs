//! Keys that Kea knows and this version does not act on: accepted when they ask for nothing,
//! refused by name when the operator counts on them, and never taken for typing errors.

use crate::fields::Fields;
use crate::json::{Kind, Value};
use crate::source::Findings;

/// What is done about a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Accepted: it steers Kea's own machinery, or counts only with a key that is refused.
    Accept,
    /// Accepted, with a warning unless it has this value.
    Ignore(Idle),
    /// An error unless it has this value.
    Refuse(Idle),
}

/// A value that asks for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Idle {
    /// An empty list or string, or a map of such.
    Empty,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(&'static str),
}

impl Idle {
    fn is(self, value: &Value) -> bool {
        match (self, &value.kind) {
            // The lexer has reported it.
            (_, Kind::Unusable) => true,
            (Self::Empty, Kind::List(items)) => items.is_empty(),
            (Self::Empty, Kind::Map(entries)) => entries.iter().all(|e| Self::Empty.is(&e.value)),
            (Self::Empty, Kind::Text(text)) => text.is_empty(),
            (Self::Bool(idle), Kind::Bool(value)) => idle == *value,
            (Self::Integer(idle), Kind::Integer(value)) => idle == *value,
            (Self::Float(idle), Kind::Float(value)) => idle == *value,
            (Self::Float(idle), Kind::Integer(value)) => idle == *value as f64,
            (Self::Text(idle), Kind::Text(text)) => idle.as_bytes() == text,
            _ => false,
        }
    }
}

use Idle::{Bool, Empty, Float, Integer, Text};
use Rule::{Accept, Ignore, Refuse};

/// Keys and what is done about each.
pub(crate) type Keys = &'static [(&'static str, Rule)];

/// Dynamic DNS and host names: global, network, subnet and pool. Without updates, which `dhcp-ddns`
/// refuses, most of them change nothing; those that shape the name sent back to the client do.
pub(crate) const NAMES: Keys = &[
    ("ddns-conflict-resolution-mode", Accept),
    ("ddns-generated-prefix", Accept),
    ("ddns-override-client-update", Refuse(Bool(false))),
    ("ddns-override-no-update", Refuse(Bool(false))),
    ("ddns-qualifying-suffix", Refuse(Empty)),
    ("ddns-replace-client-name", Refuse(Text("never"))),
    ("ddns-send-updates", Accept),
    ("ddns-ttl", Accept),
    ("ddns-ttl-max", Accept),
    ("ddns-ttl-min", Accept),
    ("ddns-ttl-percent", Accept),
    ("ddns-update-on-renew", Accept),
    ("ddns-use-conflict-resolution", Accept),
    ("hostname-char-replacement", Ignore(Empty)),
    ("hostname-char-set", Ignore(Text("[^A-Za-z0-9.-]"))),
];

/// Global, network and subnet.
pub(crate) const NETWORKS: Keys = &[
    ("adaptive-lease-time-threshold", Refuse(Float(1.0))),
    ("allocator", Refuse(Text("iterative"))),
    ("reservation-mode", Refuse(Text("all"))),
    ("reservations-global", Refuse(Bool(false))),
    ("reservations-in-subnet", Refuse(Bool(true))),
    ("reservations-out-of-pool", Refuse(Bool(false))),
    ("store-extended-info", Refuse(Bool(false))),
];

/// Guards by client class: network, subnet and pool.
pub(crate) const CLASSES: Keys = &[
    ("client-class", Refuse(Empty)),
    ("client-classes", Refuse(Empty)),
    ("evaluate-additional-classes", Refuse(Empty)),
    ("require-client-classes", Refuse(Empty)),
];

/// Global.
pub(crate) const GLOBAL_ONLY: Keys = &[
    ("client-classes", Refuse(Empty)),
    ("config-control", Refuse(Empty)),
    ("dhcp-queue-control", Accept),
    ("dhcp4o6-port", Refuse(Integer(0))),
    ("early-global-reservations-lookup", Refuse(Bool(false))),
    ("hooks-libraries", Refuse(Empty)),
    ("host-reservation-identifiers", Accept),
    ("hosts-database", Refuse(Empty)),
    ("hosts-databases", Refuse(Empty)),
    ("option-def", Refuse(Empty)),
    ("parked-packet-limit", Accept),
    ("reservations-lookup-first", Refuse(Bool(false))),
    ("server-tag", Accept),
    ("statistic-default-sample-age", Accept),
    ("statistic-default-sample-count", Accept),
];

/// The other keys of a pool.
pub(crate) const POOL: &[Keys] = &[NAMES, CLASSES];

/// Judges every key that the reader of a scope has not asked for. `elsewhere` has keys that are
/// right in another place, and where.
pub(crate) fn finish(
    fields: Fields<'_>,
    tables: &[Keys],
    elsewhere: &[(&str, &str)],
    findings: &mut Findings,
) {
    let known = || tables.iter().copied().flatten();
    for entry in fields.rest() {
        let key = entry.key.as_str();
        let Some((_, rule)) = known().find(|(name, _)| *name == key) else {
            let hint = elsewhere.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint);
            fields.unknown(entry, known().map(|(name, _)| *name), hint, findings);
            continue;
        };
        match *rule {
            Ignore(idle) if !idle.is(&entry.value) => {
                findings.warn(entry.at, format!("`{key}` has no effect in this version of godwit"));
            }
            Refuse(idle) if !idle.is(&entry.value) => {
                let message = format!("`{key}` is not supported by this version of godwit");
                findings.error(entry.at, message);
            }
            Accept | Ignore(_) | Refuse(_) => {}
        }
    }
}
