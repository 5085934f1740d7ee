//! Leases in a database that several servers may share: who may write what, and in which order.
//!
//! The lease table in memory answers every question of the packet path; the database has the last
//! word. A row that a shard logs says what it wants done ([`operation`]); a round ([`DatabaseCore`])
//! takes what all shards want, reads the rows of those addresses under a lock, keeps to the rule
//! ([`rule`]) that an address is given only when nobody else has it *there*, writes what the rule
//! allows in the same transaction, and puts the table right where it was wrong. Only then is the
//! round's epoch published, so every acknowledgment waits for the database's word, and one that was
//! refused never leaves ([`Refusals`]). What was refused is in the table afterwards, so the client's
//! next message is answered by what is true.
//!
//! A client that the table does not know may have its lease from another server. Its message waits
//! while the round that is open asks the database for it ([`SharedJournal`]).
//!
//! A round that is lost with its connection is done again: whether it was committed need not be
//! known, since doing it twice is doing it once.
//!
//! Where commits can be flushed beside the next transaction ([`Flush`]), a round comes in parts, each
//! with a transaction and an epoch of its own: so the first is flushed while the second is carried out
//! (`flusher`).
//!
//! - [`contract`]: what a database has to offer.
//! - [`family`]: what the rule has to know of a family's leases.

pub mod contract;
mod core;
pub mod family;
mod flusher;
mod flushes;
mod journal;
pub mod operation;
mod refusals;
mod round;
pub mod rule;
pub mod testing;
mod thread;

pub use contract::{Changes, DatabaseError, Fault, LeaseDatabase};
pub use core::{DatabaseCore, RoundEnd};
pub use family::{KeyOctets, Shared};
pub use flushes::{Flush, Flushes};
pub use journal::SharedJournal;
pub use refusals::{Reason, Refusals};
pub(crate) use round::left_alone;
pub use thread::{DatabaseThread, OnLoss, ThreadOptions};
