//! What is looked for.

/// Something that makes a configuration slow. The order is that in which faults stand whose cost
/// nobody measured: what the published advice warns of most comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A pool of which nearly everything is leased.
    NearlyFullPool,
    /// Leases or reservations in a database on another machine.
    RemoteDatabase,
    /// High availability that takes its partner's updates one after the other.
    HaSingleThreaded,
    /// Debug messages are logged.
    DebugLogging,
    /// Leases end so soon that the measured server cannot renew them all.
    LeaseTime,
    /// One thread does all the work.
    MultiThreadingOff,
    /// Leases in a database of this machine.
    SqlLeases,
    /// Classes that list clients one by one.
    EnumeratedClients,
    /// Many classes, each of which is tested for each message.
    ManyClasses,
    /// A long regular expression.
    LongRegex,
    /// A hook library that does something for each message.
    PacketHook,
    /// Partners send each other leases that both find in one database.
    HaSharedDatabase,
    /// Pools of a subnet with a few addresses.
    SmallPool,
    /// Many subnets with small pools.
    ManySubnets,
    /// Shared networks.
    SharedNetwork,
    /// Clients are looked up by identifiers that no reservation has.
    UnusedIdentifier,
    /// Reservations are looked up and there are none.
    UnusedReservations,
    /// Reservations are looked up where the mode could spare that.
    ReservationMode,
    /// Every renewal is written, however young the lease is.
    LeaseCachingOff,
    /// A number of threads far from what was found best.
    ThreadCount,
    /// A packet queue far from what was found best.
    QueueSize,
    /// Answers wait for backup servers.
    HaBackupWait,
    /// Backup servers are told of each lease.
    HaBackups,
    /// Load balancing where a hot standby would do.
    HaLoadBalancing,
    /// Heartbeats at short intervals.
    HaHeartbeat,
    /// Answers that wait for the partner have no reasonable limit.
    ParkedPacketLimit,
    /// Subnets of many pools.
    ManyPools,
}

impl Fault {
    /// Every fault, in order.
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

    /// The word that stands for it in output.
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
