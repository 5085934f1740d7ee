//! DNS updates of name change requests, as a state machine without I/O.
//!
//! [`Updater`] takes requests, answers of DNS servers and times, and returns messages to send,
//! finished requests and lines to log. The caller owns sockets, clock and files; `dhcp-server` runs
//! it as `godwit ddns`. Requests for one name or one address are carried out in their order, others
//! at the same time.
//!
//! Structure: `steps` knows the updates of RFC 4703 for each conflict mode, `message` writes them
//! (RFC 2136), `tsig` signs them (RFC 8945), `zones` finds zone and servers, `updater` decides what
//! is sent when, `journal` is the text of the durable queue, `registry` compares the names that
//! were requested with those of the leases, and `probe` asks servers if they take updates.

mod counts;
mod journal;
mod message;
mod notice;
mod order;
mod probe;
mod registry;
mod steps;
mod tsig;
mod updater;
mod zones;

pub use counts::{KeyCounts, UpdaterCounts};
pub use journal::{JournalEntries, JournalLine};
pub use notice::{NoticeLevel, UpdaterNotice};
pub use probe::{ProbeAnswer, ProbeMessage, ZoneProbe};
pub use registry::{LeaseName, NameComparison, NameRegistry};
pub use updater::{Updater, UpdaterOutput};
pub use zones::{DnsZones, UpdateServer};
