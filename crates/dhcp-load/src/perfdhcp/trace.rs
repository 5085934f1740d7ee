//! Data about single messages that a run keeps for diagnostics (`-x`), within fixed limits.

use std::net::IpAddr;

use super::dialect::ExchangeKind;

/// Largest number of rows that each list of diagnostics keeps.
const ROWS_MAX: usize = 1_000_000;

/// Row of a granted lease as `-x l` lists it: client number, address, prefix length in bits.
pub type LeaseRow = (u32, IpAddr, u8);

/// Selection of the data that a run keeps for diagnostics (`-x`), with the kept data. By default
/// nothing is kept.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "one for each letter of -x")]
pub struct Trace {
    /// True to keep the first message of each kind, sent and received (`-x T`).
    pub keeps_templates: bool,
    /// True to keep the times at which each request left and got its reply (`-x t`).
    pub keeps_times: bool,
    /// True to keep each granted lease (`-x l`).
    pub keeps_leases: bool,
    /// True to keep the identifier of the first server (`-x s`).
    pub keeps_server: bool,
    /// First message sent of each kind of exchange.
    pub sent: [Option<Box<[u8]>>; ExchangeKind::COUNT],
    /// First message received of each kind of exchange.
    pub received: [Option<Box<[u8]>>; ExchangeKind::COUNT],
    /// Times at which requests left and got their replies, in nanoseconds, by kind of exchange.
    pub times: [Vec<(u64, Option<u64>)>; ExchangeKind::COUNT],
    /// Leases that servers granted, by kind of exchange.
    pub leases: [Vec<LeaseRow>; ExchangeKind::COUNT],
    /// Identifier of the first server that sent a reply, in hexadecimal digits.
    pub server: Option<String>,
}

impl Trace {
    pub(crate) fn record_sent(&mut self, kind: ExchangeKind, message: &[u8]) {
        if self.keeps_templates {
            self.sent[kind.index()].get_or_insert_with(|| message.into());
        }
    }

    pub(crate) fn record_received(
        &mut self,
        kind: ExchangeKind,
        octets: &[u8],
        server: impl FnOnce() -> String,
    ) {
        if self.keeps_templates {
            self.received[kind.index()].get_or_insert_with(|| octets.into());
        }
        if self.keeps_server && self.server.is_none() {
            self.server = Some(server()).filter(|id| !id.is_empty());
        }
    }

    pub(crate) fn times(&mut self, kind: ExchangeKind, sent_ns: u64, answered_ns: Option<u64>) {
        let rows = &mut self.times[kind.index()];
        if self.keeps_times && rows.len() < ROWS_MAX {
            rows.push((sent_ns, answered_ns));
        }
    }

    pub(crate) fn lease(&mut self, kind: ExchangeKind, client: u32, address: IpAddr, len: u8) {
        let rows = &mut self.leases[kind.index()];
        if self.keeps_leases && rows.len() < ROWS_MAX {
            rows.push((client, address, len));
        }
    }
}
