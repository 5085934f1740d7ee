//! Control commands that show reservations.

use core::net::IpAddr;

use serde_json::{Value, json};

use super::selector::Identifier;
use super::selector::{
    ReservationTarget, has_address, identifier, parameters, read_selector, subnet_id, target,
};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::CommandBackend;
use crate::configuration::root;
use crate::document::{has_id, items, subnets};
use crate::family::CommandFamily;

/// Returns every reservation of the configuration with its subnet's `id`, 0 for global ones.
fn hosts<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
) -> impl Iterator<Item = (&Value, u32)> {
    let root = root(backend);
    let global = items(root, "reservations").iter().map(|host| (host, 0));
    let own = subnets(root, F::VERSION).into_iter().flat_map(|(subnet, _)| {
        let id = subnet["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        items(subnet, "reservations").iter().map(move |host| (host, id))
    });
    global.chain(own)
}

/// Returns the reservations of the configuration for which `fits` returns true; none if the command
/// asks for those in a database.
fn find_hosts<'a, F: CommandFamily>(
    backend: &'a dyn CommandBackend<Family = F>,
    fields: &ArgumentFields<'_>,
    fits: impl Fn(&Value, u32) -> bool,
) -> Result<Vec<(&'a Value, u32)>, CommandAnswer> {
    Ok(match target(fields, ReservationTarget::Memory)? {
        ReservationTarget::Database => Vec::new(),
        ReservationTarget::Memory => hosts(backend).filter(|&(host, id)| fits(host, id)).collect(),
    })
}

fn host_to_json(host: &Value, subnet_id: u32) -> Value {
    let mut document = host.clone();
    if let Some(map) = document.as_object_mut() {
        map.insert("subnet-id".to_owned(), json!(subnet_id));
    }
    document
}

fn listed<F: CommandFamily>(hosts: Vec<(&Value, u32)>) -> CommandAnswer {
    let hosts: Vec<Value> = hosts.into_iter().map(|(host, id)| host_to_json(host, id)).collect();
    let result = if hosts.is_empty() { ResultCode::Empty } else { ResultCode::Success };
    let text = format!("{} {} host(s) found.", hosts.len(), F::VERSION.name());
    CommandAnswer::text(result, text).and_arguments(json!({ "hosts": hosts }))
}

/// Checks that the subnet with the number `id` exists; 0 means no subnet.
pub(super) fn check_subnet<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
    id: u32,
) -> Result<(), CommandAnswer> {
    let version = F::VERSION;
    let is_there =
        id == 0 || subnets(root(backend), version).iter().any(|(subnet, _)| has_id(subnet, id));
    if is_there {
        Ok(())
    } else {
        Err(CommandAnswer::error(format!(
            "{} subnet with ID of '{id}' is not configured",
            version.name()
        )))
    }
}

pub(super) fn single<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let (subnet_id, by) = read_selector(&fields)?;
    let hosts = find_hosts(backend, &fields, |host, id| id == subnet_id && by.matches(host))?;
    Ok(match hosts.first() {
        Some(&(host, id)) => {
            CommandAnswer::success("Host found.").and_arguments(host_to_json(host, id))
        }
        None => CommandAnswer::empty("Host not found."),
    })
}

pub(super) fn all<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let subnet_id = fields.number("subnet-id")?;
    check_subnet(backend, subnet_id)?;
    Ok(listed::<F>(find_hosts(backend, &fields, |_, id| id == subnet_id)?))
}

pub(super) fn by_address<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let address: IpAddr = fields.address("ip-address", F::VERSION.number())?;
    let subnet_id = subnet_id(&fields)?;
    let fits = |host: &Value, id| {
        subnet_id.is_none_or(|subnet_id| subnet_id == id) && has_address(host, address)
    };
    Ok(listed::<F>(find_hosts(backend, &fields, fits)?))
}

pub(super) fn by_hostname<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let hostname = fields.text("hostname")?.to_lowercase();
    if hostname.is_empty() {
        return Err(CommandAnswer::error("Empty hostname"));
    }
    let subnet_id = subnet_id(&fields)?;
    let fits = |host: &Value, id| {
        let own = host["hostname"].as_str().unwrap_or_default();
        subnet_id.is_none_or(|subnet_id| subnet_id == id) && own.to_lowercase() == hostname
    };
    Ok(listed::<F>(find_hosts(backend, &fields, fits)?))
}

pub(super) fn by_identifier<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let identifier = identifier(&fields)?;
    if fields.get("subnet-id").is_some() {
        return Err(CommandAnswer::error("'subnet-id' is forbidden in reservation-get-by-id"));
    }
    let fits = |host: &Value, _| Identifier::from_reservation(host).as_ref() == Some(&identifier);
    Ok(listed::<F>(find_hosts(backend, &fields, fits)?))
}

/// Returns a page of the configuration's reservations, which are numbered from 1 in their order.
/// The page begins after the number `from`.
pub(super) fn page<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let limit: u32 = fields.number("limit")?;
    if limit == 0 {
        return Err(CommandAnswer::error("page size of retrieved hosts must not be 0"));
    }
    let subnet_id = subnet_id(&fields)?;
    if let Some(subnet_id) = subnet_id {
        check_subnet(backend, subnet_id)?;
    }
    let source: u8 = fields.optional_number("source-index")?.unwrap_or(0);
    if source > 10 {
        return Err(CommandAnswer::error(format!(
            "The 'source-index' value ({source}) is not within expected range: (0 - 10)"
        )));
    }
    let from = fields.optional_number::<u64>("from")?.unwrap_or(0);
    let mut last = 0;
    let page: Vec<(&Value, u32)> = (1..)
        .zip(hosts(backend))
        .filter(|&(number, (_, id))| {
            source == 0 && number > from && subnet_id.is_none_or(|subnet_id| subnet_id == id)
        })
        .take(limit as usize)
        .map(|(number, host)| {
            last = number;
            host
        })
        .collect();
    let count = page.len();
    let mut answer = listed::<F>(page);
    if let Some(arguments) = answer.arguments.as_mut() {
        arguments["count"] = json!(count);
        if count > 0 {
            arguments["next"] = json!({ "source-index": source, "from": last });
        }
    }
    Ok(answer)
}
