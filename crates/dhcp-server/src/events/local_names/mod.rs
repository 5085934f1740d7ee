//! Names of leases and reservations for resolvers on the server's machine: a listener that keeps
//! the name of each address, and a thread that writes them to a hosts file and to Unbound.
//!
//! The thread writes after each change, and rests ten times as long as that took: so a resolver is
//! current within a fraction of a second, and many names do not keep a processor busy.

mod hosts_file;
mod unbound;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dhcp_config::{DhcpConfig, LocalNames, is_local_label};
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_lease::{ExchangeDetail, Lease, LeaseState, LeaseTable};

use super::{Deferral, EventListener, FeedFacts, WAITING_MAX};
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;
use hosts_file::HostsFile;
use unbound::UnboundControl;

/// Folder of the hosts files in the server's data folder: it has nothing else, so that a resolver
/// can read all of it.
const FOLDER: &str = "local-names";
/// Shortest rest between two exports.
const REST_MIN: Duration = Duration::from_millis(100);
/// Time after which the thread looks whether Unbound has started again.
const LOOK: Duration = Duration::from_secs(5);

/// Names in lower case, without the last dot, by address.
type NamesByAddress = BTreeMap<IpAddr, Box<str>>;

/// Names as the listener has them, for the thread that exports them.
#[derive(Default)]
struct CurrentNames {
    names: NamesByAddress,
    /// Number of changes so far.
    version: u64,
    is_ending: bool,
}

#[derive(Default)]
struct SharedNames {
    current: Mutex<CurrentNames>,
    has_changed: Condvar,
}

impl SharedNames {
    fn current(&self) -> MutexGuard<'_, CurrentNames> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listener that keeps the names of addresses.
pub(super) struct LocalNamesListener<P: DaemonFamily> {
    table: Arc<LeaseTable<P>>,
    config: LocalNames,
    hosts_path: PathBuf,
    /// Names of addresses that are reserved in the configuration.
    reserved: NamesByAddress,
    shared: Arc<SharedNames>,
    exporter: Option<JoinHandle<NamesExporter>>,
    last_number: u64,
}

impl<P: DaemonFamily> LocalNamesListener<P> {
    /// Returns the listener that `config` asks for, if it does, for the leases of `table`.
    pub(super) fn new(table: &Arc<LeaseTable<P>>, config: &DhcpConfig<P>) -> Option<Self> {
        let local_names = config.global.godwit.local_names.clone()?;
        let hosts_path =
            P::data_folder(config).join(FOLDER).join(format!("{}.hosts", P::LOCAL_NAMES));
        let reserved = P::reserved_names(config).into_iter();
        let named = |(address, name): (IpAddr, &str)| {
            Some((address, full_name(name, &local_names.domain)?))
        };
        Some(Self {
            table: Arc::clone(table),
            reserved: reserved.filter_map(named).collect(),
            config: local_names,
            hosts_path,
            shared: Arc::default(),
            exporter: None,
            last_number: 0,
        })
    }

    /// Returns the name of the client of `lease`, if it is in use and has one.
    fn name_of(&self, lease: &Lease<P>) -> Option<Box<str>> {
        let is_running = matches!(lease.state, LeaseState::Assigned | LeaseState::Registered);
        full_name(&lease.hostname, &self.config.domain).filter(|_| is_running)
    }

    /// Makes the names those of the reservations and of the leases of now.
    fn read_all(&self) {
        let mut names = self.reserved.clone();
        self.table.for_each_lease(|lease| {
            let name = self.name_of(&lease);
            names.extend(P::host_address(lease.address).zip(name));
        });
        let mut current = self.shared.current();
        current.names = names;
        current.version += 1;
    }

    fn follow(&self, event: &LeaseEvent<P>) {
        let change = &event.change;
        let Some(address) = P::host_address(change.address) else { return };
        let leased = change.after.as_ref().and_then(|lease| self.name_of(lease));
        let name = leased.or_else(|| self.reserved.get(&address).cloned());
        let mut current = self.shared.current();
        if current.names.get(&address) == name.as_ref() {
            return;
        }
        match name {
            Some(name) => current.names.insert(address, name),
            None => current.names.remove(&address),
        };
        current.version += 1;
    }

    /// Ends the thread that exports, and returns what it exports to.
    fn stop(&mut self) -> Option<NamesExporter> {
        self.shared.current().is_ending = true;
        self.shared.has_changed.notify_all();
        let exporter = self.exporter.take()?;
        Some(exporter.join().expect("a thread that panics ends the process"))
    }
}

/// Returns the name `name`, in `domain` if it is one label, in lower case and without the last dot;
/// `None` if it is no name of a host (RFC 952, RFC 1123 §2.1; underscores are usual).
fn full_name(name: &str, domain: &str) -> Option<Box<str>> {
    let name = name.trim_end_matches('.');
    let full = if name.contains('.') || domain.is_empty() {
        name.to_ascii_lowercase()
    } else {
        format!("{name}.{domain}").to_ascii_lowercase()
    };
    (full.len() <= 253 && full.split('.').all(is_local_label)).then(|| full.into())
}

impl<P: DaemonFamily> EventListener<P> for LocalNamesListener<P> {
    fn name(&self) -> &'static str {
        "local-names"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::DropAbove(WAITING_MAX)
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::None
    }

    fn deferral(&self) -> Option<Deferral> {
        Some(Deferral::at_full_speed(WAITING_MAX / 2))
    }

    fn settings(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.reserved.hash(&mut hasher);
        format!("{:?} {} {:x}", self.config, self.hosts_path.display(), hasher.finish())
    }

    fn begin(&mut self, context: &FeedFacts) {
        self.last_number = context.last_number;
        self.read_all();
        let exporter = NamesExporter::new(&self.config, self.hosts_path.clone());
        let shared = Arc::clone(&self.shared);
        let started = exporter.and_then(|mut exporter| {
            let run = move || {
                exporter.run(&shared);
                exporter
            };
            std::thread::Builder::new().name("names-export".to_owned()).spawn(run)
        });
        match started {
            Ok(exporter) => self.exporter = Some(exporter),
            Err(error) => warn(&format_args!("export local names"), &error),
        }
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        let first_number = events.first().map_or(0, |event| event.number);
        if first_number > self.last_number + 1 {
            self.read_all();
        } else {
            events.iter().for_each(|event| self.follow(event));
        }
        self.last_number = events.last().map_or(self.last_number, |event| event.number);
        self.shared.has_changed.notify_all();
    }

    fn end(&mut self) {
        if let Some(mut exporter) = self.stop() {
            exporter.withdraw();
        }
    }
}

impl<P: DaemonFamily> Drop for LocalNamesListener<P> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Hosts file and Unbound, with the names that they have.
struct NamesExporter {
    hosts: HostsFile,
    unbound: Option<UnboundControl>,
    /// Names that Unbound has.
    exported: NamesByAddress,
    /// Time of the last export to Unbound.
    exported_at: Instant,
    /// True if Unbound may have only a part of `exported`.
    is_uncertain: bool,
    /// True if the last export to Unbound failed, and was logged.
    has_failed: bool,
}

impl NamesExporter {
    fn new(config: &LocalNames, hosts_path: PathBuf) -> io::Result<Self> {
        let hosts = HostsFile::new(hosts_path)?;
        let unbound = config.unbound_socket.as_ref();
        let unbound = unbound.map(|path| UnboundControl::new(PathBuf::from(path), config.ttl_s));
        // An earlier process of the server has exported these.
        let exported = hosts.read();
        let exported_at = Instant::now();
        Ok(Self { hosts, unbound, exported, exported_at, is_uncertain: true, has_failed: false })
    }

    /// Exports names until the listener ends, and the last ones then.
    fn run(&mut self, shared: &SharedNames) {
        let mut version = 0;
        loop {
            let mut current = shared.current();
            let mut waited = Duration::ZERO;
            while current.version == version && !current.is_ending && waited < LOOK {
                let begun = Instant::now();
                let rest = LOOK.saturating_sub(waited);
                current = shared
                    .has_changed
                    .wait_timeout(current, rest)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                waited += begun.elapsed();
            }
            let (is_ending, is_new) = (current.is_ending, current.version != version);
            version = current.version;
            if !is_new && (is_ending || self.unbound.is_none()) {
                drop(current);
                if is_ending {
                    return;
                }
                continue;
            }
            let names = current.names.clone();
            drop(current);
            let begun = Instant::now();
            self.export(&names, is_new);
            if !is_ending {
                let rest = REST_MIN.max(begun.elapsed() * 10);
                let current = shared.current();
                let _ended = shared
                    .has_changed
                    .wait_timeout_while(current, rest, |current| !current.is_ending)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Exports `names`: to the hosts file if `is_new`, and to Unbound what it lacks.
    fn export(&mut self, names: &NamesByAddress, is_new: bool) {
        if is_new && let Err(error) = self.hosts.write(names) {
            warn(&format_args!("write {}", self.hosts.path().display()), &error);
        }
        let exported = self.export_to_unbound(names);
        self.is_uncertain = exported.is_err();
        if let Err(error) = &exported
            && !self.has_failed
        {
            warn(&format_args!("change local data of Unbound"), error);
        }
        self.has_failed = exported.is_err();
    }

    fn export_to_unbound(&mut self, names: &NamesByAddress) -> io::Result<()> {
        let Some(unbound) = &self.unbound else { return Ok(()) };
        let uptime = Duration::from_secs(unbound.uptime_s()?);
        let has_restarted = uptime <= self.exported_at.elapsed();
        if self.is_uncertain || has_restarted {
            // Some changes may have been made: what is left of the old names goes first.
            unbound.change(&self.exported, &NamesByAddress::new())?;
            self.exported.clear();
        }
        if self.exported != *names {
            unbound.change(&self.exported, names)?;
            self.exported.clone_from(names);
        }
        self.exported_at = Instant::now();
        Ok(())
    }

    /// Removes the names from Unbound, and the hosts file.
    fn withdraw(&mut self) {
        self.export(&NamesByAddress::new(), false);
        if let Err(error) = self.hosts.remove() {
            warn(&format_args!("remove {}", self.hosts.path().display()), &error);
        }
    }
}

fn warn(tried: &fmt::Arguments<'_>, error: &io::Error) {
    tracing::warn!(target: DHCPSRV, id = "DHCPSRV_LOCAL_NAMES_FAILED", "cannot {tried}: {error}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_and_those_of_no_host_are_left_out() {
        let name = |text: &str| full_name(text, "lan.example").map(String::from);
        assert_eq!(name("Printer").as_deref(), Some("printer.lan.example"));
        assert_eq!(name("a.B.").as_deref(), Some("a.b"));
        for wrong in ["", ".", "a b", "a..b", "ä", "a;b", &"x".repeat(64), "a\nb"] {
            assert_eq!(name(wrong), None, "{wrong:?}");
        }
        assert_eq!(full_name("printer", "").as_deref(), Some("printer"));
    }
}
