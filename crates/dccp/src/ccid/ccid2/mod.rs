//! CCID 2, congestion control like TCP's (RFC 4341): a window of packets, halved once for each
//! window in which a packet was lost or marked.

mod receiver;
mod rto;
mod sender;
mod sent;

pub use receiver::Ccid2Receiver;
pub use sender::Ccid2Sender;
