//! Preparation of a perfdhcp run from the command line, for a single generator, for a coordinator
//! of several generators, or for one of those.

use std::io;
use std::net::IpAddr;

use load::{LoadRate, LoadShape};
use netio::NetError;

use super::args::PerfdhcpArgs;
use super::dialect::Dialect;
use super::dialect4::Dialect4;
use super::dialect6::Dialect6;
use super::drive::PerfdhcpRun;
use super::packet6;
use super::persona::Personas;
use super::plan::{self, PerfdhcpFailure, PerfdhcpResult};
use super::run_addresses::{self, RunAddresses};
use super::traffic::RequestTraffic;
use crate::v4::template as template4;
use crate::v6::template as template6;
use crate::wire::GeneratorSocket;

/// Simulated clients and messages of a run in one protocol family.
pub(crate) struct FamilySetup<D> {
    pub(crate) personas: Personas,
    pub(crate) dialect: D,
    /// Number of relay addresses of the run.
    pub(crate) links: usize,
}

/// Operation on the clients and messages of either family, DHCPv4 or DHCPv6.
pub(crate) trait FamilyOperation {
    /// Result of the operation on the clients and messages of a family.
    type Played;

    /// Runs the operation on the clients and messages in `setup`, and returns its result.
    fn run<D: Dialect>(self, setup: FamilySetup<D>) -> PerfdhcpResult<Self::Played>;
}

/// Makes the clients and messages that `args` describe, with `own` as this machine's address, and
/// runs `play` with them.
pub(crate) fn run_for_family<P: FamilyOperation>(
    args: &PerfdhcpArgs,
    own: IpAddr,
    play: P,
) -> PerfdhcpResult<P::Played> {
    let personas = plan::personas(args)?;
    let links = plan::links(args, own)?;
    if !args.is_v6() {
        let links = plan::v4(&links);
        let (parameters, options) = plan::options4(args);
        let extras = template4::Dhcp4MessageExtras { parameters, options };
        let count = links.len();
        let dialect = Dialect4::new(personas.clone(), links, &extras, args.first_server)
            .with_packets(plan::packets(args)?);
        let dialect = if args.direct {
            dialect.direct(run_addresses::direct_ports(args), args.broadcast_flag)
        } else {
            dialect
        };
        return play.run(FamilySetup { personas, dialect, links: count });
    }
    let links = if args.relay.is_some() { plan::v6(&links) } else { Vec::new() };
    let count = links.len();
    let packets = plan::packets6(args)?;
    let duid_len = packets
        .as_ref()
        .map_or_else(|| personas.duid_len(), packet6::Dhcp6PacketTemplates::duid_len);
    let ask = packets.as_ref().map_or_else(|| plan::ask(args), packet6::Dhcp6PacketTemplates::ask);
    let extras = template6::Dhcp6MessageExtras {
        duid_len,
        options: plan::options6(&args.options),
        relay_options: plan::options6(&args.relay_options),
    };
    let dialect = Dialect6::new(personas.clone(), links, ask, extras, args.first_server)
        .with_packets(packets);
    play.run(FamilySetup { personas, dialect, links: count })
}

/// Values that determine the due times of a run's requests.
#[derive(Clone, Copy)]
pub(crate) struct RequestTiming<'s> {
    /// Seed of the gaps of a Poisson load.
    pub(crate) seed: u64,
    /// Load shape and rate of first requests; `None` when they have no rate.
    pub(crate) shape: Option<&'s (LoadShape, LoadRate)>,
    /// Start of the run on the monotonic clock, in nanoseconds.
    pub(crate) start_ns: u64,
}

/// Prepares a run with the due times of `timing`, and sends the requests of `-P`.
pub(crate) fn prepare_run<D: Dialect>(
    args: &PerfdhcpArgs,
    addresses: &RunAddresses,
    wire: GeneratorSocket,
    traffic: RequestTraffic<D>,
    timing: RequestTiming<'_>,
) -> PerfdhcpResult<PerfdhcpRun<D>> {
    let RequestTiming { seed, shape, start_ns } = timing;
    netio::thread::set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))?;
    let (pacing, lease_schedules) = plan::schedules(args, shape, start_ns, seed);
    let mut run = PerfdhcpRun::new(wire, traffic, pacing, start_ns);
    run.lease_schedules = lease_schedules;
    run.limits = plan::limits(args, shape);
    run.preload(args.part.share_u32(args.preload)).map_err(|error| failed(addresses, &error))?;
    Ok(run)
}

/// Returns the failure of a run on `addresses` in which the kernel reported `cause`.
pub(crate) fn failed(addresses: &RunAddresses, cause: &io::Error) -> PerfdhcpFailure {
    PerfdhcpFailure::Environment(format!("the run on {}: {cause}", addresses.text()))
}
