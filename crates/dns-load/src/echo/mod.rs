//! The baseline responder: every query back with QR set, AA, TC, RA, Z, AD, CD and the response code
//! cleared, as dns-echo does. It reads no name and finds no record: what it reaches is the limit of
//! kernel and generator. Its faults, drawn from a seed, are there to test generators; its ledger says
//! what it did.
//!
//! Budget: that of `netio::responder` and two copies of the query; nothing is allocated but for answers
//! that are held back.

mod args;
mod capacity;
mod faults;
mod report;
mod respond;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::Random;
use netio::responder::{Loop, answer};
use netio::{NetError, UdpOptions, UdpSocket};

pub use args::Args;
pub use capacity::{Bucket, Capacity};
pub use faults::{Faults, Share};
pub use report::{Report, SCHEMA};
pub use respond::{Counts, Echo};

/// Socket buffers that are asked for, octets of kernel memory.
const BUFFER_BYTES: usize = 16 << 20;

/// How the responder runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address and port to answer on; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Threads, each with a socket of its own on the same port.
    pub threads: u32,
    /// Processors to bind the threads to, in turn; empty binds none.
    pub cpus: Vec<usize>,
    /// Never sleep.
    pub busy: bool,
    /// Where chance comes from.
    pub seed: u64,
    /// What goes wrong.
    pub faults: Faults,
}

/// The responder's sockets, open and not answered yet.
pub struct Responder {
    settings: Settings,
    sockets: Vec<UdpSocket>,
    address: SocketAddr,
}

impl Responder {
    /// Opens the sockets.
    ///
    /// # Errors
    ///
    /// When the kernel refuses one.
    pub fn open(settings: Settings) -> Result<Self, NetError> {
        let mut options = UdpOptions {
            reuse_port: settings.threads > 1,
            receive_buffer_bytes: Some(BUFFER_BYTES),
            send_buffer_bytes: Some(BUFFER_BYTES),
            ..UdpOptions::at(settings.listen)
        };
        let mut sockets = Vec::new();
        for _ in 0..settings.threads.max(1) {
            let socket = UdpSocket::open(&options)?;
            options.bind = socket
                .local_address()
                .map_err(NetError::on("ask for the address of", settings.listen.to_string()))?;
            sockets.push(socket);
        }
        Ok(Self { settings, sockets, address: options.bind })
    }

    /// Where it answers.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is set, which a thread that fails does, too.
    ///
    /// # Errors
    ///
    /// What the kernel reports for a socket or a processor.
    pub fn run(&self, stop: &AtomicBool) -> Result<Report, NetError> {
        let lanes = thread::scope(|scope| {
            let threads: Vec<_> = self
                .sockets
                .iter()
                .enumerate()
                .map(|(index, socket)| scope.spawn(move || self.lane(index, socket, stop)))
                .collect();
            let joined =
                threads.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
            joined.collect::<Vec<_>>()
        });
        let mut report = Report::new(&self.settings, self.address);
        for lane in lanes {
            report.add(lane?);
        }
        Ok(report)
    }

    fn lane(
        &self,
        index: usize,
        socket: &UdpSocket,
        stop: &AtomicBool,
    ) -> Result<report::Lane, NetError> {
        let cpus = &self.settings.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let random = Random::from_seed(self.settings.seed).fork(index as u64);
        let mut faults = self.settings.faults;
        faults.capacity = faults.capacity.map(|all| all.share(self.settings.threads.max(1)));
        let mut echo = Echo::new(faults, random);
        let how = Loop { segmentation: false, busy: self.settings.busy };
        let done = netio::thread::sharpen(&format!("dns-echo-{index}"), cpu).and_then(|()| {
            answer(socket, how, &mut echo, stop)
                .map_err(NetError::on("answer on", self.address.to_string()))
        });
        if done.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        done.map(|counts| report::Lane { socket: counts, echo: echo.counts(), held: echo.held() })
    }
}
