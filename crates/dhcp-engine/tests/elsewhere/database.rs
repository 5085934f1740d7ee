//! Simulated database of hosts: it answers when a test lets it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dhcp_engine::hosts::{
    ChangedHosts, FoundHost, HostAnswer, HostKey, HostSource, ReservationOf, ReservationProtocol,
    ReservationScope,
};

/// Batches, each with its keys.
type Batches<F> = Vec<Vec<HostKey<<F as dhcp_lease::Family>::Address>>>;

/// Content of the database, its requests and its answers.
#[derive(Debug)]
pub(crate) struct Content<F: ReservationProtocol> {
    pub(crate) hosts: Vec<FoundHost<F>>,
    /// True if no look-up succeeds.
    pub(crate) is_failing: bool,
    /// All requests so far.
    pub(crate) requests: Batches<F>,
    answered: usize,
    answers: VecDeque<HostAnswer<F>>,
    /// Keys of hosts that have changed, until the shard takes them; `None` for all keys.
    changed: Option<Vec<HostKey<F::Address>>>,
}

impl<F: ReservationProtocol> Default for Content<F> {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            is_failing: false,
            requests: Vec::new(),
            answered: 0,
            answers: VecDeque::new(),
            changed: Some(Vec::new()),
        }
    }
}

/// Database that one shard and the test share.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedHostDatabase<F: ReservationProtocol>(Arc<Mutex<Content<F>>>);

impl<F: ReservationProtocol> SharedHostDatabase<F> {
    pub(crate) fn content(&self) -> MutexGuard<'_, Content<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, scope: ReservationScope, host: ReservationOf<F>) {
        self.content().hosts.push((scope, Arc::new(host)));
    }

    /// Announces that the hosts of `keys`, or with `None` of all keys, have changed.
    pub(crate) fn announce(&self, keys: Option<&[HostKey<F::Address>]>) {
        let mut content = self.content();
        content.changed = match (content.changed.take(), keys) {
            (Some(mut all), Some(keys)) => {
                all.extend_from_slice(keys);
                Some(all)
            }
            _ => None,
        };
    }

    /// Answers all requests; returns false when there were none.
    pub(crate) fn answer(&self) -> bool {
        let mut content = self.content();
        let Content { hosts, is_failing, requests, answered, answers, .. } = &mut *content;
        let open = &requests[*answered..];
        for (batch, keys) in (*answered as u64 + 1..).zip(open) {
            let results = keys.iter().map(|key| {
                let key_hosts =
                    hosts.iter().filter(|(_, host)| !*is_failing && leads_to::<F>(key, host));
                (key.clone(), key_hosts.cloned().collect())
            });
            answers.push_back(HostAnswer {
                batch,
                is_failed: *is_failing,
                hosts_by_key: results.collect(),
            });
        }
        let had_any = !open.is_empty();
        *answered = requests.len();
        had_any
    }
}

fn leads_to<F: ReservationProtocol>(key: &HostKey<F::Address>, host: &ReservationOf<F>) -> bool {
    match key {
        HostKey::Identifier(kind, octets) => {
            host.identifier.kind == *kind && *host.identifier.octets == **octets
        }
        HostKey::Address(address) => F::reserved(&host.reserved)
            .any(|reserved| F::address_key(F::address(reserved)) == F::address_key(*address)),
    }
}

impl<F: ReservationProtocol> HostSource<F> for SharedHostDatabase<F> {
    fn request(&mut self, keys: Vec<HostKey<F::Address>>) -> u64 {
        let mut content = self.content();
        content.requests.push(keys);
        content.requests.len() as u64
    }

    fn take(&mut self) -> Option<HostAnswer<F>> {
        self.content().answers.pop_front()
    }

    fn take_changed(&mut self) -> ChangedHosts<F::Address> {
        match self.content().changed.replace(Vec::new()) {
            Some(keys) => ChangedHosts::Keys(keys),
            None => ChangedHosts::All,
        }
    }
}
