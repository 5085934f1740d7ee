//! Values that mean the same in both families.

use core::net::Ipv4Addr;

use super::options::data::OptionData;
use super::{ClassGuards, NameKeys, SqlDatabase, SqlKind};

/// Range of addresses to lease from; `A` is the type of an address, `C` of an option code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<A, C> {
    /// First address.
    pub first: A,
    /// Last address, included.
    pub last: A,
    /// `pool-id`, default 0.
    pub pool_id: u32,
    /// Options of the pool, ordered by space and code; they take precedence over the subnet's.
    pub options: Vec<OptionData<C>>,
    /// Classes of clients that may use the pool, and classes tested once it has been used.
    pub guards: ClassGuards,
    /// Names of clients with the pool's addresses, where their settings differ from the subnet's.
    pub names: NameKeys,
}

/// Lifetime in seconds, and the bounds of lifetimes that a client may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Lifetime for clients that request none. The valid lifetime is 7200 by default.
    pub default_s: u32,
    /// Minimum; the default when not set.
    pub min_s: u32,
    /// Maximum; the default when not set.
    pub max_s: u32,
}

/// Element of `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceSelection<A = Ipv4Addr> {
    /// `"*"`.
    All,
    /// `"eth0"`, `"eth0/192.0.2.1"` or `"eth0/2001:db8::1"`.
    Named {
        /// Name of the interface.
        name: String,
        /// Address to listen on; every address of the interface when `None`.
        address: Option<A>,
    },
}

/// `lease-database`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseDatabase {
    /// Database of a kind that is not `memfile`; the fields that follow are a memfile's.
    pub sql: Option<SqlDatabase>,
    /// Path of the lease file of a memfile; the server's default when `None`.
    pub name: Option<String>,
    /// True if leases are written to disk. Default true.
    pub persist: bool,
    /// Time between clean-ups of the lease file; 0 switches them off. Default 3600 s.
    pub lfc_interval_s: u32,
    /// Number of bad rows after which loading gives up; 0 is no limit. Default 0.
    pub max_row_errors: u32,
    /// Reaction to a failure of the store. Default [`OnFail::StopRetryExit`].
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
    /// Returns true if other servers may write to the database.
    #[must_use]
    pub fn is_shared(&self, godwit: &GodwitLeaseDatabase) -> bool {
        let kind = self.sql.as_ref().map(|sql| sql.kind);
        kind.is_some_and(|kind| kind != SqlKind::Sqlite) && !godwit.is_exclusive
    }
}

/// `on-fail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFail {
    /// Serve no client while trying again, then exit.
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
    /// Time for which a reclaimed lease is kept. Default 3600 s.
    pub hold_reclaimed_s: u32,
    /// Maximum number of leases of one reclamation. Default 100.
    pub max_reclaim_leases: u32,
    /// Maximum time of one reclamation. Default 250 ms.
    pub max_reclaim_time_ms: u32,
    /// Number of reclamations in a row that may leave leases over before a warning. Default 5.
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
    /// Load them with a warning.
    #[default]
    Warn,
    /// Correct the identifier; load unchanged when no subnet fits.
    Fix,
    /// Correct the identifier; drop when no subnet fits.
    FixDel,
    /// Drop them.
    Del,
}

/// `sanity-checks.extended-info-checks`: treatment of relay agent information in leases of older
/// files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedInfoChecks {
    /// Keep it unchanged.
    None,
    /// Convert it to the present form.
    #[default]
    Fix,
    /// Convert it, and drop inconsistent information.
    Strict,
    /// Convert it, and drop information with any unexpected part.
    Pedantic,
}

/// Element of `loggers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logger {
    /// Name of the messages to log: `kea-dhcp4`, `kea-dhcp6` and their children.
    pub name: String,
    /// Lowest severity written. Default info.
    pub severity: LogSeverity,
    /// Detail of debug messages, 0 to 99. Default 0.
    pub debug_level: u8,
    /// Destinations of messages.
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

/// Element of a logger's `output-options`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOutput {
    /// Destination of the messages.
    pub destination: LogDestination,
    /// True if each message is flushed. Default true.
    pub flush: bool,
    /// Size in bytes at which a file is rotated. Default 10240000.
    pub max_size_bytes: u64,
    /// Number of rotated files kept. Default 1.
    pub max_versions: u32,
    /// Layout of a line, in log4cplus notation; the default one when empty.
    pub pattern: String,
}

/// Destination of log messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The system log, under a facility when one is named.
    Syslog(Option<String>),
    /// File with this path.
    File(String),
}

/// Durability that a lease needs before it counts as stored.
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

/// Number of threads that serve clients.
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
    /// Durability that a lease needs before it counts as stored. Default [`Durability::Always`].
    pub durability: Durability,
    /// Time between flushes under [`Durability::Interval`]. Default 100 ms.
    pub flush_interval_ms: u32,
    /// Shards, each a thread with its own sockets: the number in `shards`, otherwise that in
    /// `multi-threading`. Default [`Shards::Processors`].
    pub shards: Shards,
    /// Time for which an offered address is held for the client. Default 10000 ms.
    pub hold_time_ms: u32,
    /// True if metrics have the names of kea-exporter, too. Default false.
    pub kea_exporter_metrics: bool,
    /// True if the server receives joined datagrams in one piece and sends replies with UDP
    /// segmentation offload. Default false.
    pub segmentation: bool,
    /// Kernel memory for messages that wait at each socket, bytes. Default `None`: much for a
    /// burst, little when the queue does not get shorter.
    pub receive_buffer_bytes: Option<u32>,
    /// Settings of the lease database that Kea does not have.
    pub lease_database: GodwitLeaseDatabase,
    /// Cache of reservations in databases.
    pub hosts_databases: GodwitHostsDatabases,
}

/// `user-context.godwit.hosts-databases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GodwitHostsDatabases {
    /// Number of identifiers and addresses that each shard caches with their hosts, or with the
    /// result that they have none. Default 65,536; minimum 32,768.
    pub cache_keys: u32,
    /// Lifetime of a cached host, milliseconds: a change in a database counts after that. Default
    /// 2,000.
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
    /// Hosts to connect to when `host` cannot be reached, in this order, each with its port when it
    /// differs.
    pub hosts: Vec<(String, Option<u16>)>,
    /// True if no other server writes to the database, so that it need not be queried for clients
    /// that are unknown here.
    pub is_exclusive: bool,
    /// Path of an SQLite file for leases, used instead of a memfile.
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
