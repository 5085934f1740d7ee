//! Control commands that change reservations.

use core::net::IpAddr;

use serde_json::{Map, Value};

use super::get::check_subnet;
use super::selector::{ReservationTarget, has_address, parameters, read_selector, target};
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ArgumentFields, ReceivedCommand, integer};
use crate::backend::{ApplyFailure, CommandBackend, HostChange};
use crate::configuration::root;
use crate::document::{RESERVATIONS, has_id, items, subnets};
use crate::family::CommandFamily;
use crate::host_databases::ClientIdentifier;
use crate::ip_version::IpVersion;
use crate::text::colon_hex;
use crate::text::type_name;

/// Reservation that a command adds or changes, and its subnet.
struct CommandReservation {
    host: Map<String, Value>,
    /// Number of the reservation's subnet; 0 for a global reservation, `None` if the command has no
    /// `subnet-id`.
    subnet_id: Option<u32>,
}

impl CommandReservation {
    fn read(reservation: &Map<String, Value>) -> Result<Self, CommandAnswer> {
        let mut host = reservation.clone();
        let subnet_id = host.remove("subnet-id").as_ref().map(subnet_number).transpose()?;
        Ok(Self { host, subnet_id })
    }

    /// Returns the IP addresses that the reservation reserves.
    fn addresses(&self) -> Vec<IpAddr> {
        let one = self.host.get("ip-address").into_iter();
        let list = self.host.get("ip-addresses").and_then(Value::as_array).into_iter().flatten();
        one.chain(list).filter_map(|text| text.as_str()?.parse().ok()).collect()
    }

    /// Returns the number of the reservation's subnet; a reservation without addresses needs no
    /// subnet.
    fn resolve_subnet<F: CommandFamily>(
        &self,
        backend: &dyn CommandBackend<Family = F>,
    ) -> Result<u32, CommandAnswer> {
        if let Some(id) = self.subnet_id {
            check_subnet(backend, id)?;
            return self.check_addresses(backend, id).map(|()| id);
        }
        let addresses = self.addresses();
        let has_prefixes = self.host.get("prefixes").and_then(Value::as_array);
        let (Some(&first), version) = (addresses.first(), F::VERSION) else {
            return if has_prefixes.is_none_or(|prefixes| prefixes.is_empty()) {
                Ok(0)
            } else {
                Err(CommandAnswer::error(
                    "Mandatory 'subnet-id' parameter missing. Prefixes are not attached to \
                 subnets so no hint is available.",
                ))
            };
        };
        let subnet = backend
            .subnet_of(first)
            .filter(|subnet| addresses.iter().all(|&address| subnet.contains(address)));
        let hint = match (subnet, version) {
            (Some(subnet), IpVersion::V4) => format!(
                "The address '{first}' belongs to subnet '{}' id {}.",
                subnet.text(),
                subnet.id
            ),
            (None, IpVersion::V4) => {
                format!("The address '{first}' belongs to no configured subnet.")
            }
            (Some(subnet), IpVersion::V6) => format!(
                "Reserved IPv6 addresses belong to subnet '{}' id {}.",
                subnet.text(),
                subnet.id
            ),
            (None, IpVersion::V6) => {
                "Reserved IPv6 addresses do not belong to a common configured subnet.".to_owned()
            }
        };
        Err(CommandAnswer::error(format!("Mandatory 'subnet-id' parameter missing. {hint}")))
    }

    fn check_addresses<F: CommandFamily>(
        &self,
        backend: &dyn CommandBackend<Family = F>,
        id: u32,
    ) -> Result<(), CommandAnswer> {
        if id == 0 {
            return Ok(());
        }
        let Some(subnet) = backend.subnet(id) else { return Ok(()) };
        let outside = self.addresses().into_iter().find(|&address| !subnet.contains(address));
        match outside {
            None => Ok(()),
            Some(address) => Err(CommandAnswer::error(format!(
                "specified reservation '{address}' is not matching the {} subnet prefix '{}'",
                F::VERSION.name(),
                subnet.text()
            ))),
        }
    }
}

/// Returns the number of a subnet in a reservation.
fn subnet_number(value: &Value) -> Result<u32, CommandAnswer> {
    let number = integer(value)
        .ok_or_else(|| CommandAnswer::error("'subnet-id' parameter is not integer."))?;
    let id = u32::try_from(number).ok().filter(|id| *id < u32::MAX);
    id.ok_or_else(|| {
        CommandAnswer::error(format!(
            "subnet-id: {number} is invalid, must be between 0 and {} (inclusive).",
            u32::MAX - 1
        ))
    })
}

/// Returns the reservations of a subnet, or the global ones for 0; `None` if there is no such
/// subnet.
fn hosts_of<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
    subnet_id: u32,
) -> Option<&[Value]> {
    let root = root(backend);
    if subnet_id == 0 {
        return Some(items(root, RESERVATIONS));
    }
    let subnets = subnets(root, F::VERSION);
    let (subnet, _) = subnets.into_iter().find(|(subnet, _)| has_id(subnet, subnet_id))?;
    Some(items(subnet, RESERVATIONS))
}

pub(super) fn add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = request
        .optional_map()?
        .ok_or_else(|| CommandAnswer::error("no parameters specified for the command"))?;
    let target = target(&fields, ReservationTarget::DATABASE)?;
    let reservation = match fields.get("reservation") {
        Some(Value::Object(reservation)) => reservation,
        Some(_) => {
            return Err(CommandAnswer::error("invalid type specified for parameter 'reservation'"));
        }
        None => return Err(CommandAnswer::error("reservation must be specified")),
    };
    let reservation = CommandReservation::read(reservation)?;
    let lacks_database = !target.has_memory && backend.host_databases().is_none();
    let no_database =
        || CommandAnswer::error("Host database not available, cannot add host.".to_owned());
    if reservation.subnet_id.is_some() && lacks_database {
        return Err(no_database());
    }
    let subnet_id = reservation.resolve_subnet(backend)?;
    if lacks_database {
        return Err(no_database());
    }
    let note = match reservation.subnet_id {
        Some(_) => "",
        None => " subnet-id not specified, assumed global (subnet-id 0).",
    };
    if target.has_memory {
        add_to_configuration(backend, subnet_id, &reservation)?;
    }
    if target.has_databases
        && let Some(databases) = backend.host_databases()
    {
        let host = Value::Object(reservation.host);
        for at in 0..databases.count() {
            databases.add(at, subnet_id, &host).map_err(ApplyFailure::into_answer)?;
        }
    }
    Ok(CommandAnswer::success(format!("Host added.{note}")))
}

/// Adds `reservation` for the subnet `subnet_id` to the configuration.
fn add_to_configuration<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    subnet_id: u32,
    reservation: &CommandReservation,
) -> Result<(), CommandAnswer> {
    let version = F::VERSION;
    let host = Value::Object(reservation.host.clone());
    let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
    let identifier = ClientIdentifier::from_reservation(&host);
    if let Some(identifier) = identifier.filter(|identifier| {
        let identifiers = hosts.iter().map(ClientIdentifier::from_reservation);
        identifiers.flatten().any(|other| other == *identifier)
    }) {
        return Err(duplicate(&identifier, version, subnet_id));
    }
    // Without the setting several hosts may have an address, also when the configuration is read.
    let are_unique = root(backend)["ip-reservations-unique"] != Value::Bool(false);
    let is_reserved =
        |address: &IpAddr| are_unique && hosts.iter().any(|host| has_address(host, *address));
    if let Some(address) = reservation.addresses().into_iter().find(is_reserved) {
        return Err(CommandAnswer::error(format!(
            "failed to add address reservation for host to the {} subnet id '{subnet_id}' for \
             address/prefix {address}: There's already reservation for this address/prefix",
            version.name()
        )));
    }
    change(backend, subnet_id, HostChange::Add(host))
}

fn change<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    subnet_id: u32,
    change: HostChange<Value>,
) -> Result<(), CommandAnswer> {
    backend.change_host(subnet_id, change).map_err(ApplyFailure::into_answer)
}

fn duplicate(identifier: &ClientIdentifier, version: IpVersion, subnet_id: u32) -> CommandAnswer {
    let octets = colon_hex(&identifier.octets);
    let kind = match identifier.kind {
        "hw-address" => "HW address",
        "duid" => "DUID",
        kind => {
            return CommandAnswer::error(format!(
                "failed to add duplicate {} host using identifier: {kind}={octets}",
                version.name()
            ));
        }
    };
    CommandAnswer::error(format!(
        "failed to add new host using the {kind} '{octets}' to the {} subnet id '{subnet_id}' as \
         this host has already been added",
        version.name()
    ))
}

pub(super) fn update<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = match request.arguments {
        None => {
            return Err(CommandAnswer::error(
                "invalid command: does not contain mandatory 'arguments'",
            ));
        }
        Some(Value::Object(map)) => ArgumentFields(map),
        Some(other) => {
            return Err(CommandAnswer::error(format!(
                "invalid command: expected 'arguments' to be a map, got {} instead",
                type_name(other)
            )));
        }
    };
    let reservation = match fields.get("reservation") {
        None => {
            return Err(CommandAnswer::error(
                "invalid command: expected 'reservation' as the sole parameter inside the \
                 'arguments' map, didn't get it instead",
            ));
        }
        Some(Value::Object(reservation)) => reservation,
        Some(other) => {
            return Err(CommandAnswer::error(format!(
                "invalid command: expected 'reservation' to be a map, got {} instead",
                type_name(other)
            )));
        }
    };
    let target = target(&fields, ReservationTarget::DATABASE)?;
    let reservation = CommandReservation::read(reservation)?;
    if reservation.subnet_id.is_none() {
        return Err(CommandAnswer::error(
            "Mandatory 'subnet-id' parameter missing. Use `reservation-get-by-id' or \
             'reservation-get-by-address' to get the list of reservations with given identifier \
             or address.",
        ));
    }
    if !target.has_memory && backend.host_databases().is_none() {
        return Err(CommandAnswer::error("host database not available, cannot update host"));
    }
    let subnet_id = reservation.resolve_subnet(backend)?;
    let host = Value::Object(reservation.host);
    let not_found = || CommandAnswer::error("Host not updated (not found).");
    if target.has_memory {
        let identifier = ClientIdentifier::from_reservation(&host);
        let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
        let mut identifiers = hosts.iter().map(ClientIdentifier::from_reservation);
        let at = identifiers.position(|other| other == identifier).ok_or_else(not_found)?;
        change(backend, subnet_id, HostChange::Replace(at, host.clone()))?;
    }
    if target.has_databases
        && let Some(databases) = backend.host_databases()
    {
        for at in 0..databases.count() {
            let updated = databases.update(at, subnet_id, &host);
            if !updated.map_err(ApplyFailure::into_answer)? {
                return Err(not_found());
            }
        }
    }
    Ok(CommandAnswer::success("Host updated."))
}

/// Deletes a reservation from every source of the target that has it.
pub(super) fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let (subnet_id, criterion) = read_selector(&fields)?;
    let target = target(&fields, ReservationTarget::DATABASE)?;
    let mut has_deleted = false;
    if target.has_memory {
        let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
        let at = hosts.iter().position(|host| criterion.is_fulfilled_by(host, subnet_id));
        if let Some(at) = at {
            change(backend, subnet_id, HostChange::Remove(at))?;
            has_deleted = true;
        }
    }
    if target.has_databases
        && let Some(databases) = backend.host_databases()
    {
        for at in 0..databases.count() {
            let deleted = databases.delete(at, subnet_id, &criterion);
            has_deleted |= deleted.map_err(ApplyFailure::into_answer)?;
        }
    } else if !target.has_memory {
        return Err(CommandAnswer::error(
            "Unable to delete a host because there is no hosts-databases configured.",
        ));
    }
    Ok(if has_deleted {
        CommandAnswer::success("Host deleted.")
    } else {
        CommandAnswer::empty("Host not deleted (not found).")
    })
}
