//! Congestion control: one [`SenderHalf`] and one [`ReceiverHalf`] for each half-connection
//! (RFC 4340 §10). Feature negotiation selects the controls. The connection polls them for the time
//! of the next packet, and reports packets that it sent and received to them.

pub mod ccid2;
pub mod ccid3;

use core::fmt::Debug;

use crate::option::DccpOptionWriter;
use crate::sequence::SequenceNumber;

/// Round-trip time in nanoseconds that is assumed while none is known (RFC 4340 §3.4).
pub const RTT_DEFAULT_NS: u64 = 200_000_000;

/// Least round-trip time that a measurement gives, in nanoseconds. The times that are subtracted
/// from a measured round-trip time come in units of 10 µs (RFC 4340 §13), so the difference may be
/// 0, and a window per 0 seconds would be a rate without bound.
pub const RTT_MIN_NS: u64 = 10_000;

/// Permission of congestion control for the next datagram: now, later or blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// Permission to send the datagram at once.
    Now,
    /// Permission to send the datagram from this time on, in nanoseconds.
    At(u64),
    /// No permission before an acknowledgement arrives or a timer expires.
    Blocked,
}

/// Packet that this end sends, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct PacketDeparture {
    /// Time of sending, in nanoseconds.
    pub now_ns: u64,
    /// Sequence number of the packet.
    pub sequence: SequenceNumber,
    /// Bytes of application data in the packet; `None` for a type of packet that never has data.
    pub data_len: Option<usize>,
    /// True if the packet acknowledges packets of the other end.
    pub acknowledges: bool,
}

/// Valid packet of the other end with an acknowledgement number, as the sender's congestion control
/// sees it.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Time of the packet's arrival, in nanoseconds.
    pub now_ns: u64,
    /// Acknowledgement number of the packet.
    pub acknowledgement: SequenceNumber,
    /// Options of the packet, as bytes.
    pub options: &'a [u8],
    /// Time in nanoseconds between the arrival of the acknowledged packet and the sending of this
    /// one, as far as the other end reports it.
    pub elapsed_ns: u64,
}

/// Valid packet of the other end, as the receiver's congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct PacketArrival {
    /// Time of the packet's arrival, in nanoseconds.
    pub now_ns: u64,
    /// Sequence number of the packet.
    pub sequence: SequenceNumber,
    /// Bytes of application data in the packet; `None` for a type of packet that never has data.
    pub data_len: Option<usize>,
    /// CCVal field of the packet: four bits of the sender's congestion control.
    pub ccval: u8,
    /// True if the network marked the packet for congestion.
    pub is_marked: bool,
    /// NDP Count of the packet: number of packets without data right before it; `None` if the other
    /// end does not report that.
    pub ndp_count: Option<u64>,
    /// False if the packet left a gap in the sequence or filled one.
    pub is_in_order: bool,
}

/// Figures of a sender's congestion control, for probes (files with samples of them).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderFigures {
    /// Figures of CCID 2 (RFC 4341), in packets.
    Window {
        /// Congestion window: largest number of packets that may be in flight.
        cwnd: u32,
        /// Congestion window at which slow start ends, in packets.
        ssthresh: u32,
        /// Number of data packets in flight.
        pipe: u32,
        /// Retransmission timeout of CCID 2, in nanoseconds.
        rto_ns: u64,
        /// Ack Ratio that the sender wants: data packets per acknowledgement.
        ack_ratio: u16,
    },
    /// Figures of CCID 3; rates are in bytes per second.
    Rate {
        /// Allowed sending rate, in bytes per second.
        x: f64,
        /// Receive rate that the other end reports, in bytes per second.
        x_recv: f64,
        /// Rate that TCP's throughput equation allows, in bytes per second; 0 without losses.
        x_calc: f64,
        /// Loss event rate that the other end reports, 0 to 1.
        p: f64,
        /// Time between two packets at the allowed rate, in nanoseconds.
        interval_ns: u64,
        /// Segment size from which rates are computed, in bytes (`s` of RFC 5348).
        segment_bytes: f64,
    },
}

/// Congestion control of the end of a half-connection that sends data.
pub trait SenderHalf: Debug + Send {
    /// Returns the permission for the next datagram: now, at a later time, or not before an event.
    fn clearance(&mut self, now_ns: u64) -> Clearance;

    /// Returns the CCVal field of the next data packet, sent at `now_ns`.
    fn ccval(&mut self, now_ns: u64) -> u8;

    /// Records a packet that this end sends, with data or without.
    fn sent(&mut self, sent: &PacketDeparture);

    /// Processes an acknowledgement from the other end.
    fn feedback(&mut self, feedback: &Feedback<'_>);

    /// Returns the time in nanoseconds at which [`SenderHalf::handle_timeout`] is due.
    fn timeout_ns(&self) -> Option<u64>;

    /// Handles the timer of the congestion control, if it has expired at `now_ns`.
    fn handle_timeout(&mut self, now_ns: u64);

    /// Returns the smoothed round-trip time in nanoseconds; `None` before the first sample.
    fn rtt_ns(&self) -> Option<u64>;

    /// Adds a round-trip time in nanoseconds that was measured without data, for instance by the
    /// handshake.
    fn observe_rtt(&mut self, now_ns: u64, rtt_ns: u64);

    /// Records that a packet of the other end was lost; `had_data` is `None` if its type is not
    /// known.
    fn reverse_loss(&mut self, now_ns: u64, had_data: Option<bool>);

    /// Returns the Ack Ratio that the sender wants; `None` if the congestion control uses none.
    fn ack_ratio(&self) -> Option<u16>;

    /// Returns the largest number of packets that the sender sends in a round trip, from which the
    /// width of the Sequence Window follows.
    fn packets_per_rtt(&self) -> u64;

    /// Returns true if a data packet should carry an acknowledgement now, so that the other end can
    /// free its history (RFC 4341 §6.2).
    fn wants_ack_of_acks(&self) -> bool;

    /// Returns the figures of the congestion control, for probes (files with samples of them).
    fn figures(&self) -> SenderFigures;
}

/// Congestion control of the end of a half-connection that receives data.
pub trait ReceiverHalf: Debug + Send {
    /// Processes the arrival of a packet from the other end.
    fn record_arrival(&mut self, arrival: &PacketArrival);

    /// Returns the latest time in nanoseconds at which an acknowledgement must leave.
    fn ack_due_ns(&self) -> Option<u64>;

    /// Writes the options that the congestion control adds to an acknowledgement, and records that
    /// this acknowledgement leaves.
    fn write(&mut self, now_ns: u64, options: &mut DccpOptionWriter<'_>);

    /// Sets the Ack Ratio that the other end requests: data packets per acknowledgement.
    fn set_ack_ratio(&mut self, ratio: u16);

    /// Returns true if the acknowledgements of this congestion control need Ack Vectors.
    fn needs_ack_vector(&self) -> bool;

    /// Sets if this end reports the loss event rate in Loss Event Rate options (RFC 4342 §8.5), as
    /// the other end requests.
    fn set_reports_loss_event_rate(&mut self, tells: bool);

    /// Sets the round-trip time that the connection has measured, in nanoseconds.
    fn set_rtt(&mut self, rtt_ns: u64);
}
