//! The integration tests of `dhcp-control`, one program: a module for each subject.

mod common;
mod core;
mod fuzz;
mod hosts;
mod kea;
mod leases;
mod prometheus;
mod statistics;
mod subnets;
