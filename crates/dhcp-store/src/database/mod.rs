//! Leases in a database that several servers may share: the rules for writing, and their order.
//!
//! The lease table in memory serves every lookup of the packet path; the database decides. A row
//! that a shard logs is a request to the writer ([`operation`]). A round ([`DatabaseCore`]) takes
//! the requests of all shards and reads the rows of those addresses under a lock. It keeps to the
//! rule ([`write_decision`]) that an address is leased only if no other client has it *in the
//! database*, writes what the rule allows in the same transaction, and corrects the table. Only
//! then is the round's epoch published, so every DHCPACK or REPLY waits for the database, and a
//! refused one never leaves ([`Refusals`]). After a refusal the table has the database's lease, so
//! the reply to the client's next message is correct.
//!
//! A client that the table does not know may have its lease from another server. Its message waits
//! while the open round looks the client up in the database ([`SharedJournal`]).
//!
//! A round that is lost with its connection is repeated, committed or not: a round has the same
//! effect when it runs twice.
//!
//! Where commits can be flushed while the next transaction runs ([`Flush`]), a round has several
//! parts, each with a transaction and an epoch of its own: the first is flushed while the second is
//! carried out (`flusher`).
//!
//! - [`contract`]: contract that a database fulfils.
//! - [`family`]: properties of a family's leases that the rule needs.

pub mod contract;
mod core;
pub mod family;
mod flusher;
mod flushes;
mod journal;
pub mod operation;
mod refusals;
mod round;
pub mod testing;
mod thread;
pub mod write_decision;

pub use contract::{DatabaseError, DatabaseFault, LeaseDatabaseConnection, RoundChanges};
pub use core::{DatabaseCore, RoundEnd};
pub use family::{KeyOctets, SharedLeaseFamily, blocked_lease};
pub use flushes::{Flush, Flushes};
pub use journal::SharedJournal;
pub use refusals::{AddressRefusalReason, Refusals};
pub(crate) use round::unreadable_row_message;
pub use thread::{DatabaseThread, DatabaseThreadOptions, OnLoss};
