//! Integration tests of `dhcp-store`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod contract;
mod database;
mod disturbed;
mod galera;
mod lease_files;
mod log;
mod lookups;
mod one_language;
mod power_cut;
mod sql;
