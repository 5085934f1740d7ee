//! What relay agents said of clients, as leases keep it below `ISC` in their user contexts: bringing
//! what older versions of Kea wrote into the present form, and dropping what is no such thing
//! (`sanity-checks.extended-info-checks`; Kea reference §5.10, §5.11).
//!
//! What is dropped takes its surroundings with it as far as nothing else is in them.

mod v4;
mod v6;

use dhcp_config::ExtendedInfoChecks;
use serde_json::{Map, Value};

use crate::family::{Commanded, IpVersion};
use crate::text::{kea_json, octets_from_hex};

/// What came of a look at a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtendedInfo {
    /// It stays as it is.
    Kept,
    /// Something empty or superfluous was taken away.
    Tidied,
    /// It was in an older form and is in the present one.
    Upgraded,
    /// It was dropped; why, as a phrase.
    Dropped(String),
}

/// Checks what `lease` keeps at `level`, and changes it accordingly. A user context that is no JSON
/// stays as it is.
pub fn check_extended_info<F: Commanded>(
    lease: &mut F::Lease,
    level: ExtendedInfoChecks,
) -> ExtendedInfo {
    let context = F::user_context(lease);
    if level == ExtendedInfoChecks::None || context.is_empty() {
        return ExtendedInfo::Kept;
    }
    let Ok(value) = serde_json::from_str(context) else { return ExtendedInfo::Kept };
    let (left, outcome) = checked(F::VERSION, value, level);
    if outcome != ExtendedInfo::Kept {
        let is_empty = left.is_empty();
        *context = if is_empty { "".into() } else { kea_json(&Value::Object(left)).into() };
    }
    outcome
}

/// What is left of a user context.
fn checked(
    version: IpVersion,
    context: Value,
    level: ExtendedInfoChecks,
) -> (Map<String, Value>, ExtendedInfo) {
    let Value::Object(mut context) = context else {
        return (Map::new(), dropped("the user context is no map"));
    };
    if context.is_empty() {
        return (context, ExtendedInfo::Tidied);
    }
    let outcome = match context.remove("ISC") {
        None => ExtendedInfo::Kept,
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
        Some(_) => dropped("`ISC` is no map"),
    };
    (context, outcome)
}

fn dropped(why: impl Into<String>) -> ExtendedInfo {
    ExtendedInfo::Dropped(why.into())
}

/// The octets of the member `key`, when there is one.
fn octets(map: &Map<String, Value>, key: &str) -> Result<Option<Vec<u8>>, String> {
    match map.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => octets_from_hex(text).map(Some),
        Some(_) => Err(format!("`{key}` is no string")),
    }
}

/// The identifiers of a relay agent, which are not looked for when they are empty.
fn check_identifiers(map: &Map<String, Value>) -> Result<(), String> {
    for key in ["remote-id", "relay-id"] {
        match map.get(key).map(Value::as_str) {
            None => {}
            Some(None) => return Err(format!("`{key}` is no string")),
            Some(Some("")) => return Err(format!("`{key}` is empty")),
            Some(Some(text)) if !is_hexadecimal(text) => {
                return Err(format!("`{key}` is not hexadecimal"));
            }
            Some(Some(_)) => {}
        }
    }
    Ok(())
}

/// Whether `text` is pairs of hexadecimal digits.
fn is_hexadecimal(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Puts an identifier into `map` as Kea writes it, unless it is empty.
fn put_identifier(map: &mut Map<String, Value>, key: &str, octets: impl IntoIterator<Item = u8>) {
    let text: String = octets.into_iter().map(|octet| format!("{octet:02X}")).collect();
    if !text.is_empty() {
        map.insert(key.to_owned(), Value::from(text));
    }
}

/// That `map` has only these keys.
fn check_keys(map: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` is unknown")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
