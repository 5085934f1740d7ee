//! Classes of the scopes of a pair of servers (high availability): each message of a client is in
//! the class `HA_<name>` of the server whose scope the client belongs to.

use dhcp_config::{HaMode, HaRelationship, HaRole};

use super::{ClassIndex, PacketView};

/// Prefix of the names of the classes of scopes.
const SCOPE_CLASS: &str = "HA_";

/// Classes of the scopes of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScopeClasses {
    /// Classes of the primary and the secondary server; `None` for one that the configuration does
    /// not refer to.
    of_servers: [Option<ClassIndex>; 2],
    is_balanced: bool,
}

impl ScopeClasses {
    /// Returns the classes of the scopes in `relationship`; `find` finds the index of a class name.
    pub(super) fn new(
        relationship: &HaRelationship,
        find: impl Fn(&str) -> Option<ClassIndex>,
    ) -> Self {
        let of_role = |role| {
            let server = relationship.server(role)?;
            find(&format!("{SCOPE_CLASS}{}", server.name))
        };
        Self {
            of_servers: [of_role(HaRole::Primary), of_role(HaRole::Secondary)],
            is_balanced: relationship.mode == HaMode::LoadBalancing,
        }
    }

    /// Returns the class of the primary server's scope.
    pub(super) const fn primary(&self) -> Option<ClassIndex> {
        let [first, _] = self.of_servers;
        first
    }

    /// Returns the class of the scope that the client of a message belongs to. Messages that every
    /// server answers are in the class of the primary server, as in Kea.
    pub(super) fn of_message(&self, view: &impl PacketView) -> Option<ClassIndex> {
        let [first, second] = self.of_servers;
        if !self.is_balanced || (first.is_none() && second.is_none()) {
            return first;
        }
        if view.balance_hash().is_some_and(|hash| hash % 2 == 1) { second } else { first }
    }
}
