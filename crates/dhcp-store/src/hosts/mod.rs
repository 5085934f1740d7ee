//! Looking something up elsewhere without waiting for it: shards ask for keys and go on; a thread
//! asks a directory for all that shards want to know at that moment, in one question, and brings
//! each shard its answers. Reservations in databases are looked up like this.
//!
//! A shard's questions are batches with rising numbers, answered in their order, so that one
//! comparison tells whether a message that waits may go on. When a directory fails, all that was
//! asked of it is answered as failed at once: nobody waits for a database that is gone, and the next
//! question tries again.
//!
//! - [`Lookups`]: what shards and thread share; a turn of it without a thread is what tests run.
//! - [`SqlHosts`]: reservations in several databases, one after the other.

mod core;
mod sql;
mod thread;

pub use core::{Answer, Directory, LookupDesk, Lookups, Turn};
pub use sql::{HostsPolicy, SqlHosts};
pub use thread::LookupThread;
