//! Generator's side of a run with several generators (`--follow`): reads orders from standard
//! input, runs its part, and writes answers to standard output. When the coordinator goes away, the
//! run ends.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use base::time::NS_PER_S;
use clap::Parser;
use netio::Clock;
use netio::signal::Signals;

use super::carried::CarriedOutcome;
use super::message::{GeneratorAnswer, GeneratorOrder, Prepare, hello, line};
use crate::perfdhcp::args::PerfdhcpArgs;
use crate::perfdhcp::dialect::Dialect;
use crate::perfdhcp::drive::PerfdhcpRun;
use crate::perfdhcp::family_setup::{self, FamilyOperation, FamilySetup, RequestTiming};
use crate::perfdhcp::files::NamedFileSource;
use crate::perfdhcp::outcome::GeneratorOutcome;
use crate::perfdhcp::plan::{self, PerfdhcpFailure, PerfdhcpResult};
use crate::perfdhcp::report::kinds;
use crate::perfdhcp::run_addresses::RunAddresses;
use crate::perfdhcp::traffic::RequestTraffic;
use crate::perfdhcp::{check, text};

/// Order of the coordinator, with the time at which it was read in nanoseconds of the monotonic
/// clock.
type Read = (GeneratorOrder, u64);

/// Runs as a generator that follows a coordinator until there are no more orders, and returns the
/// exit code.
pub(crate) fn run() -> PerfdhcpResult<ExitCode> {
    let signals = Signals::for_command()?;
    let orders = listen(signals.stop());
    send_answer(&hello())?;
    let prepare = loop {
        match await_order(&orders)? {
            Some((GeneratorOrder::Prepare(prepare), _)) => break prepare,
            Some(_) => {}
            None => return Ok(ExitCode::SUCCESS),
        }
    };
    let done = prepared(*prepare).and_then(|args| {
        let addresses = RunAddresses::from_args(&args)?;
        let own = addresses.local.ip();
        let follower = OrderedRun { args: &args, addresses, orders: &orders, stop: signals.stop() };
        family_setup::run_for_family(&args, own, follower)
    });
    let Err(failure) = done else { return Ok(ExitCode::SUCCESS) };
    send_answer(&GeneratorAnswer::Failed(match &failure {
        PerfdhcpFailure::Usage(problems) => problems.join("; "),
        PerfdhcpFailure::Environment(problem) => problem.clone(),
        PerfdhcpFailure::Interrupted => "was interrupted".into(),
    }))?;
    Err(failure)
}

/// Reads the coordinator's orders on a thread of its own, and returns the channel that they come
/// through. An order to stop, and the end of the orders, end the run.
fn listen(stop: &'static AtomicBool) -> Receiver<Read> {
    let (sender, orders) = channel();
    std::thread::spawn(move || {
        read(&sender, stop);
        stop.store(true, Ordering::Relaxed);
    });
    orders
}

fn read(orders: &Sender<Read>, stop: &AtomicBool) {
    for line in io::stdin().lock().lines() {
        let now_ns = Clock::mono_ns();
        let order = line.map(|line| serde_json::from_str(&line));
        let Ok(Ok(order)) = order else { return };
        if matches!(order, GeneratorOrder::Stop) {
            stop.store(true, Ordering::Relaxed);
        }
        if orders.send((order, now_ns)).is_err() {
            return;
        }
    }
}

fn send_answer(answer: &GeneratorAnswer) -> PerfdhcpResult<()> {
    write_answer(answer).map_err(|error| {
        PerfdhcpFailure::Environment(format!("cannot answer the coordinator: {error}"))
    })
}

fn write_answer(answer: &GeneratorAnswer) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(line(answer).as_bytes())?;
    output.flush()
}

/// Returns the next order other than a request for the time, which it answers; `None` when there
/// are no more, or at an order to stop.
fn await_order(orders: &Receiver<Read>) -> PerfdhcpResult<Option<Read>> {
    for (order, received_ns) in orders {
        match order {
            GeneratorOrder::Ping(number) => {
                send_answer(&GeneratorAnswer::Pong {
                    number,
                    received_ns,
                    sent_ns: Clock::mono_ns(),
                })?;
            }
            GeneratorOrder::Stop => return Ok(None),
            other => return Ok(Some((other, received_ns))),
        }
    }
    Ok(None)
}

/// Converts the coordinator's command line into the arguments of this generator.
fn prepared(prepare: Prepare) -> PerfdhcpResult<PerfdhcpArgs> {
    let Prepare { words, files, part, seed, local } = prepare;
    let words = std::iter::once("perfdhcp".into()).chain(words.into_iter().map(OsString::from));
    let args = PerfdhcpArgs::try_parse_from(words).map_err(|error| {
        PerfdhcpFailure::Environment(format!("does not know the command line: {error}"))
    })?;
    let files = NamedFileSource::unpack(files)
        .ok_or_else(|| PerfdhcpFailure::Environment("was sent damaged files".into()))?;
    // The coordinator handles the output and everything before and after the run.
    let args = PerfdhcpArgs {
        local: local.or(args.local),
        seed,
        part,
        files,
        generators: Vec::new(),
        json: None,
        hdr: None,
        report_s: None,
        wrapped: None,
        ..args
    };
    let problems = check::problems(&args);
    if problems.is_empty() { Ok(args) } else { Err(PerfdhcpFailure::Usage(problems)) }
}

struct OrderedRun<'a> {
    args: &'a PerfdhcpArgs,
    addresses: RunAddresses,
    orders: &'a Receiver<Read>,
    stop: &'static AtomicBool,
}

impl FamilyOperation for OrderedRun<'_> {
    type Played = ();

    fn run<D: Dialect>(self, setup: FamilySetup<D>) -> PerfdhcpResult<()> {
        let wire = self.addresses.open(self.args, setup.dialect.message_bytes_max())?;
        let seed = self.args.seed;
        let shape = plan::shape(self.args)?;
        let rules = plan::rules(self.args, shape.as_ref(), seed, setup.links, D::NUMBER_BITS)?;
        let traffic = RequestTraffic::new(setup.dialect, setup.personas, rules);
        send_answer(&GeneratorAnswer::Ready { local: self.addresses.text() })?;
        let Some((start_ns, read_ns)) = self.await_start()? else { return Ok(()) };
        let timing = RequestTiming { seed, shape: shape.as_ref(), start_ns };
        let run = family_setup::prepare_run(self.args, &self.addresses, wire, traffic, timing)?;
        let notice_ns = start_ns.cast_signed().wrapping_sub(read_ns.cast_signed());
        self.measure(run, notice_ns)?;
        // The coordinator compares the clocks once more.
        while await_order(self.orders)?.is_some() {}
        Ok(())
    }
}

impl OrderedRun<'_> {
    /// Returns the time at which to begin, and the time at which the order to begin was read;
    /// `None` when there are no more orders.
    fn await_start(&self) -> PerfdhcpResult<Option<(u64, u64)>> {
        match await_order(self.orders)? {
            Some((GeneratorOrder::Go { start_ns }, read_ns)) => Ok(Some((start_ns, read_ns))),
            Some(_) => {
                Err(PerfdhcpFailure::Environment("received another order than to begin".into()))
            }
            None => Ok(None),
        }
    }

    fn measure<D: Dialect>(&self, mut run: PerfdhcpRun<D>, notice_ns: i64) -> PerfdhcpResult<()> {
        run.report_ns = Some(NS_PER_S);
        let kinds = kinds(self.args);
        let mut second = 0;
        let done = run.run(self.stop, |_, accounts| {
            second += 1;
            write_answer(&GeneratorAnswer::Progress {
                second,
                standing: text::standing(&kinds, accounts),
            })
        });
        let outcome = GeneratorOutcome::from_traffic(
            &mut run.traffic,
            done.map_err(|error| family_setup::failed(&self.addresses, &error))?,
        );
        for (log, leases) in outcome.leases.iter().enumerate() {
            for page in leases.pages() {
                send_answer(&GeneratorAnswer::Leases { log, page })?;
            }
        }
        send_answer(&GeneratorAnswer::Ended(Box::new(CarriedOutcome::from_outcome(
            &outcome, notice_ns,
        ))))
    }
}
