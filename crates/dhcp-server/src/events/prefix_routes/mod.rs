//! Routes of delegated prefixes: a listener that gives each prefix that is leased a route in the
//! kernel, by way of the router from which the client's message came.
//!
//! The next hop is the source of the datagram: the client on its link, or the relay agent next to
//! the server. The kernel has the routes while the server starts again; a journal has the next hops
//! for the time when the machine has started.

mod journal;
mod kernel;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;

use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_lease::{Lease, LeaseState, LeaseTable};

use super::{EventListener, FeedFacts, WAITING_MAX};
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;
use journal::{HopJournal, NamedHop};
use kernel::{KernelRoute, RouteTable};

/// Name of the journal in the server's data folder.
const JOURNAL: &str = "godwit-prefix-routes";

/// Prefix that a client was delegated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DelegatedPrefix {
    /// Prefix with its host bits zero.
    pub(crate) address: Ipv6Addr,
    /// Length of the prefix in bits.
    pub(crate) len: u8,
}

impl fmt::Display for DelegatedPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// Router by way of which a prefix is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NextHop {
    address: Ipv6Addr,
    /// Index of the interface on the router's link; 0 if the address says it.
    interface: u32,
}

/// Listener that keeps the routes of delegated prefixes.
pub(super) struct PrefixRouteListener<P: DaemonFamily> {
    table: Arc<LeaseTable<P>>,
    journal_path: PathBuf,
    /// Kernel's table and the journal, once they are open.
    open: Option<OpenRoutes>,
    /// Next hops of the leased prefixes.
    hops: BTreeMap<DelegatedPrefix, NamedHop>,
    /// Prefixes whose route the kernel refused.
    refused: BTreeSet<DelegatedPrefix>,
    last_number: u64,
}

struct OpenRoutes {
    kernel: RouteTable,
    journal: HopJournal,
}

impl<P: DaemonFamily> PrefixRouteListener<P> {
    /// Returns the listener for the leases of `table` in a server with the data folder `folder`.
    pub(super) fn new(table: Arc<LeaseTable<P>>, folder: PathBuf) -> Self {
        Self {
            table,
            journal_path: folder.join(JOURNAL),
            open: None,
            hops: BTreeMap::new(),
            refused: BTreeSet::new(),
            last_number: 0,
        }
    }

    /// Returns the delegated prefixes that are leased now.
    fn leased(&self) -> BTreeSet<DelegatedPrefix> {
        let mut prefixes = BTreeSet::new();
        self.table.for_each_lease(|lease| {
            if is_running(&lease) {
                prefixes.extend(P::delegated_prefix(lease.address));
            }
        });
        prefixes
    }

    /// Opens the kernel's table and the journal, and reads the next hops that are known.
    fn read(&mut self) -> io::Result<()> {
        let (journal, mut hops) = HopJournal::open(self.journal_path.clone())?;
        let mut kernel = RouteTable::open()?;
        for KernelRoute { prefix, next_hop } in kernel.list()? {
            hops.entry(prefix).or_insert_with(|| named(next_hop));
        }
        self.hops = hops;
        self.open = Some(OpenRoutes { kernel, journal });
        Ok(())
    }

    /// Makes the kernel's routes those of the leased prefixes.
    fn synchronize(&mut self) {
        let leased = self.leased();
        let outdated: Vec<_> =
            self.hops.keys().filter(|prefix| !leased.contains(prefix)).copied().collect();
        outdated.iter().for_each(|prefix| self.remove(prefix));
        let hops: Vec<_> = self.hops.iter().map(|(prefix, hop)| (*prefix, hop.clone())).collect();
        hops.into_iter().for_each(|(prefix, hop)| self.put(prefix, hop));
        tracing::info!(
            target: DHCPSRV,
            id = "DHCPSRV_PREFIX_ROUTES",
            "{} of {} delegated prefixes have a route",
            self.hops.len() - self.refused.len(),
            leased.len()
        );
        self.write();
    }

    /// Gives `prefix` the route by way of `hop`.
    fn put(&mut self, prefix: DelegatedPrefix, hop: NamedHop) {
        let Some(open) = &mut self.open else { return };
        let put =
            next_hop(&hop).and_then(|next_hop| open.kernel.put(&KernelRoute { prefix, next_hop }));
        match put {
            Ok(()) => {
                self.refused.remove(&prefix);
            }
            Err(error) => {
                if self.refused.insert(prefix) {
                    warn(
                        &format_args!("add the route of {prefix} by way of {}", hop.address),
                        &error,
                    );
                }
            }
        }
        if self.hops.get(&prefix) != Some(&hop) {
            open.journal.note(&prefix, Some(&hop));
            self.hops.insert(prefix, hop);
        }
    }

    fn remove(&mut self, prefix: &DelegatedPrefix) {
        let Some(open) = &mut self.open else { return };
        self.refused.remove(prefix);
        if self.hops.remove(prefix).is_none() {
            return;
        }
        open.journal.note(prefix, None);
        if let Err(error) = open.kernel.remove(prefix) {
            warn(&format_args!("remove the route of {prefix}"), &error);
        }
    }

    fn write(&mut self) {
        let Some(open) = &mut self.open else { return };
        if let Err(error) = open.journal.write(&self.hops) {
            warn(&format_args!("write {}", self.journal_path.display()), &error);
        }
    }

    fn follow(&mut self, event: &LeaseEvent<P>) {
        let change = &event.change;
        let Some(prefix) = P::delegated_prefix(change.address) else { return };
        if !change.after.as_ref().is_some_and(is_running) {
            self.remove(&prefix);
            return;
        }
        // A command that changes a lease does not change the way to its client.
        if let Some(hop) = hop_of(event) {
            self.put(prefix, hop);
        }
    }
}

fn is_running<P: DaemonFamily>(lease: &Lease<P>) -> bool {
    lease.state == LeaseState::Assigned
}

/// Returns the router that the message of `event` came from; `None` for a change by a command.
fn hop_of<P: DaemonFamily>(event: &LeaseEvent<P>) -> Option<NamedHop> {
    let record = event.change.exchange.as_ref()?.record()?;
    let IpAddr::V6(address) = record.ingress.source.ip() else { return None };
    let is_local = address.is_unicast_link_local();
    let interface = if is_local { record.ingress.interface } else { 0 };
    Some(named(NextHop { address, interface }))
}

/// Returns `hop` with the name of its interface.
fn named(hop: NextHop) -> NamedHop {
    let present = netio::interface::list().unwrap_or_default();
    let name = present.into_iter().find(|one| hop.interface != 0 && one.index == hop.interface);
    let interface = name.map_or_else(|| "-".to_owned(), |one| one.name);
    NamedHop { address: hop.address, interface }
}

/// Returns `hop` with the index that its interface has now.
fn next_hop(hop: &NamedHop) -> io::Result<NextHop> {
    if hop.interface == "-" {
        return Ok(NextHop { address: hop.address, interface: 0 });
    }
    let present = netio::interface::list()?;
    let interface = present.into_iter().find(|one| one.name == hop.interface);
    let missing = || io::Error::other(format!("there is no interface {}", hop.interface));
    Ok(NextHop { address: hop.address, interface: interface.ok_or_else(missing)?.index })
}

fn warn(tried: &fmt::Arguments<'_>, error: &io::Error) {
    tracing::warn!(target: DHCPSRV, id = "DHCPSRV_PREFIX_ROUTE_FAILED", "cannot {tried}: {error}");
}

impl<P: DaemonFamily> EventListener<P> for PrefixRouteListener<P> {
    fn name(&self) -> &'static str {
        "prefix-routes"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(WAITING_MAX)
    }

    fn begin(&mut self, context: &FeedFacts) {
        self.last_number = context.last_number;
        match self.read() {
            Ok(()) => self.synchronize(),
            Err(error) => warn(&format_args!("set up the routes of delegated prefixes"), &error),
        }
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        let first_number = events.first().map_or(0, |event| event.number);
        let is_any_lost = first_number > self.last_number + 1;
        events.iter().for_each(|event| self.follow(event));
        self.last_number = events.last().map_or(self.last_number, |event| event.number);
        if is_any_lost {
            self.synchronize();
        }
        self.write();
    }

    fn end(&mut self) {
        let prefixes: Vec<_> = self.hops.keys().copied().collect();
        prefixes.iter().for_each(|prefix| self.remove(prefix));
        self.write();
    }
}
