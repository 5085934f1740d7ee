//! Keys that Kea knows and this version does not act on: accepted when they ask for nothing, refused
//! by name when the operator counts on them, and never taken for typing errors.

use crate::fields::Fields;
use crate::json::{Kind, Value};
use crate::source::Findings;

/// What is done about a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Accepted: it steers Kea's own machinery, or counts only with a key that is refused.
    Accept,
    /// Accepted, with a warning unless it has this value.
    Ignore(Idle),
    /// An error unless it has this value.
    Refuse(Idle),
}

/// A value that asks for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Idle {
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

type Keys = &'static [(&'static str, Rule)];

/// Dynamic DNS and host names: global, network, subnet and pool. Without updates, which `dhcp-ddns`
/// refuses, most of them change nothing; those that shape the name sent back to the client do.
const NAMES: Keys = &[
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
const NETWORKS: Keys = &[
    ("adaptive-lease-time-threshold", Refuse(Float(1.0))),
    ("allocator", Refuse(Text("iterative"))),
    ("reservation-mode", Refuse(Text("all"))),
    ("reservations-global", Refuse(Bool(false))),
    ("reservations-in-subnet", Refuse(Bool(true))),
    ("reservations-out-of-pool", Refuse(Bool(false))),
    ("store-extended-info", Refuse(Bool(false))),
];

/// Guards by client class: network, subnet and pool.
const CLASSES: Keys = &[
    ("client-class", Refuse(Empty)),
    ("client-classes", Refuse(Empty)),
    ("evaluate-additional-classes", Refuse(Empty)),
    ("require-client-classes", Refuse(Empty)),
];

const GLOBAL_ONLY: Keys = &[
    ("client-classes", Refuse(Empty)),
    ("config-control", Refuse(Empty)),
    ("dhcp-queue-control", Accept),
    ("dhcp4o6-port", Refuse(Integer(0))),
    ("early-global-reservations-lookup", Refuse(Bool(false))),
    ("hooks-libraries", Refuse(Empty)),
    ("host-reservation-identifiers", Accept),
    ("hosts-database", Refuse(Empty)),
    ("hosts-databases", Refuse(Empty)),
    ("ip-reservations-unique", Refuse(Bool(true))),
    ("option-def", Refuse(Empty)),
    ("parked-packet-limit", Accept),
    ("reservations", Refuse(Empty)),
    ("reservations-lookup-first", Refuse(Bool(false))),
    ("server-tag", Accept),
    ("stash-agent-options", Refuse(Bool(false))),
    ("statistic-default-sample-age", Accept),
    ("statistic-default-sample-count", Accept),
];

const SUBNET_ONLY: Keys = &[
    ("4o6-interface", Refuse(Empty)),
    ("4o6-interface-id", Refuse(Empty)),
    ("4o6-subnet", Refuse(Empty)),
    ("reservations", Refuse(Empty)),
];

/// The other keys of the global scope.
pub(super) const GLOBAL: &[Keys] = &[NAMES, NETWORKS, GLOBAL_ONLY];
/// The other keys of a shared network.
pub(super) const NETWORK: &[Keys] = &[NAMES, NETWORKS, CLASSES];
/// The other keys of a subnet.
pub(super) const SUBNET: &[Keys] = &[NAMES, NETWORKS, CLASSES, SUBNET_ONLY];
/// The other keys of a pool.
pub(super) const POOL: &[Keys] = &[NAMES, CLASSES];
/// The other keys of an option.
pub(super) const OPTION: &[Keys] = &[&[("client-classes", Refuse(Empty))]];

/// Keys that are right elsewhere, and where.
const ELSEWHERE: &[(&str, &str)] = &[
    ("Dhcp4", "there is one `Dhcp4`, at the top of the file"),
    ("id", "`id` belongs into a subnet"),
    ("lease-databases", "there is one `lease-database`"),
    ("pd-pools", "`pd-pools` is a key of DHCPv6"),
    ("pool", "`pool` belongs into an element of `pools`"),
    ("pools", "`pools` belongs into a subnet"),
    ("preferred-lifetime", "`preferred-lifetime` is a key of DHCPv6"),
    ("rapid-commit", "`rapid-commit` is a key of DHCPv6"),
    ("relay", "`relay` belongs into a subnet or a shared network"),
    ("subnet", "`subnet` belongs into an element of `subnet4`"),
    ("subnet6", "`subnet6` is a key of DHCPv6"),
];

/// Judges every key that the reader of a scope has not asked for.
pub(super) fn finish(fields: Fields<'_>, tables: &[Keys], findings: &mut Findings) {
    let known = || tables.iter().copied().flatten();
    for entry in fields.rest() {
        let key = entry.key.as_str();
        let Some((_, rule)) = known().find(|(name, _)| *name == key) else {
            let hint = ELSEWHERE.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint);
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
