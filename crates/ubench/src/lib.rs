//! Micro-benchmarks of lease stores: create, search, update and delete, one run after the other,
//! rows in turn; the measurements of the program `dhcp-ubench` of 2012, with additions.
//!
//! - [`subject`]: subjects that can be measured.
//! - [`run`]: a measurement. Kea's tables are used through the code that the DHCP server uses, with
//!   many operations in flight; those of 2012 with one statement for each operation.
//! - [`result`]: the results, as a document with a version.
//! - [`output`]: the results as text, as CSV, as that program printed them, and as a page with the
//!   figures of 2012 next to them ([`seeds`]).
//!
//! Every rate is the number of all operations divided by all time. Counts prove safety: flushes of
//! files and of the logs of databases, and transactions where a database does not report flushes.

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

pub use flush::FlushDurationSummary;
pub use result::UbenchReport;
pub use run::{UbenchEvent, UbenchParameters, measure};
pub use server::UserServer;
pub use subject::{
    BenchmarkSubject, ChangeSafety, SqliteJournalMode, SubjectBackend, Tables, TransactionSharing,
};
pub use workload::WorkloadStep;
