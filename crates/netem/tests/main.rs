//! The integration tests of `netem`, one program: a module for each subject.

mod link;
