//! Diagnosis of a DHCP load run without any reply, as far as the generator can find the reason
//! afterwards.

use std::net::SocketAddr;

use netio::silence;

/// Returns a sentence about a server that sent no reply: the network's error, if there is one, else
/// what to check. The function sends an empty datagram to the server, which no server takes for a
/// message.
pub(crate) fn reason(server: SocketAddr) -> String {
    silence::cause(server, None).unwrap_or_else(|| {
        format!("no answer at all: is {server} up, and does it have a subnet for this relay?")
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_closed_port_is_told_from_a_silent_server() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        assert!(reason(address).contains("is 127.0.0.1:"), "{}", reason(address));
        // A connected socket receives from its peer alone: for all others the port is closed, and
        // no other program takes it.
        silent.connect("127.0.0.1:9").unwrap();
        // On a busy machine the message may come later than a run waits for it.
        let until = Instant::now() + Duration::from_secs(300);
        let mut closed = reason(address);
        while !closed.ends_with("(ICMP: port unreachable)") {
            assert!(Instant::now() < until, "{closed}");
            closed = reason(address);
        }
    }
}
