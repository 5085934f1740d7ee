//! Runs plans: builds the topology, starts servers and generators as child processes, searches each
//! server's highest rate trial by trial in turn, and writes every record next to the summary and
//! the report.
//!
//! The lab also lists and compares stored results, and shows them in a browser.
//!
//! The crate `measure` defines plans, records and figures; `testbed` has namespaces, processes and
//! samplers. The lab links no server and no generator: it starts Godwit's own as processes, like
//! third parties'.

mod available;
pub mod bench;
mod columns;
mod commit;
pub mod compare;
pub mod delay_proxy;
pub mod driver;
mod environment;
pub mod error;
pub mod family;
mod folder;
pub mod hosts;
mod journal;
pub mod leases;
mod number_text;
mod other_load;
pub mod peers;
pub mod plans;
mod probe;
pub mod profiler;
pub mod progress;
pub mod report;
mod results;
mod run;
pub mod runner;
mod samples;
pub mod serve;
pub mod stored;
pub mod subject;
pub mod subject_id;
pub mod suite;
pub mod target;
pub mod terms;
pub mod trial;

pub use error::LabError;
pub use progress::ProgressWriter;
pub use results::ResultFolder;
pub use run::{FinishedRun, RunSettings, run};
pub use suite::{FinishedSuite, SuiteSettings, run_suite};
