//! The integration tests of `dns-wire`, one program: a module for each subject.

mod vectors;
