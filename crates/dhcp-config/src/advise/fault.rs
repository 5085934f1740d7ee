//! Faults that make a configuration slow, which `godwit advise` looks for.

/// Fault that makes a configuration slow. The order applies to faults whose cost has not been
/// measured: a fault that the published advice warns of most comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PerformanceFault {
    /// A pool of which nearly all addresses are leased.
    NearlyFullPool,
    /// Leases or reservations in a database on another machine.
    RemoteDatabase,
    /// High availability that processes its partner's updates one after the other.
    HaSingleThreaded,
    /// Debug messages in the server's log.
    DebugLogging,
    /// Leases that end so soon that the server, by its measured rate, cannot renew them all.
    LeaseTime,
    /// A server that processes all messages on a single thread (`multi-threading` off).
    MultiThreadingOff,
    /// Leases in a database on the server's machine.
    SqlLeases,
    /// Client classes that list clients one by one.
    EnumeratedClients,
    /// Many client classes, each of which is tested for each message.
    ManyClasses,
    /// A long regular expression in a client class.
    LongRegex,
    /// A hook library that does work for each message.
    PacketHook,
    /// High availability partners that send each other leases that both find in one database.
    HaSharedDatabase,
    /// A subnet whose pools have only a few addresses.
    SmallPool,
    /// Many subnets that have small pools.
    ManySubnets,
    /// Shared networks, whose subnets the server searches one after the other for a client.
    SharedNetwork,
    /// Kinds of identifiers by which the server looks clients up (`host-reservation-identifiers`),
    /// although no reservation has them.
    UnusedIdentifier,
    /// Look-ups of reservations although the configuration has none.
    UnusedReservations,
    /// Look-ups of reservations that another reservation mode (such as `reservations-out-of-pool`)
    /// would save.
    ReservationMode,
    /// Renewals that the server writes each time, however young the lease is (`cache-threshold` 0).
    LeaseCachingOff,
    /// A number of server threads (`thread-pool-size`) far from the best one measured.
    ThreadCount,
    /// A length of Kea's packet queue (`packet-queue-size`) far from the best one measured.
    QueueSize,
    /// Replies that wait for high availability backup servers.
    HaBackupWait,
    /// High availability backup servers that get an update for each lease.
    HaBackups,
    /// High availability by load balancing where a hot standby would suffice.
    HaLoadBalancing,
    /// High availability heartbeats at short intervals (`heartbeat-delay`).
    HaHeartbeat,
    /// An unreasonably high limit of replies that wait for the high availability partner
    /// (`parked-packet-limit`).
    ParkedPacketLimit,
    /// Subnets that have many pools.
    ManyPools,
}

impl PerformanceFault {
    /// Faults that make a configuration slow, all of them, in the order of [`PerformanceFault`].
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

    /// Returns the name of the fault in output.
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
