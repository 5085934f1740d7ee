//! The integration tests of `dhcp-server`, one program: a module for each subject.

mod allocation;
