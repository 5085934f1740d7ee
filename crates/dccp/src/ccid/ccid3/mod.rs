//! CCID 3, congestion control by a rate from TCP's throughput equation (RFC 4342, RFC 5348):
//! smoother than a window, fair to TCP over time.

mod counter;
pub mod equation;
mod intervals;
mod loss;
mod received;
mod receiver;
mod recv_limit;
mod sender;

pub use intervals::{IntervalHistory, mean_interval, read_intervals};
pub use receiver::Ccid3Receiver;
pub use sender::{Ccid3Sender, initial_window_bytes};
