//! Integration tests of `dns-load`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod capacity;
mod exchanges;
mod frames;
mod loopback;
mod tcp;
mod zone;
