//! Tests of the routes of delegated prefixes: each prefix that a third-party client has been
//! delegated has a route by way of the client for as long as it is leased.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::client_link::{ClientServerLink, LinkTestFamily};
use crate::common::link::{CLIENT_ADDRESS, CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::waited_until;

const DHCP6: LinkTestFamily = LinkTestFamily {
    server: "dhcp6",
    join: |link| link.join_by_ipv6(SERVER_END, CLIENT_END),
    configuration,
    messages: "port 546 or port 547",
    state_column: 13,
    hook: "#!/bin/sh\n",
};

/// Writes a configuration that delegates one prefix for an hour, and returns its path.
fn configuration(folder: &Path) -> PathBuf {
    write_configuration(folder, true, 3_600)
}

fn write_configuration(folder: &Path, has_routes: bool, lifetime_s: u32) -> PathBuf {
    let path = folder.join("dhcp6.conf");
    let text = format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "{SERVER_END}" ] }},
            "data-directory": "{}",
            "lease-database": {{ "type": "memfile", "name": "leases.csv", "lfc-interval": 0 }},
            "user-context": {{ "godwit": {{ "prefix-routes": {has_routes} }} }},
            "expired-leases-processing": {{ "reclaim-timer-wait-time": 1,
                                            "hold-reclaimed-time": 0 }},
            "valid-lifetime": {lifetime_s}, "preferred-lifetime": {lifetime_s},
            "renew-timer": {}, "rebind-timer": {lifetime_s}, "cache-threshold": 0.0,
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", "interface": "{SERVER_END}",
                "pd-pools": [ {{ "prefix": "2001:db8:100::", "prefix-len": 56,
                                 "delegated-len": 56 }} ] }} ] }} }}"#,
        folder.display(),
        lifetime_s / 2
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// Returns the routes of delegated prefixes at the server, a line each.
fn routes(link: &LinkNamespaces) -> String {
    let words = ["ip", "-6", "route", "show", "proto", "147"];
    let output = link.at_server().args(words).output().expect("ip runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until the prefix, and no other, has a route by way of the client.
fn wait_for_route(setup: &ClientServerLink) {
    let via = format!("2001:db8:100::/56 via {CLIENT_ADDRESS} dev {SERVER_END} ");
    let is_there = || {
        let routes = routes(&setup.link);
        routes.starts_with(&via) && routes.lines().count() == 1
    };
    let [server, client] = ["server.log", "client.log"];
    assert!(
        waited_until(is_there),
        "{}\nserver: {}\nclient: {}",
        routes(&setup.link),
        setup.read(server),
        setup.read(client)
    );
}

fn wait_for_no_route(setup: &ClientServerLink) {
    let is_gone = || routes(&setup.link).is_empty();
    let [server, client] = ["server.log", "client.log"];
    assert!(
        waited_until(is_gone),
        "{}\nserver: {}\nclient: {}",
        routes(&setup.link),
        setup.read(server),
        setup.read(client)
    );
}

fn start(setup: &mut ClientServerLink, words: &[String]) {
    setup.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Returns the command line of dhclient for a prefix.
fn dhclient(setup: &ClientServerLink, further: &[&str]) -> Vec<String> {
    let [leases, pid, hook] = ["leases", "pid", "hook"].map(|name| setup.path(name));
    let words = ["dhclient", "-6", "-P", "-D", "LL", "-cf", "/dev/null", "-sf", &hook];
    let files = ["-lf", &leases, "-pf", &pid];
    let words = words.iter().chain(&files).chain(further).chain(&[CLIENT_END]);
    words.map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_route_follows_the_prefix_of_dhclient_also_when_server_and_machine_start_again() {
    let Some(mut setup) = ClientServerLink::set(&DHCP6, "routes-dhclient", &["dhclient"]) else {
        return;
    };
    let words = dhclient(&setup, &["-d", "-1"]);
    start(&mut setup, &words);
    wait_for_route(&setup);
    setup.restart_server(&DHCP6, |link| assert!(!routes(link).is_empty(), "the prefix is leased"));
    wait_for_route(&setup);
    // When a machine has started, its kernel has none of the routes.
    setup.restart_server(&DHCP6, |link| {
        let words = ["ip", "-6", "route", "flush", "proto", "147"];
        let status = link.at_server().args(words).status().expect("ip runs");
        assert!(status.success() && routes(link).is_empty());
    });
    wait_for_route(&setup);
    let words = dhclient(&setup, &["-r"]);
    start(&mut setup, &words);
    wait_for_no_route(&setup);
}

#[test]
fn a_route_follows_the_prefix_of_dhcpcd_until_its_lease_ends_in_time() {
    let Some(mut setup) = ClientServerLink::set(&DHCP6, "routes-dhcpcd", &["dhcpcd"]) else {
        return;
    };
    // Without a renewal the lease of a client that is gone ends.
    write_configuration(Path::new(&setup.path("")), true, 8);
    setup.restart_server(&DHCP6, |_| {});
    let config = setup.path("dhcpcd.conf");
    let hook = setup.path("hook");
    let asked =
        format!("duid\nipv6only\nnoipv6rs\nscript {hook}\ninterface {CLIENT_END}\nia_pd 2\n");
    fs::write(&config, asked).expect("the test's folder can be written");
    let script = format!(
        "mount -t tmpfs tmpfs /var/lib/dhcpcd && mount -t tmpfs tmpfs /run && \
         exec dhcpcd -6 -B -f '{config}' {CLIENT_END}"
    );
    setup.start(&["sh", "-c", &script]);
    wait_for_route(&setup);
    // The first renewal comes after half of the lifetime.
    setup.wait_for_rows(2, "0");
    wait_for_route(&setup);
    setup.client().signal("KILL");
    wait_for_no_route(&setup);
}

#[test]
fn a_route_follows_the_prefix_of_dhcp6c_and_ends_with_the_setting() {
    let Some(mut setup) = ClientServerLink::set(&DHCP6, "routes-dhcp6c", &["dhcp6c"]) else {
        return;
    };
    let config = setup.path("dhcp6c.conf");
    let asked = format!(
        "interface {CLIENT_END} {{ send ia-pd 0; }};\nid-assoc pd 0 {{ prefix-interface lo {{ \
         sla-id 0; sla-len 8; }}; }};\n"
    );
    fs::write(&config, asked).expect("the test's folder can be written");
    let pid = setup.path("dhcp6c.pid");
    let script = format!(
        "ip link set lo up && mount -t tmpfs tmpfs /var/lib/dhcpv6 && \
         exec /usr/sbin/dhcp6c -f -D -c '{config}' -p '{pid}' {CLIENT_END}"
    );
    setup.start(&["sh", "-c", &script]);
    wait_for_route(&setup);
    write_configuration(Path::new(&setup.path("")), false, 3_600);
    setup.reload_server();
    wait_for_no_route(&setup);
    write_configuration(Path::new(&setup.path("")), true, 3_600);
    setup.reload_server();
    // The journal forgot the next hop with the route: the next message of a client has it.
    setup.client().signal("TERM");
    let has_released = || setup.read("client.log").contains("check_exit: exiting");
    assert!(waited_until(has_released), "{}", setup.read("client.log"));
    assert_eq!(routes(&setup.link), "");
    setup.start(&["sh", "-c", &script]);
    wait_for_route(&setup);
    let log = setup.read("server.log");
    assert!(!log.contains("RESTART_NEEDED"), "{log}");
}
