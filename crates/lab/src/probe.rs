//! Waiting until a server answers: one relayed DISCOVER every 50 ms from the generator's side.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use base::Writer;

use crate::error::LabError;

const EVERY: Duration = Duration::from_millis(50);
/// Clients that probe have a prefix that no generator uses.
const MAC: [u8; 6] = [0x02, 0x67, 0x77, 0xff, 0x00, 0x00];
const XID: u32 = 0x6777_7470;

/// A socket at the relay's address, opened inside the network namespace at `namespace` if given.
///
/// # Errors
/// The address cannot be bound (a port in use, no permission), or the namespace entered.
pub(crate) fn open(relay: SocketAddrV4, namespace: Option<&Path>) -> Result<UdpSocket, LabError> {
    let bind = || {
        let socket = UdpSocket::bind(relay).map_err(|e| cannot_bind(relay, &e))?;
        socket
            .set_read_timeout(Some(EVERY))
            .map_err(|e| LabError::cannot("set a timeout on a socket", e))?;
        Ok(socket)
    };
    let Some(namespace) = namespace else { return bind() };
    // Only the thread that opens the socket enters the namespace; the socket stays in it.
    let inside = || {
        netio::namespace::enter(namespace).map_err(|e| LabError::Failed(e.to_string()))?;
        bind()
    };
    std::thread::scope(|scope| {
        scope.spawn(inside).join().unwrap_or_else(|_| Err(LabError::Failed("cannot probe".into())))
    })
}

/// "cannot use ADDRESS: ...", in words for the two causes that users meet.
pub(crate) fn cannot_bind(address: SocketAddrV4, error: &io::Error) -> LabError {
    let cause = match error.kind() {
        io::ErrorKind::AddrInUse => "the port is in use by another program".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "no permission (ports below 1024 need root or CAP_NET_BIND_SERVICE)".to_owned()
        }
        _ => error.to_string(),
    };
    LabError::Failed(format!("cannot use UDP {address}: {cause}"))
}

/// Sends DISCOVERs to `server` until something comes back from it; true then, false when
/// `give_up` said so.
///
/// # Errors
/// The socket fails in a way that waiting does not mend.
pub(crate) fn wait_for_answer(
    socket: &UdpSocket,
    relay: SocketAddrV4,
    server: SocketAddrV4,
    mut give_up: impl FnMut() -> bool,
) -> Result<bool, LabError> {
    let message = discover(relay);
    let mut answer = [0; 2048];
    while !give_up() {
        let until = Instant::now() + EVERY;
        // Refused as long as the server has not opened its port; that is what is waited for.
        let _ = socket.send_to(&message, server);
        while Instant::now() < until {
            match socket.recv_from(&mut answer) {
                Ok((len, from)) if from.ip() == *server.ip() && has_xid(&answer[..len]) => {
                    return Ok(true);
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    std::thread::sleep(EVERY / 5);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(LabError::cannot(format!("receive on UDP {relay}"), e)),
            }
        }
    }
    Ok(false)
}

fn has_xid(answer: &[u8]) -> bool {
    answer.get(4..8) == Some(&XID.to_be_bytes())
}

/// A relayed DHCPDISCOVER of 300 octets (RFC 2131 section 2, RFC 1542 section 4.1.1).
fn discover(relay: SocketAddrV4) -> [u8; 300] {
    let mut octets = [0; 300];
    let mut writer = Writer::new(&mut octets);
    writer.put(&[1, 1, 6, 1]).u32(XID).fill(0, 16).put(&relay.ip().octets()).put(&MAC);
    writer.fill(0, 10 + 64 + 128).put(&[99, 130, 83, 99]);
    writer.put(&[53, 1, 1]).put(&[55, 2, 1, 51]).u8(255);
    octets
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn any() -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)
    }

    fn local(socket: &UdpSocket) -> SocketAddrV4 {
        match socket.local_addr().unwrap() {
            std::net::SocketAddr::V4(address) => address,
            std::net::SocketAddr::V6(_) => panic!("bound to IPv4"),
        }
    }

    #[test]
    fn an_answer_ends_the_wait_and_silence_does_not() {
        let socket = open(any(), None).unwrap();
        let relay = local(&socket);
        let server = UdpSocket::bind(any()).unwrap();
        let address = local(&server);
        let mut rounds = 0;
        let silent = wait_for_answer(&socket, relay, address, || {
            rounds += 1;
            rounds > 2
        });
        assert!(!silent.unwrap());
        let answering = std::thread::spawn(move || {
            let mut message = [0; 400];
            let (len, from) = server.recv_from(&mut message).unwrap();
            assert_eq!((len, message[0], &message[240..243]), (300, 1, &[53, 1, 1][..]));
            message[4] ^= 1;
            server.send_to(&message[..len], from).unwrap();
            message[4] ^= 1;
            server.send_to(&message[..len], from).unwrap();
        });
        assert!(wait_for_answer(&socket, relay, address, || false).unwrap());
        answering.join().unwrap();
    }

    #[test]
    fn a_port_in_use_is_said_in_one_sentence() {
        let taken = UdpSocket::bind(any()).unwrap();
        let error = open(local(&taken), None).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().ends_with("the port is in use by another program"), "{error}");
    }
}
