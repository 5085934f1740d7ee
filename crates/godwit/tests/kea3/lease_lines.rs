//! Tests of log lines about leases: Godwit writes for the logger `leases` the same lines as Kea 3
//! at INFO.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use dhcp_wire::v4::{self, Dhcp4Header};
use dhcp_wire::v6::{self, IaKind};
use scenario::{ScenarioFamily, ScenarioServer};

use super::daemon;
use crate::common::{has_debian_13, waited_at_most};
use crate::subjects::process::{Daemon, ServerMake};

/// Returns loggers that write lines about leases to the log file, from INFO up.
fn loggers(number: u8) -> String {
    format!(
        r#""loggers": [ {{ "name": "kea-dhcp{number}", "severity": "INFO",
                           "output-options": [ {{ "output": "kea.log" }} ] }},
                        {{ "name": "kea-dhcp{number}.leases", "severity": "INFO",
                           "output-options": [ {{ "output": "kea.log" }} ] }} ]"#
    )
}

/// Returns the lines of the logger `leases`, with identifier and text.
fn lines(daemon: &Daemon) -> Vec<String> {
    let log = daemon.log();
    let of_leases = log.lines().filter(|line| line.contains(".leases/"));
    of_leases.filter_map(|line| Some(line.split_once("] ")?.1.to_owned())).collect()
}

/// Maximum time to wait for lines, which a server may write late.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits for `count` lines about leases and returns them.
fn awaited(daemon: &Daemon, count: usize) -> Vec<String> {
    waited_at_most(LIMIT, || lines(daemon).len() >= count);
    lines(daemon)
}

const SERVER: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Returns a message of the client with the last byte `client` through a relay agent.
fn message4(
    kind: v4::MessageType,
    client: u8,
    ciaddr: Ipv4Addr,
    wanted: Option<Ipv4Addr>,
) -> Vec<u8> {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, client]);
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: 0x0001_2300 + u32::from(client),
        secs: 0,
        flags: 0,
        ciaddr,
        yiaddr: nowhere,
        siaddr: nowhere,
        giaddr: Ipv4Addr::new(127, 0, 0, 9),
        chaddr,
    };
    let mut buffer = [0; 600];
    let mut writer = v4::MessageWriter::new(&mut buffer, &header);
    writer.option(v4::option::MESSAGE_TYPE, &[kind.code()]);
    if client % 2 == 1 {
        writer.option(v4::option::CLIENT_ID, &[1, 2, 0, 0, 0, 0, client]);
    }
    if let Some(wanted) = wanted {
        writer.option(v4::option::REQUESTED_IP_ADDRESS, &wanted.octets());
    }
    let names_server = wanted.is_some() || kind == v4::MessageType::Release;
    if names_server {
        writer.option(v4::option::SERVER_IDENTIFIER, &SERVER.octets());
    }
    let len = writer.finish(300).expect("the buffer is large");
    buffer[..len].to_vec()
}

/// Returns the lines that a server with four addresses logs about clients that take, renew, release
/// and decline leases.
fn logged4(make: ServerMake) -> Vec<String> {
    use v4::MessageType::{Ack, Decline, Discover, Offer, Release, Request};
    let config = format!(
        r#"{}, "valid-lifetime": 600, "cache-threshold": 0.0,
           "subnet4": [ {{ "id": 1, "subnet": "127.0.0.0/8",
                           "pools": [ {{ "pool": "127.1.0.1 - 127.1.0.4" }} ] }} ]"#,
        loggers(4)
    );
    let mut daemon = daemon(make, ScenarioFamily::V4, &config);
    let mut ask = |octets: Vec<u8>, answer: v4::MessageType| -> Ipv4Addr {
        let is_answer = |reply: &[u8]| {
            v4::Message::parse(reply).is_ok_and(|reply| reply.message_type() == Some(answer))
        };
        let replies = daemon.exchange(&octets, false, &is_answer).expect("it answers");
        let reply = replies.last().expect("there is one");
        v4::Message::parse(reply).expect("it is sound").yiaddr()
    };
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let mut leased = Vec::new();
    for client in [1, 2] {
        let offered = ask(message4(Discover, client, nowhere, None), Offer);
        leased.push(ask(message4(Request, client, nowhere, Some(offered)), Ack));
    }
    ask(message4(Request, 1, leased[0], None), Ack);
    let mut tell = |octets: Vec<u8>| {
        daemon.exchange(&octets, true, &|_| false).expect("it takes it");
    };
    tell(message4(Release, 1, leased[0], None));
    tell(message4(Release, 7, leased[0], None));
    tell(message4(Decline, 2, nowhere, Some(leased[1])));
    awaited(&daemon, 8)
}

#[test]
fn lines_of_dhcpv4_leases_are_those_of_kea_3() {
    if !has_debian_13() {
        return;
    }
    let kea = logged4(ServerMake::Kea3);
    assert_eq!(logged4(ServerMake::Godwit), kea);
    assert!(kea.len() == 8, "{kea:#?}");
}

fn message6(kind: v6::MessageType, client: u8, granted: Option<&[u8]>) -> Vec<u8> {
    let mut buffer = [0; 600];
    let link = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xffff);
    let peer = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    let levels = v6::RelayWriter::forward(&mut buffer).level(0, link, peer);
    let mut writer = levels.message(kind, 0x1230 + u32::from(client));
    writer.option(v6::option::CLIENTID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, client]);
    match granted {
        None => {
            for ia_kind in [IaKind::Na, IaKind::Pd] {
                let mark = writer.ia(ia_kind, u32::from(client), 0, 0);
                writer.end(mark);
            }
        }
        Some(reply) => {
            let reply = v6::Packet::parse(reply).expect("it is sound").message();
            for (code, value) in reply.options() {
                // A client that rebinds names no server; it can decline only addresses.
                let is_kept = match code {
                    v6::option::SERVERID => kind != v6::MessageType::Rebind,
                    v6::option::IA_PD => kind != v6::MessageType::Decline,
                    code => code == v6::option::IA_NA,
                };
                if is_kept {
                    writer.option(code, value);
                }
            }
        }
    }
    let len = writer.finish().expect("the buffer is large");
    buffer[..len].to_vec()
}

/// Returns the lines that a server logs about clients that take, renew, release and decline
/// addresses and prefixes.
fn logged6(make: ServerMake) -> Vec<String> {
    use v6::MessageType::{Decline, Rebind, Release, Renew, Request, Solicit};
    let config = format!(
        r#"{}, "valid-lifetime": 600, "preferred-lifetime": 500, "cache-threshold": 0.0,
           "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                "pools": [ {{ "pool": "2001:db8:1::1 - 2001:db8:1::4" }} ],
                "pd-pools": [ {{ "prefix": "2001:db8:8000::", "prefix-len": 56,
                                 "delegated-len": 58 }} ] }} ]"#,
        loggers(6)
    );
    let mut daemon = daemon(make, ScenarioFamily::V6, &config);
    let mut ask = |octets: &[u8]| -> Vec<u8> {
        let replies = daemon.exchange(octets, false, &|_| true).expect("it answers");
        replies.last().expect("there is one").clone()
    };
    for client in [1, 2] {
        let advertised = ask(&message6(Solicit, client, None));
        let granted = ask(&message6(Request, client, Some(&advertised)));
        if client == 1 {
            ask(&message6(Renew, client, Some(&granted)));
            ask(&message6(Rebind, client, Some(&granted)));
            ask(&message6(Release, client, Some(&granted)));
        } else {
            ask(&message6(Decline, client, Some(&granted)));
        }
    }
    awaited(&daemon, 17)
}

#[test]
fn lines_of_dhcpv6_leases_are_those_of_kea_3() {
    if !has_debian_13() {
        return;
    }
    let kea = logged6(ServerMake::Kea3);
    assert_eq!(logged6(ServerMake::Godwit), kea);
    assert!(kea.len() == 17, "{kea:#?}");
}
