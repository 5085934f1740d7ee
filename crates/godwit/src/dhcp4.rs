//! `godwit dhcp4`: the flags of `kea-dhcp4`.

use std::path::PathBuf;
use std::process::ExitCode;

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
    /// Say more while running
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
    eprintln!("error: this build has no DHCP server");
    ExitCode::FAILURE
}
