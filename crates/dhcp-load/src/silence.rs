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
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_closed_port_is_told_from_a_silent_server() {
        let local: IpAddr = [127, 0, 0, 1].into();
        let silent = UdpSocket::bind((local, 0)).unwrap();
        let address = silent.local_addr().unwrap();
        assert!(reason(local, address).contains("is 127.0.0.1:"), "{}", reason(local, address));
        // A connected socket receives from its peer alone: for all others the port is closed, and
        // no other program takes it.
        silent.connect((local, 9)).unwrap();
        // On a busy machine the message may come later than a run waits for it.
        let until = Instant::now() + Duration::from_secs(300);
        let mut closed = reason(local, address);
        while !closed.ends_with("(port unreachable)") {
            assert!(Instant::now() < until, "{closed}");
            closed = reason(local, address);
        }
    }
}
