//! Messages of hostile clients of each family, and servers for them on a link of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::Random;
use dhcp_wire::v4::option;
use dhcp_wire::{v4, v6};

use crate::common;
use crate::crash::{self, CrashFamily, CrashMessage, CrashReply, CrashRequest, replace};

/// Room for every datagram of either family.
pub(super) const BUFFER_LEN: usize = 65_507;
/// Addresses of the hostile clients' link: their relay agent, at which no process listens.
const LINK4: Ipv4Addr = Ipv4Addr::new(127, 128, 0, 1);
const LINK6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1);
/// First number of the hostile clients, whose hardware addresses no honest client has.
const FIRST: u32 = 0x0100_0000;
const CLIENTS: u64 = 3_000;

/// Returns loggers that write everything to a file, which is begun anew when it has grown.
fn loggers(folder: &std::path::Path, name: &str) -> String {
    format!(
        r#""loggers": [ {{ "name": "{name}", "severity": "DEBUG", "debuglevel": 99,
            "output-options": [ {{ "output": "{}", "maxsize": 2000000, "maxver": 1 }} ] }} ],"#,
        folder.join(common::DEBUG_LOG).display()
    )
}

/// Family with hostile clients.
pub(super) struct HostileFamily {
    /// Honest clients and the server.
    pub(super) family: CrashFamily,
    /// Function that writes the next hostile datagram to the front of a buffer and returns its
    /// length.
    pub(super) datagram: fn(&mut Random, &mut [u8]) -> usize,
}

pub(super) const V4: HostileFamily = HostileFamily {
    family: CrashFamily {
        configuration: |folder| {
            let path = common::configuration(folder, "always", 2);
            replace(
                &path,
                "\"valid-lifetime\": 4000,",
                &format!(
                    r#""valid-lifetime": 4000, {} "store-extended-info": true, "authoritative": true,
                "ddns-qualifying-suffix": "example.org", "stash-agent-options": true,
                "client-classes": [ {{ "name": "honest",
                    "test": "substring(pkt4.mac, 0, 3) == 0x020000" }} ],"#,
                    loggers(folder, "kea-dhcp4")
                ),
            );
            replace(&path, "127.0.0.0/8", "127.0.0.0/9");
            replace(
                &path,
                "127.1.255.254\" }",
                "127.1.1.254\", \"client-classes\": [ \"honest\" ] }",
            );
            replace(
                &path,
                "\"subnet4\": [",
                r#""subnet4": [ { "id": 2, "subnet": "127.128.0.0/9",
                    "pools": [ { "pool": "127.129.0.1 - 127.129.7.254" } ] },"#,
            );
            path
        },
        read: |octets| {
            if octets.get(24..28) == Some(&[127, 0, 0, 1]) {
                (crash::V4.read)(octets)
            } else {
                nothing()
            }
        },
        ..crash::V4
    },
    datagram: datagram_v4,
};

pub(super) const V6: HostileFamily = HostileFamily {
    family: CrashFamily {
        configuration: |folder| {
            let path = (crash::V6.configuration)(folder);
            replace(
                &path,
                "\"valid-lifetime\": 3600,",
                &format!(
                    r#""valid-lifetime": 3600, {} "store-extended-info": true,
                "mac-sources": [ "any" ], "ddns-qualifying-suffix": "example.org",
                "client-classes": [ {{ "name": "honest",
                    "test": "substring(option[1].hex, 4, 3) == 0x020000" }} ],"#,
                    loggers(folder, "kea-dhcp6")
                ),
            );
            replace(
                &path,
                "2001:db8:1::195\" }",
                "2001:db8:1::1fff\", \"client-classes\": [ \"honest\" ] }",
            );
            replace(
                &path,
                "\"delegated-len\": 56 }",
                "\"delegated-len\": 56, \"client-classes\": [ \"honest\" ] }",
            );
            replace(
                &path,
                "\"subnet6\": [",
                r#""subnet6": [ { "id": 2, "subnet": "2001:db8:2::/64", "rapid-commit": true,
                    "pools": [ { "pool": "2001:db8:2::100 - 2001:db8:2::7ff" } ],
                    "pd-pools": [ { "prefix": "2001:db8:9000::", "prefix-len": 53,
                                    "delegated-len": 64 } ] },"#,
            );
            path
        },
        read: |octets| {
            if octets.get(2..18) == Some(&crash::LINK6.octets()[..]) {
                (crash::V6.read)(octets)
            } else {
                nothing()
            }
        },
        ..crash::V6
    },
    datagram: datagram_v6,
};

/// Returns a reply that no honest client waits for: it came through the relay agent of the hostile
/// ones.
fn nothing() -> Option<CrashReply> {
    Some(CrashReply { xid: u32::MAX, is_offer: false, address: None, server: Vec::new() })
}

/// Returns a client's request about any address of the hostile clients.
fn ask(random: &mut Random, address: impl Fn(u64) -> IpAddr) -> CrashRequest {
    let address = address(random.below(2_048));
    match random.below(4) {
        0 => CrashRequest::Offer,
        1 => CrashRequest::Lease(address),
        2 => CrashRequest::Renewal(address),
        _ => CrashRequest::Release(address),
    }
}

fn datagram_v4(random: &mut Random, buffer: &mut [u8]) -> usize {
    let client = FIRST + random.below(CLIENTS) as u32;
    let xid = random.next_u32() | 1 << 31;
    let lease = |number| Ipv4Addr::from_bits(0x7f81_0001 + number as u32).into();
    let message = CrashMessage {
        client,
        xid,
        ask: ask(random, lease),
        server: &Ipv4Addr::LOCALHOST.octets(),
    };
    let mut plain = (crash::V4.write)(&message);
    plain[24..28].copy_from_slice(&LINK4.octets());
    let shaped = sim::hostile::v4::message(random, None, LINK4, Ipv4Addr::LOCALHOST);
    let len = match random.below(6) {
        0 => return put(&plain, buffer),
        1 => return put(&shaped, buffer),
        _ => {
            let captures = [&plain[..], &shaped[..]];
            v4::arbitrary::datagram(random, &captures, &mut buffer[..v4::arbitrary::BUFFER_LEN]).1
        }
    };
    aim_v4(random, &mut buffer[..len]);
    len
}

/// Makes a datagram that passes the first checks, most of the time.
fn aim_v4(random: &mut Random, octets: &mut [u8]) {
    if octets.len() < 240 || random.chance(1, 8) {
        return;
    }
    octets[..3].copy_from_slice(&[1, 1, 6]);
    octets[4] |= 0x80;
    octets[24..28].copy_from_slice(&LINK4.octets());
    octets[28..30].copy_from_slice(&[2, 1]);
    for at in 240..octets.len().saturating_sub(6) {
        if octets[at] == option::SERVER_IDENTIFIER && octets[at + 1] == 4 {
            octets[at + 2..at + 6].copy_from_slice(&Ipv4Addr::LOCALHOST.octets());
        }
    }
}

fn datagram_v6(random: &mut Random, buffer: &mut [u8]) -> usize {
    const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0x99];
    let client = FIRST + random.below(CLIENTS) as u32;
    let xid = (random.next_u32() >> 8) | 1 << 23;
    let is_prefix = client % 2 == 1;
    let lease = |number| {
        let first =
            if is_prefix { 0x2001_0db8_9000 << 80 } else { (0x2001_0db8_0002 << 80) + 0x100 };
        let step = if is_prefix { 64 } else { 0 };
        Ipv6Addr::from_bits(first + (u128::from(number) << step)).into()
    };
    let message = CrashMessage { client, xid, ask: ask(random, lease), server: &SERVER_DUID };
    let mut plain = (crash::V6.write)(&message);
    plain[2..18].copy_from_slice(&LINK6.octets());
    let shaped = sim::hostile::v6::message(random, LINK6);
    match random.below(6) {
        0 => put(&plain, buffer),
        1 => put(&shaped, buffer),
        _ => {
            let captures = [&plain[..], &shaped[..]];
            let room = &mut buffer[..v6::arbitrary::BUFFER_LEN];
            let (_, len) = v6::arbitrary::datagram(random, &captures, room);
            // Most come through the hostile clients' relay agent.
            if len >= 34 && room[0] == 12 && random.chance(7, 8) {
                room[2..18].copy_from_slice(&LINK6.octets());
            }
            len
        }
    }
}

fn put(octets: &[u8], buffer: &mut [u8]) -> usize {
    let len = octets.len().min(buffer.len());
    buffer[..len].copy_from_slice(&octets[..len]);
    len
}
