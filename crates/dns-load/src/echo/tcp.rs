//! TCP connections of the responder: one thread for all of them, with all faults except truncation,
//! because an answer over TCP is complete.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};

use netio::{Clock, PollFd, ReadyList, poll};

use super::respond::{AnswerOutput, EchoWorker};
use crate::tcp::{DnsTcpStream, FillResult};

/// Interval at which a responder without queries checks whether it must stop, in nanoseconds.
const STOP_CHECK_NS: u64 = 20_000_000;
/// Number of the listening socket among the numbers of connections.
const LISTENER: u32 = u32::MAX;
/// Largest number of the responder's connections at a time; it closes further connections at once.
const CONNECTIONS_MAX: usize = 4_096;
/// Largest number of reads from one TCP connection per turn of the responder's loop.
const READS_PER_TURN: usize = 4;

/// Counts of the responder's TCP connections and of their DNS messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TcpCounts {
    /// Number of connections accepted.
    pub connections: u64,
    /// Number of messages received over TCP.
    pub received: u64,
    /// Number of answers over TCP that the kernel accepted whole.
    pub sent: u64,
    /// Number of answers over TCP that the kernel did not accept whole, because their connection
    /// had ended or accepted no more.
    pub refused: u64,
}

/// TCP connection of one client of the responder.
struct EchoConnection {
    stream: DnsTcpStream,
    address: SocketAddr,
    is_stalled: bool,
}

/// TCP connections of all clients of the responder, by number and address.
#[derive(Default)]
struct EchoConnections {
    by_number: Vec<Option<EchoConnection>>,
    numbers: HashMap<SocketAddr, u32>,
    /// Numbers of clients that have gone, which new clients get.
    free: Vec<u32>,
    /// Numbers of clients with answers to be written.
    to_write: Vec<u32>,
    counts: TcpCounts,
}

impl AnswerOutput for EchoConnections {
    fn push(&mut self, destination: SocketAddr, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let number = self.numbers.get(&destination).copied();
        let client = number.and_then(|number| self.by_number[number as usize].as_mut());
        if client.is_some_and(|client| client.stream.queue(len, write)) {
            self.to_write.extend(number);
        } else {
            self.counts.refused += 1;
        }
        // The answer counts as queued, because the caller would never retry it later.
        true
    }
}

impl EchoConnections {
    fn accept(&mut self, listener: &TcpListener, list: &ReadyList) -> io::Result<()> {
        // An error of a client that has gone again is no error of the listener.
        while let Ok((socket, address)) = listener.accept() {
            if self.numbers.len() == CONNECTIONS_MAX {
                continue;
            }
            socket.set_nonblocking(true)?;
            socket.set_nodelay(true)?;
            let number = self.free.pop().unwrap_or_else(|| {
                self.by_number.push(None);
                self.by_number.len() as u32 - 1
            });
            list.add(&socket, number)?;
            let client =
                EchoConnection { stream: DnsTcpStream::new(socket), address, is_stalled: false };
            self.by_number[number as usize] = Some(client);
            self.numbers.insert(address, number);
            self.counts.connections += 1;
        }
        Ok(())
    }

    /// Reads the queries that client `number` has sent, and queues their answers.
    fn read(&mut self, number: u32, echo: &mut EchoWorker, query: &mut Vec<u8>) {
        for _ in 0..READS_PER_TURN {
            let Some(client) = &mut self.by_number[number as usize] else { return };
            match client.stream.fill() {
                Ok(FillResult::Some) => {}
                Ok(FillResult::Nothing) => return,
                Ok(FillResult::End) | Err(_) => return self.close(number),
            }
            let (now_ns, address) = (Clock::mono_ns(), client.address);
            loop {
                let client = self.by_number[number as usize].as_mut();
                let Some(message) = client.and_then(|client| client.stream.next_message()) else {
                    break;
                };
                query.clear();
                query.extend_from_slice(message);
                self.counts.received += 1;
                echo.take_query(now_ns, address, query, self);
            }
        }
    }

    fn write(&mut self, list: &ReadyList, number: u32) -> io::Result<()> {
        let Some(client) = &mut self.by_number[number as usize] else { return Ok(()) };
        match client.stream.flush() {
            Ok(flushed) => {
                self.counts.sent += flushed.messages;
                if flushed.is_stalled != client.is_stalled {
                    client.is_stalled = flushed.is_stalled;
                    list.set_wants_room(client.stream.socket(), number, flushed.is_stalled)?;
                }
            }
            Err(_) => self.close(number),
        }
        Ok(())
    }

    fn close(&mut self, number: u32) {
        if let Some(client) = self.by_number[number as usize].take() {
            self.counts.refused += client.stream.waiting();
            self.numbers.remove(&client.address);
            self.free.push(number);
        }
    }
}

/// Answers queries on the connections of `listener`, which must not block, until `stop` is set;
/// returns the counts.
///
/// # Errors
///
/// Fails with the error that the kernel reports for the listener or the list of connections.
pub(super) fn answer(
    listener: &TcpListener,
    echo: &mut EchoWorker,
    stop: &AtomicBool,
) -> io::Result<TcpCounts> {
    let list = ReadyList::new()?;
    list.add(listener, LISTENER)?;
    let (mut clients, mut ready, mut query) = (EchoConnections::default(), Vec::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let now_ns = Clock::mono_ns();
        let due_ns =
            echo.next_release_ns().map_or(STOP_CHECK_NS, |at_ns| at_ns.saturating_sub(now_ns));
        poll(&mut [PollFd::readable(&list)], Some(due_ns.min(STOP_CHECK_NS)))?;
        list.look(&mut ready)?;
        for &number in &ready {
            if number == LISTENER {
                clients.accept(listener, &list)?;
            } else {
                clients.write(&list, number)?;
                clients.read(number, echo, &mut query);
            }
        }
        echo.release_to(Clock::mono_ns(), &mut clients);
        while let Some(number) = clients.to_write.pop() {
            clients.write(&list, number)?;
        }
    }
    for number in 0..clients.by_number.len() as u32 {
        clients.close(number);
    }
    Ok(clients.counts)
}
