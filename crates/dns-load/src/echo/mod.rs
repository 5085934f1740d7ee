//! DNS responder that answers without data, to find the most that kernel and generator can do. It
//! sends every query back with QR set, and with AA, TC, RA, Z, AD, CD and the response code
//! cleared, as dns-echo does; it reads no name and finds no record. It answers over UDP and, by one
//! more thread, over TCP; or, on an interface itself, in frames. Its faults, drawn from a seed,
//! test generators; its report counts them.
//!
//! Budget: that of `netio::responder` and two copies of the query; only answers that are held back
//! are allocated.

mod args;
mod capacity;
mod faults;
mod frame_output;
mod frames;
mod report;
mod respond;
mod tcp;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::Random;
use netio::responder::{BATCH_MAX, Loop, ResponderCounts, answer};
use netio::send::SendCounts;
use netio::{NetError, UdpOptions, UdpSocket};

pub use args::DnsEchoArgs;
pub use capacity::{Capacity, CapacityBucket};
pub use faults::{EchoFaults, QueryShare};
pub use frames::FrameResponder;
pub use report::{EchoReport, SCHEMA};
pub use respond::{EchoCounts, EchoWorker};
pub use tcp::TcpCounts;

/// Size of the socket buffers that the responder requests, in bytes of kernel memory.
const BUFFER_BYTES: usize = 16 << 20;

/// Number of UDP ports chosen by the kernel that the responder also tries for TCP before it gives
/// up.
const PORTS_TRIED: u32 = 32;

/// Settings of the DNS responder.
#[derive(Clone, Debug)]
pub struct EchoSettings {
    /// Address and port that the responder answers at; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Number of responder threads, each with a socket of its own on the same port.
    pub threads: u32,
    /// Processors to bind the responder's threads to, in turn; empty binds none.
    pub cpus: Vec<usize>,
    /// Largest number of queries that one receive call takes.
    pub batch: usize,
    /// True if the responder's threads never sleep.
    pub busy: bool,
    /// True to take queries in groups that the kernel has joined (UDP_GRO), and to answer in groups
    /// (UDP_SEGMENT).
    pub segmentation: bool,
    /// Seed of the responder's random faults.
    pub seed: u64,
    /// Deliberate faults of the responder.
    pub faults: EchoFaults,
}

impl EchoSettings {
    /// Returns the settings of a responder with one thread that answers at `listen`, everything
    /// once and correctly.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            threads: 1,
            cpus: Vec::new(),
            batch: BATCH_MAX,
            busy: false,
            segmentation: false,
            seed: 1,
            faults: EchoFaults::default(),
        }
    }
}

/// DNS responder whose UDP and TCP sockets are open; it does not answer yet.
pub struct EchoResponder {
    settings: EchoSettings,
    sockets: Vec<UdpSocket>,
    listener: TcpListener,
    address: SocketAddr,
}

impl EchoResponder {
    /// Opens the responder's sockets, those of UDP and the one that listens for TCP on the same
    /// port.
    ///
    /// # Errors
    ///
    /// Fails when the kernel refuses a socket.
    pub fn open(settings: EchoSettings) -> Result<Self, NetError> {
        for _ in 1..PORTS_TRIED {
            match Self::try_open(&settings) {
                // Another process has for TCP the port that was free for UDP.
                Err(error) if settings.listen.port() == 0 && is_in_use(&error) => {}
                opened => return opened,
            }
        }
        Self::try_open(&settings)
    }

    fn try_open(settings: &EchoSettings) -> Result<Self, NetError> {
        let mut options = UdpOptions {
            reuse_port: settings.threads > 1,
            receive_buffer_bytes: Some(BUFFER_BYTES),
            send_buffer_bytes: Some(BUFFER_BYTES),
            coalesce: settings.segmentation,
            ..UdpOptions::at(settings.listen)
        };
        let mut sockets = Vec::new();
        for _ in 0..settings.threads.max(1) {
            let socket = UdpSocket::open(&options)?;
            options.bind = socket
                .local_address()
                .map_err(NetError::on("get the address of", settings.listen.to_string()))?;
            sockets.push(socket);
        }
        let failed = |error| NetError::new("listen for TCP at", options.bind.to_string(), error);
        let listener = TcpListener::bind(options.bind).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { settings: settings.clone(), sockets, listener, address: options.bind })
    }

    /// Returns the address and port of the responder.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers queries until `stop` is set, and returns the counts. A thread that fails sets it,
    /// too.
    ///
    /// # Errors
    ///
    /// Fails with the error that the kernel reports for a socket or a processor.
    pub fn run(&self, stop: &AtomicBool) -> Result<EchoReport, NetError> {
        let (results, connections) = thread::scope(|scope| {
            let connections = scope.spawn(|| self.connections(stop));
            let threads: Vec<_> = self
                .sockets
                .iter()
                .enumerate()
                .map(|(index, socket)| scope.spawn(move || self.run_thread(index, socket, stop)))
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("an echo thread does not panic"));
            let results = joined.collect::<Vec<_>>();
            (results, connections.join().expect("the thread of connections does not panic"))
        });
        let mut report = EchoReport::new(&self.settings, self.address);
        for result in results {
            report.add(result?);
        }
        let (result, counts) = connections?;
        report.add(result);
        report.tcp = counts;
        Ok(report)
    }

    /// Returns the worker of the responder's thread `index`, with its share of the faults, drawn
    /// from a random stream of its own.
    fn echo(&self, index: usize) -> EchoWorker {
        let random = Random::from_seed(self.settings.seed).fork(index as u64);
        let mut faults = self.settings.faults;
        faults.capacity = faults.capacity.map(|all| all.share(self.settings.threads.max(1)));
        EchoWorker::new(faults, random)
    }

    /// Answers queries over TCP until `stop` is set, and returns the counts.
    fn connections(
        &self,
        stop: &AtomicBool,
    ) -> Result<(report::EchoThreadResult, TcpCounts), NetError> {
        let mut echo = self.echo(self.sockets.len()).whole();
        let done = netio::thread::prepare_for_timing("dns-echo-tcp", None).and_then(|()| {
            tcp::answer(&self.listener, &mut echo, stop)
                .map_err(NetError::on("answer over TCP on", self.address.to_string()))
        });
        if done.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        done.map(|counts| {
            let sends =
                SendCounts { sent: counts.sent, refused: counts.refused, ..SendCounts::default() };
            let socket =
                ResponderCounts { received: counts.received, sends, ..ResponderCounts::default() };
            (
                report::EchoThreadResult {
                    socket,
                    echo: echo.counts(),
                    delayed_answers: echo.delayed_count(),
                },
                counts,
            )
        })
    }

    fn run_thread(
        &self,
        index: usize,
        socket: &UdpSocket,
        stop: &AtomicBool,
    ) -> Result<report::EchoThreadResult, NetError> {
        let cpus = &self.settings.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let mut echo = self.echo(index);
        let EchoSettings { batch, segmentation, busy, .. } = self.settings;
        let how = Loop { batch, segmentation, busy };
        let done =
            netio::thread::prepare_for_timing(&format!("dns-echo-{index}"), cpu).and_then(|()| {
                answer(socket, how, &mut echo, stop)
                    .map_err(NetError::on("answer on", self.address.to_string()))
            });
        if done.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        done.map(|counts| report::EchoThreadResult {
            socket: counts,
            echo: echo.counts(),
            delayed_answers: echo.delayed_count(),
        })
    }
}

/// Returns true if `error` says that another socket has the address already.
fn is_in_use(error: &NetError) -> bool {
    error.cause().kind() == ErrorKind::AddrInUse
}
