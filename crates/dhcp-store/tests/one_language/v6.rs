//! Hostile clients of DHCPv6.

use std::net::{Ipv6Addr, SocketAddrV6};

use base::Random;
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{HardwareSource, Lease, LeaseClient, LeaseTable, Resource, ResourceKind, V6};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};
use dhcp_store::sql::row::RowLayout;
use dhcp_store::sql::{Schema, SqlDatabaseKind};
use sim::hostile;

use super::{HostileClientFamily, HostileIncludeResolver};

const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];
const RELAY: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

fn configuration(more: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }},
            "valid-lifetime": 600, "store-extended-info": true, "mac-sources": [ "any" ],
            "subnet6": [ {{ "id": 4294967294, "subnet": "2001:db8::/32", "rapid-commit": true,
                "pools": [ {{ "pool": "2001:db8:1::/64", "pool-id": 7 }} ],
                "pd-pools": [ {{ "prefix": "2001:db8:8000::", "prefix-len": 33,
                                 "delegated-len": 64 }} ] }} ], {more} }} }}"#
    )
}

impl HostileClientFamily for V6 {
    fn configurations() -> Vec<String> {
        let long = "b".repeat(200);
        let reserved = |number: u8, name: &str| {
            format!(
                r#"{{ "duid": "00:03:00:01:02:00:00:00:00:{number:02}", "hostname": "{name}" }}"#
            )
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
                "replace-client-id": true,
                "identifier-expression": "substring(option[1].hex, 2, 130)" } } ]"#
                .to_owned(),
        ]
        .iter()
        .map(|more| configuration(more))
        .collect()
    }

    fn compile(text: &str, table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp6("test.conf", text, &mut HostileIncludeResolver)
            .unwrap_or_else(|problems| panic!("{}", problems[0]));
        Snapshot::compile(&checked.config, &SERVER_DUID, |specs, reserved| {
            table.configure(specs, reserved)
        })
    }

    fn message(random: &mut Random, _reply: Option<&[u8]>) -> (Vec<u8>, Ingress) {
        let ingress = Ingress {
            source: SocketAddrV6::new(RELAY, 547, 0, 0),
            local: Ipv6Addr::LOCALHOST,
            interface: 0,
            is_multicast: false,
            listener_index: 0,
        };
        (hostile::v6::message(random, RELAY), ingress)
    }

    fn moved(lease: Lease, number: u32) -> Lease {
        let (first, step) = match lease.address.kind {
            ResourceKind::Prefix => (0x2001_0db8_4000_u128 << 80, 128 - lease.address.len),
            ResourceKind::Address => (0x2001_0db8_0002_u128 << 80, 0),
        };
        let address = Ipv6Addr::from_bits(first + (u128::from(number) << step));
        Lease { address: Resource { address, ..lease.address }, ..lease }
    }

    fn as_filed(lease: &Lease) -> Lease {
        let mut extra = lease.extra;
        if extra.hardware.is_empty() {
            extra.hardware = HardwareAddress::NONE;
            extra.hardware_source = HardwareSource::Unknown;
        }
        let hostname = lease.hostname.clone().into_lower_case();
        Lease { hostname, extra, ..lease.clone() }
    }

    fn as_tabled(lease: &Lease, layout: RowLayout) -> Lease {
        let filed = Self::as_filed(lease);
        if layout.schema == Schema::Current {
            return filed;
        }
        let duid = filed.client.duid.octets();
        let duid = match layout.backend {
            SqlDatabaseKind::Mysql => ClientId::new(&duid[..duid.len().min(128)]),
            _ => ClientId::new(duid),
        };
        let state = match filed.state {
            LeaseState::Released => LeaseState::ExpiredReclaimed,
            LeaseState::Registered => LeaseState::Assigned,
            other => other,
        };
        let client = LeaseClient { duid, ..filed.client };
        Lease { client, state, pool_id: 0, ..filed }
    }
}
