//! Counts of the DNS responder, as JSON and as text.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use base::time::NS_PER_MS;
use netio::responder::ResponderCounts;
use serde::Serialize;

use super::respond::EchoCounts;
use super::{EchoSettings, TcpCounts};

/// Value of `schema` in a [`EchoReport`].
pub const SCHEMA: &str = "godwit.dns-echo.v1";

/// Results of one responder thread.
pub(super) struct EchoThreadResult {
    pub(super) socket: ResponderCounts,
    pub(super) echo: EchoCounts,
    pub(super) delayed_answers: u64,
}

/// Counts of the DNS responder over its whole run. `received` is the sum of `not_queries`,
/// `dropped` and `answered`; `answered` and `duplicated` together are `sent`, `refused`,
/// `overflowed` and `held_at_end`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EchoReport {
    /// Schema of the record, [`SCHEMA`].
    pub schema: &'static str,
    /// Version of Godwit that ran the responder.
    pub version: &'static str,
    /// Address and port at which the responder answered.
    pub listen: String,
    /// Name of the interface whose frames the responder answered; `None` for sockets.
    pub interface: Option<String>,
    /// Number of the responder's threads.
    pub threads: u32,
    /// Largest number of queries that one receive call took.
    pub batch: usize,
    /// True if the responder's threads never slept.
    pub busy: bool,
    /// True if the responder took queries in groups where the kernel joined them, and answered in
    /// groups.
    pub segmentation: bool,
    /// Seed of the responder's random faults.
    pub seed: u64,
    /// Deliberate faults of the responder with their shares, by name.
    pub faults: BTreeMap<&'static str, String>,
    /// Number of datagrams received at the sockets, and of messages over TCP.
    pub received: u64,
    /// Counts of the messages by what the responder did with them.
    #[serde(flatten)]
    pub counts: EchoCounts,
    /// Number of answers that the kernel accepted for sending.
    pub sent: u64,
    /// Number of answers that the kernel refused, or whose connection had ended.
    pub refused: u64,
    /// Number of delayed answers given up because too many were waiting.
    pub overflowed: u64,
    /// Number of delayed answers that were still waiting at the end of the responder's run.
    pub held_at_end: u64,
    /// Number of datagrams that were too long to be received.
    pub too_long: u64,
    /// Number of datagrams that the kernel dropped at the sockets; on an interface, frames of any
    /// kind.
    pub socket_drops: u64,
    /// Number of system calls that took queries from UDP sockets.
    pub batches: u64,
    /// Counts of the responder's TCP connections, which the other counts include.
    pub tcp: TcpCounts,
}

impl EchoReport {
    /// Creates the report of a responder at `address` that has done nothing yet.
    pub(super) fn new(settings: &EchoSettings, address: SocketAddr) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            listen: address.to_string(),
            interface: None,
            threads: settings.threads,
            batch: settings.batch,
            busy: settings.busy,
            segmentation: settings.segmentation,
            seed: settings.seed,
            faults: faults(settings),
            received: 0,
            counts: EchoCounts::default(),
            sent: 0,
            refused: 0,
            overflowed: 0,
            held_at_end: 0,
            too_long: 0,
            socket_drops: 0,
            batches: 0,
            tcp: TcpCounts::default(),
        }
    }

    pub(super) fn add(&mut self, result: EchoThreadResult) {
        let (socket, echo) = (result.socket, result.echo);
        self.received += socket.received;
        self.batches += socket.batches;
        self.counts.merge(&echo);
        self.sent += socket.sends.sent;
        self.refused += socket.sends.refused;
        self.overflowed += echo.overflowed;
        self.held_at_end += result.delayed_answers;
        self.too_long += socket.too_long;
        self.socket_drops += socket.socket_drops;
    }
}

/// Returns the faults of the responder that can happen, in the words of the command line.
fn faults(settings: &EchoSettings) -> BTreeMap<&'static str, String> {
    let faults = &settings.faults;
    let delay_ms = faults.delay.0 as f64 / NS_PER_MS as f64;
    let all = [
        ("drop", faults.drop, String::new()),
        ("duplicate", faults.duplicate, String::new()),
        ("delay", faults.delay.1, format!("{delay_ms}ms=")),
        ("rcode", faults.rcode.1, format!("{}=", faults.rcode.0)),
        ("truncate", faults.truncate, String::new()),
        ("wrong", faults.wrong, String::new()),
        ("malformed", faults.malformed, String::new()),
    ];
    let possible = all.into_iter().filter(|(_, share, _)| *share != super::QueryShare::NONE);
    let capacity = faults
        .capacity
        .map(|capacity| ("capacity", format!("{}/s, queue {}", capacity.per_s, capacity.queue)));
    let drawn = possible.map(|(name, share, what)| (name, format!("{what}{share}")));
    drawn.chain(capacity).collect()
}

impl fmt::Display for EchoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(
            f,
            "queries    received {}, answered {}, dropped {} (overload {}), no queries {}, too long {}",
            self.received,
            counts.answered,
            counts.dropped,
            counts.overloaded,
            counts.not_queries,
            self.too_long
        )?;
        writeln!(
            f,
            "answers    sent {}, refused {}, doubled {}, delayed {}, code set {}, truncated {}, \
             wrong {}, cut short {}",
            self.sent,
            self.refused,
            counts.duplicated,
            counts.delayed,
            counts.rcode_set,
            counts.truncated,
            counts.wrong,
            counts.malformed
        )?;
        writeln!(
            f,
            "lost       {} at the socket, {} given up, {} held back at the end",
            self.socket_drops, self.overflowed, self.held_at_end
        )?;
        writeln!(
            f,
            "over tcp   connections {}, received {}, sent {}, refused {}",
            self.tcp.connections, self.tcp.received, self.tcp.sent, self.tcp.refused
        )
    }
}
