//! Leases in SQL databases, in Kea's tables: MariaDB and MySQL, PostgreSQL, and SQLite.
//!
//! - [`settings`]: settings to reach a database.
//! - `connect`: choice of one of several database hosts, one where leases can be written; `tls`:
//!   trust in a server's certificate.
//! - [`database`]: a connection with its operations: schema, transactions, leases in bulk.
//! - `counts`: counts of new leases, many at once, where a session counts instead of triggers.
//! - [`schema`]: the tables, as SQL statements, in the two versions that this crate knows.
//! - [`row`]: leases as values of their columns and back, without a database.
//! - [`hosts`]: reservations, looked up in bulk and written one at a time.
//! - [`transfer`]: leases from tables to Kea's lease files and back.
//!
//! The module [`database`](crate::database), for which [`SharedLeases`] is a database, decides how
//! a server uses the leases (rounds, rules for writing, a lost database). Functions here block, so
//! the packet path must not call them.
//!
//! Sections of Kea's manual to read first: "Supported Lease Databases", "The kea-admin Tool".

mod connect;
mod counts;
#[cfg(test)]
mod damaged;
pub mod database;
mod driver;
mod error;
mod fault;
pub mod hosts;
mod log_rows;
mod mysql;
mod postgresql;
pub mod row;
pub mod schema;
pub mod settings;
mod shared_leases;
mod sqlite;
mod tls;
pub mod transfer;
mod v4;
mod v6;

pub use database::{Database, SqlLoadReport};
pub use error::SqlError;
pub use hosts::{HostFamily, HostOption, HostQuery, HostResource, HostSelection, HostTableRow};
pub use log_rows::LogRow;
pub use row::SqlFamily;
pub use schema::{Schema, SchemaVersion};
pub use settings::{DatabaseSslMode, SqlDatabaseKind, SqlSettings};
pub use shared_leases::{SharedLeases, SharedRows};
