//! The DHCP load generator. It plays relay agents that forward new clients' exchanges on an
//! open-loop schedule, and accounts for every one of them: on time, late, lost, refused, invalid,
//! for the wrong client, answered twice.
//!
//! It owns the messages of the exchange, the judgment of answers, the loop that drives sockets,
//! and the record `godwit.load.v1` that it leaves behind. Schedules, open exchanges and the ledger
//! are crate `load`'s; sockets are crate `netio`'s; what records mean across runs is crate
//! `measure`'s. Read before changing it: RFC 2131 sections 3.1 and 4.3, RFC 1542 section 4, RFC
//! 3046, RFC 6842.
//!
//! The exchange itself ([`v4::population`]) knows neither sockets nor clocks.

mod args;
mod record;
mod run;
mod settings;
pub mod v4;

pub use args::Args;
pub use record::Report;
pub use run::{LoadError, run, run_report};
pub use settings::{Arrivals, Segmentation, Settings};
