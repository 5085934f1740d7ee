//! The part of a connection that a measurement uses, of the own stack or of the kernel.

use dccp::connection::{Connection, SendError, State};
use dccp::feature::{Feature, number};

/// An open connection.
pub(crate) trait Conduit {
    /// Congestion control of the data sent and received.
    fn ccids(&self) -> (u8, u8);

    /// Octets of data that a datagram may have now.
    fn data_bytes_max(&self) -> usize;

    /// Hands a datagram over; `priority` counts with that policy of the queue.
    ///
    /// # Errors
    ///
    /// Why it was not taken.
    fn send(&mut self, datagram: &[u8], priority: u32) -> Result<(), SendError>;

    /// Returns whether datagrams wait to be sent.
    fn has_queued(&self) -> bool;

    /// The round-trip time, where it is known.
    fn rtt_ns(&self) -> Option<u64>;

    /// Returns whether both ends have closed.
    fn is_closed(&self) -> bool;

    /// Closes.
    fn close(&mut self, now_ns: u64);

    /// Resets.
    fn abort(&mut self);
}

impl Conduit for Connection {
    fn ccids(&self) -> (u8, u8) {
        let value = |feature| self.features().value(feature) as u8;
        (value(Feature::local(number::CCID)), value(Feature::remote(number::CCID)))
    }

    fn data_bytes_max(&self) -> usize {
        self.data_bytes_max()
    }

    fn send(&mut self, datagram: &[u8], priority: u32) -> Result<(), SendError> {
        self.send(datagram, priority)
    }

    fn has_queued(&self) -> bool {
        self.send_queue_len() > 0
    }

    fn rtt_ns(&self) -> Option<u64> {
        self.rtt_ns()
    }

    fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    fn close(&mut self, now_ns: u64) {
        self.close(now_ns);
    }

    fn abort(&mut self) {
        self.abort();
    }
}
