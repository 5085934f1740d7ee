//! Integration tests of `dccp-link`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod allocation;
mod common;
mod connections;
mod hostile;
mod paths;
mod tasks;
mod wire;
