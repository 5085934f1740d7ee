//! Arguments of control commands about reservations, and identifiers of reservations.

use core::net::IpAddr;

use serde_json::Value;

use crate::answer::CommandAnswer;
use crate::arguments::{ArgumentFields, ReceivedCommand, not_an_address};
use crate::host_databases::{ClientIdentifier, HostCriterion};
use crate::text::octets_from_hex;

/// Location of the reservations that a command means (`operation-target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReservationTarget {
    /// True if the command means the reservations of the configuration.
    pub(super) has_memory: bool,
    /// True if the command means the reservations of databases.
    pub(super) has_databases: bool,
}

impl ReservationTarget {
    /// Reservations of the configuration alone.
    pub(super) const MEMORY: Self = Self { has_memory: true, has_databases: false };
    /// Reservations of databases alone.
    pub(super) const DATABASE: Self = Self { has_memory: false, has_databases: true };
    /// All reservations.
    pub(super) const ALL: Self = Self { has_memory: true, has_databases: true };
}

/// Returns the location that `operation-target` names; `default` if that key is missing or says
/// `default`.
pub(super) fn target(
    fields: &ArgumentFields<'_>,
    default: ReservationTarget,
) -> Result<ReservationTarget, CommandAnswer> {
    match fields.optional_text("operation-target")? {
        None | Some("default") => Ok(default),
        Some("memory") => Ok(ReservationTarget::MEMORY),
        Some("database") => Ok(ReservationTarget::DATABASE),
        Some("all") => Ok(ReservationTarget::ALL),
        Some(other) => Err(CommandAnswer::error(format!(
            "The 'operation-target' value ({other}) is not within expected set: (memory, \
             database, all, default)"
        ))),
    }
}

impl ClientIdentifier {
    /// Returns the identifier of the client that a reservation is for.
    pub(super) fn from_reservation(reservation: &Value) -> Option<Self> {
        Self::KINDS.into_iter().find_map(|kind| {
            let text = reservation.get(kind)?.as_str()?;
            Some(Self { kind, octets: octets(text)? })
        })
    }
}

/// Reads the bytes of an identifier from hexadecimal digits, or from a text in inner quotes;
/// returns `None` for other text.
fn octets(text: &str) -> Option<Vec<u8>> {
    let trimmed = text.trim();
    match trimmed.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(quoted) => Some(quoted.as_bytes().to_vec()),
        None => octets_from_hex(trimmed).ok(),
    }
}

impl HostCriterion {
    /// Returns true if `reservation`, of the subnet `subnet_id`, fulfils the criterion.
    pub(super) fn is_fulfilled_by(&self, reservation: &Value, subnet_id: u32) -> bool {
        match self {
            Self::Subnet(id) => *id == subnet_id,
            Self::Hostname(name) => {
                reservation["hostname"].as_str().unwrap_or_default().to_lowercase() == *name
            }
            Self::Identifier(identifier) => {
                ClientIdentifier::from_reservation(reservation).as_ref() == Some(identifier)
            }
            Self::Address(address) => has_address(reservation, *address),
        }
    }
}

/// Returns true if `reservation` reserves `address`, as an address or as the first one of a prefix.
pub(super) fn has_address(reservation: &Value, address: IpAddr) -> bool {
    let is_it = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        let text = text.split_once('/').map_or(text, |(prefix, _)| prefix);
        text.parse() == Ok(address)
    };
    let in_list = |key: &str| {
        reservation.get(key).and_then(Value::as_array).is_some_and(|list| list.iter().any(is_it))
    };
    reservation.get("ip-address").is_some_and(is_it)
        || in_list("ip-addresses")
        || in_list("prefixes")
}

/// Returns the arguments of a command about reservations; an error if they are no map.
pub(super) fn parameters<'a>(
    request: &ReceivedCommand<'a>,
) -> Result<ArgumentFields<'a>, CommandAnswer> {
    let fields = request.arguments.and_then(Value::as_object).map(ArgumentFields);
    fields.ok_or_else(|| CommandAnswer::error("Parameters missing or are not a map."))
}

/// Returns the argument `subnet-id` of a command, if it exists.
pub(super) fn subnet_id(fields: &ArgumentFields<'_>) -> Result<Option<u32>, CommandAnswer> {
    fields.optional_number("subnet-id")
}

/// Returns the key of the reservation that `reservation-get` or `reservation-del` names, with the
/// number of its subnet.
pub(super) fn read_selector(
    fields: &ArgumentFields<'_>,
) -> Result<(u32, HostCriterion), CommandAnswer> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let has_any =
        ["ip-address", "identifier-type", "identifier"].iter().any(|key| fields.get(key).is_some());
    let subnet_id = if has_any { subnet_id(fields)? } else { Some(fields.number("subnet-id")?) };
    if let Some(value) = fields.get("ip-address") {
        let text =
            value.as_str().ok_or_else(|| CommandAnswer::error("'ip-address' is not a string."))?;
        let address = text.parse().map_err(|_| CommandAnswer::error(not_an_address(text)))?;
        let missing = || {
            CommandAnswer::error(format!(
                "missing parameter 'subnet-id', use 'reservation-get-by-address' with \
                 'ip-address' set to \"{text}\" to get the list of reservations with this address"
            ))
        };
        return Ok((subnet_id.ok_or_else(missing)?, HostCriterion::Address(address)));
    }
    for key in ["identifier-type", "identifier"] {
        if text(key).is_none() {
            return Err(CommandAnswer::error(format!(
                "No 'ip-address' provided and '{key}' is either missing or not a string."
            )));
        }
    }
    let identifier = identifier(fields)?;
    let missing = || {
        CommandAnswer::error(format!(
            "missing parameter 'subnet-id', use 'reservation-get-by-id' with 'identifier-type' \
             set to \"{}\" and 'identifier' to \"{}\" to get the list of reservations with this \
             identifier",
            identifier.kind,
            text("identifier").unwrap_or_default()
        ))
    };
    Ok((subnet_id.ok_or_else(missing)?, HostCriterion::Identifier(identifier.clone())))
}

/// Returns the client identifier in the arguments `identifier-type` and `identifier`.
pub(super) fn identifier(fields: &ArgumentFields<'_>) -> Result<ClientIdentifier, CommandAnswer> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let kind = text("identifier-type").ok_or_else(|| {
        CommandAnswer::error("'identifier-type' is either missing or not a string.")
    })?;
    let value = text("identifier")
        .ok_or_else(|| CommandAnswer::error("'identifier' is either missing or not a string."))?;
    let octets =
        octets(value).ok_or_else(|| CommandAnswer::error("Unable to parse 'identifier' value."))?;
    if octets.is_empty() {
        return Err(CommandAnswer::error("Unable to query for empty 'identifier'."));
    }
    let kind = ClientIdentifier::KINDS
        .into_iter()
        .find(|&known| known == kind)
        .ok_or_else(|| CommandAnswer::error("Value of 'identifier-type' was not recognized."))?;
    Ok(ClientIdentifier { kind, octets })
}
