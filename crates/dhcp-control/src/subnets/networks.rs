//! Control commands about shared networks.

use serde_json::{Value, json};

use super::counted;
use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::{ArgumentFields, ReceivedCommand, integer};
use crate::backend::CommandBackend;
use crate::configuration::{edit, root};
use crate::document::{RESERVATIONS, items, prefix_of};
use crate::family::CommandFamily;

/// Configuration key of the list of shared networks.
const NETWORKS: &str = "shared-networks";

pub(super) fn list<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let networks = items(root(backend), NETWORKS);
    let list: Vec<Value> =
        networks.iter().map(|network| json!({ "name": network["name"] })).collect();
    Ok(counted(&list, F::VERSION.name(), "network").and_arguments(json!({ NETWORKS: list })))
}

pub(super) fn get<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let name = match request.named_map()?.get("name") {
        None => {
            return Err(CommandAnswer::error(format!(
                "invalid '{}': missing mandatory 'name' parameter",
                request.name
            )));
        }
        Some(Value::String(name)) => name,
        Some(_) => return Err(CommandAnswer::error("'name' parameter must be a string")),
    };
    let networks = items(root(backend), NETWORKS);
    match networks.iter().find(|network| network["name"] == *name) {
        None => Ok(CommandAnswer::empty(format!("No '{name}' shared network found"))),
        Some(network) => {
            let version = F::VERSION.name();
            let text = format!("Info about {version} shared network '{name}' returned");
            let mut document = network.clone();
            let subnets = document[F::VERSION.subnets()].as_array_mut().into_iter().flatten();
            for map in subnets.filter_map(Value::as_object_mut) {
                map.remove(RESERVATIONS);
            }
            Ok(CommandAnswer::success(text).and_arguments(json!({ NETWORKS: [document] })))
        }
    }
}

pub(super) fn add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (fields, command) = (request.named_map()?, request.name);
    let list = match fields.get(NETWORKS) {
        None => {
            return Err(CommandAnswer::error(format!(
                "missing '{NETWORKS}' argument for the '{command}' command"
            )));
        }
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(CommandAnswer::error(format!(
                "'{NETWORKS}' argument specified for the '{command}' command is not a list"
            )));
        }
    };
    let [network] = list.as_slice() else {
        return Err(CommandAnswer::error(format!(
            "invalid number of networks specified for the '{command}' command. Expected one network"
        )));
    };
    let Value::Object(map) = network else {
        return Err(CommandAnswer::error(format!(
            "invalid network information specified for the '{command}' command. Expected a map"
        )));
    };
    let name = ArgumentFields(map).text("name")?;
    let version = F::VERSION.name();
    edit(backend, |root| {
        root.list(NETWORKS).push(network.clone());
        Ok(CommandAnswer::success(format!("A new {version} shared network '{name}' added"))
            .and_arguments(json!({ NETWORKS: [{ "name": name }] })))
    })
}

pub(super) fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (fields, command) = (request.named_map()?, request.name);
    let name = match fields.get("name") {
        None => {
            return Err(CommandAnswer::error(format!(
                "network name ('name') is required for the '{command}' command"
            )));
        }
        Some(Value::String(name)) => name,
        Some(_) => {
            return Err(CommandAnswer::error(format!(
                "network name ('name') specified for the '{command}' is not a string"
            )));
        }
    };
    let deletes_subnets = match fields.get("subnets-action") {
        None => false,
        Some(Value::String(action)) if action == "keep" => false,
        Some(Value::String(action)) if action == "delete" => true,
        Some(Value::String(action)) => {
            return Err(CommandAnswer::error(format!(
                "Invalid value for subnets-action parameter: {action}, Supported values: 'keep' \
                 and 'delete'."
            )));
        }
        Some(_) => {
            return Err(CommandAnswer::error(format!(
                "subnets-action parameter for {command} command must be a string. Supported \
                 values are: 'keep' and 'delete'."
            )));
        }
    };
    let version = F::VERSION.name();
    edit(backend, |root| {
        let Some(index) = root.network(name) else {
            return Ok(CommandAnswer::empty(format!("no shared network with name '{name}' found")));
        };
        let subnets = core::mem::take(root.subnets_in(Some(index)));
        root.list(NETWORKS).remove(index);
        if !deletes_subnets {
            root.subnets_in(None).extend(subnets);
        }
        Ok(CommandAnswer::success(format!("{version} shared network '{name}' deleted"))
            .and_arguments(json!({ NETWORKS: [{ "name": name }] })))
    })
}

/// Returns the name of the shared network and the number of the subnet in a command's arguments.
fn pair<'a>(request: &ReceivedCommand<'a>) -> Result<(&'a str, i128), CommandAnswer> {
    let (fields, command) = (request.named_map()?, request.name);
    let required = |key: &str| {
        fields.get(key).ok_or_else(|| {
            CommandAnswer::error(format!("missing '{key}' argument for the '{command}' command"))
        })
    };
    let wrong = |key: &str, wants: &str| {
        CommandAnswer::error(format!(
            "'{key}' argument specified for the '{command}' command is not {wants}"
        ))
    };
    let name = required("name")?.as_str().ok_or_else(|| wrong("name", "a string"))?;
    let id = integer(required("id")?).ok_or_else(|| wrong("id", "an integer"))?;
    Ok((name, id))
}

fn no_network(version: &str, name: &str) -> CommandAnswer {
    CommandAnswer::empty(format!("no {version} shared network with name '{name}' found"))
}

pub(super) fn add_subnet<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (name, id) = pair(request)?;
    let version = F::VERSION.name();
    edit(backend, |root| {
        let Some(index) = root.network(name) else { return Ok(no_network(version, name)) };
        let subnet_position = u32::try_from(id).ok().and_then(|id| root.subnet_position(id));
        let Some(subnet_position) = subnet_position else {
            return Ok(CommandAnswer::empty(format!("no {version} subnet with id '{id}' found")));
        };
        if subnet_position.network.is_some() {
            return Err(CommandAnswer::error(format!(
                "subnet with id {id} is already part of a shared network"
            )));
        }
        let subnet = root.remove(subnet_position);
        let prefix = prefix_of(&subnet).to_owned();
        root.subnets_in(Some(index)).push(subnet);
        Ok(CommandAnswer::success(format!(
            "{version} subnet {prefix} (id {id}) is now part of shared network '{name}'"
        )))
    })
}

pub(super) fn delete_subnet<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (name, id) = pair(request)?;
    let version = F::VERSION.name();
    edit(backend, |root| {
        let Some(index) = root.network(name) else { return Ok(no_network(version, name)) };
        let subnet_position = u32::try_from(id).ok().and_then(|id| root.subnet_position(id));
        let Some(subnet_position) =
            subnet_position.filter(|subnet_position| subnet_position.network == Some(index))
        else {
            return Ok(CommandAnswer::empty(format!(
                "The {version} subnet with id {id} is not part of the shared network with name \
                 '{name}' found"
            )));
        };
        let subnet = root.remove(subnet_position);
        let prefix = prefix_of(&subnet).to_owned();
        root.subnets_in(None).push(subnet);
        Ok(CommandAnswer::success(format!(
            "{version} subnet {prefix} (id {id}) is now removed from shared network '{name}'"
        )))
    })
}
