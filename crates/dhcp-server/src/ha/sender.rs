//! Sender of updates to another server of the relationship.

use std::time::Duration;

use dhcp_config::{HaPeer, HaRelationship};
use dhcp_control::{CommandFamily, IpVersion};
use dhcp_ha::{UpdateVerdict, bulk_apply, bulk_verdicts, lease_command, lease_verdict, update_of};
use dhcp_lease::{Lease, LeaseState};
use serde_json::Value;

use super::connections::PartnerConnections;
use super::request_to;
use crate::http_client::CommandRequest;
use crate::service::DaemonFamily;

/// Change of a lease that another server does not have yet.
#[derive(Clone, Debug)]
pub(super) struct PendingUpdate {
    /// Address as commands show it.
    pub(super) address: String,
    /// Lease after the change, or the deleted one, in the form of an update.
    pub(super) update: Value,
    pub(super) is_deletion: bool,
    /// True if the lease is kept in the state of released leases.
    pub(super) is_released: bool,
    /// Epochs whose replies depend on the change, and the bytes of the address.
    pub(super) epochs: Vec<u64>,
    pub(super) octets: Vec<u8>,
}

impl PendingUpdate {
    /// Creates the update of a lease, on which no reply depends yet. A lease that has ended is
    /// deleted, as is one that its client has released if `is_old`: Kea before 2.7 refuses the
    /// state of released leases.
    pub(super) fn of_lease<P: DaemonFamily>(lease: &Lease<P>, is_old: bool) -> Self {
        let (octets, len) = P::octets_of(lease.address);
        let is_released = lease.state == LeaseState::Released;
        Self {
            address: <P as CommandFamily>::ip(lease.address).to_string(),
            update: update_of(P::to_json(lease)),
            is_deletion: lease.state.is_past() && (is_old || !is_released),
            is_released,
            epochs: Vec::new(),
            octets: octets[..len].to_vec(),
        }
    }

    /// Returns true if the update reports a released lease that the server keeps.
    pub(super) const fn is_release(&self) -> bool {
        self.is_released && !self.is_deletion
    }

    /// Returns the identity of the client, for counts of refused clients.
    pub(super) fn client(&self) -> String {
        ["duid", "hw-address", "client-id"].map(|key| self.update[key].to_string()).join(" ")
    }
}

/// Sender of updates to one server, with its connections.
pub(super) struct UpdateSender {
    peer: HaPeer,
    timeout: Duration,
    connections: PartnerConnections,
}

impl UpdateSender {
    /// Creates the sender of updates to `peer`, without a connection.
    pub(super) fn new(peer: &HaPeer, config: &HaRelationship) -> Self {
        let limit_ms = config.limits.response_ms.clamp(1_000, 10_000);
        let connections = PartnerConnections::new(config.client_connections);
        Self { peer: peer.clone(), timeout: Duration::from_millis(limit_ms.into()), connections }
    }

    /// Returns the request to the server without a command.
    fn request(&self) -> Result<CommandRequest, String> {
        Ok(CommandRequest { timeout: self.timeout, ..request_to(&self.peer)? })
    }

    /// Sends `updates` once, several in one command if `is_bulk`, and returns the verdict about
    /// each, or the reason why there is none.
    pub(super) fn send<P: DaemonFamily>(
        &mut self,
        updates: &[PendingUpdate],
        is_bulk: bool,
    ) -> Vec<Result<UpdateVerdict, String>> {
        let request = match self.request() {
            Ok(request) => request,
            Err(reason) => return updates.iter().map(|_| Err(reason.clone())).collect(),
        };
        match P::VERSION {
            IpVersion::V4 if !is_bulk => self.send_each(&request, updates),
            version => self.send_together(&request, version, updates),
        }
    }

    /// Sends each of the updates to a DHCPv4 partner.
    fn send_each(
        &mut self,
        request: &CommandRequest,
        updates: &[PendingUpdate],
    ) -> Vec<Result<UpdateVerdict, String>> {
        let body = |one: &PendingUpdate| lease_command(one.update.clone(), one.is_deletion);
        let bodies = updates.iter().map(|one| body(one).to_string()).collect();
        let answers = self.connections.send_all(request, bodies);
        answers.into_iter().map(|answer| Ok(lease_verdict(&answer?))).collect()
    }

    /// Sends the updates in one command. If the partner refuses them as a whole, or is DHCPv4 and
    /// does not know the command, it gets each alone.
    fn send_together<'u>(
        &mut self,
        request: &CommandRequest,
        version: IpVersion,
        updates: &'u [PendingUpdate],
    ) -> Vec<Result<UpdateVerdict, String>> {
        let (kept, deleted): (Vec<_>, Vec<_>) = updates.iter().partition(|one| !one.is_deletion);
        let of = |list: Vec<&'u PendingUpdate>| list.into_iter().map(|one| &one.update).collect();
        let (kept, deleted): (Vec<&Value>, Vec<&Value>) = (of(kept), of(deleted));
        let body = bulk_apply(version.service(), &kept, &deleted);
        let answer = self.connections.send_all(request, vec![body]).pop();
        let answer = answer.unwrap_or_else(|| Err("the request was not sent".to_owned()));
        let addresses: Vec<String> = updates.iter().map(|one| one.address.clone()).collect();
        match answer {
            Err(reason) => updates.iter().map(|_| Err(reason.clone())).collect(),
            Ok(answer) if version == IpVersion::V4 && matches!(answer.code, 1 | 2) => {
                self.send_each(request, updates)
            }
            Ok(answer) if answer.code == 1 && updates.len() > 1 => {
                let alone = updates.chunks(1);
                alone.flat_map(|update| self.send_together(request, version, update)).collect()
            }
            Ok(answer) => bulk_verdicts(&answer, &addresses).into_iter().map(Ok).collect(),
        }
    }
}
