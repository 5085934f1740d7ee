//! Reservations in databases: the server connects when it starts, and one thread looks hosts up for
//! all shards.

mod administration;
mod document;
mod row;
mod row_reports;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Now;
use base::time::NS_PER_MS;
use dhcp_config::{GlobalSettings, SqlDatabase};
use dhcp_engine::hosts::{
    CacheLimits, ChangedHosts, FoundHost, HostAnswer, HostCache, HostKey, HostSource,
    ReservationScope,
};
use dhcp_store::database::DatabaseError;
use dhcp_store::hosts::{
    ChangedKeys, Directory, HostsPolicy, LookupThread, Lookups, ShardLookups, SqlHosts,
};
use dhcp_store::sql::{HostQuery, SqlSettings};
use netio::Clock;
use serde_json::Value;

use crate::ServerError;
use crate::leases;
use crate::log::counted;
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;
use administration::HostAdministration;
pub(crate) use document::host_row;
pub(crate) use row_reports::HostRowCounts;
use row_reports::RowReports;

/// Lookups of reservations by host key, with the hosts found.
type LookupsOf<P> = Lookups<HostKey<<P as dhcp_lease::Family>::Address>, FoundHost<P>>;

/// Databases of reservations, with the thread that queries them.
pub(crate) struct HostsDatabases<P: DaemonFamily> {
    lookups: Arc<LookupsOf<P>>,
    thread: LookupThread,
    definitions: OptionDefinitionList,
    limits: CacheLimits,
    row_counts: Arc<HostRowCounts>,
    administration: HostAdministration,
}

/// Option definitions (`option-def`) of the configuration in force, as a JSON list, by which
/// options of hosts are parsed.
#[derive(Clone, Debug, Default)]
struct OptionDefinitionList(Arc<Mutex<String>>);

impl OptionDefinitionList {
    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow(&self, document: &Value) {
        let roots = document.as_object().into_iter().flat_map(|roots| roots.values());
        let list = roots.filter_map(|root| root.get("option-def")).next();
        *self.lock() = list.map_or_else(|| "[]".to_owned(), Value::to_string);
    }
}

impl<P: DaemonFamily> HostsDatabases<P> {
    /// Connects to the databases of `config` and starts the lookup thread; returns `None` if
    /// `config` has no such databases. The thread calls `wake` with the number of a shard that has
    /// an answer.
    pub(crate) fn open(
        config: &GlobalSettings,
        document: &Value,
        shards: usize,
        wake: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Option<Self>, ServerError> {
        if config.hosts_databases.is_empty() {
            return Ok(None);
        }
        let definitions = OptionDefinitionList::default();
        definitions.follow(document);
        let databases = databases(config)?;
        let administration = HostAdministration::new::<P>(&config.hosts_databases, &databases);
        let hosts = connect::<P>(config, databases)?;
        let row_counts = Arc::<HostRowCounts>::default();
        let catalog = Catalog::<P> {
            hosts,
            definitions: definitions.clone(),
            reports: RowReports::new(Arc::clone(&row_counts)),
            family: PhantomData,
        };
        let lookups = LookupsOf::<P>::new(shards, wake);
        let thread = LookupThread::start(Arc::clone(&lookups), catalog, Box::new(Clock::now))
            .map_err(|cause| ServerError::System {
                tried: "start the thread of the hosts databases",
                cause,
            })?;
        let own = config.godwit.hosts_databases;
        let limits = CacheLimits {
            keys_max: own.cache_keys as usize,
            lifetime_ns: u64::from(own.cache_lifetime_ms) * NS_PER_MS,
        };
        Ok(Some(Self { lookups, thread, definitions, limits, row_counts, administration }))
    }

    /// Returns the live counts of database rows that are not complete reservations.
    pub(crate) fn row_counts(&self) -> Arc<HostRowCounts> {
        Arc::clone(&self.row_counts)
    }

    /// Creates the cache of database hosts for shard number `shard`, with the seed `seed`.
    pub(crate) fn cache(&self, shard: usize, seed: u64) -> HostCache<P> {
        let source = ShardHosts(ShardLookups::new(Arc::clone(&self.lookups), shard));
        HostCache::new(Box::new(source), self.limits, seed)
    }

    /// Parses options of hosts by the definitions (`option-def`) of the configuration `document`
    /// from now on.
    pub(crate) fn follow(&self, document: &Value) {
        self.definitions.follow(document);
    }

    /// Logs the problems of the lookup thread.
    pub(crate) fn report_problems(&self) {
        if let Some(problem) = self.thread.take_problem() {
            tracing::error!(target: DHCPSRV, id = "DHCPSRV_HOSTS_DATABASE_FAILED", "{problem}");
        }
    }
}

/// Returns the settings of the databases of reservations that `config` names.
fn databases(config: &GlobalSettings) -> Result<Vec<(SqlSettings, HostsPolicy)>, ServerError> {
    let read = |database: &SqlDatabase| {
        let policy = HostsPolicy { wait_ms: database.reconnect_wait_time_ms };
        Ok((leases::sql_settings(config, database)?, policy))
    };
    config.hosts_databases.iter().map(read).collect()
}

/// Connects to all databases of reservations.
fn connect<P: DaemonFamily>(
    config: &GlobalSettings,
    databases: Vec<(SqlSettings, HostsPolicy)>,
) -> Result<SqlHosts, ServerError> {
    for (settings, _) in &databases {
        let id = "DHCPSRV_HOSTS_DATABASE_OPEN";
        tracing::info!(target: DHCPSRV, id, "opening the {settings} for reservations");
    }
    let mut hosts = SqlHosts::new(P::HOST_FAMILY, databases);
    let is_retried = |database: &&SqlDatabase| database.retries_on_startup;
    let patient = config.hosts_databases.iter().filter(is_retried);
    let mut tries_left = patient.clone().map(|one| one.max_reconnect_tries).max().unwrap_or(0);
    let wait_ms = patient.map(|one| one.reconnect_wait_time_ms).max().unwrap_or(0);
    loop {
        match hosts.connect(Clock::now()) {
            Ok(()) => return Ok(hosts),
            Err(error) if tries_left > 0 => {
                let attempts = counted(tries_left as usize, "attempt");
                tracing::warn!(
                    target: DHCPSRV, id = "DHCPSRV_HOSTS_DATABASE_RETRY", "{error}; {attempts} left"
                );
                tries_left -= 1;
                std::thread::sleep(Duration::from_millis(wait_ms.into()));
            }
            Err(error) => return Err(ServerError::Hosts(error.to_string())),
        }
    }
}

/// Host source of one shard: its lookups in the databases of reservations.
#[derive(Debug)]
struct ShardHosts<P: DaemonFamily>(ShardLookups<HostKey<P::Address>, FoundHost<P>>);

impl<P: DaemonFamily> HostSource<P> for ShardHosts<P> {
    fn request(&mut self, keys: Vec<HostKey<P::Address>>) -> u64 {
        self.0.request(keys)
    }

    fn take(&mut self) -> Option<HostAnswer<P>> {
        let answer = self.0.take_result()?;
        let is_failed = answer.results.is_none();
        Some(HostAnswer {
            batch: answer.batch,
            is_failed,
            hosts_by_key: answer.results.unwrap_or_default(),
        })
    }

    fn take_changed(&mut self) -> ChangedHosts<P::Address> {
        match self.0.take_changed() {
            ChangedKeys::Keys(keys) => ChangedHosts::Keys(keys),
            ChangedKeys::All => ChangedHosts::All,
        }
    }
}

/// Directory of the lookup thread: the databases of reservations.
struct Catalog<P: DaemonFamily> {
    hosts: SqlHosts,
    definitions: OptionDefinitionList,
    reports: RowReports,
    family: PhantomData<P>,
}

impl<P: DaemonFamily> Directory<HostKey<P::Address>, FoundHost<P>> for Catalog<P> {
    fn find(
        &mut self,
        now: Now,
        keys: &[HostKey<P::Address>],
        visit: &mut dyn FnMut(usize, FoundHost<P>),
    ) -> Result<(), DatabaseError> {
        let query = |key: &HostKey<P::Address>| match key {
            HostKey::Identifier(kind, octets) => {
                HostQuery::Identifier(*kind as u8, octets.to_vec())
            }
            HostKey::Address(address) => HostQuery::Address(P::address_key(*address).into()),
        };
        let queries: Vec<HostQuery> = keys.iter().map(query).collect();
        let mut positions: BTreeMap<&HostQuery, Vec<usize>> = BTreeMap::new();
        for (at, query) in queries.iter().enumerate() {
            // An address and a prefix may begin with the same address.
            positions.entry(query).or_default().push(at);
        }
        let (mut hosts, mut faults) = (Vec::new(), Vec::new());
        self.hosts.find(now, &queries, &mut hosts, &mut faults)?;
        for fault in faults {
            self.reports.report_ignored("a row of a hosts database", &fault.to_string());
        }
        for host in &hosts {
            let key_positions: Vec<usize> = host
                .queries()
                .filter_map(|query| positions.get(&query))
                .flatten()
                .copied()
                .collect();
            if key_positions.is_empty() {
                continue;
            }
            let text = row::to_json(host, P::VERSION).to_string();
            let read = P::read_host(&self.definitions.lock(), &text);
            let reservation = match read {
                Ok((reservation, warnings)) => {
                    for warning in warnings {
                        self.reports.report_partial(&row::identity(host), &warning.message);
                    }
                    Arc::new(reservation)
                }
                Err(problems) => {
                    let why = problems.first().map_or("", |problem| &problem.message);
                    self.reports.report_ignored(&row::identity(host), why);
                    continue;
                }
            };
            let scope = match host.subnet_id {
                0 => ReservationScope::Global,
                id => ReservationScope::Subnet(id),
            };
            key_positions.into_iter().for_each(|at| visit(at, (scope, Arc::clone(&reservation))));
        }
        Ok(())
    }
}
