//! Settings of a DCCP connection, which the application chooses.

use crate::header::ServiceCode;

/// Order in which the datagrams of a send queue leave, and its behaviour when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    /// Policy "first in, first out": a full send queue refuses further datagrams.
    #[default]
    Simple,
    /// Policy "highest priority first": a full send queue drops the datagram of the lowest
    /// priority.
    Priority,
}

/// Settings of a DCCP connection: features to negotiate, queue limits, timeouts. The defaults are
/// those of Linux where Linux has the setting.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// Service code of the connection: the service that the client requests (RFC 4340 §8.1.2).
    pub service_code: ServiceCode,
    /// CCIDs of the congestion controls for the data that this end sends, the most wanted first.
    pub tx_ccids: Vec<u8>,
    /// CCIDs of the congestion controls for the data that this end receives, the most wanted first.
    pub rx_ccids: Vec<u8>,
    /// Initial Sequence Window of this end, in packets; the connection widens it with the rate
    /// (RFC 4340 §7.5.2).
    pub sequence_window: u64,
    /// True if the other end may send 24-bit sequence numbers (RFC 4340 §7.6.1).
    pub allows_short_sequence: bool,
    /// Checksum coverage of the data that this end sends, as a CsCov value (RFC 4340 §9.2), if the
    /// other end accepts it.
    pub send_coverage: u8,
    /// Least checksum coverage of received data that this end accepts, as a CsCov value
    /// (RFC 4340 §9.2.1).
    pub minimum_coverage: u8,
    /// True if this end requests that the other end check Data Checksum options (feature Check Data
    /// Checksum, RFC 4340 §9.3.1) on data from this end.
    pub requests_data_checksum: bool,
    /// True if this end can read and set the ECN bits of the IP header (RFC 4340 §12).
    pub is_ecn_capable: bool,
    /// Largest number of datagrams in the connection's send queue.
    pub send_queue_len: usize,
    /// Order in which the send queue's datagrams leave, and its behaviour when it is full.
    pub queue_policy: QueuePolicy,
    /// Largest number of received datagrams that may wait for the application.
    pub receive_queue_len: usize,
    /// Largest size of a packet on the path in bytes, counted from the DCCP header on.
    pub packet_bytes_max: usize,
    /// Bytes of [`ConnectionConfig::packet_bytes_max`] that are reserved for the options of a data
    /// packet.
    pub options_bytes: usize,
    /// True if a server waits in TIMEWAIT itself: to close it sends Close instead of CloseReq
    /// (RFC 4340 §8.3).
    pub server_holds_time_wait: bool,
    /// Duration of the state TIMEWAIT in nanoseconds: two maximum segment lifetimes
    /// (RFC 4340 §3.4).
    pub time_wait_ns: u64,
    /// Shortest time in nanoseconds between two Syncs that answer unexpected packets
    /// (RFC 4340 §7.5.4).
    pub sync_period_ns: u64,
    /// Time in nanoseconds after which a client gives up connecting (RFC 4340 §8.1.1): it limits
    /// the wait for the Response, and then again the state PARTOPEN.
    pub connect_timeout_ns: u64,
    /// Time in nanoseconds after which an end gives up a close that the other end does not answer
    /// (RFC 4340 §8.3).
    pub close_timeout_ns: u64,
}

/// Nanoseconds per second.
const SECOND_NS: u64 = 1_000_000_000;
/// Default duration of TIMEWAIT in nanoseconds: two maximum segment lifetimes of two minutes
/// (RFC 4340 §3.4).
const TIME_WAIT_NS: u64 = 240 * SECOND_NS;
/// Default of the shortest time between Syncs in nanoseconds: at most eight Syncs per second
/// (RFC 4340 §7.5.4).
const SYNC_PERIOD_NS: u64 = SECOND_NS / 8;
/// Default time to connect in nanoseconds: three minutes, as RFC 4340 §8.1.1 proposes.
const CONNECT_TIMEOUT_NS: u64 = 180 * SECOND_NS;
/// Default time in nanoseconds after which an end gives up a close: four maximum segment lifetimes
/// of two minutes.
const CLOSE_TIMEOUT_NS: u64 = 480 * SECOND_NS;
/// Default bytes for options in a data packet: a packet of 1,500 bytes then holds 1,424 bytes of
/// data.
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
    /// Returns the largest datagram in bytes: the packet size without a DataAck header and the
    /// bytes for options (RFC 4340 §14).
    pub const fn data_bytes_max(&self) -> usize {
        self.packet_bytes_max.saturating_sub(24 + self.options_bytes)
    }
}
