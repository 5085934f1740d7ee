//! Integration tests of `dhcp-control`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;
mod core;
mod fuzz;
mod host_databases;
mod hosts;
mod kea;
mod leases;
mod prometheus;
mod statistics;
mod subnets;
