//! Data about single messages kept for diagnostics (`-x`), within fixed bounds.

use std::net::IpAddr;

use super::dialect::ExchangeKind;

/// Largest number of rows kept of each list.
const ROWS_MAX: usize = 1_000_000;

/// Lease as `-x l` lists it: client number, address, prefix length.
pub type LeaseRow = (u32, IpAddr, u8);

/// Selection of data to keep, with the kept data. By default nothing is kept.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "one for each letter of -x")]
pub struct Trace {
    /// True to keep the first message of each kind, sent and received (`T`).
    pub keeps_templates: bool,
    /// True to keep the times at which each request left and got its reply (`t`).
    pub keeps_times: bool,
    /// True to keep each lease (`l`).
    pub keeps_leases: bool,
    /// True to keep the server identifier (`s`).
    pub keeps_server: bool,
    /// First messages sent, by kind.
    pub sent: [Option<Box<[u8]>>; ExchangeKind::COUNT],
    /// First messages received, by kind.
    pub received: [Option<Box<[u8]>>; ExchangeKind::COUNT],
    /// Times at which requests left and got their replies, in nanoseconds, by kind.
    pub times: [Vec<(u64, Option<u64>)>; ExchangeKind::COUNT],
    /// Leases, by kind.
    pub leases: [Vec<LeaseRow>; ExchangeKind::COUNT],
    /// Identifier of the first server that sent a reply.
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
