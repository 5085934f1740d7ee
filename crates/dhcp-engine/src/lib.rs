//! Decisions of a DHCP server: the compiled configuration snapshot and the message transaction.
//!
//! A transaction steps until it has an outcome: it requests facts, proposes changes, and ends in a
//! reply, in silence or in a counted drop. It reads no clock and does no I/O; its caller passes in
//! the time (`Now`), the facts and the result of the commit. RFCs to read first: 2131, 2132, 3046,
//! 3527, 4361, 5107, 6842; 6422, 6603, 8357, 9915.

mod adaptive;
pub mod balance;
pub mod bulk;
pub mod classify;
mod client_facts;
pub mod client_name;
mod compile;
pub mod contain;
pub mod counters;
pub mod event_gate;
pub mod events;
mod exchange_record;
pub mod held_messages;
mod hex;
pub mod hosts;
pub mod in_flight;
pub mod interfaces;
mod json_text;
pub mod links;
pub mod name_characters;
mod name_tuning;
pub mod omission;
pub mod options;
pub mod outbox;
mod pair_filter;
mod pair_filters;
pub mod preference;
pub mod prefixes;
pub mod protocol;
pub mod reason;
pub mod reclaim;
pub mod repeat;
pub mod scope_terms;
mod settled_gate;
pub mod shard;
pub mod snapshot;
pub mod statistic;
mod stored_relay;
pub mod subnet_keys;
pub mod transaction;
pub mod v4;
pub mod v6;

pub use counters::ShardCounters;
pub use event_gate::EventGate;
pub use events::EventCounters;
pub use in_flight::{InFlight, InFlightAdmission};
pub use interfaces::InterfaceNames;
pub use omission::Omission;
pub use pair_filter::{PairClient, PairFilter, PairQuery, PairScopes, PairShare};
pub use pair_filters::PairFilters;
pub use protocol::{MeasuredRequest, Notice, Protocol, ReplySink};
pub use reason::DropReason;
pub use shard::{ArrivedDatagram, Shard};
pub use statistic::{DropStatistic, StatisticEvent};
