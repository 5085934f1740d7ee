//! States of a server in a relationship, with Kea's names.

use dhcp_config::HaMode;

base::named! {
    /// State of a server in a relationship.
    pub enum HaState {
        /// Server that only receives updates of leases.
        Backup = "backup",
        /// Server that collects updates while it cannot reach its partner.
        CommunicationRecovery = "communication-recovery",
        /// Normal operation of a pair of which one server serves clients.
        HotStandby = "hot-standby",
        /// Normal operation of a pair of which both servers serve clients.
        LoadBalancing = "load-balancing",
        /// Server that is about to be shut down by its administrator.
        InMaintenance = "in-maintenance",
        /// Server that serves the clients of a partner that has failed.
        PartnerDown = "partner-down",
        /// Server that serves the clients of a partner that is about to be shut down.
        PartnerInMaintenance = "partner-in-maintenance",
        /// Normal operation of a server with backup servers only.
        PassiveBackup = "passive-backup",
        /// Server that has the partner's leases and waits for it to go on.
        Ready = "ready",
        /// Server that copies the partner's leases.
        Syncing = "syncing",
        /// Server that no longer cooperates with its partner.
        Terminated = "terminated",
        /// Server that waits to learn its partner's state.
        Waiting = "waiting",
    }
}

impl HaState {
    /// Returns the state of normal operation of a server other than a backup server in `mode`.
    #[must_use]
    pub const fn normal(mode: HaMode) -> Self {
        match mode {
            HaMode::HotStandby => Self::HotStandby,
            HaMode::LoadBalancing => Self::LoadBalancing,
            HaMode::PassiveBackup => Self::PassiveBackup,
        }
    }

    /// Returns the state with Kea's name `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.name() == name)
    }

    /// Returns true if the server answers clients in this state, as far as its scopes allow.
    #[must_use]
    pub const fn serves(self) -> bool {
        matches!(
            self,
            Self::CommunicationRecovery
                | Self::HotStandby
                | Self::LoadBalancing
                | Self::PartnerDown
                | Self::PartnerInMaintenance
                | Self::PassiveBackup
                | Self::Terminated
        )
    }

    /// Returns true if the server sends updates of leases to its active partner in this state. A
    /// server in maintenance changes no more leases, but its last changes may be on their way.
    #[must_use]
    pub const fn sends_updates(self) -> bool {
        matches!(
            self,
            Self::HotStandby
                | Self::InMaintenance
                | Self::LoadBalancing
                | Self::PartnerInMaintenance
        )
    }

    /// Returns the condition that ends the state, for the log and for `ha-explain`.
    pub(crate) const fn end(self) -> &'static str {
        match self {
            Self::Backup | Self::PassiveBackup => "a change of the configuration",
            Self::CommunicationRecovery => "a successful heartbeat, or the failure of the partner",
            Self::HotStandby | Self::LoadBalancing => {
                "the failure of the partner, maintenance, or a partner that starts again"
            }
            Self::InMaintenance => "the end of the maintenance, or a restart",
            Self::PartnerDown => "a heartbeat that finds the partner ready",
            Self::PartnerInMaintenance => "the end of the maintenance, or of the partner",
            Self::Ready => "a heartbeat that finds the partner in normal operation",
            Self::Syncing => "a complete copy of the partner's leases",
            Self::Terminated => {
                "a restart of both servers, or clocks that agree again if these are the reason"
            }
            Self::Waiting => "a heartbeat that finds the partner, or the failure of the partner",
        }
    }
}
