//! Server with several relationships of high availability: the subnet of a message decides which
//! relationship says if the server serves its client.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::common::{EngineTestServer, TestProtocol, v4, v6};
use dhcp_engine::{DropReason, PairFilter, PairFilters, PairScopes, PairShare};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_wire::{v4 as wire4, v6 as wire6};

/// Relationships with the branch servers `spoke1` and `spoke2`.
const LIBRARIES: &str = r#""hooks-libraries": [ { "library": "libdhcp_ha.so", "parameters": {
    "high-availability": [
        { "this-server-name": "hub1", "mode": "hot-standby", "peers": [
            { "name": "spoke1", "role": "primary", "url": "http://192.0.2.1:1/" },
            { "name": "hub1", "role": "standby", "url": "http://192.0.2.9:1/" } ] },
        { "this-server-name": "hub2", "mode": "hot-standby", "peers": [
            { "name": "spoke2", "role": "primary", "url": "http://192.0.2.2:1/" },
            { "name": "hub2", "role": "standby", "url": "http://192.0.2.9:2/" } ] } ] } } ]"#;

/// Configuration of a hub; the pool of the second subnet is for the scope of its branch server.
fn config_4() -> String {
    format!(
        r#"{{ "Dhcp4": {{
        "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }}, {LIBRARIES},
        "subnet4": [
            {{ "id": 1, "subnet": "10.1.0.0/24", "pools": [ {{ "pool": "10.1.0.0/24" }} ],
               "user-context": {{ "ha-server-name": "spoke1" }} }},
            {{ "id": 2, "subnet": "10.2.0.0/24",
               "pools": [ {{ "pool": "10.2.0.0/24", "client-classes": [ "HA_spoke2" ] }} ],
               "user-context": {{ "ha-server-name": "hub2" }} }},
            {{ "id": 3, "subnet": "10.3.0.0/24",
               "pools": [ {{ "pool": "10.3.0.0/24" }} ] }} ] }} }}"#
    )
}

fn config_6() -> String {
    format!(
        r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, {LIBRARIES},
        "subnet6": [
            {{ "id": 1, "subnet": "2001:db8:1::/64", "pools": [ {{ "pool": "2001:db8:1::/80" }} ],
               "user-context": {{ "ha-server-name": "spoke1" }} }},
            {{ "id": 2, "subnet": "2001:db8:2::/64",
               "pools": [ {{ "pool": "2001:db8:2::/80", "client-classes": [ "HA_spoke2" ] }} ],
               "user-context": {{ "ha-server-name": "hub2" }} }},
            {{ "id": 3, "subnet": "2001:db8:3::/64",
               "pools": [ {{ "pool": "2001:db8:3::/80" }} ] }} ] }} }}"#
    )
}

fn discover(subnet: u8) -> Vec<u8> {
    let mut discover = v4::Dhcp4MessageBuilder::new(wire4::MessageType::Discover, subnet);
    discover.header.giaddr = Ipv4Addr::new(10, subnet, 0, 1);
    discover.octets()
}

fn solicit(subnet: u8) -> Vec<u8> {
    let relay = Ipv6Addr::new(0x2001, 0xdb8, subnet.into(), 0, 0, 0, 0, 1);
    let solicit = v6::Dhcp6MessageBuilder::new(wire6::MessageType::Solicit, subnet.into());
    solicit.na(1, &[]).through(&[(relay, &[])]).octets()
}

/// Checks which clients a hub answers: `begin` returns the first message of a client in a subnet.
fn a_hub_answers_clients_of_its_relationships<P: TestProtocol>(
    config: &str,
    begin: fn(u8) -> Vec<u8>,
) {
    let mut server: EngineTestServer<P> = EngineTestServer::new(config);
    let filters = [(); 2].map(|()| Arc::<PairFilter>::default());
    server.shards[0].set_pair_filters(PairFilters::new(filters.iter().map(Arc::clone)));
    let standby = PairScopes { is_balanced: false, is_served: [false; 2], is_observed: true };
    let other = DropReason::PartnersClient;
    let cases = [
        ([PairShare::All, PairShare::All], [None, None]),
        ([PairShare::Part(standby), PairShare::All], [Some(other), None]),
        ([PairShare::All, PairShare::Part(standby)], [None, Some(other)]),
        ([PairShare::Closed, PairShare::All], [Some(DropReason::PairNotReady), None]),
        ([PairShare::Closed, PairShare::Closed], [Some(DropReason::ServiceDisabled); 2]),
    ];
    for (shares, reasons) in cases {
        for (filter, share) in filters.iter().zip(shares) {
            filter.set_share(share);
        }
        for (subnet, reason) in (1..).zip(reasons) {
            let before = reason.map_or(0, |reason| server.dropped(reason));
            let is_answered = !server.send_to(0, &begin(subnet)).is_empty();
            assert_eq!(is_answered, reason.is_none(), "{shares:?}: subnet {subnet}");
            let after = reason.map_or(1, |reason| server.dropped(reason));
            assert_eq!(after, before + 1, "{shares:?}: subnet {subnet}");
        }
    }
    // The queries of clients that the standby observes, of its own relationship each.
    assert_eq!(filters.map(|filter| filter.take_queries().len()), [1, 1]);
}

/// Checks that a hub drops messages of subnets without a relationship, and of none.
fn a_hub_answers_no_client_without_a_relationship<P: TestProtocol>(
    config: &str,
    begin: fn(u8) -> Vec<u8>,
) {
    let mut server: EngineTestServer<P> = EngineTestServer::new(config);
    assert!(!server.send_to(0, &begin(3)).is_empty(), "without filters");
    let filters = [(); 2].map(|()| Arc::<PairFilter>::default());
    server.shards[0].set_pair_filters(PairFilters::new(filters));
    for (subnet, reason) in [(3, DropReason::NoRelationship), (4, DropReason::NoSubnet)] {
        assert!(server.send_to(0, &begin(subnet)).is_empty(), "subnet {subnet}");
        assert_eq!(server.dropped(reason), 1, "subnet {subnet}");
    }
    server.settle_down();
}

#[test]
fn a_dhcpv4_hub_answers_clients_of_its_relationships() {
    a_hub_answers_clients_of_its_relationships::<V4>(&config_4(), discover);
    a_hub_answers_no_client_without_a_relationship::<V4>(&config_4(), discover);
}

#[test]
fn a_dhcpv6_hub_answers_clients_of_its_relationships() {
    a_hub_answers_clients_of_its_relationships::<V6>(&config_6(), solicit);
    a_hub_answers_no_client_without_a_relationship::<V6>(&config_6(), solicit);
}
