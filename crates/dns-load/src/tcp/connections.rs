//! The connections of one thread.
//!
//! Budget: per turn one `epoll_wait`, and for each connection with something to do a write and a read,
//! whatever number of messages those carry.

use std::io;
use std::net::{IpAddr, SocketAddr};

use base::time::{NS_PER_MS, NS_PER_S};
use netio::{Clock, NetError, ReadyList, tcp};

use super::{Filled, Stream};
use crate::exchanges::Exchanges;

/// How long the first opening of a connection may take.
const OPENING_NS: u64 = 5 * NS_PER_S;
/// After an opening that failed none is tried for so long.
const BACK_OFF_NS: u64 = 100 * NS_PER_MS;
/// Reads per turn and connection, so that a flood of answers cannot keep the schedule from being served.
const READS_PER_TURN: usize = 4;

/// What the connections of a thread, or of a run, did. Messages are those with a length before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ConnectionCounts {
    /// Connections that were opened, the first of each place included.
    pub opened: u64,
    /// Of them, those that replaced one that had ended.
    pub reopened: u64,
    /// Openings that failed.
    pub failed: u64,
    /// Connections that ended, by the server or by an error, while the run went on.
    pub ended: u64,
    /// Queries that the kernel took whole.
    pub sent: u64,
    /// Queries that it did not, because the connection could not be opened, ended, or took no more. They are
    /// lost.
    pub unsent: u64,
    /// Messages received.
    pub received: u64,
    /// Queries without an answer when their connection ended or could not be opened, those given up before
    /// and the unsent included. They are lost.
    pub cut_off: u64,
    /// Writes that found no room.
    pub stalls: u64,
}

impl ConnectionCounts {
    /// Adds the counts of another thread.
    pub(crate) const fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.reopened += other.reopened;
        self.failed += other.failed;
        self.ended += other.ended;
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.received += other.received;
        self.cut_off += other.cut_off;
        self.stalls += other.stalls;
    }
}

/// What stands in the place of a port.
#[derive(Default)]
struct Place {
    stream: Option<Stream>,
    is_opening: bool,
    was_opened: bool,
    /// It waits for room.
    is_stalled: bool,
    /// It is among the places that have something to be written.
    is_listed: bool,
    /// Queries handed to it that no answer has ended.
    open: u64,
    /// No opening is tried before.
    closed_until_ns: u64,
}

/// The connections of one thread, by the port that each stands for.
pub(crate) struct Connections {
    server: SocketAddr,
    local: Option<IpAddr>,
    places: Vec<Place>,
    to_write: Vec<u32>,
    ready: Vec<u32>,
    counts: ConnectionCounts,
}

impl Connections {
    /// Places for `count` connections from `local` to `server`, none open.
    pub(crate) fn new(server: SocketAddr, local: Option<IpAddr>, count: u64) -> Self {
        Self {
            server,
            local,
            places: (0..count).map(|_| Place::default()).collect(),
            to_write: Vec::new(),
            ready: Vec::new(),
            counts: ConnectionCounts::default(),
        }
    }

    /// Opens all of them and waits for it, before a run.
    ///
    /// # Errors
    ///
    /// When the server or the kernel refuses one.
    pub(crate) fn open_all(&mut self, list: &ReadyList) -> Result<(), NetError> {
        for (place, number) in self.places.iter_mut().zip(0..) {
            let socket = tcp::connect(self.server, self.local)?;
            let on = |error| NetError::new("connect over TCP to", self.server.to_string(), error);
            tcp::wait_open(&socket, OPENING_NS).map_err(on)?;
            list.add(&socket, number).map_err(on)?;
            place.stream = Some(Stream::new(socket));
            place.was_opened = true;
            self.counts.opened += 1;
        }
        Ok(())
    }

    /// Hands `query` to the connection in place of `port`, opening it if there is none.
    ///
    /// # Errors
    ///
    /// What `epoll_ctl(2)` reports.
    pub(crate) fn send(
        &mut self,
        list: &ReadyList,
        port: usize,
        now_ns: u64,
        query: &[u8],
    ) -> io::Result<()> {
        let place = &mut self.places[port];
        if place.stream.is_none() && now_ns >= place.closed_until_ns {
            if let Ok(socket) = tcp::connect(self.server, self.local) {
                list.add(&socket, port as u32)?;
                list.set_wants_room(&socket, port as u32, true)?;
                place.stream = Some(Stream::new(socket));
                place.is_opening = true;
            } else {
                self.counts.failed += 1;
                place.closed_until_ns = now_ns + BACK_OFF_NS;
            }
        }
        let stream = place.stream.as_mut();
        if !stream
            .is_some_and(|stream| stream.queue(query.len(), |room| room.copy_from_slice(query)))
        {
            self.counts.unsent += 1;
            self.counts.cut_off += 1;
            return Ok(());
        }
        place.open += 1;
        if !place.is_listed {
            place.is_listed = true;
            self.to_write.push(port as u32);
        }
        Ok(())
    }

    /// Writes what was handed over since the last time.
    ///
    /// # Errors
    ///
    /// What `epoll_ctl(2)` reports.
    pub(crate) fn flush(&mut self, list: &ReadyList, now_ns: u64) -> io::Result<()> {
        while let Some(port) = self.to_write.pop() {
            let place = &mut self.places[port as usize];
            place.is_listed = false;
            if !place.is_opening && !place.is_stalled {
                self.write(list, port, now_ns)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, list: &ReadyList, port: u32, now_ns: u64) -> io::Result<()> {
        let place = &mut self.places[port as usize];
        let Some(stream) = &mut place.stream else { return Ok(()) };
        match stream.flush() {
            Ok(flushed) => {
                self.counts.sent += flushed.messages;
                self.counts.stalls += u64::from(flushed.is_stalled);
                if flushed.is_stalled != place.is_stalled {
                    place.is_stalled = flushed.is_stalled;
                    list.set_wants_room(stream.socket(), port, flushed.is_stalled)?;
                }
            }
            Err(_) => self.end(port, now_ns),
        }
        Ok(())
    }

    /// Does what the connections are ready for, and takes in the answers that have come.
    ///
    /// # Errors
    ///
    /// What `epoll_wait(2)` and `epoll_ctl(2)` report.
    pub(crate) fn turn(
        &mut self,
        list: &ReadyList,
        exchanges: &mut Exchanges<'_>,
    ) -> io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        list.look(&mut ready)?;
        for &port in &ready {
            let now_ns = Clock::mono_ns();
            if self.is_opened(list, port, now_ns)? {
                self.write(list, port, now_ns)?;
                self.read(port, exchanges);
            }
        }
        self.ready = ready;
        Ok(())
    }

    /// False while the connection is being opened, and when it could not be.
    fn is_opened(&mut self, list: &ReadyList, port: u32, now_ns: u64) -> io::Result<bool> {
        let place = &mut self.places[port as usize];
        let Some(stream) = &place.stream else { return Ok(false) };
        if !place.is_opening {
            return Ok(true);
        }
        let has_failed = !matches!(stream.socket().take_error(), Ok(None));
        if !has_failed && stream.socket().peer_addr().is_err() {
            return Ok(false);
        }
        place.is_opening = false;
        if has_failed {
            self.counts.failed += 1;
            self.give_up(port, now_ns + BACK_OFF_NS);
            return Ok(false);
        }
        list.set_wants_room(stream.socket(), port, false)?;
        self.counts.opened += 1;
        self.counts.reopened += u64::from(place.was_opened);
        place.was_opened = true;
        Ok(true)
    }

    fn read(&mut self, port: u32, exchanges: &mut Exchanges<'_>) {
        for _ in 0..READS_PER_TURN {
            let place = &mut self.places[port as usize];
            let Some(stream) = &mut place.stream else { return };
            match stream.fill() {
                Ok(Filled::Some) => {}
                Ok(Filled::Nothing) => return,
                Ok(Filled::End) | Err(_) => {
                    self.end(port, Clock::mono_ns());
                    return;
                }
            }
            let now_ns = Clock::mono_ns();
            while let Some(message) = stream.take() {
                self.counts.received += 1;
                let before = exchanges.unsettled();
                exchanges.answer_over_tcp(now_ns, port as usize, message);
                place.open = place.open.saturating_sub(before - exchanges.unsettled());
            }
        }
    }

    /// Notes that a connection has ended; the next query opens another one.
    fn end(&mut self, port: u32, now_ns: u64) {
        self.counts.ended += 1;
        self.give_up(port, now_ns);
    }

    fn give_up(&mut self, port: u32, closed_until_ns: u64) {
        let place = &mut self.places[port as usize];
        let stream = place.stream.take();
        self.counts.unsent += stream.map_or(0, |stream| stream.waiting());
        self.counts.cut_off += place.open;
        place.open = 0;
        place.is_opening = false;
        place.is_stalled = false;
        place.closed_until_ns = closed_until_ns;
    }

    /// Counts what waits to be written at the end of a run.
    pub(crate) fn finish(mut self) -> ConnectionCounts {
        for port in 0..self.places.len() as u32 {
            let stream = self.places[port as usize].stream.take();
            self.counts.unsent += stream.map_or(0, |stream| stream.waiting());
        }
        self.counts
    }
}
