//! Clients that a server answers in its state, by scopes, and the servers that get its updates.

use dhcp_config::{HaPeer, HaRole};

use crate::relationship::Relationship;
use crate::state::HaState;

/// Roles of the servers that have a scope.
const SCOPE_ROLES: [HaRole; 2] = [HaRole::Primary, HaRole::Secondary];

impl Relationship {
    /// Returns true if the server answers clients, as far as its scopes allow.
    #[must_use]
    pub const fn is_service_enabled(&self) -> bool {
        self.state.serves() && !self.is_held_for_partner
    }

    /// Returns true if updates of leases go to `server`. Backup servers get them in every state.
    #[must_use]
    pub fn sends_updates_to(&self, server: &HaPeer) -> bool {
        self.config.sends_lease_updates
            && self.config.own.role != HaRole::Backup
            && (server.role == HaRole::Backup || self.state.sends_updates())
    }

    /// Returns the names of the scopes whose clients this server answers.
    #[must_use]
    pub fn scopes(&self) -> Vec<&str> {
        if let Some(chosen) = &self.chosen_scopes {
            return chosen.iter().map(String::as_str).collect();
        }
        let takes_over = match self.state {
            HaState::CommunicationRecovery
            | HaState::HotStandby
            | HaState::LoadBalancing
            | HaState::PassiveBackup
            | HaState::Terminated => false,
            HaState::PartnerDown => {
                self.config.own.has_automatic_failover || self.serves_for_maintenance
            }
            HaState::PartnerInMaintenance => true,
            _ => return Vec::new(),
        };
        let has_scope = |server: &&HaPeer| SCOPE_ROLES.contains(&server.role);
        let is_served = |server: &&HaPeer| takes_over || server.name == self.config.own.name;
        let served = self.config.servers().filter(has_scope).filter(is_served);
        let mut scopes: Vec<&str> = served.map(|server| server.name.as_str()).collect();
        scopes.sort_unstable();
        scopes
    }

    /// Returns, for the scopes of the primary and of the secondary server, true if this server
    /// answers their clients.
    #[must_use]
    pub fn served_scopes(&self) -> [bool; 2] {
        let scopes = self.scopes();
        SCOPE_ROLES.map(|role| {
            let server = self.config.server(role);
            self.is_service_enabled() && server.is_some_and(|one| scopes.contains(&&*one.name))
        })
    }
}
