//! Environment of a measurement: network namespaces or loopback, child processes with stored
//! output, private database servers, samplers of processors, memory, interfaces and sockets, and
//! the register that lets `godwit lab clean` remove the leftovers of a crash.
//!
//! The crate uses only programs that every Debian has (`ip` of iproute2; `taskset`, `setpriv` and
//! `nsenter` of util-linux), so that a user can type every command line of a record again. The
//! crate `lab` decides what is measured and why; the crate `measure` interprets the figures.
//!
//! To have read: ip-netns(8), proc(5), `Documentation/networking/scaling.rst` of the kernel (RPS).

pub mod command;
pub mod database;
pub mod debian;
pub mod error;
pub mod flush;
pub mod namespace;
pub mod nobody;
pub mod proc;
pub mod process;
pub mod progress;
pub mod qdisc;
pub mod quota;
pub mod registry;
pub mod sampler;
pub mod topology;

pub use command::CommandLine;
pub use database::{DatabaseEngine, PrivateDatabase};
pub use debian::Debian13;
pub use error::TestbedError;
pub use process::ChildProcess;
pub use progress::TestProgress;
pub use quota::Quota;
pub use registry::{CleaningResult, RegisteredRun, Registry};
pub use sampler::{Sampler, SamplerTarget};
pub use topology::{MeasurementTopology, TopologySide};
