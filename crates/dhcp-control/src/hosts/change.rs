//! Control commands that change reservations.

use core::net::IpAddr;

use serde_json::{Map, Value};

use super::get::check_subnet;
use super::selector::{
    Identifier, ReservationTarget, has_address, parameters, read_selector, target,
};
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ArgumentFields, ReceivedCommand, integer};
use crate::backend::{ApplyFailure, CommandBackend, HostChange};
use crate::configuration::root;
use crate::document::{RESERVATIONS, has_id, items, subnets};
use crate::family::CommandFamily;
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
        let subnet_id = ArgumentFields(reservation).optional_number("subnet-id")?;
        host.remove("subnet-id");
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
    let target = target(&fields, ReservationTarget::Database)?;
    let reservation = match fields.get("reservation") {
        Some(Value::Object(reservation)) => reservation,
        Some(_) => {
            return Err(CommandAnswer::error("invalid type specified for parameter 'reservation'"));
        }
        None => return Err(CommandAnswer::error("reservation must be specified")),
    };
    let reservation = CommandReservation::read(reservation)?;
    if reservation.subnet_id.is_some() && target == ReservationTarget::Database {
        return Err(no_database());
    }
    let subnet_id = reservation.resolve_subnet(backend)?;
    if target == ReservationTarget::Database {
        return Err(no_database());
    }
    let version = F::VERSION;
    let note = match reservation.subnet_id {
        Some(_) => "",
        None => " subnet-id not specified, assumed global (subnet-id 0).",
    };
    let addresses = reservation.addresses();
    let host = Value::Object(reservation.host);
    let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
    let identifier = Identifier::from_reservation(&host);
    if let Some(identifier) = identifier.filter(|identifier| {
        hosts.iter().any(|host| Identifier::from_reservation(host).as_ref() == Some(identifier))
    }) {
        return Err(duplicate(&identifier, version, subnet_id));
    }
    // Without the setting several hosts may have an address, also when the configuration is read.
    let are_unique = root(backend)["ip-reservations-unique"] != Value::Bool(false);
    let is_reserved =
        |address: &IpAddr| are_unique && hosts.iter().any(|host| has_address(host, *address));
    if let Some(address) = addresses.into_iter().find(is_reserved) {
        return Err(CommandAnswer::error(format!(
            "failed to add address reservation for host to the {} subnet id '{subnet_id}' for \
             address/prefix {address}: There's already reservation for this address/prefix",
            version.name()
        )));
    }
    change(backend, subnet_id, HostChange::Add(host))?;
    Ok(CommandAnswer::success(format!("Host added.{note}")))
}

fn change<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    subnet_id: u32,
    change: HostChange<Value>,
) -> Result<(), CommandAnswer> {
    backend.change_host(subnet_id, change).map_err(ApplyFailure::into_answer)
}

fn no_database() -> CommandAnswer {
    CommandAnswer::error("Host database not available, cannot add host.")
}

fn duplicate(identifier: &Identifier, version: IpVersion, subnet_id: u32) -> CommandAnswer {
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
    let target = target(&fields, ReservationTarget::Database)?;
    if reservation.get("subnet-id").and_then(integer).is_none() {
        return Err(CommandAnswer::error("missing parameter 'subnet-id'"));
    }
    let reservation = CommandReservation::read(reservation)?;
    if target == ReservationTarget::Database {
        return Err(CommandAnswer::error("host database not available, cannot update host"));
    }
    let subnet_id = reservation.resolve_subnet(backend)?;
    let host = Value::Object(reservation.host);
    let identifier = Identifier::from_reservation(&host);
    let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
    let Some(at) = hosts.iter().position(|host| Identifier::from_reservation(host) == identifier)
    else {
        return Err(CommandAnswer::error("Host not updated (not found)."));
    };
    change(backend, subnet_id, HostChange::Replace(at, host))?;
    Ok(CommandAnswer::success("Host updated."))
}

pub(super) fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let (subnet_id, by) = read_selector(&fields)?;
    if target(&fields, ReservationTarget::Database)? == ReservationTarget::Database {
        return Err(CommandAnswer::error(
            "Unable to delete a host because there is no hosts-databases configured.",
        ));
    }
    let hosts = hosts_of(backend, subnet_id).unwrap_or_default();
    let Some(at) = hosts.iter().position(|host| by.matches(host)) else {
        return Ok(CommandAnswer::empty("Host not deleted (not found)."));
    };
    change(backend, subnet_id, HostChange::Remove(at))?;
    Ok(CommandAnswer::success("Host deleted."))
}
