//! Command `godwit ifpps`: packet rates of an interface per interval, and the load of the
//! processors that serve it.

mod csv;
mod document;
mod look;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use base::{ToolError, ToolResult};
use counters::parse_interface_names;
use netio::signal::Signals;
use netio::{Promiscuity, Screen, interface};
use testbed::proc;

use self::document::IfppsDocument;
use self::look::{CounterDifference, CounterReading, InterfaceDescription};
use self::view::{FrameForm, IfppsViewContext};
use crate::print;
use crate::reading_timer::ReadingTimer;

/// Show packet rates of an interface and the load of each processor, like ifpps.
///
/// Lines and columns are those of ifpps (netsniff-ng). Unlike there, rates are divided by the
/// actual length of the interval, no packet falls between two lines, and processor time includes
/// software interrupts, stolen time and guests. Without --csv or --json it fills the terminal until
/// SIGINT or SIGTERM.
///
/// Exit codes: 0 done, or ended by SIGINT or SIGTERM; 1 failed at run time, or the interface
/// disappeared; 2 bad arguments or a missing interface.
#[derive(Debug, clap::Args)]
pub struct IfppsArgs {
    /// Interface to show, for instance eth0 or lo
    #[arg(short = 'd', long = "dev", value_name = "INTERFACE", conflicts_with = "name")]
    device: Option<String>,
    /// Interface to show, as with -d
    #[arg(value_name = "INTERFACE", required_unless_present_any = ["device", "version"])]
    name: Option<String>,
    /// Show at most this many processors, the busiest first
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    num_cpus: usize,
    /// Milliseconds between two readings; the unit `t` of the rates
    #[arg(short = 't', long, value_name = "MS", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    interval: u64,
    /// Print columns for gnuplot, a head and one line, instead of filling the terminal
    #[arg(short = 'c', long)]
    csv: bool,
    /// With --csv: print a line per interval until interrupted
    #[arg(short = 'l', long = "loop", requires = "csv")]
    is_endless: bool,
    /// With --csv: leave out the head line
    #[arg(short = 'o', long, requires = "csv")]
    omit_header: bool,
    /// Print one JSON document per interval, one per line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// End after this many intervals
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Also show medians over all processors
    #[arg(short = 'm', long)]
    median: bool,
    /// Show rates as percentages of the line rate, framing included
    #[arg(short = 'P', long)]
    percentage: bool,
    /// Make the interface promiscuous during the run (needs root or CAP_NET_RAW)
    #[arg(short = 'p', long)]
    promisc: bool,
    /// Print no warnings
    #[arg(short = 'W', long)]
    no_warn: bool,
    /// Print the version
    #[arg(short = 'v', long, exclusive = true)]
    version: bool,
}

/// Version of netsniff-ng whose ifpps command lines are accepted.
const REFERENCE: &str = "0.6.8";

/// Form of the output of an interval: view, columns for gnuplot, or JSON.
enum IfppsOutput {
    Csv { cpus: Vec<u32> },
    Json,
    Text(Option<Screen>),
}

/// Shows the traffic of the interface for each interval until the last one that the flags ask for.
pub(crate) fn run(args: &IfppsArgs) -> ToolResult<()> {
    if args.version {
        let version = env!("CARGO_PKG_VERSION");
        return print(&format!("ifpps of godwit {version}, compatible with ifpps {REFERENCE}\n"));
    }
    let name = args.device.as_ref().or(args.name.as_ref()).expect("one of both is required");
    let device = InterfaceDescription::named(name);
    let Some((mut at, mut before)) = CounterReading::take(&device) else {
        return Err(unknown(name));
    };
    let _promiscuity = args.promisc.then(|| promiscuity(name)).transpose()?;
    // One line unless the flags ask for more, as in ifpps.
    let count = args.count.or_else(|| (args.csv && !args.is_endless).then_some(1));
    let mut timer =
        ReadingTimer::start(Signals::for_command()?, Duration::from_millis(args.interval));
    let form = begin(args, &device, &before)?;
    let view = view(args, device);
    let mut frame_count = 0;
    while count.is_none_or(|count| frame_count < count) && timer.wait()? {
        let Some((now_at, now)) = CounterReading::take(&view.device) else {
            // The terminal shows its own screen again before the error is printed.
            drop(form);
            return Err(ToolError::Failed(format!("interface {name} no longer exists")));
        };
        let step = CounterDifference::between(&before, &now, (now_at - at).as_secs_f64());
        show(args, &form, &view, &now, &step)?;
        (at, before) = (now_at, now);
        frame_count += 1;
    }
    Ok(())
}

fn unknown(name: &str) -> ToolError {
    let devices = proc::read("/proc/net/dev");
    let known = parse_interface_names(&devices).join(", ");
    ToolError::Usage(format!("no such interface: {name}; interfaces are {known}"))
}

fn promiscuity(name: &str) -> ToolResult<Promiscuity> {
    let interface = interface::named(name).map_err(ToolError::cannot("find interface", name))?;
    Ok(Promiscuity::enable(&interface)?)
}

fn begin(
    args: &IfppsArgs,
    device: &InterfaceDescription,
    first: &CounterReading,
) -> ToolResult<IfppsOutput> {
    if args.json {
        return Ok(IfppsOutput::Json);
    }
    if args.csv {
        let cpus: Vec<u32> = first.cpus.iter().map(|cpu| cpu.times.cpu).collect();
        if !args.omit_header {
            print(&csv::head(&device.name, args.interval, &cpus))?;
        }
        return Ok(IfppsOutput::Csv { cpus });
    }
    let screen = io::stdout().is_terminal().then(Screen::enter).transpose();
    Ok(IfppsOutput::Text(screen.map_err(ToolError::cannot("write to", "standard output"))?))
}

fn view(args: &IfppsArgs, device: InterfaceDescription) -> IfppsViewContext {
    let kernel = |name: &str| proc::read(format!("/proc/sys/kernel/{name}")).trim().to_owned();
    IfppsViewContext {
        device,
        release: kernel("osrelease"),
        host: kernel("hostname"),
        interval_ms: args.interval,
        cpus_max: args.num_cpus,
        is_median: args.median,
        is_percentage: args.percentage,
        is_unwarned: args.no_warn,
    }
}

fn show(
    args: &IfppsArgs,
    form: &IfppsOutput,
    view: &IfppsViewContext,
    now: &CounterReading,
    step: &CounterDifference,
) -> ToolResult<()> {
    match form {
        IfppsOutput::Csv { cpus } => {
            if step.went_back && !args.no_warn {
                let name = &view.device.name;
                netio::stderr::print_line(format_args!(
                    "warning: the counters of {name} decreased; the traffic of this interval is \
                     not counted"
                ));
            }
            print(&csv::row(now, step, args.interval, cpus))
        }
        IfppsOutput::Json => {
            let document = IfppsDocument::of(&view.device.name, now, step);
            print(&(serde_json::to_string(&document).expect("plain data") + "\n"))
        }
        IfppsOutput::Text(screen) => {
            let form = match screen {
                Some(_) => IfppsViewContext::form_for(netio::screen::size(), step.cpus.len()),
                None => FrameForm::WHOLE,
            };
            let frame = view.frame(now, step, view.device.has_link(), form);
            match screen {
                Some(screen) => {
                    screen.show(&frame).map_err(ToolError::cannot("write to", "standard output"))
                }
                None => print(&(frame + "\n")),
            }
        }
    }
}

/// Returns the median of `values`: the value in the middle, or the mean of the two in the middle; 0
/// without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (None, _) => 0.0,
        (Some(value), 1) => *value,
        (Some(value), _) => value.midpoint(values[middle - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        for (values, expected) in [
            (vec![], 0.0),
            (vec![3.0], 3.0),
            (vec![9.0, 1.0], 5.0),
            (vec![9.0, 1.0, 2.0], 2.0),
            (vec![0.0, 1.0, 3.0, 100.0], 2.0),
        ] {
            assert_eq!(median(values.clone()), expected, "{values:?}");
        }
    }
}
