//! Lease stores that outlive the process, behind the contract of `dhcp-lease`: Kea's memfile, with
//! rows appended by group commit, and SQL databases that several servers may share.
//!
//! - [`storage`]: files and folders as a trait, on a real disk and on a simulated one that loses
//!   its power.
//! - [`memfile`]: Kea's CSV lease files: rows, loading, rotation, cleanup.
//! - [`log`]: rounds that write the rows of all shards at once, and their durability.
//! - [`database`]: rounds of lease rows that a database carries out; the database decides who owns
//!   an address.
//! - [`certificates`]: certificates and keys in files.
//! - [`regular_file`]: small files that a configuration names.
//! - [`hosts`]: lookups of reservations in databases without waiting for them.
//! - [`sql`]: Kea's tables in MariaDB, MySQL, PostgreSQL and SQLite: schema, rows, leases in
//!   bulk.
//! - [`store`]: the [`LeaseStore`](dhcp_lease::LeaseStore) made of the shared lease table and a
//!   shard's part of the log.
//!
//! `dhcp-lease` decides who owns an address, the server when a reply may leave. Sections of Kea's
//! manual to read first: "Memfile - Basic Storage for Leases", "Lease File Cleanup".

pub mod certificates;
pub mod database;
pub mod hosts;
mod lenient_verifier;
pub mod log;
pub mod memfile;
pub mod regular_file;
pub mod sql;
pub mod storage;
pub mod store;

pub use log::{LogThread, RowDurability, ShardLog};
pub use memfile::{LoadReport, Memfile, OpenError, OpenOptions};
pub use store::{DatabaseStore, MemfileStore};
