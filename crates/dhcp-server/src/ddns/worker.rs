//! Updates under way: the state machine with its sockets and the queue's file, for the updater as a
//! process and for the one inside a DHCP server.

use std::path::Path;

use base::Random;
use base::time::NS_PER_MS;
use dhcp_ddns::{
    DnsZones, JournalLine, LeaseName, NameRegistry, NoticeLevel, Updater, UpdaterOutput,
};
use ncr::NameChangeRequest;
use netio::{Clock, PollFd};

use super::notices;
use super::queue_file::QueueFile;
use super::sockets::{ServerSockets, receive};
use super::streams::StreamExchanges;
use crate::ServerError;
use crate::log::counted;
use crate::loggers::DAEMON;
use crate::server::unpredictable_seed;

/// Longest wait of a loop, in nanoseconds.
const WAIT_NS: u64 = 1_000 * NS_PER_MS;
/// Wait of a loop while the queue's file is not complete, in nanoseconds.
const RETRY_NS: u64 = 50 * NS_PER_MS;
/// Ending of the identifiers of lines about requests that were carried out.
const SUCCEEDED: &str = "_SUCCEEDED";

/// Function that calls its argument with the name of each lease.
pub(crate) type LeaseNamesReader = Box<dyn FnOnce(&mut dyn FnMut(LeaseName)) + Send>;

/// State machine of the updater with its sockets for DNS servers and the queue's file.
pub(super) struct UpdateWorker {
    pub(super) updater: Updater,
    servers: ServerSockets,
    streams: StreamExchanges,
    queue: QueueFile,
    next_number: u64,
    /// Names that the requests so far have led to; `None` for an updater without leases.
    names: Option<NameRegistry>,
}

impl UpdateWorker {
    /// Opens the sockets and the queue's file `path`, and takes the requests of an earlier process.
    /// The queue keeps the names of leases if `has_leases`.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub(super) fn open(
        path: &Path,
        zones: DnsZones,
        has_leases: bool,
    ) -> Result<Self, ServerError> {
        let (queue, entries) = QueueFile::open(path, has_leases)
            .map_err(|cause| ServerError::UpdateQueue { path: path.to_owned(), cause })?;
        let streams = StreamExchanges::new()
            .map_err(|cause| ServerError::System { tried: "open an event", cause })?;
        let servers = ServerSockets::open()?;
        let mut updater = Updater::new(zones, Random::from_seed(unpredictable_seed()));
        let now = Clock::now();
        if entries.damaged_lines > 0 {
            tracing::warn!(
                target: DAEMON,
                id = "DHCP_DDNS_QUEUE_FILE_DAMAGED",
                "{} of the queue's file {} cannot be read; the requests in them are lost",
                counted(entries.damaged_lines, "line"),
                path.display()
            );
        }
        for (number, request) in entries.pending {
            updater.accept(number, request, now);
        }
        let names = has_leases.then_some(entries.names);
        Ok(Self { updater, servers, streams, queue, next_number: entries.next_number, names })
    }

    /// Waits for anything to do here, or for one of `fds`.
    pub(super) fn wait<'f>(&'f self, mut fds: Vec<PollFd<'f>>) {
        fds.push(PollFd::readable(&*self.streams.waker));
        fds.extend(self.servers.v4.iter().chain(&self.servers.v6).map(PollFd::readable));
        let due_ns = self.updater.next_due_ns().map(|due| due.saturating_sub(Clock::mono_ns()));
        let limit_ns = if self.queue.is_unfinished() { RETRY_NS } else { WAIT_NS };
        let wait_ns = due_ns.map_or(limit_ns, |due_ns| due_ns.min(limit_ns));
        // A failed wait only means that the next turn comes early.
        netio::poll(&mut fds, Some(wait_ns)).ok();
    }

    /// Takes requests: first into the queue's file, then into the state machine.
    pub(super) fn accept(&mut self, requests: Vec<NameChangeRequest>) {
        if requests.is_empty() {
            return;
        }
        let first = self.next_number;
        for (number, request) in (first..).zip(&requests) {
            self.queue.add(JournalLine::Arrived(number, request));
            if let Some(names) = &mut self.names {
                names.follow(request);
            }
        }
        let arrived = (first..).zip(&requests);
        let names = self.names.iter().flat_map(NameRegistry::iter).map(JournalLine::Name);
        let pending = self.updater.iter_pending().chain(arrived);
        let pending = pending.map(|(number, request)| JournalLine::Arrived(number, request));
        self.queue.write(names.chain(pending));
        let now = Clock::now();
        for request in requests {
            self.updater.accept(self.next_number, request, now);
            self.next_number += 1;
        }
    }

    /// Returns the requests that are missing so that the names are those of the leases, which
    /// `read` reads.
    pub(super) fn compare(&self, read: LeaseNamesReader) -> Vec<NameChangeRequest> {
        let Some(names) = &self.names else { return Vec::new() };
        let mut comparison = names.compare();
        read(&mut |lease| comparison.take(lease));
        comparison.finish()
    }

    /// Takes the answers of DNS servers that have arrived, and carries out what follows from them
    /// and from the time.
    pub(super) fn work(&mut self) {
        let now = Clock::now();
        for socket in self.servers.v4.iter().chain(&self.servers.v6) {
            receive(socket, |from, bytes| self.updater.handle_datagram(from, bytes, now));
        }
        self.streams.waker.drain();
        while let Some((exchange, answer)) = self.streams.next() {
            self.updater.handle_stream(exchange, answer.as_deref(), Clock::now());
        }
        self.updater.handle_timeout(Clock::now());
        self.carry_out();
    }

    /// Carries out the effects of the state machine.
    pub(super) fn carry_out(&mut self) {
        while let Some(output) = self.updater.poll_output() {
            match output {
                UpdaterOutput::Datagram { to, bytes } => {
                    if let Err(cause) = self.servers.send(to, &bytes) {
                        tracing::debug!(
                            target: "d2-to-dns",
                            id = "DHCP_DDNS_TRANS_SEND_ERROR",
                            "cannot send an update to {to}: {cause}"
                        );
                    }
                }
                UpdaterOutput::Stream { exchange, to, bytes, timeout } => {
                    self.streams.start(exchange, to, bytes, timeout);
                }
                UpdaterOutput::Finished(number) => self.queue.add(JournalLine::Finished(number)),
                UpdaterOutput::Notice(mut notice) => {
                    // A DHCP server has no line for each lease, either.
                    if self.names.is_some() && notice.id.ends_with(SUCCEEDED) {
                        notice.level = NoticeLevel::Debug;
                    }
                    notices::log(&notice);
                }
            }
        }
        let names = self.names.iter().flat_map(NameRegistry::iter).map(JournalLine::Name);
        let pending = self.updater.iter_pending();
        let pending = pending.map(|(number, request)| JournalLine::Arrived(number, request));
        self.queue.write(names.chain(pending));
    }
}
