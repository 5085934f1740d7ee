//! Exchanges per second of the server without its sockets (engine, lease table and lease file),
//! with one thread and with two, for both families:
//!
//! ```sh
//! cargo run --release -p dhcp-server --example scaling [THREADS] [ROUNDS] [--folder FOLDER]
//! ```
//!
//! An exchange is DISCOVER and REQUEST, or SOLICIT and REQUEST, in batches of 32, with durability
//! `none`: rows are written to the lease file and not flushed. The threads share one lease table,
//! one pool and one lease file, as shards do. Rounds with one thread and with several alternate (A
//! B B A), and the example prints medians, by the clock and by processor time of the threads.
//! Processor time is not disturbed by other work on the machine and excludes waiting for a lock.

#![allow(unreachable_pub, reason = "modules of an example")]

mod v4;
mod v6;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;

use dhcp_engine::{ArrivedDatagram, InFlight, Protocol, ReplySink, Shard};
use dhcp_lease::LeaseTable;
use dhcp_store::MemfileStore;
use dhcp_store::log::{CoreOptions, LogThread, LogThreadOptions, RowDurability, SharedLogState};
use dhcp_store::memfile::{LeaseFileFamily, Memfile, OpenOptions};
use dhcp_store::storage::DiskStorage;
use netio::Clock;

/// Messages per batch.
const BATCH: u32 = 32;
/// Exchanges of one thread per round.
const EXCHANGES: u32 = 16_000;
/// Distance between the first client numbers of two consecutive threads.
const CLIENTS_OF_THREAD: u32 = 4_000_000;
const ROUNDS: u32 = 12;

/// Messages of the clients of one family.
trait ScalingClients: Protocol<Ingress: Send, Destination: Send, Work: Send> + LeaseFileFamily {
    const NAME: &'static str;

    /// Compiles the configuration: one subnet with one pool.
    fn compile(table: &LeaseTable<Self>) -> dhcp_engine::snapshot::Snapshot<Self>;

    /// Returns the ingress of all messages.
    fn ingress() -> Self::Ingress;

    /// Writes the first message of client number `client` and returns its length in bytes.
    fn ask(buffer: &mut [u8], client: u32) -> usize;

    /// Writes the request for the lease that `offer` offers and returns its length in bytes.
    fn take(buffer: &mut [u8], offer: &[u8]) -> usize;

    /// Returns true if `reply` grants a lease.
    fn is_granted(reply: &[u8]) -> bool;
}

/// Replies of one batch, concatenated.
#[derive(Default)]
struct ScalingReplies {
    octets: Vec<u8>,
    ends: Vec<usize>,
}

impl ScalingReplies {
    fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.octets[begin..end])
    }
}

impl<P: ScalingClients> ReplySink<P> for ScalingReplies {
    fn transmit(&mut self, _: P::Destination, _: P::Ingress, octets: &[u8]) -> bool {
        self.octets.extend_from_slice(octets);
        self.ends.push(self.octets.len());
        true
    }
}

/// One shard with its clients.
struct ShardWithClients<P: ScalingClients> {
    shard: Shard<P, MemfileStore<P>>,
    replies: ScalingReplies,
    messages: Vec<([u8; 600], usize)>,
}

impl<P: ScalingClients> ShardWithClients<P> {
    fn serve(&mut self) {
        let now = Clock::now();
        self.replies.clear();
        let arrived = self.messages.iter().map(|(octets, len)| ArrivedDatagram {
            since_ns: now.mono_ns,
            octets: &octets[..*len],
            ingress: P::ingress(),
        });
        self.shard.handle_all(now, arrived, &mut self.replies);
        self.shard.end_batch(now, &mut self.replies);
        // A shard may still be writing rows of another shard along with its own: wait for them.
        while self.replies.ends.len() < self.messages.len() {
            thread::yield_now();
            self.shard.end_batch(now, &mut self.replies);
        }
    }

    /// Runs the exchanges of all of `clients` and returns nanoseconds of processor time.
    fn attend(&mut self, clients: Range<u32>) -> u64 {
        let begun_ns = Clock::thread_cpu_ns();
        let mut granted = 0;
        for first in clients.clone().step_by(BATCH as usize) {
            self.messages.clear();
            for client in first..first + BATCH {
                let mut buffer = [0; 600];
                let len = P::ask(&mut buffer, client);
                self.messages.push((buffer, len));
            }
            self.serve();
            self.messages.clear();
            for offer in self.replies.iter() {
                let mut buffer = [0; 600];
                let len = P::take(&mut buffer, offer);
                self.messages.push((buffer, len));
            }
            self.serve();
            granted += self.replies.iter().filter(|reply| P::is_granted(reply)).count();
        }
        assert_eq!(granted, clients.len(), "every client has a lease");
        Clock::thread_cpu_ns() - begun_ns
    }
}

/// Server with one shard per thread.
struct ScalingServer<P: ScalingClients> {
    halves: Vec<ShardWithClients<P>>,
    _log: LogThread,
}

/// Nanoseconds per exchange, by the clock and by processor time.
#[derive(Clone, Copy)]
struct ExchangeCost {
    wall_ns: f64,
    cpu_ns: f64,
}

impl<P: ScalingClients> ScalingServer<P> {
    fn start(threads: u32, folder: &Path) -> Self {
        let table = Arc::new(LeaseTable::new(1));
        let snapshot = Arc::new(P::compile(&table));
        let path = folder.join(format!("{}-{threads}.csv", P::NAME));
        let (memfile, ..) =
            Memfile::open::<P>(Arc::new(DiskStorage), &path, OpenOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
        let core = CoreOptions { durability: RowDurability::None, lfc_interval_s: 0 };
        let options = LogThreadOptions { core, ..LogThreadOptions::default() };
        let shards = SharedLogState::new(threads as usize, |_| ());
        let log = LogThread::start(shards, memfile, options, Box::new(Clock::now))
            .unwrap_or_else(|error| panic!("{error}"));
        let in_flight = Arc::new(InFlight::new(1, 16_384));
        let half = |index| {
            let store = MemfileStore::new(Arc::clone(&table), log.shard(index));
            let mut shard = Shard::new(store, Arc::clone(&snapshot), Arc::clone(&in_flight));
            shard.set_prefetch(netio::prefetch);
            ShardWithClients { shard, replies: ScalingReplies::default(), messages: Vec::new() }
        };
        Self { halves: (0..threads as usize).map(half).collect(), _log: log }
    }

    /// Runs one round, each thread with its own clients from number `first` on.
    fn play(&mut self, first: u32) -> ExchangeCost {
        let exchanges = f64::from(EXCHANGES) * self.halves.len() as f64;
        let barrier = Barrier::new(self.halves.len() + 1);
        let mut begun_ns = 0;
        let cpu_ns: u64 = thread::scope(|scope| {
            let barrier = &barrier;
            let handles: Vec<_> = self
                .halves
                .iter_mut()
                .zip(0..)
                .map(|(half, index)| {
                    let begin = index * CLIENTS_OF_THREAD + first;
                    scope.spawn(move || {
                        barrier.wait();
                        half.attend(begin..begin + EXCHANGES)
                    })
                })
                .collect();
            barrier.wait();
            begun_ns = Clock::mono_ns();
            handles.into_iter().map(|handle| handle.join().expect("it does not panic")).sum()
        });
        let wall_ns = Clock::mono_ns() - begun_ns;
        ExchangeCost { wall_ns: wall_ns as f64 / exchanges, cpu_ns: cpu_ns as f64 / exchanges }
    }
}

fn median(costs: &[ExchangeCost], of: impl Fn(&ExchangeCost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure<P: ScalingClients>(threads: u32, rounds: u32, folder: &Path) {
    let mut servers = [1, threads].map(|threads| ScalingServer::<P>::start(threads, folder));
    // Each round has new clients; after that, known clients repeat the first two rounds.
    for (kind, is_new) in [("new clients", true), ("known clients", false)] {
        let mut costs = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            let first = if is_new { round } else { round % 2 } * EXCHANGES;
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for at in order {
                costs[at].push(servers[at].play(first));
            }
        }
        let [one, several] = [0, 1].map(|at| {
            let (wall, cpu) = (
                1e9 / median(&costs[at], |cost| cost.wall_ns),
                1e9 / median(&costs[at], |cost| cost.cpu_ns),
            );
            (wall, cpu)
        });
        println!(
            "{}  {kind:<14} 1 thread {:>9.0}/s   {threads} threads {:>9.0}/s   {:.2} times by the \
             clock, {:.2} by processor time",
            P::NAME,
            one.0,
            several.0,
            several.0 / one.0,
            f64::from(threads) * several.1 / one.1,
        );
    }
}

fn main() {
    let mut numbers = Vec::new();
    let mut folder: PathBuf = std::env::temp_dir();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.parse::<u32>() {
            Ok(number) => numbers.push(number),
            Err(_) if argument == "--folder" => {
                folder = arguments.next().unwrap_or_default().into()
            }
            Err(_) => panic!("usage: scaling [THREADS] [ROUNDS] [--folder FOLDER]"),
        }
    }
    let threads = numbers.first().copied().unwrap_or(2).max(2);
    let rounds = numbers.get(1).copied().unwrap_or(ROUNDS).max(2);
    let own = folder.join(format!("godwit-scaling-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap_or_else(|error| panic!("{}: {error}", own.display()));
    measure::<dhcp_lease::v4::V4>(threads, rounds, &own);
    measure::<dhcp_lease::v6::V6>(threads, rounds, &own);
    std::fs::remove_dir_all(&own).ok();
}
