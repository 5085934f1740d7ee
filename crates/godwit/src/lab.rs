//! Command `godwit lab`: flags to calls of the crate `lab`, results to the terminal.

mod compare;
mod regression;
mod remote;
mod serve;
mod stored;
mod top;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use lab::target::{RunningTarget, TargetOptions};
use lab::{LabError, ProgressWriter, RunSettings, SuiteSettings};
use measure::Plan;
use measure::plan::Topology;
use measure::suite::Suite;
use testbed::CommandLine;

use crate::signals;

/// Name of the page in a result folder.
const REPORT: &str = "report.html";

/// Benchmark DHCP, DNS and DCCP servers, compare and store the results.
#[derive(Debug, clap::Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    Run(Box<LabRunArgs>),
    Report(ReportArgs),
    Compare(compare::LabCompareArgs),
    List(stored::ListArgs),
    Pin(stored::PinArgs),
    Trend(stored::TrendArgs),
    Serve(serve::LabServeArgs),
    /// List plans and suites, with the time and the software that each needs.
    ///
    /// Exit code: 0.
    Plans(JsonArgs),
    /// List supported third-party servers, with their paths or the packages to install.
    ///
    /// Exit code: 0.
    Peers(JsonArgs),
    #[command(hide = true)]
    Limit(LimitArgs),
    #[command(hide = true)]
    Distance(DistanceArgs),
    /// (internal) Remote agent of a plan with `[hosts]`, started by the lab over SSH; ends with
    /// standard input.
    ///
    /// Exit codes: 0 done; 1 the folder cannot be made.
    #[command(hide = true)]
    Attend,
    #[command(hide = true)]
    Hold(remote::HoldArgs),
    Top(top::LabTopArgs),
    /// Remove leftovers of killed runs: namespaces, temporary folders, processes.
    ///
    /// Does not touch running labs or anything that the lab did not make.
    ///
    /// Exit codes: 0 done, also if nothing was left; 1 something could not be removed.
    Clean,
}

/// Run a benchmark plan or suite and write an HTML report.
///
/// A plan loads servers in turn, each up to its highest rate. A suite runs several plans and
/// compares figures with targets. As root the lab builds two network namespaces joined by a veth
/// pair and removes them afterwards; otherwise it uses loopback and says so.
///
/// Exit codes: 0 done; 1 failed at run time (nothing is left behind); 2 bad arguments or a bad
/// plan; 3 measured, but a service fell short: no confirmed rate, loss at every rate, the server
/// ended or stopped answering, leases are missing from its file, or several clients got one
/// address; for DCCP a mean of CCID 3 outside of the plan's range (not with --quick); 130
/// interrupted: after a whole round the result folder has the results so far, before it nothing is
/// left behind.
#[derive(Debug, clap::Args)]
struct LabRunArgs {
    /// Name of a plan or suite (see `godwit lab plans`), or path of a TOML file
    plan: String,
    /// Servers to measure: godwit, kea, kea3 (Debian 13's), isc-dhcpd, dnsmasq; for DNS echo, bind,
    /// knot, unbound, nsd, dumresp [default: the plan's]
    #[arg(long = "server", value_name = "NAME", value_delimiter = ',')]
    servers: Vec<String>,
    /// Measure a server started by this command; the lab fills in {config} {address} {port}
    /// {folder} {relay} {relay_port}, for DNS {zone} {address} {port} {folder}
    #[arg(long, value_name = "COMMAND")]
    server_command: Option<String>,
    /// Measure a running server at this address; its processors and memory are not measured
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    target: Option<String>,
    /// With --target: relay address of the generator, to which the server answers [default: this
    /// machine's address towards the server, port 67 or 547]
    #[arg(long, value_name = "ADDRESS[:PORT]", requires = "target")]
    relay: Option<String>,
    /// With --target: number of addresses in the server's pool, after which clients repeat
    /// [default: the plan's server.pool_size]
    #[arg(long, value_name = "COUNT", requires = "target", value_parser = clap::value_parser!(u32).range(2..))]
    pool_size: Option<u32>,
    /// Network between load generator and server [default: the plan's]
    #[arg(long, value_name = "HOW")]
    topology: Option<TopologyArg>,
    /// Longest time of the whole run in seconds; a short one reduces the number of rounds, searches
    /// of every server [default: no limit; the time is printed before the run]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    time_budget: Option<u32>,
    /// Number of whole measurements of every server, for plans that repeat them [default: the
    /// plan's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: Option<u32>,
    /// Quick look with wider intervals: half as long trials, at most two rounds or four runs, every
    /// second step of a ramp of rising rates (DNS); suites and DCCP plans are also shortened
    #[arg(long)]
    quick: bool,
    /// Do not check whether other programs use the processors before each plan
    #[arg(long)]
    ignore_load: bool,
    /// Path of the folder that contains result folders
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Print the summary of the run as JSON
    #[arg(long)]
    json: bool,
}

flag_values! {
    enum TopologyArg of Topology {
        /// Network namespaces joined by a veth pair as root, else loopback
        Auto,
        /// Network namespaces joined by a veth pair
        Veth,
        /// Loopback address 127.0.0.1 and free ports
        Loopback,
    }
}

/// Recompute the summary and report of a result folder from its raw records.
///
/// Exit codes: 0 done; 1 a file cannot be written; 2 not a result folder.
#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Result folder of a run
    folder: PathBuf,
    /// Print the new summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct JsonArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Send every datagram back (limit responder), to measure the highest rate that kernel and load
/// generator reach.
///
/// Exit codes: 0 ended by SIGTERM or SIGINT; 1 the address cannot be used; 2 bad arguments.
#[derive(Debug, clap::Args)]
struct LimitArgs {
    /// Address and port to answer on; `[ff02::1:2%INDEX]:547` receives multicast of DHCPv6 clients
    /// on the interface with that index
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
}

/// TCP proxy that adds a fixed delay.
///
/// Prints its listening address, and runs until a signal.
///
/// Exit codes: 1 the address cannot be used; 2 bad arguments.
#[derive(Debug, clap::Args)]
struct DistanceArgs {
    /// Address and port to listen at; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Address to forward connections to
    #[arg(long, value_name = "ADDRESS:PORT")]
    to: SocketAddr,
    /// Delay to add per round trip, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=60_000))]
    round_trip_ms: u64,
}

pub(crate) fn run(args: &LabArgs) -> ExitCode {
    let done = match &args.command {
        LabCommand::Run(args) => run_plan(args),
        LabCommand::Report(args) => report(args),
        LabCommand::Compare(args) => compare::run(args),
        LabCommand::List(args) => stored::list(args),
        LabCommand::Pin(args) => stored::pin(args),
        LabCommand::Trend(args) => stored::trend(args),
        LabCommand::Serve(args) => serve::run(args),
        LabCommand::Plans(args) => {
            print_result(args.json, &lab::plans::json(), &lab::plans::table())
        }
        LabCommand::Peers(args) => {
            print_result(args.json, &lab::peers::json(), &lab::peers::table())
        }
        LabCommand::Limit(args) => limit(args),
        LabCommand::Distance(args) => distance(args),
        LabCommand::Attend => remote::run_attend(),
        LabCommand::Hold(args) => remote::run_hold(args),
        LabCommand::Top(args) => top::run(args),
        LabCommand::Clean => clean(),
    };
    done.unwrap_or_else(|error| {
        netio::stderr::print_line(format_args!("error: {error}"));
        ExitCode::from(error.exit_code())
    })
}

fn run_plan(args: &LabRunArgs) -> Result<ExitCode, LabError> {
    if let Some(suite) = lab::plans::load_suite(&args.plan)? {
        return run_suite(args, suite);
    }
    if let Some(plan) = lab::plans::load_regression(&args.plan)? {
        return regression::run(args, &plan);
    }
    let (godwit, command_line) = own_program()?;
    let mut plan = plan(args)?;
    let settings = RunSettings {
        target: running_target(args, &mut plan)?,
        plan,
        server_command: args.server_command.clone(),
        results: args.results.clone(),
        godwit,
        command_line,
        ignores_load: args.ignore_load,
    };
    let stop = signals::stop_flag()?;
    let mut progress = ProgressWriter::new();
    let finished = lab::run(&settings, stop, &mut progress)?;
    progress.clear();
    let mut text = lab::report::table(&finished.summary);
    for verified in &finished.leases {
        text += &format!(
            "leases of {}: {} of {} found in its store\n",
            verified.server, verified.found, verified.given
        );
    }
    text += &page_line("report", &finished.folder.join(REPORT));
    print_result(args.json, &finished.summary, &text)?;
    Ok(exit_code(finished.is_interrupted, &finished.shortfalls))
}

fn run_suite(args: &LabRunArgs, suite: Suite) -> Result<ExitCode, LabError> {
    let flags = [
        ("--server", !args.servers.is_empty()),
        ("--server-command", args.server_command.is_some()),
        ("--target", args.target.is_some()),
        ("--time-budget", args.time_budget.is_some()),
        ("--runs", args.runs.is_some()),
    ];
    if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
        let plan = &args.plan;
        return Err(LabError::Usage(format!("{flag}: {plan} is a suite, whose plans set this")));
    }
    let (godwit, command_line) = own_program()?;
    let settings = SuiteSettings {
        suite,
        is_quick: args.quick,
        topology: args.topology.map(Topology::from),
        results: args.results.clone(),
        godwit,
        command_line,
        ignores_load: args.ignore_load,
    };
    let stop = signals::stop_flag()?;
    let mut progress = ProgressWriter::new();
    let finished = lab::run_suite(&settings, stop, &mut progress)?;
    progress.clear();
    let page = page_line("report", &finished.folder.join(REPORT));
    print_result(args.json, &finished.summary, &(lab::suite::table(&finished.summary) + &page))?;
    Ok(exit_code(finished.is_interrupted, &finished.shortfalls))
}

/// Returns the path of this program and the command line that started it.
fn own_program() -> Result<(PathBuf, String), LabError> {
    let godwit =
        std::env::current_exe().map_err(|e| LabError::cannot("find this program's own file", e))?;
    let words: Vec<String> = std::env::args().collect();
    let command_line = words[1..]
        .iter()
        .fold(CommandLine::new(words[0].clone()), |line, word| line.arg(word.clone()));
    Ok((godwit, command_line.to_string()))
}

/// Prints the reasons why measured servers fell short, and returns the exit code.
fn exit_code(is_interrupted: bool, shortfalls: &[String]) -> ExitCode {
    for shortfall in shortfalls {
        netio::stderr::print_line(format_args!("fell short: {shortfall}"));
    }
    match (is_interrupted, shortfalls.is_empty()) {
        (true, _) => ExitCode::from(130),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(3),
    }
}

/// Returns the plan that `args` name, with the changes that the command line makes.
fn plan(args: &LabRunArgs) -> Result<Plan, LabError> {
    let mut plan = lab::plans::load(&args.plan)?;
    if !args.servers.is_empty() {
        plan.servers.clone_from(&args.servers);
    } else if args.server_command.is_some() {
        plan.servers = Vec::new();
    }
    let mut seen = plan.servers.clone();
    seen.sort();
    seen.dedup();
    if seen.len() < plan.servers.len() {
        return Err(LabError::Usage("--server names a server twice".to_owned()));
    }
    if let Some(topology) = args.topology {
        plan.topology = topology.into();
    }
    if args.quick {
        plan.quicken();
    }
    if let Some(count) = args.runs {
        if !plan.has_runs() {
            return Err(LabError::Usage(format!(
                "--runs: the plan {} measures in rounds, not in runs (see runs.count)",
                plan.name
            )));
        }
        plan.runs.count = count;
    }
    if let Some(seconds) = args.time_budget {
        plan.time_budget_s = f64::from(seconds);
    }
    Ok(plan)
}

/// Returns the running server that `--target` names, if any. Restricts `plan` to the features that
/// a running server can be measured with.
fn running_target(args: &LabRunArgs, plan: &mut Plan) -> Result<Option<RunningTarget>, LabError> {
    let Some(server) = &args.target else { return Ok(None) };
    let flags = [
        ("--server", !args.servers.is_empty(), "names servers that the lab starts"),
        ("--server-command", args.server_command.is_some(), "is a server that the lab starts"),
        ("--topology", args.topology.is_some(), "is for servers that the lab starts"),
    ];
    let conflicts: Vec<String> = flags
        .iter()
        .filter(|(_, is_given, _)| *is_given)
        .map(|(flag, _, why)| format!("{flag} {why}"))
        .collect();
    if !conflicts.is_empty() {
        return Err(LabError::Usage(format!(
            "--target {server} is one server, which runs already: {}",
            conflicts.join("; ")
        )));
    }
    let (relay, pool_size) = (args.relay.clone(), args.pool_size);
    RunningTarget::from_options(&TargetOptions { server: server.clone(), relay, pool_size }, plan)
        .map(Some)
}

fn report(args: &ReportArgs) -> Result<ExitCode, LabError> {
    let summary = lab::report::rebuild(&args.folder)?;
    let page = page_line("report", &args.folder.join(REPORT));
    print_result(args.json, &summary, &(lab::report::table(&summary) + &page))
}

fn limit(args: &LimitArgs) -> Result<ExitCode, LabError> {
    let signals = netio::signal::Signals::for_command()?;
    let counts = netio::limit::run(args.listen, signals.stop())?;
    print_line(&format!(
        "received {}, sent {}, refused {}, dropped at the socket {}",
        counts.received, counts.sent, counts.refused, counts.socket_drops
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn distance(args: &DistanceArgs) -> Result<ExitCode, LabError> {
    let round_trip = Duration::from_millis(args.round_trip_ms);
    lab::delay_proxy::run(args.listen, args.to, round_trip, |address| {
        print_line(&address.to_string())?;
        Ok(!netio::stdout::is_closed())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn clean() -> Result<ExitCode, LabError> {
    let cleaned = testbed::Registry::open()?.clean()?;
    for thing in &cleaned.removed {
        print_line(&format!("removed: {thing}"))?;
    }
    for pid in &cleaned.alive {
        print_line(&format!("kept: the run of process {pid}, which still runs"))?;
    }
    if cleaned.removed.is_empty() && cleaned.failed.is_empty() {
        print_line("nothing to remove")?;
    }
    if cleaned.failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(LabError::Failed(cleaned.failed.join("\n")))
}

/// Prints the result `value` as JSON, or `text`, its form for people.
fn print_result(
    is_json: bool,
    value: &impl serde::Serialize,
    text: &str,
) -> Result<ExitCode, LabError> {
    if is_json {
        print_line(&serde_json::to_string_pretty(value).expect("plain data"))?;
    } else {
        netio::stdout::print(text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the line that names the page of a result.
fn page_line(name: &str, page: &Path) -> String {
    format!("{name}: {}\n", page.display())
}

fn print_line(text: &str) -> Result<(), LabError> {
    Ok(netio::stdout::print_line(text)?)
}
