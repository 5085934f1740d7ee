//! Command `godwit kea-shell`: one command to a server over HTTP or HTTPS, for scripts that call
//! `kea-shell`. Flags, output and exit codes are those of Kea's program, which is written in
//! Python.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use dhcp_server::{ClientTls, CommandFailure, CommandRequest, KEA_LEVEL, send_command};

use crate::output;

/// Send a command to a server over HTTP or HTTPS, like Kea's kea-shell, and print the answer.
///
/// Reads the arguments of the command from standard input, without the outer braces. Exit codes: 0
/// the server answered, 1 it did not, 2 bad arguments.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, infer_long_args = true)]
pub(crate) struct KeaShellArgs {
    /// Host of the server that gets the command
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// TCP port of the server that gets the command
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Path of the server's URL
    #[arg(long, default_value = "", hide_default_value = true)]
    path: String,
    /// File or folder with CA certificates to check the server's certificate with; enables TLS
    #[arg(long, value_name = "PATH")]
    ca: Option<PathBuf>,
    /// Client certificate for HTTPS
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Key of the client certificate for HTTPS
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Seconds to wait for the server's answer
    #[arg(long, default_value_t = 10)]
    timeout: u64,
    /// Service that the command is for, such as dhcp4; may be repeated
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    service: Vec<String>,
    /// User for basic HTTP authentication
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    auth_user: String,
    /// Password for basic HTTP authentication; visible to other users on the command line
    #[arg(long, value_name = "PASSWORD", default_value = "", hide_default_value = true)]
    auth_password: String,
    /// File whose first line is the password for basic HTTP authentication; overrides
    /// --auth-password
    #[arg(long, value_name = "FILE")]
    auth_password_file: Option<PathBuf>,
    /// Command to send
    #[arg(default_value = "list-commands")]
    command: String,
    /// Print the compatible version of Kea and exit
    #[arg(short = 'v')]
    version: bool,
    /// Print the compatible version of Kea and this program's version, and exit
    #[arg(short = 'V')]
    extended: bool,
}

/// Sends the command that `args` and standard input describe, prints the answer and returns the
/// exit code.
pub(crate) fn run(args: &KeaShellArgs) -> ExitCode {
    if args.version {
        return output::exit_code(output::print_line(KEA_LEVEL));
    }
    if args.extended {
        let own = env!("CARGO_PKG_VERSION");
        return output::exit_code(output::print_line(format_args!("{KEA_LEVEL} (godwit {own})")));
    }
    match answer(args) {
        Ok(text) => output::exit_code(output::print_line(text)),
        // Kea's program prints its faults to standard output, too.
        Err(fault) => match output::print_line(fault) {
            Ok(()) => ExitCode::FAILURE,
            Err(problem) => output::exit_code(Err(problem)),
        },
    }
}

/// Returns the server's answer, or a line with the reason of the failure.
fn answer(args: &KeaShellArgs) -> Result<String, String> {
    let tls = tls(args)?;
    let failed = |cause: String| format!("Failed to run: {cause}");
    let credentials = match args.auth_user.as_str() {
        "" => None,
        user => Some((user.to_owned(), password(args).map_err(failed)?)),
    };
    let mut arguments = String::new();
    std::io::stdin()
        .read_to_string(&mut arguments)
        .map_err(|error| failed(format!("cannot read standard input: {error}")))?;
    let request = CommandRequest {
        host: args.host.clone(),
        port: args.port,
        path: format!("/{}", args.path),
        user_agent: format!("Kea-shell/{KEA_LEVEL}"),
        credentials,
        tls,
        body: body(&args.command, &args.service, &arguments),
        timeout: Duration::from_secs(args.timeout),
        // A list of all leases may have gigabytes, and goes to the person who asked for it.
        answer_max: usize::MAX,
    };
    match send_command(&request) {
        Ok(response) if (200..300).contains(&response.status) => Ok(response.body),
        Ok(response) => Err(failed(format!("HTTP Error {}: {}", response.status, response.reason))),
        Err(CommandFailure::Timeout) => Err("Connection timeout".to_owned()),
        Err(CommandFailure::Failed(cause)) => Err(failed(cause)),
    }
}

fn tls(args: &KeaShellArgs) -> Result<Option<ClientTls>, String> {
    let identity = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
        (None, None) => None,
        _ => return Err("--cert and --key must be used together".to_owned()),
    };
    match &args.ca {
        Some(authorities) => {
            let authorities = authorities.clone();
            Ok(Some(ClientTls { authorities, identity, checks_name: true }))
        }
        None if identity.is_some() => {
            Err("--cert and --key with HTTPS disabled (no --ca)".to_owned())
        }
        None => Ok(None),
    }
}

fn password(args: &KeaShellArgs) -> Result<String, String> {
    args.auth_password_file.as_deref().map_or_else(|| Ok(args.auth_password.clone()), first_line)
}

fn first_line(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Returns the body of the request: the command as JSON, with the text from standard input between
/// the braces of `arguments`.
fn body(command: &str, services: &[String], arguments: &str) -> String {
    let mut text = format!("{{ \"command\": \"{command}\"");
    let service_names: Vec<&str> =
        services.iter().map(String::as_str).filter(|service| !service.is_empty()).collect();
    if !service_names.is_empty() {
        text += &format!(", \"service\": [\"{}\"]", service_names.join("\",\""));
    }
    // A line end alone is no argument.
    if arguments.len() > 1 {
        text += &format!(", \"arguments\": {{ {arguments} }}");
    }
    text + " }"
}

#[test]
fn arguments_stand_between_braces_as_in_kea_shell() {
    let services = ["dhcp4", "", "dhcp6"].map(str::to_owned);
    let expected =
        "{ \"command\": \"c\", \"service\": [\"dhcp4\",\"dhcp6\"], \"arguments\": { \"a\": 1\n } }";
    assert_eq!(body("c", &services, "\"a\": 1\n"), expected);
    assert_eq!(body("c", &[], "\n"), "{ \"command\": \"c\" }");
}
