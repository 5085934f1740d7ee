//! The integration tests of `dns-load`, one program: a module for each subject.

mod capacity;
mod exchanges;
mod frames;
mod loopback;
mod tcp;
mod zone;
