//! Command `godwit completions`: the script with which a shell completes the command line.

use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::output;

/// Print the script with which a shell completes godwit's commands and flags.
///
/// Packages install the three scripts; without a package, write the script to a file that your
/// shell reads.
///
/// Exit codes: 0 done; 1 the output failed; 2 bad arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that reads the script
    #[arg(value_enum)]
    shell: CompletionShell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CompletionShell {
    Bash,
    Fish,
    Zsh,
}

impl CompletionShell {
    const fn generator(self) -> Shell {
        match self {
            Self::Bash => Shell::Bash,
            Self::Fish => Shell::Fish,
            Self::Zsh => Shell::Zsh,
        }
    }
}

/// Prints the script for the shell of `args` from the definition `command`.
pub(crate) fn run(args: &CompletionsArgs, command: &Command) -> ExitCode {
    let script = script(args.shell, command);
    let printed = netio::stdout::print(&script);
    output::exit_code(printed.map_err(|e| format!("cannot write to standard output: {e}")))
}

fn script(shell: CompletionShell, command: &Command) -> String {
    let mut shown = without_hidden_commands(command);
    let mut script = Vec::new();
    clap_complete::generate(shell.generator(), &mut shown, "godwit", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns a copy of `command` without the commands that its help hides.
fn without_hidden_commands(command: &Command) -> Command {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    Command::new(command.get_name().to_owned())
        .disable_help_subcommand(true)
        .disable_help_flag(command.is_disable_help_flag_set())
        .disable_version_flag(command.is_disable_version_flag_set())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().cloned())
        .groups(command.get_groups().cloned())
        .subcommands(below.map(without_hidden_commands))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_commands_that_are_shown_and_no_others() {
        for shell in [CompletionShell::Bash, CompletionShell::Fish, CompletionShell::Zsh] {
            let script = script(shell, &crate::cli::command());
            for word in ["perfdhcp", "dhcp4", "compare", "accept-inactive", "conformance"] {
                assert!(script.contains(word), "{shell:?}: {word}");
            }
            assert!(!script.contains("attend"), "{shell:?} completes a hidden command");
        }
    }
}
