//! Lookups in a directory without waiting for them: shards request keys and continue; a thread
//! looks up the keys of all shards in one query of a directory, and passes each shard its answers.
//! The server looks up host reservations in databases (Kea's `hosts-databases`) this way.
//!
//! A shard's requests are batches with rising numbers, answered in order, so that one comparison
//! shows if a waiting message may continue. When a directory fails, all its requests are answered
//! as failed at once: no message waits for a database that is unreachable, and the next request
//! tries again.
//!
//! - [`Lookups`]: state that shards and thread share; tests run a pass of it without a thread.
//! - [`SqlHosts`]: reservations in several databases, one after the other.
//! - [`HostsAdministration`]: the same databases for control commands, which wait for them. After
//!   a change [`Lookups::forget`] tells the shards which keys lead to other hosts now.

mod administration;
mod lookups;
mod sql;
mod thread;

pub use administration::{HostRowsChange, HostsAdministration};
pub use lookups::{
    ChangedKeys, Directory, LookupBatchResult, LookupTurnResult, Lookups, ShardLookups,
};
pub use sql::{HostsPolicy, SqlHosts};
pub use thread::LookupThread;
