//! State machine of the updater: requests, the updates under way, and the zones' states.
//!
//! A request waits until all earlier ones for its name and its address are finished (`order`). Then
//! it goes to the zone of its name, and after that to the zone of its address. A zone sends several
//! updates at the same time. If no server of a zone takes an update, the zone pauses: its requests
//! stay, and after a time that doubles with each failure one of them tries again.

mod exchange;
mod request;
mod zone;

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Now, Random};
use ncr::{NameChangeKind, NameChangeRequest};

use crate::counts::{KeyCounts, UpdaterCounts};
use crate::notice::{Described, NoticeLevel, UpdaterNotice};
use crate::order::{RequestNumber, RequestOrder};
use crate::steps::Verdict;
use crate::zones::{DnsZones, ZoneIndex};
use exchange::UpdateExchanges;
use request::{PendingRequest, Route, RouteFailure};
pub(crate) use zone::UpdateFailure;
use zone::ZoneState;

/// Maximum number of updates under way. BIND takes 100 at a time by default (`update-quota`).
const IN_FLIGHT_MAX: usize = 64;
/// Attempts at a server before the next one is tried, as in Kea.
const TRIES_PER_SERVER: u32 = 3;

/// Effect that the caller carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdaterOutput {
    /// UDP datagram to send to a DNS server.
    Datagram {
        /// Address of the server.
        to: SocketAddr,
        /// Content of the datagram.
        bytes: Vec<u8>,
    },
    /// Message to exchange for an answer over TCP.
    Stream {
        /// Number of the exchange, for [`Updater::handle_stream`].
        exchange: u64,
        /// Address of the server.
        to: SocketAddr,
        /// Message, without its length.
        bytes: Vec<u8>,
        /// Time that the whole exchange has.
        timeout: Duration,
    },
    /// End of the request of this number: it need not be kept any more.
    Finished(u64),
    /// Line to log.
    Notice(UpdaterNotice),
}

/// State machine of the updater.
#[derive(Debug)]
pub struct Updater {
    zones: DnsZones,
    states: Vec<ZoneState>,
    /// Zones with requests that may be sent.
    active: BTreeSet<ZoneIndex>,
    /// Zone that sent last, after which the search for the next one begins.
    turn: ZoneIndex,
    requests: BTreeMap<RequestNumber, PendingRequest>,
    order: RequestOrder,
    /// Requests that have become first in their queues.
    to_begin: VecDeque<RequestNumber>,
    exchanges: UpdateExchanges,
    /// DNS servers that have cut an answer, each of which gets one line in the log.
    truncating: BTreeSet<SocketAddr>,
    outputs: VecDeque<UpdaterOutput>,
    counts: UpdaterCounts,
}

impl Updater {
    /// Creates an updater of `zones`. `random` chooses the identifiers of messages, so it should
    /// not be predictable outside of tests.
    #[must_use]
    pub fn new(zones: DnsZones, random: Random) -> Self {
        let mut updater = Self {
            states: Vec::new(),
            active: BTreeSet::new(),
            turn: 0,
            requests: BTreeMap::new(),
            order: RequestOrder::default(),
            to_begin: VecDeque::new(),
            exchanges: UpdateExchanges::new(random),
            truncating: BTreeSet::new(),
            outputs: VecDeque::new(),
            counts: UpdaterCounts::default(),
            zones,
        };
        updater.prepare_zones();
        updater
    }

    /// Replaces the zones. Requests under way begin again; an update that a server has carried out
    /// already does no harm, since it is carried out in the same order again.
    pub fn configure(&mut self, zones: DnsZones, now: Now) {
        self.zones = zones;
        self.prepare_zones();
        let firsts = self
            .requests
            .iter()
            .filter(|(number, pending)| self.order.is_first(**number, &pending.request));
        self.to_begin = firsts.map(|(number, _)| *number).collect();
        self.progress(now);
    }

    fn prepare_zones(&mut self) {
        self.states = self.zones.zones.iter().map(|_| ZoneState::default()).collect();
        self.active.clear();
        self.exchanges.clear();
        self.truncating.clear();
        self.counts.keys = vec![KeyCounts::default(); self.zones.keys.len()];
    }

    /// Takes a request. Numbers must ascend.
    pub fn accept(&mut self, number: u64, request: NameChangeRequest, now: Now) {
        if self.order.enter(number, &request) {
            self.to_begin.push_back(number);
        }
        self.requests.insert(number, PendingRequest::new(request));
        self.progress(now);
    }

    /// Takes a datagram from `from`, which may be an answer. Others are ignored.
    pub fn handle_datagram(&mut self, from: SocketAddr, bytes: &[u8], now: Now) {
        let Some(exchange) = self.exchanges.of_datagram(from, bytes) else { return };
        self.handle_answer(exchange, bytes, now);
        self.progress(now);
    }

    /// Takes the answer to an exchange over TCP; `None` if there was none.
    pub fn handle_stream(&mut self, exchange: u64, answer: Option<&[u8]>, now: Now) {
        match answer {
            Some(bytes) => self.handle_answer(exchange, bytes, now),
            None => {
                if let Some(number) = self.end_exchange(exchange, |counts| counts.error += 1) {
                    self.try_next_server(number, UpdateFailure::Stream, now);
                }
            }
        }
        self.progress(now);
    }

    /// Returns the time of the monotonic clock at which [`Updater::handle_timeout`] has work next.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        let has_room = self.exchanges.len() < IN_FLIGHT_MAX;
        let waiting = self.active.iter().filter(|_| has_room);
        let resumes = waiting.filter_map(|&zone| self.states[zone].resumes_ns());
        resumes.chain(self.exchanges.next_due_ns()).min()
    }

    /// Repeats updates whose answers are overdue, and lets zones try again that have paused.
    pub fn handle_timeout(&mut self, now: Now) {
        while let Some(exchange) = self.exchanges.overdue(now.mono_ns) {
            let fault = self.exchanges.fault(exchange);
            let Some(number) = self.end_exchange(exchange, |counts| counts.timeout += 1) else {
                continue;
            };
            let Some(pending) = self.requests.get_mut(&number) else { continue };
            pending.tries += 1;
            if pending.tries < TRIES_PER_SERVER {
                self.send(number, now);
            } else {
                let failure = fault.map_or(UpdateFailure::Silent, UpdateFailure::Unsigned);
                self.try_next_server(number, failure, now);
            }
        }
        self.progress(now);
    }

    /// Returns the next effect to carry out.
    pub fn poll_output(&mut self) -> Option<UpdaterOutput> {
        self.outputs.pop_front()
    }

    /// Returns the number of requests that are not finished.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.requests.len()
    }

    /// Returns the unfinished requests with their numbers, ascending.
    pub fn iter_pending(&self) -> impl Iterator<Item = (u64, &NameChangeRequest)> {
        self.requests.iter().map(|(number, pending)| (*number, &pending.request))
    }

    /// Returns the number of updates under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the counts of requests and updates.
    #[must_use]
    pub const fn counts(&self) -> &UpdaterCounts {
        &self.counts
    }

    /// Begins requests and sends updates as far as possible.
    fn progress(&mut self, now: Now) {
        loop {
            while let Some(number) = self.to_begin.pop_front() {
                self.begin(number);
            }
            let Some(zone) = self.next_zone(now) else { break };
            self.turn = zone;
            let Some(number) = self.states[zone].ready.pop_front() else { break };
            if self.states[zone].ready.is_empty() {
                self.active.remove(&zone);
            }
            self.states[zone].in_flight += 1;
            if let Some(pending) = self.requests.get_mut(&number) {
                pending.successes = self.states[zone].successes;
            }
            self.send(number, now);
        }
    }

    /// Returns the next zone, in turn, that may send an update.
    fn next_zone(&self, now: Now) -> Option<ZoneIndex> {
        if self.exchanges.len() >= IN_FLIGHT_MAX {
            return None;
        }
        let after = self.active.range(self.turn + 1..).chain(self.active.range(..=self.turn));
        after.copied().find(|&zone| self.states[zone].may_send(now.mono_ns))
    }

    /// Finds the zones of a request and puts it into the queue of the first.
    fn begin(&mut self, number: RequestNumber) {
        let Some(pending) = self.requests.get_mut(&number) else { return };
        match Route::find(&pending.request, &self.zones) {
            Ok(route) => {
                pending.start(route);
                self.make_ready(number);
            }
            Err(RouteFailure::Disabled) => {
                let id = "DHCP_DDNS_REQUEST_DROPPED";
                let text = format!(
                    "Request ID {}: Request contains no enabled update requests and will be \
                     dropped: {}",
                    pending.request.dhcid,
                    Described(&pending.request)
                );
                self.notice(NoticeLevel::Debug, id, text);
                self.finish(number);
            }
            Err(RouteFailure::NoZone { direction, id }) => {
                let text = format!(
                    "Request ID {}: the configured list of {direction} DDNS domains does not \
                     contain a match for: {}  The request has been discarded.",
                    pending.request.dhcid,
                    Described(&pending.request)
                );
                self.notice(NoticeLevel::Error, id, text);
                self.counts.failed += 1;
                self.finish(number);
            }
        }
    }

    /// Puts a request into the queue of the zone that it is at.
    fn make_ready(&mut self, number: RequestNumber) {
        let Some(zone) = self.requests.get(&number).and_then(PendingRequest::zone) else { return };
        self.states[zone].ready.push_back(number);
        self.active.insert(zone);
    }

    /// Follows the consequence of an answer for a request.
    fn follow(&mut self, number: RequestNumber, verdict: Verdict, rcode: u8, now: Now) {
        let Some(pending) = self.requests.get_mut(&number) else { return };
        match verdict {
            Verdict::Next(step) if pending.may_take(step) => self.send(number, now),
            Verdict::Done => {
                self.release_zone(number);
                let Some(pending) = self.requests.get_mut(&number) else { return };
                if pending.go_to_reverse() {
                    self.make_ready(number);
                } else {
                    self.succeed(number);
                }
            }
            Verdict::Next(_) | Verdict::Rejected => {
                let text = pending.rejection(&self.zones, rcode);
                let id = format!("DHCP_DDNS_{}_REJECTED", pending.step_name());
                self.notice(NoticeLevel::Error, id, text);
                self.release_zone(number);
                self.fail(number);
            }
        }
    }

    /// Frees the place of a request among the updates under way of its zone.
    fn release_zone(&mut self, number: RequestNumber) {
        if let Some(zone) = self.requests.get(&number).and_then(PendingRequest::zone) {
            self.states[zone].in_flight = self.states[zone].in_flight.saturating_sub(1);
        }
    }

    fn succeed(&mut self, number: RequestNumber) {
        let Some(PendingRequest { request, .. }) = self.requests.get(&number) else { return };
        let (id, verb) = match request.kind {
            NameChangeKind::Add => ("DHCP_DDNS_ADD_SUCCEEDED", "added"),
            NameChangeKind::Remove => ("DHCP_DDNS_REMOVE_SUCCEEDED", "removed"),
        };
        let text = format!(
            "DHCP_DDNS Request ID {}: successfully {verb} the DNS mapping addition for this \
             request: {}",
            request.dhcid,
            Described(request)
        );
        self.notice(NoticeLevel::Info, id, text);
        self.counts.completed += 1;
        self.finish(number);
    }

    fn fail(&mut self, number: RequestNumber) {
        let Some(PendingRequest { request, .. }) = self.requests.get(&number) else { return };
        let id = match request.kind {
            NameChangeKind::Add => "DHCP_DDNS_ADD_FAILED",
            NameChangeKind::Remove => "DHCP_DDNS_REMOVE_FAILED",
        };
        let text = format!(
            "DHCP_DDNS Request ID {}: Transaction outcome Status: Failed, request: {}",
            request.dhcid,
            Described(request)
        );
        self.notice(NoticeLevel::Error, id, text);
        self.counts.failed += 1;
        self.finish(number);
    }

    /// Ends a request and lets those begin that have waited for it.
    fn finish(&mut self, number: RequestNumber) {
        let Some(pending) = self.requests.remove(&number) else { return };
        for next in self.order.leave(number, &pending.request) {
            let Some(waiting) = self.requests.get(&next) else { continue };
            if self.order.is_first(next, &waiting.request) {
                self.to_begin.push_back(next);
            }
        }
        self.outputs.push_back(UpdaterOutput::Finished(number));
    }

    fn notice(&mut self, level: NoticeLevel, id: impl Into<String>, text: String) {
        let notice = UpdaterNotice { level, id: id.into(), text };
        self.outputs.push_back(UpdaterOutput::Notice(notice));
    }
}

#[cfg(test)]
mod tests;
