//! State of one request: the zones that it goes to, and the update that it is at.

use core::fmt;

use ncr::{NameChangeKind, NameChangeRequest};

use crate::steps::Step;
use crate::zones::{DnsZones, UpdateServer, ZoneIndex, ZoneMatch};

/// Maximum number of updates that a request sends for its name: a name that others add and remove
/// meanwhile leads to and fro between addition and replacement.
const ROUNDS_MAX: u8 = 8;

/// Zones of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    forward: Option<ZoneIndex>,
    reverse: Option<ZoneIndex>,
}

/// Reason why a request has nowhere to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteFailure {
    /// Request only for directions without zones.
    Disabled,
    /// Name or address in none of the zones.
    NoZone {
        direction: &'static str,
        /// Message identifier.
        id: &'static str,
    },
}

impl Route {
    /// Finds the zones of `request`.
    pub(super) fn find(
        request: &NameChangeRequest,
        zones: &DnsZones,
    ) -> Result<Self, RouteFailure> {
        let found = |is_requested: bool, zone: &dyn Fn() -> ZoneMatch| {
            if is_requested { zone() } else { ZoneMatch::Disabled }
        };
        let forward = found(request.forward, &|| zones.forward(&request.name));
        let reverse = found(request.reverse, &|| zones.reverse(request.address));
        let zone = |found, direction, id| match found {
            ZoneMatch::Found(zone) => Ok(Some(zone)),
            ZoneMatch::Disabled => Ok(None),
            ZoneMatch::None => Err(RouteFailure::NoZone { direction, id }),
        };
        let forward = zone(forward, "forward", "DHCP_DDNS_NO_FWD_MATCH_ERROR")?;
        let reverse = zone(reverse, "reverse", "DHCP_DDNS_NO_REV_MATCH_ERROR")?;
        if forward.is_none() && reverse.is_none() {
            return Err(RouteFailure::Disabled);
        }
        Ok(Self { forward, reverse })
    }
}

/// Request that is not finished.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) request: NameChangeRequest,
    /// Zones of the request once it has begun, and the update that it is at.
    course: Option<(Route, Step)>,
    /// Position of the server in use among those of the zone.
    pub(super) server: usize,
    /// Attempts at this server without an answer.
    pub(super) tries: u32,
    /// Updates that the request has sent for its name.
    rounds: u8,
    /// Failures at all servers of a zone that served other requests meanwhile.
    pub(super) strikes: u32,
    /// Number of updates that the zone had taken when the request was sent to it.
    pub(super) successes: u64,
}

impl PendingRequest {
    pub(super) const fn new(request: NameChangeRequest) -> Self {
        Self { request, course: None, server: 0, tries: 0, rounds: 0, strikes: 0, successes: 0 }
    }

    /// Begins the request at its first zone.
    pub(super) fn start(&mut self, route: Route) {
        let step = match route.forward {
            Some(_) => Step::first_forward(&self.request),
            None => Step::reverse(&self.request),
        };
        self.course = Some((route, step));
        self.restart();
    }

    /// Goes back to the first update and the first server of the zone that the request is at.
    pub(super) fn restart(&mut self) {
        (self.server, self.tries, self.rounds) = (0, 0, 0);
        if let Some((_, step)) = &mut self.course
            && !step.is_reverse()
        {
            *step = Step::first_forward(&self.request);
        }
    }

    /// Returns the zone that the request is at.
    pub(super) fn zone(&self) -> Option<ZoneIndex> {
        let (route, step) = self.course?;
        if step.is_reverse() { route.reverse } else { route.forward }
    }

    /// Returns the update that the request is at.
    pub(super) fn step(&self) -> Option<Step> {
        self.course.map(|(_, step)| step)
    }

    /// Returns the server that the request uses.
    pub(super) fn server(&self, zones: &DnsZones) -> Option<UpdateServer> {
        zones.zones.get(self.zone()?)?.servers.get(self.server).copied()
    }

    /// Goes to the update `step` at the same server; returns false if there were too many.
    pub(super) fn may_take(&mut self, step: Step) -> bool {
        self.rounds += 1;
        self.tries = 0;
        if let Some((_, current)) = &mut self.course
            && self.rounds < ROUNDS_MAX
        {
            *current = step;
            return true;
        }
        false
    }

    /// Goes from the zone of the name to the zone of the address; returns false if there is no
    /// further zone.
    pub(super) fn go_to_reverse(&mut self) -> bool {
        match &mut self.course {
            Some((route, step)) if !step.is_reverse() && route.reverse.is_some() => {
                *step = Step::reverse(&self.request);
                self.strikes = 0;
                self.restart();
                true
            }
            _ => false,
        }
    }

    /// Returns the words for the update in message identifiers.
    pub(super) fn step_name(&self) -> &'static str {
        self.step().map_or("", Step::name)
    }

    /// Returns Kea's text about an update that the server rejected.
    pub(super) fn rejection(&self, zones: &DnsZones, rcode: u8) -> String {
        let what = match self.step() {
            Some(Step::ReplacePointer | Step::RemovePointer) => "reverse mapping",
            _ => "address mapping",
        };
        let verb = match self.request.kind {
            NameChangeKind::Add => "add",
            NameChangeKind::Remove => "remove",
        };
        format!(
            "DNS Request ID {}: Server, {}, rejected a DNS update request to {verb} the {what} for \
             FQDN, {}, with an RCODE: {rcode}",
            self.request.dhcid,
            ServerText(self.server(zones)),
            self.request.name
        )
    }
}

/// Server in a line to log, as Kea writes it.
pub(super) struct ServerText(pub(super) Option<UpdateServer>);

impl fmt::Display for ServerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(server) => {
                write!(f, "{} port:{}", server.address.ip(), server.address.port())
            }
            None => f.write_str("(none)"),
        }
    }
}
