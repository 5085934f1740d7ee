//! DNS server that records its queries.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval at which the recorder checks whether it has to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Server that answers every query with the query itself and records it.
pub(crate) struct QueryRecorder {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl QueryRecorder {
    pub(crate) fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        socket.set_read_timeout(Some(LOOK_EVERY)).expect("a timeout can be set");
        let address = socket.local_addr().expect("it is bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || record(&socket, &until));
        Self { address, is_over, thread }
    }

    /// Ends the server and returns the queries without their identifiers, in order.
    pub(crate) fn end(self) -> Vec<Vec<u8>> {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().expect("the recorder does not panic")
    }
}

fn record(socket: &UdpSocket, is_over: &AtomicBool) -> Vec<Vec<u8>> {
    let mut asked = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((len, client)) if len > 2 => {
                asked.push(buffer[2..len].to_vec());
                buffer[2] |= 0x80;
                socket.send_to(&buffer[..len], client).expect("loopback takes an answer");
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if is_over.load(Ordering::Acquire) {
                    return asked;
                }
            }
            Err(error) => panic!("the recorder: {error}"),
        }
    }
}
