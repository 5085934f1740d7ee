//! Command `godwit netem`: flags to calls of the crate `netem-link`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use base::ToolError;
use clap::Subcommand;
use netem_link::{
    DirectionSelector, LinkInterface, LinkReport, LinkRequest, control, kernel, parse_words,
};
use netio::signal::Signals;
use netio::{Clock, stdout};

/// Emulate a link between two interfaces: delay, loss, rate and more, with the parameters of tc.
///
/// Bridges two interfaces in user space. Needs root or CAP_NET_RAW. WORDS are those of tc-netem(8)
/// and, after the word `tbf`, of tc-tbf(8): `delay 75ms 5ms loss 10%`, `delay 10ms tbf rate 2mbit
/// burst 10kb latency 50ms`. Without any, all packets pass at once. Prints a report at the end and
/// for every SIGUSR1.
///
/// Exit codes: 0 ended by SIGTERM, SIGINT or --duration; 1 failed at run time, or --kernel and the
/// kernel has no netem; 2 bad arguments, words or interfaces.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(arg_required_else_help = true)]
pub(crate) struct NetemArgs {
    #[command(subcommand)]
    command: Option<NetemCommand>,
    #[command(flatten)]
    run: NetemRunArgs,
}

#[derive(Debug, clap::Args)]
struct NetemRunArgs {
    /// Interfaces at both ends of the link; NAMESPACE:NAME for a namespace of `ip netns`, NAME/tun
    /// for a TUN device, which is made if it is missing
    #[arg(long, num_args = 2, required = true, value_names = ["INTERFACE", "INTERFACE"])]
    between: Vec<LinkInterface>,
    /// Link properties in both directions, in the words of tc-netem(8) and tc-tbf(8)
    #[arg(value_name = "WORDS", allow_negative_numbers = true)]
    words: Vec<String>,
    /// Link properties from the first interface to the second, instead of WORDS
    #[arg(long, value_name = "WORDS")]
    forward: Option<String>,
    /// Link properties from the second interface to the first, instead of WORDS
    #[arg(long, value_name = "WORDS")]
    backward: Option<String>,
    /// Random seed: the same seed drops the same packets of a sequence [default: from the clock]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Unix socket of the link for commands (`godwit netem change`, `godwit netem show`)
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Also report on the link every N seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<Duration>,
    /// Stop the emulated link after N seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Print reports on the link as JSON, one per line
    #[arg(long)]
    json: bool,
    /// Set up the kernel's netem at both interfaces (`tc qdisc`) and exit; `godwit netem off`
    /// removes it. Does not connect the interfaces
    #[arg(long, conflicts_with_all = ["socket", "interval", "duration", "json"])]
    kernel: bool,
}

#[derive(Debug, Subcommand)]
enum NetemCommand {
    /// Change a running link: WORDS replace all earlier properties.
    ///
    /// Packets in the link keep their time. `delay 0ms` lets all packets pass at once.
    ///
    /// Exit codes: 0 done; 1 nothing listens at the socket; 2 bad arguments or words, nothing
    /// changed.
    Change {
        #[command(flatten)]
        at: RunningLinkArgs,
        /// Change only the direction from the first interface to the second
        #[arg(long)]
        forward: bool,
        /// Change only the direction from the second interface to the first
        #[arg(long, conflicts_with = "forward")]
        backward: bool,
        /// Link properties that replace all earlier ones
        #[arg(value_name = "WORDS", required = true, allow_negative_numbers = true)]
        words: Vec<String>,
    },
    /// Print the report of a running link.
    ///
    /// Exit codes: 0 done; 1 nothing listens at the socket; 2 bad arguments.
    Show {
        #[command(flatten)]
        at: RunningLinkArgs,
    },
    /// Remove the setup of --kernel, and nothing else.
    ///
    /// Exit codes: 0 done, also if there was none; 1 tc refuses; 2 bad arguments.
    Off {
        /// Interfaces at both ends of the link
        #[arg(long, num_args = 2, required = true, value_names = ["INTERFACE", "INTERFACE"])]
        between: Vec<LinkInterface>,
    },
}

/// Arguments that name a running link.
#[derive(Debug, clap::Args)]
struct RunningLinkArgs {
    /// Socket of the running link
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Print the report on the link as JSON
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "must be a number of seconds".to_owned())?;
    let duration = Duration::try_from_secs_f64(number).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("must be greater than 0".to_owned()) } else { Ok(duration) }
}

/// Runs the emulated link, or the command to one, that `args` select, and returns the exit code.
pub(crate) fn run(args: &NetemArgs) -> ExitCode {
    let done = match &args.command {
        None if args.run.kernel => set_up(&args.run),
        None => bridge(&args.run),
        Some(NetemCommand::Change { at, forward, backward, words }) => {
            let direction = match (forward, backward) {
                (true, _) => DirectionSelector::Forward,
                (_, true) => DirectionSelector::Backward,
                _ => DirectionSelector::Both,
            };
            control::change(&at.socket, direction, &words.join(" "))
                .and_then(|report| print_report(&report, at.json))
        }
        Some(NetemCommand::Show { at }) => {
            control::show(&at.socket).and_then(|report| print_report(&report, at.json))
        }
        Some(NetemCommand::Off { between }) => remove(between),
    };
    netio::stderr::exit_code_with_errors(done.map(|()| ExitCode::SUCCESS))
}

fn pair(between: &[LinkInterface]) -> Result<[LinkInterface; 2], ToolError> {
    let wrong = |_| ToolError::Usage("--between takes two interfaces, once".to_owned());
    between.to_vec().try_into().map_err(wrong)
}

/// Returns the link properties of `args`, forward and backward.
fn words(args: &NetemRunArgs) -> [String; 2] {
    let both = args.words.join(" ");
    [&args.forward, &args.backward].map(|own| own.clone().unwrap_or_else(|| both.clone()))
}

fn bridge(args: &NetemRunArgs) -> Result<(), ToolError> {
    let [forward, backward] = words(args).map(|words| parse_words(&words));
    // Report all problems of both directions together, common problems once.
    let settings = match (forward, backward) {
        (Ok(forward), Ok(backward)) => [forward, backward],
        (Err(forward), Err(backward)) if forward.to_string() != backward.to_string() => {
            return Err(ToolError::Usage(format!("{forward}\n{backward}")));
        }
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let request = LinkRequest {
        interfaces: pair(&args.between)?,
        settings,
        seed: args.seed.unwrap_or_else(|| Clock::now().wall_us),
        socket: args.socket.clone(),
        interval: args.interval,
        duration: args.duration,
    };
    let signals = Signals::install()
        .and_then(Signals::take_reports_too)
        .map_err(|error| ToolError::Failed(format!("cannot install signal handlers: {error}")))?;
    let [first, second] = &request.interfaces;
    let up = |warnings: &[String]| {
        for warning in warnings {
            netio::stderr::print_line(format_args!("warning: {warning}"));
        }
        netio::stderr::print_line(format_args!(
            "netem: up between {first} and {second}, seed {}",
            request.seed
        ));
    };
    netem_link::serve(&request, signals, up, |report| print_report(report, args.json))
}

fn set_up(args: &NetemRunArgs) -> Result<(), ToolError> {
    let [forward, backward] = words(args);
    let done = kernel::set_up(&pair(&args.between)?, [&forward, &backward], args.seed)?;
    Ok(done.iter().try_for_each(|line| stdout::print_line(&line.to_string()))?)
}

fn remove(between: &[LinkInterface]) -> Result<(), ToolError> {
    let removed = kernel::remove(&pair(between)?)?;
    if removed.is_empty() {
        return Ok(stdout::print_line("nothing to remove")?);
    }
    let print = |interface: &_| stdout::print_line(&format!("removed: netem of {interface}"));
    Ok(removed.iter().try_for_each(print)?)
}

fn print_report(report: &LinkReport, is_json: bool) -> Result<(), ToolError> {
    if is_json {
        stdout::print_line(&serde_json::to_string(report).expect("plain data"))?;
    } else {
        stdout::print(&report.to_string())?;
    }
    Ok(())
}
