//! Log lines about single DHCP messages, under Kea's loggers, identifiers and debug levels. While
//! no logger takes them, a message costs one test of [`LogTopicLevels`]; otherwise a shard copies
//! the message for the thread of [`MessageLog`], which makes the text.
//!
//! Kea logs every message at INFO. Here a logger has to be configured for that, by DEBUG or by the
//! name of the logger of single messages: the log must not slow a server down unless its operator
//! configures it so.

mod pending_requests;
mod recorder;
mod thread;
mod v4;
mod v6;

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dhcp_config::ExpiredLeases;
use dhcp_engine::{DropReason, InterfaceNames, Notice, Protocol};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use crate::log::LogTopicLevels;
use crate::loggers::LogTopic;

pub(crate) use pending_requests::PendingRequests;
pub(crate) use recorder::{Mailbox, NoticeRecorder};
pub(crate) use thread::MessageLog;
pub(crate) use v4::log_notice as log_notice_v4;
pub(crate) use v6::log_notice as log_notice_v6;

/// Value of `decline-probation-period` of the configuration in force in seconds, which log lines
/// about declined leases contain.
static PROBATION_S: AtomicU32 = AtomicU32::new(0);
/// True if released leases stay with their clients for a while (lease affinity), which log lines in
/// Kea's style mention.
static KEEPS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Sets the values that log lines about declined and released leases contain.
pub(crate) fn set_terms(probation_s: u32, expired: &ExpiredLeases) {
    let keeps_released = expired.flush_reclaimed_timer_wait_s > 0 && expired.hold_reclaimed_s > 0;
    PROBATION_S.store(probation_s, Ordering::Relaxed);
    KEEPS_RELEASED.store(keeps_released, Ordering::Relaxed);
}

fn probation_s() -> u32 {
    PROBATION_S.load(Ordering::Relaxed)
}

/// Returns true if a released lease stays with its client for a while.
fn keeps_released() -> bool {
    KEEPS_RELEASED.load(Ordering::Relaxed)
}

/// Log message of Kea about a single DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeaLogMessage {
    topic: LogTopic,
    /// Value of Kea's `debuglevel` from which on the log message is written; 0 for Kea's messages
    /// at INFO.
    level: u8,
    /// Identifier that Kea has for the log message, with `DHCPX` for `DHCP4` or `DHCP6`.
    id: &'static str,
}

/// Debug level of the messages that Kea logs at INFO.
const ALWAYS: u8 = 0;
/// Value of Kea's `debuglevel` for its DEBUG messages about the handling of single messages.
const PACKET_HANDLING: u8 = 15;
/// Value of Kea's `debuglevel` for its basic DEBUG messages.
const BASIC: u8 = 40;
/// Value of Kea's `debuglevel` for its detailed DEBUG messages.
const DETAIL: u8 = 50;

const fn line(topic: LogTopic, level: u8, id: &'static str) -> KeaLogMessage {
    KeaLogMessage { topic, level, id }
}

const BUFFER_RECEIVED: KeaLogMessage = line(LogTopic::Packets, BASIC, "DHCPX_BUFFER_RECEIVED");
const PACKET_RECEIVED: KeaLogMessage = line(LogTopic::Packets, ALWAYS, "DHCPX_PACKET_RECEIVED");
const PACKET_SEND: KeaLogMessage = line(LogTopic::Packets, ALWAYS, "DHCPX_PACKET_SEND");
const PACKET_SEND_FAIL: KeaLogMessage = line(LogTopic::Packets, ALWAYS, "DHCPX_PACKET_SEND_FAIL");
const QUEUE_FULL: KeaLogMessage = line(LogTopic::Packets, BASIC, "DHCPX_PACKET_QUEUE_FULL");
const LEASE_ALLOC: KeaLogMessage = line(LogTopic::Leases, ALWAYS, "DHCPX_LEASE_ALLOC");

/// Writer of log lines about a single DHCP message, with the data that they need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageLogWriter<'d> {
    pub(crate) topic_levels: LogTopicLevels,
    /// Names of the machine's interfaces, by index.
    pub(crate) names: &'d InterfaceNames,
    /// Time at which the DHCP message was handled, on the wall clock, in microseconds since 1970.
    pub(crate) at_us: u64,
}

impl MessageLogWriter<'_> {
    /// Writes the log line `line` with the text of `text`, if a logger takes it.
    fn write_line(self, line: KeaLogMessage, text: impl FnOnce() -> String) {
        if self.topic_levels.takes(line.topic, line.level) {
            self.write_text(line, &text());
        }
    }

    /// Writes the log line `line` with `text`. This part of [`Self::write_line`] is not generic, so
    /// it is compiled once.
    fn write_text(self, line: KeaLogMessage, text: &str) {
        let KeaLogMessage { topic, level, id } = line;
        let (debuglevel, at_us) = (u64::from(level), self.at_us);
        // A target is part of the code that calls the macro.
        match (topic, level) {
            (LogTopic::Packets, ALWAYS) => tracing::info!(target: "packets", id, at_us, "{text}"),
            (LogTopic::Packets, _) => {
                tracing::debug!(target: "packets", id, at_us, debuglevel, "{text}");
            }
            (LogTopic::BadPackets, ALWAYS) => {
                tracing::info!(target: "bad-packets", id, at_us, "{text}");
            }
            (LogTopic::BadPackets, _) => {
                tracing::debug!(target: "bad-packets", id, at_us, debuglevel, "{text}");
            }
            (LogTopic::Leases, ALWAYS) => tracing::info!(target: "leases", id, at_us, "{text}"),
            (LogTopic::Leases, _) => {
                tracing::debug!(target: "leases", id, at_us, debuglevel, "{text}");
            }
        }
    }

    /// Returns the name of the interface with the index `index`, or else the index as text.
    fn interface(self, index: u32) -> String {
        self.names.name(index).map_or_else(|| format!("number {index}"), str::to_owned)
    }
}

/// Arrival of a DHCP message, for its log lines: its size in bytes, source, destination and
/// interface.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    writer: MessageLogWriter<'a>,
    len: usize,
    source: SocketAddr,
    local: IpAddr,
    interface: u32,
}

impl Arrival<'_> {
    fn log(self) {
        let Self { writer, len, source, local, interface } = self;
        writer.write_line(BUFFER_RECEIVED, || {
            let (source, port) = (source.ip(), source.port());
            let interface = writer.interface(interface);
            format!("{len} bytes from {source} port {port} to {local} on interface {interface}")
        });
    }

    /// Writes the log lines of both families about a received message. `message` returns its client
    /// and its type in Kea's notation.
    fn log_received(self, message: impl FnOnce() -> (String, String)) {
        self.log();
        self.writer.write_line(PACKET_RECEIVED, || {
            let ((label, kind), source, local) = (message(), self.source.ip(), self.local);
            let interface = self.writer.interface(self.interface);
            format!("{label}: {kind} received from {source} to {local} on interface {interface}")
        });
    }

    /// Writes the log lines of both families about a malformed message: the line `failed` has the
    /// reason at `index` of [`Protocol::MALFORMED`].
    fn log_malformed<P: Protocol>(self, failed: KeaLogMessage, index: usize) {
        self.log();
        let Self { writer, len, source, interface, .. } = self;
        writer.write_line(failed, || {
            let reason = P::MALFORMED.get(index).copied().unwrap_or_default();
            let interface = writer.interface(interface);
            format!("{len} bytes from {source} on interface {interface}: {reason}")
        });
    }
}

/// Returns the type of the DHCP message that a reply answers.
fn request_type<P: Protocol>(request: dhcp_engine::MeasuredRequest) -> &'static str {
    P::RECEIVED.get(request.kind).copied().unwrap_or_default()
}

/// Returns true if `topic_levels` takes any log line that `notice` may lead to. `is_request_needed`
/// returns true if a received message has to be remembered for the lines about its reply.
fn wants<D>(
    topic_levels: LogTopicLevels,
    notice: &Notice<D>,
    is_request_needed: impl FnOnce() -> bool,
) -> bool {
    let takes = |topic| topic_levels.takes(topic, ALWAYS);
    match notice {
        Notice::Received => {
            takes(LogTopic::Packets) || (takes(LogTopic::Leases) && is_request_needed())
        }
        Notice::Malformed(_) => takes(LogTopic::Packets) || takes(LogTopic::BadPackets),
        Notice::Dropped(reason) => {
            let is_about_a_lease =
                matches!(reason, DropReason::UnknownClient | DropReason::NotTheClientsLease);
            takes(LogTopic::Packets)
                || takes(LogTopic::BadPackets)
                || (takes(LogTopic::Leases) && is_about_a_lease)
        }
        Notice::Silent => takes(LogTopic::Leases),
        Notice::Sent { .. } => {
            takes(LogTopic::Packets) || takes(LogTopic::BadPackets) || takes(LogTopic::Leases)
        }
    }
}

/// Returns true if `topic_levels` takes any log line about a DHCPv4 message, as [`wants`].
fn wants_v4(topic_levels: LogTopicLevels, notice: NoticeOf<V4>) -> bool {
    wants(topic_levels, &notice, || false)
}

/// Returns true if `topic_levels` takes any log line about the DHCPv6 message `octets`, as
/// [`wants`].
fn wants_v6(topic_levels: LogTopicLevels, notice: NoticeOf<V6>, octets: &[u8]) -> bool {
    wants(topic_levels, &notice, || pending_requests::is_needed(octets))
}

/// Outcome of a DHCP message of the family `P`.
type NoticeOf<P> = Notice<<P as Protocol>::Destination>;
