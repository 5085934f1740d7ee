//! The integration tests of `dhcp-load`, one program: a module for each subject.

mod allocation;
mod common;
mod frames;
mod kea6;
mod loopback;
mod loopback6;
mod perfdhcp;
mod servers;
mod servers6;
