//! Filters of a server with relationships of high availability. With one relationship the filter
//! decides before the server reads more of a message than its client; with several the subnet of
//! the message decides which filter counts, as in Kea.

use std::sync::Arc;

use crate::classify::ClassSet;
use crate::pair_filter::{PairClient, PairFilter, PairScopes, PairShare};
use crate::prefixes::SubnetIndex;
use crate::protocol::Protocol;
use crate::reason::DropReason;
use crate::snapshot::Snapshot;

/// Filters of the relationships of a server, in the order of the configuration.
#[derive(Clone, Debug, Default)]
pub struct PairFilters(Box<[Arc<PairFilter>]>);

impl PairFilters {
    /// Returns the filters `filters`; none for a server without a relationship.
    #[must_use]
    pub fn new(filters: impl IntoIterator<Item = Arc<PairFilter>>) -> Self {
        Self(filters.into_iter().collect())
    }

    /// Returns the clients that the server serves as far as their subnets do not matter.
    pub(crate) fn share(&self) -> PairShare {
        match &*self.0 {
            [] => PairShare::All,
            [only] => only.share(),
            several => {
                let is_closed = |filter: &Arc<PairFilter>| filter.share() == PairShare::Closed;
                if several.iter().all(is_closed) { PairShare::Closed } else { PairShare::All }
            }
        }
    }

    /// Records a query of a client of the partner in the only relationship, if `scopes` say so.
    pub(crate) fn record(&self, client: &PairClient<'_>, scopes: PairScopes) {
        if let [only] = &*self.0
            && scopes.is_observed
        {
            only.record(client);
        }
    }

    /// Checks, if there are several relationships, that the server serves the client of `message`,
    /// for which `subnet` was selected. Puts the client in the class of its scope, and records
    /// queries of the partner's clients.
    ///
    /// # Errors
    ///
    /// The reason why the server drops the message.
    pub(crate) fn admit<P: Protocol>(
        &self,
        snapshot: &Snapshot<P>,
        subnet: Option<SubnetIndex>,
        message: &P::Message<'_>,
        classes: &mut ClassSet,
    ) -> Result<(), DropReason> {
        if self.0.len() < 2 {
            return Ok(());
        }
        let subnet = snapshot.subnet(subnet.ok_or(DropReason::NoSubnet)?);
        let relationship = subnet.relationship.ok_or(DropReason::NoRelationship)?;
        let filter = self.0.get(relationship).ok_or(DropReason::NoRelationship)?;
        if let Some(Some(scope)) = snapshot.scope_classes.get(relationship) {
            classes.insert(*scope);
        }
        match filter.share() {
            PairShare::All => Ok(()),
            PairShare::Closed => Err(DropReason::PairNotReady),
            PairShare::Part(scopes) => match P::pair_client(message) {
                Some(client) if !scopes.serves(&client) => {
                    if scopes.is_observed {
                        filter.record(&client);
                    }
                    Err(DropReason::PartnersClient)
                }
                _ => Ok(()),
            },
        }
    }
}
