//! `godwit dhcp4`: the flags of `kea-dhcp4`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dhcp_server::ServerError;

/// Serve DHCPv4 in the foreground, configured by a file that Kea's kea-dhcp4 takes too.
///
/// Exit codes: 0 ended by SIGTERM or SIGINT, or the configuration is sound (-t); 1 failed at run
/// time; 2 bad arguments or a bad configuration.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Serve with this configuration
    #[arg(short = 'c', value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check this configuration, report all problems, and end
    #[arg(short = 't', value_name = "FILE", conflicts_with = "config")]
    pub(crate) check: Option<PathBuf>,
    /// Take messages on this port instead of 67
    #[arg(short = 'p', value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Send all answers to this port
    #[arg(short = 'P', value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) client_port: Option<u16>,
    /// Log what was counted every ten seconds
    #[arg(short = 'd')]
    pub(crate) debug: bool,
    /// Print the version and end
    #[arg(short = 'v')]
    pub(crate) version: bool,
    /// Print the version and what it was built from, and end
    #[arg(short = 'V')]
    pub(crate) extended_version: bool,
}

/// Runs what the flags ask for.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.version {
        println!("{}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    if args.extended_version {
        println!("godwit {}\nleases: memfile", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let served = match (&args.check, &args.config) {
        (Some(path), _) => check(path),
        (None, Some(path)) => dhcp_server::run_dhcp4(&settings(args, path.clone())),
        (None, None) => {
            eprintln!("error: name a configuration with -c FILE, or with -t FILE to check it");
            return ExitCode::from(2);
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", prefixed(&error));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Kea's variable that sends answers back to where the datagram came from.
const TO_SOURCE_VARIABLE: &str = "KEA_TEST_SEND_RESPONSES_TO_SOURCE";

fn settings(args: &Args, configuration: PathBuf) -> dhcp_server::Settings {
    dhcp_server::Settings {
        configuration,
        port: args.port.unwrap_or(67),
        client_port: args.client_port,
        to_source: std::env::var_os(TO_SOURCE_VARIABLE).is_some(),
        is_verbose: args.debug,
    }
}

fn check(path: &Path) -> Result<(), ServerError> {
    let checked = dhcp_server::read_dhcp4(path)?;
    for warning in &checked.warnings {
        eprintln!("{warning}");
    }
    println!(
        "{}: the configuration is sound, {} subnets",
        path.display(),
        checked.config.subnets.len()
    );
    Ok(())
}

/// Problems of the configuration carry their own `error:`.
fn prefixed(error: &ServerError) -> String {
    match error {
        ServerError::Configuration(_) => error.to_string(),
        _ => format!("error: {error}"),
    }
}
