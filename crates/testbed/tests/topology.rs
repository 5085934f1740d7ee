//! Namespaces on the real kernel. Needs root.

use std::net::Ipv4Addr;

use testbed::topology::{NamespaceSettings, allowed_cpus};
use testbed::{CommandLine, Registry, Side, Topology, namespace};

/// True when this test can run; says why when not. `GODWIT_REQUIRE_TOOLS=1` makes that a failure.
fn can_build_namespaces() -> bool {
    let root = testbed::registry::user_id() == 0;
    let able = root && testbed::command::find_program("ip").is_some();
    if !able {
        eprintln!("skipped: namespaces need root and ip (package iproute2)");
        assert!(std::env::var_os("GODWIT_REQUIRE_TOOLS").is_none_or(|v| v != "1"));
    }
    able
}

fn ours() -> Vec<String> {
    let pid = Some(std::process::id());
    namespace::list().into_iter().filter(|name| namespace::owner(name) == pid).collect()
}

#[test]
fn goes_up_carries_packets_and_leaves_nothing() {
    if !can_build_namespaces() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("godwit-topology-{}", std::process::id()));
    let registry = Registry::at(folder.clone()).unwrap();
    let backlog = || std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").unwrap();
    let before = backlog();
    let mut run = registry.begin().unwrap();
    let cpus = allowed_cpus();
    let settings = NamespaceSettings {
        server_addresses: vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)],
        client_address: Ipv4Addr::new(10, 0, 255, 254),
        prefix_length: 8,
        server_cpu: cpus[cpus.len() - 1],
        client_cpu: cpus[0],
    };
    let topology = Topology::namespaces(&mut run, &settings).unwrap();
    assert_eq!(ours().len(), 2);
    let further = NamespaceSettings {
        server_addresses: vec![Ipv4Addr::new(10, 0, 0, 3)],
        ..settings.clone()
    };
    let further = topology.with_further_server(&mut run, 0, &further).unwrap();
    assert_eq!(ours().len(), 3);

    // The answer of a UDP echo in the other namespace shows addresses, neighbours and links.
    let steering = CommandLine::new("cat").arg("/sys/class/net/gw0/queues/rx-0/rps_cpus");
    let mask = topology.command(Side::Server, None, steering).run().unwrap();
    let mask = u128::from_str_radix(&mask.trim().replace(',', ""), 16).unwrap();
    assert_eq!(mask, 1 << settings.server_cpu);
    for address in ["10.0.0.1", "10.0.0.2"] {
        let route = CommandLine::new("ip").args(["route", "get", address]);
        let route = topology.command(Side::Client, Some(cpus[0]), route).run().unwrap();
        assert!(route.contains("dev gw0"), "{route}");
        let neighbor = CommandLine::new("ip").args(["neigh", "show", address]);
        let neighbor = topology.command(Side::Client, None, neighbor).run().unwrap();
        assert!(neighbor.contains("PERMANENT"), "{neighbor}");
    }

    only_the_own_link_leads_to_a_further_server(&topology, &further);
    assert!(Topology::Loopback.with_further_server(&mut run, 1, &settings).is_err());

    run.end().unwrap();
    assert!(ours().is_empty());
    assert_eq!(backlog(), before);
    std::fs::remove_dir_all(folder).unwrap();
}

fn only_the_own_link_leads_to_a_further_server(shared: &Topology, further: &Topology) {
    let route = |topology: &Topology, side, words: &[&str]| {
        let get = CommandLine::new("ip").args(["route", "get"]).args(words.iter().copied());
        topology.command(side, None, get).run().expect("it runs")
    };
    let from_relay = route(further, Side::Client, &["10.0.0.3", "from", "10.0.255.254"]);
    assert!(from_relay.contains("dev gw1"), "{from_relay}");
    assert_eq!(further.interface(Side::Client), "gw1");
    let others = route(further, Side::Client, &["10.0.0.4"]);
    assert!(others.contains("dev gw0"), "{others}");
    let back = route(further, Side::Server, &["10.0.255.254"]);
    assert!(back.contains("dev gw0 src 10.0.0.3"), "{back}");
    // Datagrams really pass, both ways.
    let probe = |topology: &Topology, address: &str| {
        let ping = CommandLine::new("ping").args(["-c", "1", "-W", "5", "-I", "10.0.255.254"]);
        topology.command(Side::Client, None, ping.arg(address)).run()
    };
    if testbed::command::find_program("ping").is_some() {
        probe(shared, "10.0.0.1").expect("it runs");
        probe(further, "10.0.0.3").expect("it runs");
    }
}
