//! DNS cookie of a run (RFC 7873, RFC 9018): the seed decides on the client's part, and the
//! generator requests the server's part once before the run.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use base::Random;
use dns_wire::{DnsMessage, Edns, EdnsOptions, Query, RecordType};
use netio::own_endpoint;

use crate::edns::{COOKIE, EdnsOption, PLAIN_BYTES};

/// Length of the client's part of a DNS cookie in bytes; the next constant is the range of the
/// length of the server's part (RFC 7873 section 4).
const CLIENT_BYTES: usize = 8;
const SERVER_BYTES: std::ops::RangeInclusive<usize> = 8..=32;
/// Largest number of requests to the server for its part of the cookie; the next constant is the
/// wait for each answer.
const ATTEMPTS: u16 = 3;
const PATIENCE: Duration = Duration::from_secs(1);

/// DNS cookie for the queries to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    /// EDNS option with both parts of the cookie, or with the client's part alone.
    pub(crate) option: EdnsOption,
    /// True if the server sent its part of the cookie.
    pub(crate) is_whole: bool,
}

/// Requests the server's part of the cookie from `server`, and returns the cookie for its queries.
///
/// # Errors
///
/// Fails when no socket can be opened, or nothing can be sent.
pub(crate) fn learn(server: SocketAddr, local: Option<IpAddr>, seed: u64) -> io::Result<Learnt> {
    learn_within(PATIENCE, server, local, seed)
}

/// Requests the server's part of the cookie as [`learn`] does, and waits for each answer for
/// `patience`.
fn learn_within(
    patience: Duration,
    server: SocketAddr,
    local: Option<IpAddr>,
    seed: u64,
) -> io::Result<Learnt> {
    let mut client = [0; CLIENT_BYTES];
    Random::from_seed(seed ^ u64::from(COOKIE)).fill(&mut client);
    let any =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(own_endpoint(local.unwrap_or(any), server))?;
    socket.connect(server)?;
    for id in 1..=ATTEMPTS {
        socket.send(&question(id, &client))?;
        if let Some(option) = answer(&socket, id, &client, patience)? {
            return Ok(Learnt { option, is_whole: true });
        }
    }
    Ok(Learnt { option: EdnsOption { code: COOKIE, data: client.to_vec() }, is_whole: false })
}

/// Returns a query with the identifier `id` for the name servers of the root zone, with the
/// client's part of the cookie.
fn question(id: u16, client: &[u8; CLIENT_BYTES]) -> Vec<u8> {
    let head = [0, COOKIE as u8, 0, CLIENT_BYTES as u8];
    let option = [&head[..], client].concat();
    let edns =
        Edns { udp_payload_bytes: PLAIN_BYTES, extended_rcode: 0, version: 0, dnssec_ok: false };
    let options = EdnsOptions { octets: &option, padding_block: 0 };
    let query = Query { recursion_desired: false, edns: Some(edns), options };
    let mut octets = Vec::new();
    query.append(&mut octets, b".", RecordType(2)).expect("the root is a name");
    octets[..2].copy_from_slice(&id.to_be_bytes());
    octets
}

/// Returns the cookie option in the answer to query `id`, if the answer comes within `patience`.
fn answer(
    socket: &UdpSocket,
    id: u16,
    client: &[u8],
    patience: Duration,
) -> io::Result<Option<EdnsOption>> {
    let until = Instant::now() + patience;
    let mut buffer = [0; 4_096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
        let len = match socket.recv(&mut buffer) {
            Ok(len) => len,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return Ok(None);
            }
            // No process listens at the port.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Ok(message) = DnsMessage::parse(&buffer[..len])
            && message.header().id == id
        {
            return Ok(whole_cookie(&message, client));
        }
    }
}

/// Returns the cookie of an answer, when it repeats the client's part and has a server's part.
fn whole_cookie(message: &DnsMessage<'_>, client: &[u8]) -> Option<EdnsOption> {
    let record = message.records().find(|record| record.kind == RecordType::OPT)?;
    let mut rest = record.data;
    while let [a, b, c, d, behind @ ..] = rest {
        let (code, len) = (u16::from_be_bytes([*a, *b]), usize::from(u16::from_be_bytes([*c, *d])));
        let data = behind.get(..len)?;
        let server_bytes = len.saturating_sub(client.len());
        if code == COOKIE && data.starts_with(client) && SERVER_BYTES.contains(&server_bytes) {
            return Some(EdnsOption { code, data: data.to_vec() });
        }
        rest = &behind[len..];
    }
    None
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_servers_part_is_kept_and_a_server_without_one_is_told_apart() {
        for (tail, is_whole) in [(&[9; 16][..], true), (&[9; 7], false), (&[], false)] {
            let server = UdpSocket::bind("127.0.0.1:0").unwrap();
            let address = server.local_addr().unwrap();
            let responder = thread::spawn(move || {
                let attempts = if is_whole { 1 } else { ATTEMPTS };
                for _ in 0..attempts {
                    let mut buffer = [0; 512];
                    let (len, from) = server.recv_from(&mut buffer).unwrap();
                    let mut answer = buffer[..len].to_vec();
                    answer[2] |= 0x80;
                    // Both lengths, of the record and of the option, grow by the server's part.
                    let option_at = len - CLIENT_BYTES - 4;
                    answer[option_at - 1] += tail.len() as u8;
                    answer[option_at + 3] += tail.len() as u8;
                    answer.extend(tail);
                    server.send_to(&answer, from).unwrap();
                }
            });
            let learnt = learn_within(Duration::from_secs(300), address, None, 1).unwrap();
            responder.join().unwrap();
            assert_eq!(learnt.is_whole, is_whole);
            assert_eq!(learnt.option.data.len(), if is_whole { 24 } else { 8 });
        }
    }
}
