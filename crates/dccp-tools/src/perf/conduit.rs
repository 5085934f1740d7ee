//! The part of a connection that a measurement uses, of Godwit's own stack or of the kernel.

use dccp::connection::{Connection, ConnectionState, SendError};
use dccp::feature::{Feature, number};

/// An open connection.
pub(crate) trait Conduit {
    /// Returns the congestion control of the data sent and received.
    fn ccids(&self) -> (u8, u8);

    /// Returns the most bytes of data that a datagram may have now.
    fn data_bytes_max(&self) -> usize;

    /// Queues a datagram; `priority` is for the queue policy of that name.
    ///
    /// # Errors
    ///
    /// Returns the reason why the datagram was not accepted.
    fn send(&mut self, datagram: &[u8], priority: u32) -> Result<(), SendError>;

    /// Returns true if datagrams wait to be sent.
    fn has_queued(&self) -> bool;

    /// Returns the round-trip time, if it is known.
    fn rtt_ns(&self) -> Option<u64>;

    /// Returns true if both ends have closed.
    fn is_closed(&self) -> bool;

    /// Closes the connection.
    fn close(&mut self, now_ns: u64);

    /// Resets the connection.
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
        self.state() == ConnectionState::Closed
    }

    fn close(&mut self, now_ns: u64) {
        self.close(now_ns);
    }

    fn abort(&mut self) {
        self.abort();
    }
}
