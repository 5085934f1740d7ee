//! What is logged of single messages when somebody wants to read it, under Kea's loggers,
//! identifiers and debug levels. While nobody does, a message costs one look at [`Hearing`].
//!
//! What Kea logs of every message at INFO is DEBUG at level 0 here: a server is not to be slowed
//! down by its log unless its operator says so.

mod v4;
mod v6;

use std::net::IpAddr;

use dhcp_engine::{InterfaceNames, Notice, Protocol};

use crate::log::Hearing;
use crate::server_id::colon_hex as hex;

pub(crate) use v4::tell as tell_v4;
pub(crate) use v6::tell as tell_v6;

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
    /// Kea's `debuglevel` from which on it is written.
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
}

impl Narrator<'_> {
    /// Writes `line` with the text that `text` makes, if anybody wants it.
    fn say(self, line: Line, text: impl FnOnce() -> String) {
        let Line { topic, level, id } = line;
        if !self.hearing.takes(topic, level) {
            return;
        }
        let (level, text) = (u64::from(level), text());
        match topic {
            Topic::Packets => {
                tracing::debug!(target: "packets", id, debuglevel = level, "{text}");
            }
            Topic::BadPackets => {
                tracing::debug!(target: "bad-packets", id, debuglevel = level, "{text}");
            }
            Topic::Leases => tracing::debug!(target: "leases", id, debuglevel = level, "{text}"),
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

/// What became of a message of `P`.
type NoticeOf<P> = Notice<<P as Protocol>::Destination>;
