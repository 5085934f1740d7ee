//! DHCPv4: RFC 4388 over UDP, RFC 6926 over TCP.

use std::net::Ipv4Addr;

use super::*;

const ADDRESSES: Addresses = Addresses {
    server: "10.1.0.1",
    requester: "10.1.0.2",
    stranger: "10.1.0.3",
    prefix_length: 24,
};

const LEASE_QUERY: u8 = 10;
const LEASE_ACTIVE: u8 = 13;
const BULK_LEASE_QUERY: u8 = 14;
const LEASE_QUERY_DONE: u8 = 15;

/// Options with times, which are compared without the time since the client's last transaction.
const TIMES_LEFT: [u8; 3] = [51, 58, 59];
const ELAPSED: u8 = 91;
const BASE_TIME: u8 = 152;

/// Message of a requester.
#[derive(Clone, Copy)]
struct QueryMessage<'q> {
    kind: u8,
    xid: u8,
    ciaddr: &'q str,
    giaddr: &'q str,
    /// Type and bytes of the hardware address.
    hardware: (u8, &'q [u8]),
    options: &'q [(u8, &'q [u8])],
}

const UDP: QueryMessage<'_> = QueryMessage {
    kind: LEASE_QUERY,
    xid: 0,
    ciaddr: "0.0.0.0",
    giaddr: ADDRESSES.requester,
    hardware: (0, &[]),
    options: &[],
};
const TCP: QueryMessage<'_> = QueryMessage { kind: BULK_LEASE_QUERY, giaddr: "0.0.0.0", ..UDP };

impl QueryMessage<'_> {
    fn octets(&self) -> Vec<u8> {
        let mut octets = vec![0; 240];
        let (htype, hardware) = self.hardware;
        octets[..3].copy_from_slice(&[1, htype, hardware.len() as u8]);
        octets[7] = self.xid;
        for (at, address) in [(12, self.ciaddr), (24, self.giaddr)] {
            let address: Ipv4Addr = address.parse().expect("an address");
            octets[at..at + 4].copy_from_slice(&address.octets());
        }
        octets[28..28 + hardware.len()].copy_from_slice(hardware);
        octets[236..].copy_from_slice(&[99, 130, 83, 99]);
        for (code, value) in [&[(53, &[self.kind][..])], self.options].concat() {
            octets.extend([code, value.len() as u8]);
            octets.extend(value);
        }
        octets.push(255);
        octets
    }
}

/// Returns the options of a message, in order.
fn options(octets: &[u8]) -> Vec<(u8, &[u8])> {
    let mut options = Vec::new();
    let mut rest = &octets[240..];
    while let [code, len, tail @ ..] = rest
        && *code != 255
    {
        let (value, after) = tail.split_at(usize::from(*len));
        options.push((*code, value));
        rest = after;
    }
    options
}

fn number(value: &[u8]) -> u32 {
    u32::from_be_bytes(value.try_into().expect("four bytes"))
}

/// Returns a reply as text, with times as those of the lease.
fn show(octets: &[u8]) -> String {
    let options = options(octets);
    let elapsed = options.iter().find(|(code, _)| *code == ELAPSED);
    let elapsed_s = elapsed.map_or(0, |(_, value)| number(value));
    // A lease without end counts from when it was added, which differs.
    let is_infinite = options.contains(&(51, &[255; 4]));
    let mut text = format!("{:02x?} {:?} {:?}", &octets[..12], &octets[12..28], &octets[28..44]);
    for (code, value) in options {
        text += &match code {
            ELAPSED => format!(" {code}"),
            BASE_TIME if is_infinite => format!(" {code}"),
            BASE_TIME => format!(" {code}: {}", number(value) - elapsed_s),
            _ if TIMES_LEFT.contains(&code) && value != [255; 4] => {
                format!(" {code}: {}", number(value) + elapsed_s)
            }
            _ => format!(" {code}: {value:02x?}"),
        };
    }
    format!("{text} {}", octets.len())
}

fn is_done(octets: &[u8]) -> bool {
    options(octets).contains(&(53, &[LEASE_QUERY_DONE]))
}

fn config(advanced: &str) -> String {
    let requester = ADDRESSES.requester;
    format!(
        r#""store-extended-info": true, "valid-lifetime": 4000, "renew-timer": 1000,
        "rebind-timer": 2000,
        "expired-leases-processing": {{ "reclaim-timer-wait-time": 0,
                                         "flush-reclaimed-timer-wait-time": 0 }},
        "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }},
          {{ "library": "libdhcp_lease_query.so", "parameters": {{
             "requesters": [ "{requester}" ] {advanced} }} }} ],
        "subnet4": [ {{ "id": 1, "subnet": "10.1.0.0/24",
                        "pools": [ {{ "pool": "10.1.0.50 - 10.1.0.200" }} ] }},
                     {{ "id": 2, "subnet": "10.2.0.0/24", "renew-timer": 0, "rebind-timer": 0,
                        "calculate-tee-times": true,
                        "pools": [ {{ "pool": "10.2.0.50 - 10.2.0.200" }} ] }} ],"#
    )
}

/// Returns leases in all states; `now_s` is one time for both servers.
fn leases(now_s: u64) -> Vec<Value> {
    let context = json!({ "ISC": { "relay-agent-info": {
        "sub-options": "0x010170020200FF0C01AB", "remote-id": "00FF", "relay-id": "AB" } } });
    let lease = |address: &str, client: u8, lifetime_s: u64, elapsed_s: u64| {
        json!({ "ip-address": address, "hw-address": format!("02:00:00:00:00:0{client}"),
                "valid-lft": lifetime_s, "expire": now_s + lifetime_s - elapsed_s })
    };
    let with = |mut lease: Value, key: &str, value: Value| {
        lease[key] = value;
        lease
    };
    let identified = |lease| with(lease, "client-id", json!("01:02:03"));
    // Of a client's leases in one subnet, Kea sends those first in bulk that were added first.
    vec![
        identified(lease("10.1.0.30", 6, 4000, 10)),
        identified(with(lease("10.1.0.60", 1, 4000, 100), "user-context", context.clone())),
        identified(lease("10.1.0.61", 1, 4000, 1500)),
        with(lease("10.1.0.62", 2, 4000, 50), "user-context", context.clone()),
        with(lease("10.1.0.63", 3, 100, 100_000), "user-context", context),
        with(lease("10.1.0.64", 4, 4000, 10), "state", json!(1)),
        with(lease("10.1.0.65", 5, 4000, 10), "state", json!(2)),
        identified(lease("10.2.0.66", 6, 4000, 700)),
        with(lease("10.1.0.31", 7, 100, 100_000), "hostname", json!("x.example")),
        json!({ "ip-address": "10.1.0.67", "hw-address": "02:00:00:00:00:08",
                "valid-lft": 4_294_967_295_u32 }),
        json!({ "ip-address": "10.1.0.68", "hw-address": "02:00:00:00:00:08:09:0a",
                "valid-lft": 4000, "expire": now_s + 3900, "hostname": "y.example" }),
    ]
}

const HARDWARE: [[u8; 6]; 9] = {
    let mut all = [[2, 0, 0, 0, 0, 0]; 9];
    let mut at = 0;
    while at < 9 {
        all[at][5] = at as u8 + 1;
        at += 1;
    }
    all
};

/// Returns the queries over UDP with their names.
fn udp_queries() -> Vec<(String, Vec<u8>)> {
    let mut queries = Vec::new();
    let mut ask =
        |name: &str, query: QueryMessage<'_>| queries.push((name.to_owned(), query.octets()));
    for last in (60..69).chain([10, 30, 31, 70]) {
        let address = format!("10.1.0.{last}");
        ask(&address, QueryMessage { ciaddr: &address, ..UDP });
    }
    ask("10.2.0.66", QueryMessage { ciaddr: "10.2.0.66", ..UDP });
    ask("10.9.0.1", QueryMessage { ciaddr: "10.9.0.1", ..UDP });
    for hardware in &HARDWARE {
        ask(&format!("{hardware:?}"), QueryMessage { hardware: (1, hardware), ..UDP });
    }
    let hardware = (1, &HARDWARE[0][..]);
    ask("type 6", QueryMessage { hardware: (6, &HARDWARE[0]), ..UDP });
    ask("type alone", QueryMessage { hardware: (1, &[]), ..UDP });
    ask("longer", QueryMessage { hardware: (1, &[2, 0, 0, 0, 0, 8, 9, 10]), ..UDP });
    let id: (u8, &[u8]) = (61, &[1, 2, 3]);
    ask("id", QueryMessage { options: &[id], ..UDP });
    ask("other id", QueryMessage { options: &[(61, &[9, 9])], ..UDP });
    ask("id, hardware", QueryMessage { options: &[id], hardware, ..UDP });
    ask("address, hardware", QueryMessage { ciaddr: "10.1.0.60", hardware, ..UDP });
    ask("address, id", QueryMessage { ciaddr: "10.1.0.60", options: &[id], ..UDP });
    ask("nothing", UDP);
    let known = QueryMessage { ciaddr: "10.1.0.61", ..UDP };
    ask("no giaddr", QueryMessage { giaddr: "0.0.0.0", ..known });
    ask("stranger", QueryMessage { giaddr: ADDRESSES.stranger, ..known });
    ask("server", QueryMessage { options: &[(54, &[10, 1, 0, 1])], ..known });
    ask("other server", QueryMessage { options: &[(54, &[10, 1, 0, 9])], ..known });
    ask(
        "options",
        QueryMessage { options: &[(55, &[1, 3, 12, 51, 82, 91]), (12, b"foo")], ..known },
    );
    ask("agent", QueryMessage { options: &[(82, &[1, 2, 5, 6])], ..known });
    ask("reply", QueryMessage { kind: LEASE_ACTIVE, ..known });
    ask("bulk", QueryMessage { kind: BULK_LEASE_QUERY, ..known });
    queries
}

fn udp_replies(make: ServerMake, now_s: u64) -> Option<(Replies, Vec<(String, Value)>)> {
    let mut served = served(make, ScenarioFamily::V4, &ADDRESSES, &config(""))?;
    served.add("lease4-add", &leases(now_s));
    let socket = served.requester(ADDRESSES.requester, 67);
    let server: SocketAddr = format!("{}:67", ADDRESSES.server).parse().expect("an address");
    // Its reply is later than one to the query before, which may get none.
    let marker = QueryMessage { xid: 255, ciaddr: "10.9.9.9", ..UDP }.octets();
    let mut replies = Replies::new();
    for (name, query) in udp_queries() {
        for message in [&query, &marker] {
            socket.send_to(message, server).expect("the link takes it");
        }
        let mut texts = Vec::new();
        let mut buffer = [0; 2000];
        loop {
            let (len, from) = socket.recv_from(&mut buffer).expect("the marker is answered");
            if buffer[7] == 255 {
                break;
            }
            texts.push(format!("{from}: {}", show(&buffer[..len])));
        }
        replies.push((name, texts));
    }
    let statistics = served.statistics("lease-query");
    Some((replies, statistics))
}

#[test]
fn queries_of_relay_agents_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let now_s = now_s();
    let Some((ours, own_statistics)) = udp_replies(ServerMake::Godwit, now_s) else { return };
    let (keas, statistics) = udp_replies(ServerMake::Kea3, now_s).expect("there are namespaces");
    assert_equal(&ours, &keas);
    assert!(keas.iter().filter(|(_, replies)| !replies.is_empty()).count() > 20, "{keas:#?}");
    assert_eq!(own_statistics, statistics);
}

/// Returns the queries over TCP with their names; the last ones are from a stranger.
fn bulk_queries(now_s: u64) -> Vec<(String, Vec<u8>)> {
    let mut queries = Vec::new();
    let mut ask =
        |name: &str, query: QueryMessage<'_>| queries.push((name.to_owned(), query.octets()));
    for hardware in &HARDWARE {
        ask(&format!("{hardware:?}"), QueryMessage { hardware: (1, hardware), ..TCP });
    }
    let id: (u8, &[u8]) = (61, &[1, 2, 3]);
    ask("id", QueryMessage { options: &[id], ..TCP });
    for (name, value) in [
        ("relay id", &[12, 1, 0xab][..]),
        ("other relay id", &[12, 1, 0xac]),
        ("remote id", &[2, 2, 0, 0xff]),
        ("part of a remote id", &[2, 1, 0xff]),
        ("relay id, remote id", &[2, 2, 0, 0xff, 12, 1, 0xab]),
        ("circuit id", &[1, 1, 7]),
    ] {
        ask(name, QueryMessage { options: &[(82, value)], ..TCP });
    }
    ask("all", TCP);
    let hardware = (1, &HARDWARE[0][..]);
    ask("id, hardware", QueryMessage { options: &[id], hardware, ..TCP });
    ask("address", QueryMessage { ciaddr: "10.1.0.60", ..TCP });
    ask("network", QueryMessage { options: &[(221, b"\x01a")], hardware, ..TCP });
    let seconds = |before: u64| (now_s as u32).wrapping_sub(before as u32).to_be_bytes();
    let [early, middle, late] = [seconds(1000), seconds(400), seconds(20)];
    ask("from", QueryMessage { options: &[id, (154, &middle)], ..TCP });
    ask("until", QueryMessage { options: &[id, (155, &middle)], ..TCP });
    ask("from, until", QueryMessage { options: &[id, (154, &early), (155, &middle)], ..TCP });
    ask("until, from", QueryMessage { options: &[id, (154, &late), (155, &early)], ..TCP });
    ask("giaddr", QueryMessage { giaddr: ADDRESSES.requester, hardware, ..TCP });
    ask("other server", QueryMessage { options: &[(54, &[10, 1, 0, 9])], hardware, ..TCP });
    ask("options", QueryMessage { options: &[(55, &[82, 12])], hardware, ..TCP });
    ask("over UDP", QueryMessage { kind: LEASE_QUERY, hardware, ..TCP });
    ask("discover", QueryMessage { kind: 1, hardware, ..TCP });
    queries.push(("junk".to_owned(), vec![255; 9]));
    queries.push(("empty".to_owned(), Vec::new()));
    queries
}

fn bulk_replies(make: ServerMake, now_s: u64) -> Option<Replies> {
    let advanced = format!(
        r#", "advanced": {{ "bulk-query-enabled": true, "lease-query-ip": "{}",
            "lease-query-tcp-port": 6700 }}"#,
        ADDRESSES.server
    );
    let threads = r#""multi-threading": { "enable-multi-threading": true },"#;
    let config = format!("{threads} {}", config(&advanced));
    let mut served = served(make, ScenarioFamily::V4, &ADDRESSES, &config)?;
    served.add("lease4-add", &leases(now_s));
    let server: SocketAddr = format!("{}:6700", ADDRESSES.server).parse().expect("an address");
    let queries = bulk_queries(now_s);
    let mut replies: Replies = queries
        .iter()
        .map(|(name, query)| {
            let texts = served.bulk(server, ADDRESSES.requester, query, show, is_done);
            (name.clone(), texts)
        })
        .collect();
    let refused = served.bulk(server, ADDRESSES.stranger, &queries[0].1, show, is_done);
    replies.push(("stranger".to_owned(), refused));
    Some(replies)
}

#[test]
fn bulk_queries_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let now_s = now_s();
    let Some(ours) = bulk_replies(ServerMake::Godwit, now_s) else { return };
    let keas = bulk_replies(ServerMake::Kea3, now_s).expect("there are namespaces");
    assert_equal(&ours, &keas);
}
