//! Listener of lease events that gives name change requests to the updater inside this server.
//!
//! At its beginning, and when events were lost, it has the updater compare the names of all leases
//! with the requests so far. A request that a killed server has not made is made then.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dhcp_ddns::LeaseName;
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_lease::{ExchangeDetail, LeaseTable};

use super::{NameChangeService, RequestRoute, UpdaterInside, UpdaterWork, WAITING_MIN, lock, plan};
use crate::events::exchange_collector::ExchangeCollector;
use crate::events::{Deferral, EventListener, FeedFacts};
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;

/// Listener of lease events for the updater inside this server.
pub(in crate::events) struct LeasesForUpdater<P: DaemonFamily> {
    service: Arc<NameChangeService>,
    table: Arc<LeaseTable<P>>,
    /// Path of the queue's file.
    queue: PathBuf,
    exchanges: ExchangeCollector<P>,
    updater: Option<Arc<UpdaterInside>>,
    is_ending: Arc<AtomicBool>,
    /// False for a listener that was made for a reload and is not needed.
    has_begun: bool,
}

impl<P: DaemonFamily> LeasesForUpdater<P> {
    /// Returns the listener for the leases of `table` in a server with the data folder `folder`.
    pub(in crate::events) fn new(
        service: &Arc<NameChangeService>,
        table: &Arc<LeaseTable<P>>,
        folder: PathBuf,
    ) -> Self {
        Self {
            service: Arc::clone(service),
            table: Arc::clone(table),
            queue: folder.join(format!("{}.ddns-queue", P::LOCAL_NAMES)),
            exchanges: ExchangeCollector::default(),
            updater: None,
            is_ending: Arc::default(),
            has_begun: false,
        }
    }

    /// Starts the updater, unless it runs or has failed under the present configuration.
    fn start(&mut self) {
        let is_suspended = self.service.is_suspended.load(Ordering::Relaxed);
        if self.updater.is_some() || is_suspended {
            return;
        }
        let Some(zones) = lock(&self.service.zones).clone() else { return };
        match UpdaterInside::start(&self.queue, &zones) {
            Ok(updater) => {
                let updater = Arc::new(updater);
                *lock(&self.service.route) = Some(RequestRoute::Inside(Arc::clone(&updater)));
                self.updater = Some(updater);
                self.compare();
            }
            Err(error) => {
                self.service.is_suspended.store(true, Ordering::Relaxed);
                tracing::error!(
                    target: DHCPSRV,
                    id = "DHCPSRV_DDNS_UPDATER_FAILED",
                    "the updater inside this server does not start: {error}; clients are served \
                     without DNS updates until the next configuration"
                );
            }
        }
    }

    /// Has the updater compare the names of the leases with the requests so far.
    fn compare(&self) {
        let Some(updater) = &self.updater else { return };
        let (service, table) = (Arc::clone(&self.service), Arc::clone(&self.table));
        let read = move |take: &mut dyn FnMut(LeaseName)| {
            let terms = Arc::clone(&lock(&service.terms));
            table.for_each_lease(|lease| {
                plan::name_of_lease(&lease, &terms).into_iter().for_each(&mut *take);
            });
        };
        updater.give(UpdaterWork::Leases(Box::new(read)));
    }
}

impl<P: DaemonFamily> EventListener<P> for LeasesForUpdater<P> {
    fn name(&self) -> &'static str {
        "name-changes"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(WAITING_MIN)
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::Group
    }

    /// Events above [`WAITING_MIN`] are dropped, and the updater compares the names with the leases
    /// afterwards: so nothing is urgent.
    fn deferral(&self) -> Option<Deferral> {
        Some(Deferral::at_full_speed(usize::MAX))
    }

    fn settings(&self) -> String {
        "inside".to_owned()
    }

    fn begin(&mut self, facts: &FeedFacts) {
        self.exchanges.begin_after(facts.last_number);
        self.is_ending = Arc::clone(&facts.is_ending);
        self.service.is_listening.store(true, Ordering::Relaxed);
        self.has_begun = true;
        self.start();
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        self.start();
        let terms = Arc::clone(&lock(&self.service.terms));
        let (mut requests, mut is_any_lost) = (Vec::new(), false);
        for event in events {
            let dropped = self.exchanges.follow(event);
            self.service.counts.dropped_events.fetch_add(dropped, Ordering::Relaxed);
            is_any_lost |= dropped > 0;
            let Some(complete) = self.exchanges.collect(event) else { continue };
            // Names follow the leases, also when commands delete these.
            let is_removed = |address| {
                lock(&self.service.removals).remove(&address);
                true
            };
            let address = &event.change.address;
            let planned = plan::requests(&complete, &terms, is_removed).into_iter();
            requests.extend(planned.filter_map(|one| self.service.planned(one, address)));
        }
        let Some(updater) = &self.updater else {
            let count = requests.len() as u64;
            self.service.counts.suspended.fetch_add(count, Ordering::Relaxed);
            return;
        };
        updater.wait_for_room(&self.is_ending);
        if !requests.is_empty() {
            self.service.counts.sent.fetch_add(requests.len() as u64, Ordering::Relaxed);
            updater.give(UpdaterWork::Requests(requests));
        }
        if is_any_lost {
            self.compare();
        }
    }
}

impl<P: DaemonFamily> Drop for LeasesForUpdater<P> {
    fn drop(&mut self) {
        if self.has_begun {
            self.service.end();
        }
    }
}
