//! The integration tests of `dhcp-wire`, one program: a module for each subject.

mod allocation;
mod common;
mod property;
mod vectors;
