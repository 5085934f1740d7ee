//! Trait of a connection that `dccp perf` measures, over Godwit's own DCCP stack or the kernel's.

use dccp::connection::{Connection, ConnectionState, SendError};
use dccp::feature::{Feature, number};

/// Open DCCP connection of a flow that `dccp perf` measures.
pub(crate) trait Conduit {
    /// Returns the CCIDs of the congestion controls of the data that this end sends and receives.
    fn ccids(&self) -> (u8, u8);

    /// Returns the largest datagram in bytes that the connection accepts now.
    fn data_bytes_max(&self) -> usize;

    /// Queues a datagram to be sent; `priority` counts only with the queue policy of that name.
    ///
    /// # Errors
    ///
    /// Returns the reason why the datagram was not accepted.
    fn send(&mut self, datagram: &[u8], priority: u32) -> Result<(), SendError>;

    /// Returns true if datagrams of the connection wait to be sent.
    fn has_queued(&self) -> bool;

    /// Returns the round-trip time of the connection in nanoseconds, if it is known.
    fn rtt_ns(&self) -> Option<u64>;

    /// Returns true if the connection is closed.
    fn is_closed(&self) -> bool;

    /// Closes the connection.
    fn close(&mut self, now_ns: u64);

    /// Ends the connection with a DCCP-Reset.
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
