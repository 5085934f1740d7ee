//! Tests of the testbed's network namespaces on the real kernel. They need root.

use std::net::IpAddr;

use testbed::topology::{NamespaceSettings, allowed_cpus};
use testbed::{CommandLine, MeasurementTopology, Registry, TopologySide, namespace, qdisc};
use testkit::TempFolder;

/// Returns true if this test can run, and prints why not otherwise. `GODWIT_REQUIRE_TOOLS=1` makes
/// that a failure.
fn can_build_namespaces() -> bool {
    let root = testbed::registry::user_id() == 0;
    let able = root && testbed::command::find_program("ip").is_some();
    able || testkit::skip("namespaces need root and ip (package iproute2)")
}

fn ours() -> Vec<String> {
    let pid = Some(std::process::id());
    namespace::list().into_iter().filter(|name| namespace::owner(name) == pid).collect()
}

/// IP addresses of one family for the test: those of servers, the relay's, and a prefix for all.
struct TopologyAddresses {
    servers: [&'static str; 4],
    relay: &'static str,
    prefix_length: u8,
}

const FAMILIES: [TopologyAddresses; 2] = [
    TopologyAddresses {
        servers: ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"],
        relay: "10.0.255.254",
        prefix_length: 8,
    },
    TopologyAddresses {
        servers: ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"],
        relay: "2001:db8::ffff",
        prefix_length: 64,
    },
];

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn goes_up_carries_packets_and_leaves_nothing() {
    if !can_build_namespaces() {
        return;
    }
    let temporary = TempFolder::new("topology");
    let folder = temporary.path().join("registry");
    // The backlog belongs to the whole machine, so a file replaces it.
    let backlog = folder.join("setting");
    let registry = Registry::at(folder).unwrap().with_backlog_setting(backlog.clone());
    std::fs::write(&backlog, "1000").unwrap();
    for addresses in &FAMILIES {
        one_family(&registry, addresses);
        assert!(ours().is_empty());
        assert_eq!(std::fs::read_to_string(&backlog).unwrap(), "1000", "it was not put back");
    }
}

fn one_family(registry: &Registry, addresses: &TopologyAddresses) {
    let mut run = registry.begin().expect("it works");
    let cpus = allowed_cpus();
    let settings = NamespaceSettings {
        server_addresses: addresses.servers[..2].iter().map(|text| ip(text)).collect(),
        client_addresses: vec![ip(addresses.relay)],
        prefix_length: addresses.prefix_length,
        server_cpu: cpus[cpus.len() - 1],
        client_cpu: cpus[0],
    };
    let topology = MeasurementTopology::namespaces(&mut run, &settings).expect("it works");
    assert_eq!(ours().len(), 2);
    let further =
        NamespaceSettings { server_addresses: vec![ip(addresses.servers[2])], ..settings.clone() };
    let further = topology.with_further_server(&mut run, 0, &further).expect("it works");
    assert_eq!(ours().len(), 3);

    let steering = CommandLine::new("cat").arg("/sys/class/net/gw0/queues/rx-0/rps_cpus");
    let mask = topology.command(TopologySide::Server, None, steering).run().expect("it works");
    let mask = u128::from_str_radix(&mask.trim().replace(',', ""), 16).expect("it works");
    assert_eq!(mask, 1 << settings.server_cpu);
    for address in &addresses.servers[..2] {
        let route = CommandLine::new("ip").args(["route", "get", address]);
        let route =
            topology.command(TopologySide::Client, Some(cpus[0]), route).run().expect("it works");
        assert!(route.contains("dev gw0"), "{route}");
        let neighbor = CommandLine::new("ip").args(["neigh", "show", address]);
        let neighbor =
            topology.command(TopologySide::Client, None, neighbor).run().expect("it works");
        assert!(neighbor.contains("PERMANENT"), "{neighbor}");
    }
    for (side, topology) in [(TopologySide::Server, &topology), (TopologySide::Server, &further)] {
        // A program cannot bind an address before duplicate address detection has ended.
        let show = CommandLine::new("ip").args(["-6", "address", "show", "tentative"]);
        assert_eq!(topology.command(side, None, show).run().expect("it works"), "");
    }

    only_the_own_link_leads_to_a_further_server(&topology, &further, addresses);
    disciplines_come_count_and_go(&topology, addresses);
    assert!(MeasurementTopology::Loopback.with_further_server(&mut run, 1, &settings).is_err());
    run.end().expect("it works");
}

/// Checks that a queueing discipline at the generator's end of the link is set, counts the packets
/// that it drops, and is removed.
fn disciplines_come_count_and_go(topology: &MeasurementTopology, addresses: &TopologyAddresses) {
    let client = topology.namespace(TopologySide::Client).expect("there is one");
    let put = |words: Option<&[&str]>| qdisc::set(client, "gw0", words).expect("it works");
    let show = || qdisc::show(client, "gw0").expect("it works").replace(' ', "");
    // Twice: the kernel's default cannot be removed.
    for _ in 0..2 {
        put(None);
        assert!(show().contains(r#""kind":"noqueue""#), "{}", show());
    }
    put(Some(&["tbf", "rate", "1kbit", "burst", "2000", "limit", "2000"]));
    let send = format!(
        "for n in $(seq 20); do printf %01000d $n >/dev/udp/{}/9; done",
        addresses.servers[0]
    );
    let send = CommandLine::new("bash").arg("-c").arg(send);
    topology.command(TopologySide::Client, None, send).run().expect("it runs");
    // One datagram goes through at once, and one has room to wait.
    let drops =
        show().split(r#""drops":"#).nth(1).and_then(|rest| rest.split(',').next().map(str::parse));
    assert!((1..=18).contains(&drops.expect("it is told").unwrap_or(0)), "{}", show());
    put(Some(&["pfifo", "limit", "3"]));
    assert!(show().contains(r#""kind":"pfifo""#) && show().contains(r#""limit":3"#), "{}", show());
    put(None);
    assert!(show().contains(r#""kind":"noqueue""#), "{}", show());
    assert_eq!(qdisc::missing_reason(&["pfifo"]).expect("it works"), None);
    let why =
        qdisc::missing_reason(&["godwit"]).expect("it works").expect("there is no such thing");
    assert!(why.contains("godwit"), "{why}");
}

fn only_the_own_link_leads_to_a_further_server(
    shared: &MeasurementTopology,
    further: &MeasurementTopology,
    addresses: &TopologyAddresses,
) {
    let TopologyAddresses { servers, relay, .. } = addresses;
    let route = |topology: &MeasurementTopology, side, words: &[&str]| {
        let get = CommandLine::new("ip").args(["route", "get"]).args(words.iter().copied());
        topology.command(side, None, get).run().expect("it runs")
    };
    let from_relay = route(further, TopologySide::Client, &[servers[2], "from", relay]);
    assert!(from_relay.contains("dev gw1"), "{from_relay}");
    assert_eq!(further.interface(TopologySide::Client), "gw1");
    let others = route(further, TopologySide::Client, &[servers[3]]);
    assert!(others.contains("dev gw0"), "{others}");
    let back = route(further, TopologySide::Server, &[relay]);
    assert!(back.contains("dev gw0") && back.contains(&format!("src {}", servers[2])), "{back}");
    // Datagrams really pass in both directions.
    let probe = |topology: &MeasurementTopology, address: &str| {
        let ping = CommandLine::new("ping").args(["-c", "1", "-W", "300", "-I", relay]);
        topology.command(TopologySide::Client, None, ping.arg(address)).run()
    };
    if testbed::command::find_program("ping").is_some() {
        probe(shared, servers[0]).expect("it runs");
        probe(further, servers[2]).expect("it runs");
    }
}
