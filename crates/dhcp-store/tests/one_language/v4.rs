//! Hostile clients of DHCPv4.

use std::net::{Ipv4Addr, SocketAddrV4};

use base::Random;
use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{Lease, LeaseClient, LeaseTable, V4};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use dhcp_store::sql::row::RowLayout;
use dhcp_store::sql::{Schema, SqlDatabaseKind};
use sim::hostile;

use super::{HostileClientFamily, HostileIncludeResolver};

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

impl HostileClientFamily for V4 {
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
        let checked = dhcp_config::parse_dhcp4("test.conf", text, &mut HostileIncludeResolver)
            .unwrap_or_else(|problems| panic!("{}", problems[0]));
        Snapshot::compile(&checked.config, |specs, reserved| table.configure(specs, reserved))
    }

    fn message(random: &mut Random, reply: Option<&[u8]>) -> (Vec<u8>, Ingress) {
        let octets = hostile::v4::message(random, reply, RELAY, SERVER);
        (octets, Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER))
    }

    fn moved(lease: Lease, number: u32) -> Lease {
        // This address is beyond the pool.
        Lease { address: Ipv4Addr::from_bits(0x0ac9_0000 + number), ..lease }
    }

    fn as_filed(lease: &Lease) -> Lease {
        let hardware = match lease.client.hardware.octets() {
            [] => HardwareAddress::NONE,
            octets => HardwareAddress::new(1, octets),
        };
        let client = LeaseClient { hardware, ..lease.client.clone() };
        Lease { client, hostname: lease.hostname.clone().into_lower_case(), ..lease.clone() }
    }

    fn as_tabled(lease: &Lease, layout: RowLayout) -> Lease {
        let filed = Self::as_filed(lease);
        if layout.schema == Schema::Current {
            return filed;
        }
        let cut = |id: &[u8]| match layout.backend {
            SqlDatabaseKind::Mysql => ClientId::new(&id[..id.len().min(128)]),
            _ => ClientId::new(id),
        };
        let client_id = filed.client.identifier().map(cut);
        let client = LeaseClient { client_id, ..filed.client };
        let state = match filed.state {
            LeaseState::Released => LeaseState::ExpiredReclaimed,
            other => other,
        };
        Lease { client, state, pool_id: 0, ..filed }
    }
}
