//! Micro-benchmarks of lease stores: create, search, update and delete, one run after the other,
//! rows in turn; what the program `dhcp-ubench` of 2012 did, and what it lacked.
//!
//! - [`subject`]: what can be measured.
//! - [`run`]: a measurement. Kea's tables are used through what the DHCP server uses, with many
//!   operations in flight; those of 2012 with one statement for each operation.
//! - [`result`]: what it came to, as a document with a version.
//! - [`output`]: the same as text, as CSV, as that program printed it, and as a page beside the
//!   figures of 2012 ([`seeds`]).
//!
//! Every rate is all operations over all time. Safety is proved by counting: flushes of files and of
//! the logs of databases, and transactions where a database does not tell.

mod error;
mod flush;
mod machine;
mod open;
pub mod output;
mod plain;
pub mod result;
pub mod run;
pub mod seeds;
mod server;
mod shared_path;
pub mod subject;
mod tally;
mod workload;

pub use error::UbenchError;
pub use flush::FlushCost;
pub use result::Report;
pub use run::{Request, Told, measure};
pub use server::GivenServer;
pub use subject::{Backend, Journal, Mode, Sharing, Subject, Tables};
pub use workload::Step;
