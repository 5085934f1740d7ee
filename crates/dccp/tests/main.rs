//! The integration tests of `dccp`, one program: a module for each subject.

mod captures;
mod cases;
mod common;
mod conformance;
mod fuzz;
mod replay;
mod worlds;
