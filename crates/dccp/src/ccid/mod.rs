//! Congestion control: one [`SenderHalf`] and one [`ReceiverHalf`] for each half-connection
//! (RFC 4340 §10). Which of them are used is agreed on by feature negotiation; the connection asks
//! them when it may send and tells them what it sent and heard.

pub mod ccid2;
pub mod ccid3;

use core::fmt::Debug;

use crate::option::OptionWriter;
use crate::sequence::SequenceNumber;

/// The round-trip time that is assumed while none is known (RFC 4340 §3.4).
pub const RTT_DEFAULT_NS: u64 = 200_000_000;

/// No round-trip time is taken to be shorter: the times that are subtracted from a measured one come
/// in units of 10 microseconds (RFC 4340 §13). What is left over may be nothing, and a rate of a
/// window in no time is without bound.
pub const RTT_MIN_NS: u64 = 10_000;

/// When the next datagram may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// At once.
    Now,
    /// At this time.
    At(u64),
    /// When an acknowledgement has come, or a timer has run out.
    Blocked,
}

/// A packet of ours that goes out.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now_ns: u64,
    /// Its number.
    pub sequence: SequenceNumber,
    /// Octets of application data; `None` on a packet without, of a type that never has any.
    pub data_len: Option<usize>,
    /// Whether it acknowledges packets of the other end.
    pub acknowledges: bool,
}

/// A valid packet that acknowledges something.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// When it came.
    pub now_ns: u64,
    /// What it acknowledges.
    pub acknowledgement: SequenceNumber,
    /// Its options.
    pub options: &'a [u8],
    /// How long the other end held it after the acknowledged packet came, as far as it says.
    pub elapsed_ns: u64,
}

/// A valid packet of the other end, for the receiver of a half-connection.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it came.
    pub now_ns: u64,
    /// Its number.
    pub sequence: SequenceNumber,
    /// Octets of application data; `None` on a packet of a type that never has any.
    pub data_len: Option<usize>,
    /// Its CCVal.
    pub ccval: u8,
    /// Whether the network marked it for congestion.
    pub is_marked: bool,
    /// Its NDP Count: packets without data right before it.
    pub ndp_count: Option<u64>,
    /// False when it left a hole in the sequence or filled one.
    pub is_in_order: bool,
}

/// Figures of a sender, for probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderFigures {
    /// Of CCID 2.
    Window {
        /// Packets that may be under way.
        cwnd: u32,
        /// Where slow start ends, in packets.
        ssthresh: u32,
        /// Packets under way.
        pipe: u32,
        /// The retransmission timeout.
        rto_ns: u64,
        /// Data packets for each acknowledgement, as wanted.
        ack_ratio: u16,
    },
    /// Of CCID 3, in octets per second.
    Rate {
        /// What may be sent.
        x: f64,
        /// What the other end says that it received.
        x_recv: f64,
        /// What the equation allows; 0 without losses.
        x_calc: f64,
        /// The loss event rate, 0 to 1.
        p: f64,
        /// Time between two packets.
        interval_ns: u64,
        /// The segment size that rates are counted in, in octets (`s` of RFC 5348).
        segment_bytes: f64,
    },
}

/// The end of a half-connection that sends data.
pub trait SenderHalf: Debug + Send {
    /// When the next datagram may leave.
    fn clearance(&mut self, now_ns: u64) -> Clearance;

    /// CCVal of the next data packet, sent at `now_ns`.
    fn ccval(&mut self, now_ns: u64) -> u8;

    /// A packet goes out, with data or without.
    fn sent(&mut self, sent: &Sent);

    /// The other end acknowledges.
    fn feedback(&mut self, feedback: &Feedback<'_>);

    /// When [`SenderHalf::handle_timeout`] is due.
    fn timeout_ns(&self) -> Option<u64>;

    /// A timer may have run out.
    fn handle_timeout(&mut self, now_ns: u64);

    /// The smoothed round-trip time, once there is one.
    fn rtt_ns(&self) -> Option<u64>;

    /// A round-trip time measured without data, for instance by the handshake.
    fn observe_rtt(&mut self, now_ns: u64, rtt_ns: u64);

    /// A packet of the other end went missing; `had_data` if it is known.
    fn reverse_loss(&mut self, now_ns: u64, had_data: Option<bool>);

    /// The Ack Ratio that suits, if the control uses one.
    fn ack_ratio(&self) -> Option<u16>;

    /// Packets in a round trip at most, which tells how wide the Sequence Window must be.
    fn packets_per_rtt(&self) -> u64;

    /// Whether data should acknowledge now, so that the other end can forget (RFC 4341 §6.2).
    fn wants_ack_of_acks(&self) -> bool;

    /// For probes.
    fn figures(&self) -> SenderFigures;
}

/// The end of a half-connection that receives data.
pub trait ReceiverHalf: Debug + Send {
    /// A packet came in.
    fn arrived(&mut self, arrival: &Arrival);

    /// When an acknowledgement must leave, at the latest.
    fn ack_due_ns(&self) -> Option<u64>;

    /// Adds options to a packet that acknowledges, and counts it as an acknowledgement.
    fn write(&mut self, now_ns: u64, options: &mut OptionWriter<'_>);

    /// The Ack Ratio that the other end asks for.
    fn set_ack_ratio(&mut self, ratio: u16);

    /// Whether the acknowledgements need Ack Vectors.
    fn needs_ack_vector(&self) -> bool;

    /// Whether the other end wants Loss Event Rate options (RFC 4342 §8.5).
    fn set_tells_loss_event_rate(&mut self, tells: bool);

    /// A round-trip time that the connection knows of.
    fn set_rtt(&mut self, rtt_ns: u64);
}
