//! Names of loggers, below the root logger of the server.

/// Target of the daemon's own log messages, whose logger is `kea-dhcp4.dhcp4` or `kea-dhcp6.dhcp6`.
pub(crate) const DAEMON: &str = "daemon";
/// Name of the logger of leases and their files.
pub(crate) const DHCPSRV: &str = "dhcpsrv";

/// Topic of log lines about single DHCP messages, each with a logger of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTopic {
    /// Topic of the logger `packets`.
    Packets,
    /// Topic of the logger `bad-packets`.
    BadPackets,
    /// Topic of the logger `leases`.
    Leases,
}

impl LogTopic {
    /// All topics of log lines about single DHCP messages.
    pub(crate) const ALL: [Self; 3] = [Self::Packets, Self::BadPackets, Self::Leases];

    /// Returns the name of the topic's logger below the root.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::BadPackets => "bad-packets",
            Self::Leases => "leases",
        }
    }
}
