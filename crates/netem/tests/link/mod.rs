//! Tests of links through the public interface: exact cases computed by hand, statistics of seeded
//! runs, words.

mod bucket;
mod determinism;
mod run;
mod semantics;
mod statistics;
mod words;
