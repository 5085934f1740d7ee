//! Integration tests of `netio`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod frames;
mod loopback;
mod multicast;
mod packet;
