//! TCP connections of one generator thread.
//!
//! Budget: per turn of the generator's loop one `epoll_wait`, and for each connection with
//! something to do a write and a read, for any number of messages in those.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use base::time::{NS_PER_MS, NS_PER_S};
use netio::{Clock, NetError, ReadyList, tcp};

use super::{DnsTcpStream, FillResult};
use crate::exchanges::Exchanges;

/// Longest time for the first opening of a TCP connection, in nanoseconds.
const OPENING_NS: u64 = 5 * NS_PER_S;
/// Time after a failed opening of a TCP connection during which no other one is tried, in
/// nanoseconds.
const BACK_OFF_NS: u64 = 100 * NS_PER_MS;
/// Number of reads per turn of the generator's loop and connection, limited so that a flood of
/// answers cannot keep the schedule from being served.
const READS_PER_TURN: usize = 4;

/// Time that TCP connections took to open, from the request to the kernel on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpeningLatency {
    /// Number of connections that were opened.
    pub count: u64,
    /// Shortest time that a connection took to open, in nanoseconds; 0 without any.
    pub min_ns: u64,
    /// Longest time that a connection took to open, in nanoseconds; 0 without any.
    pub max_ns: u64,
    /// Sum of the times that connections took to open, in nanoseconds.
    sum_ns: u64,
    /// Sum of the squares of the times that connections took to open, in square nanoseconds.
    squares: u128,
}

impl OpeningLatency {
    fn record(&mut self, ns: u64) {
        let squares = u128::from(ns).pow(2);
        self.merge(&Self { count: 1, min_ns: ns, max_ns: ns, sum_ns: ns, squares });
    }

    fn merge(&mut self, other: &Self) {
        self.min_ns = match (self.count, other.count) {
            (_, 0) => self.min_ns,
            (0, _) => other.min_ns,
            _ => self.min_ns.min(other.min_ns),
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.squares += other.squares;
    }

    /// Returns the mean time that a connection took to open, in nanoseconds; 0 without any.
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
    }

    /// Returns the standard deviation of the times that connections took to open, in nanoseconds; 0
    /// below two connections.
    pub fn deviation_ns(&self) -> f64 {
        let (count, sum) = (self.count as f64, self.sum_ns as f64);
        if self.count < 2 {
            return 0.0;
        }
        ((self.squares as f64 - sum * sum / count).max(0.0) / (count - 1.0)).sqrt()
    }
}

base::counts! {
    /// Counts of the TCP connections of a thread, or of a run, and of their DNS messages. Messages
    /// are those with a length before them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub struct ConnectionCounts {
        /// Number of connections that were opened, including the first for each port.
        pub opened: u64,
        /// Number of opened connections that replaced one that had ended.
        pub reopened: u64,
        /// Number of attempts to open a connection that failed.
        pub failed: u64,
        /// Number of connections that ended, by the server or by an error, while the run went on.
        pub ended: u64,
        /// Number of connections that were closed because they had carried as many queries as each
        /// may.
        pub retired: u64,
        /// Number of queries that the kernel accepted whole.
        pub sent: u64,
        /// Number of queries that the kernel did not accept whole, because the connection could not
        /// be opened, ended, or accepted no more. These queries are lost.
        pub unsent: u64,
        /// Number of messages received over the connections.
        pub received: u64,
        /// Number of queries without an answer when their connection ended or could not be opened,
        /// including those of `unsent` and those given up before. These queries are lost.
        pub cut_off: u64,
        /// Number of writes to connections that found the socket's send buffer full.
        pub stalls: u64,
        /// Time that the opened connections took to open.
        #[serde(skip)]
        pub latency: OpeningLatency,
    }
}

/// Rule for closing a TCP connection that has carried enough queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionRetirementRule {
    /// Number of queries that each connection carries; the next query opens another connection.
    pub(crate) queries: u64,
    /// Time after a connection's last query until no answer is awaited any more, in nanoseconds.
    pub(crate) watched_ns: u64,
}

/// TCP connection for queries, open or being opened.
struct QueryConnection {
    port: u32,
    stream: DnsTcpStream,
    /// Time at which the opening of the connection began, in nanoseconds of the monotonic clock.
    began_ns: u64,
    is_opening: bool,
    /// True if the connection waits for room in the socket's send buffer.
    is_stalled: bool,
    /// True if the connection is in the list of those with data to write.
    is_listed: bool,
    /// Number of queries handed to the connection.
    handed: u64,
    /// Number of the connection's queries that no answer has ended.
    open: u64,
    /// Latest time at which the connection is closed, in nanoseconds of the monotonic clock, once
    /// it has carried its number of queries.
    closes_at_ns: Option<u64>,
}

impl QueryConnection {
    /// Creates a connection for `port` whose opening began at `began_ns` and is not over.
    fn new(port: u32, socket: TcpStream, began_ns: u64) -> Self {
        Self {
            port,
            stream: DnsTcpStream::new(socket),
            began_ns,
            is_opening: true,
            is_stalled: false,
            is_listed: false,
            handed: 0,
            open: 0,
            closes_at_ns: None,
        }
    }

    /// Returns true when the connection has carried its number of queries and no answer is awaited.
    const fn is_done(&self) -> bool {
        self.closes_at_ns.is_some() && self.open == 0
    }
}

/// Connection that takes the queries of a port now. Earlier connections that wait for their last
/// answers belong to no port any more.
#[derive(Default)]
struct PortConnection {
    current: Option<u32>,
    was_opened: bool,
    /// Time before which no opening of a connection is tried, in nanoseconds of the monotonic
    /// clock.
    closed_until_ns: u64,
}

/// TCP connections of one generator thread, by the port that each replaces.
pub(crate) struct Connections {
    server: SocketAddr,
    local: Option<IpAddr>,
    retirement: Option<ConnectionRetirementRule>,
    ports: Vec<PortConnection>,
    /// All connections by their numbers, which the list of ready connections uses.
    connections: Vec<Option<QueryConnection>>,
    /// Numbers without a connection, which new connections get.
    free: Vec<u32>,
    /// Connections that have carried enough queries, by the latest time at which each is closed.
    closing: VecDeque<(u64, u32)>,
    to_write: Vec<u32>,
    ready: Vec<u32>,
    counts: ConnectionCounts,
}

impl Connections {
    /// Creates ports for `count` connections from `local` to `server`, none open.
    pub(crate) fn new(
        server: SocketAddr,
        local: Option<IpAddr>,
        count: u64,
        retirement: Option<ConnectionRetirementRule>,
    ) -> Self {
        Self {
            server,
            local,
            retirement,
            ports: (0..count).map(|_| PortConnection::default()).collect(),
            connections: Vec::new(),
            free: Vec::new(),
            closing: VecDeque::new(),
            to_write: Vec::new(),
            ready: Vec::new(),
            counts: ConnectionCounts::default(),
        }
    }

    /// Opens a connection for each port and waits until it is open, before a run.
    ///
    /// # Errors
    ///
    /// Fails when the server or the kernel refuses a connection.
    pub(crate) fn open_all(&mut self, list: &ReadyList) -> Result<(), NetError> {
        for port in 0..self.ports.len() as u32 {
            let began_ns = Clock::mono_ns();
            let socket = tcp::connect(self.server, self.local)?;
            let server = self.server;
            let on = |error| NetError::new("connect over TCP to", server.to_string(), error);
            tcp::wait_open(&socket, OPENING_NS).map_err(on)?;
            self.counts.latency.record(Clock::mono_ns() - began_ns);
            let number = self.next_number();
            list.add(&socket, number).map_err(on)?;
            let connection = QueryConnection::new(port, socket, began_ns);
            self.keep(number, QueryConnection { is_opening: false, ..connection });
            self.ports[port as usize].was_opened = true;
            self.counts.opened += 1;
        }
        Ok(())
    }

    /// Hands `query` to the connection of `port`, and opens one if there is none.
    ///
    /// # Errors
    ///
    /// Fails with the error of `epoll_ctl(2)`.
    pub(crate) fn send(
        &mut self,
        list: &ReadyList,
        port: usize,
        now_ns: u64,
        query: &[u8],
    ) -> io::Result<()> {
        let number = match self.ports[port].current {
            Some(number) => Some(number),
            None => self.start(list, port as u32, now_ns)?,
        };
        let writable = number.and_then(|number| {
            let connection = self.connections[number as usize].as_mut()?;
            let write = |room: &mut [u8]| room.copy_from_slice(query);
            connection.stream.queue(query.len(), write).then_some((number, connection))
        });
        let Some((number, connection)) = writable else {
            self.counts.unsent += 1;
            self.counts.cut_off += 1;
            return Ok(());
        };
        connection.handed += 1;
        connection.open += 1;
        if !connection.is_listed {
            connection.is_listed = true;
            self.to_write.push(number);
        }
        if let Some(retirement) = self.retirement
            && connection.handed >= retirement.queries
        {
            let closes_at_ns = now_ns + retirement.watched_ns;
            connection.closes_at_ns = Some(closes_at_ns);
            self.closing.push_back((closes_at_ns, number));
            self.ports[port].current = None;
        }
        Ok(())
    }

    /// Begins to open a connection for `port`; returns `None` when it is too early to try,
    /// or when the opening fails.
    fn start(&mut self, list: &ReadyList, port: u32, now_ns: u64) -> io::Result<Option<u32>> {
        let port_connection = &mut self.ports[port as usize];
        if now_ns < port_connection.closed_until_ns {
            return Ok(None);
        }
        let Ok(socket) = tcp::connect(self.server, self.local) else {
            self.counts.failed += 1;
            port_connection.closed_until_ns = now_ns + BACK_OFF_NS;
            return Ok(None);
        };
        let number = self.next_number();
        list.add(&socket, number)?;
        list.set_wants_room(&socket, number, true)?;
        self.keep(number, QueryConnection::new(port, socket, now_ns));
        Ok(Some(number))
    }

    /// Returns the number for the next connection: a free one, or one more.
    fn next_number(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        })
    }

    fn keep(&mut self, number: u32, connection: QueryConnection) {
        self.ports[connection.port as usize].current = Some(number);
        self.connections[number as usize] = Some(connection);
    }

    /// Writes the queries handed over since the last call, and closes connections whose last
    /// answers are awaited no longer.
    ///
    /// # Errors
    ///
    /// Fails with the error of `epoll_ctl(2)`.
    pub(crate) fn flush(&mut self, list: &ReadyList, now_ns: u64) -> io::Result<()> {
        while let Some(number) = self.to_write.pop() {
            let Some(connection) = &mut self.connections[number as usize] else { continue };
            connection.is_listed = false;
            if !connection.is_opening && !connection.is_stalled {
                self.write(list, number, now_ns)?;
            }
        }
        while let Some((closes_at_ns, number)) =
            self.closing.pop_front_if(|&mut (closes_at_ns, _)| closes_at_ns <= now_ns)
        {
            // The number may belong to another connection by now.
            let closes =
                |connection: &QueryConnection| connection.closes_at_ns == Some(closes_at_ns);
            if self.connections[number as usize].as_ref().is_some_and(closes) {
                self.retire(number);
            }
        }
        Ok(())
    }

    fn write(&mut self, list: &ReadyList, number: u32, now_ns: u64) -> io::Result<()> {
        let Some(connection) = &mut self.connections[number as usize] else { return Ok(()) };
        match connection.stream.flush() {
            Ok(flushed) => {
                self.counts.sent += flushed.messages;
                self.counts.stalls += u64::from(flushed.is_stalled);
                if flushed.is_stalled != connection.is_stalled {
                    connection.is_stalled = flushed.is_stalled;
                    list.set_wants_room(connection.stream.socket(), number, flushed.is_stalled)?;
                }
            }
            Err(_) => self.end(number, now_ns),
        }
        Ok(())
    }

    /// Processes the connections that are ready, and the answers that have come over them.
    ///
    /// # Errors
    ///
    /// Fails with the error of `epoll_wait(2)` or `epoll_ctl(2)`.
    pub(crate) fn turn(
        &mut self,
        list: &ReadyList,
        exchanges: &mut Exchanges<'_>,
    ) -> io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        list.look(&mut ready)?;
        for &number in &ready {
            let now_ns = Clock::mono_ns();
            if self.is_opened(list, number, now_ns)? {
                self.write(list, number, now_ns)?;
                self.read(number, exchanges);
            }
        }
        self.ready = ready;
        Ok(())
    }

    /// Returns true if connection `number` is open; false while it is being opened, and when its
    /// opening failed.
    fn is_opened(&mut self, list: &ReadyList, number: u32, now_ns: u64) -> io::Result<bool> {
        let Some(connection) = &mut self.connections[number as usize] else { return Ok(false) };
        if !connection.is_opening {
            return Ok(true);
        }
        let socket = connection.stream.socket();
        let has_failed = !matches!(socket.take_error(), Ok(None));
        if !has_failed && socket.peer_addr().is_err() {
            return Ok(false);
        }
        if has_failed {
            self.counts.failed += 1;
            self.give_up(number, now_ns + BACK_OFF_NS);
            return Ok(false);
        }
        connection.is_opening = false;
        let latency_ns = now_ns.saturating_sub(connection.began_ns);
        list.set_wants_room(socket, number, false)?;
        let port = &mut self.ports[connection.port as usize];
        self.counts.opened += 1;
        self.counts.latency.record(latency_ns);
        self.counts.reopened += u64::from(port.was_opened);
        port.was_opened = true;
        Ok(true)
    }

    fn read(&mut self, number: u32, exchanges: &mut Exchanges<'_>) {
        for _ in 0..READS_PER_TURN {
            let Some(connection) = &mut self.connections[number as usize] else { return };
            match connection.stream.fill() {
                Ok(FillResult::Some) => {}
                Ok(FillResult::Nothing) => return,
                Ok(FillResult::End) | Err(_) => {
                    self.end(number, Clock::mono_ns());
                    return;
                }
            }
            let now_ns = Clock::mono_ns();
            while let Some(message) = connection.stream.next_message() {
                self.counts.received += 1;
                let before = exchanges.unsettled();
                exchanges.handle_tcp_message(now_ns, connection.port as usize, message);
                let answered = before - exchanges.unsettled();
                connection.open = connection.open.saturating_sub(answered);
            }
            if connection.is_done() {
                self.retire(number);
                return;
            }
        }
    }

    /// Closes connection `number`, which has carried enough queries: they have their answers or are
    /// given up.
    fn retire(&mut self, number: u32) {
        self.counts.retired += 1;
        if let Some(connection) = self.take(number) {
            self.counts.unsent += connection.stream.waiting();
        }
    }

    /// Counts connection `number` as ended; the next query opens another one.
    fn end(&mut self, number: u32, now_ns: u64) {
        self.counts.ended += 1;
        self.give_up(number, now_ns);
    }

    fn give_up(&mut self, number: u32, closed_until_ns: u64) {
        let Some(connection) = self.take(number) else { return };
        self.counts.unsent += connection.stream.waiting();
        self.counts.cut_off += connection.open;
        self.ports[connection.port as usize].closed_until_ns = closed_until_ns;
    }

    /// Removes connection `number` from its port and returns it.
    fn take(&mut self, number: u32) -> Option<QueryConnection> {
        let connection = self.connections[number as usize].take()?;
        self.free.push(number);
        let port = &mut self.ports[connection.port as usize];
        port.current = port.current.filter(|&current| current != number);
        Some(connection)
    }

    /// Counts the queries that wait to be written at the end of a run, and returns the counts of
    /// the connections.
    pub(crate) fn finish(self) -> ConnectionCounts {
        let waiting =
            self.connections.iter().flatten().map(|connection| connection.stream.waiting());
        let unsent = self.counts.unsent + waiting.sum::<u64>();
        ConnectionCounts { unsent, ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_that_carried_enough_is_closed_when_its_answers_are_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let retirement = ConnectionRetirementRule { queries: 2, watched_ns: 1_000 };
        let list = ReadyList::new().unwrap();
        let mut connections = Connections::new(server, None, 1, Some(retirement));
        connections.open_all(&list).unwrap();
        for now_ns in [100, 200, 300] {
            connections.send(&list, 0, now_ns, b"a query of no meaning").unwrap();
        }
        connections.flush(&list, 1_199).unwrap();
        let counts = connections.counts;
        assert_eq!((counts.sent, counts.retired), (2, 0), "the third opens another one");
        assert_eq!(connections.connections.len(), 2);
        connections.flush(&list, 1_200).unwrap();
        assert_eq!(connections.counts.retired, 1, "the second left at 200");
        assert_eq!(connections.free.len(), 1, "the other one is kept");
        let counts = connections.finish();
        assert_eq!((counts.ended, counts.cut_off, counts.unsent), (0, 0, 1));
        assert_eq!((counts.opened, counts.latency.count), (1, 1), "the other one is not open yet");
        assert!(counts.latency.max_ns > 0);
    }

    #[test]
    fn the_deviation_of_openings_is_that_of_a_sample() {
        let mut sum = OpeningLatency::default();
        assert_eq!((sum.mean_ns(), sum.deviation_ns()), (0, 0.0));
        let mut other = OpeningLatency::default();
        other.record(7);
        sum.record(3);
        sum.record(5);
        sum.merge(&OpeningLatency::default());
        sum.merge(&other);
        assert_eq!((sum.count, sum.min_ns, sum.max_ns, sum.mean_ns()), (3, 3, 7, 5));
        assert!((sum.deviation_ns() - 2.0).abs() < 1e-9);
    }
}
