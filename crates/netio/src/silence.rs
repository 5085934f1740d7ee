//! Cause of a server's silence: the network's error for a datagram to a server that has sent no
//! reply.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::own_endpoint;

/// Time to wait for the network's error (ICMP) after the datagram was sent.
const PATIENCE: Duration = Duration::from_millis(300);

/// Sends an empty datagram to `server`, from the address `local` if there is one, and returns the
/// text of the network's error (ICMP); `None` if none comes.
pub fn cause(server: SocketAddr, local: Option<IpAddr>) -> Option<String> {
    // A connected socket gets the errors that an ICMP message carries (udp(7)).
    match ask(server, local) {
        Ok(()) => None,
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => None,
            io::ErrorKind::ConnectionRefused => {
                Some(format!("nothing listens at {server} (ICMP: port unreachable)"))
            }
            io::ErrorKind::HostUnreachable => {
                Some(format!("there is no machine at {} (host unreachable)", server.ip()))
            }
            _ => Some(format!("the network does not carry datagrams to {server}: {error}")),
        },
    }
}

fn ask(server: SocketAddr, local: Option<IpAddr>) -> io::Result<()> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(own_endpoint(local.unwrap_or(any), server))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(&[])?;
    socket.recv(&mut [0; 16]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_nobody_has_is_named_and_one_that_is_silent_is_not() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        assert_eq!(cause(address, None), None);
        // A socket with a peer keeps the port from others, and takes nothing of anybody else.
        silent.connect(address).unwrap();
        // On a busy machine the network may take longer than this waits for it.
        let cause = (0..1_000).find_map(|_| cause(address, Some(address.ip()))).unwrap();
        assert!(cause.contains(&format!("nothing listens at {address}")), "{cause}");
    }
}
