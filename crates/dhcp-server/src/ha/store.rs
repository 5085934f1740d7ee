//! Leases of the partner that a synchronization stores here: of two leases of an address, the one
//! with the later transaction stays, and at the same second that of the primary server.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dhcp_control::{
    CommandFamily, LeaseAdministration, PutFailure, SubnetFacts, checked_partner_lease,
    lease_of_partner,
};
use dhcp_ha::{PageRange, PartnerPage};
use dhcp_lease::{Family, Lease, LeaseState, PutMode};
use netio::Clock;
use serde_json::Value;

use super::LOGGER;
use super::returned::ReturnedLeases;
use super::subnets::RelationshipSubnets;
use crate::leases::lease_of_row;
use crate::service::{DaemonFamily, SubnetSummary};
use crate::supervisor::Administration;

/// Number of own leases that are compared with the partner's at a time.
const OWN_AT_ONCE: usize = 1_000;

/// Maximum number of characters of an address or a reason in the log: the partner may have made it.
const SHOWN_MAX: usize = 500;

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

    /// Drops the notes about changes during a copy by the partner if it no longer asks for them.
    pub(super) fn end_unused_copy(&self) {
        self.leases.end_unused_copy();
    }

    /// Stores the leases of a page that are newer than those of this server, after it has deleted
    /// those that have ended at the partner, and waits until that is durable. A lease that cannot
    /// be stored is logged and left out, as in Kea. Adds the own leases in the range of the page
    /// that the partner lacks to `returned`.
    pub(super) fn store_page(
        &mut self,
        page: &PartnerPage,
        subnets: &RelationshipSubnets,
        returned: &mut ReturnedLeases<P>,
    ) {
        let mut partners = BTreeMap::<P::Ip, Vec<Lease<P>>>::new();
        let mut failed = 0_usize;
        let mut is_not_stored = |address: &str, reason: &str| {
            failed += 1;
            log_failure(address, "is not stored", reason);
        };
        let mut leases = Vec::new();
        for (address, read) in leases_of_page(page, subnets) {
            if let Ok(ip) = address.parse() {
                partners.entry(ip).or_default().extend(read.clone().ok());
            }
            match read {
                Ok(lease) => leases.push(lease),
                Err(reason) => is_not_stored(&address, &reason),
            }
        }
        let ended = self.delete_ended(page, &partners, subnets);
        let mut stored = 0_usize;
        for lease in leases {
            let ip = <P as CommandFamily>::ip(lease.address);
            match self.store(lease) {
                Ok(is_newer) => stored += usize::from(is_newer),
                Err(reason) => is_not_stored(&ip.to_string(), &reason),
            }
        }
        if let Err(reason) = self.leases.wait_until_durable() {
            tracing::error!(
                target: LOGGER, id = "HA_LEASES_SYNC_FAILED", "leases of the partner: {reason}"
            );
        }
        let missing = match &page.range {
            PageRange::Listed => self.compare_listed(&ended, &partners, subnets, returned),
            PageRange::AllAfter(after) => {
                self.add_missing(after.as_deref(), None, &partners, subnets, returned)
            }
            PageRange::After(after) => {
                let last = page.last_address();
                self.add_missing(after.as_deref(), last, &partners, subnets, returned)
            }
        };
        tracing::info!(
            target: LOGGER,
            id = "HA_LEASES_SYNC_LEASE_PAGE_RECEIVED",
            "received {} leases of the partner: {stored} are newer, {failed} cannot be stored, {} \
             have ended; the partner lacks {missing} of this server's",
            page.count(),
            page.ended.len()
        );
    }

    /// Deletes the leases of the page that have ended at the partner, unless this server has a
    /// later transaction or another client, or stores one of `partners`, the leases of the page,
    /// in the place of its own. Returns all of them that are copied.
    fn delete_ended(
        &mut self,
        page: &PartnerPage,
        partners: &BTreeMap<P::Ip, Vec<Lease<P>>>,
        subnets: &RelationshipSubnets,
    ) -> Vec<Lease<P>> {
        let mut ended = Vec::new();
        for lease in page.ended.iter().filter(|lease| is_copied(lease, subnets)) {
            match read_lease::<P>(lease, subnets) {
                Ok(read) => ended.push(read),
                Err(reason) => log_failure(address_in(lease), "is not deleted", &reason),
            }
        }
        for lease in &ended {
            let ip = <P as CommandFamily>::ip(lease.address);
            let own = self.leases.find(ip, lease.kind()).filter(|own| {
                own.address == lease.address
                    && own.client == lease.client
                    && own.cltt_s <= lease.cltt_s
            });
            let Some(own) = own else { continue };
            let mut same = partners.get(&ip).into_iter().flatten();
            let other = same.find(|other| other.address == own.address);
            if other.is_some_and(|other| !self.is_preferred(&own, other)) {
                continue;
            }
            // Without a lifetime a lease is deleted, under the lock of its slot.
            let deletion =
                Lease { valid_lifetime_s: 0, state: LeaseState::Assigned, ..lease.clone() };
            match self.leases.put(deletion, PutMode::UnlessLater) {
                Ok(()) | Err(PutFailure::Later) => {}
                Err(failure) => {
                    let address = ip.to_string();
                    log_failure(&address, "is not deleted", &failure_text(failure));
                }
            }
        }
        ended
    }

    /// Compares the own leases of the addresses of `ended` and `partners` with `partners`, the
    /// partner's leases, and replaces what `returned` has of these addresses. Returns the number
    /// of leases that the partner lacks.
    fn compare_listed(
        &self,
        ended: &[Lease<P>],
        partners: &BTreeMap<P::Ip, Vec<Lease<P>>>,
        subnets: &RelationshipSubnets,
        returned: &mut ReturnedLeases<P>,
    ) -> u64 {
        let of_partners = partners.values().flatten();
        let listed: BTreeMap<P::Address, P::Kind> =
            ended.iter().chain(of_partners).map(|lease| (lease.address, lease.kind())).collect();
        returned.remove(|address| listed.contains_key(address));
        let now_s = Clock::now().wall_s();
        let mut missing = 0;
        for (address, kind) in listed {
            let ip = <P as CommandFamily>::ip(address);
            let own = self.leases.find(ip, kind).filter(|own| own.address == address);
            if let Some(own) = own
                && self.is_missing(&own, partners.get(&ip), now_s)
                && subnets.copies(own.subnet_id)
            {
                missing += 1;
                returned.add(&own);
            }
        }
        missing
    }

    /// Adds those own leases after the address `after` and up to `last` to `returned` that are not
    /// among `partners`, the partner's leases of that range, or are newer than there, and returns
    /// their number. Without `last` the range has no end.
    fn add_missing(
        &self,
        after: Option<&str>,
        last: Option<&str>,
        partners: &BTreeMap<P::Ip, Vec<Lease<P>>>,
        subnets: &RelationshipSubnets,
        returned: &mut ReturnedLeases<P>,
    ) -> u64 {
        let address = |text: &str| text.parse::<P::Ip>().ok();
        let end = last.and_then(address);
        let mut after = after.and_then(address);
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
                if self.is_missing(lease, partners.get(&ip), now_s)
                    && subnets.copies(lease.subnet_id)
                {
                    missing += 1;
                    returned.add(lease);
                }
            }
            if !is_full {
                return missing;
            }
        }
    }

    /// Returns true if the partner, which has `others` of the address of `own`, lacks `own`. A
    /// lease that has ended is lacking if its client has released it and still has it at the
    /// partner. No lease is known of an address with an empty list.
    fn is_missing(&self, own: &Lease<P>, others: Option<&Vec<Lease<P>>>, now_s: u64) -> bool {
        let mut same = others.into_iter().flatten();
        match same.find(|other| other.address == own.address) {
            None if others.is_some_and(Vec::is_empty) => false,
            None => is_running(own, now_s),
            Some(other) => {
                let is_of_interest = is_running(own, now_s)
                    || (own.state == LeaseState::Released && is_running(other, now_s));
                is_of_interest && self.is_preferred(own, other)
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
    fn store(&mut self, lease: Lease<P>) -> Result<bool, String> {
        let own = self.leases.find(<P as CommandFamily>::ip(lease.address), lease.kind());
        let is_own_later = match own {
            Some(own) => own == lease || self.is_preferred(&own, &lease),
            None => self.leases.has_released_later(&lease),
        };
        if is_own_later {
            return Ok(false);
        }
        match self.leases.put(lease, PutMode::UnlessLater) {
            Ok(()) => Ok(true),
            // An administrator may demand a copy while the server serves clients.
            Err(PutFailure::Later) => Ok(false),
            Err(failure) => Err(failure_text(failure)),
        }
    }
}

/// Returns true if `lease`, as commands show it, is of a subnet whose leases are copied.
fn is_copied(lease: &Value, subnets: &RelationshipSubnets) -> bool {
    let id = lease["subnet-id"].as_u64().and_then(|id| u32::try_from(id).ok());
    id.is_none_or(|id| subnets.copies(id))
}

fn read_lease<P: DaemonFamily>(
    lease: &Value,
    subnets: &RelationshipSubnets,
) -> Result<Lease<P>, String> {
    lease_of_partner::<P>(lease, &subnet_of(&subnets.all), Clock::now().wall_s())
}

fn failure_text(failure: PutFailure) -> String {
    match failure {
        PutFailure::Busy => "a client is changing the lease".to_owned(),
        PutFailure::Failed(why) => why,
        PutFailure::Exists | PutFailure::Missing | PutFailure::Later => {
            "another change was faster".to_owned()
        }
    }
}

/// Returns the leases of the page that are copied: the address of each as text, and the lease, or
/// the reason why this server cannot have it.
fn leases_of_page<P: DaemonFamily>(
    page: &PartnerPage,
    subnets: &RelationshipSubnets,
) -> Vec<(String, Result<Lease<P>, String>)> {
    let of_fields = page.leases.iter().filter(|lease| is_copied(lease, subnets));
    let of_fields =
        of_fields.map(|lease| (address_in(lease).to_owned(), read_lease::<P>(lease, subnets)));
    let subnet = subnet_of(&subnets.all);
    let of_row = |row: &String| {
        let Some(lease) = lease_of_row::<P>(row) else {
            let address = row.split(',').next().unwrap_or_default();
            return Some((address.to_owned(), Err("not a row of a lease file".to_owned())));
        };
        let address = <P as CommandFamily>::ip(lease.address).to_string();
        let is_copied = subnets.copies(lease.subnet_id);
        is_copied.then(|| (address, checked_partner_lease(lease, &subnet)))
    };
    of_fields.chain(page.rows.iter().filter_map(of_row)).collect()
}

/// Returns the address of `lease`, as commands show it.
fn address_in(lease: &Value) -> &str {
    lease["ip-address"].as_str().unwrap_or_default()
}

/// Logs that the partner's lease of `address` `is_not_used` for a reason.
fn log_failure(address: &str, is_not_used: &str, reason: &str) {
    let beginning = |text: &str| text.chars().take(SHOWN_MAX).collect::<String>();
    let address = if address.is_empty() { "no address".to_owned() } else { beginning(address) };
    tracing::warn!(
        target: LOGGER,
        id = "HA_LEASE_SYNC_FAILED",
        "the partner's lease of {address} {is_not_used}: {}",
        beginning(reason)
    );
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
