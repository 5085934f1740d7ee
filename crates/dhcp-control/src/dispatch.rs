//! Dispatch of control commands: from a command's name to the function that executes it.

use serde_json::Value;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::{ApplyFailure, CommandBackend};
use crate::command::{CommandDefinition, CommandExecution};
use crate::family::CommandFamily;
use crate::other_family::EmptyServer;
use crate::text::type_name;
use crate::{classes, core, extended_info, high_availability, hosts, leases, stat, subnets};

/// Returns the definitions of all commands, of the server itself and of every hook library.
fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let mut commands = vec![CommandDefinition::core("list-commands", list)];
    commands.extend(core::commands());
    commands.extend(leases::commands());
    commands.extend(extended_info::commands());
    commands.extend(stat::commands());
    commands.extend(classes::commands());
    commands.extend(high_availability::commands());
    commands.extend(hosts::commands());
    commands.extend(subnets::commands());
    commands
}

fn list<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let names =
        |command: &CommandDefinition<F>| [command.name_at(backend), command.other_name_at(backend)];
    let mut names: Vec<String> = commands().iter().flat_map(names).flatten().collect();
    names.sort();
    Ok(CommandAnswer::from_arguments(names.into()))
}

/// Executes `command`, a JSON value from a client, on `backend` and returns the result. Any JSON
/// value gets an answer, now or from the statistics.
pub fn execute<F: CommandFamily>(
    command: &Value,
    backend: &mut dyn CommandBackend<Family = F>,
) -> CommandExecution {
    let request = match open(command) {
        Ok(request) => request,
        Err(text) => {
            let text = format!("Error during command processing: {text}");
            return CommandExecution::Answer(CommandAnswer::error(text));
        }
    };
    let commands = commands();
    let definition =
        commands.iter().find(|command| command.name_at(backend).as_deref() == Some(request.name));
    if let Some(definition) = definition {
        return definition.run.executed(&request, backend);
    }
    let is_other = |command: &CommandDefinition<F>| {
        command.other_name_at(backend).as_deref() == Some(request.name)
    };
    if !commands.iter().any(is_other) {
        return CommandExecution::Answer(CommandAnswer::unsupported(request.name));
    }
    let mut empty = EmptyServer::<F::Other>::new(backend.now());
    let others = self::commands::<F::Other>();
    let named = others.iter().find(|other| other.name_at(&empty).as_deref() == Some(request.name));
    match named {
        Some(command) => command.run.executed(&request, &mut empty),
        None => CommandExecution::Answer(CommandAnswer::unsupported(request.name)),
    }
}

/// Executes the command `config-test` without a backend, where `check` checks a whole configuration
/// of the family. The command can thus run outside the thread that executes the other commands.
pub fn test_configuration<F: CommandFamily>(
    command: &Value,
    check: impl FnOnce(&Value) -> Result<(), ApplyFailure>,
) -> CommandAnswer {
    match open(command) {
        Ok(request) => core::config_test_answer::<F>(&request, check).unwrap_or_else(|early| early),
        Err(text) => CommandAnswer::error(format!("Error during command processing: {text}")),
    }
}

/// Checks the outer form of a command, a JSON value from a client, and returns its name and
/// arguments.
pub(crate) fn open(command: &Value) -> Result<ReceivedCommand<'_>, String> {
    let Value::Object(map) = command else {
        return Err(format!(
            "invalid command: expected toplevel entry to be a map, got {} instead",
            type_name(command)
        ));
    };
    let Some(name) = map.get("command") else {
        return Err("invalid command: does not contain mandatory 'command'".to_owned());
    };
    let known = ["command", "arguments", "service", "remote-address"];
    if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("invalid command: unsupported parameter '{key}'"));
    }
    let Value::String(name) = name else {
        return Err(format!(
            "invalid command: expected 'command' to be a string, got {} instead",
            type_name(name)
        ));
    };
    Ok(ReceivedCommand { name, arguments: map.get("arguments") })
}
