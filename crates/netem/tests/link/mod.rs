//! Links from outside: exact cases computed by hand, statistics of seeded runs, words.

#![allow(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod bucket;
mod determinism;
mod run;
mod semantics;
mod statistics;
mod words;
