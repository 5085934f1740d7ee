//! What an application decides about a connection.

use crate::header::ServiceCode;

/// How the send queue behaves when it is full, and what it sends first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    /// In order; when full, nothing more is taken.
    #[default]
    Simple,
    /// The highest priority first; when full, the lowest is dropped.
    Priority,
}

/// Settings of a connection. The defaults are those of Linux where it has the same.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the connection is for (§8.1.2).
    pub service_code: ServiceCode,
    /// Congestion controls for the data that this end sends, the most wanted first.
    pub tx_ccids: Vec<u8>,
    /// Congestion controls for the data that this end receives, the most wanted first.
    pub rx_ccids: Vec<u8>,
    /// Sequence Window at first; it widens with the rate (§7.5.2).
    pub sequence_window: u64,
    /// Whether the other end may send 24-bit sequence numbers (§7.6.1).
    pub allows_short_sequence: bool,
    /// Checksum coverage of the data sent, as CsCov counts (§9.2), if the other end takes it.
    pub send_coverage: u8,
    /// The least coverage that this end takes (§9.2.1).
    pub minimum_coverage: u8,
    /// Whether the other end is asked to check Data Checksums of what this end sends (§9.3).
    pub asks_for_data_checksum: bool,
    /// Whether ECN bits can be read and set here (§12).
    pub is_ecn_capable: bool,
    /// Datagrams that may wait to be sent.
    pub send_queue_len: usize,
    /// What happens when more do.
    pub queue_policy: QueuePolicy,
    /// Datagrams that may wait to be received.
    pub receive_queue_len: usize,
    /// Octets of a packet from the DCCP header on that the path takes.
    pub packet_bytes_max: usize,
    /// Of them, octets kept for the options of a packet with data.
    pub options_bytes: usize,
    /// A server that holds TIMEWAIT itself sends Close, not CloseReq (§8.3).
    pub server_holds_time_wait: bool,
    /// How long TIMEWAIT lasts: two maximum segment lifetimes (§3.4).
    pub time_wait_ns: u64,
    /// Time between two Syncs that ask what an unexpected packet means (§7.5.4).
    pub sync_period_ns: u64,
    /// Time after which a client gives up to connect (§8.1.1): for the Response, and then for
    /// anything else (PARTOPEN).
    pub connect_timeout_ns: u64,
    /// When an end gives up to close that the other one does not answer (§8.3).
    pub close_timeout_ns: u64,
}

/// One second.
const SECOND_NS: u64 = 1_000_000_000;
/// Twice two minutes (§3.4).
const TIME_WAIT_NS: u64 = 240 * SECOND_NS;
/// No more than eight Syncs in a second (§7.5.4).
const SYNC_PERIOD_NS: u64 = SECOND_NS / 8;
/// Three minutes, as the RFC proposes.
const CONNECT_TIMEOUT_NS: u64 = 180 * SECOND_NS;
/// Four maximum segment lifetimes, as for other states.
const CLOSE_TIMEOUT_NS: u64 = 480 * SECOND_NS;
/// Octets of options that data packets have room for, next to 1,424 octets of data within 1,500.
const OPTIONS_BYTES: usize = 32;

impl Default for Config {
    fn default() -> Self {
        Self {
            service_code: ServiceCode::NONE,
            tx_ccids: vec![2, 3],
            rx_ccids: vec![2, 3],
            sequence_window: 100,
            allows_short_sequence: false,
            send_coverage: 0,
            minimum_coverage: 0,
            asks_for_data_checksum: false,
            is_ecn_capable: true,
            send_queue_len: 5,
            queue_policy: QueuePolicy::Simple,
            receive_queue_len: 256,
            packet_bytes_max: 1_480,
            options_bytes: OPTIONS_BYTES,
            server_holds_time_wait: false,
            time_wait_ns: TIME_WAIT_NS,
            sync_period_ns: SYNC_PERIOD_NS,
            connect_timeout_ns: CONNECT_TIMEOUT_NS,
            close_timeout_ns: CLOSE_TIMEOUT_NS,
        }
    }
}

impl Config {
    /// Octets of application data that a packet of the path takes: what is left behind a DataAck
    /// header and some options (§14).
    #[must_use]
    pub const fn data_bytes_max(&self) -> usize {
        self.packet_bytes_max.saturating_sub(24 + self.options_bytes)
    }
}
