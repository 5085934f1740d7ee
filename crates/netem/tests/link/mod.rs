//! Links from outside: exact cases computed by hand, statistics of seeded runs, words.

mod bucket;
mod determinism;
mod run;
mod semantics;
mod statistics;
mod words;
