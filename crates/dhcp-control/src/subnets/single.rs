//! Control commands about subnets.

use serde_json::{Map, Value, json};

use super::counted;
use super::delta;
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ReceivedCommand, integer};
use crate::backend::CommandBackend;
use crate::configuration::{edit, root};
use crate::document::{has_id, name_of, prefix_of, subnets};
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

pub(super) fn list<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let version = F::VERSION;
    let mut all = subnets(root(backend), version);
    all.sort_by_key(|(subnet, _)| subnet["id"].as_u64());
    let list: Vec<Value> = all
        .into_iter()
        .map(|(subnet, network)| {
            let mut named = name_of(subnet);
            named["shared-network-name"] = network.map_or(Value::Null, Value::from);
            named
        })
        .collect();
    Ok(counted(&list, version.name(), "subnet").and_arguments(json!({ "subnets": list })))
}

pub(super) fn get<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (fields, name, version) = (request.named_map()?, request.name, F::VERSION);
    if fields.0.len() != 1 {
        return Err(CommandAnswer::error(format!(
            "invalid number of arguments {} for the '{name}' command. Expecting 'id' or 'subnet'",
            fields.0.len()
        )));
    }
    let all = subnets(root(backend), version);
    let (subnet, missing) = match (fields.get("subnet"), fields.get("id")) {
        (Some(Value::String(prefix)), _) => (
            all.iter().find(|(subnet, _)| prefix_of(subnet) == prefix),
            format!("No {prefix} subnet found"),
        ),
        (Some(_), _) => return Err(CommandAnswer::error("'subnet' parameter must be a string")),
        (None, Some(id)) => {
            let id = integer(id)
                .ok_or_else(|| CommandAnswer::error("'id' parameter must be an integer"))?;
            let has_id = |subnet: &Value| u32::try_from(id).is_ok_and(|id| has_id(subnet, id));
            (all.iter().find(|(subnet, _)| has_id(subnet)), format!("No subnet with id {id} found"))
        }
        (None, None) => return Err(CommandAnswer::error("'id' or 'subnet' parameter required")),
    };
    let Some(&(subnet, _)) = subnet else { return Ok(CommandAnswer::empty(missing)) };
    let (prefix, id) = (prefix_of(subnet), &subnet["id"]);
    let text = format!("Info about {} subnet {prefix} (id {id}) returned", version.name());
    let mut document = subnet.clone();
    if let Some(map) = document.as_object_mut() {
        map.remove("reservations");
    }
    Ok(CommandAnswer::success(text).and_arguments(json!({ version.subnets(): [document] })))
}

/// Returns the only subnet in a command's arguments.
fn subnet_argument<'a, F: CommandFamily>(
    request: &ReceivedCommand<'a>,
    hint: &str,
) -> Result<&'a Map<String, Value>, CommandAnswer> {
    let (fields, name, key) = (request.named_map()?, request.name, F::VERSION.subnets());
    if fields.0.len() != 1 {
        return Err(CommandAnswer::error(format!(
            "invalid number of arguments {} for the '{name}' command. Expecting '{key}' list",
            fields.0.len()
        )));
    }
    let list = match fields.get(key) {
        None => {
            return Err(CommandAnswer::error(format!(
                "missing '{key}' argument for the '{name}' command"
            )));
        }
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(CommandAnswer::error(format!(
                "'{key}' argument specified for the '{name}' command is not a list"
            )));
        }
    };
    let [subnet] = list.as_slice() else {
        return Err(CommandAnswer::error(format!(
            "invalid number of subnets specified for the '{name}' command. Expected one subnet"
        )));
    };
    let Value::Object(map) = subnet else {
        return Err(CommandAnswer::error(format!(
            "invalid subnet information specified for the '{name}' command. Expected a map"
        )));
    };
    if map.contains_key("reservations") {
        return Err(CommandAnswer::error(format!(
            "must not specify host reservations with '{name}'.{hint}"
        )));
    }
    Ok(map)
}

pub(super) fn add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let hint = " Use 'reservation-add' to add a reservation to a subnet";
    let subnet = Value::Object(subnet_argument::<F>(request, hint)?.clone());
    let text = format!("{} subnet added", F::VERSION.name());
    edit(backend, |root| {
        let named = name_of(&subnet);
        root.subnets_in(None).push(subnet);
        Ok(CommandAnswer::success(text).and_arguments(json!({ "subnets": [named] })))
    })
}

pub(super) fn update<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    change_subnet(request, backend, |old, new| {
        let reservations = old.get("reservations").cloned();
        *old = new.clone();
        if let Some(reservations) = reservations {
            old.insert("reservations".to_owned(), reservations);
        }
    })
}

pub(super) fn delta_add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    change_subnet(request, backend, delta::add)
}

pub(super) fn delta_delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    change_subnet(request, backend, delta::delete)
}

/// Applies `change` to the subnet of the configuration that has the `id` of the command's subnet.
fn change_subnet<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
    change: fn(&mut Map<String, Value>, &Map<String, Value>),
) -> Outcome {
    let new = subnet_argument::<F>(request, "")?;
    let Some(id) = new.get("id") else {
        return Err(CommandAnswer::error(format!(
            "must specify subnet id with '{}' command.",
            request.name
        )));
    };
    let id = integer(id)
        .ok_or_else(|| CommandAnswer::error("invalid type specified for parameter 'id'"))?;
    let range = 1..i128::from(u32::MAX);
    if !range.contains(&id) {
        return Err(CommandAnswer::error(format!(
            "The 'id' value ({id}) is not within expected range: (1 - {})",
            range.end - 1
        )));
    }
    let text = format!("{} subnet updated", F::VERSION.name());
    edit(backend, |root| {
        let position = root
            .subnet_position(id as u32)
            .ok_or_else(|| CommandAnswer::error(format!("Can't find subnet '{id}' to update")))?;
        let subnet = root.subnet(position);
        if let Some(old) = subnet.as_object_mut() {
            change(old, new);
        }
        if F::VERSION == IpVersion::V6 {
            root.set_rapid_commit(position);
        }
        let subnet = root.subnet(position);
        Ok(CommandAnswer::success(text).and_arguments(json!({ "subnets": [name_of(subnet)] })))
    })
}

pub(super) fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (fields, name) = (request.named_map()?, request.name);
    if fields.0.len() != 1 {
        return Err(CommandAnswer::error(format!(
            "invalid number of arguments specified for the '{name} command. Expected subnet \
             identifier"
        )));
    }
    let id = fields.get("id").ok_or_else(|| {
        CommandAnswer::error(format!("subnet identifier is required for the '{name}' command"))
    })?;
    let id = integer(id).ok_or_else(|| {
        CommandAnswer::error(format!(
            "subnet identifier specified for the '{name}' is not a number"
        ))
    })?;
    let version = F::VERSION.name();
    edit(backend, |root| {
        let subnet_position = u32::try_from(id).ok().and_then(|id| root.subnet_position(id));
        let Some(subnet_position) = subnet_position else {
            return Ok(CommandAnswer::empty(format!("no subnet with id {id} found")));
        };
        let subnet = root.remove(subnet_position);
        let text = format!("{version} subnet {} (id {id}) deleted", prefix_of(&subnet));
        Ok(CommandAnswer::success(text).and_arguments(json!({ "subnets": [name_of(&subnet)] })))
    })
}
