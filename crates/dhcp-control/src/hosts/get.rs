//! Control commands that show reservations.

use core::net::IpAddr;

use serde_json::{Value, json};

use super::selector::{
    ReservationTarget, identifier, parameters, read_selector, subnet_id, target,
};
use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::{ApplyFailure, CommandBackend};
use crate::configuration::root;
use crate::document::{has_id, items, subnets};
use crate::family::CommandFamily;
use crate::host_databases::{HostCriterion, HostPage, StoredHost};

/// Returns every reservation of the configuration with its subnet's `id`, 0 for global ones, in the
/// order in which Kea numbers them: subnets of shared networks, other subnets, global ones.
fn hosts<F: CommandFamily>(
    backend: &dyn CommandBackend<Family = F>,
) -> impl Iterator<Item = (&Value, u32)> {
    let root = root(backend);
    let mut subnets = subnets(root, F::VERSION);
    subnets.sort_by_key(|(_, network)| network.is_none());
    let own = subnets.into_iter().flat_map(|(subnet, _)| {
        let id = subnet["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        items(subnet, "reservations").iter().map(move |host| (host, id))
    });
    own.chain(items(root, "reservations").iter().map(|host| (host, 0)))
}

/// Returns the reservations that the command with `fields` selects by `criterion`, those of the
/// configuration first, and if `subnet_id` is set only those of that subnet.
fn find_hosts<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    fields: &ArgumentFields<'_>,
    criterion: &HostCriterion,
    subnet_id: Option<u32>,
) -> Result<Vec<Value>, CommandAnswer> {
    let target = target(fields, ReservationTarget::ALL)?;
    let is_in_subnet = |id: u32| subnet_id.is_none_or(|subnet_id| subnet_id == id);
    let mut found = Vec::new();
    if target.has_memory {
        let own = hosts(backend)
            .filter(|&(host, id)| is_in_subnet(id) && criterion.is_fulfilled_by(host, id));
        found.extend(own.map(|(host, id)| host_to_json(host, id)));
    }
    if target.has_databases
        && let Some(databases) = backend.host_databases()
    {
        for at in 0..databases.count() {
            let stored = databases.select(at, criterion).map_err(ApplyFailure::into_answer)?;
            let stored = stored.into_iter().filter(|host| is_in_subnet(host.subnet_id));
            found.extend(stored.map(|host| host_to_json(&host.document, host.subnet_id)));
        }
    }
    Ok(found)
}

fn host_to_json(host: &Value, subnet_id: u32) -> Value {
    let mut document = host.clone();
    if let Some(map) = document.as_object_mut() {
        map.insert("subnet-id".to_owned(), json!(subnet_id));
    }
    document
}

fn listed<F: CommandFamily>(hosts: Vec<Value>) -> CommandAnswer {
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
    let (subnet_id, criterion) = read_selector(&fields)?;
    let target = target(&fields, ReservationTarget::ALL)?;
    if target.has_memory {
        let is_it =
            |&(host, id): &(&Value, u32)| id == subnet_id && criterion.is_fulfilled_by(host, id);
        if let Some((host, id)) = hosts(backend).find(is_it) {
            return Ok(found(host, id));
        }
    }
    if target.has_databases
        && let Some(databases) = backend.host_databases()
    {
        for at in 0..databases.count() {
            let stored = databases.select(at, &criterion).map_err(ApplyFailure::into_answer)?;
            if let Some(host) = stored.iter().find(|host| host.subnet_id == subnet_id) {
                return Ok(found(&host.document, host.subnet_id));
            }
        }
    }
    Ok(CommandAnswer::empty("Host not found."))
}

fn found(host: &Value, subnet_id: u32) -> CommandAnswer {
    CommandAnswer::success("Host found.").and_arguments(host_to_json(host, subnet_id))
}

pub(super) fn all<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let subnet_id = fields.number("subnet-id")?;
    check_subnet(backend, subnet_id)?;
    let criterion = HostCriterion::Subnet(subnet_id);
    Ok(listed::<F>(find_hosts(backend, &fields, &criterion, None)?))
}

pub(super) fn by_address<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let fields = parameters(request)?;
    let address: IpAddr = fields.address("ip-address", F::VERSION.number())?;
    let subnet_id = subnet_id(&fields)?;
    let criterion = HostCriterion::Address(address);
    Ok(listed::<F>(find_hosts(backend, &fields, &criterion, subnet_id)?))
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
    let criterion = HostCriterion::Hostname(hostname);
    Ok(listed::<F>(find_hosts(backend, &fields, &criterion, subnet_id)?))
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
    let criterion = HostCriterion::Identifier(identifier);
    Ok(listed::<F>(find_hosts(backend, &fields, &criterion, None)?))
}

/// Returns a page of the reservations of a source: 0 is the configuration, whose reservations are
/// numbered from 1 in their order, 1 the first database. The page begins after the number `from`;
/// if the source has no more reservations, it is the first page of the next source that has any.
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
    let mut source: u8 = fields.optional_number("source-index")?.unwrap_or(0);
    if source > 10 {
        return Err(CommandAnswer::error(format!(
            "The 'source-index' value ({source}) is not within expected range: (0 - 10)"
        )));
    }
    let after = fields.optional_number::<u64>("from")?.unwrap_or(0);
    let mut page = HostPage { subnet_id, after, limit };
    let hosts = loop {
        match source_page(backend, source, page)? {
            None => break Vec::new(),
            Some(hosts) if !hosts.is_empty() => break hosts,
            Some(_) => {
                source += 1;
                page.after = 0;
            }
        }
    };
    let (count, last) = (hosts.len(), hosts.last().map_or(0, |host| host.number));
    let hosts = hosts.iter().map(|host| host_to_json(&host.document, host.subnet_id)).collect();
    let mut answer = listed::<F>(hosts);
    if let Some(arguments) = answer.arguments.as_mut() {
        arguments["count"] = json!(count);
        if count > 0 {
            arguments["next"] = json!({ "source-index": source, "from": last });
        }
    }
    Ok(answer)
}

/// Returns a page of the reservations of the source number `source`; `None` without such a source.
fn source_page<F: CommandFamily>(
    backend: &mut dyn CommandBackend<Family = F>,
    source: u8,
    page: HostPage,
) -> Result<Option<Vec<StoredHost>>, CommandAnswer> {
    let Some(database) = source.checked_sub(1).map(usize::from) else {
        let is_on_page = |&(number, (_, id)): &(u64, (&Value, u32))| {
            number > page.after && page.subnet_id.is_none_or(|subnet_id| subnet_id == id)
        };
        let numbered = (1..).zip(hosts(backend)).filter(is_on_page).take(page.limit as usize);
        return Ok(Some(
            numbered
                .map(|(number, (host, subnet_id))| StoredHost {
                    number,
                    subnet_id,
                    document: host.clone(),
                })
                .collect(),
        ));
    };
    let databases = backend.host_databases().filter(|databases| database < databases.count());
    let Some(databases) = databases else { return Ok(None) };
    databases.page(database, page).map(Some).map_err(ApplyFailure::into_answer)
}
