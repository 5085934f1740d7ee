//! Integration tests of `sim`, one program: a module for each subject.

mod lives;
