//! The integration tests of `packet-wire`, one program: a module for each subject.

mod frames;
mod vectors;
