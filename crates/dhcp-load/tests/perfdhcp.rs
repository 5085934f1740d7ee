//! A scripted responder that keeps its own ledger and misbehaves, on virtual time, against the
//! requests of `godwit perfdhcp`: whatever it does, both ledgers are equal to the last request, and
//! the exit code says what happened.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[allow(dead_code, reason = "the world of whole exchanges is for other tests")]
mod common;
#[path = "perfdhcp/direct.rs"]
mod direct;
#[path = "perfdhcp/faults4.rs"]
mod faults4;
#[path = "perfdhcp/lives.rs"]
mod lives;
#[path = "perfdhcp/load4.rs"]
mod load4;
#[path = "perfdhcp/v4.rs"]
mod v4;
#[path = "perfdhcp/v6.rs"]
mod v6;
#[path = "perfdhcp/world.rs"]
mod world;
