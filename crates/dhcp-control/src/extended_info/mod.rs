//! Data of relay agents that leases keep below `ISC` in their user contexts: converts the form of
//! older Kea versions to the present one, and drops invalid data
//! (`sanity-checks.extended-info-checks`; Kea reference §5.10, §5.11).
//!
//! If a dropped value leaves an enclosing map empty, the map is dropped too.

mod upgrade;
mod v4;
mod v6;

pub(crate) use upgrade::commands;

use dhcp_config::ExtendedInfoChecks;
use dhcp_lease::Lease;
use serde_json::{Map, Value};

use crate::family::CommandFamily;
use crate::ip_version::IpVersion;
use crate::text::{kea_json, octets_from_hex};

/// Result of the check of the relay agents' data in one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtendedInfo {
    /// The lease was not changed.
    Unchanged,
    /// Empty or superfluous data was removed from the lease.
    Tidied,
    /// The relay agents' data in the lease was in an older form and was converted to the present
    /// one.
    Upgraded,
    /// The relay agents' data was removed from the lease, for this reason (a phrase).
    Dropped(String),
}

/// Checks the relay agents' data in `lease` at `level`, and changes the lease accordingly. A user
/// context that is not JSON stays as it is.
pub fn check_extended_info<F: CommandFamily>(
    lease: &mut Lease<F>,
    level: ExtendedInfoChecks,
) -> ExtendedInfo {
    let context = &mut lease.user_context;
    if level == ExtendedInfoChecks::None || context.is_empty() {
        return ExtendedInfo::Unchanged;
    }
    let Ok(value) = serde_json::from_str(context) else { return ExtendedInfo::Unchanged };
    let (left, outcome) = checked(F::VERSION, value, level);
    if outcome != ExtendedInfo::Unchanged {
        let is_empty = left.is_empty();
        *context = if is_empty { "".into() } else { kea_json(&Value::Object(left)).into() };
    }
    outcome
}

/// Returns the user context that remains after the check of its relay agents' data, and the result
/// of the check.
fn checked(
    version: IpVersion,
    context: Value,
    level: ExtendedInfoChecks,
) -> (Map<String, Value>, ExtendedInfo) {
    let Value::Object(mut context) = context else {
        return (Map::new(), dropped("the user context is not a map"));
    };
    if context.is_empty() {
        return (context, ExtendedInfo::Tidied);
    }
    let outcome = match context.remove("ISC") {
        None => ExtendedInfo::Unchanged,
        Some(Value::Object(isc)) if isc.is_empty() => ExtendedInfo::Tidied,
        Some(Value::Object(mut isc)) => {
            let outcome = match version {
                IpVersion::V4 => v4::check(&mut isc, level),
                IpVersion::V6 => v6::check(&mut isc, level),
            };
            if !isc.is_empty() {
                context.insert("ISC".to_owned(), Value::Object(isc));
            }
            outcome
        }
        Some(_) => dropped("`ISC` is not a map"),
    };
    (context, outcome)
}

fn dropped(why: impl Into<String>) -> ExtendedInfo {
    ExtendedInfo::Dropped(why.into())
}

/// Returns the bytes in the member `key` of `map`, if the member exists.
fn octets(map: &Map<String, Value>, key: &str) -> Result<Option<Vec<u8>>, String> {
    match map.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => octets_from_hex(text).map(Some),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}

/// Checks that the identifiers of a relay agent in `map` are valid; nothing looks up empty ones.
fn check_identifiers(map: &Map<String, Value>) -> Result<(), String> {
    for key in ["remote-id", "relay-id"] {
        match map.get(key).map(Value::as_str) {
            None => {}
            Some(None) => return Err(format!("`{key}` is not a string")),
            Some(Some("")) => return Err(format!("`{key}` is empty")),
            Some(Some(text)) if !is_hexadecimal(text) => {
                return Err(format!("`{key}` is not hexadecimal"));
            }
            Some(Some(_)) => {}
        }
    }
    Ok(())
}

/// Returns true if `text` consists of pairs of hexadecimal digits.
fn is_hexadecimal(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Adds an identifier of a relay agent to `map` as Kea writes it, unless it is empty.
fn put_identifier(map: &mut Map<String, Value>, key: &str, octets: impl IntoIterator<Item = u8>) {
    let text: String = octets.into_iter().map(|octet| format!("{octet:02X}")).collect();
    if !text.is_empty() {
        map.insert(key.to_owned(), Value::from(text));
    }
}

/// Checks that `map` has no keys other than `known`.
fn check_keys(map: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` is unknown")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
