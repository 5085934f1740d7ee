//! Exchanges with DNS servers over TCP, for answers that do not fit a datagram: each in a thread of
//! its own, which is rare, and bounded by the updates that are under way at a time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;

/// Result of an exchange: its number, and the answer if there was one.
type StreamResult = (u64, Option<Vec<u8>>);

/// Exchanges over TCP that are under way.
#[derive(Debug)]
pub(super) struct StreamExchanges {
    pub(super) waker: Arc<Waker>,
    sender: Sender<StreamResult>,
    results: Receiver<StreamResult>,
}

impl StreamExchanges {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, results) = channel();
        Ok(Self { waker: Arc::new(Waker::new()?), sender, results })
    }

    /// Starts the exchange `number` of `message` with the server `to`.
    pub(super) fn start(&self, number: u64, to: SocketAddr, message: Vec<u8>, timeout: Duration) {
        let (sender, waker) = (self.sender.clone(), Arc::clone(&self.waker));
        let exchanged = move || {
            let answer = exchange(to, &message, timeout).ok();
            sender.send((number, answer)).ok();
            waker.wake();
        };
        let started = thread::Builder::new().name("dns-tcp".to_owned()).spawn(exchanged);
        if started.is_err() {
            self.sender.send((number, None)).ok();
            self.waker.wake();
        }
    }

    /// Returns the next result; `None` if there is none yet.
    pub(super) fn next(&self) -> Option<StreamResult> {
        self.results.try_recv().ok()
    }
}

/// Sends `message` over a new connection and returns the answer.
fn exchange(to: SocketAddr, message: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    let end = Instant::now() + timeout;
    let remaining = || {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut stream = TcpStream::connect_timeout(&to, remaining()?)?;
    let len = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let framed = [&len.to_be_bytes(), message].concat();
    stream.set_write_timeout(Some(remaining()?))?;
    stream.write_all(&framed)?;
    let mut read = |buffer: &mut [u8]| -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            stream.set_read_timeout(Some(remaining()?))?;
            match stream.read(&mut buffer[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(())
    };
    let mut len = [0; 2];
    read(&mut len)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(len))];
    read(&mut answer)?;
    Ok(answer)
}
