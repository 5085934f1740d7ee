//! Integration tests of `dhcp-load`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod allocation;
mod common;
mod figures;
mod frames;
mod kea6;
mod last_moment;
mod loopback;
mod loopback6;
mod perfdhcp;
mod servers;
mod servers6;
