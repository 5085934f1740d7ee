//! Integration tests of `dhcp-lease`, one program: a module for each subject.

mod allocation;
mod contract;
