//! Coordinator of several generators: starts them, reads their messages during the run, and adds up
//! their counts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use base::Offset;
use base::time::{NS_PER_MS, NS_PER_S};
use load::{LoadRate, LoadShape};
use netio::signal::Signals;
use netio::{Clock, stdout};

use super::carried::CarriedOutcome;
use super::generator::GeneratorResult;
use super::generator_group::GeneratorGroup;
use super::message::{GeneratorAnswer, GeneratorOrder};
use super::remote_generator::{GeneratorEvent, RemoteGenerator};
use super::standings::PartialSecondCounts;
use crate::leases::{LeaseLog, LeasedResource};
use crate::perfdhcp::args::PerfdhcpArgs;
use crate::perfdhcp::command::WrappedProgram;
use crate::perfdhcp::dialect::Dialect;
use crate::perfdhcp::drive::SendingEndReason;
use crate::perfdhcp::family_setup::{self, FamilyOperation, FamilySetup};
use crate::perfdhcp::outcome::GeneratorOutcome;
use crate::perfdhcp::output_files::OutputFiles;
use crate::perfdhcp::plan::{self, PerfdhcpResult};
use crate::perfdhcp::report::{PerfdhcpReport, kinds};
use crate::perfdhcp::run_addresses;
use crate::perfdhcp::text;

/// Longest silence of a running generator, in nanoseconds; generators report each second.
const SILENCE_NS: u64 = 30 * NS_PER_S;
/// Longest time that a generator may take to stop after the order, in nanoseconds.
const STOP_NS: u64 = 10 * NS_PER_S;

/// Runs the load with the generators that `args` name, and returns the exit code.
pub(crate) fn run(args: &PerfdhcpArgs, words: &[String]) -> PerfdhcpResult<ExitCode> {
    let own = if args.is_v6() {
        IpAddr::from(Ipv6Addr::UNSPECIFIED)
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    family_setup::run_for_family(args, own, Coordinator { args, words })
}

struct Coordinator<'a> {
    args: &'a PerfdhcpArgs,
    words: &'a [String],
}

impl FamilyOperation for Coordinator<'_> {
    type Played = ExitCode;

    fn run<D: Dialect>(self, setup: FamilySetup<D>) -> PerfdhcpResult<ExitCode> {
        let Self { args, words } = self;
        // The coordinator checks everything that it can check itself before it connects to any
        // other machine.
        let (seed, shape) = (plan::seed(args), plan::shape(args)?);
        plan::rules(args, shape.as_ref(), seed, 1, D::NUMBER_BITS)?;
        run_addresses::server(args)?;
        let files = OutputFiles::open(args)?;
        let signals = Signals::for_command()?;
        let group = GeneratorGroup::start(args, signals.stop())?;
        let locals = group.prepare(args, words, seed)?;
        if args.is_text() {
            args.print_head(words)?;
        }
        let wrapped = WrappedProgram::start(args)?;
        let clocks = group.compare_clocks()?;
        group.order_start(&clocks);
        let mut results = listen::<D::Resource>(&group, args)?;
        // A connection may fail from now on, because the results have arrived.
        let after = group.compare_clocks().unwrap_or_default();
        let dialect = &setup.dialect;
        let mut report = put_together(args, seed, shape.clone(), dialect, &clocks, &mut results);
        for (index, (own, notice_ns)) in results.into_iter().enumerate() {
            let generator = GeneratorResult {
                host: group.links[index].host().to_owned(),
                local: locals[index].clone(),
                report: PerfdhcpReport::from_outcome(args, seed, shape.clone(), own, dialect, 0),
                clock: clocks[index],
                clock_after: after.get(index).copied(),
                notice_ns,
            };
            report.warnings.extend(generator.warnings());
            report.generators.push(generator);
        }
        report.explain_silence_of_generators();
        drop(group);
        args.report_result(&report, None, &files, wrapped)
    }
}

/// Outcome of a generator's run, and the time from reading the order to begin to the start of the
/// run, in nanoseconds.
type TimedOutcome<R> = (GeneratorOutcome<R>, i64);

/// Builds the report of all generators together, and takes the leases out of `results`.
fn put_together<D: Dialect>(
    args: &PerfdhcpArgs,
    seed: u64,
    shape: Option<(LoadShape, LoadRate)>,
    dialect: &D,
    clocks: &[Offset],
    results: &mut [TimedOutcome<D::Resource>],
) -> PerfdhcpReport {
    let reason =
        results.first().map_or(SendingEndReason::Requests, |(first, _)| first.loop_result.reason);
    let mut whole = GeneratorOutcome::none(reason);
    for (outcome, _) in results {
        let leases = std::mem::replace(&mut outcome.leases, no_leases());
        whole.merge(GeneratorOutcome { leases, ..outcome.clone() });
    }
    // Times are in whole milliseconds on either machine.
    let mut uncertain_ns: Vec<u64> = clocks.iter().map(|clock| clock.uncertainty_ns).collect();
    uncertain_ns.sort_unstable();
    let apart_ns: u64 = uncertain_ns.iter().rev().take(2).sum();
    let apart_ms = apart_ns.div_ceil(NS_PER_MS) + 1;
    let apart_ms = u32::try_from(apart_ms).unwrap_or(u32::MAX);
    PerfdhcpReport::from_outcome(args, seed, shape, whole, dialect, apart_ms)
}

/// Reads messages until all generators have sent their outcomes, and returns each outcome with the
/// time from reading the order to begin to the start of the run.
fn listen<R: LeasedResource>(
    group: &GeneratorGroup<'_>,
    args: &PerfdhcpArgs,
) -> PerfdhcpResult<Vec<TimedOutcome<R>>> {
    let mut watch = GeneratorSupervision::new(group, args);
    let mut results: Vec<Option<TimedOutcome<R>>> = Vec::new();
    results.resize_with(group.links.len(), || None);
    let mut leases: Vec<_> = group.links.iter().map(|_| no_leases()).collect();
    while results.iter().any(Option::is_none) {
        let Some((index, event)) = watch.next()? else { continue };
        // A generator that has sent its result may end.
        if results[index].is_some() {
            continue;
        }
        match group.answer_in(index, event)?.0 {
            GeneratorAnswer::Progress { second, standing } => {
                watch.progress(index, second, &standing)?
            }
            GeneratorAnswer::Leases { log, page } => {
                let log = leases[index].get_mut(log);
                if log.and_then(|log| log.add_page(page)).is_none() {
                    return Err(group.links[index].failed("sent damaged leases"));
                }
            }
            GeneratorAnswer::Ended(carried) => {
                let (mut outcome, notice_ns) = restored(&group.links[index], *carried)?;
                let logs = std::mem::replace(&mut leases[index], no_leases());
                for (mine, theirs) in outcome.leases.iter_mut().zip(logs) {
                    mine.merge(theirs);
                }
                let standing = text::standing(&kinds(args), &outcome.accounts);
                watch.ended(index, &standing)?;
                results[index] = Some((outcome, notice_ns));
            }
            other => return Err(group.surprised(index, "a report of progress", other.name())),
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// Returns two empty logs: of leases granted and of addresses offered.
fn no_leases<R: LeasedResource>() -> [LeaseLog<R>; 2] {
    GeneratorOutcome::none(SendingEndReason::Requests).leases
}

fn restored<R: LeasedResource>(
    link: &RemoteGenerator,
    carried: CarriedOutcome,
) -> PerfdhcpResult<(GeneratorOutcome<R>, i64)> {
    let notice_ns = carried.notice_ns;
    let outcome = carried.restored();
    outcome
        .map(|outcome| (outcome, notice_ns))
        .ok_or_else(|| link.failed("sent a result that contradicts itself"))
}

/// Supervision of the generators by the coordinator while they run.
struct GeneratorSupervision<'a, 'b> {
    group: &'a GeneratorGroup<'b>,
    args: &'a PerfdhcpArgs,
    standings: PartialSecondCounts,
    /// Time of each generator's last message, in nanoseconds of the monotonic clock; `None` once it
    /// has sent its outcome.
    heard_ns: Vec<Option<u64>>,
    last_second: Vec<u64>,
    silence_ns: u64,
    stopping_until_ns: Option<u64>,
}

impl<'a, 'b> GeneratorSupervision<'a, 'b> {
    fn new(group: &'a GeneratorGroup<'b>, args: &'a PerfdhcpArgs) -> Self {
        let now_ns = Clock::mono_ns();
        Self {
            group,
            args,
            standings: PartialSecondCounts::new(group.links.len()),
            heard_ns: vec![Some(now_ns); group.links.len()],
            last_second: vec![0; group.links.len()],
            silence_ns: SILENCE_NS,
            stopping_until_ns: None,
        }
    }

    /// Returns the next event of a generator, if one comes within 50 ms. Orders the generators to
    /// stop after a signal, and fails when a generator is silent for too long.
    fn next(&mut self) -> PerfdhcpResult<Option<(usize, GeneratorEvent)>> {
        let now_ns = Clock::mono_ns();
        if self.stopping_until_ns.is_none() && self.group.stop.load(Ordering::Relaxed) {
            self.stopping_until_ns = Some(now_ns + STOP_NS);
            self.group.links.iter().for_each(|link| link.send_order(&GeneratorOrder::Stop));
        }
        let event = self.group.look();
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
                Err(self.group.links[index].failed(&format!("has sent nothing for {s} s")))
            }
        }
    }

    fn progress(
        &mut self,
        index: usize,
        second: u64,
        standing: &text::Standing,
    ) -> PerfdhcpResult<()> {
        self.last_second[index] = second;
        self.standings.record_report(second, standing);
        self.print()
    }

    fn ended(&mut self, index: usize, standing: &text::Standing) -> PerfdhcpResult<()> {
        self.heard_ns[index] = None;
        self.standings.record_end(self.last_second[index], standing);
        self.print()
    }

    /// Prints the periodic reports for seconds that all generators have reported.
    fn print(&mut self) -> PerfdhcpResult<()> {
        while let Some((second, standing)) = self.standings.take() {
            let is_due = self.args.report_s.is_some_and(|s| second.is_multiple_of(s.into()));
            if is_due && self.args.is_text() {
                stdout::print_line(&text::periodic(self.args, &standing))?;
            }
        }
        Ok(())
    }
}
