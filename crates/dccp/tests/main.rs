//! Integration tests of `dccp`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod captures;
mod cases;
mod common;
mod conformance;
mod fuzz;
mod replay;
mod worlds;
