//! Leases of the partner that a synchronization stores here: of two leases of an address, the one
//! with the later transaction stays, and at the same second that of the primary server.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dhcp_control::{CommandFamily, LeaseAdministration, PutFailure, SubnetFacts, lease_of_partner};
use dhcp_lease::{Family, Lease, LeaseState, PutMode};
use netio::Clock;
use serde_json::Value;

use super::LOGGER;
use super::returned::ReturnedLeases;
use super::subnets::RelationshipSubnets;
use crate::service::{DaemonFamily, SubnetSummary};
use crate::supervisor::Administration;

/// Number of own leases that are compared with the partner's at a time.
const OWN_AT_ONCE: usize = 1_000;

/// Page of the partner's leases.
pub(super) struct PartnerPage {
    /// Address of the last lease of the page before; `None` for the first page.
    pub(super) after: Option<String>,
    /// True if no further page follows.
    pub(super) is_last: bool,
    /// Leases as commands show them, ascending by address.
    pub(super) leases: Vec<Value>,
}

/// Store for the leases of the partner.
pub(crate) struct PartnerLeaseStore<P: DaemonFamily> {
    leases: Administration<P>,
    /// True if this server is the primary one.
    is_primary: bool,
}

impl<P: DaemonFamily> PartnerLeaseStore<P> {
    pub(crate) const fn new(leases: Administration<P>, is_primary: bool) -> Self {
        Self { leases, is_primary }
    }

    /// Stores the leases of a page that are newer than those of this server, and waits until they
    /// are durable. A lease that cannot be stored is logged and left out, as in Kea. Adds the own
    /// leases in the range of the page that the partner lacks to `returned`.
    pub(super) fn store_page(
        &mut self,
        page: &PartnerPage,
        subnets: &RelationshipSubnets,
        returned: &mut ReturnedLeases,
    ) {
        let mut partners = BTreeMap::<P::Ip, Vec<Lease<P>>>::new();
        let (mut stored, mut failed) = (0_usize, 0_usize);
        for lease in &page.leases {
            let id = lease["subnet-id"].as_u64().and_then(|id| u32::try_from(id).ok());
            if id.is_some_and(|id| !subnets.copies(id)) {
                continue;
            }
            let read =
                lease_of_partner::<P>(lease, &subnet_of(&subnets.all), Clock::now().wall_s());
            if let Some(ip) = lease["ip-address"].as_str().and_then(|text| text.parse().ok()) {
                partners.entry(ip).or_default().extend(read.clone().ok());
            }
            match read.and_then(|read| self.store(&read)) {
                Ok(is_newer) => stored += usize::from(is_newer),
                Err(reason) => {
                    failed += 1;
                    tracing::warn!(
                        target: LOGGER,
                        id = "HA_LEASE_SYNC_FAILED",
                        "the partner's lease of {} is not stored: {reason}",
                        lease["ip-address"].as_str().unwrap_or("no address")
                    );
                }
            }
        }
        if let Err(reason) = self.leases.wait_until_durable() {
            tracing::error!(
                target: LOGGER, id = "HA_LEASES_SYNC_FAILED", "leases of the partner: {reason}"
            );
        }
        let missing = self.add_missing(page, &partners, subnets, returned);
        tracing::info!(
            target: LOGGER,
            id = "HA_LEASES_SYNC_LEASE_PAGE_RECEIVED",
            "received {} leases of the partner: {stored} are newer, {failed} cannot be stored; the \
             partner lacks {missing} of this server's",
            page.leases.len()
        );
    }

    /// Adds those own leases in the range of `page` to `returned` that are not among `partners`,
    /// the partner's leases of that range, or are newer than there, and returns their number. A
    /// lease that has ended is among them if its client has released it and still has it at the
    /// partner. No lease is known of an address with an empty list.
    fn add_missing(
        &self,
        page: &PartnerPage,
        partners: &BTreeMap<P::Ip, Vec<Lease<P>>>,
        subnets: &RelationshipSubnets,
        returned: &mut ReturnedLeases,
    ) -> u64 {
        let address = |text: &str| text.parse::<P::Ip>().ok();
        let last = page.leases.last().and_then(|lease| lease["ip-address"].as_str());
        let end = last.filter(|_| !page.is_last).and_then(address);
        let mut after = page.after.as_deref().and_then(address);
        let now_s = Clock::now().wall_s();
        let mut missing = 0;
        loop {
            let own = self.leases.page_for_partner(after, OWN_AT_ONCE);
            let is_full = own.len() == OWN_AT_ONCE;
            after = own.last().map(|last| <P as CommandFamily>::ip(last.address));
            for lease in &own {
                let ip = <P as CommandFamily>::ip(lease.address);
                if end.is_some_and(|end| ip > end) {
                    return missing;
                }
                let others = partners.get(&ip);
                let mut same = others.into_iter().flatten();
                let is_missing = match same.find(|other| other.address == lease.address) {
                    None if others.is_some_and(Vec::is_empty) => false,
                    None => is_running(lease, now_s),
                    Some(other) => {
                        let is_of_interest = is_running(lease, now_s)
                            || (lease.state == LeaseState::Released && is_running(other, now_s));
                        is_of_interest && self.is_preferred(lease, other)
                    }
                };
                if is_missing && subnets.copies(lease.subnet_id) {
                    missing += 1;
                    returned.add(lease);
                }
            }
            if !is_full {
                return missing;
            }
        }
    }

    /// Returns true if `own` stays although the partner has `other`: the later one, but a lease
    /// that has ended never displaces that of another client, as [`PutMode::UnlessLater`] has it.
    fn is_preferred(&self, own: &Lease<P>, other: &Lease<P>) -> bool {
        let is_same_client = own.client == other.client;
        if !is_same_client && own.state.is_past() != other.state.is_past() {
            return other.state.is_past();
        }
        let is_other = !is_same_client || own.cltt_s != other.cltt_s;
        is_other && (own.cltt_s, self.is_primary) > (other.cltt_s, !self.is_primary)
    }

    /// Stores a lease if it is newer; returns true then.
    fn store(&mut self, lease: &Lease<P>) -> Result<bool, String> {
        let own = self.leases.find(<P as CommandFamily>::ip(lease.address), lease.kind());
        let is_own_later = match own {
            Some(own) => own == *lease || self.is_preferred(&own, lease),
            None => self.leases.has_released_later(lease),
        };
        if is_own_later {
            return Ok(false);
        }
        match self.leases.put(lease.clone(), PutMode::UnlessLater) {
            Ok(()) => Ok(true),
            // An administrator may demand a copy while the server serves clients.
            Err(PutFailure::Later) => Ok(false),
            Err(PutFailure::Busy) => Err("a client is changing the lease".to_owned()),
            Err(PutFailure::Failed(why)) => Err(why),
            Err(PutFailure::Exists | PutFailure::Missing) => {
                Err("another change was faster".to_owned())
            }
        }
    }
}

/// Returns true if the client has the lease at the time `now_s`.
fn is_running<F: Family>(lease: &Lease<F>, now_s: u64) -> bool {
    let ends_s = lease.cltt_s.saturating_add(lease.valid_lifetime_s.into());
    !lease.state.is_past() && ends_s > now_s
}

/// Returns the function that finds a subnet by its number, or by an address for the number 0.
fn subnet_of(subnets: &[SubnetSummary]) -> impl Fn(u32, IpAddr) -> Option<SubnetFacts> {
    |id, address| {
        let is_it = |one: &&SubnetSummary| {
            if id == 0 { one.facts.contains(address) } else { one.facts.id == id }
        };
        subnets.iter().find(is_it).map(|one| one.facts.clone())
    }
}
