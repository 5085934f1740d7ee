//! Tests that the steady packet path allocates nothing: complete exchanges and renewals through a
//! shard with a lease file, counted by the allocator on the thread that serves.

#![allow(unreachable_pub, reason = "modules of a test binary")]

mod v4;
mod v6;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use base::Now;
use base::time::NS_PER_S;
use dhcp_engine::{InFlight, InterfaceNames, Protocol, Shard};
use dhcp_lease::LeaseTable;
use dhcp_store::MemfileStore;
use dhcp_store::log::{CoreOptions, LogThread, LogThreadOptions, RowDurability, SharedLogState};
use dhcp_store::memfile::{LeaseFileFamily, Memfile, OpenOptions};
use dhcp_store::storage::DiskStorage;
use testkit::TempFolder;

/// Index of the interface with the direct clients.
const INTERFACE: u32 = 3;

const START: Now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };

/// Location of the clients.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ClientAttachment {
    /// The clients are behind a relay agent.
    Relayed,
    /// The clients are on the server's own link.
    Direct,
}

/// The last reply.
struct LastReply {
    octets: [u8; 1500],
    len: usize,
}

impl LastReply {
    const NONE: Self = Self { octets: [0; 1500], len: 0 };

    fn keep(&mut self, octets: &[u8]) {
        self.octets[..octets.len()].copy_from_slice(octets);
        self.len = octets.len();
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

/// Clients of one family.
trait AllocationClients: Protocol + LeaseFileFamily {
    /// Name of the family, for files.
    const NAME: &'static str;
    /// Keeper of the last reply.
    type Outlet;

    /// Compiles the configuration. Its pools are small enough for the table to create all slots at
    /// once; slots of larger pools are created 32 at a time when first given.
    fn compile(table: &LeaseTable<Self>) -> dhcp_engine::snapshot::Snapshot<Self>;

    /// Creates an outlet without a reply.
    fn outlet() -> Self::Outlet;

    /// Runs one exchange and one renewal for each of `clients`; returns the number of acknowledged
    /// messages.
    fn attend(
        shard: &mut Shard<Self, MemfileStore<Self>>,
        link: ClientAttachment,
        now: Now,
        clients: Range<u32>,
        outlet: &mut Self::Outlet,
    ) -> usize;
}

fn exchanges_and_renewals_allocate_nothing<P: AllocationClients>() {
    let folder = TempFolder::new(&format!("allocation-{}", P::NAME));
    let table = Arc::new(LeaseTable::new(1));
    let snapshot = Arc::new(P::compile(&table));
    let path = folder.path().join("leases.csv");
    let (memfile, ..) =
        Memfile::open::<P>(Arc::new(DiskStorage), &path, OpenOptions::default()).expect("it opens");
    // Without flushes the shard writes its rows itself, so that one thread does all work.
    let core = CoreOptions { durability: RowDurability::None, lfc_interval_s: 0 };
    let options = LogThreadOptions { core, ..LogThreadOptions::default() };
    let log_thread = Arc::<OnceLock<PathBuf>>::default();
    let log_thread_path = Arc::clone(&log_thread);
    let clock = Box::new(move || {
        if thread::current().name() == Some("lease-log") {
            log_thread_path
                .get_or_init(|| fs::read_link("/proc/thread-self").expect("Linux has it"));
        }
        netio::Clock::now()
    });
    let log = LogThread::start(SharedLogState::new(1, |_| ()), memfile, options, clock)
        .expect("it starts");
    // While the log's thread looks what there is to do, the shard leaves its rows to that thread.
    while !log_thread.get().is_some_and(|task| is_asleep(task)) {
        thread::yield_now();
    }
    let store = MemfileStore::new(Arc::clone(&table), log.shard(0));
    let mut shard = Shard::new(store, snapshot, Arc::new(InFlight::new(1, 1024)));
    shard.set_interfaces(Arc::new(InterfaceNames::new([(INTERFACE, "eth0")])));
    let mut outlet = P::outlet();

    // The first exchanges grow buffers to their working size.
    assert_eq!(
        P::attend(&mut shard, ClientAttachment::Relayed, START, 0..2_000, &mut outlet),
        4_000
    );
    let later = START.after_ns(NS_PER_S);
    for (link, clients) in
        [(ClientAttachment::Relayed, 1_000..22_000), (ClientAttachment::Direct, 21_000..42_000)]
    {
        let mut acknowledged = 0;
        let counted = allocation_counter::measure(|| {
            acknowledged = P::attend(&mut shard, link, later, clients, &mut outlet);
        });
        assert_eq!(acknowledged, 42_000, "{link:?}");
        assert_eq!(counted.count_total, 0, "{link:?}: {counted:?}");
    }
    drop(shard);
    log.stop().expect("all is written");
}

/// Returns whether the thread with this folder below `/proc` sleeps (proc_pid_stat(5)).
fn is_asleep(task: &Path) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(task).join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, fields)| fields.starts_with(" S "))
}

#[test]
fn dhcpv4_allocates_nothing() {
    exchanges_and_renewals_allocate_nothing::<dhcp_lease::v4::V4>();
}

#[test]
fn dhcpv6_allocates_nothing() {
    exchanges_and_renewals_allocate_nothing::<dhcp_lease::v6::V6>();
}
