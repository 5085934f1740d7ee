//! Commands `godwit dhcp4` and `godwit dhcp6`: the flags of `kea-dhcp4` and `kea-dhcp6`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use dhcp_server::{
    ConfigurationReadOptions, DaemonSettings, IpVersion, RequiredValidity, ServerError,
};

use crate::dhcp_check::{ConfigurationCheck, print_text};

/// Flags of both `godwit dhcp4` and `godwit dhcp6`.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, arg_required_else_help = true)]
pub(crate) struct DhcpServerArgs {
    /// Serve with Kea configuration FILE
    #[arg(short = 'c', value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check FILE, print all errors and warnings, and exit: with 2 if -c would refuse to start. A
    /// missing interface is only a warning
    #[arg(short = 't', value_name = "FILE", conflicts_with_all = ["config", "test"])]
    pub(crate) check: Option<PathBuf>,
    /// Check FILE as with -t (Kea's extended check)
    #[arg(short = 'T', value_name = "FILE", conflicts_with = "config")]
    pub(crate) test: Option<PathBuf>,
    /// Receive on this UDP port instead of the standard one (dhcp4: 67, dhcp6: 547)
    #[arg(short = 'p', value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Send all replies to this UDP port instead of the standard ones
    #[arg(short = 'P', value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) client_port: Option<u16>,
    /// Start although the configuration uses the feature NAME, which is not supported and unsafe to
    /// ignore; -t prints the names
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide_possible_values = true,
          value_parser = PossibleValuesParser::new(dhcp_config::inactive_feature_names()))]
    pub(crate) accept_inactive: Vec<String>,
    /// Be the server NAME of `peers`, whatever `this-server-name` of the relationship says, so that
    /// all servers have the same FILE; with several relationships once for each
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) ha_server_name: Vec<String>,
    /// Print the findings of -t or -T as JSON
    #[arg(long, conflicts_with = "config")]
    pub(crate) json: bool,
    /// Skip invalid subnets and reservations, with a warning each, and serve the rest
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Log the statistics of the server every ten seconds
    #[arg(short = 'd')]
    pub(crate) debug: bool,
    /// Print the compatible version of Kea and exit
    #[arg(short = 'v')]
    pub(crate) version: bool,
    /// Print the compatible version of Kea, this server's version and its lease backends, and exit
    #[arg(short = 'V')]
    pub(crate) extended_version: bool,
    /// Print build information and exit
    #[arg(short = 'W')]
    pub(crate) build_report: bool,
    /// Turn violations of Kea 3's security rules into warnings: paths outside of Kea's folders,
    /// HTTP without authentication, secrets in clear text
    #[arg(short = 'X')]
    pub(crate) unrestricted: bool,
    /// Accepted without effect: the server always ends after a command that failed halfway through
    /// a configuration change
    #[arg(short = 'F')]
    pub(crate) exit_on_failure: bool,
    /// Repair mode: accept commands but serve no clients; leases do not expire and are not checked
    /// when loaded
    #[arg(short = 'R')]
    pub(crate) repair: bool,
    /// Accepted for Kea command lines; set the verbosity in `loggers`
    #[arg(short = 's', hide = true)]
    pub(crate) silent: bool,
}

/// Kind of DHCP server that the command runs: DHCPv4 or DHCPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DhcpServerKind {
    Dhcp4,
    Dhcp6,
}

impl DhcpServerKind {
    const fn port(self) -> u16 {
        match self {
            Self::Dhcp4 => 67,
            Self::Dhcp6 => 547,
        }
    }

    pub(crate) const fn family(self) -> IpVersion {
        match self {
            Self::Dhcp4 => IpVersion::V4,
            Self::Dhcp6 => IpVersion::V6,
        }
    }

    fn extended_version(self) -> String {
        format!("{}\n", dhcp_server::extended_version(self.family()))
    }

    fn serve(self, settings: &DaemonSettings) -> Result<(), ServerError> {
        match self {
            Self::Dhcp4 => dhcp_server::run_dhcp4(settings),
            Self::Dhcp6 => dhcp_server::run_dhcp6(settings),
        }
    }
}

/// Runs the server, or the check or query that `args` select, and returns the exit code.
pub(crate) fn run(server: DhcpServerKind, args: &DhcpServerArgs) -> ExitCode {
    let result = match (args.check.as_ref().or(args.test.as_ref()), &args.config) {
        _ if args.version => print_text(&format!("{}\n", dhcp_server::KEA_LEVEL)),
        _ if args.extended_version => print_text(&server.extended_version()),
        _ if args.build_report => print_text(&dhcp_server::build_report()),
        (Some(path), _) => {
            let accepted = &args.accept_inactive;
            let check =
                ConfigurationCheck { server, path, read_options: read_options(args), accepted };
            if args.json { check.print_json() } else { check.print() }
        }
        (None, Some(path)) => server.serve(&settings(server, args, path.clone())),
        (None, None) => {
            netio::stderr::print_line(
                "error: name a configuration with -c FILE, or with -t FILE to check it",
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A command ended the server with this code: not an error.
        Err(ServerError::Commanded(code)) => ExitCode::from(code),
        Err(error) => {
            netio::stderr::print_line(format_args!("{}", prefixed(&error)));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Name of Kea's environment variable with which the server sends replies to the source of the
/// request.
const TO_SOURCE_VARIABLE: &str = "KEA_TEST_SEND_RESPONSES_TO_SOURCE";

fn settings(
    server: DhcpServerKind,
    args: &DhcpServerArgs,
    configuration: PathBuf,
) -> DaemonSettings {
    DaemonSettings {
        configuration,
        port: args.port.unwrap_or_else(|| server.port()),
        client_port: args.client_port,
        to_source: std::env::var_os(TO_SOURCE_VARIABLE).is_some(),
        is_verbose: args.debug,
        terms: read_options(args),
        is_repairing: args.repair,
        accept_inactive: args.accept_inactive.clone(),
    }
}

fn read_options(args: &DhcpServerArgs) -> ConfigurationReadOptions {
    let extent = if args.lenient { RequiredValidity::WhatIsRight } else { RequiredValidity::Whole };
    let server_names = args.ha_server_name.clone();
    ConfigurationReadOptions { extent, is_unrestricted: args.unrestricted, server_names }
}

/// Formats `error` with the prefix `error:`. Configuration problems already have the prefix.
fn prefixed(error: &ServerError) -> String {
    match error {
        ServerError::Configuration(_) => error.to_string(),
        ServerError::Inactive(_) => format!("error: refusing to start: {error}"),
        _ => format!("error: {error}"),
    }
}
