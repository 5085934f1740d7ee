//! Diagnosis of a run without any reply, as far as the generator can find the reason afterwards.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Time to wait for an ICMP message.
const PATIENCE: Duration = Duration::from_millis(300);

/// Returns a sentence about a server that sent no reply: nothing listens at its port, if its host
/// reports that. The function sends an empty datagram to the server, which no server takes for a
/// message.
pub(crate) fn reason(local: IpAddr, server: SocketAddr) -> String {
    if is_closed(local, server) {
        format!("no answer at all: nothing listens at {server} (port unreachable)")
    } else {
        format!("no answer at all: is {server} up, and does it have a subnet for this relay?")
    }
}

fn is_closed(local: IpAddr, server: SocketAddr) -> bool {
    let ask = || -> std::io::Result<()> {
        let socket = UdpSocket::bind((local, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.send(&[])?;
        socket.recv(&mut [0; 16]).map(drop)
    };
    ask().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_is_told_from_a_silent_server() {
        let local: IpAddr = [127, 0, 0, 1].into();
        let silent = UdpSocket::bind((local, 0)).unwrap();
        let address = silent.local_addr().unwrap();
        assert!(reason(local, address).contains("is 127.0.0.1:"), "{}", reason(local, address));
        drop(silent);
        let closed = reason(local, address);
        assert!(closed.ends_with("(port unreachable)"), "{closed}");
    }
}
