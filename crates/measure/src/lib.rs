//! Measurements as values: plans, raw records, the search for the highest rate, statistics and
//! summaries.
//!
//! The input and output are text and records. Starting servers and generators, reading clocks and
//! the kernel's counters, and writing files belong to the lab; the pages are drawn by the crate
//! `report`. Each arrow of plan → trials → digest → summary → report can therefore be done again
//! alone.

pub mod capacity;
pub mod compare;
pub mod plan;
pub mod profile;
pub mod record;
pub mod regression;
pub mod schema;
pub mod search;
pub mod statistics;
pub mod stored;
pub mod suite;
pub mod summary;

pub use plan::Plan;
