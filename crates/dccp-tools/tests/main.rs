//! The integration tests of `dccp-tools`, one program: a module for each subject.

mod conformance;
