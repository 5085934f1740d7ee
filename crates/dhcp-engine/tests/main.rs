//! Integration tests of `dhcp-engine`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod batches;
mod classes;
mod common;
mod counterparts;
mod elsewhere;
mod hosts;
mod hub;
mod instructions;
mod lease_query;
mod option_choice;
mod overload;
mod panics;
mod v4_classes;
mod v4_corners;
mod v4_direct;
mod v4_fuzz;
mod v4_hosts;
mod v4_transactions;
mod v6_allocation;
mod v6_classes;
mod v6_fuzz;
mod v6_hosts;
mod v6_links;
mod v6_overlap;
mod v6_registration;
mod v6_transactions;
mod v6_unreadable;
