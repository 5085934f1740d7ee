//! Command `godwit ddns`: the flags of `kea-dhcp-ddns`, and the check of zones.

use std::path::PathBuf;
use std::process::ExitCode;

use dhcp_server::{ServerError, UpdaterSettings, counted};

use crate::dhcp_check::print_text;

/// Flags of `godwit ddns`.
#[derive(Debug, clap::Args)]
#[command(
    disable_version_flag = true,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct UpdaterArgs {
    #[command(subcommand)]
    command: Option<UpdaterCommand>,
    /// Run with Kea configuration FILE
    #[arg(short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check FILE, print all errors and warnings, and exit: with 2 if -c would refuse to start
    #[arg(short = 't', value_name = "FILE", conflicts_with = "config")]
    check: Option<PathBuf>,
    /// Accepted for Kea command lines; set the verbosity in `loggers`
    #[arg(short = 'd')]
    debug: bool,
    /// Print the compatible version of Kea and exit
    #[arg(short = 'v')]
    version: bool,
    /// Print the compatible version of Kea and this program's version, and exit
    #[arg(short = 'V')]
    extended_version: bool,
    /// Print build information and exit
    #[arg(short = 'W')]
    build_report: bool,
    /// Turn violations of Kea 3's security rules into warnings: paths outside of Kea's folders,
    /// HTTP without authentication, secrets in clear text
    #[arg(short = 'X')]
    unrestricted: bool,
}

/// Commands of `godwit ddns`.
#[derive(Debug, clap::Subcommand)]
enum UpdaterCommand {
    /// Check that each DNS server takes updates of its zones with the key that FILE names.
    ///
    /// FILE is a configuration of kea-dhcp-ddns, or of a DHCP server with an updater inside. Each
    /// server gets an update that deletes the records of a name that does not exist, so it changes
    /// nothing. Servers are checked one after the other, three messages each.
    ///
    /// Exit codes: 0 all servers take updates; 1 a server does not, or does not answer; 2 bad
    /// arguments, or a configuration with errors or without zones.
    Check(ZoneCheckArgs),
}

/// Flags of `godwit ddns check`.
#[derive(Debug, clap::Args)]
struct ZoneCheckArgs {
    /// Configuration with the zones
    #[arg(value_name = "FILE")]
    configuration: PathBuf,
    /// Turn violations of Kea 3's security rules into warnings, such as secrets in clear text
    #[arg(short = 'X')]
    unrestricted: bool,
}

/// Runs the updater, or the check or query that `args` select, and returns the exit code.
pub(crate) fn run(args: &UpdaterArgs) -> ExitCode {
    if let Some(UpdaterCommand::Check(args)) = &args.command {
        return check_servers(args);
    }
    let settings = |path: &PathBuf| UpdaterSettings {
        configuration: path.clone(),
        is_unrestricted: args.unrestricted,
    };
    let result = match (&args.check, &args.config) {
        _ if args.version => print_text(&format!("{}\n", dhcp_server::KEA_LEVEL)),
        _ if args.extended_version => {
            print_text(&format!("{}\n", dhcp_server::updater_extended_version()))
        }
        _ if args.build_report => print_text(&dhcp_server::build_report()),
        (Some(path), _) => check(&settings(path)),
        (None, Some(path)) => dhcp_server::run_ddns(&settings(path)),
        (None, None) => {
            netio::stderr::print_line(
                "error: name a configuration with -c FILE, or with -t FILE to check it",
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Prints an error and returns its exit code.
fn failed(error: &ServerError) -> ExitCode {
    match error {
        ServerError::Configuration(_) => netio::stderr::print_line(error),
        _ => netio::stderr::print_line(format_args!("error: {error}")),
    }
    ExitCode::from(error.exit_code())
}

/// Checks the DNS servers of a configuration and prints a line for each.
fn check_servers(args: &ZoneCheckArgs) -> ExitCode {
    let settings = UpdaterSettings {
        configuration: args.configuration.clone(),
        is_unrestricted: args.unrestricted,
    };
    let zones = match dhcp_server::read_update_zones(&settings) {
        Ok(zones) => zones.filter(|zones| !zones.forward.is_empty() || !zones.reverse.is_empty()),
        Err(error) => return failed(&error),
    };
    let Some(zones) = zones else {
        let path = args.configuration.display();
        netio::stderr::print_line(format_args!("error: {path} has no zones to update"));
        return ExitCode::from(2);
    };
    let (mut refusals, mut printed) = (0, Ok(()));
    dhcp_server::check_zones(&zones, |check| {
        refusals += usize::from(check.refusal.is_some());
        if printed.is_ok() {
            printed = print_text(&format!("{check}\n"));
        }
    });
    match printed {
        Err(error) => failed(&error),
        Ok(()) if refusals > 0 => ExitCode::from(1),
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// Checks a configuration and prints its problems and, if it is valid, the number of its zones.
fn check(settings: &UpdaterSettings) -> Result<(), ServerError> {
    let checked = dhcp_server::read_updater_configuration(settings)?;
    for warning in &checked.warnings {
        netio::stderr::print_line(warning);
    }
    let zones = &checked.config.zones;
    let zones = counted(zones.forward.len() + zones.reverse.len(), "zone");
    let path = settings.configuration.display();
    print_text(&format!("{path}: the configuration is valid, {zones}\n"))
}
