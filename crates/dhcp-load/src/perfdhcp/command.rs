//! `godwit perfdhcp` from its arguments to its exit code.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};

use base::time::{NS_PER_MS, NS_PER_S};
use load::{Rate, Shape};
use netio::signal::Signals;
use netio::{Clock, NetError, Route, Screen, UdpSocket, stdout};

use super::args::{Args, Scenario};
use super::dialect::Dialect;
use super::dialect4::Dialect4;
use super::dialect6::Dialect6;
use super::drive::Run;
use super::live::View;
use super::persona::Personas;
use super::plan::{self, Failure, Place};
use super::report::{Report, kinds};
use super::traffic::Traffic;
use super::{check, compat, diagnose, packet6, pcap, text};
use crate::v4::template as template4;
use crate::v6::template as template6;

/// From the moment when all is ready to the first due time.
const LEAD_NS: u64 = 5 * NS_PER_MS;

impl Args {
    /// Does the run and prints what came of it. `words` are the command line behind the program's
    /// name.
    #[must_use]
    pub fn run(&self, words: &[String]) -> ExitCode {
        if self.version || self.extended_version {
            return code(print(&format!("VERSION: {}\n", env!("CARGO_PKG_VERSION"))));
        }
        let mut problems = check::problems(self);
        if self.live && !io::stdout().is_terminal() {
            problems.push("--live needs a terminal at standard output".into());
        }
        if !problems.is_empty() {
            return code(Err(Failure::Usage(problems)));
        }
        code(self.measure(words))
    }

    fn measure(&self, words: &[String]) -> Result<ExitCode, Failure> {
        let place = Place::of(self)?;
        let personas = plan::personas(self)?;
        let links = plan::links(self, place.local.ip())?;
        let seed = plan::seed(self);
        if self.is_v6() {
            let extras = template6::Extras {
                duid_len: personas.duid_len(),
                options: plan::options6(&self.options),
                relay_options: plan::options6(&self.relay_options),
            };
            let links = if self.relay.is_some() { plan::v6(&links) } else { Vec::new() };
            let count = links.len();
            let packets = plan::packets6(self)?;
            let duid_len =
                packets.as_ref().map_or_else(|| personas.duid_len(), packet6::Packets::duid_len);
            let ask = packets.as_ref().map_or_else(|| plan::ask(self), packet6::Packets::ask);
            let extras = template6::Extras { duid_len, ..extras };
            let dialect = Dialect6::new(personas.clone(), links, ask, extras, self.first_server)
                .with_packets(packets);
            self.play(words, &place, personas, dialect, count, seed)
        } else {
            let links = plan::v4(&links);
            let (parameters, options) = plan::options4(self);
            let extras = template4::Extras { parameters, options };
            let count = links.len();
            let dialect = Dialect4::new(personas.clone(), links, &extras, self.first_server)
                .with_packets(plan::packets(self)?);
            self.play(words, &place, personas, dialect, count, seed)
        }
    }

    fn play<D: Dialect>(
        &self,
        words: &[String],
        place: &Place,
        personas: Personas,
        dialect: D,
        links: usize,
        seed: u64,
    ) -> Result<ExitCode, Failure> {
        let signals = Signals::install().map_err(NetError::on("install", "signal handlers"))?;
        let shape = plan::shape(self)?;
        let rules = plan::rules(self, shape.as_ref(), (seed, links), D::NUMBER_BITS)?;
        let socket = place.open(self)?;
        let is_text = self.json.as_deref() != Some(Path::new("-"));
        let cpus = netio::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
        if is_text {
            print(&text::head(self, words, cpus))?;
        }
        if self.shows('a') && is_text {
            print(&diagnose::settings(self, place, &personas, seed))?;
        }
        let traffic = Traffic::new(dialect, personas, rules);
        let mut wrapped = self.wrapped.as_deref().map(Wrapped::start).transpose()?;
        let report = self.drive(place, socket, traffic, (seed, shape), is_text, &signals)?;
        if is_text {
            print(&self.text(&report))?;
        }
        if let Some(wrapped) = &mut wrapped {
            wrapped.stop()?;
        }
        if is_text {
            print(&diagnose::after(self, &report))?;
        }
        self.write_json(&report, place)?;
        self.write_hdr(&report)?;
        self.write_pcap(&report, place)?;
        Ok(ExitCode::from(report.ending().code()))
    }

    fn drive<D: Dialect>(
        &self,
        place: &Place,
        socket: UdpSocket,
        traffic: Traffic<D>,
        (seed, shape): (u64, Option<(Shape, Rate)>),
        is_text: bool,
        signals: &Signals,
    ) -> Result<Report, Failure> {
        let failed =
            |cause: io::Error| Failure::Environment(format!("the run on {}: {cause}", place.local));
        netio::thread::set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))?;
        let route = Route { destination: place.server, sources: Vec::new(), segmentation: false };
        let start_ns = Clock::mono_ns() + LEAD_NS;
        let (pace, lease_paces) = plan::paces(self, shape.as_ref(), start_ns, seed);
        let mut run = Run::new(socket, route, traffic, pace, start_ns);
        run.lease_paces = lease_paces;
        run.limits = plan::limits(self, shape.as_ref());
        let report_ns = self.report_s.map(|s| u64::from(s) * NS_PER_S);
        run.report_ns = report_ns.or_else(|| self.live.then_some(NS_PER_S));
        run.preload(self.preload).map_err(failed)?;
        let kinds = kinds(self);
        let title = format!("godwit perfdhcp to {}", place.server);
        let rows = kinds.iter().map(|&kind| (kind, D::NAMES[kind.index()])).collect();
        let mut view = View::new(title, rows, start_ns);
        let screen = self.live.then(Screen::enter).transpose().map_err(failed)?;
        let report = |now_ns: u64, accounts: &_| {
            if let Some(screen) = &screen {
                screen.show(&view.frame(now_ns, accounts))
            } else if is_text {
                stdout::print_line(&text::periodic(self, &kinds, accounts))
            } else {
                Ok(())
            }
        };
        let done = run.run(signals.stop(), report).map_err(failed);
        drop(screen);
        let done = done?;
        Ok(Report::of(self, (seed, shape), done, run.traffic))
    }

    fn text(&self, report: &Report) -> String {
        if self.compat {
            return compat::whole(self, report);
        }
        let mut text = text::whole(self, report);
        if self.scenario == Scenario::Avalanche {
            compat::avalanche(self, report, &mut text);
        }
        text
    }

    fn write_json(&self, report: &Report, place: &Place) -> Result<(), Failure> {
        let Some(path) = &self.json else { return Ok(()) };
        let mut document = report.json(self, place).to_string();
        document.push('\n');
        if path.as_os_str() == "-" {
            return print(&document).map(drop);
        }
        write(path, document.as_bytes())
    }

    fn write_hdr(&self, report: &Report) -> Result<(), Failure> {
        let Some(path) = &self.hdr else { return Ok(()) };
        write(path, report.hdr_log().as_bytes())
    }

    fn write_pcap(&self, report: &Report, place: &Place) -> Result<(), Failure> {
        let Some(path) = &self.pcap else { return Ok(()) };
        let now = Clock::now();
        let wall_ns = now.wall_us * 1_000 - now.mono_ns;
        write(path, &pcap::file(&report.messages, place.local, place.server, wall_ns))
    }
}

fn write(path: &Path, octets: &[u8]) -> Result<(), Failure> {
    fs::write(path, octets)
        .map_err(|error| Failure::Environment(format!("cannot write {}: {error}", path.display())))
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    stdout::print(text)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Failure::Environment(format!("cannot write to standard output: {error}")))
}

fn code(done: Result<ExitCode, Failure>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(Failure::Usage(problems)) => {
            for problem in problems {
                eprintln!("ERROR: parsing command line options: {problem}");
            }
            eprintln!("perfdhcp -h lists the switches");
            ExitCode::from(2)
        }
        Err(Failure::Environment(problem)) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The program of `-w`.
struct Wrapped<'a> {
    program: &'a Path,
    started: std::process::Child,
}

impl<'a> Wrapped<'a> {
    /// Starts it with the argument `start`; it may go on while the run does.
    fn start(program: &'a Path) -> Result<Self, Failure> {
        let started = Command::new(program).arg("start").spawn();
        let started = started.map_err(|error| Self::failed(program, &error))?;
        Ok(Self { program, started })
    }

    /// Starts it once more with the argument `stop` and waits for that to end.
    fn stop(&mut self) -> Result<(), Failure> {
        let stopped = Command::new(self.program).arg("stop").status();
        stopped.map_err(|error| Self::failed(self.program, &error))?;
        // Nobody waits for one that does not stop.
        self.started.try_wait().map(drop).map_err(|error| Self::failed(self.program, &error))
    }

    fn failed(program: &Path, error: &io::Error) -> Failure {
        Failure::Environment(format!("cannot run {}: {error}", program.display()))
    }
}
