//! Integration tests of `packet-wire`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod captures;
mod frames;
mod vectors;
