//! `user-context.godwit`: settings that Kea does not have.

use super::family::Family;
use super::types::{Durability, GodwitSettings};
use crate::fields::Fields;
use crate::json::{Kind, Value};
use crate::source::Findings;

/// Most shards: more than any machine has processors for.
const MAX_SHARDS: i64 = 1024;
/// Longest interval or hold, an hour.
const MAX_INTERVAL_MS: i64 = 3_600_000;

/// Reads the settings from the global `user-context`, if there is one.
pub(crate) fn read(context: Option<&Value>, findings: &mut Findings) -> GodwitSettings {
    let mut settings = GodwitSettings::default();
    let Some(value) = context.and_then(inside) else { return settings };
    let Some(mut fields) = Fields::of(value, "`user-context.godwit`", findings) else {
        return settings;
    };
    let durabilities = [
        ("none", Durability::None),
        ("interval", Durability::Interval),
        ("always", Durability::Always),
    ];
    if let Some(durability) = fields.word("durability", &durabilities, false, findings) {
        settings.durability = durability;
    }
    if let Some(placed) = fields.integer("flush-interval-ms", 1..=MAX_INTERVAL_MS, findings) {
        settings.flush_interval_ms = placed.value as u32;
        if settings.durability != Durability::Interval {
            let help = "it counts with `\"durability\": \"interval\"` only";
            findings.warn_help(placed.at, "`flush-interval-ms` has no effect here", help);
        }
    }
    if let Some(placed) = fields.integer("shards", 1..=MAX_SHARDS, findings) {
        settings.shards = placed.value as u16;
    }
    if let Some(placed) = fields.integer("hold-time-ms", 1..=MAX_INTERVAL_MS, findings) {
        settings.hold_time_ms = placed.value as u32;
    }
    if let Some(placed) = fields.boolean("segmentation", findings) {
        settings.segmentation = placed.value;
    }
    fields.octets("comment", findings);
    fields.finish(findings);
    settings
}

/// Says that `godwit` in the context of an inner scope is not read.
pub(crate) fn refuse_inside<F: Family>(context: Option<&Value>, findings: &mut Findings) {
    if let Some(value) = context.and_then(inside) {
        let help = format!("put it into the `user-context` of `{}` itself", F::TOP);
        findings.warn_help(value.at, "`godwit` is read from the global scope only", help);
    }
}

/// The value of `godwit` in a context.
fn inside(context: &Value) -> Option<&Value> {
    match &context.kind {
        Kind::Map(entries) => entries.iter().find(|e| *e.key == *"godwit").map(|e| &e.value),
        _ => None,
    }
}
