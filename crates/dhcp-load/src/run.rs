//! A whole run: sockets, threads, and the sum of what they saw.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{fmt, fs, io, thread};

use base::Random;
use base::time::{NS_PER_MS, NS_PER_S};
use load::{Rate, Schedule};
use measure::record::LoadRecord;
use netio::{Clock, NetError, UdpOptions, UdpSocket};

use crate::record::{Report, Sockets};
use crate::settings::{Arrivals, Segmentation, Settings};
use crate::v4::client::Identities;
use crate::v4::drive::{Lane, LaneResult};
use crate::v4::leases::{LeaseLog, ROWS_MAX};
use crate::v4::population::Population;

/// Socket buffers that are asked for, octets of kernel memory: a tenth of a second of answers to
/// 150,000 exchanges per second.
const BUFFER_BYTES: usize = 64 << 20;
/// From the moment when all is ready to the first due time: what the threads take to start.
const LEAD_NS: u64 = 20 * NS_PER_MS;

/// Why a run could not be done. Nothing that the server does is an error.
#[derive(Debug)]
pub enum LoadError {
    /// The settings cannot work; every problem.
    Settings(Vec<String>),
    /// The environment refused something.
    Net(NetError),
    /// The lease list could not be written.
    Leases(String, io::Error),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(problems) => f.write_str(&problems.join("\n")),
            Self::Net(error) => error.fmt(f),
            Self::Leases(path, error) => write!(f, "cannot write {path}: {error}"),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<NetError> for LoadError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}

/// Runs until the schedule has ended and no exchange is open, or, after `stop` was set, as long as
/// exchanges are open. The figures that the lab needs; [`run_report`] has more.
///
/// # Errors
///
/// When the settings cannot work or the environment refuses a socket, a processor or a file.
pub fn run(settings: &Settings, stop: &AtomicBool) -> Result<LoadRecord, LoadError> {
    run_report(settings, stop).map(|report| report.load)
}

/// As [`run`], with everything that is known about the run.
///
/// # Errors
///
/// As [`run`].
pub fn run_report(settings: &Settings, stop: &AtomicBool) -> Result<Report, LoadError> {
    let problems = settings.problems();
    if !problems.is_empty() {
        return Err(LoadError::Settings(problems));
    }
    let sockets = (0..settings.threads)
        .map(|thread| open_socket(settings, thread))
        .collect::<Result<Vec<_>, _>>()?;
    let facts = Sockets::of(&sockets, BUFFER_BYTES)
        .map_err(NetError::on("ask", "the generator's sockets"))?;
    let segmentation = choose_segmentation(settings, &sockets)?;
    // Allocation takes its time and must be over before the schedule begins.
    let mut populations: Vec<Population> =
        (0..settings.threads).map(|thread| population(settings, thread)).collect();
    let start_ns = Clock::mono_ns() + LEAD_NS;
    for population in &mut populations {
        population.starts_at(start_ns);
    }
    let lanes =
        sockets.into_iter().zip(populations).zip(0..).map(|((socket, population), thread)| {
            let schedule = schedule(settings, start_ns, thread);
            let quiet_ns = settings.quiet_ns;
            Lane::new(socket, population, schedule, settings.server, segmentation, quiet_ns)
        });
    let results = run_lanes(settings, lanes.collect(), stop)?;
    let (report, leases) = Report::of_lanes(settings, start_ns, results, facts);
    if let Some(path) = &settings.leases {
        write_leases(path, &leases)
            .map_err(|error| LoadError::Leases(path.display().to_string(), error))?;
    }
    Ok(report)
}

fn open_socket(settings: &Settings, thread: u32) -> Result<UdpSocket, NetError> {
    UdpSocket::open(&UdpOptions {
        broadcast: true,
        receive_buffer_bytes: Some(BUFFER_BYTES),
        send_buffer_bytes: Some(BUFFER_BYTES),
        ..UdpOptions::at(settings.relay_of(thread))
    })
}

fn choose_segmentation(settings: &Settings, sockets: &[UdpSocket]) -> Result<bool, NetError> {
    let is_supported = sockets.iter().all(UdpSocket::supports_segmentation);
    match settings.segmentation {
        Segmentation::Off => Ok(false),
        Segmentation::On if !is_supported => {
            let cause = io::Error::from(io::ErrorKind::Unsupported);
            Err(NetError::new("segment on", "this kernel", cause))
        }
        Segmentation::On | Segmentation::Auto => Ok(is_supported),
    }
}

/// The share of the rate that one thread carries.
fn share(settings: &Settings) -> Rate {
    let per_s = settings.rate.as_per_second() / f64::from(settings.threads);
    Rate::per_second(per_s.max(0.001)).expect("a share of a rate is a rate")
}

fn population(settings: &Settings, thread: u32) -> Population {
    let identities = Identities {
        thread: thread.into(),
        threads: settings.threads.into(),
        client_offset: settings.client_offset,
        clients: settings.clients,
        xid_base: Identities::xid_base_of(settings.seed),
        giaddr: *settings.relay_of(thread).ip(),
    };
    // A quarter above the mean and a floor: what a Poisson schedule needs at any rate.
    let slack = |count: u64| count * 5 / 4 + 1_024;
    let capacity = slack(share(settings).count_in(settings.limits.watched_ns()));
    let leases = slack(share(settings).count_in(settings.duration_ns));
    let rows = leases.min(ROWS_MAX / u64::from(settings.threads));
    let log = LeaseLog::with_capacity(rows);
    Population::new(identities, settings.limits, settings.expect, capacity, log)
}

fn schedule(settings: &Settings, start_ns: u64, thread: u64) -> Schedule {
    let (rate, duration_ns) = (settings.rate, settings.duration_ns);
    match settings.arrivals {
        Arrivals::Even => {
            Schedule::even(rate, start_ns, duration_ns, thread, settings.threads.into())
        }
        Arrivals::Poisson => {
            let random = Random::from_seed(settings.seed).fork(thread + 1);
            Schedule::poisson(share(settings), start_ns, duration_ns, random)
        }
    }
}

/// Runs every lane on a thread of its own.
fn run_lanes(
    settings: &Settings,
    lanes: Vec<Lane>,
    stop: &AtomicBool,
) -> Result<Vec<LaneResult>, NetError> {
    thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .into_iter()
            .enumerate()
            .map(|(index, lane)| {
                let cpus = &settings.cpus;
                let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
                scope.spawn(move || {
                    place(index, cpu)?;
                    lane.run(stop).map_err(NetError::on("drive", "the generator's socket"))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a lane does not panic")).collect()
    })
}

/// Names, pins and sharpens the calling thread.
fn place(index: usize, cpu: Option<usize>) -> Result<(), NetError> {
    let name = format!("load-{index}");
    netio::thread::set_name(&name).map_err(NetError::on("name thread", name))?;
    if let Some(cpu) = cpu {
        netio::thread::pin_to_cpu(cpu)
            .map_err(NetError::on("bind a thread to processor", cpu.to_string()))?;
    }
    netio::thread::set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))
}

fn write_leases(path: &Path, leases: &LeaseLog) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::File::create(path)?);
    leases.write_csv(&mut out)?;
    io::Write::flush(&mut out)
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S as f64
}
