//! Coordinator: runs the generators, reads their messages meanwhile, and adds up their counts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use base::Offset;
use base::time::{NS_PER_MS, NS_PER_S};
use load::{Rate, Shape};
use netio::signal::Signals;
use netio::{Clock, NetError, stdout};

use super::carried::Carried;
use super::crew::Crew;
use super::generator::Generator;
use super::link::{Event, Link};
use super::message::{Answer, Order};
use super::standings::Standings;
use crate::leases::{LeaseLog, Resource};
use crate::perfdhcp::args::Args;
use crate::perfdhcp::command::Wrapped;
use crate::perfdhcp::dialect::Dialect;
use crate::perfdhcp::drive::Reason;
use crate::perfdhcp::outcome::Outcome;
use crate::perfdhcp::place;
use crate::perfdhcp::plan::{self, Failure};
use crate::perfdhcp::report::{Report, kinds};
use crate::perfdhcp::stage::{self, Play, Stage};
use crate::perfdhcp::text;

/// Longest silence of a running generator, which reports each second, in nanoseconds.
const SILENCE_NS: u64 = 30 * NS_PER_S;
/// Longest time that a generator may take to stop, in nanoseconds.
const STOP_NS: u64 = 10 * NS_PER_S;

/// Runs the load with the generators that `args` name.
pub(crate) fn run(args: &Args, words: &[String]) -> Result<ExitCode, Failure> {
    let own = if args.is_v6() {
        IpAddr::from(Ipv6Addr::UNSPECIFIED)
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    stage::set(args, own, Coordinator { args, words })
}

struct Coordinator<'a> {
    args: &'a Args,
    words: &'a [String],
}

impl Play for Coordinator<'_> {
    type Played = ExitCode;

    fn play<D: Dialect>(self, stage: Stage<D>) -> Result<ExitCode, Failure> {
        let Self { args, words } = self;
        // The coordinator checks everything that it can check itself before it connects to any
        // other machine.
        let (seed, shape) = (plan::seed(args), plan::shape(args)?);
        plan::rules(args, shape.as_ref(), (seed, 1), D::NUMBER_BITS)?;
        place::server(args)?;
        let signals = Signals::install().map_err(NetError::on("install", "signal handlers"))?;
        let crew = Crew::start(args, signals.stop())?;
        let locals = crew.prepare(args, words, seed)?;
        if args.is_text() {
            args.print_head(words)?;
        }
        let wrapped = Wrapped::start(args)?;
        let clocks = crew.compare_clocks()?;
        crew.go(&clocks);
        let mut results = listen::<D::Resource>(&crew, args)?;
        // A connection may fail from now on, because the results have arrived.
        let after = crew.compare_clocks().unwrap_or_default();
        let given = (seed, shape);
        let mut report = put_together(args, given.clone(), &stage.dialect, (&clocks, &mut results));
        for (index, (own, notice_ns)) in results.into_iter().enumerate() {
            let given = given.clone();
            let generator = Generator {
                host: crew.links[index].host().to_owned(),
                local: locals[index].clone(),
                report: Report::of(args, given, own, &stage.dialect, 0),
                clock: clocks[index],
                clock_after: after.get(index).copied(),
                notice_ns,
            };
            report.warnings.extend(generator.warnings());
            report.generators.push(generator);
        }
        drop(crew);
        args.tell(&report, None, wrapped)
    }
}

/// Outcome of a generator, and the time between the order to begin and the beginning, in
/// nanoseconds.
type Told<R> = (Outcome<R>, i64);

/// Builds the report of all generators together, and takes their leases.
fn put_together<D: Dialect>(
    args: &Args,
    given: (u64, Option<(Shape, Rate)>),
    dialect: &D,
    (clocks, results): (&[Offset], &mut [Told<D::Resource>]),
) -> Report {
    let reason = results.first().map_or(Reason::Requests, |(first, _)| first.done.reason);
    let mut whole = Outcome::none(reason);
    for (outcome, _) in results {
        let leases = std::mem::replace(&mut outcome.leases, no_leases());
        whole.merge(Outcome { leases, ..outcome.clone() });
    }
    // Times are in whole milliseconds on either machine.
    let mut uncertain_ns: Vec<u64> = clocks.iter().map(|clock| clock.uncertainty_ns).collect();
    uncertain_ns.sort_unstable();
    let apart_ns: u64 = uncertain_ns.iter().rev().take(2).sum();
    let apart_ms = apart_ns.div_ceil(NS_PER_MS) + 1;
    Report::of(args, given, whole, dialect, u32::try_from(apart_ms).unwrap_or(u32::MAX))
}

/// Reads messages until all generators have sent their outcomes. Returns each with the time between
/// the order to begin and the beginning.
fn listen<R: Resource>(crew: &Crew<'_>, args: &Args) -> Result<Vec<Told<R>>, Failure> {
    let mut watch = Watch::new(crew, args);
    let mut results: Vec<Option<Told<R>>> = Vec::new();
    results.resize_with(crew.links.len(), || None);
    let mut leases: Vec<_> = crew.links.iter().map(|_| no_leases()).collect();
    while results.iter().any(Option::is_none) {
        let Some((index, event)) = watch.next()? else { continue };
        // A generator that has sent its result may end.
        if results[index].is_some() {
            continue;
        }
        match crew.said(index, event)?.0 {
            Answer::Progress { second, standing } => watch.progress(index, second, &standing)?,
            Answer::Leases { log, page } => {
                let log = leases[index].get_mut(log);
                if log.and_then(|log| log.add_page(page)).is_none() {
                    return Err(crew.links[index].failed("sent damaged leases"));
                }
            }
            Answer::Ended(carried) => {
                let (mut outcome, notice_ns) = restored(&crew.links[index], *carried)?;
                let logs = std::mem::replace(&mut leases[index], no_leases());
                for (mine, theirs) in outcome.leases.iter_mut().zip(logs) {
                    mine.merge(theirs);
                }
                let standing = text::standing(&kinds(args), &outcome.accounts);
                watch.ended(index, &standing)?;
                results[index] = Some((outcome, notice_ns));
            }
            other => return Err(crew.surprised(index, "how the run goes", other.name())),
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// Returns empty logs of leases granted and addresses offered.
fn no_leases<R: Resource>() -> [LeaseLog<R>; 2] {
    Outcome::none(Reason::Requests).leases
}

fn restored<R: Resource>(link: &Link, carried: Carried) -> Result<(Outcome<R>, i64), Failure> {
    let notice_ns = carried.notice_ns;
    let outcome = carried.restored();
    outcome
        .map(|outcome| (outcome, notice_ns))
        .ok_or_else(|| link.failed("sent a result that contradicts itself"))
}

/// Supervision of the generators while they run.
struct Watch<'a, 'b> {
    crew: &'a Crew<'b>,
    args: &'a Args,
    standings: Standings,
    /// Time of each generator's last message; `None` once it has sent its result.
    heard_ns: Vec<Option<u64>>,
    last_second: Vec<u64>,
    silence_ns: u64,
    stopping_until_ns: Option<u64>,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(crew: &'a Crew<'b>, args: &'a Args) -> Self {
        let now_ns = Clock::mono_ns();
        Self {
            crew,
            args,
            standings: Standings::new(crew.links.len()),
            heard_ns: vec![Some(now_ns); crew.links.len()],
            last_second: vec![0; crew.links.len()],
            silence_ns: SILENCE_NS,
            stopping_until_ns: None,
        }
    }

    /// Returns the next event of a generator, if one comes within a moment.
    fn next(&mut self) -> Result<Option<(usize, Event)>, Failure> {
        let now_ns = Clock::mono_ns();
        if self.stopping_until_ns.is_none() && self.crew.stop.load(Ordering::Relaxed) {
            self.stopping_until_ns = Some(now_ns + STOP_NS);
            self.crew.links.iter().for_each(|link| link.tell(&Order::Stop));
        }
        let event = self.crew.look();
        if let Some((index, _)) = &event {
            self.heard_ns[*index] = self.heard_ns[*index].map(|_| now_ns);
            return Ok(event);
        }
        let is_over = self.stopping_until_ns.is_some_and(|until_ns| now_ns >= until_ns);
        let is_silent = |heard_ns: &Option<u64>| {
            heard_ns.is_some_and(|heard_ns| now_ns - heard_ns >= self.silence_ns || is_over)
        };
        match self.heard_ns.iter().position(is_silent) {
            None => Ok(None),
            Some(index) => {
                let s = (now_ns - self.heard_ns[index].unwrap_or(now_ns)) / NS_PER_S;
                Err(self.crew.links[index].failed(&format!("has said nothing for {s} s")))
            }
        }
    }

    fn progress(
        &mut self,
        index: usize,
        second: u64,
        standing: &text::Standing,
    ) -> Result<(), Failure> {
        self.last_second[index] = second;
        self.standings.told(second, standing);
        self.print()
    }

    fn ended(&mut self, index: usize, standing: &text::Standing) -> Result<(), Failure> {
        self.heard_ns[index] = None;
        self.standings.ended(self.last_second[index], standing);
        self.print()
    }

    /// Prints the periodic reports that are complete.
    fn print(&mut self) -> Result<(), Failure> {
        while let Some((second, standing)) = self.standings.take() {
            let is_due = self.args.report_s.is_some_and(|s| second.is_multiple_of(s.into()));
            if is_due && self.args.is_text() {
                stdout::print_line(&text::periodic(self.args, &standing)).map_err(|error| {
                    Failure::Environment(format!("cannot write to standard output: {error}"))
                })?;
            }
        }
        Ok(())
    }
}
