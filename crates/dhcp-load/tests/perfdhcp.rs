//! Tests of the requests of `godwit perfdhcp` against a scripted responder that keeps its own
//! ledger and misbehaves, on virtual time: for any behaviour both ledgers are equal to the last
//! request, and the exit code reports the result.

mod direct;
mod faults4;
mod lifecycle;
mod load4;
pub(crate) mod v4;
mod v6;
pub(crate) mod world;
