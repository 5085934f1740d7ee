//! The integration tests of `netio`, one program: a module for each subject.

mod frames;
mod loopback;
mod multicast;
mod packet;
