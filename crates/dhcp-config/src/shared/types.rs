//! Configuration values that mean the same in DHCPv4 and DHCPv6.

use core::net::Ipv4Addr;

use super::options::data::OptionData;
use super::{ClassGuards, LocalNames, NameKeys, SqlDatabase, SqlKind, Webhook};
use crate::ddns::UpdateZones;

/// Pool of addresses to lease from; `A` is the type of an address, `C` of an option code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<A, C> {
    /// First address of the pool.
    pub first: A,
    /// Last address of the pool, included.
    pub last: A,
    /// Number (`pool-id`) of the pool, default 0.
    pub pool_id: u32,
    /// Options of replies to clients of the pool, ordered by space and code; they take precedence
    /// over the subnet's.
    pub options: Vec<OptionData<C>>,
    /// Classes of clients that may use the pool (`client-classes`), and classes tested once it has
    /// been used (`evaluate-additional-classes`).
    pub guards: ClassGuards,
    /// Settings of the host names of the pool's clients, where they differ from the subnet's.
    pub names: NameKeys,
}

/// Lifetime of leases in seconds, and the bounds of lifetimes that a client may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Lifetime in seconds for clients that request none. Default 7200 for the valid lifetime.
    pub default_s: u32,
    /// Minimum of lifetimes that a client may request, in seconds; the default lifetime when not
    /// set.
    pub min_s: u32,
    /// Maximum of lifetimes that a client may request, in seconds; the default lifetime when not
    /// set.
    pub max_s: u32,
}

/// Interface on which a server listens: an element of `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceSelection<A = Ipv4Addr> {
    /// Every interface of the machine: `"*"`.
    All,
    /// Interface by name, possibly with one address: `"eth0"`, `"eth0/192.0.2.1"` or
    /// `"eth0/2001:db8::1"`.
    Named {
        /// Name of the network interface.
        name: String,
        /// Address of the interface to listen on; every address of it when `None`.
        address: Option<A>,
    },
}

/// Lease backend of a server: a memfile or an SQL database (`lease-database`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseDatabase {
    /// SQL database of leases; `None` for a memfile, which the fields that follow describe.
    pub sql: Option<SqlDatabase>,
    /// Path of the memfile's lease file; the server's default when `None`.
    pub name: Option<String>,
    /// True if the server writes leases of a memfile to disk (`persist`). Default true.
    pub persist: bool,
    /// Time between clean-ups of the lease file in seconds (`lfc-interval`); 0 switches them off.
    /// Default 3600 s.
    pub lfc_interval_s: u32,
    /// Number of bad rows of the lease file after which loading gives up (`max-row-errors`); 0 is
    /// no limit. Default 0.
    pub max_row_errors: u32,
    /// Reaction of the server to a failure of the lease store. Default [`OnFail::StopRetryExit`].
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
    /// Returns true if other servers may write to the lease database.
    #[must_use]
    pub fn is_shared(&self, godwit: &GodwitLeaseDatabase) -> bool {
        let kind = self.sql.as_ref().map(|sql| sql.kind);
        kind.is_some_and(|kind| kind != SqlKind::Sqlite) && !godwit.is_exclusive
    }
}

/// Reaction of a server to a lost connection or a failure of its lease store (`on-fail`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFail {
    /// Serve no client while trying to reach the lease store again, then exit (`stop-retry-exit`).
    StopRetryExit,
    /// Serve clients while trying to reach the lease store again, then exit (`serve-retry-exit`).
    ServeRetryExit,
    /// Serve clients without the lease store while trying to reach it again, and do not exit
    /// (`serve-retry-continue`).
    ServeRetryContinue,
}

/// Timers and limits of the reclamation of expired leases (`expired-leases-processing`). A timer of
/// 0 switches its job off, a limit of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiredLeases {
    /// Time between two reclamations of expired leases, in seconds (`reclaim-timer-wait-time`).
    /// Default 10 s.
    pub reclaim_timer_wait_s: u32,
    /// Time between two removals of reclaimed leases, in seconds
    /// (`flush-reclaimed-timer-wait-time`). Default 25 s.
    pub flush_reclaimed_timer_wait_s: u32,
    /// Time for which a reclaimed lease is kept, in seconds (`hold-reclaimed-time`). Default 3600
    /// s.
    pub hold_reclaimed_s: u32,
    /// Maximum number of leases that one reclamation reclaims (`max-reclaim-leases`). Default 100.
    pub max_reclaim_leases: u32,
    /// Maximum time of one reclamation, in milliseconds (`max-reclaim-time`). Default 250 ms.
    pub max_reclaim_time_ms: u32,
    /// Number of reclamations in a row that may leave expired leases over before the server warns
    /// (`unwarned-reclaim-cycles`). Default 5.
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

/// Treatment of loaded leases whose `subnet-id` names a subnet that does not contain their address
/// (`sanity-checks.lease-checks`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseChecks {
    /// Load leases whose subnet does not contain their address (`none`).
    None,
    /// Load leases whose subnet does not contain their address, with a warning (`warn`).
    #[default]
    Warn,
    /// Correct the leases' `subnet-id`; load them unchanged when no subnet contains the address
    /// (`fix`).
    Fix,
    /// Correct the leases' `subnet-id`; drop them when no subnet contains the address (`fix-del`).
    FixDel,
    /// Drop leases whose subnet does not contain their address (`del`).
    Del,
}

/// Treatment of relay agent information in leases of older files
/// (`sanity-checks.extended-info-checks`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedInfoChecks {
    /// Keep the relay agent information of loaded leases unchanged (`none`).
    None,
    /// Convert the relay agent information of loaded leases to the present form (`fix`).
    #[default]
    Fix,
    /// Convert the relay agent information of loaded leases to the present form, and drop
    /// inconsistent information (`strict`).
    Strict,
    /// Convert the relay agent information of loaded leases to the present form, and drop
    /// information with any unexpected part (`pedantic`).
    Pedantic,
}

/// Logger of a server: the messages that it logs, and their destinations (element of `loggers`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logger {
    /// Name of the logger, which selects its messages: `kea-dhcp4`, `kea-dhcp6` and their children.
    pub name: String,
    /// Lowest severity of the messages that the logger writes (`severity`). Default info.
    pub severity: LogSeverity,
    /// Detail of debug messages that the logger writes, 0 to 99 (`debuglevel`). Default 0.
    pub debug_level: u8,
    /// Destinations of the logger's messages.
    pub outputs: Vec<LogOutput>,
}

/// Severity of log messages, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogSeverity {
    /// No message is written.
    None,
    /// Messages about an error that ends the server.
    Fatal,
    /// Messages about an operation that failed.
    Error,
    /// Messages about a state that looks wrong.
    Warn,
    /// Messages about normal events.
    Info,
    /// Debug messages, up to the logger's debug level.
    Debug,
}

/// Output of a logger: a destination with its format (element of `output-options`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOutput {
    /// Destination of the output's messages.
    pub destination: LogDestination,
    /// True if the server flushes the output after each message. Default true.
    pub flush: bool,
    /// Size in bytes at which the server rotates the output's file (`maxsize`). Default 10240000.
    pub max_size_bytes: u64,
    /// Number of rotated files that the server keeps (`maxver`). Default 1.
    pub max_versions: u32,
    /// Layout of a log line, in log4cplus notation; the default one when empty.
    pub pattern: String,
}

/// Destination of log messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// Standard output of the server.
    Stdout,
    /// Standard error of the server.
    Stderr,
    /// System log, under the given facility if there is one.
    Syslog(Option<String>),
    /// Log file with this path.
    File(String),
}

/// Durability that a lease needs before it counts as stored: how far its row must be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Lease rows are written and never flushed to the disk, as Kea does.
    None,
    /// Lease rows are flushed every [`GodwitSettings::flush_interval_ms`]; replies do not wait for
    /// the flush.
    Interval,
    /// Lease rows are flushed to the disk before the reply leaves.
    #[default]
    Always,
}

/// Number of shards: threads that serve clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// Configured number of shards, one at least.
    Fixed(u16),
    /// Number of the machine's processors.
    Processors,
}

/// Settings that only Godwit has: `user-context.godwit` of the global scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GodwitSettings {
    /// Durability that a lease needs before it counts as stored (`durability`). Default
    /// [`Durability::Always`].
    pub durability: Durability,
    /// Time between flushes of the lease file under [`Durability::Interval`], in milliseconds.
    /// Default 100 ms.
    pub flush_interval_ms: u32,
    /// Number of shards of the server, each a thread with its own sockets: the number in `shards`,
    /// otherwise that in `multi-threading`. Default [`Shards::Processors`].
    pub shards: Shards,
    /// Time for which the server holds an offered address for its client, in milliseconds. Default
    /// 10000 ms.
    pub hold_time_ms: u32,
    /// True if the server's metrics also have the names of kea-exporter. Default false.
    pub kea_exporter_metrics: bool,
    /// True if the kernel gets a route for each delegated prefix (`prefix-routes`). Default false.
    pub prefix_routes: bool,
    /// True if the server receives joined datagrams in one piece and sends replies with UDP
    /// segmentation offload. Default false.
    pub segmentation: bool,
    /// Kernel memory for messages that wait at each socket, in bytes. Default `None`: the server
    /// sets it large for bursts, and small while the queue does not get shorter.
    pub receive_buffer_bytes: Option<u32>,
    /// Settings of the lease database that Kea does not have
    /// (`user-context.godwit.lease-database`).
    pub lease_database: GodwitLeaseDatabase,
    /// Settings of the cache for reservations in databases (`user-context.godwit.hosts-databases`).
    pub hosts_databases: GodwitHostsDatabases,
    /// Settings of the legal log that Kea does not have (`user-context.godwit.legal-log`).
    pub legal_log: GodwitLegalLog,
    /// Names for local resolvers (`local-names`); `None` if there are none.
    pub local_names: Option<LocalNames>,
    /// Zones of the DNS updater inside the server (`ddns`); `None` if requests go to another
    /// process.
    pub ddns: Option<UpdateZones>,
    /// HTTP servers that get lease events by POST (`user-context.godwit.webhooks`).
    pub webhooks: Vec<Webhook>,
}

/// Settings of the legal log that Kea does not have: `user-context.godwit.legal-log`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GodwitLegalLog {
    /// True if lines are flushed to the disk before the reply leaves (`flush`). Default false: they
    /// are written to the file, which survives the end of the process, not a power cut.
    pub is_flushed: bool,
    /// Treatment of replies whose lines cannot be written (`on-failure`).
    pub on_failure: LegalLogFailure,
}

/// Treatment of replies whose lines the legal log cannot write: the value of `on-failure`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegalLogFailure {
    /// Replies wait until their lines can be written (`hold`).
    #[default]
    Hold,
    /// Replies leave without their lines, which are counted (`serve`), as in Kea.
    Serve,
}

/// Settings of the cache for reservations in databases: `user-context.godwit.hosts-databases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GodwitHostsDatabases {
    /// Number of identifiers and addresses that each shard caches with their hosts, or with the
    /// result that they have none. Default 65,536; minimum 32,768.
    pub cache_keys: u32,
    /// Lifetime of a cached host in milliseconds: a change in a database has an effect after that
    /// time. Default 2,000.
    pub cache_lifetime_ms: u32,
}

impl Default for GodwitHostsDatabases {
    fn default() -> Self {
        Self { cache_keys: 65_536, cache_lifetime_ms: 2_000 }
    }
}

/// Settings of the lease database that Kea does not have: `user-context.godwit.lease-database`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GodwitLeaseDatabase {
    /// Names or addresses of database servers to connect to when `host` cannot be reached, in this
    /// order, each with its port when it differs.
    pub hosts: Vec<(String, Option<u16>)>,
    /// True if no other server writes to the lease database, so that it need not be queried for
    /// clients unknown to this server.
    pub is_exclusive: bool,
    /// Path of an SQLite file that keeps the leases, used instead of a memfile.
    pub sqlite: Option<String>,
}

impl GodwitSettings {
    /// Returns true if a server that runs with the settings `old` must start again for these:
    /// listeners of lease events and metrics follow a reload.
    #[must_use]
    pub fn needs_restart_after(&self, old: &Self) -> bool {
        let reloaded = Self {
            local_names: self.local_names.clone(),
            webhooks: self.webhooks.clone(),
            prefix_routes: self.prefix_routes,
            legal_log: self.legal_log,
            kea_exporter_metrics: self.kea_exporter_metrics,
            ..old.clone()
        };
        *self != reloaded
    }
}

impl Default for GodwitSettings {
    fn default() -> Self {
        Self {
            durability: Durability::Always,
            flush_interval_ms: 100,
            shards: Shards::Processors,
            hold_time_ms: 10_000,
            kea_exporter_metrics: false,
            prefix_routes: false,
            segmentation: false,
            receive_buffer_bytes: None,
            lease_database: GodwitLeaseDatabase::default(),
            hosts_databases: GodwitHostsDatabases::default(),
            legal_log: GodwitLegalLog::default(),
            local_names: None,
            ddns: None,
            webhooks: Vec::new(),
        }
    }
}
