//! What is logged of single messages when somebody wants to read it, under Kea's loggers,
//! identifiers and debug levels. While nobody does, a message costs one look at [`Hearing`]; when
//! somebody does, a shard copies it for the thread of [`Narration`], which makes the text.
//!
//! Kea logs every message at INFO. Here a logger has to ask for that, by DEBUG or by the name of
//! the logger of single messages: a server is not to be slowed down by its log unless its operator
//! says so.

mod questions;
mod recorder;
mod thread;
mod v4;
mod v6;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dhcp_config::ExpiredLeases;
use dhcp_engine::{DropReason, InterfaceNames, Notice, Protocol};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use crate::log::Hearing;
use crate::server_id::colon_hex as hex;

pub(crate) use questions::Questions;
pub(crate) use recorder::{Mailbox, Recorder};
pub(crate) use thread::Narration;
pub(crate) use v4::tell as tell_v4;
pub(crate) use v6::tell as tell_v6;

/// `decline-probation-period` of the configuration in force, which lines about declined leases
/// name.
static PROBATION_S: AtomicU32 = AtomicU32::new(0);
/// A flag: leases that are given back stay with their clients for a while, as Kea's lines tell.
static KEEPS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Tells of declined and released leases by these terms from now on.
pub(crate) fn set_terms(probation_s: u32, expired: &ExpiredLeases) {
    let keeps_released = expired.flush_reclaimed_timer_wait_s > 0 && expired.hold_reclaimed_s > 0;
    PROBATION_S.store(probation_s, Ordering::Relaxed);
    KEEPS_RELEASED.store(keeps_released, Ordering::Relaxed);
}

fn probation_s() -> u32 {
    PROBATION_S.load(Ordering::Relaxed)
}

/// Returns true when a lease that is given back stays with its client for a while.
fn keeps_released() -> bool {
    KEEPS_RELEASED.load(Ordering::Relaxed)
}

/// The loggers of single messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// `packets`
    Packets,
    /// `bad-packets`
    BadPackets,
    /// `leases`
    Leases,
}

impl Topic {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Packets, Self::BadPackets, Self::Leases];

    /// The logger's name below the root.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::BadPackets => "bad-packets",
            Self::Leases => "leases",
        }
    }
}

/// A message of the log as Kea knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    topic: Topic,
    /// Kea's `debuglevel` from which on it is written; 0 for what Kea has at INFO.
    level: u8,
    /// Kea's identifier, with `DHCPX` for `DHCP4` or `DHCP6`.
    id: &'static str,
}

/// Kea's levels.
const ALWAYS: u8 = 0;
const PACKET_HANDLING: u8 = 15;
const BASIC: u8 = 40;
const DETAIL: u8 = 50;

const fn line(topic: Topic, level: u8, id: &'static str) -> Line {
    Line { topic, level, id }
}

const BUFFER_RECEIVED: Line = line(Topic::Packets, BASIC, "DHCPX_BUFFER_RECEIVED");
const PACKET_RECEIVED: Line = line(Topic::Packets, ALWAYS, "DHCPX_PACKET_RECEIVED");
const PACKET_SEND: Line = line(Topic::Packets, ALWAYS, "DHCPX_PACKET_SEND");
const PACKET_SEND_FAIL: Line = line(Topic::Packets, ALWAYS, "DHCPX_PACKET_SEND_FAIL");
const QUEUE_FULL: Line = line(Topic::Packets, BASIC, "DHCPX_PACKET_QUEUE_FULL");
const LEASE_ALLOC: Line = line(Topic::Leases, ALWAYS, "DHCPX_LEASE_ALLOC");

/// Who writes, and with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrator<'d> {
    pub(crate) hearing: Hearing,
    /// Names of the interfaces.
    pub(crate) names: &'d InterfaceNames,
    /// When what is told happened, on the wall clock.
    pub(crate) at_us: u64,
}

impl Narrator<'_> {
    /// Writes `line` with the text that `text` makes, if anybody wants it.
    fn say(self, line: Line, text: impl FnOnce() -> String) {
        let Line { topic, level, id } = line;
        if !self.hearing.takes(topic, level) {
            return;
        }
        let (debuglevel, at_us, text) = (u64::from(level), self.at_us, text());
        // A target is part of the code that calls the macro.
        match (topic, level) {
            (Topic::Packets, ALWAYS) => tracing::info!(target: "packets", id, at_us, "{text}"),
            (Topic::Packets, _) => {
                tracing::debug!(target: "packets", id, at_us, debuglevel, "{text}");
            }
            (Topic::BadPackets, ALWAYS) => {
                tracing::info!(target: "bad-packets", id, at_us, "{text}");
            }
            (Topic::BadPackets, _) => {
                tracing::debug!(target: "bad-packets", id, at_us, debuglevel, "{text}");
            }
            (Topic::Leases, ALWAYS) => tracing::info!(target: "leases", id, at_us, "{text}"),
            (Topic::Leases, _) => {
                tracing::debug!(target: "leases", id, at_us, debuglevel, "{text}");
            }
        }
    }

    /// The name of the interface with `index`, or else the number.
    fn interface(self, index: u32) -> String {
        self.names.name(index).map_or_else(|| format!("number {index}"), str::to_owned)
    }
}

/// What both families tell of how a message came in: octets, from where, to where, through which
/// interface.
fn tell_of_arrival(narrator: Narrator<'_>, len: usize, way: (IpAddr, u16, IpAddr, u32)) {
    let (source, port, local, interface) = way;
    narrator.say(BUFFER_RECEIVED, || {
        let interface = narrator.interface(interface);
        format!("{len} octets from {source} port {port} to {local} on interface {interface}")
    });
}

/// The type of the message that a reply answers.
fn answered<P: Protocol>(asked: dhcp_engine::Asked) -> &'static str {
    P::RECEIVED.get(asked.kind).copied().unwrap_or_default()
}

/// Returns true when `hearing` takes anything that `notice` may lead to; `is_request_needed` is
/// asked whether a message that came in has to be remembered for the lines of its reply.
fn wants<D>(
    hearing: Hearing,
    notice: &Notice<D>,
    is_request_needed: impl FnOnce() -> bool,
) -> bool {
    let takes = |topic| hearing.takes(topic, ALWAYS);
    match notice {
        Notice::Received => takes(Topic::Packets) || (takes(Topic::Leases) && is_request_needed()),
        Notice::Malformed(_) => takes(Topic::Packets) || takes(Topic::BadPackets),
        Notice::Dropped(reason) => {
            let is_about_a_lease =
                matches!(reason, DropReason::UnknownClient | DropReason::NotTheClientsLease);
            takes(Topic::Packets)
                || takes(Topic::BadPackets)
                || (takes(Topic::Leases) && is_about_a_lease)
        }
        Notice::Silent => takes(Topic::Leases),
        Notice::Sent { .. } => {
            takes(Topic::Packets) || takes(Topic::BadPackets) || takes(Topic::Leases)
        }
    }
}

/// [`wants`] of a message of DHCPv4.
fn wants_v4(hearing: Hearing, notice: NoticeOf<V4>) -> bool {
    wants(hearing, &notice, || false)
}

/// [`wants`] of the message `octets` of DHCPv6.
fn wants_v6(hearing: Hearing, notice: NoticeOf<V6>, octets: &[u8]) -> bool {
    wants(hearing, &notice, || questions::is_needed(octets))
}

/// What became of a message of `P`.
type NoticeOf<P> = Notice<<P as Protocol>::Destination>;
