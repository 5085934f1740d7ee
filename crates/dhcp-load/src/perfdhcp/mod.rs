//! Command `godwit perfdhcp`: the command line of ISC's perfdhcp over this crate's messages and
//! checks of replies.
//!
//! It differs from [`crate::run_report`] in the unit that it counts: not whole exchanges but each
//! request with its reply (DISCOVER-OFFER, REQUEST-ACK, renewal, RELEASE), each under its own
//! deadline from its own due time. Messages, their parser and the checks of replies are those of
//! [`crate::v4`] and [`crate::v6`]; schedules, rings of open requests and ledgers come from crate
//! `load`. The command refuses switches that it does not implement. docs/book/perfdhcp.md lists the
//! class of each fault.

pub mod account;
mod args;
pub mod capture;
mod check;
mod command;
mod compat;
mod diagnose;
pub mod dialect;
pub mod dialect4;
pub mod dialect6;
pub mod direct;
pub mod drive;
pub mod ending;
mod family_setup;
mod files;
pub mod holders;
pub mod lifecycle;
mod live;
mod outcome;
mod output_files;
pub mod packet;
pub mod packet6;
pub mod part;
mod pcap;
pub mod persona;
mod plan;
pub mod pool;
mod relay_addresses;
mod report;
pub mod resend;
pub mod rules;
mod run_addresses;
mod several;
mod text;
pub mod trace;
pub mod traffic;

pub use args::PerfdhcpArgs;
