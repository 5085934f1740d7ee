//! DHCPv6: RFC 5007 over UDP, RFC 5460 over TCP.

use std::net::Ipv6Addr;

use super::*;

const ADDRESSES: Addresses = Addresses {
    server: "2001:db8:1::1",
    requester: "2001:db8:1::2",
    stranger: "2001:db8:1::3",
    prefix_length: 64,
};

const SOLICIT: u8 = 1;
const LEASE_QUERY: u8 = 14;
const LEASE_QUERY_REPLY: u8 = 15;
const LEASE_QUERY_DONE: u8 = 16;

/// Options of queries and replies.
const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const ADDRESS: u16 = 5;
const PREFIX: u16 = 26;
const REMOTE_ID: u16 = 37;
const QUERY: u16 = 44;
const CLIENT_DATA: u16 = 45;
const CLIENT_TIME: u16 = 46;
const RELAY_ID: u16 = 53;

/// DUID of the requester.
const REQUESTER: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0xff];

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).expect("a short option");
    [&code.to_be_bytes(), &length.to_be_bytes(), value].concat()
}

/// Returns a message of the requester with a query of `kind` for `link`.
fn query(kind: u8, link: &str, options: &[u8]) -> Vec<u8> {
    let link: Ipv6Addr = link.parse().expect("an address");
    let query = option(QUERY, &[&[kind], &link.octets()[..], options].concat());
    message(LEASE_QUERY, &[option(CLIENT_ID, &REQUESTER), query].concat())
}

fn message(kind: u8, options: &[u8]) -> Vec<u8> {
    [&[kind, 0x11, 0x22, 0x33], options].concat()
}

fn address_option(address: &str) -> Vec<u8> {
    let address: Ipv6Addr = address.parse().expect("an address");
    option(ADDRESS, &[&address.octets()[..], &[0; 8]].concat())
}

fn duid_option(client: u8) -> Vec<u8> {
    option(CLIENT_ID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, client])
}

/// Calls `visit` with each option in `octets`.
fn each_option(mut octets: &[u8], visit: &mut dyn FnMut(u16, &[u8])) {
    while let [c1, c2, l1, l2, tail @ ..] = octets {
        let (value, after) = tail.split_at(usize::from(u16::from_be_bytes([*l1, *l2])));
        visit(u16::from_be_bytes([*c1, *c2]), value);
        octets = after;
    }
}

fn number(value: &[u8]) -> u32 {
    u32::from_be_bytes(value.try_into().expect("four bytes"))
}

/// Returns options as text; lifetimes in client data are compared without the time since the
/// client's last transaction.
fn show_options(octets: &[u8], text: &mut String) {
    let mut elapsed_s = 0;
    each_option(octets, &mut |code, value| {
        if code == CLIENT_TIME {
            elapsed_s = number(value);
        }
    });
    let lifetimes = |value: &[u8]| -> Vec<u32> {
        let left = value.chunks(4).map(number);
        left.map(|left_s| if left_s == u32::MAX { left_s } else { left_s + elapsed_s }).collect()
    };
    each_option(octets, &mut |code, value| {
        *text += &match code {
            CLIENT_DATA => " client [".to_owned(),
            CLIENT_TIME => " time".to_owned(),
            ADDRESS => format!(" {:?} {:02x?}", lifetimes(&value[16..24]), &value[..16]),
            PREFIX => format!(" {:?} {:02x?}", lifetimes(&value[..8]), &value[8..]),
            _ => format!(" {code}: {value:02x?} {:?}", String::from_utf8_lossy(value)),
        };
        if code == CLIENT_DATA {
            show_options(value, text);
            *text += " ]";
        }
    });
}

fn show(octets: &[u8]) -> String {
    let mut text = format!("{:02x?}", &octets[..4]);
    show_options(&octets[4..], &mut text);
    text
}

/// Returns true for the last reply to a bulk query: one without leases ends it at once.
fn is_done(octets: &[u8]) -> bool {
    let mut has_lease = false;
    each_option(&octets[4..], &mut |code, _| has_lease |= code == CLIENT_DATA);
    octets[0] == LEASE_QUERY_DONE || (octets[0] == LEASE_QUERY_REPLY && !has_lease)
}

fn config(advanced: &str) -> String {
    let requester = ADDRESSES.requester;
    format!(
        r#""store-extended-info": true, "valid-lifetime": 4000, "preferred-lifetime": 3000,
        "server-id": {{ "type": "EN", "enterprise-id": 1, "identifier": "0102" }},
        "expired-leases-processing": {{ "reclaim-timer-wait-time": 0,
                                         "flush-reclaimed-timer-wait-time": 0 }},
        "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }},
          {{ "library": "libdhcp_lease_query.so", "parameters": {{
             "requesters": [ "{requester}" ] {advanced} }} }} ],
        "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                        "pools": [ {{ "pool": "2001:db8:1::50 - 2001:db8:1::ffff" }} ],
                        "pd-pools": [ {{ "prefix": "2001:db8:a::", "prefix-len": 48,
                                         "delegated-len": 56 }} ] }},
                     {{ "id": 2, "subnet": "2001:db8:2::/64",
                        "pools": [ {{ "pool": "2001:db8:2::50 - 2001:db8:2::ffff" }} ] }} ],"#
    )
}

/// Returns leases in all states; `now_s` is one time for both servers.
fn leases(now_s: u64) -> Vec<Value> {
    let context = |relay_id: &str| {
        json!({ "ISC": { "relay-info": [
            { "hop": 1, "link": "2001:db8:1::7", "peer": "fe80::9", "relay-id": relay_id,
              "options": "0x00120001700025000500000009FF", "remote-id": "00000009FF" },
            { "hop": 0, "link": "2001:db8:1::8", "peer": "fe80::5" } ] } })
    };
    let lease = |address: &str, client: u8, iaid: u32, lifetime_s: u64, elapsed_s: u64| {
        json!({ "ip-address": address, "iaid": iaid, "valid-lft": lifetime_s,
                "duid": format!("00:03:00:01:02:00:00:00:00:0{client}"),
                "preferred-lft": lifetime_s - 1000, "expire": now_s + lifetime_s - elapsed_s })
    };
    let with = |mut lease: Value, key: &str, value: Value| {
        lease[key] = value;
        lease
    };
    let prefix = |lease| with(with(lease, "type", json!("IA_PD")), "prefix-len", json!(56));
    let relayed = |lease, id: &str| with(lease, "user-context", context(id));
    let in_2 = |lease| with(lease, "subnet-id", json!(2));
    let infinite = json!({ "ip-address": "2001:db8:1::64", "iaid": 1, "valid-lft": u32::MAX,
                           "preferred-lft": u32::MAX, "duid": "00:03:00:01:02:00:00:00:00:02" });
    vec![
        relayed(lease("2001:db8:1::60", 1, 1, 4000, 300), "000300010202"),
        lease("2001:db8:1::61", 1, 2, 4000, 20),
        lease("2001:db8:1::62", 1, 3, 1100, 100_000),
        with(lease("2001:db8:1::63", 1, 4, 4000, 10), "state", json!(1)),
        infinite,
        in_2(lease("2001:db8:2::65", 1, 5, 4000, 900)),
        prefix(with(
            relayed(lease("2001:db8:a:100::", 1, 1, 4000, 100), "000300010203"),
            "subnet-id",
            json!(1),
        )),
        relayed(lease("2001:db8:1::30", 3, 1, 4000, 700), "000300010202"),
        relayed(lease("2001:db8:1::66", 3, 2, 4000, 600), "000300010203"),
        in_2(relayed(lease("2001:db8:2::67", 4, 1, 4000, 50), "000300010202")),
        lease("2001:db8:1::31", 5, 1, 1100, 100_000),
    ]
}

/// Returns the queries that both kinds of transport know.
fn common_queries() -> Vec<(String, Vec<u8>)> {
    let mut queries = Vec::new();
    let mut ask = |name: String, octets: Vec<u8>| queries.push((name, octets));
    for address in [
        "2001:db8:1::60",
        "2001:db8:1::61",
        "2001:db8:1::62",
        "2001:db8:1::63",
        "2001:db8:1::64",
        "2001:db8:1::30",
        "2001:db8:1::31",
        "2001:db8:1::70",
        "2001:db8:1::1",
        "2001:db8:9::1",
        "2001:db8:2::65",
        "2001:db8:a:100::",
        "2001:db8:a:1ff::1",
        "2001:db8:a:200::",
        "2001:db8:b::",
    ] {
        ask(format!("address {address}"), query(1, "::", &address_option(address)));
    }
    let known = address_option("2001:db8:1::60");
    ask("other link".to_owned(), query(1, "2001:db8:2::", &known));
    ask("unknown link".to_owned(), query(1, "2001:db8:77::", &known));
    let both = [&known[..], &address_option("2001:db8:1::61")].concat();
    ask("two addresses".to_owned(), query(1, "::", &both));
    ask("no address".to_owned(), query(1, "::", &[]));
    ask("no client".to_owned(), query(2, "::", &[]));
    ask("short client".to_owned(), query(2, "::", &option(CLIENT_ID, &[1, 2])));
    for kind in [0, 6, 9] {
        ask(format!("kind {kind}"), query(kind, "::", &known));
    }
    let ours = option(SERVER_ID, &[0, 2, 0, 0, 0, 1, 1, 2]);
    let from_ours = [&query(1, "::", &known)[..], &ours].concat();
    ask("server".to_owned(), from_ours);
    queries
}

fn udp_queries() -> Vec<(String, Vec<u8>)> {
    let mut queries = common_queries();
    let mut ask = |name: String, octets: Vec<u8>| queries.push((name, octets));
    for client in 1..7 {
        for link in ["::", "2001:db8:1::", "2001:db8:1::5", "2001:db8:2::1", "2001:db8:77::"] {
            ask(format!("client {client}, link {link}"), query(2, link, &duid_option(client)));
        }
    }
    for kind in 3..6 {
        ask(format!("bulk {kind}"), query(kind, "::", &option(RELAY_ID, &[0xab; 4])));
    }
    let known = query(1, "::", &address_option("2001:db8:1::60"));
    ask("no query".to_owned(), message(LEASE_QUERY, &option(CLIENT_ID, &REQUESTER)));
    ask("no requester".to_owned(), message(LEASE_QUERY, &known[18..]));
    let theirs = option(SERVER_ID, &[0, 2, 0, 0, 0, 1, 1, 3]);
    ask("other server".to_owned(), [&known[..], &theirs].concat());
    ask("reply".to_owned(), message(LEASE_QUERY_REPLY, &known[4..]));
    queries
}

fn udp_replies(make: ServerMake, now_s: u64) -> Option<(Replies, Vec<(String, Value)>)> {
    let mut served = served(make, ScenarioFamily::V6, &ADDRESSES, &config(""))?;
    served.add("lease6-add", &leases(now_s));
    let server: SocketAddr = format!("[{}]:547", ADDRESSES.server).parse().expect("an address");
    let socket = served.requester(ADDRESSES.requester, 5470);
    let stranger = served.requester(ADDRESSES.stranger, 547);
    // Its reply is later than one to the query before, which may get none.
    let mut marker = query(9, "::", &[]);
    marker[1] = 0xff;
    let mut queries = udp_queries();
    queries.push(("stranger".to_owned(), queries[0].1.clone()));
    let mut replies = Replies::new();
    for (name, query) in queries {
        let from = if name == "stranger" { &stranger } else { &socket };
        from.send_to(&query, server).expect("the link takes it");
        socket.send_to(&marker, server).expect("the link takes it");
        let mut texts = Vec::new();
        let mut buffer = [0; 2000];
        loop {
            let (len, from) = socket.recv_from(&mut buffer).expect("the marker is answered");
            if buffer[1] == 0xff {
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
fn queries_are_answered_as_kea_3_answers_them() {
    if !has_debian_13() {
        return;
    }
    let now_s = now_s();
    let Some((ours, own_statistics)) = udp_replies(ServerMake::Godwit, now_s) else { return };
    let (keas, statistics) = udp_replies(ServerMake::Kea3, now_s).expect("there are namespaces");
    assert_equal(&ours, &keas);
    assert!(keas.iter().filter(|(_, replies)| !replies.is_empty()).count() > 40, "{keas:#?}");
    assert_eq!(own_statistics, statistics);
}

fn bulk_queries() -> Vec<(String, Vec<u8>)> {
    let mut queries = common_queries();
    let mut ask = |name: &str, octets: Vec<u8>| queries.push((name.to_owned(), octets));
    for client in [1, 3, 4, 6] {
        for link in ["::", "2001:db8:1::", "2001:db8:77::"] {
            ask(&format!("client {client}, {link}"), query(2, link, &duid_option(client)));
        }
    }
    let relay = |id: &[u8]| option(RELAY_ID, id);
    for link in ["::", "2001:db8:1::", "2001:db8:2::", "2001:db8:77::"] {
        ask(&format!("relay id, {link}"), query(3, link, &relay(&[0, 3, 0, 1, 2, 2])));
        let remote = option(REMOTE_ID, &[0, 0, 0, 9, 0xff]);
        ask(&format!("remote id, {link}"), query(5, link, &remote));
    }
    ask("other relay id", query(3, "::", &relay(&[0, 3, 0, 1, 2, 3])));
    ask("unknown relay id", query(3, "::", &relay(&[0, 3, 0, 1, 2, 4])));
    ask("short relay id", query(3, "::", &relay(&[0xab])));
    ask("no relay id", query(3, "::", &[]));
    ask("no remote id", query(5, "::", &[]));
    ask("unknown remote id", query(5, "::", &option(REMOTE_ID, &[0, 0, 0, 9, 0xfe])));
    // Kea takes the elapsed time off an infinite lifetime, so the first link is left out.
    for link in ["2001:db8:2::7", "2001:db8:77::", "::"] {
        ask(&format!("link {link}"), query(4, link, &[]));
    }
    let known = query(1, "::", &address_option("2001:db8:1::60"));
    let theirs = option(SERVER_ID, &[0, 2, 0, 0, 0, 1, 1, 3]);
    ask("other server", [&known[..], &theirs].concat());
    ask("no requester", message(LEASE_QUERY, &known[18..]));
    ask("solicit", message(SOLICIT, &option(CLIENT_ID, &REQUESTER)));
    ask("junk", vec![255; 9]);
    ask("empty", Vec::new());
    queries.retain(|(name, _)| name != "address 2001:db8:1::64");
    queries
}

fn bulk_replies(make: ServerMake, now_s: u64) -> Option<Replies> {
    let advanced = format!(
        r#", "advanced": {{ "bulk-query-enabled": true, "lease-query-ip": "{}",
            "lease-query-tcp-port": 5470 }}"#,
        ADDRESSES.server
    );
    let threads = r#""multi-threading": { "enable-multi-threading": true },"#;
    let config = format!("{threads} {}", config(&advanced));
    let mut served = served(make, ScenarioFamily::V6, &ADDRESSES, &config)?;
    served.add("lease6-add", &leases(now_s));
    let state = answer(&mut served.daemon, &json!({ "command": "status-get" }));
    assert_eq!(state["arguments"]["extended-info-tables"], true, "{make:?}");
    let server: SocketAddr = format!("[{}]:5470", ADDRESSES.server).parse().expect("an address");
    let queries = bulk_queries();
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
