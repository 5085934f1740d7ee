//! State of a zone: its queue, the updates under way, and the pause after failures of all servers.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use base::Now;
use base::time::NS_PER_S;
use domain::base::iana::{Rcode, TsigRcode};

use super::Updater;
use crate::notice::NoticeLevel;
use crate::order::RequestNumber;
use crate::tsig::TsigFault;

/// Maximum number of updates under way for one zone.
const IN_FLIGHT_PER_ZONE: usize = 32;
/// First pause of a zone whose servers have all failed; it doubles with each further failure.
const FIRST_PAUSE_NS: u64 = NS_PER_S;
/// Longest pause of a zone whose servers are silent.
const LONGEST_PAUSE_NS: u64 = 60 * NS_PER_S;
/// Longest pause of a zone with a server that answers. It is short, since the server may refuse
/// one name only, for which others must not wait.
const LONGEST_REFUSED_PAUSE_NS: u64 = 5 * NS_PER_S;
/// Failures of one request at a zone that took others meanwhile, after which the request is given
/// up.
const STRIKES_MAX: u32 = 5;

/// Reason why a server did not carry out an update, and the next one is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateFailure {
    /// No answer in time.
    Silent,
    /// Answers that are not signed as they should be.
    Unsigned(TsigFault),
    /// Refusal of the updater's signature.
    Key(TsigRcode),
    /// Refusal for a reason that may pass.
    Refused(Rcode),
    /// Failure of the exchange over TCP.
    Stream,
}

impl UpdateFailure {
    /// Returns the longest pause of a zone after failures of this kind.
    const fn longest_pause_ns(self) -> u64 {
        match self {
            Self::Silent | Self::Unsigned(_) | Self::Stream => LONGEST_PAUSE_NS,
            Self::Key(_) | Self::Refused(_) => LONGEST_REFUSED_PAUSE_NS,
        }
    }
}

impl fmt::Display for UpdateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("there is no answer"),
            Self::Unsigned(TsigFault::Unsigned) => f.write_str("answers are not signed"),
            Self::Unsigned(TsigFault::Late) => {
                f.write_str("answers are signed at another time: compare the clocks")
            }
            Self::Unsigned(_) => f.write_str("answers are signed wrongly: compare the keys"),
            Self::Key(code) => write!(f, "the server refuses the key: {code}"),
            Self::Refused(code) => write!(f, "the server answers {code}"),
            Self::Stream => f.write_str("the exchange over TCP failed"),
        }
    }
}

/// State of a zone.
#[derive(Debug, Default)]
pub(super) struct ZoneState {
    /// Requests that may be sent.
    pub(super) ready: VecDeque<RequestNumber>,
    /// Number of requests with an update under way.
    pub(super) in_flight: usize,
    /// Number of updates that servers have taken.
    pub(super) successes: u64,
    /// Pauses since an update was last taken.
    pauses: u32,
    /// Time of the monotonic clock at which the pause ends.
    resumes_ns: Option<u64>,
}

impl ZoneState {
    /// Returns true if the zone may send one more update. After a pause it tries with one.
    pub(super) fn may_send(&self, now_ns: u64) -> bool {
        match self.resumes_ns {
            None => self.in_flight < IN_FLIGHT_PER_ZONE,
            Some(resumes_ns) => now_ns >= resumes_ns && self.in_flight == 0,
        }
    }

    /// Returns the time at which the zone's pause ends, unless it is over and an update under way.
    pub(super) fn resumes_ns(&self) -> Option<u64> {
        self.resumes_ns.filter(|_| self.in_flight == 0)
    }

    /// Pauses the zone for `longest_ns` at most; returns the pause, `None` if it pauses already.
    fn pause(&mut self, now_ns: u64, longest_ns: u64) -> Option<Duration> {
        if self.resumes_ns.is_some_and(|resumes_ns| resumes_ns > now_ns) {
            return None;
        }
        let pause_ns = longest_ns.min(FIRST_PAUSE_NS << self.pauses.min(6));
        self.pauses += 1;
        self.resumes_ns = Some(now_ns + pause_ns);
        Some(Duration::from_nanos(pause_ns))
    }
}

impl Updater {
    /// Sends the update of a request to the next server of its zone, or ends the attempt if there
    /// is none.
    pub(super) fn try_next_server(
        &mut self,
        number: RequestNumber,
        failure: UpdateFailure,
        now: Now,
    ) {
        let Some(pending) = self.requests.get_mut(&number) else { return };
        pending.tries = 0;
        pending.server += 1;
        if pending.server(&self.zones).is_some() {
            self.send(number, now);
        } else {
            self.zone_failed(number, failure, now);
        }
    }

    /// Puts a request back that no server of its zone takes, and pauses the zone, unless it has
    /// taken other updates meanwhile.
    fn zone_failed(&mut self, number: RequestNumber, failure: UpdateFailure, now: Now) {
        self.release_zone(number);
        let Some(pending) = self.requests.get_mut(&number) else { return };
        let Some(zone) = pending.zone() else { return };
        pending.restart();
        let state = &mut self.states[zone];
        if state.successes != pending.successes {
            pending.strikes += 1;
            if pending.strikes >= STRIKES_MAX {
                let text = format!(
                    "DNS Request ID {}: the servers of zone {} take other updates, but not that \
                     of {}: {failure}",
                    pending.request.dhcid, self.zones.zones[zone].name, pending.request.name
                );
                let id = format!("DHCP_DDNS_{}_REJECTED", pending.step_name());
                self.notice(NoticeLevel::Error, id, text);
                self.fail(number);
                return;
            }
        } else if let Some(pause) = state.pause(now.mono_ns, failure.longest_pause_ns()) {
            let level = if state.pauses == 1 { NoticeLevel::Warning } else { NoticeLevel::Debug };
            let text = format!(
                "no server of zone {} takes updates: {failure}; requests wait, and one tries \
                 again in {} s",
                self.zones.zones[zone].name,
                pause.as_secs()
            );
            self.notice(level, "DHCP_DDNS_ZONE_PAUSED", text);
        }
        self.make_ready(number);
    }

    /// Notes that a server of the zone of a request has decided about an update.
    pub(super) fn zone_succeeded(&mut self, number: RequestNumber) {
        let Some(pending) = self.requests.get_mut(&number) else { return };
        let Some(zone) = pending.zone() else { return };
        let state = &mut self.states[zone];
        state.successes += 1;
        pending.successes = state.successes;
        if state.resumes_ns.take().is_some() {
            state.pauses = 0;
            let text = format!("zone {} takes updates again", self.zones.zones[zone].name);
            self.notice(NoticeLevel::Info, "DHCP_DDNS_ZONE_RESUMED", text);
        }
    }
}
