//! Names of loggers, below the root logger of the server.

/// Target of the daemon's own messages: `kea-dhcp4.dhcp4`, `kea-dhcp6.dhcp6`.
pub(crate) const DAEMON: &str = "daemon";
/// Logger of leases and their files.
pub(crate) const DHCPSRV: &str = "dhcpsrv";

/// Loggers of single messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTopic {
    /// `packets`
    Packets,
    /// `bad-packets`
    BadPackets,
    /// `leases`
    Leases,
}

impl LogTopic {
    /// All topics.
    pub(crate) const ALL: [Self; 3] = [Self::Packets, Self::BadPackets, Self::Leases];

    /// Returns the logger's name below the root.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::BadPackets => "bad-packets",
            Self::Leases => "leases",
        }
    }
}
