//! Integration tests of `dhcp-wire`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod allocation;
mod common;
mod property;
mod vectors;
