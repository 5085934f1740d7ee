//! The integration tests of `dccp-link`, one program: a module for each subject.

mod allocation;
mod common;
mod connections;
mod hostile;
mod tasks;
mod ways;
mod wire;
