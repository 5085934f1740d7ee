//! Parts of a load generator that are independent of the protocol: due times of exchanges, open
//! exchanges, and the ends of all exchanges. The crate uses no sockets and no clock: callers pass
//! the time as monotonic nanoseconds.
//!
//! The load is open-loop. An exchange is due when the [`Schedule`] says so, however the earlier
//! ones ended; its latency counts from its due time. A generator that cannot keep up sends late,
//! and the [`ExchangeLedger`] reports that in its [`GeneratorVerdict`], so that a slow generator is
//! never taken for a slow service ("coordinated omission", Tene).

mod backlog;
pub mod hdr;
mod highlight;
mod ledger;
mod limits;
mod outstanding;
pub mod replay;
mod schedule;
mod shape;
mod throughput;
mod timeline;

pub use backlog::QueuedExchangeCounter;
pub use highlight::highlight;
pub use ledger::{
    ExchangeClass, ExchangeLedger, GeneratorVerdict, Health, LATE_SEND_NS, LATE_SEND_SHARE,
    LATENCY_LIMIT_NS, LedgerParts, OWN_LOSS_SHARE,
};
pub use limits::ExchangeTimeLimits;
pub use outstanding::Outstanding;
pub use schedule::{LoadPeriod, LoadRate, Schedule, ThreadShare, exponential};
pub use shape::{LoadShape, LoadShapeArg, SHAPES};
pub use throughput::{CountedExchanges, Throughput};
pub use timeline::{AwaitedReply, Timeline, TimelinePoint};
