//! Tests of the interface by which replies leave for a relay agent that is reachable in two ways
//! (`outbound-interface`).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::link::LinkNamespaces;
use crate::common::{ServerProcess, TempFolder, waited_until};
use netio::{PollFd, RecvBatch, SendBatch, UdpOptions, UdpSocket};

/// Address of the relay agent, reachable over both links.
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// Address of the server on the link by which requests come.
const ASKED: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);

fn configuration(folder: &Path, listening: &str) -> PathBuf {
    let path = folder.join("dhcp4.conf");
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ {listening} }},
            "lease-database": {{ "type": "memfile", "persist": false }},
            "subnet4": [ {{ "id": 1, "subnet": "10.99.0.0/24",
                            "pools": [ {{ "pool": "10.99.0.10 - 10.99.0.99" }} ] }} ]
        }} }}"#
    );
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

/// Returns a DHCPDISCOVER that has passed the relay agent.
fn discover(xid: u8) -> Vec<u8> {
    let mut octets = vec![0; 236];
    octets[..8].copy_from_slice(&[1, 1, 6, 1, 0, 0, 0, xid]);
    octets[24..28].copy_from_slice(&RELAY.octets());
    octets[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
    octets.extend([99, 130, 83, 99, 53, 1, 1, 255]);
    octets
}

/// Script that disables the checks of the namespace that drop packets on an unexpected way.
const TAKE_ALL: &str = "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done";

fn take_all(mut command: Command) {
    let status = command.args(["sh", "-c", TAKE_ALL]).status().expect("sh runs");
    assert!(status.success(), "{status}");
}

/// Makes two links between the server and the relay agent; by the server's routing table the relay
/// agent is on the first.
fn two_ways() -> Option<LinkNamespaces> {
    let link = LinkNamespaces::new()?;
    for (number, metric) in [("0", 10), ("1", 20)] {
        let (server_end, client_end) = (format!("sv{number}"), format!("cv{number}"));
        let net = if number == "0" { "10.77.0" } else { "10.78.0" };
        link.join(&server_end, &client_end, &format!("{net}.1/24"));
        link.ip_at_client(&format!("addr add {net}.9/24 dev {client_end}"));
        link.ip_at_server(&format!("route add {RELAY} via {net}.9 metric {metric}"));
    }
    link.ip_at_client("link set lo up");
    link.ip_at_client(&format!("addr add {RELAY}/32 dev lo"));
    take_all(link.at_server());
    take_all(link.at_client());
    Some(link)
}

/// Returns the interface that the reply to one DISCOVER came by, and its source.
fn answered_by(link: &LinkNamespaces, relay: &UdpSocket, xid: u8) -> (String, IpAddr) {
    let mut batch = RecvBatch::default();
    let mut found = None;
    let mut request = SendBatch::new(1, 512, false);
    let has_come = waited_until(|| {
        // Sent again, as clients do: the kernel may have to resolve neighbors first.
        let octets = discover(xid);
        request.slot().expect("it is empty")[..octets.len()].copy_from_slice(&octets);
        request.commit(octets.len(), SocketAddrV4::new(ASKED, 67), None);
        assert_eq!(request.flush(relay).sent, 1, "the link takes it");
        netio::poll(&mut [PollFd::readable(relay)], Some(200_000_000)).expect("poll works");
        // The call fails if there is nothing to receive.
        batch.receive(relay).ok();
        found = batch
            .iter()
            .find(|datagram| datagram.octets[7] == xid)
            .map(|datagram| (datagram.interface, datagram.source.ip()));
        found.is_some()
    });
    assert!(has_come, "no answer");
    let (index, source) = found.expect("it has come");
    let interfaces = link.opened_at_client(|| netio::interface::list().expect("they are listed"));
    let interface = interfaces.into_iter().find(|interface| interface.index == index);
    (interface.expect("it came by one").name, source)
}

#[test]
fn answers_leave_by_the_interface_of_the_request_or_by_the_routing_table() {
    let Some(link) = two_ways() else { return };
    let relay = link.opened_at_client(|| {
        let mut options = UdpOptions::at(SocketAddrV4::new(RELAY, 67));
        options.packet_info = true;
        UdpSocket::open(&options).expect("the port is free")
    });
    let folder = TempFolder::new("outbound");
    let cases = [
        (r#""interfaces": [ "*" ], "dhcp-socket-type": "udp""#, "same-as-inbound", "cv1"),
        (r#""interfaces": [ "*" ], "dhcp-socket-type": "udp""#, "use-routing", "cv0"),
        (r#""interfaces": [ "sv0", "sv1" ], "dhcp-socket-type": "udp""#, "same-as-inbound", "cv1"),
        (r#""interfaces": [ "sv0", "sv1" ], "dhcp-socket-type": "udp""#, "use-routing", "cv0"),
        (r#""interfaces": [ "sv1/10.78.0.1" ], "dhcp-socket-type": "udp""#, "use-routing", "cv0"),
        // As in Kea, this applies to UDP sockets only.
        (r#""interfaces": [ "*" ]"#, "use-routing", "cv1"),
        (r#""interfaces": [ "sv1" ]"#, "use-routing", "cv1"),
    ];
    let mut server = None;
    for (number, (listening, outbound, expected)) in (0..).zip(cases) {
        let listening = format!(r#"{listening}, "outbound-interface": "{outbound}""#);
        let config = configuration(folder.path(), &listening);
        let server = server.get_or_insert_with(|| {
            let wrapper = link.at_server();
            ServerProcess::start_on_standard_ports(wrapper, "dhcp4", &config, folder.path())
        });
        if number > 0 {
            server.signal("HUP");
            let reloads = || server.log().matches("reloaded").count();
            assert!(waited_until(|| reloads() == usize::from(number)), "{}", server.log());
        }
        let (interface, source) = answered_by(&link, &relay, number + 1);
        assert_eq!(interface, expected, "{listening}: {}", server.log());
        assert_eq!(source, IpAddr::from(ASKED), "{listening}");
    }
}
