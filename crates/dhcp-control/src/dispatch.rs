//! Dispatch: from a command's name to the function that executes it.

use dhcp_config::Hook;
use serde_json::Value;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::{ApplyFailure, CommandBackend};
use crate::family::{CommandFamily, IpVersion};
use crate::other_family::EmptyServer;
use crate::statistics::StatisticCommand;
use crate::{classes, core, hosts, leases, other_family, stat, subnets};

/// One command.
pub(crate) struct CommandDefinition<B> {
    /// Name of the command; `#` is replaced by 4 or 6.
    pub(crate) name: &'static str,
    /// Hook library that has the command.
    pub(crate) hook: Option<Hook>,
    /// Only family that has the command; `None` for both.
    pub(crate) only: Option<IpVersion>,
    /// Function that executes the command.
    run: CommandMethod<B>,
}

/// Method to execute a command.
#[derive(Clone, Copy)]
enum CommandMethod<B> {
    /// Execution by the backend.
    Backend(fn(&ReceivedCommand<'_>, &mut B) -> Outcome),
    /// Execution by the thread that has the statistics.
    Statistics(fn(&ReceivedCommand<'_>) -> Result<StatisticCommand, CommandAnswer>),
}

impl<B: CommandBackend> CommandMethod<B> {
    fn executed(&self, request: &ReceivedCommand<'_>, backend: &mut B) -> CommandExecution {
        match self {
            Self::Backend(run) => {
                CommandExecution::Answer(run(request, backend).unwrap_or_else(|early| early))
            }
            Self::Statistics(read) => match read(request) {
                Ok(command) => CommandExecution::Statistics(command),
                Err(refused) => CommandExecution::Answer(refused),
            },
        }
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandExecution {
    /// Answer to a command that is done, or refused.
    Answer(CommandAnswer),
    /// Command about statistics, which another thread may have
    /// ([`Statistics::execute`](crate::statistics::Statistics::execute)).
    Statistics(StatisticCommand),
}

impl<B: CommandBackend> CommandDefinition<B> {
    /// Creates a command of both families without a hook library.
    pub(crate) const fn core(
        name: &'static str,
        run: fn(&ReceivedCommand<'_>, &mut B) -> Outcome,
    ) -> Self {
        Self { name, hook: None, only: None, run: CommandMethod::Backend(run) }
    }

    /// Creates a command about statistics, of both families, without a hook library.
    pub(crate) const fn for_statistics(
        name: &'static str,
        read: fn(&ReceivedCommand<'_>) -> Result<StatisticCommand, CommandAnswer>,
    ) -> Self {
        Self { name, hook: None, only: None, run: CommandMethod::Statistics(read) }
    }

    /// Creates a command of both families that the library `hook` has.
    pub(crate) const fn for_hook(
        hook: Hook,
        name: &'static str,
        run: fn(&ReceivedCommand<'_>, &mut B) -> Outcome,
    ) -> Self {
        Self { name, hook: Some(hook), only: None, run: CommandMethod::Backend(run) }
    }

    /// Returns the command for one family only.
    pub(crate) const fn only(self, version: IpVersion) -> Self {
        Self { only: Some(version), ..self }
    }

    /// Returns its name in the backend's family, if the backend has it.
    fn name_at(&self, backend: &B) -> Option<String> {
        let has_hook = self.hook.is_none_or(|hook| backend.hooks().contains(&hook));
        if has_hook { self.name_in(B::Family::VERSION) } else { None }
    }

    /// Returns its name in the other family, if a hook library has it there too.
    fn other_name_at(&self, backend: &B) -> Option<String> {
        let hook = self.hook.filter(|hook| backend.hooks().contains(hook))?;
        let names_family = self.name.contains(['#', '4', '6']);
        let is_there = other_family::HOOKS.contains(&hook) && names_family;
        let other = <B::Family as CommandFamily>::Other::VERSION;
        if is_there { self.name_in(other) } else { None }
    }

    /// Returns its name in the family `version`, if that has it.
    fn name_in(&self, version: IpVersion) -> Option<String> {
        let digit = if version == IpVersion::V4 { "4" } else { "6" };
        self.only.is_none_or(|only| only == version).then(|| self.name.replace('#', digit))
    }
}

/// Returns every command of every hook library.
fn commands<B: CommandBackend>() -> Vec<CommandDefinition<B>> {
    let mut commands = vec![CommandDefinition::core("list-commands", list)];
    commands.extend(core::commands());
    commands.extend(leases::commands());
    commands.extend(stat::commands());
    commands.extend(classes::commands());
    commands.extend(hosts::commands());
    commands.extend(subnets::commands());
    commands
}

fn list<B: CommandBackend>(_request: &ReceivedCommand<'_>, backend: &mut B) -> Outcome {
    let names =
        |command: &CommandDefinition<B>| [command.name_at(backend), command.other_name_at(backend)];
    let mut names: Vec<String> = commands().iter().flat_map(names).flatten().collect();
    names.sort();
    Ok(CommandAnswer::from_arguments(names.into()))
}

/// Executes `command`, which a client sent as JSON, and returns the result. Any JSON value gets an
/// answer, now or from the statistics.
pub fn execute<B: CommandBackend>(command: &Value, backend: &mut B) -> CommandExecution {
    let request = match open(command) {
        Ok(request) => request,
        Err(text) => {
            let text = format!("Error during command processing: {text}");
            return CommandExecution::Answer(CommandAnswer::error(text));
        }
    };
    let commands = commands();
    let found =
        commands.iter().find(|command| command.name_at(backend).as_deref() == Some(request.name));
    if let Some(found) = found {
        return found.run.executed(&request, backend);
    }
    let is_other = |command: &CommandDefinition<B>| {
        command.other_name_at(backend).as_deref() == Some(request.name)
    };
    if !commands.iter().any(is_other) {
        return CommandExecution::Answer(CommandAnswer::unsupported(request.name));
    }
    let mut empty = EmptyServer::<<B::Family as CommandFamily>::Other>::new(backend.now());
    let others = self::commands::<EmptyServer<<B::Family as CommandFamily>::Other>>();
    let named = others.iter().find(|other| other.name_at(&empty).as_deref() == Some(request.name));
    match named {
        Some(command) => command.run.executed(&request, &mut empty),
        None => CommandExecution::Answer(CommandAnswer::unsupported(request.name)),
    }
}

/// Executes the command `config-test` without a backend, where `check` checks a whole configuration
/// of the family: so it can run outside the thread that executes the other commands.
pub fn test_configuration<F: CommandFamily>(
    command: &Value,
    check: impl FnOnce(&Value) -> Result<(), ApplyFailure>,
) -> CommandAnswer {
    match open(command) {
        Ok(request) => core::config_test_answer::<F>(&request, check).unwrap_or_else(|early| early),
        Err(text) => CommandAnswer::error(format!("Error during command processing: {text}")),
    }
}

/// Checks the outer form of a command.
fn open(command: &Value) -> Result<ReceivedCommand<'_>, String> {
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

/// Returns Kea's name of a JSON type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
