//! DHCP load generator. It plays relay agents that forward exchanges of new clients, or the clients
//! themselves, on an open-loop schedule, and counts every exchange in one class: on time, late,
//! lost, refused, invalid, for the wrong client, answered twice.
//!
//! The crate owns the messages of the exchange, the checks of replies, the loop that drives
//! sockets, and the record `godwit.load.v1` that a run writes. Crate `load` owns schedules, open
//! exchanges and the ledger, crate `netio` sockets, and crate `measure` the comparison of records
//! across runs. Read before changing this crate: RFC 2131 sections 3.1 and 4.3, RFC 1542 section 4,
//! RFC 3046, RFC 6842; for DHCPv6 RFC 9915 sections 18 and 19.
//!
//! The exchanges ([`population`]) know neither sockets nor clocks. [`protocol::DhcpLoadProtocol`]
//! holds the differences between the families; [`v4`] and [`v6`] implement it.

mod args;
pub mod drive;
pub mod exchange;
pub mod fault;
mod frames;
pub mod identities;
pub mod leases;
pub mod link;
pub mod perfdhcp;
pub mod population;
pub mod protocol;
mod record;
mod run;
mod settings;
mod silence;
pub mod v4;
pub mod v6;
pub mod wire;

pub use frames::Frames;
pub use load::LoadShape;
pub use protocol::{DhcpLoadTarget, Expect};
pub use record::DhcpLoadReport;
pub use run::run_report;
pub use settings::{DhcpLoadSettings, Segmentation};
