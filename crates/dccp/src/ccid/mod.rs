//! Congestion control: one [`SenderHalf`] and one [`ReceiverHalf`] for each half-connection (RFC
//! 4340 §10). Feature negotiation selects the controls. The connection polls them for the time of
//! the next packet, and reports packets that it sent and received to them.

pub mod ccid2;
pub mod ccid3;

use core::fmt::Debug;

use crate::option::DccpOptionWriter;
use crate::sequence::SequenceNumber;

/// Round-trip time assumed while none is known (RFC 4340 §3.4).
pub const RTT_DEFAULT_NS: u64 = 200_000_000;

/// Least round-trip time. The times that are subtracted from a measured round-trip time come in
/// units of 10 microseconds (RFC 4340 §13), so the rest may be 0, and a window per 0 seconds would
/// be a rate without bound.
pub const RTT_MIN_NS: u64 = 10_000;

/// Time at which the next datagram may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// Clearance at once.
    Now,
    /// Clearance at this time, in nanoseconds.
    At(u64),
    /// No clearance before an acknowledgement comes or a timer runs out.
    Blocked,
}

/// A packet of this end that goes out.
#[derive(Clone, Copy, Debug)]
pub struct PacketDeparture {
    /// Time of sending.
    pub now_ns: u64,
    /// Sequence number of the packet.
    pub sequence: SequenceNumber,
    /// Bytes of application data; `None` on a packet of a type that never has data.
    pub data_len: Option<usize>,
    /// True if the packet acknowledges packets of the other end.
    pub acknowledges: bool,
}

/// A valid packet with an acknowledgement number.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Time of arrival.
    pub now_ns: u64,
    /// Acknowledgement number of the packet.
    pub acknowledgement: SequenceNumber,
    /// Options of the packet.
    pub options: &'a [u8],
    /// Time between the arrival of the acknowledged packet and the sending of this one, as far as
    /// the other end reports it.
    pub elapsed_ns: u64,
}

/// A valid packet of the other end, for the receiver of a half-connection.
#[derive(Clone, Copy, Debug)]
pub struct PacketArrival {
    /// Time of arrival.
    pub now_ns: u64,
    /// Sequence number of the packet.
    pub sequence: SequenceNumber,
    /// Bytes of application data; `None` on a packet of a type that never has data.
    pub data_len: Option<usize>,
    /// CCVal of the packet.
    pub ccval: u8,
    /// True if the network marked the packet for congestion.
    pub is_marked: bool,
    /// NDP Count of the packet: packets without data right before it.
    pub ndp_count: Option<u64>,
    /// False if the packet left a hole in the sequence or filled one.
    pub is_in_order: bool,
}

/// Figures of a sender, for probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderFigures {
    /// Figures of CCID 2.
    Window {
        /// Most packets that may be under way.
        cwnd: u32,
        /// Window at which slow start ends, in packets.
        ssthresh: u32,
        /// Packets under way.
        pipe: u32,
        /// Retransmission timeout.
        rto_ns: u64,
        /// Data packets for each acknowledgement, as the sender wants it.
        ack_ratio: u16,
    },
    /// Figures of CCID 3; rates are in bytes per second.
    Rate {
        /// Allowed sending rate.
        x: f64,
        /// Receive rate that the other end reports.
        x_recv: f64,
        /// Rate that the equation allows; 0 without losses.
        x_calc: f64,
        /// Loss event rate, 0 to 1.
        p: f64,
        /// Time between two packets.
        interval_ns: u64,
        /// Segment size that rates are counted in, in bytes (`s` of RFC 5348).
        segment_bytes: f64,
    },
}

/// The end of a half-connection that sends data.
pub trait SenderHalf: Debug + Send {
    /// Returns the time at which the next datagram may leave.
    fn clearance(&mut self, now_ns: u64) -> Clearance;

    /// Returns the CCVal of the next data packet, sent at `now_ns`.
    fn ccval(&mut self, now_ns: u64) -> u8;

    /// Records a packet that goes out, with data or without.
    fn sent(&mut self, sent: &PacketDeparture);

    /// Processes an acknowledgement of the other end.
    fn feedback(&mut self, feedback: &Feedback<'_>);

    /// Returns the time at which [`SenderHalf::handle_timeout`] is due.
    fn timeout_ns(&self) -> Option<u64>;

    /// Handles a timer that may have run out.
    fn handle_timeout(&mut self, now_ns: u64);

    /// Returns the smoothed round-trip time, once there is one.
    fn rtt_ns(&self) -> Option<u64>;

    /// Adds a round-trip time measured without data, for instance by the handshake.
    fn observe_rtt(&mut self, now_ns: u64, rtt_ns: u64);

    /// Records that a packet of the other end was lost; `had_data` if it is known.
    fn reverse_loss(&mut self, now_ns: u64, had_data: Option<bool>);

    /// Returns the Ack Ratio that suits, if the control uses one.
    fn ack_ratio(&self) -> Option<u16>;

    /// Returns the most packets in a round trip, from which the width of the Sequence Window
    /// follows.
    fn packets_per_rtt(&self) -> u64;

    /// Returns true if a data packet should carry an acknowledgement now, so that the other end can
    /// free its history (RFC 4341 §6.2).
    fn wants_ack_of_acks(&self) -> bool;

    /// Returns the figures for probes.
    fn figures(&self) -> SenderFigures;
}

/// The end of a half-connection that receives data.
pub trait ReceiverHalf: Debug + Send {
    /// Processes a packet that came in.
    fn record_arrival(&mut self, arrival: &PacketArrival);

    /// Returns the latest time at which an acknowledgement must leave.
    fn ack_due_ns(&self) -> Option<u64>;

    /// Adds options to a packet that acknowledges, and counts it as an acknowledgement.
    fn write(&mut self, now_ns: u64, options: &mut DccpOptionWriter<'_>);

    /// Sets the Ack Ratio that the other end requests: data packets per acknowledgement.
    fn set_ack_ratio(&mut self, ratio: u16);

    /// Returns true if the acknowledgements of this congestion control need Ack Vectors.
    fn needs_ack_vector(&self) -> bool;

    /// Sets whether the other end wants Loss Event Rate options (RFC 4342 §8.5).
    fn set_reports_loss_event_rate(&mut self, tells: bool);

    /// Sets the round-trip time that the connection has measured, in nanoseconds.
    fn set_rtt(&mut self, rtt_ns: u64);
}
