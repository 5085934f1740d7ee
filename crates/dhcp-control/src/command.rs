//! Commands: their names, the hook libraries that have them, and the functions that execute them.

use dhcp_config::Hook;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::CommandBackend;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;
use crate::other_family;
use crate::statistics::StatisticCommand;

/// One command.
pub(crate) struct CommandDefinition<F> {
    /// Name of the command; `#` is replaced by 4 or 6.
    pub(crate) name: &'static str,
    /// Hook library that has the command.
    pub(crate) hook: Option<Hook>,
    /// Only family that has the command; `None` for both.
    pub(crate) only: Option<IpVersion>,
    /// Function that executes the command.
    pub(crate) run: CommandMethod<F>,
}

/// Method to execute a command.
#[derive(Clone, Copy)]
pub(crate) enum CommandMethod<F> {
    /// Execution by the backend.
    Backend(fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome),
    /// Execution by the thread that has the statistics.
    Statistics(fn(&ReceivedCommand<'_>) -> Result<StatisticCommand, CommandAnswer>),
}

impl<F: CommandFamily> CommandMethod<F> {
    pub(crate) fn executed(
        &self,
        request: &ReceivedCommand<'_>,
        backend: &mut dyn CommandBackend<Family = F>,
    ) -> CommandExecution {
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

impl<F: CommandFamily> CommandDefinition<F> {
    /// Creates a command of both families without a hook library.
    pub(crate) const fn core(
        name: &'static str,
        run: fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome,
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
        run: fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome,
    ) -> Self {
        Self { name, hook: Some(hook), only: None, run: CommandMethod::Backend(run) }
    }

    /// Returns the command for one family only.
    pub(crate) const fn only(self, version: IpVersion) -> Self {
        Self { only: Some(version), ..self }
    }

    /// Returns its name in the backend's family, if the backend has it.
    pub(crate) fn name_at(&self, backend: &dyn CommandBackend<Family = F>) -> Option<String> {
        let has_hook = self.hook.is_none_or(|hook| backend.hooks().contains(&hook));
        if has_hook { self.name_in(F::VERSION) } else { None }
    }

    /// Returns its name in the other family, if a hook library has it there too.
    pub(crate) fn other_name_at(&self, backend: &dyn CommandBackend<Family = F>) -> Option<String> {
        let hook = self.hook.filter(|hook| backend.hooks().contains(hook))?;
        let names_family = self.name.contains(['#', '4', '6']);
        let is_there = other_family::HOOKS.contains(&hook) && names_family;
        let other = F::Other::VERSION;
        if is_there { self.name_in(other) } else { None }
    }

    /// Returns its name in the family `version`, if that has it.
    fn name_in(&self, version: IpVersion) -> Option<String> {
        let digit = if version == IpVersion::V4 { "4" } else { "6" };
        self.only.is_none_or(|only| only == version).then(|| self.name.replace('#', digit))
    }
}
