//! What stands ready before a run, made of the command line, for whoever plays it: this program alone, a
//! coordinator of several generators, or one of those.

use std::io;
use std::net::IpAddr;

use load::{Rate, Shape};
use netio::{NetError, Outbox, Route, UdpSocket, neighbor};

use super::args::Args;
use super::dialect::Dialect;
use super::dialect4::Dialect4;
use super::dialect6::Dialect6;
use super::drive::Run;
use super::packet6;
use super::persona::Personas;
use super::plan::{self, Failure, Place};
use super::traffic::Traffic;
use crate::frames::Frames;
use crate::v4::template as template4;
use crate::v6::template as template6;
use crate::wire::Wire;

/// Clients and messages of one family.
pub(crate) struct Stage<D> {
    pub(crate) personas: Personas,
    pub(crate) dialect: D,
    /// How many relay addresses there are.
    pub(crate) links: usize,
}

/// Who does something with a stage of either family.
pub(crate) trait Play {
    /// What comes of it.
    type Played;

    /// Does it.
    fn play<D: Dialect>(self, stage: Stage<D>) -> Result<Self::Played, Failure>;
}

/// Makes the stage that `args` ask for on a machine with the address `own`, and has it played on.
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

/// A run that begins at `start_ns`, with what `-P` sends before it sent.
pub(crate) fn ready<D: Dialect>(
    args: &Args,
    place: &Place,
    (socket, traffic): (UdpSocket, Traffic<D>),
    (seed, shape): (u64, Option<&(Shape, Rate)>),
    start_ns: u64,
) -> Result<Run<D>, Failure> {
    netio::thread::set_timer_slack_ns(1).map_err(NetError::on("set", "the timer slack"))?;
    let outbox = outbox(args, place, &socket, traffic.dialect().message_bytes_max())?;
    let wire = Wire::new(socket, outbox, false);
    let (pace, lease_paces) = plan::paces(args, shape, start_ns, seed);
    let mut run = Run::new(wire, traffic, pace, start_ns);
    run.lease_paces = lease_paces;
    run.limits = plan::limits(args, shape);
    run.preload(args.part.share_u32(args.preload)).map_err(|error| failed(place, &error))?;
    Ok(run)
}

/// Where messages of up to `message_bytes` wait to leave.
fn outbox(
    args: &Args,
    place: &Place,
    socket: &UdpSocket,
    message_bytes: usize,
) -> Result<Outbox, Failure> {
    let route = Route { destination: place.server, sources: Vec::new(), segmentation: false };
    let Some(frames) = args.frames.frames() else { return Ok(Outbox::new(route, message_bytes)) };
    if let Some(problem) = Frames::problem(place.server) {
        return Err(Failure::Usage(vec![problem]));
    }
    let found = frames.outbox(route, socket, 0, message_bytes)?;
    found.ok_or_else(|| Failure::Usage(vec![neighbor::unknown(place.server.ip())]))
}

/// What the kernel reported during the run.
pub(crate) fn failed(place: &Place, cause: &io::Error) -> Failure {
    Failure::Environment(format!("the run on {}: {cause}", place.local))
}
