//! Proxy of TCP connections to a database, in which every byte arrives half a round trip after it
//! was sent, in either direction.
//!
//! The proxy delays the data of programs, not packets: connections open at once, and nothing is
//! lost or slowed down by windows that are too small. A query with its answer takes the round trip
//! longer, which is the cost of a distant database for a server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{LabError, LabResult};

/// Largest number of bytes that the proxy reads at once from a connection.
const PIECE_BYTES: usize = 64 << 10;
/// Largest number of pieces (results of a read) under way in one direction of a proxied connection;
/// a sender of more has to wait.
const PIECES: usize = 256;
/// Time by which sleeps of the proxy may end late (the kernel's timer slack); the proxy spins for
/// the rest.
const SLACK: Duration = Duration::from_micros(80);

/// Bytes that the proxy read from a connection, with the moment at which they must arrive.
type Piece = (Instant, Vec<u8>);

/// Passes connections to `listen` on to `to` and back, as long as the process lives. `began` gets
/// the address of the listener, and returns false when no client can learn it: then the function
/// ends.
///
/// # Errors
///
/// The address cannot be used.
pub fn run(
    listen: SocketAddr,
    to: SocketAddr,
    round_trip: Duration,
    began: impl FnOnce(SocketAddr) -> LabResult<bool>,
) -> LabResult<()> {
    let cannot = |cause| LabError::cannot(format!("listen at {listen}"), cause);
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    if !began(listener.local_addr().map_err(cannot)?)? {
        return Ok(());
    }
    // Both ends of a connection see its failure.
    for near in listener.incoming().flatten() {
        connect_far_side(near, to, round_trip / 2).ok();
    }
    Ok(())
}

/// Opens a connection to `to` for the accepted connection `near` and passes data on in both
/// directions.
fn connect_far_side(near: TcpStream, to: SocketAddr, one_way: Duration) -> io::Result<()> {
    let far = TcpStream::connect(to)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    forward(near.try_clone()?, far.try_clone()?, one_way);
    forward(far, near, one_way);
    Ok(())
}

/// Passes data from the connection `from` to `to`, with the end of the stream.
fn forward(from: TcpStream, to: TcpStream, one_way: Duration) {
    let (sender, receiver) = sync_channel(PIECES);
    thread::spawn(move || read_pieces(&from, &sender, one_way));
    thread::spawn(move || write_pieces(&to, &receiver));
}

fn read_pieces(mut from: &TcpStream, pieces: &SyncSender<Piece>, one_way: Duration) {
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let arrives = Instant::now() + one_way;
        if pieces.send((arrives, buffer[..len].to_vec())).is_err() {
            break;
        }
    }
}

fn write_pieces(mut to: &TcpStream, pieces: &Receiver<Piece>) {
    for (arrives, octets) in pieces {
        wait_until(arrives);
        if to.write_all(&octets).is_err() {
            // The receiver is gone, so the other direction ends as well.
            to.shutdown(Shutdown::Both).ok();
            return;
        }
    }
    to.shutdown(Shutdown::Write).ok();
}

fn wait_until(moment: Instant) {
    let left = moment.saturating_duration_since(Instant::now());
    if left > SLACK {
        thread::sleep(left - SLACK);
    }
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Connects to an echo server behind a proxy whose round trip is `round_trip`.
    fn echo_at(round_trip: Duration) -> TcpStream {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let echo = TcpListener::bind(any).unwrap();
        let to = echo.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = echo.accept().unwrap();
            io::copy(&mut stream.try_clone().unwrap(), &mut stream).unwrap();
        });
        let (sender, began) = channel();
        thread::spawn(move || {
            run(any, to, round_trip, |address| {
                sender.send(address).unwrap();
                Ok(true)
            })
        });
        TcpStream::connect(began.recv().unwrap()).unwrap()
    }

    #[test]
    fn a_question_takes_a_round_trip() {
        let round_trip = Duration::from_millis(30);
        let mut stream = echo_at(round_trip);
        let (sent_at, mut answer) = (Instant::now(), [0; 4]);
        stream.write_all(b"when").unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"when");
        assert!(sent_at.elapsed() >= round_trip, "{:?}", sent_at.elapsed());
    }

    #[test]
    fn everything_arrives_in_order_and_so_does_the_end() {
        let mut stream = echo_at(Duration::from_millis(2));
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut writer = stream.try_clone().unwrap();
        let all = sent.clone();
        let sending = thread::spawn(move || {
            writer.write_all(&all).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        sending.join().unwrap();
        assert!(back == sent, "{} of {} octets", back.len(), sent.len());
    }

    #[test]
    fn a_connection_that_nobody_takes_ends() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let nobody = TcpListener::bind(any).unwrap().local_addr().unwrap();
        let (sender, began) = channel();
        thread::spawn(move || {
            run(any, nobody, Duration::ZERO, |address| {
                sender.send(address).unwrap();
                Ok(true)
            })
        });
        let mut stream = TcpStream::connect(began.recv().unwrap()).unwrap();
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
}
