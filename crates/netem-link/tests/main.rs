//! The integration tests of `netem-link`, one program: a module for each subject.

mod bridge;
