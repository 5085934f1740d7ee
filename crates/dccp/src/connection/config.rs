//! Settings of a connection, which the application chooses.

use crate::header::ServiceCode;

/// Order of the send queue, and its behaviour when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    /// First in, first out; a full queue refuses datagrams.
    #[default]
    Simple,
    /// Highest priority first; a full queue drops the datagram of the lowest priority.
    Priority,
}

/// Settings of a connection. The defaults are those of Linux where Linux has the setting.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// Service that the connection is for (§8.1.2).
    pub service_code: ServiceCode,
    /// Congestion controls for the data that this end sends, the most wanted first.
    pub tx_ccids: Vec<u8>,
    /// Congestion controls for the data that this end receives, the most wanted first.
    pub rx_ccids: Vec<u8>,
    /// Initial Sequence Window; it widens with the rate (§7.5.2).
    pub sequence_window: u64,
    /// True if the other end may send 24-bit sequence numbers (§7.6.1).
    pub allows_short_sequence: bool,
    /// Checksum coverage of the data sent, as a CsCov value (§9.2), if the other end accepts it.
    pub send_coverage: u8,
    /// Least coverage that this end accepts (§9.2.1).
    pub minimum_coverage: u8,
    /// True if this end requests that the other end check the Data Checksums of data from this end
    /// (§9.3).
    pub requests_data_checksum: bool,
    /// True if this end can read and set ECN bits (§12).
    pub is_ecn_capable: bool,
    /// Most datagrams in the send queue.
    pub send_queue_len: usize,
    /// Order of the send queue, and its behaviour when it is full.
    pub queue_policy: QueuePolicy,
    /// Most datagrams that may wait for the application to receive them.
    pub receive_queue_len: usize,
    /// Most bytes of a packet on the path, counted from the DCCP header on.
    pub packet_bytes_max: usize,
    /// Bytes of those that are kept for the options of a packet with data.
    pub options_bytes: usize,
    /// True if a server holds TIMEWAIT itself: it sends Close, not CloseReq (§8.3).
    pub server_holds_time_wait: bool,
    /// Duration of TIMEWAIT: two maximum segment lifetimes (§3.4).
    pub time_wait_ns: u64,
    /// Least time between two Syncs in answer to unexpected packets (§7.5.4).
    pub sync_period_ns: u64,
    /// Time after which a client gives up the attempt to connect (§8.1.1): it holds for the
    /// Response, and then again for the end of PARTOPEN.
    pub connect_timeout_ns: u64,
    /// Time after which an end gives up a close that the other end does not answer (§8.3).
    pub close_timeout_ns: u64,
}

/// One second.
const SECOND_NS: u64 = 1_000_000_000;
/// Default of TIMEWAIT: twice two minutes (§3.4).
const TIME_WAIT_NS: u64 = 240 * SECOND_NS;
/// Default time between Syncs: at most eight per second (§7.5.4).
const SYNC_PERIOD_NS: u64 = SECOND_NS / 8;
/// Default time to connect: three minutes, as the RFC proposes.
const CONNECT_TIMEOUT_NS: u64 = 180 * SECOND_NS;
/// Default time to close: four maximum segment lifetimes, as for other states.
const CLOSE_TIMEOUT_NS: u64 = 480 * SECOND_NS;
/// Bytes of options that data packets have room for, next to 1,424 bytes of data within 1,500.
const OPTIONS_BYTES: usize = 32;

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            service_code: ServiceCode::NONE,
            tx_ccids: vec![2, 3],
            rx_ccids: vec![2, 3],
            sequence_window: 100,
            allows_short_sequence: false,
            send_coverage: 0,
            minimum_coverage: 0,
            requests_data_checksum: false,
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

impl ConnectionConfig {
    /// Returns the most bytes of application data in a packet: the rest after a DataAck header and
    /// some options (§14).
    #[must_use]
    pub const fn data_bytes_max(&self) -> usize {
        self.packet_bytes_max.saturating_sub(24 + self.options_bytes)
    }
}
