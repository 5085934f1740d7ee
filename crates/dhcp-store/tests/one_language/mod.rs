//! Tests that stored leases are read back unchanged, from lease files and from each database:
//! leases that the engine makes of hostile messages, under configurations that shape them.
//!
//! `GODWIT_FUZZ_CASES=n` makes n leases, `GODWIT_SIM_SEED=s` starts with another seed.

mod v4;
mod v6;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use base::{Now, Random};
use dhcp_config::IncludeResolver;
use dhcp_engine::{InFlight, Protocol, ReplySink, Shard, ShardCounters};
use dhcp_lease::testing::{ManualLog, ManualStore};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseTable};
use dhcp_store::database::operation::{self, Operation};
use dhcp_store::memfile::{RowFileFormat, encode_row, load_file, newest};
use dhcp_store::sql::row::RowLayout;
use dhcp_store::sql::{Database, Schema, SharedRows, SqlDatabaseKind};
use dhcp_store::storage::DiskStorage;
use dhcp_store::store::Cause;
use testbed::TestProgress;
use testkit::TempFolder;

use crate::sql::{SqlTestDatabases, open};

/// Number of leases that are made before they go to a store, as many as a busy server writes at
/// once.
const AT_ONCE: usize = 5_000;
/// Most rounds of leases that wait for a database.
const WAITING_MAX: usize = 2;
/// Number of messages per lease after which a configuration counts as making none.
const MESSAGES_MAX: u64 = 40;

/// Family whose clients are hostile.
trait HostileClientFamily: Protocol + SharedRows {
    /// Returns configurations that shape leases, each with all values that a lease may keep.
    fn configurations() -> Vec<String>;

    fn compile(text: &str, table: &LeaseTable<Self>) -> dhcp_engine::snapshot::Snapshot<Self>;

    /// Returns the next message of a client, given the reply to the previous one, and how it
    /// arrives.
    fn message(random: &mut Random, reply: Option<&[u8]>) -> (Vec<u8>, Self::Ingress);

    /// Returns `lease` at an address that clients get only by this function, a different one for
    /// each `number`.
    fn moved(lease: Lease<Self>, number: u32) -> Lease<Self>;

    /// Returns `lease` as far as lease files keep it: names in lower case, no type for a hardware
    /// address without bytes, in DHCPv4 no type at all.
    fn as_filed(lease: &Lease<Self>) -> Lease<Self>;

    /// Returns `lease` as far as a table of this layout keeps it.
    fn as_tabled(lease: &Lease<Self>, layout: RowLayout) -> Lease<Self>;
}

struct HostileIncludeResolver;

impl IncludeResolver for HostileIncludeResolver {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }
}

#[derive(Default)]
struct HostileTestReplies(Vec<Vec<u8>>);

impl<P: Protocol> ReplySink<P> for HostileTestReplies {
    fn transmit(&mut self, _: P::Destination, _: P::Ingress, octets: &[u8]) -> bool {
        self.0.push(octets.to_vec());
        true
    }
}

/// Server whose rows are safe as soon as they are logged.
struct HostileTestServer<P: HostileClientFamily> {
    now: Now,
    shard: Shard<P, ManualStore<P>>,
    counters: Arc<ShardCounters<P>>,
    log: Arc<ManualLog<P>>,
}

impl<P: HostileClientFamily> HostileTestServer<P> {
    fn new(configuration: &str) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        let snapshot = Arc::new(P::compile(configuration, &table));
        let log = Arc::new(ManualLog::default());
        let store = ManualStore::new(table, Arc::clone(&log));
        let shard = Shard::new(store, snapshot, Arc::new(InFlight::new(7, 64)));
        let counters = shard.counters();
        let now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
        Self { now, shard, counters, log }
    }

    fn ask(&mut self, octets: &[u8], ingress: P::Ingress) -> Option<Vec<u8>> {
        let mut replies = HostileTestReplies::default();
        self.shard.handle(self.now, octets, ingress, &mut replies);
        for _ in 0..3 {
            self.shard.end_batch(self.now, &mut replies);
            self.log.settle_all();
        }
        self.now = self.now.after_ns(1_000_000);
        replies.0.pop()
    }

    /// Returns `count` leases, and all that were logged with them.
    fn leases(&mut self, count: usize, random: &mut Random) -> Vec<Lease<P>> {
        let (mut leases, mut reply) = (Vec::new(), None);
        for _ in 0..count as u64 * MESSAGES_MAX {
            let (octets, ingress) = P::message(random, reply.as_deref());
            reply = self.ask(&octets, ingress);
            leases.extend(self.log.take_rows());
            if leases.len() >= count {
                return leases;
            }
        }
        let counted: Vec<_> = self.counters.entries().collect();
        panic!("{} leases of {count}: {counted:?}", leases.len());
    }
}

/// Passes leases of all configurations to `check` as they are made, some thousands at a time.
fn all_leases<P: HostileClientFamily>(mut check: impl FnMut(Vec<Lease<P>>)) -> u64 {
    let cases = number("GODWIT_FUZZ_CASES", 2_400);
    let seed = number("GODWIT_SIM_SEED", 1);
    println!("seed {seed}, {cases} cases");
    let configurations = P::configurations();
    let mut random = Random::from_seed(seed);
    let mut progress = TestProgress::new(cases);
    let (mut omissions, mut done) = (0, 0);
    for configuration in &configurations {
        let mut engine = HostileTestServer::<P>::new(configuration);
        let mut remaining = (cases as usize).div_ceil(configurations.len());
        while remaining > 0 {
            let leases = engine.leases(remaining.min(AT_ONCE), &mut random);
            remaining = remaining.saturating_sub(leases.len());
            done += leases.len() as u64;
            check(leases);
            progress.write(done);
        }
        omissions += engine.counters.omissions().map(|(_, count)| count).sum::<u64>();
    }
    omissions
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Gives every lease an address of its own: there are few clients, which get the same addresses
/// again and again, and only the last lease of an address would be read back.
fn apart<P: HostileClientFamily>(leases: Vec<Lease<P>>) -> Vec<Lease<P>> {
    let mut addresses = BTreeSet::new();
    let numbered = (0..).zip(leases);
    let own_or_other =
        numbered.map(
            |(number, lease)| {
                if addresses.insert(lease.address) { lease } else { P::moved(lease, number) }
            },
        );
    own_or_other.collect()
}

fn newest_of<P: HostileClientFamily>(
    leases: &[Lease<P>],
    as_stored: impl Fn(&Lease<P>) -> Lease<P>,
) -> BTreeMap<P::Address, Lease<P>> {
    let mut newest: BTreeMap<P::Address, Lease<P>> =
        leases.iter().map(|lease| (lease.address, as_stored(lease))).collect();
    newest.retain(|_, lease| !lease.is_deleted());
    newest
}

/// Checks lease files, and the lines that go to the thread of a database.
fn come_back_from_files<P: HostileClientFamily>() {
    let folder = TempFolder::new("language");
    let path = folder.path().join("leases.csv");
    let omissions = all_leases::<P>(|leases| {
        through_file::<P>(&apart::<P>(leases), &path);
    });
    assert!(omissions > 0, "something did not fit");
}

fn through_file<P: HostileClientFamily>(leases: &[Lease<P>], path: &Path) {
    let mut file = Vec::new();
    newest::<P>().encode_header(&RowFileFormat::for_family::<P>(), &mut file);
    for lease in leases {
        encode_row::<P>(&lease.row(), newest::<P>(), &mut file);
        let mut line = Vec::new();
        operation::write::<P>(&Cause::Put, &lease.row(), &mut line);
        let read = operation::read::<P>(line.strip_suffix(b"\n").unwrap());
        let Ok(Operation::Write(write)) = &read else { panic!("{lease:?}: {read:?}") };
        if !lease.is_deleted() {
            assert_eq!(write.lease, P::as_filed(lease));
        }
    }
    std::fs::write(path, &file).unwrap();
    let loaded = load_file::<P>(&DiskStorage, path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((loaded.1.bad_rows, loaded.1.rubbish_rows), (0, 0), "{:?}", loaded.1.errors);
    let newest = newest_of::<P>(leases, P::as_filed);
    let read: BTreeMap<_, _> = loaded.0.into_iter().map(|lease| (lease.address, lease)).collect();
    for (address, lease) in &newest {
        assert!(read.get(address) == Some(lease), "{lease:?} is read as {:?}", read.get(address));
    }
}

/// Checks tables of a database of each version, each written by a thread of its own: leases are
/// made once for all of them.
fn come_back_from_tables<P: HostileClientFamily>(backend: SqlDatabaseKind) {
    let Some(test_databases) = SqlTestDatabases::new(backend, "language") else { return };
    let versions = Schema::ALL.into_iter().filter(|schema| schema.statements(backend).is_some());
    let databases: Vec<(Database, RowLayout)> = versions
        .map(|schema| {
            let name = format!("language_{}_{schema:?}", P::PACKETS).to_lowercase();
            let mut database = open(&test_databases.create(&name));
            database.install(schema).unwrap();
            let layout = database.layout().unwrap();
            (database, layout)
        })
        .collect();
    std::thread::scope(|scope| {
        let writers: Vec<_> = databases
            .into_iter()
            .map(|(mut database, layout)| {
                let (sender, rounds) = sync_channel::<Arc<Vec<Lease<P>>>>(WAITING_MAX);
                scope.spawn(move || {
                    for leases in rounds {
                        through_table::<P>(&mut database, layout, &leases);
                    }
                });
                sender
            })
            .collect();
        all_leases::<P>(|leases| {
            let round = Arc::new(apart::<P>(leases));
            for writer in &writers {
                writer.send(Arc::clone(&round)).expect("no lease was lost or changed so far");
            }
        });
    });
}

fn through_table<P: HostileClientFamily>(
    database: &mut Database,
    layout: RowLayout,
    leases: &[Lease<P>],
) {
    let written = newest_of::<P>(leases, Clone::clone);
    let rows: Vec<Lease<P>> = written.values().cloned().collect();
    database.begin().unwrap();
    database.upsert_many::<P>(layout, &rows).unwrap_or_else(|error| panic!("{error}: {rows:?}"));
    database.commit().unwrap();
    let mut read = BTreeMap::new();
    let loaded = database.load_all::<P>(layout, |lease| {
        read.insert(lease.address, lease);
        Ok(())
    });
    assert_eq!(loaded.unwrap().bad_rows, 0);
    for (address, lease) in &written {
        let expected = P::as_tabled(lease, layout);
        assert!(read.get(address) == Some(&expected), "{expected:?} is {:?}", read.get(address));
    }
    let addresses: Vec<P::Address> = written.into_keys().collect();
    database.delete_many::<P>(layout, &addresses).unwrap();
}

macro_rules! all_stores {
    ($family:ident, $kind:ty) => {
        mod $family {
            use super::*;

            #[test]
            fn leases_come_back_from_files() {
                come_back_from_files::<$kind>();
            }

            #[test]
            fn leases_come_back_from_mariadb() {
                come_back_from_tables::<$kind>(SqlDatabaseKind::Mysql);
            }

            #[test]
            fn leases_come_back_from_postgresql() {
                come_back_from_tables::<$kind>(SqlDatabaseKind::Postgresql);
            }

            #[test]
            fn leases_come_back_from_sqlite() {
                come_back_from_tables::<$kind>(SqlDatabaseKind::Sqlite);
            }
        }
    };
}

mod stores {
    use super::*;
    all_stores!(of_dhcpv4, V4);
    all_stores!(of_dhcpv6, V6);
}
