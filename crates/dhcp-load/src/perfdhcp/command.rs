//! Execution of `godwit perfdhcp`, from its arguments to its exit code.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};

use base::time::{NS_PER_MS, NS_PER_S};
use load::{LoadRate, LoadShape};
use netio::signal::Signals;
use netio::{Clock, NetError, Screen, stderr, stdout};

use super::args::{PerfdhcpArgs, PerfdhcpScenario};
use super::dialect::Dialect;
use super::ending::PerfdhcpRunEnd;
use super::family_setup::{self, FamilyOperation, FamilySetup, RequestTiming};
use super::live::PerfdhcpLiveView;
use super::outcome::GeneratorOutcome;
use super::output_files::OutputFiles;
use super::plan::{self, PerfdhcpFailure, PerfdhcpResult};
use super::report::{PerfdhcpReport, kinds};
use super::run_addresses::RunAddresses;
use super::several::{coordinate, follow};
use super::traffic::RequestTraffic;
use super::{check, compat, diagnose, pcap, text};
use crate::wire::GeneratorSocket;

/// Time from the moment when the generator is ready to the first due time, in nanoseconds.
const LEAD_NS: u64 = 5 * NS_PER_MS;

impl PerfdhcpArgs {
    /// Runs the load, prints its result and returns the exit code. `words` is the command line
    /// after the program's name.
    #[must_use]
    pub fn run(&self, words: &[String]) -> ExitCode {
        if self.version || self.extended_version {
            let version = concat!("VERSION: ", env!("CARGO_PKG_VERSION"));
            let printed = stdout::print_line(version).map(|()| ExitCode::SUCCESS);
            return code(printed.map_err(PerfdhcpFailure::from));
        }
        if self.follow {
            return code(follow::run());
        }
        let mut problems = check::problems(self);
        if self.live && !io::stdout().is_terminal() {
            problems.push("--live needs a terminal at standard output".into());
        }
        if !problems.is_empty() {
            return code(Err(PerfdhcpFailure::Usage(problems)));
        }
        code(self.measure(words))
    }

    fn measure(&self, words: &[String]) -> PerfdhcpResult<ExitCode> {
        if !self.generators.is_empty() {
            return coordinate::run(self, words);
        }
        let addresses = RunAddresses::from_args(self)?;
        family_setup::run_for_family(
            self,
            addresses.local.ip(),
            LocalRun { args: self, words, addresses: &addresses },
        )
    }

    /// Returns true if the result of the run is printed as text.
    pub(crate) fn is_text(&self) -> bool {
        self.json.as_deref() != Some(Path::new("-"))
    }

    /// Prints the lines about the command line that come before the run.
    pub(crate) fn print_head(&self, words: &[String]) -> PerfdhcpResult<()> {
        let cpus = netio::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
        Ok(stdout::print(&text::head(self, words, cpus))?)
    }

    /// Prints the result of the run, writes its files, and returns the exit code. In between it
    /// stops the program `wrapped`.
    pub(crate) fn report_result(
        &self,
        report: &PerfdhcpReport,
        addresses: Option<&RunAddresses>,
        files: &OutputFiles,
        wrapped: Option<WrappedProgram<'_>>,
    ) -> PerfdhcpResult<ExitCode> {
        if self.is_text() {
            self.print_text(&self.text(report))?;
        }
        if let Some(mut wrapped) = wrapped {
            wrapped.stop()?;
        }
        if self.is_text() {
            stdout::print(&diagnose::after(self, report))?;
        }
        self.write_json(report, addresses, files)?;
        if let Some(file) = &files.hdr {
            file.write(report.hdr_log().as_bytes())?;
        }
        if let (Some(file), Some(addresses)) = (&files.pcap, addresses) {
            file.write(&self.capture_file(report, addresses))?;
        }
        let ending = report.ending();
        if ending != PerfdhcpRunEnd::Interrupted
            && let Some(reason) = report.silence.as_ref()
        {
            stderr::print_line(format_args!("error: {reason}"));
            return Ok(ExitCode::from(PerfdhcpRunEnd::FellShort.code()));
        }
        Ok(ExitCode::from(ending.code()))
    }

    /// Prints the text of a run, on a terminal with colors; perfdhcp's own form (`--compat`) has
    /// none.
    fn print_text(&self, text: &str) -> Result<(), NetError> {
        if self.compat {
            return stdout::print(text);
        }
        stdout::print_painted(text, load::highlight)
    }

    fn text(&self, report: &PerfdhcpReport) -> String {
        if self.compat {
            return compat::whole(self, report);
        }
        let mut text = text::whole(self, report);
        if self.scenario == PerfdhcpScenario::Avalanche {
            compat::avalanche(self, report, &mut text);
        }
        text
    }

    fn write_json(
        &self,
        report: &PerfdhcpReport,
        addresses: Option<&RunAddresses>,
        files: &OutputFiles,
    ) -> PerfdhcpResult<()> {
        if self.json.is_none() {
            return Ok(());
        }
        let mut document = report.json(self, addresses).to_string();
        document.push('\n');
        match &files.json {
            Some(file) => file.write(document.as_bytes()),
            None => Ok(stdout::print(&document)?),
        }
    }

    /// Returns the bytes of the capture file (`--pcap`) of the run.
    fn capture_file(&self, report: &PerfdhcpReport, addresses: &RunAddresses) -> Vec<u8> {
        let now = Clock::now();
        let wall_ns = now.wall_us * 1_000 - now.mono_ns;
        let ends = [addresses.local, addresses.server];
        pcap::file(&report.messages, ends, wall_ns, self.direct)
    }
}

/// Run of the load by a single generator on this machine.
struct LocalRun<'a> {
    args: &'a PerfdhcpArgs,
    words: &'a [String],
    addresses: &'a RunAddresses,
}

impl FamilyOperation for LocalRun<'_> {
    type Played = ExitCode;

    fn run<D: Dialect>(self, setup: FamilySetup<D>) -> PerfdhcpResult<ExitCode> {
        let Self { args, words, addresses } = self;
        let signals = Signals::for_command()?;
        let seed = plan::seed(args);
        let shape = plan::shape(args)?;
        let rules = plan::rules(args, shape.as_ref(), seed, setup.links, D::NUMBER_BITS)?;
        let wire = addresses.open(args, setup.dialect.message_bytes_max())?;
        if let Some(warning) = addresses.warning() {
            stderr::print_line(format_args!("warning: {warning}"));
        }
        if args.is_text() {
            args.print_head(words)?;
        }
        if args.shows('a') && args.is_text() {
            stdout::print(&diagnose::settings(args, addresses, &setup.personas, seed))?;
        }
        let traffic = RequestTraffic::new(setup.dialect, setup.personas, rules);
        let files = OutputFiles::open(args)?;
        let wrapped = WrappedProgram::start(args)?;
        let report = self.drive(wire, traffic, seed, shape, &signals)?;
        args.report_result(&report, Some(addresses), &files, wrapped)
    }
}

impl LocalRun<'_> {
    fn drive<D: Dialect>(
        &self,
        wire: GeneratorSocket,
        traffic: RequestTraffic<D>,
        seed: u64,
        shape: Option<(LoadShape, LoadRate)>,
        signals: &Signals,
    ) -> PerfdhcpResult<PerfdhcpReport> {
        let Self { args, addresses, .. } = self;
        let failed = |cause: io::Error| family_setup::failed(addresses, &cause);
        let start_ns = Clock::mono_ns() + LEAD_NS;
        let timing = RequestTiming { seed, shape: shape.as_ref(), start_ns };
        let mut run = family_setup::prepare_run(args, addresses, wire, traffic, timing)?;
        let report_ns = args.report_s.map(|s| u64::from(s) * NS_PER_S);
        run.report_ns = report_ns.or_else(|| args.live.then_some(NS_PER_S));
        let kinds = kinds(args);
        let title = format!("godwit perfdhcp from {} to {}", addresses.text(), addresses.server);
        let rows = kinds.iter().map(|&kind| (kind, D::NAMES[kind.index()])).collect();
        let mut view = PerfdhcpLiveView::new(title, rows, start_ns);
        let screen = args.live.then(Screen::enter).transpose().map_err(failed)?;
        let report = |now_ns: u64, accounts: &_| {
            if let Some(screen) = &screen {
                screen.show(&view.frame(now_ns, accounts))
            } else if args.is_text() {
                stdout::write(&(text::periodic(args, &text::standing(&kinds, accounts)) + "\n"))
            } else {
                Ok(())
            }
        };
        let done = run.run(signals.stop(), report).map_err(failed);
        drop(screen);
        let outcome = GeneratorOutcome::from_traffic(&mut run.traffic, done?);
        let dialect = run.traffic.dialect();
        let mut report = PerfdhcpReport::from_outcome(args, seed, shape, outcome, dialect, 0);
        report.explain_silence(args, addresses);
        report.take_details(&mut run.traffic, start_ns);
        Ok(report)
    }
}

fn code(done: PerfdhcpResult<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(PerfdhcpFailure::Usage(problems)) => {
            for problem in problems {
                stderr::print_line(format_args!("error: {problem}"));
            }
            stderr::print_line("\nFor more information, try '-h'.");
            ExitCode::from(2)
        }
        Err(PerfdhcpFailure::Environment(problem)) => {
            stderr::print_line(format_args!("error: {problem}"));
            ExitCode::FAILURE
        }
        Err(PerfdhcpFailure::Interrupted) => {
            stderr::print_line("error: interrupted before the run began");
            ExitCode::from(130)
        }
    }
}

/// Program of the switch `-w`, which is started before the run and called again after it.
pub(crate) struct WrappedProgram<'a> {
    program: &'a Path,
    started: std::process::Child,
}

impl<'a> WrappedProgram<'a> {
    /// Starts the program of `-w`, if there is one, with the argument `start`; the program may go
    /// on while the run does.
    pub(crate) fn start(args: &'a PerfdhcpArgs) -> PerfdhcpResult<Option<Self>> {
        let Some(program) = args.wrapped.as_deref() else { return Ok(None) };
        let started = Command::new(program).arg("start").spawn();
        let started = started.map_err(|error| Self::failed(program, &error))?;
        Ok(Some(Self { program, started }))
    }

    /// Starts the program of `-w` once more with the argument `stop` and waits for that call to
    /// end.
    fn stop(&mut self) -> PerfdhcpResult<()> {
        let stopped = Command::new(self.program).arg("stop").status();
        stopped.map_err(|error| Self::failed(self.program, &error))?;
        // A started program that does not stop is not waited for.
        self.started.try_wait().map(drop).map_err(|error| Self::failed(self.program, &error))
    }

    fn failed(program: &Path, error: &io::Error) -> PerfdhcpFailure {
        PerfdhcpFailure::Environment(format!("cannot run {}: {error}", program.display()))
    }
}
