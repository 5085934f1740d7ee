//! Command `godwit events`: prints the lease events of a running server.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::output;

/// Print the changes of a running server's leases as they come, one line of JSON each.
///
/// The server sends each change once, in order and after it is durable. The user must be allowed to
/// send commands to the socket.
///
/// Exit codes: 0 the reader of the output has gone; 1 the server refused or ended the stream; 2 bad
/// arguments.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Unix control socket of the server
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Begin with all present leases
    #[arg(long)]
    snapshot: bool,
    /// Print the changes after the one with this `id`
    #[arg(long, value_name = "ID", value_parser = position)]
    after: Option<String>,
}

fn position(text: &str) -> Result<String, String> {
    let is_of_id = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    if text.is_empty() || !text.chars().all(is_of_id) {
        return Err("must be an `id` that the server has sent, or a number".to_owned());
    }
    Ok(text.to_owned())
}

/// Prints the stream of events that `args` describes, and returns the exit code.
pub(crate) fn run(args: &EventsArgs) -> ExitCode {
    output::exit_code(print_events(args))
}

fn print_events(args: &EventsArgs) -> Result<(), String> {
    let name = args.socket.display();
    let failed = |cause: std::io::Error| format!("cannot read from {name}: {cause}");
    let mut stream = UnixStream::connect(&args.socket)
        .map_err(|cause| format!("cannot connect to {name}: {cause}"))?;
    let after = args.after.as_deref().unwrap_or_default();
    // The response to an older client has no chunks: its body is the lines alone.
    let request = format!(
        "GET /events?snapshot={}&after={after} HTTP/1.0\r\nHost: localhost\r\n\
         Accept: application/x-ndjson\r\n\r\n",
        args.snapshot
    );
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let is_accepted = status.split(' ').nth(1) == Some("200");
    let mut is_in_head = true;
    for line in lines {
        let line = line.map_err(failed)?;
        match (is_in_head, &*line) {
            (true, "") => is_in_head = false,
            // Headers, and heartbeats.
            (true, _) | (false, "") => {}
            (false, body) if !is_accepted => return Err(format!("the server refuses: {body}")),
            (false, event) => output::print_line(event)?,
        }
        if netio::stdout::is_closed() {
            return Ok(());
        }
    }
    Err(format!("the server ended the stream ({status})"))
}
