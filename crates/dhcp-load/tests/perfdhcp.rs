//! A scripted responder that keeps its own ledger and misbehaves, on virtual time, against the
//! requests of `godwit perfdhcp`: whatever it does, both ledgers are equal to the last request, and
//! the exit code says what happened.

mod direct;
mod faults4;
mod lives;
mod load4;
pub(crate) mod v4;
mod v6;
pub(crate) mod world;
