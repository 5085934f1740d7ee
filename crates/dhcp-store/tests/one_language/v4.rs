//! Hostile clients of DHCPv4.

use std::net::{Ipv4Addr, SocketAddrV4};

use base::Random;
use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{Lease, LeaseTable, V4};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use dhcp_store::sql::row::Layout;
use dhcp_store::sql::{Backend, Schema};
use dhcp_wire::v4::{Message, MessageType};

use super::{Hostile, NoIncludes, any_labels, any_name, any_octets};

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn configuration(more: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{ "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
            "valid-lifetime": 600, "store-extended-info": true, "authoritative": true,
            "subnet4": [ {{ "id": 4294967294, "subnet": "10.0.0.0/8", "pools": [
                {{ "pool": "10.0.0.10 - 10.200.0.0", "pool-id": 7 }} ] }} ], {more} }} }}"#
    )
}

impl Hostile for V4 {
    fn configurations() -> Vec<String> {
        let long = "b".repeat(200);
        let reserved = |number: u8, name: &str| {
            format!(r#"{{ "hw-address": "02:00:00:00:00:{number:02}", "hostname": "{name}" }}"#)
        };
        let names = [&"x.".repeat(150), &"\u{fc}".repeat(150), "Host.Example", "a\\u0000b"];
        let hosts: Vec<String> = (1..).zip(names).map(|(at, name)| reserved(at, name)).collect();
        let hosts = hosts.join(",");
        [
            r#""ddns-qualifying-suffix": "example.org""#.to_owned(),
            format!(r#""ddns-qualifying-suffix": "{long}.Example.ORG.""#),
            r#""ddns-replace-client-name": "when-present", "ddns-generated-prefix": "MyHost""#
                .to_owned(),
            format!(
                r#""ddns-replace-client-name": "always", "ddns-generated-prefix": "{long}{}""#,
                "c".repeat(45)
            ),
            format!(
                r#""reservations-global": true, "reservations": [ {hosts} ],
                   "ddns-qualifying-suffix": "example.org""#
            ),
            r#""hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": {
                "replace-client-id": true, "identifier-expression": "option[12].hex" } } ]"#
                .to_owned(),
            r#""match-client-id": false, "ddns-replace-client-name": "when-not-present""#
                .to_owned(),
        ]
        .iter()
        .map(|more| configuration(more))
        .collect()
    }

    fn compile(text: &str, table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp4("test.conf", text, &mut NoIncludes)
            .unwrap_or_else(|problems| panic!("{}", problems[0]));
        Snapshot::compile(&checked.config, |specs, reserved| table.configure(specs, reserved))
    }

    fn message(random: &mut Random, reply: Option<&[u8]>) -> (Vec<u8>, Ingress) {
        let offer = reply.and_then(|reply| Message::parse(reply).ok());
        let offer = offer.filter(|offer| offer.message_type() == Some(MessageType::Offer));
        let mut octets = vec![0; 236];
        octets[..4].copy_from_slice(&[1, 1, 6, 1]);
        octets[24..28].copy_from_slice(&RELAY.octets());
        octets.extend([0x63, 0x82, 0x53, 0x63]);
        let mut put = |code: u8, value: &[u8]| {
            octets.extend([code, value.len().min(255) as u8]);
            octets.extend(&value[..value.len().min(255)]);
        };
        let mut head = [1, 1, 6];
        let mut chaddr = [2, 0, 0, 0, 0, random.below(6) as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        match &offer {
            Some(offer) => {
                put(53, &[3]);
                put(50, &offer.yiaddr().octets());
                put(54, &SERVER.octets());
                head = [1, offer.htype(), offer.hlen()];
                chaddr[..offer.chaddr().len()].copy_from_slice(offer.chaddr());
                if let Some(id) = offer.client_id() {
                    put(61, &id.octets().collect::<Vec<u8>>());
                }
            }
            None => {
                put(53, &[1]);
                if random.chance(1, 4) {
                    head = [1, *random.pick(&[1, 6, 255]).unwrap(), random.below(17) as u8];
                    random.fill(&mut chaddr);
                    chaddr[usize::from(head[2])..].fill(0);
                }
                if random.chance(1, 2) {
                    put(61, &any_octets(random, &[1, 2, 7, 22, 23, 128, 129, 200, 255]));
                }
            }
        }
        if random.chance(1, 2) {
            put(12, &any_name(random));
        }
        if random.chance(1, 2) {
            let flags = random.below(16) as u8;
            let name = if flags & 4 == 0 { any_name(random) } else { any_labels(random) };
            put(81, &[&[flags, 0, 0], &name[..name.len().min(252)]].concat());
        }
        let repeats = *random.pick(&[0, 1, 1, 2, 3]).unwrap();
        let repeats = if random.chance(1, 50) { 80 } else { repeats };
        for code in (0..repeats).map(|at| [1, 2, 12, 151, 0][at % 5]) {
            let value = any_octets(random, &[0, 1, 4, 100, 253]);
            put(82, &[&[code, value.len() as u8], &value[..]].concat());
        }
        octets[..3].copy_from_slice(&head);
        random.fill(&mut octets[4..8]);
        octets[28..44].copy_from_slice(&chaddr);
        octets.push(255);
        (octets, Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER))
    }

    fn as_filed(lease: &Lease) -> Lease {
        let hardware = match lease.hardware.octets() {
            [] => HardwareAddress::NONE,
            octets => HardwareAddress::new(1, octets),
        };
        Lease { hardware, hostname: lease.hostname.clone().into_lower_case(), ..lease.clone() }
    }

    fn as_tabled(lease: &Lease, layout: Layout) -> Lease {
        let filed = Self::as_filed(lease);
        if layout.schema == Schema::Current {
            return filed;
        }
        let id = filed.client_id.as_ref().map(|id| id.octets().to_vec());
        let cut = |id: Vec<u8>| match layout.backend {
            Backend::Mysql => ClientId::new(&id[..id.len().min(128)]),
            _ => ClientId::new(&id),
        };
        let state = match filed.state {
            LeaseState::Released => LeaseState::ExpiredReclaimed,
            other => other,
        };
        Lease { client_id: id.map(cut), state, pool_id: 0, ..filed }
    }
}
