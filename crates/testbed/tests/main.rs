//! The integration tests of `testbed`, one program: a module for each subject.

mod database;
mod topology;
