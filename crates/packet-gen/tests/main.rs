//! Integration tests of `packet-gen`, one program: a module for each subject.

mod allocation;
mod corpus;
mod documented;
mod recorded;
mod reference;
