//! Values that mean the same in both families.

use core::net::Ipv4Addr;

use super::options::OptionData;
use super::{ClassGuards, NameKeys, SqlDatabase, SqlKind};

/// A range of addresses to give leases from; `A` is the type of an address, `C` of an option code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<A, C> {
    /// First address.
    pub first: A,
    /// Last address, included.
    pub last: A,
    /// `pool-id`, default 0.
    pub pool_id: u32,
    /// The pool's own options, ordered by space and code; they win over the subnet's.
    pub options: Vec<OptionData<C>>,
    /// Who may use it, and classes tested once it has been used.
    pub guards: ClassGuards,
    /// What clients with its addresses are called, where that differs from the subnet's.
    pub names: NameKeys,
}

/// A lifetime in seconds, and the bounds of what a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Given to clients that ask for nothing. The valid lifetime is 7200 by default.
    pub default_s: u32,
    /// Least; the default when not set.
    pub min_s: u32,
    /// Most; the default when not set.
    pub max_s: u32,
}

/// One element of `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceSelection<A = Ipv4Addr> {
    /// `"*"`.
    All,
    /// `"eth0"`, `"eth0/192.0.2.1"` or `"eth0/2001:db8::1"`.
    Named {
        /// Name of the interface.
        name: String,
        /// The one address to listen on; every address of the interface when `None`.
        address: Option<A>,
    },
}

/// `lease-database`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseDatabase {
    /// The database of a kind that is not `memfile`; what follows is a memfile's.
    pub sql: Option<SqlDatabase>,
    /// Path of the lease file of a memfile; the server's default when `None`.
    pub name: Option<String>,
    /// Whether leases are written to disk at all. Default true.
    pub persist: bool,
    /// Time between clean-ups of the lease file; 0 switches them off. Default 3600 s.
    pub lfc_interval_s: u32,
    /// Bad rows after which loading gives up; 0 is no limit. Default 0.
    pub max_row_errors: u32,
    /// What happens when the store fails. Default [`OnFail::StopRetryExit`].
    pub on_fail: OnFail,
}

impl Default for LeaseDatabase {
    fn default() -> Self {
        Self {
            sql: None,
            name: None,
            persist: true,
            lfc_interval_s: 3600,
            max_row_errors: 0,
            on_fail: OnFail::StopRetryExit,
        }
    }
}

impl LeaseDatabase {
    /// Whether other servers may write to it.
    #[must_use]
    pub fn is_shared(&self, godwit: &GodwitLeaseDatabase) -> bool {
        let kind = self.sql.as_ref().map(|sql| sql.kind);
        kind.is_some_and(|kind| kind != SqlKind::Sqlite) && !godwit.is_exclusive
    }
}

/// `on-fail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFail {
    /// Serve nobody while trying again, then exit.
    StopRetryExit,
    /// Serve while trying again, then exit.
    ServeRetryExit,
    /// Serve without the store.
    ServeRetryContinue,
}

/// `expired-leases-processing`. A timer of 0 switches its job off, a limit of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiredLeases {
    /// Time between reclamations. Default 10 s.
    pub reclaim_timer_wait_s: u32,
    /// Time between removals of reclaimed leases. Default 25 s.
    pub flush_reclaimed_timer_wait_s: u32,
    /// How long a reclaimed lease is kept. Default 3600 s.
    pub hold_reclaimed_s: u32,
    /// Most leases of one reclamation. Default 100.
    pub max_reclaim_leases: u32,
    /// Longest time of one reclamation. Default 250 ms.
    pub max_reclaim_time_ms: u32,
    /// Reclamations in a row that may leave leases over before a warning. Default 5.
    pub unwarned_reclaim_cycles: u32,
}

impl Default for ExpiredLeases {
    fn default() -> Self {
        Self {
            reclaim_timer_wait_s: 10,
            flush_reclaimed_timer_wait_s: 25,
            hold_reclaimed_s: 3600,
            max_reclaim_leases: 100,
            max_reclaim_time_ms: 250,
            unwarned_reclaim_cycles: 5,
        }
    }
}

/// `sanity-checks.lease-checks`: leases whose `subnet-id` does not contain their address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseChecks {
    /// Load them.
    None,
    /// Load them and say so.
    #[default]
    Warn,
    /// Correct the identifier; load unchanged when no subnet fits.
    Fix,
    /// Correct the identifier; drop when no subnet fits.
    FixDel,
    /// Drop them.
    Del,
}

/// `sanity-checks.extended-info-checks`: what relay agents said, as leases of older files keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedInfoChecks {
    /// Keep it as it is.
    None,
    /// Bring it into the present form.
    #[default]
    Fix,
    /// Likewise, and drop what is inconsistent.
    Strict,
    /// Likewise, and drop what has anything unexpected.
    Pedantic,
}

/// One of `loggers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logger {
    /// Which messages: `kea-dhcp4`, `kea-dhcp6` and their children.
    pub name: String,
    /// Least severity written. Default info.
    pub severity: LogSeverity,
    /// Detail of debug messages, 0 to 99. Default 0.
    pub debug_level: u8,
    /// Where messages go.
    pub outputs: Vec<LogOutput>,
}

/// Severity of log messages, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogSeverity {
    /// Nothing is written.
    None,
    /// The server ends.
    Fatal,
    /// Something failed.
    Error,
    /// Something looks wrong.
    Warn,
    /// Normal events.
    Info,
    /// Everything, by level.
    Debug,
}

/// One of a logger's `output-options`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOutput {
    /// Where to.
    pub destination: LogDestination,
    /// Whether each message is flushed. Default true.
    pub flush: bool,
    /// Size at which a file is rotated. Default 10240000.
    pub max_size_bytes: u64,
    /// Rotated files kept. Default 1.
    pub max_versions: u32,
    /// Layout of a line, in log4cplus notation; the default one when empty.
    pub pattern: String,
}

/// Where log messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The system log, under a facility when one is named.
    Syslog(Option<String>),
    /// A file.
    File(String),
}

/// When a lease counts as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Written, never flushed, as Kea does.
    None,
    /// Flushed every [`GodwitSettings::flush_interval_ms`]; replies do not wait.
    Interval,
    /// Flushed before the reply leaves.
    #[default]
    Always,
}

/// How many threads serve clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// As many as are configured, one at least.
    Fixed(u16),
    /// As many as the machine has processors.
    Processors,
}

/// `user-context.godwit` of the global scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GodwitSettings {
    /// When a lease counts as stored. Default [`Durability::Always`].
    pub durability: Durability,
    /// Time between flushes under [`Durability::Interval`]. Default 100 ms.
    pub flush_interval_ms: u32,
    /// Shards, each a thread with its own sockets: as many as `shards` says, else as
    /// `multi-threading`. Default [`Shards::Processors`].
    pub shards: Shards,
    /// How long an offered address is held for the client. Default 10000 ms.
    pub hold_time_ms: u32,
    /// Metrics have the names of kea-exporter, too. Default false.
    pub kea_exporter_metrics: bool,
    /// Whether joined datagrams are taken in one piece and replies leave with UDP segmentation
    /// offload. Default false.
    pub segmentation: bool,
    /// Kernel memory for messages that wait at each socket, octets. Default `None`: much for a burst,
    /// little when a queue stands.
    pub receive_buffer_bytes: Option<u32>,
    /// What the lease database has besides Kea's keys.
    pub lease_database: GodwitLeaseDatabase,
    /// What is remembered of reservations in databases.
    pub hosts_databases: GodwitHostsDatabases,
}

/// `user-context.godwit.hosts-databases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GodwitHostsDatabases {
    /// Identifiers and addresses that each shard remembers with their hosts, or that they have none.
    /// Default 65,536; there are 32,768 at least.
    pub cache_keys: u32,
    /// How long, milliseconds: what is changed in a database counts after that. Default 2,000.
    pub cache_lifetime_ms: u32,
}

impl Default for GodwitHostsDatabases {
    fn default() -> Self {
        Self { cache_keys: 65_536, cache_lifetime_ms: 2_000 }
    }
}

/// `user-context.godwit.lease-database`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GodwitLeaseDatabase {
    /// Hosts to connect to when `host` cannot be reached, in this order, each with its port when
    /// that is another one.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Nobody else writes to the database, so nobody needs to be asked for clients that are not
    /// known here.
    pub is_exclusive: bool,
    /// Leases are kept in this file of SQLite's, in place of a memfile.
    pub sqlite: Option<String>,
}

impl Default for GodwitSettings {
    fn default() -> Self {
        Self {
            durability: Durability::Always,
            flush_interval_ms: 100,
            shards: Shards::Processors,
            hold_time_ms: 10_000,
            kea_exporter_metrics: false,
            segmentation: false,
            receive_buffer_bytes: None,
            lease_database: GodwitLeaseDatabase::default(),
            hosts_databases: GodwitHostsDatabases::default(),
        }
    }
}
