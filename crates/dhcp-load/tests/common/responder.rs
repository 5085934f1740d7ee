//! Thread that replies on a real socket.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Flag that is set when dropped, so that a failing test does not wait for its responder for ever.
struct ResponderStopGuard<'a>(&'a AtomicBool);

impl Drop for ResponderStopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `client` with the address of a socket on `ip`, which `serve` serves meanwhile.
pub(crate) fn beside<R>(
    ip: &str,
    serve: impl FnOnce(&netio::UdpSocket, &AtomicBool) + Send,
    client: impl FnOnce(SocketAddr) -> R,
) -> R {
    let bind: SocketAddr = (ip.parse::<IpAddr>().unwrap(), 0).into();
    // Room for all messages of a test: on a busy machine the responder may not run for a while.
    let options =
        netio::UdpOptions { receive_buffer_bytes: Some(8 << 20), ..netio::UdpOptions::at(bind) };
    let socket = netio::UdpSocket::open(&options).unwrap();
    let address = socket.local_address().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let responder = scope.spawn(|| serve(&socket, &stop));
        let result = {
            let _stop = ResponderStopGuard(&stop);
            client(address)
        };
        responder.join().unwrap();
        result
    })
}

/// Replies to datagrams at `socket` with the result of `answer`; an empty result is no reply.
pub(crate) fn respond(
    socket: &netio::UdpSocket,
    stop: &AtomicBool,
    answer: impl Fn(&[u8]) -> Vec<u8>,
) {
    let socket = UdpSocket::from(socket.as_fd().try_clone_to_owned().unwrap());
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut octets = [0; 2_048];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((len, from)) = socket.recv_from(&mut octets) {
            let answer = answer(&octets[..len]);
            if !answer.is_empty() {
                socket.send_to(&answer, from).unwrap();
            }
        }
    }
}
