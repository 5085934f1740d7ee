//! Tests of Debian's DHCPv6 clients on the server's own link: each gets an address and a prefix,
//! renews them, and releases them for other clients. The test checks the packets on the link.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::capture;
use crate::common::client_link::{ClientProcess, ClientServerLink, LinkTestFamily, write_hook};
use crate::common::link::{CLIENT_ADDRESS, CLIENT_END, LinkNamespaces, SERVER_ADDRESS, SERVER_END};
use crate::common::{ServerProcess, TempFolder, configuration6, figure, require, waited_until};

/// Hook script that writes the leases of dhclient and dhcpcd to a file, one per line.
const HOOK: &str = r#"#!/bin/sh
for lease in "$new_ip6_address" "$new_ip6_prefix" "$new_dhcp6_ia_na1_ia_addr1" \
    "${new_dhcp6_ia_pd1_prefix1:+$new_dhcp6_ia_pd1_prefix1/$new_dhcp6_ia_pd1_prefix1_length}"
do
    [ -z "$lease" ] || echo "$reason $lease" >> "$0.heard"
done
"#;

const DHCP6: LinkTestFamily = LinkTestFamily {
    server: "dhcp6",
    join: |link| {
        link.join_by_ipv6(SERVER_END, CLIENT_END);
        link.ip_at_server("addr add 2001:db8:1::1/64 dev sv0 nodad");
    },
    // The server also listens at that address, and still replies from the address of the link.
    configuration: |folder| {
        configuration(folder, r#""sv0/2001:db8:1::1""#, &[SERVER_END], LinkLeaseCount::One)
    },
    messages: "port 546 or port 547",
    state_column: 13,
    hook: HOOK,
};

/// Number of leases that the server has for each link.
#[derive(Clone, Copy)]
enum LinkLeaseCount {
    /// Pools of one address and one prefix.
    One,
    /// Pools of more leases than a test needs.
    Plenty,
}

fn configuration(
    folder: &Path,
    interfaces: &str,
    links: &[&str],
    supply: LinkLeaseCount,
) -> PathBuf {
    let (last, prefix_len) = match supply {
        LinkLeaseCount::One => ("10", 56),
        LinkLeaseCount::Plenty => ("ff", 48),
    };
    let subnets: Vec<String> = (1..)
        .zip(links)
        .map(|(id, link)| {
            format!(
                r#"{{ "id": {id}, "subnet": "2001:db8:{id}::/64", "interface": "{link}",
                      "pools": [ {{ "pool": "2001:db8:{id}::10 - 2001:db8:{id}::{last}" }} ],
                      "pd-pools": [ {{ "prefix": "2001:db8:{id}00::", "prefix-len": {prefix_len},
                                       "delegated-len": 56 }} ] }}"#
            )
        })
        .collect();
    // dhcpcd calls its hook for BOUND once it knows that no other client has the address, after at
    // most two seconds. A renewal before that would be its only call.
    let further = r#""renew-timer": 20, "rebind-timer": 3000, "cache-threshold": 0.0,
        "option-data": [ { "name": "dns-servers", "data": "2001:db8::53" } ],"#;
    configuration6(folder, interfaces, further, &subnets.join(",\n"))
}

/// Contents of the first link's pools, as a client writes them.
const LEASES: [&str; 2] = ["2001:db8:100::/56", "2001:db8:1::10"];

/// Returns the last row of each address and prefix, by the text that a client writes for it.
fn rows(leases: &str) -> BTreeMap<String, Vec<&str>> {
    let rows = leases.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    rows.map(|row| match (row[6], row[8]) {
        ("0", "128") => (row[0].to_owned(), row),
        ("2", len) => (format!("{}/{len}", row[0]), row),
        other => panic!("no lease is of this type and length: {other:?}"),
    })
    .collect()
}

/// Returns the command line of dhclient as client number `number`, with an identity of its own.
fn dhclient(setup: &ClientServerLink, number: usize, duid_type: &str) -> Vec<String> {
    let leases = setup.path(&format!("dhclient{number}.leases"));
    let pid = setup.path(&format!("dhclient{number}.pid"));
    let hook = setup.path("hook");
    let words = ["dhclient", "-6", "-N", "-P", "-D", duid_type, "-cf", "/dev/null", "-sf", &hook];
    let files = ["-lf", &leases, "-pf", &pid, CLIENT_END];
    words.iter().chain(&files).map(|word| (*word).to_owned()).collect()
}

fn start(setup: &mut ClientServerLink, words: &[String], further: &[&str]) {
    let words = words.iter().map(String::as_str);
    setup.start(&words.chain(further.iter().copied()).collect::<Vec<_>>());
}

/// Waits until the lease file has at least `count` rows, and the last row of each of both leases
/// has the state `state`.
fn wait_for_both(setup: &ClientServerLink, count: usize, state: &str) {
    setup.wait_for_rows(count, state);
    let leases = setup.read("leases.csv");
    let are_all = waited_until(|| {
        let text = setup.read("leases.csv");
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        rows(whole).values().filter(|row| row[13] == state).count() == LEASES.len()
    });
    assert!(are_all, "not all in state {state}: {leases}");
}

/// Ends the test of a client that has released its leases, and checks it: the client's leases were
/// those of the lease file, another client gets the same ones, and the packets on the link are
/// correct.
fn judge(mut setup: ClientServerLink) {
    let heard = setup.read("hook.heard");
    for what in ["BOUND6", "RENEW6"] {
        let output_text: BTreeSet<&str> =
            heard.lines().filter_map(|line| line.strip_prefix(what)).map(str::trim).collect();
        assert_eq!(output_text, BTreeSet::from(LEASES), "{what}: {heard}");
    }
    let released = setup.read("leases.csv");
    let released = rows(&released);
    assert!(released.keys().eq(LEASES), "{released:#?}");

    let words = dhclient(&setup, 2, "LL");
    let count = setup.read("leases.csv").lines().count() - 1;
    start(&mut setup, &words, &["-d", "-1"]);
    wait_for_both(&setup, count + LEASES.len(), "0");
    let again = setup.read("leases.csv");
    let again = rows(&again);
    assert!(again.keys().eq(LEASES), "{again:#?}");
    for (lease, row) in &again {
        assert!(row[1].starts_with("00:03:00:01:"), "the other client's: {row:?}");
        assert_ne!(row[1], released[lease][1]);
    }

    let ended = setup.end("dhcpv6.msgtype == 7 && dhcpv6.duidll.hwtype");
    let (log, captured) = (&ended.log, &ended.captured);
    let wrong = format!("{} || (udp && !dhcpv6)", capture::MALFORMED);
    assert_eq!(captured.packets(&[], &wrong), Vec::<String>::new());
    assert_eq!(captured.badly_framed_dhcpv6(), Vec::<String>::new());
    let all = captured.packets(&FIELDS, "dhcpv6");
    let count = |packet: String| all.iter().filter(|known| **known == packet).count();
    // The client multicasts every request, and the server replies from the address of the link.
    let asked = |kind: u8| count(format!("{kind}|{CLIENT_ADDRESS}|ff02::1:2|546|547"));
    let answered = |kind: u8| count(format!("{kind}|{SERVER_ADDRESS}|{CLIENT_ADDRESS}|547|546"));
    let mut sum = answered(2) + answered(7);
    for (name, kind) in [("SOLICIT", 1), ("REQUEST", 3), ("RENEW", 5), ("RELEASE", 8)] {
        assert!(asked(kind) > 0, "{name}: {all:#?}");
        // The server received it once.
        assert_eq!(figure(log, name), asked(kind), "{log}\n{all:#?}");
        sum += asked(kind);
    }
    assert_eq!(sum, all.len(), "{all:#?}");
    assert_eq!(answered(2), asked(1), "{all:#?}");
    assert_eq!(answered(7), asked(3) + asked(5) + asked(8), "{all:#?}");
}

/// Arguments with which tshark prints of each message: kind, addresses, ports.
const FIELDS: [&str; 16] = [
    "-T",
    "fields",
    "-E",
    "separator=|",
    "-E",
    "occurrence=f",
    "-e",
    "dhcpv6.msgtype",
    "-e",
    "ipv6.src",
    "-e",
    "ipv6.dst",
    "-e",
    "udp.srcport",
    "-e",
    "udp.dstport",
];

#[test]
fn dhclient_gets_keeps_and_releases_an_address_and_a_prefix() {
    let Some(mut setup) = ClientServerLink::set(&DHCP6, "dhclient6", &["dhclient"]) else {
        return;
    };
    let words = dhclient(&setup, 1, "LLT");
    start(&mut setup, &words, &["-d", "-1"]);
    wait_for_both(&setup, 4, "0");
    wait_for_renewal(&setup);
    start(&mut setup, &words, &["-r"]);
    wait_for_both(&setup, 6, "3");
    judge(setup);
}

#[test]
fn dhcpcd_gets_keeps_and_releases_an_address_and_a_prefix() {
    let Some(mut setup) = ClientServerLink::set(&DHCP6, "dhcpcd6", &["dhcpcd", "dhclient"]) else {
        return;
    };
    let config = setup.path("dhcpcd.conf");
    let asked = format!(
        "duid\nipv6only\nnoipv6rs\nscript {}\ninterface {CLIENT_END}\nia_na 1\nia_pd 2\n",
        setup.path("hook")
    );
    fs::write(&config, asked).expect("the test's folder can be written");
    // `ip netns exec` gives the client mounts of its own, so it sees none of the machine's leases
    // and sockets.
    let script = format!(
        "mount -t tmpfs tmpfs /var/lib/dhcpcd && mount -t tmpfs tmpfs /run && \
         exec dhcpcd -6 -B -f '{config}' {CLIENT_END}"
    );
    setup.start(&["sh", "-c", &script]);
    wait_for_both(&setup, 4, "0");
    wait_for_renewal(&setup);
    setup.have_dhcpcd_release("-6");
    wait_for_both(&setup, 6, "3");
    judge(setup);
}

/// Waits until the client has reported a renewal to its hook.
fn wait_for_renewal(setup: &ClientServerLink) {
    let has_renewed = || {
        let heard = setup.read("hook.heard");
        LEASES.iter().all(|lease| heard.contains(&format!("RENEW6 {lease}\n")))
    };
    assert!(waited_until(has_renewed), "{}", setup.read("hook.heard"));
}

/// Runs one exchange by dhclient on `interface`, where the server has `subnet`.
fn one_exchange(
    link: &LinkNamespaces,
    folder: &Path,
    interface: &str,
    subnet: u8,
    server: &ServerProcess,
) {
    // dhclient cannot use tentative addresses.
    let is_ready = || {
        let words = ["ip", "-6", "addr", "show", "dev", interface, "scope", "link"];
        let output = link.at_client().args(words).output().expect("ip runs");
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("inet6 fe80:") && !text.contains("tentative")
    };
    assert!(waited_until(is_ready), "{interface} gets a link-local address");
    let [hook, leases, pid, log] = ["hook", "leases", "pid", "log"]
        .map(|name| folder.join(format!("{interface}.{name}")).display().to_string());
    write_hook(Path::new(&hook), HOOK);
    for left in [&leases, &format!("{hook}.heard")] {
        fs::remove_file(left).ok();
    }
    let words = ["dhclient", "-6", "-N", "-P", "-d", "-1", "-D", "LL", "-cf", "/dev/null"];
    let words = [&words[..], &["-sf", &hook, "-lf", &leases, "-pf", &pid, interface]].concat();
    let client = ClientProcess::start(link, &words, Path::new(&log));
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let pools = [format!("2001:db8:{subnet}::"), format!("2001:db8:{subnet}00:")];
    let is_bound = || {
        let heard = read(&format!("{hook}.heard"));
        pools.iter().all(|pool| heard.contains(&format!("BOUND6 {pool}")))
    };
    assert!(waited_until(is_bound), "{interface}: {}{}", read(&log), server.log());
    drop(client);
}

#[test]
fn interfaces_that_come_later_are_served_without_a_restart() {
    if !require(&["dhclient"]) {
        return;
    }
    let Some(link) = LinkNamespaces::new() else { return };
    let folder = TempFolder::new("interfaces6");
    let folder = folder.path();
    let links = ["sv0", "sv1"];
    link.join_by_ipv6("sv1", "cv1");
    let config = configuration(folder, r#""sv0""#, &links, LinkLeaseCount::Plenty);
    let server = ServerProcess::start_on_standard_ports(link.at_server(), "dhcp6", &config, folder);
    server.wait_for("this machine has no interface `sv0`");
    // The link-local address comes by itself and is not usable at first.
    link.join("sv0", "cv0", "2001:db8:1::1/64");
    server.wait_for("listening on sv0, fe80::");
    one_exchange(&link, folder, "cv0", 1, &server);
    // Another interface with that name.
    link.ip_at_server("link del sv0");
    server.wait_for("no longer listening on sv0, ff02::1:2");
    link.join_by_ipv6("sv0", "cv0");
    server.wait_for("listening on sv0, fe80::1\n");
    // A reload that adds an interface, and one that lets the server find the interfaces.
    configuration(folder, r#""sv0", "sv1""#, &links, LinkLeaseCount::Plenty);
    server.signal("HUP");
    server.wait_for("listening on sv1, fe80::1\n");
    one_exchange(&link, folder, "cv1", 2, &server);
    configuration(folder, r#""*""#, &links, LinkLeaseCount::Plenty);
    server.signal("HUP");
    server.wait_for("reloaded");
    link.ip_at_server("link del sv1");
    server.wait_for("no longer listening on sv1, ff02::1:2");
    link.join("sv1", "cv1", "2001:db8:2::2/64");
    for (client_end, subnet) in [("cv0", 1), ("cv1", 2)] {
        one_exchange(&link, folder, client_end, subnet, &server);
    }
    // An address that is not ready is not a failure.
    let log = server.stop();
    assert!(!log.contains("cannot bind"), "{log}");
}
