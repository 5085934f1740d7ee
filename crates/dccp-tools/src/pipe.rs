//! Commands `godwit dccp send` and `recv`: a file or a pipe through a connection.
//!
//! DCCP repeats nothing: data lost on the way is missing at the other end, and both ends print how
//! much they sent and read.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;

use base::{ToolError, ToolResult};

use crate::blocking::{CommandConnection, WaitResult};
use crate::options::LinkArgs;
use crate::outcome::DccpCommandOutcome;

/// Send a file, or standard input, to `godwit dccp recv`.
///
/// The data is cut into datagrams of the path's maximum length, or of -l. DCCP does not repeat lost
/// data.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct SendArgs {
    /// Host to send to
    host: String,
    /// File to send [default: standard input]
    file: Option<PathBuf>,
    /// Length of a datagram in bytes [default: what the path allows]
    #[arg(short = 'l', long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..))]
    len: Option<u16>,
    // Last, because its heading holds for all flags after it.
    #[command(flatten)]
    link: LinkArgs,
}

/// Receive data of `godwit dccp send` into a file or to standard output.
///
/// The command accepts one connection and ends with it.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct RecvArgs {
    /// File to write [default: standard output]
    file: Option<PathBuf>,
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `godwit dccp send`: sends a file or the standard input over one connection.
///
/// # Errors
///
/// Returns the error.
pub fn send(args: &SendArgs) -> ToolResult<DccpCommandOutcome> {
    let mut input = match &args.file {
        Some(path) => File::open(path).map_err(|error| {
            ToolError::Failed(format!("cannot open {}: {error}", path.display()))
        })?,
        None => standard(io::stdin().as_fd())?,
    };
    let WaitResult::Done(single) = CommandConnection::connect(&args.link, &args.host)? else {
        return Ok(DccpCommandOutcome::Interrupted);
    };
    let max = single.packet_bytes_max()?;
    let len = args.len.map_or(max, usize::from);
    if len > max {
        let text = format!("-l {len}: the path takes datagrams of at most {max} bytes");
        return Err(ToolError::Usage(text));
    }
    let mut buffer = vec![0; len];
    let (mut datagrams, mut bytes) = (0_u64, 0_u64);
    loop {
        let WaitResult::Done(filled) = single.read(&mut input, &mut buffer)? else {
            return Ok(DccpCommandOutcome::Interrupted);
        };
        if filled == 0 {
            break;
        }
        let WaitResult::Done(()) = single.send(&buffer[..filled])? else {
            return Ok(DccpCommandOutcome::Interrupted);
        };
        datagrams += 1;
        bytes += filled as u64;
    }
    let WaitResult::Done(()) = single.close()? else { return Ok(DccpCommandOutcome::Interrupted) };
    netio::stderr::print_line(format_args!("sent {bytes} bytes in {datagrams} datagrams"));
    Ok(DccpCommandOutcome::Done)
}

/// Runs `godwit dccp recv`: writes the data of one connection to a file or to the standard output.
///
/// # Errors
///
/// Returns the error.
pub fn recv(args: &RecvArgs) -> ToolResult<DccpCommandOutcome> {
    let mut output = match &args.file {
        Some(path) => File::create(path).map_err(|error| {
            ToolError::Failed(format!("cannot write {}: {error}", path.display()))
        })?,
        None => standard(io::stdout().as_fd())?,
    };
    let WaitResult::Done(single) =
        CommandConnection::accept(&args.link, |text| netio::stderr::print_line(text))?
    else {
        return Ok(DccpCommandOutcome::Interrupted);
    };
    let (mut datagrams, mut bytes) = (0_u64, 0_u64);
    let mut datagram = Vec::new();
    loop {
        match single.receive(&mut datagram)? {
            WaitResult::Done(true) => {
                let WaitResult::Done(()) = single.write(&mut output, &datagram)? else {
                    return Ok(DccpCommandOutcome::Interrupted);
                };
                datagrams += 1;
                bytes += datagram.len() as u64;
            }
            WaitResult::Done(false) => break,
            WaitResult::Interrupted => return Ok(DccpCommandOutcome::Interrupted),
        }
    }
    let dropped = single.unread_drops();
    let WaitResult::Done(()) = single.close()? else { return Ok(DccpCommandOutcome::Interrupted) };
    netio::stderr::print_line(format_args!("received {bytes} bytes in {datagrams} datagrams"));
    if dropped > 0 {
        netio::stderr::print_line(format_args!(
            "{dropped} more datagrams arrived and were dropped, because the earlier ones were not \
             written in time"
        ));
    }
    Ok(DccpCommandOutcome::Done)
}

/// Returns a standard stream as an unbuffered file, so that waiting for its descriptor is reliable.
fn standard(stream: BorrowedFd<'_>) -> ToolResult<File> {
    let stream = stream.try_clone_to_owned();
    stream
        .map(File::from)
        .map_err(|error| ToolError::Failed(format!("cannot open a standard stream: {error}")))
}
