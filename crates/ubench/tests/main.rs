//! The integration tests of `ubench`, one program: a module for each subject.

mod ubench;
