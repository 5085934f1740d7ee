//! Leases in SQL databases, in Kea's tables: MariaDB and MySQL, PostgreSQL, and SQLite.
//!
//! - [`settings`]: how a database is reached.
//! - `connect`: which of several hosts, and whether leases can be written there; `tls`: who is believed.
//! - [`database`]: a connection with what is done over it: schema, transactions, leases in bulk.
//! - `counts`: new leases counted many at once, where the tables leave that to us.
//! - [`schema`]: the tables, as statements, in the two versions that are known.
//! - [`row`]: leases as values of their columns and back, without a database.
//! - [`hosts`]: reservations, looked up in bulk and written one at a time.
//! - [`transfer`]: leases from tables to Kea's lease files and back.
//!
//! What a server does with them (rounds, who may write what, what happens when the database is
//! gone) is decided in [`database`](crate::database), for which [`SharedLeases`] is one. Nothing here
//! is on the path of a packet: it blocks.
//!
//! Kea's manual to have read: "Supported Lease Databases", "The kea-admin Tool".

mod connect;
mod counts;
#[cfg(test)]
mod damaged;
pub mod database;
mod driver;
mod error;
mod fault;
pub mod hosts;
mod mysql;
mod postgresql;
pub mod row;
pub mod schema;
pub mod settings;
mod shared;
mod sqlite;
mod tls;
pub mod transfer;
mod v4;
mod v6;

pub use database::{Database, Loaded};
pub use error::SqlError;
pub use hosts::{Host, HostFamily, HostOption, HostQuery, HostResource};
pub use row::Stored;
pub use schema::{Schema, Version};
pub use settings::{Backend, Settings, SslMode};
pub use shared::{SharedLeases, SharedRows};
