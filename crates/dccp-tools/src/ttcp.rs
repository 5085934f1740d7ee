//! Command `godwit dccp ttcp`: throughput in the manner of ttcp, the oldest program for it, with
//! ttcp's flags and output lines.

use base::ToolResult;
use netio::Clock;

use crate::blocking::{CommandConnection, WaitResult};
use crate::debug::describe_figures;
use crate::options::LinkArgs;
use crate::outcome::{DccpCommandOutcome, print_text};

/// Default length of a datagram in bytes, as in the original ttcp. If the path permits only shorter
/// ones, its maximum is used.
const LEN: usize = 8_192;

/// Send a pattern (-t HOST) or receive one (-r) and print the rate, like ttcp.
///
/// The two ends exchange only DCCP packets, so the other end may be another program. The
/// receiver counts the data that its application read.
///
/// Exit codes: 0 done; 1 failed; 2 bad arguments; 130 interrupted.
#[derive(Clone, Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("side").required(true).args(["transmit", "receive"])))]
pub struct TtcpArgs {
    /// Transmit to HOST, anywhere among the arguments: `-t -l 256 HOST`
    #[arg(short = 't', long, requires = "host")]
    transmit: bool,
    /// Host to transmit to, with -t
    #[arg(value_name = "HOST", conflicts_with = "receive")]
    host: Option<String>,
    /// Receive a pattern from one connection, and print its rate
    #[arg(short = 'r', long)]
    receive: bool,
    /// Length of a datagram in bytes; reduced, with a message, if the path allows less [default:
    /// 8192]
    #[arg(short = 'l', long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..))]
    len: Option<u16>,
    /// Number of datagrams to send
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 2_048)]
    count: u64,
    /// Print more details: congestion control, packet size and processor time
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Accepted for ttcp command lines; a pattern is always sent, and received data is discarded
    #[arg(short = 's', hide = true)]
    _pattern: bool,
    /// Accepted for ttcp command lines; DCCP is always used
    #[arg(short = 'c', long = "dccp")]
    _dccp: bool,
    // Last, since its heading is that of all that follows.
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `godwit dccp ttcp`: sends a pattern or receives one, and prints the rate.
///
/// # Errors
///
/// Returns the error.
pub fn run(args: &TtcpArgs) -> ToolResult<DccpCommandOutcome> {
    match args.destination() {
        Some(host) => transmit(args, host),
        None => receive(args),
    }
}

impl TtcpArgs {
    /// Returns the host to transmit to; `None` for a receiver.
    fn destination(&self) -> Option<&str> {
        if self.transmit { self.host.as_deref() } else { None }
    }
}

fn transmit(args: &TtcpArgs, host: &str) -> ToolResult<DccpCommandOutcome> {
    let port = args.link.port;
    let WaitResult::Done(single) = CommandConnection::connect(&args.link, host)? else {
        return Ok(DccpCommandOutcome::Interrupted);
    };
    let max = single.packet_bytes_max()?;
    let requested = args.len.map_or(LEN, usize::from);
    let len = requested.min(max);
    if len < requested {
        print_text(&format!(
            "ttcp-t: datagrams of {requested} bytes are longer than the path accepts, sending \
             {len}\n"
        ))?;
    }
    print_text(&format!(
        "ttcp-t: buflen={len}, nbuf={}, port={port}  dccp  -> {host}\n",
        args.count
    ))?;
    if args.verbose {
        let (tx, rx) = single.ccids()?;
        print_text(&format!(
            "ttcp-t: connected, maximum packet size {max}, tx_ccid {tx}, rx_ccid {rx}\n"
        ))?;
    }
    // The pattern of ttcp: printable characters in turn.
    let pattern: Vec<u8> = (b' '..=b'~').cycle().take(len).collect();
    let (started_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
    let mut sent = 0;
    while sent < args.count {
        let WaitResult::Done(()) = single.send(&pattern)? else { break };
        sent += 1;
    }
    let figures = single.sender_figures();
    let is_interrupted = matches!(single.close()?, WaitResult::Interrupted) || sent < args.count;
    let run = TtcpFigures { side: 't', bytes: sent * len as u64, calls: sent, started_ns, cpu_ns };
    run.print(args.verbose)?;
    if args.verbose
        && let Some(figures) = figures
    {
        print_text(&format!("ttcp-t: {}\n", describe_figures(figures)))?;
    }
    Ok(if is_interrupted { DccpCommandOutcome::Interrupted } else { DccpCommandOutcome::Done })
}

fn receive(args: &TtcpArgs) -> ToolResult<DccpCommandOutcome> {
    let mut printed = Ok(());
    let accepted = CommandConnection::accept(&args.link, |text| {
        printed = print_text(&format!("ttcp-r: dccp, {text}\n"));
    })?;
    printed?;
    let WaitResult::Done(single) = accepted else { return Ok(DccpCommandOutcome::Interrupted) };
    if args.verbose {
        let remote = single.remote();
        print_text(&format!("ttcp-r: accept from {remote}\n"))?;
    }
    let (started_ns, cpu_ns) = (Clock::mono_ns(), Clock::process_cpu_ns());
    let (mut bytes, mut calls) = (0, 0);
    let mut datagram = Vec::new();
    let is_interrupted = loop {
        match single.receive(&mut datagram)? {
            WaitResult::Done(true) => {
                bytes += datagram.len() as u64;
                calls += 1;
            }
            WaitResult::Done(false) => break false,
            WaitResult::Interrupted => break true,
        }
    };
    TtcpFigures { side: 'r', bytes, calls, started_ns, cpu_ns }.print(args.verbose)?;
    let is_interrupted = matches!(single.close()?, WaitResult::Interrupted) || is_interrupted;
    Ok(if is_interrupted { DccpCommandOutcome::Interrupted } else { DccpCommandOutcome::Done })
}

/// Figures of the transfer at one end: bytes, calls to send or receive, times.
struct TtcpFigures {
    side: char,
    bytes: u64,
    calls: u64,
    started_ns: u64,
    cpu_ns: u64,
}

impl TtcpFigures {
    fn print(&self, is_verbose: bool) -> ToolResult<()> {
        let Self { side, bytes, calls, .. } = self;
        let seconds = (Clock::mono_ns().saturating_sub(self.started_ns) as f64 / 1e9).max(1e-9);
        let cpu_s = Clock::process_cpu_ns().saturating_sub(self.cpu_ns) as f64 / 1e9;
        let rate = *bytes as f64 / 1_024.0 / seconds;
        let mut text = format!(
            "ttcp-{side}: {bytes} bytes in {seconds:.2} real seconds = {rate:.2} KB/sec +++\n"
        );
        let per_call = seconds * 1e3 / (*calls).max(1) as f64;
        let per_second = *calls as f64 / seconds;
        text += &format!(
            "ttcp-{side}: {calls} I/O calls, msec/call = {per_call:.2}, calls/sec = {per_second:.2}\n"
        );
        if is_verbose {
            let share = cpu_s * 100.0 / seconds;
            text += &format!("ttcp-{side}: {cpu_s:.2} CPU seconds = {share:.0} % of a processor\n");
        }
        print_text(&text)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn the_host_may_follow_t_or_come_last() {
        let command = TtcpArgs::augment_args(clap::Command::new("ttcp"));
        let parsed = |line: &str| {
            let words = line.split(' ');
            let matches = command.clone().try_get_matches_from(words).expect(line);
            TtcpArgs::from_arg_matches(&matches).expect(line)
        };
        for line in [
            "ttcp -t host",
            "ttcp -ts host",
            "ttcp -tsn100 host",
            "ttcp -t -s host",
            "ttcp -s -n 5 -t -l256 host -v",
        ] {
            assert_eq!(parsed(line).destination(), Some("host"), "{line}");
        }
        assert_eq!(parsed("ttcp -rs").destination(), None);
        for line in ["ttcp -t", "ttcp -t one two", "ttcp -r host"] {
            assert!(command.clone().try_get_matches_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
