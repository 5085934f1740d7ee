//! Faults that the pass looks for.

/// Fault that makes a configuration slow. The order applies to faults whose cost has not been
/// measured: a fault that the published advice warns of most comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PerformanceFault {
    /// Pool of which nearly all addresses are leased.
    NearlyFullPool,
    /// Leases or reservations in a database on another machine.
    RemoteDatabase,
    /// High availability that processes its partner's updates one after the other.
    HaSingleThreaded,
    /// Debug messages in the log.
    DebugLogging,
    /// Leases that end so soon that the measured server cannot renew them all.
    LeaseTime,
    /// Single thread for all the work.
    MultiThreadingOff,
    /// Leases in a database of this machine.
    SqlLeases,
    /// Classes that list clients one by one.
    EnumeratedClients,
    /// Many classes, each of which is tested for each message.
    ManyClasses,
    /// A long regular expression.
    LongRegex,
    /// Hook library that does work for each message.
    PacketHook,
    /// Partners that send each other leases that both find in one database.
    HaSharedDatabase,
    /// Pools of a subnet with a few addresses.
    SmallPool,
    /// Many subnets with small pools.
    ManySubnets,
    /// Shared networks.
    SharedNetwork,
    /// Identifiers that clients are looked up by and no reservation has.
    UnusedIdentifier,
    /// Look-ups of reservations when the configuration has none.
    UnusedReservations,
    /// Look-ups of reservations that another mode would save.
    ReservationMode,
    /// Renewals that are all written, however young the lease is.
    LeaseCachingOff,
    /// Number of threads far from the best one measured.
    ThreadCount,
    /// Packet queue far from the best one measured.
    QueueSize,
    /// Replies that wait for backup servers.
    HaBackupWait,
    /// Backup servers that get an update for each lease.
    HaBackups,
    /// Load balancing where a hot standby would suffice.
    HaLoadBalancing,
    /// Heartbeats at short intervals.
    HaHeartbeat,
    /// Limit of replies that wait for the partner, unreasonably high.
    ParkedPacketLimit,
    /// Subnets of many pools.
    ManyPools,
}

impl PerformanceFault {
    /// All faults, in order.
    pub const ALL: [Self; 27] = [
        Self::NearlyFullPool,
        Self::RemoteDatabase,
        Self::HaSingleThreaded,
        Self::DebugLogging,
        Self::LeaseTime,
        Self::MultiThreadingOff,
        Self::SqlLeases,
        Self::EnumeratedClients,
        Self::ManyClasses,
        Self::LongRegex,
        Self::PacketHook,
        Self::HaSharedDatabase,
        Self::SmallPool,
        Self::ManySubnets,
        Self::SharedNetwork,
        Self::UnusedIdentifier,
        Self::UnusedReservations,
        Self::ReservationMode,
        Self::LeaseCachingOff,
        Self::ThreadCount,
        Self::QueueSize,
        Self::HaBackupWait,
        Self::HaBackups,
        Self::HaLoadBalancing,
        Self::HaHeartbeat,
        Self::ParkedPacketLimit,
        Self::ManyPools,
    ];

    /// Returns the word for the fault in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NearlyFullPool => "nearly-full-pool",
            Self::RemoteDatabase => "remote-database",
            Self::HaSingleThreaded => "ha-single-threaded",
            Self::DebugLogging => "debug-logging",
            Self::LeaseTime => "lease-time",
            Self::MultiThreadingOff => "multi-threading-off",
            Self::SqlLeases => "sql-leases",
            Self::EnumeratedClients => "enumerated-clients",
            Self::ManyClasses => "many-classes",
            Self::LongRegex => "long-regex",
            Self::PacketHook => "packet-hook",
            Self::HaSharedDatabase => "ha-shared-database",
            Self::SmallPool => "small-pool",
            Self::ManySubnets => "many-subnets",
            Self::SharedNetwork => "shared-network",
            Self::UnusedIdentifier => "unused-identifier",
            Self::UnusedReservations => "unused-reservations",
            Self::ReservationMode => "reservation-mode",
            Self::LeaseCachingOff => "lease-caching-off",
            Self::ThreadCount => "thread-count",
            Self::QueueSize => "queue-size",
            Self::HaBackupWait => "ha-backup-wait",
            Self::HaBackups => "ha-backups",
            Self::HaLoadBalancing => "ha-load-balancing",
            Self::HaHeartbeat => "ha-heartbeat",
            Self::ParkedPacketLimit => "parked-packet-limit",
            Self::ManyPools => "many-pools",
        }
    }
}
