//! Preparation of a run from the command line, for this program alone, for a coordinator of several
//! generators, or for one of those.

use std::io;
use std::net::IpAddr;

use load::{Rate, Shape};
use netio::NetError;

use super::args::Args;
use super::dialect::Dialect;
use super::dialect4::Dialect4;
use super::dialect6::Dialect6;
use super::drive::Run;
use super::packet6;
use super::persona::Personas;
use super::place::{self, Place};
use super::plan::{self, Failure};
use super::traffic::Traffic;
use crate::v4::template as template4;
use crate::v6::template as template6;
use crate::wire::Wire;

/// Clients and messages of one family.
pub(crate) struct Stage<D> {
    pub(crate) personas: Personas,
    pub(crate) dialect: D,
    /// Number of relay addresses.
    pub(crate) links: usize,
}

/// Operation on a stage of either family.
pub(crate) trait Play {
    /// Result of the operation.
    type Played;

    /// Runs the operation on `stage`.
    fn play<D: Dialect>(self, stage: Stage<D>) -> Result<Self::Played, Failure>;
}

/// Builds the stage that `args` describe on a machine with the address `own`, and runs `play` on
/// it.
pub(crate) fn set<P: Play>(args: &Args, own: IpAddr, play: P) -> Result<P::Played, Failure> {
    let personas = plan::personas(args)?;
    let links = plan::links(args, own)?;
    if !args.is_v6() {
        let links = plan::v4(&links);
        let (parameters, options) = plan::options4(args);
        let extras = template4::Extras { parameters, options };
        let count = links.len();
        let dialect = Dialect4::new(personas.clone(), links, &extras, args.first_server)
            .with_packets(plan::packets(args)?);
        let dialect = if args.direct {
            dialect.direct(place::direct_ports(args), args.broadcast_flag)
        } else {
            dialect
        };
        return play.play(Stage { personas, dialect, links: count });
    }
    let links = if args.relay.is_some() { plan::v6(&links) } else { Vec::new() };
    let count = links.len();
    let packets = plan::packets6(args)?;
    let duid_len = packets.as_ref().map_or_else(|| personas.duid_len(), packet6::Packets::duid_len);
    let ask = packets.as_ref().map_or_else(|| plan::ask(args), packet6::Packets::ask);
    let extras = template6::Extras {
        duid_len,
        options: plan::options6(&args.options),
        relay_options: plan::options6(&args.relay_options),
    };
    let dialect = Dialect6::new(personas.clone(), links, ask, extras, args.first_server)
        .with_packets(packets);
    play.play(Stage { personas, dialect, links: count })
}

/// Prepares a run that begins at `start_ns`, and sends the requests of `-P`.
pub(crate) fn ready<D: Dialect>(
    args: &Args,
    place: &Place,
    (wire, traffic): (Wire, Traffic<D>),
    (seed, shape): (u64, Option<&(Shape, Rate)>),
    start_ns: u64,
) -> Result<Run<D>, Failure> {
    netio::thread::set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))?;
    let (pace, lease_paces) = plan::paces(args, shape, start_ns, seed);
    let mut run = Run::new(wire, traffic, pace, start_ns);
    run.lease_paces = lease_paces;
    run.limits = plan::limits(args, shape);
    run.preload(args.part.share_u32(args.preload)).map_err(|error| failed(place, &error))?;
    Ok(run)
}

/// Returns the failure of a run in which the kernel reported `cause`.
pub(crate) fn failed(place: &Place, cause: &io::Error) -> Failure {
    Failure::Environment(format!("the run on {}: {cause}", place.shown()))
}
