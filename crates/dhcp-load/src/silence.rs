//! Why nothing at all answered, as far as it can be found out afterwards.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// How long an ICMP message is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

/// A sentence on a server from which no answer came: nothing listens at its port, when its host
/// says so. An empty datagram is sent there, which no server takes for a message.
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
