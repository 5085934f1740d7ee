//! Faults that make a configuration slow, which `godwit advise` looks for.

base::named! {
    /// Fault that makes a configuration slow. The order applies to faults whose cost has not been
    /// measured: a fault that the published advice warns of most comes first.
    pub enum PerformanceFault {
        /// A pool of which nearly all addresses are leased.
        NearlyFullPool = "nearly-full-pool",
        /// Leases or reservations in a database on another machine.
        RemoteDatabase = "remote-database",
        /// High availability that processes its partner's updates one after the other.
        HaSingleThreaded = "ha-single-threaded",
        /// Debug messages in the server's log.
        DebugLogging = "debug-logging",
        /// Leases that end so soon that the server, by its measured rate, cannot renew them all.
        LeaseTime = "lease-time",
        /// A server that processes all messages on a single thread (`multi-threading` off).
        MultiThreadingOff = "multi-threading-off",
        /// Leases in a database on the server's machine.
        SqlLeases = "sql-leases",
        /// Client classes that list clients one by one.
        EnumeratedClients = "enumerated-clients",
        /// Many client classes, each of which is tested for each message.
        ManyClasses = "many-classes",
        /// A long regular expression in a client class.
        LongRegex = "long-regex",
        /// A hook library that does work for each message.
        PacketHook = "packet-hook",
        /// High availability partners that send each other leases that both find in one database.
        HaSharedDatabase = "ha-shared-database",
        /// A subnet whose pools have only a few addresses.
        SmallPool = "small-pool",
        /// Many subnets that have small pools.
        ManySubnets = "many-subnets",
        /// Shared networks, whose subnets the server searches one after the other for a client.
        SharedNetwork = "shared-network",
        /// Kinds of identifiers by which the server looks clients up
        /// (`host-reservation-identifiers`), although no reservation has them.
        UnusedIdentifier = "unused-identifier",
        /// Look-ups of reservations although the configuration has none.
        UnusedReservations = "unused-reservations",
        /// Look-ups of reservations that another reservation mode (such as
        /// `reservations-out-of-pool`) would save.
        ReservationMode = "reservation-mode",
        /// Renewals that the server writes each time, however young the lease is (`cache-threshold`
        /// 0).
        LeaseCachingOff = "lease-caching-off",
        /// A number of server threads (`thread-pool-size`) far from the best one measured.
        ThreadCount = "thread-count",
        /// A length of Kea's packet queue (`packet-queue-size`) far from the best one measured.
        QueueSize = "queue-size",
        /// Replies that wait for high availability backup servers.
        HaBackupWait = "ha-backup-wait",
        /// High availability backup servers that get an update for each lease.
        HaBackups = "ha-backups",
        /// High availability by load balancing where a hot standby would suffice.
        HaLoadBalancing = "ha-load-balancing",
        /// High availability heartbeats at short intervals (`heartbeat-delay`).
        HaHeartbeat = "ha-heartbeat",
        /// An unreasonably high limit of replies that wait for the high availability partner
        /// (`parked-packet-limit`).
        ParkedPacketLimit = "parked-packet-limit",
        /// Subnets that have many pools.
        ManyPools = "many-pools",
    }
}
