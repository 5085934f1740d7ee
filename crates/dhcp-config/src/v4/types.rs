//! The checked configuration as values.

use core::net::Ipv4Addr;

use super::options::OptionData;

/// The whole configuration of a DHCPv4 server.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp4 {
    /// Every subnet, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet4>,
    /// Shared networks, in the order of the file.
    pub networks: Vec<Network4>,
    /// Where to listen.
    pub interfaces: InterfacesConfig,
    /// Where leases are kept.
    pub lease_database: LeaseDatabase,
    /// What only godwit has, from `user-context.godwit`.
    pub godwit: GodwitSettings,
    /// Global options; every subnet has them merged in already.
    pub options: Vec<OptionData>,
    /// Global `authoritative`, for clients that belong to no subnet. Default false.
    pub authoritative: bool,
    /// Whether replies repeat the client identifier (RFC 6842). Default true.
    pub echo_client_id: bool,
    /// How long a declined address is set aside, in seconds. Default 86400.
    pub decline_probation_period_s: u32,
    /// Reclamation of expired leases.
    pub expired_leases: ExpiredLeases,
    /// What to do with leases that do not fit the configuration when they are loaded.
    pub lease_checks: LeaseChecks,
    /// Deviations from the standards that were asked for.
    pub compatibility: Compatibility,
    /// Loggers, in the order of the file.
    pub loggers: Vec<Logger>,
}

/// A subnet with everything that holds for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet4 {
    /// Unique identifier, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length, host bits cleared.
    pub prefix: (Ipv4Addr, u8),
    /// Index of its shared network in [`Dhcp4::networks`].
    pub network: Option<usize>,
    /// Pools, in the order of the file.
    pub pools: Vec<Pool4>,
    /// Relay agents whose messages belong here, whatever their address; its own list, else its
    /// network's.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Interface whose direct clients belong here; its own, else its network's.
    pub interface: Option<String>,
    /// Lease time and its bounds.
    pub valid_lifetime: Lifetime,
    /// T1 in seconds; sent when set.
    pub renew_timer_s: Option<u32>,
    /// T2 in seconds; sent when set.
    pub rebind_timer_s: Option<u32>,
    /// Whether T1 and T2 that are not set are computed from the lease time. Default false.
    pub calculate_tee_times: bool,
    /// T1 as a part of the lease time. Default 0.5.
    pub t1_percent: f64,
    /// T2 as a part of the lease time. Default 0.875.
    pub t2_percent: f64,
    /// Leases younger than this part of their lifetime are given again unchanged; 0 switches that
    /// off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound of that age, in seconds.
    pub cache_max_age_s: Option<u32>,
    /// How long an offer is kept as a lease, in seconds; 0 (the default) keeps it in memory only.
    pub offer_lifetime_s: u32,
    /// Whether unknown clients that ask for an address again are refused. Default false.
    pub authoritative: bool,
    /// Whether the client identifier tells clients apart. Default true.
    pub match_client_id: bool,
    /// `siaddr` of replies. Default 0.0.0.0.
    pub next_server: Ipv4Addr,
    /// `sname` of replies, at most 63 octets. Default empty.
    pub server_hostname: String,
    /// `file` of replies, at most 127 octets. Default empty.
    pub boot_file_name: String,
    /// Options of the subnet, its network and the global ones, ordered by code, one for each code.
    pub options: Vec<OptionData>,
}

/// A range of addresses to give leases from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool4 {
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, included.
    pub last: Ipv4Addr,
    /// `pool-id`, default 0.
    pub pool_id: u32,
    /// The pool's own options, ordered by code; they win over the subnet's. Their send flags include
    /// those that outer scopes set for the same code.
    pub options: Vec<OptionData>,
}

/// Subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network4 {
    /// Unique name.
    pub name: String,
    /// Indexes of its subnets in [`Dhcp4::subnets`].
    pub subnets: Vec<usize>,
    /// Interface whose direct clients belong here.
    pub interface: Option<String>,
    /// Relay agents whose messages belong here.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Whether it is authoritative, after inheritance.
    pub authoritative: bool,
}

/// Lease time in seconds, and the bounds of what a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Given to clients that ask for nothing. Default 7200.
    pub default_s: u32,
    /// Least; the default when not set.
    pub min_s: u32,
    /// Most; the default when not set.
    pub max_s: u32,
}

/// `interfaces-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig {
    /// Where to listen; nowhere when empty.
    pub interfaces: Vec<InterfaceSelection>,
    /// How to listen. Default raw.
    pub socket_type: SocketType,
    /// Where replies leave. Default the interface of the query.
    pub outbound: OutboundInterface,
    /// Whether a reload looks for interfaces again. Default true.
    pub re_detect: bool,
    /// Whether a socket that cannot be opened ends the server. Default false.
    pub require_all_sockets: bool,
    /// Further tries to open a socket. Default 0.
    pub socket_max_retries: u32,
    /// Time between such tries. Default 5000 ms.
    pub socket_retry_wait_ms: u32,
}

impl Default for InterfacesConfig {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            socket_type: SocketType::Raw,
            outbound: OutboundInterface::SameAsInbound,
            re_detect: true,
            require_all_sockets: false,
            socket_max_retries: 0,
            socket_retry_wait_ms: 5000,
        }
    }
}

/// One element of `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceSelection {
    /// `"*"`.
    All,
    /// `"eth0"` or `"eth0/192.0.2.1"`.
    Named {
        /// Name of the interface.
        name: String,
        /// The one address to listen on; every address of the interface when `None`.
        address: Option<Ipv4Addr>,
    },
}

/// `dhcp-socket-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// Packet sockets, which reach clients without an address.
    Raw,
    /// UDP sockets: relayed clients and those that have an address.
    Udp,
}

/// `outbound-interface`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboundInterface {
    /// The reply leaves where the query came in.
    SameAsInbound,
    /// The routing table decides.
    UseRouting,
}

/// `lease-database`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseDatabase {
    /// The kind of store.
    pub kind: LeaseDatabaseKind,
    /// Path of the lease file; the server's default when `None`.
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
            kind: LeaseDatabaseKind::Memfile,
            name: None,
            persist: true,
            lfc_interval_s: 3600,
            max_row_errors: 0,
            on_fail: OnFail::StopRetryExit,
        }
    }
}

/// `lease-database.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseDatabaseKind {
    /// Leases in memory, changes appended to a CSV file.
    Memfile,
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

/// `compatibility`. All false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compatibility {
    /// Accept some malformed options.
    pub lenient_option_parsing: bool,
    /// Answer requests that name another server.
    pub ignore_dhcp_server_identifier: bool,
    /// Select subnets without the link selection sub-option (RFC 3527).
    pub ignore_rai_link_selection: bool,
    /// Leave .0 and .255 out of pools in subnets of /24 and larger.
    pub exclude_first_last_24: bool,
}

/// One of `loggers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logger {
    /// Which messages: `kea-dhcp4` and its children.
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

/// `user-context.godwit` of the global scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GodwitSettings {
    /// When a lease counts as stored. Default [`Durability::Always`].
    pub durability: Durability,
    /// Time between flushes under [`Durability::Interval`]. Default 100 ms.
    pub flush_interval_ms: u32,
    /// Shards, each a thread with its own socket. Default 1.
    pub shards: u16,
    /// How long an offered address is held for the client. Default 10000 ms.
    pub hold_time_ms: u32,
    /// Whether replies leave with UDP segmentation offload. Default false.
    pub segmentation: bool,
}

impl Default for GodwitSettings {
    fn default() -> Self {
        Self {
            durability: Durability::Always,
            flush_interval_ms: 100,
            shards: 1,
            hold_time_ms: 10_000,
            segmentation: false,
        }
    }
}
