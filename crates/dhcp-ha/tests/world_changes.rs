//! Changes of leases that a server of the simulated world notes while another one copies them, as
//! the daemon does.

use std::collections::BTreeMap;

use dhcp_ha::{CHANGES_OF, PageRange, PageRequest, PartnerPage};
use serde_json::{Value, json};

use crate::world_server::{PAGE_LEASES, Update, WorldLease, WorldServer, address_of, to_json};

/// Changes since the beginning of a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorldChanges {
    copy: Option<u64>,
    pub(crate) is_noting: bool,
    /// Addresses that have changed, each with leases that have ended there.
    changes: BTreeMap<u32, Vec<WorldLease>>,
    round: Vec<(u32, Vec<WorldLease>)>,
}

/// Returns a lease of a page.
fn lease_of(lease: &Value) -> WorldLease {
    let number = |key: &str| lease[key].as_u64().expect("the world is sound");
    WorldLease { client: number("client") as u32, cltt_s: number("cltt") }
}

impl WorldServer {
    /// Makes `lease` the lease of `address`, and notes the change if another server copies the
    /// leases.
    pub(crate) fn set_lease(&mut self, address: u32, lease: Option<WorldLease>) {
        let before = match lease {
            Some(lease) => self.leases.insert(address, lease),
            None => self.leases.remove(&address),
        };
        if !self.changes.is_noting {
            return;
        }
        let goes_on = |before: &WorldLease| {
            lease
                .is_some_and(|lease| lease.client == before.client && lease.cltt_s >= before.cltt_s)
        };
        let ended = self.changes.changes.entry(address).or_default();
        ended.extend(before.filter(|before| !goes_on(before)));
        if self.changes.changes.len() > self.changes_max {
            self.changes = WorldChanges::default();
        }
    }

    /// Returns the answer's code and arguments for a page that another server asks for at `step`.
    pub(crate) fn answer_page(&mut self, page: &PageRequest, step: u64) -> (i64, Value) {
        let (copy, from, is_last_round) = match page {
            PageRequest::All { after, notes_changes, .. } => {
                let mut arguments = json!({ "leases": [] });
                if *notes_changes {
                    let copy = Some(step);
                    self.changes = WorldChanges { copy, is_noting: true, ..Default::default() };
                    arguments[CHANGES_OF] = json!(step);
                }
                arguments["leases"] = json!(self.page(after.as_deref()));
                return (0, arguments);
            }
            PageRequest::Changes { copy, from, is_last_round } => (*copy, *from, *is_last_round),
        };
        let changes = &mut self.changes;
        if changes.copy != Some(copy) {
            return (1, json!({}));
        }
        if from == 0 {
            changes.is_noting &= !is_last_round;
            changes.round = core::mem::take(&mut changes.changes).into_iter().collect();
        }
        let (mut leases, mut ended) = (Vec::new(), Vec::new());
        for (address, of_address) in changes.round.iter().skip(from as usize).take(PAGE_LEASES) {
            leases.extend(self.leases.get(address).map(|lease| to_json(*address, *lease)));
            ended.extend(of_address.iter().map(|lease| to_json(*address, *lease)));
        }
        let total = changes.round.len();
        (0, json!({ "leases": leases, "ended-leases": ended, "changes-total": total }))
    }

    /// Stores a page of another server, and keeps the own leases that it lacks. At most `limit` go
    /// to that server at the end, more make it copy.
    pub(crate) fn take_page(&mut self, page: &PartnerPage, is_primary: bool, limit: usize) {
        if matches!(page.range, PageRange::After(None) | PageRange::AllAfter(None)) {
            self.returned.clear();
        }
        for lease in &page.ended {
            let (address, ended) = (address_of(lease), lease_of(lease));
            let own = self.leases.get(&address);
            if own.is_some_and(|own| own.client == ended.client && own.cltt_s <= ended.cltt_s) {
                self.set_lease(address, None);
            }
        }
        page.leases.iter().for_each(|lease| {
            self.store_if_newer(address_of(lease), lease_of(lease), is_primary);
        });
        let first = |after: &Option<String>| {
            after.as_deref().map_or(0, |after| after.parse::<u32>().expect("it is sound") + 1)
        };
        let listed: Vec<u32> = match &page.range {
            PageRange::After(after) => {
                let end = page.leases.last().map_or(0, address_of);
                (first(after)..=end).collect()
            }
            PageRange::AllAfter(after) => {
                self.leases.range(first(after)..).map(|(address, _)| *address).collect()
            }
            PageRange::Listed => page.leases.iter().chain(&page.ended).map(address_of).collect(),
        };
        self.returned.retain(|update| !listed.contains(&update.address));
        for address in listed {
            let Some(&lease) = self.leases.get(&address) else { continue };
            let other = page.leases.iter().find(|other| address_of(other) == address);
            let is_missing = other.map(lease_of).is_none_or(|other| {
                other != lease && (lease.cltt_s, is_primary) > (other.cltt_s, !is_primary)
            });
            if is_missing && self.returned.iter().all(|other| other.address != address) {
                self.returned.push(Update { address, lease });
            }
        }
        if page.ends_copy {
            self.record_returned(limit);
        }
    }

    /// Records after the last page the leases that the partner lacks.
    fn record_returned(&mut self, limit: usize) {
        let Some(relationship) = &mut self.relationship else { return };
        let leases = self.returned.len() as u64;
        if relationship.config().partner().is_none() {
            self.returned.clear();
        } else if self.returned.len() > limit {
            relationship.count_unsent(leases);
            self.returned.clear();
        } else if !relationship.record_missing_leases(leases) {
            self.returned.clear();
        }
    }

    /// Stores a lease of another server as the daemon does: the newer one stays, else the
    /// primary's.
    fn store_if_newer(&mut self, address: u32, lease: WorldLease, is_primary: bool) {
        let rank = |cltt_s: u64, is_primary: bool| (cltt_s, is_primary);
        let own = self.leases.get(&address).map(|own| rank(own.cltt_s, is_primary));
        if own.is_none_or(|own| own < rank(lease.cltt_s, !is_primary)) {
            self.set_lease(address, Some(lease));
        }
    }
}
