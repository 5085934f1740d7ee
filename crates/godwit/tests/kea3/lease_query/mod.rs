//! Twin of lease queries: Godwit and Kea 3 with the same leases answer the same queries, over UDP
//! and over TCP, from requesters that are configured and from one that is not.
//!
//! Each server is in a network namespace of its own and the requesters in another. Times in replies
//! depend on when a query is made; they are compared as the times of the lease that they stand for.

mod upgrade;
mod v4;
mod v6;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};

use scenario::ScenarioFamily;
use serde_json::{Value, json};

use super::answer;
use crate::common::link::LinkNamespaces;
use crate::common::{PATIENCE, has_debian_13};
use crate::subjects::process::{Daemon, ServedLink, ServerMake, Setup};

/// Query over UDP with its reply, over TCP with its replies: a name and what came, as text.
type Replies = Vec<(String, Vec<String>)>;

/// Longest wait for an open connection, in nanoseconds.
const LONG_NS: u64 = 300_000_000_000;

/// Server under test with the link to its requesters. The server ends before the link.
struct Served {
    daemon: Daemon,
    link: LinkNamespaces,
}

/// Addresses of a link: of the server, and of a requester that is configured and one that is not.
struct Addresses {
    server: &'static str,
    requester: &'static str,
    stranger: &'static str,
    prefix_length: u8,
}

/// Starts `make` with the members `config`; `None` if the machine cannot make namespaces.
fn served(
    make: ServerMake,
    family: ScenarioFamily,
    addresses: &Addresses,
    config: &str,
) -> Option<Served> {
    let link = LinkNamespaces::new()?;
    let Addresses { server, requester, stranger, prefix_length } = addresses;
    let flags = if family == ScenarioFamily::V6 {
        link.join_by_ipv6("sv0", "cv0");
        link.ip_at_server(&format!("addr add {server}/{prefix_length} dev sv0 nodad"));
        " nodad"
    } else {
        link.join("sv0", "cv0", &format!("{server}/{prefix_length}"));
        ""
    };
    for address in [requester, stranger] {
        link.ip_at_client(&format!("addr add {address}/{prefix_length} dev cv0{flags}"));
    }
    let interfaces = format!("\"sv0/{server}\"");
    let served =
        ServedLink { namespace: link.server(), interfaces: &interfaces, has_raw_sockets: false };
    let setup = Setup { family, config, has_commands: true, persists: false, link: Some(served) };
    let daemon =
        Daemon::start(make, setup, 0, PATIENCE).unwrap_or_else(|why| panic!("{make:?}: {why}"));
    Some(Served { daemon, link })
}

impl Served {
    /// Adds leases by commands; each has to succeed.
    fn add(&mut self, command: &str, leases: &[Value]) {
        for lease in leases {
            let command = json!({ "command": command, "arguments": lease });
            let answer = answer(&mut self.daemon, &command);
            assert_eq!(answer["result"], 0, "{command}: {answer}");
        }
    }

    /// Returns the statistics whose names contain `part`, with their values.
    fn statistics(&mut self, part: &str) -> Vec<(String, Value)> {
        let all = answer(&mut self.daemon, &json!({ "command": "statistic-get-all" }));
        let all = all["arguments"].as_object().expect("statistics").clone();
        let of_queries = all.into_iter().filter(|(name, _)| name.contains(part));
        of_queries.map(|(name, samples)| (name, samples[0][0].clone())).collect()
    }

    /// Returns a UDP socket of the requester `address`.
    fn requester(&self, address: &str, port: u16) -> UdpSocket {
        let address: IpAddr = address.parse().expect("an address");
        let socket = self.link.opened_at_client(|| UdpSocket::bind((address, port)));
        let socket = socket.expect("the port is free");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        socket
    }

    /// Returns the replies to `message` over a TCP connection of `requester`: until `is_last`
    /// accepts one, or the server closes the connection, which the text `closed` tells.
    fn bulk(
        &self,
        server: SocketAddr,
        requester: &str,
        message: &[u8],
        show: fn(&[u8]) -> String,
        is_last: fn(&[u8]) -> bool,
    ) -> Vec<String> {
        let from: IpAddr = requester.parse().expect("an address");
        let stream = self.link.opened_at_client(|| connected(from, server));
        exchanged(stream, message, show, is_last).unwrap_or_else(|_| vec!["closed".to_owned()])
    }
}

fn connected(from: IpAddr, to: SocketAddr) -> TcpStream {
    let stream = netio::tcp::connect(to, Some(from)).expect("the address is ours");
    netio::tcp::wait_open(&stream, LONG_NS).expect("the server accepts connections");
    stream.set_nonblocking(false).expect("an open socket");
    stream
}

fn exchanged(
    mut stream: TcpStream,
    message: &[u8],
    show: fn(&[u8]) -> String,
    is_last: fn(&[u8]) -> bool,
) -> std::io::Result<Vec<String>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = u16::try_from(message.len()).expect("a short message");
    stream.write_all(&[&length.to_be_bytes(), message].concat())?;
    let mut replies = Vec::new();
    loop {
        let mut length = [0; 2];
        if stream.read_exact(&mut length).is_err() {
            replies.push("closed".to_owned());
            return Ok(replies);
        }
        let mut octets = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut octets)?;
        replies.push(show(&octets));
        if is_last(&octets) {
            return Ok(replies);
        }
    }
}

/// Returns the wall clock in seconds.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs()
}

/// Compares what the servers replied, query by query.
fn assert_equal(ours: &Replies, keas: &Replies) {
    assert!(!keas.is_empty());
    let differing: Vec<String> = ours
        .iter()
        .zip(keas)
        .filter(|(own, kea)| own != kea)
        .map(|((name, own), (_, kea))| format!("{name}:\n  {own:#?}\n  {kea:#?}"))
        .collect();
    assert!(differing.is_empty() && ours.len() == keas.len(), "{}", differing.join("\n"));
}
