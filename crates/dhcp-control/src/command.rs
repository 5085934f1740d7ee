//! Definitions of control commands: their names, the hook libraries that have them, and the
//! functions that execute them.

use dhcp_config::Hook;

use crate::answer::{CommandAnswer, Outcome};
use crate::arguments::ReceivedCommand;
use crate::backend::CommandBackend;
use crate::family::CommandFamily;
use crate::high_availability;
use crate::ip_version::IpVersion;
use crate::other_family;
use crate::statistics::StatisticCommand;

/// Definition of one control command.
pub(crate) struct CommandDefinition<F> {
    /// Name of the command; in it `#` stands for 4 or 6, by the family.
    pub(crate) name: &'static str,
    /// Hook library that has the command; `None` for a command of the server itself.
    pub(crate) hook: Option<Hook>,
    /// Family whose servers alone have the command; `None` for both.
    pub(crate) only: Option<IpVersion>,
    /// Function that executes the command.
    pub(crate) run: CommandMethod<F>,
}

/// Function that executes a command, by the part of the server that it needs.
#[derive(Clone, Copy)]
pub(crate) enum CommandMethod<F> {
    /// Function that executes the command on the server.
    Backend(fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome),
    /// Function that reads the command; the thread that has the statistics executes it.
    Statistics(fn(&ReceivedCommand<'_>) -> Result<StatisticCommand, CommandAnswer>),
    /// Execution by the relationship with the partner, which may need an answer of the partner.
    Relationship,
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
            Self::Relationship => high_availability::execute(request, backend),
        }
    }
}

/// Result of executing a control command: its answer, or a command that remains to be executed.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandExecution {
    /// Answer to a command that was executed or refused.
    Answer(CommandAnswer),
    /// Command about statistics that the caller must pass on, possibly to another thread
    /// ([`Statistics::execute`](crate::statistics::Statistics::execute)).
    Statistics(StatisticCommand),
    /// Command that the relationship with the partner executes; it has the answer later
    /// ([`answer_of_relationship`](crate::answer_of_relationship)).
    Deferred,
}

impl<F: CommandFamily> CommandDefinition<F> {
    /// Creates the definition of a command that servers of both families have without a hook
    /// library.
    pub(crate) const fn core(
        name: &'static str,
        run: fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome,
    ) -> Self {
        Self { name, hook: None, only: None, run: CommandMethod::Backend(run) }
    }

    /// Creates the definition of a command about statistics that servers of both families have
    /// without a hook library.
    pub(crate) const fn for_statistics(
        name: &'static str,
        read: fn(&ReceivedCommand<'_>) -> Result<StatisticCommand, CommandAnswer>,
    ) -> Self {
        Self { name, hook: None, only: None, run: CommandMethod::Statistics(read) }
    }

    /// Creates the definition of a command that the hook library `hook` has in both families.
    pub(crate) const fn for_hook(
        hook: Hook,
        name: &'static str,
        run: fn(&ReceivedCommand<'_>, &mut dyn CommandBackend<Family = F>) -> Outcome,
    ) -> Self {
        Self { name, hook: Some(hook), only: None, run: CommandMethod::Backend(run) }
    }

    /// Creates the definition of a command about the relationship with a partner.
    pub(crate) const fn for_relationship(name: &'static str) -> Self {
        let hook = Some(Hook::HighAvailability);
        Self { name, hook, only: None, run: CommandMethod::Relationship }
    }

    /// Returns the definition limited to servers of one family.
    pub(crate) const fn only(self, version: IpVersion) -> Self {
        Self { only: Some(version), ..self }
    }

    /// Returns the command's name in the backend's family, if the backend has the command.
    pub(crate) fn name_at(&self, backend: &dyn CommandBackend<Family = F>) -> Option<String> {
        let has_hook = self.hook.is_none_or(|hook| backend.hooks().contains(&hook));
        if has_hook { self.name_in(F::VERSION) } else { None }
    }

    /// Returns the command's name in the other family, if a hook library of the backend has it for
    /// that family.
    pub(crate) fn other_name_at(&self, backend: &dyn CommandBackend<Family = F>) -> Option<String> {
        let hook = self.hook.filter(|hook| backend.hooks().contains(hook))?;
        let names_family = self.name.contains(['#', '4', '6']);
        let is_there = other_family::HOOKS.contains(&hook) && names_family;
        let other = F::Other::VERSION;
        if is_there { self.name_in(other) } else { None }
    }

    /// Returns the command's name in the family `version`; `None` if that family does not have it.
    fn name_in(&self, version: IpVersion) -> Option<String> {
        let digit = if version == IpVersion::V4 { "4" } else { "6" };
        self.only.is_none_or(|only| only == version).then(|| self.name.replace('#', digit))
    }
}
