//! Tests of Debian's clients on the server's own link: each gets an address before it has one,
//! renews it by unicast, and releases it. The test checks the packets on the link.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::capture;
use crate::common::client_link::{ClientServerLink, LinkTestFamily};
use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{ServerProcess, TempFolder, figure, require, waited_until};

/// Hook script of a client: it configures the interface and nothing else on the machine.
const HOOK: &str = r#"#!/bin/sh
case "$reason$1" in
    BOUND|RENEW|REBIND|REBOOT) ip addr replace "$new_ip_address/24" dev "$interface" ;;
    bound|renew) ip addr replace "$ip/24" dev "$interface" ;;
esac
"#;

fn configuration(folder: &Path, listening: &str) -> PathBuf {
    let path = folder.join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ {listening} }},
            "lease-database": {{ "type": "memfile", "name": "{}", "lfc-interval": 0 }},
            "valid-lifetime": 3600, "renew-timer": 2, "rebind-timer": 3000, "cache-threshold": 0.0,
            "user-context": {{ "godwit": {{ "shards": 2 }} }},
            "option-data": [ {{ "name": "domain-name-servers", "data": "10.77.0.53" }} ],
            "subnet4": [
                {{ "id": 1, "subnet": "10.77.0.0/24",
                   "pools": [ {{ "pool": "10.77.0.10 - 10.77.0.99" }} ] }},
                {{ "id": 2, "subnet": "10.78.0.0/24",
                   "pools": [ {{ "pool": "10.78.0.10 - 10.78.0.99" }} ] }} ]
        }} }}"#,
        folder.join("leases.csv").display()
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

const DHCP4: LinkTestFamily = LinkTestFamily {
    server: "dhcp4",
    join: |link| link.join(SERVER_END, CLIENT_END, "10.77.0.1/24"),
    configuration: |folder| configuration(folder, r#""interfaces": [ "sv0" ]"#),
    messages: "port 67 or port 68",
    state_column: 9,
    hook: HOOK,
};

/// Ends server, client and capture, and checks the packets on the link.
fn judge(setup: ClientServerLink) {
    let ended = setup.end("dhcp.option.dhcp == 7");
    let (log, captured) = (&ended.log, &ended.captured);
    let wrong = format!("{} || (udp.port == 67 && !dhcp)", capture::MALFORMED);
    assert_eq!(captured.packets(&[], &wrong), Vec::<String>::new());
    let all = captured.packets(&FIELDS, "dhcp");
    let count = |packet: &str| all.iter().filter(|known| known.starts_with(packet)).count();
    // The server builds the whole frame of an offer, both checksums included.
    assert!(count("2|10.77.0.1|") > 0, "{all:#?}");
    assert_eq!(count("2|"), all.iter().filter(|p| is_good_offer(p)).count(), "{all:#?}");
    // The client renews by unicast, gets a unicast reply, and releases by unicast.
    assert!(count("3|10.77.0.10|10.77.0.1|10.77.0.10|") > 0, "{all:#?}");
    assert!(count("5|10.77.0.1|10.77.0.10|10.77.0.10|") > 0, "{all:#?}");
    assert!(count("7|10.77.0.10|10.77.0.1|10.77.0.10|") > 0, "{all:#?}");
    // The server received each message once, over either kind of socket.
    for (name, kind) in [("DHCPDISCOVER", "1|"), ("DHCPREQUEST", "3|"), ("DHCPRELEASE", "7|")] {
        assert_eq!(figure(log, name), count(kind), "{log}\n{all:#?}");
    }
}

/// Arguments with which tshark prints of each message: kind, source, destination, `ciaddr`, both
/// checksums.
const FIELDS: [&str; 20] = [
    "-oip.check_checksum:TRUE",
    "-oudp.check_checksum:TRUE",
    "-T",
    "fields",
    "-E",
    "separator=|",
    "-E",
    "occurrence=f",
    "-e",
    "dhcp.option.dhcp",
    "-e",
    "ip.src",
    "-e",
    "ip.dst",
    "-e",
    "dhcp.ip.client",
    "-e",
    "ip.checksum.status",
    "-e",
    "udp.checksum.status",
];

fn is_good_offer(packet: &str) -> bool {
    packet.starts_with("2|") && packet.ends_with("|1|1")
}

#[test]
fn dhclient_gets_keeps_and_releases_an_address() {
    let Some(mut setup) = ClientServerLink::set(&DHCP4, "dhclient", &["dhclient"]) else { return };
    let names = ["hook", "dhclient.leases", "dhclient.pid", "dhclient.conf"];
    let files = names.map(|name| setup.path(name));
    let [hook, leases, pid, conf] = files.each_ref().map(String::as_str);
    // Seconds until the client gives up.
    fs::write(conf, "timeout 600;\n").expect("the test's folder can be written");
    let common = ["-cf", conf, "-sf", hook, "-lf", leases, "-pf", pid, CLIENT_END];
    setup.start(&[&["dhclient", "-d", "-1"], &common[..]].concat());
    setup.wait_for_rows(2, "0");
    setup.start(&[&["dhclient", "-r"], &common[..]].concat());
    setup.wait_for_rows(3, "3");
    judge(setup);
}

#[test]
fn udhcpc_gets_keeps_and_releases_an_address() {
    let Some(mut setup) = ClientServerLink::set(&DHCP4, "udhcpc", &["udhcpc"]) else { return };
    let hook = setup.path("hook");
    // With the broadcast flag set.
    setup.start(&["udhcpc", "-f", "-B", "-i", CLIENT_END, "-s", &hook]);
    setup.wait_for_rows(1, "0");
    // The client renews after half of the lease time, or on a signal; send it once the client has
    // its address.
    let has_address = || {
        let output = setup.link.at_client().args(["ip", "-4", "addr"]).output().expect("ip runs");
        String::from_utf8_lossy(&output.stdout).contains("10.77.0.10/")
    };
    assert!(waited_until(has_address), "the hook gives the interface its address");
    setup.client().signal("USR1");
    setup.wait_for_rows(2, "0");
    setup.client().signal("USR2");
    setup.wait_for_rows(3, "3");
    judge(setup);
}

#[test]
fn dhcpcd_gets_keeps_and_releases_an_address() {
    let Some(mut setup) = ClientServerLink::set(&DHCP4, "dhcpcd", &["dhcpcd"]) else { return };
    let hook = setup.path("hook");
    // `ip netns exec` gives the client mounts of its own, so it sees none of the machine's leases
    // and sockets.
    let script = format!(
        "mount -t tmpfs tmpfs /var/lib/dhcpcd && mount -t tmpfs tmpfs /run && \
         exec dhcpcd -4 -B -A -L -f /dev/null -c '{hook}' {CLIENT_END}"
    );
    setup.start(&["sh", "-c", &script]);
    setup.wait_for_rows(2, "0");
    setup.have_dhcpcd_release("-4");
    setup.wait_for_rows(3, "3");
    judge(setup);
}

/// Runs one exchange by udhcpc on `interface`, and returns true if the client got an address.
fn one_exchange(link: &LinkNamespaces, interface: &str) -> bool {
    let mut command = link.at_client();
    command.args(["timeout", "600", "udhcpc", "-f", "-q", "-n", "-t", "300", "-T", "1"]);
    let status = command.args(["-i", interface, "-s", "/bin/true"]).output().expect("udhcpc runs");
    status.status.success()
}

#[test]
fn interfaces_that_come_later_are_served_without_a_restart() {
    if !require(&["udhcpc"]) {
        return;
    }
    let Some(link) = LinkNamespaces::new() else { return };
    let folder = TempFolder::new("interfaces");
    let named = r#""interfaces": [ "sv0" ]"#;
    let config = configuration(folder.path(), named);
    let server =
        ServerProcess::start_on_standard_ports(link.at_server(), "dhcp4", &config, folder.path());
    server.wait_for("this machine has no interface `sv0`");
    link.join("sv0", "cv0", "10.77.0.1/24");
    server.wait_for("listening on sv0 for clients on the link");
    assert!(one_exchange(&link, "cv0"), "{}", server.log());
    // Another interface with that name, which gets its address late.
    link.ip_at_server("link del sv0");
    server.wait_for("no longer listening on sv0 for clients on the link");
    link.join("sv0", "cv0", "192.0.2.1/24");
    link.ip_at_server("addr del 192.0.2.1/24 dev sv0");
    server.wait_for("interface `sv0` has no IPv4 address");
    link.ip_at_server("addr add 10.77.0.1/24 dev sv0");
    assert!(one_exchange(&link, "cv0"), "{}", server.log());
    // A reload with other interfaces, and one with all of them.
    link.join("sv1", "cv1", "10.78.0.1/24");
    configuration(folder.path(), r#""interfaces": [ "sv1/10.78.0.1" ]"#);
    server.signal("HUP");
    server.wait_for("listening on sv1, 10.78.0.1");
    assert!(one_exchange(&link, "cv1"), "{}", server.log());
    configuration(folder.path(), r#""interfaces": [ "*" ]"#);
    server.signal("HUP");
    server.wait_for("listening on all interfaces for clients on the link");
    link.ip_at_server("link del sv0");
    link.join("sv0", "cv0", "10.77.0.2/24");
    for client_end in ["cv0", "cv1"] {
        assert!(one_exchange(&link, client_end), "{client_end}: {}", server.log());
    }
    // Without packet sockets the answer is a broadcast.
    configuration(folder.path(), r#""interfaces": [ "*" ], "dhcp-socket-type": "udp""#);
    server.signal("HUP");
    server.wait_for("no longer listening on all interfaces for clients on the link");
    assert!(one_exchange(&link, "cv0"), "{}", server.log());
    server.stop();
}
