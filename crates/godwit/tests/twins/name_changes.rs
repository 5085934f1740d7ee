//! Views of names: name change requests that a server sends, and options of its replies.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use dhcp_wire::v6::Packet;
use ncr::NameChangeRequest;
use netio::UdpOptions;
use serde_json::Value;

/// Mark in a configuration that is replaced by the port of the receiver of requests.
const PORT_MARK: &str = "@requests@";
/// Code of the options of DHCPv4 replies that have a name.
const NAME_OPTIONS: [u8; 2] = [12, 81];
/// Offset of the options in a DHCPv4 message.
const OPTIONS_AT: usize = 240;
/// Bytes before the options of a DHCPv4 message (RFC 2131 §3).
const MAGIC_COOKIE: [u8; 4] = [99, 130, 83, 99];

/// Kernel memory for the requests of all steps: the receiver may have no processor while a server
/// sends them, and a request that finds no room is lost.
const BUFFER_BYTES: usize = 16 << 20;

/// Receiver of a server's name change requests, in place of `kea-dhcp-ddns`.
pub(super) struct RequestReceiver {
    socket: UdpSocket,
    lines: RefCell<Vec<String>>,
}

impl RequestReceiver {
    pub(super) fn new() -> Self {
        let options = UdpOptions {
            receive_buffer_bytes: Some(BUFFER_BYTES),
            ..UdpOptions::at((Ipv4Addr::LOCALHOST, 0))
        };
        let opened = netio::UdpSocket::open(&options).expect("loopback has ports");
        let socket = opened.as_fd().try_clone_to_owned().expect("the process has descriptors");
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true).expect("the socket is open");
        Self { socket, lines: RefCell::default() }
    }

    /// Returns `config` with the receiver's port.
    pub(super) fn add_to(&self, config: &str) -> String {
        let port = self.socket.local_addr().expect("the socket is open").port();
        config.replace(PORT_MARK, &port.to_string())
    }

    /// Returns the requests that have come, without `lease-expires-on`, which is a time, and which
    /// newer versions of Kea leave out.
    pub(super) fn lines(&self) -> Vec<String> {
        self.receive();
        self.lines.borrow().clone()
    }

    /// Receives the requests that have come.
    pub(super) fn receive(&self) {
        let mut lines = self.lines.borrow_mut();
        let mut buffer = [0; 65_536];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            lines.push(line_of(&buffer[..len]));
        }
    }
}

/// Returns a line for a datagram: the request in our own form, with the name in lower case, since
/// Kea keeps the case of `ddns-generated-prefix` and `ddns-qualifying-suffix` in requests only.
fn line_of(datagram: &[u8]) -> String {
    match NameChangeRequest::from_datagram(datagram) {
        Ok(request) => {
            let own = request.to_datagram(0);
            let value: Value = serde_json::from_slice(&own[2..]).expect("our own form is JSON");
            let mut value = value;
            if let Some(members) = value.as_object_mut() {
                members.remove("lease-expires-on");
                members.insert("fqdn".to_owned(), request.name.to_string().to_lowercase().into());
            }
            value.to_string()
        }
        Err(fault) => format!("{fault}: {}", datagram.escape_ascii()),
    }
}

/// Returns the options of a reply that have a name: a line for each, with the code and the bytes.
pub(super) fn names_in(reply: &[u8]) -> Vec<String> {
    // A DHCPv4 reply may look like a DHCPv6 message.
    let is_v4 = reply.get(..OPTIONS_AT).is_some_and(|header| header.ends_with(&MAGIC_COOKIE));
    if !is_v4 {
        let packet = Packet::parse(reply).expect("the player has read it");
        let option = packet.message().option(dhcp_wire::v6::option::CLIENT_FQDN);
        return option.map(|option| line(39, option)).into_iter().collect();
    }
    // The parts of a long option are one value (RFC 3396).
    let mut values: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    let mut rest = reply.get(OPTIONS_AT..).unwrap_or_default();
    while let Some((&code, after)) = rest.split_first().filter(|(code, _)| **code != 255) {
        let len = after.first().map_or(0, |&len| usize::from(len));
        let (value, next) =
            after.get(1..).unwrap_or_default().split_at_checked(len).unwrap_or_default();
        if NAME_OPTIONS.contains(&code) {
            values.entry(code).or_default().extend_from_slice(value);
        }
        rest = next;
    }
    values.iter().map(|(code, value)| line(*code, value)).collect()
}

fn line(code: u8, value: &[u8]) -> String {
    format!("option {code}: {value:02x?} {}", value.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_replies_of_both_families() {
        let mut v4 = [0; OPTIONS_AT].to_vec();
        v4[0] = 2;
        v4[OPTIONS_AT - 4..].copy_from_slice(&MAGIC_COOKIE);
        v4.extend([12, 1, b'a', 53, 1, 2, 12, 1, b'b', 255]);
        assert_eq!(names_in(&v4), ["option 12: [61, 62] ab"]);
        let v6 = [7, 0, 0, 1, 0, 39, 0, 3, 1, 1, b'a'];
        assert_eq!(names_in(&v6), [r"option 39: [01, 01, 61] \x01\x01a"]);
    }
}
