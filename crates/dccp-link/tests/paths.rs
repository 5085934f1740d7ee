//! Tests of connections with a path of their own: a UDP port to themselves, a certain interface.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::api::{
    ConnectionCalls, EndpointCalls, ListenerCalls, ServerOf, open_endpoint, serve_endpoint,
    with_both_apis,
};
use crate::common::{PATIENCE, PORT, RAW, UDP, V4, V6, config, in_a_namespace, ip, output};
use dccp::endpoint::Carrier;
use dccp_link::{
    CarrierKind, CarrierOptions, ConnectOptions, ConnectionConfig, ConnectionKey, DccpError, Peer,
    ScopedAddress,
};

with_both_apis!(
    each_connection_may_have_a_udp_port_of_its_own,
    a_link_local_address_wants_its_interface,
    link_local_addresses_of_two_interfaces_are_told_apart,
);

/// Time between two checks of an awaited event.
const LOOK: Duration = Duration::from_millis(2);

/// Returns the UDP ports of this end and of the other end of the connection `key`.
fn udp_ports(key: ConnectionKey) -> (u16, u16) {
    match key.carrier {
        Carrier::Udp { local_port, remote_port } => (local_port, remote_port),
        Carrier::Ip => panic!("{key:?}"),
    }
}

/// Sends `datagram` from `near` to `far` and another one back.
fn exchange(near: &impl ConnectionCalls, far: &impl ConnectionCalls, datagram: &[u8]) {
    near.send(datagram).unwrap();
    assert_eq!(far.receive().unwrap().unwrap(), datagram);
    far.send(b"back").unwrap();
    assert_eq!(near.receive().unwrap().unwrap(), b"back");
}

fn each_connection_may_have_a_udp_port_of_its_own<F: EndpointCalls>() {
    // In the main namespace another program might take a port as soon as it is free.
    in_a_namespace(|| {
        for address in [V4, V6] {
            udp_ports_of_their_own::<F>(address);
        }
    });
}

fn udp_ports_of_their_own<F: EndpointCalls>(address: IpAddr) {
    let ServerOf::<F> { listener, endpoint: server, peer } =
        serve_endpoint(UDP, address, &config(2));
    let client: F = open_endpoint(UDP, address);
    // TIMEWAIT is short, so that the port can be used again soon.
    let brief = ConnectionConfig { time_wait_ns: 1_000_000, ..config(2) };
    let own = ConnectOptions { has_own_udp_port: true, ..ConnectOptions::default() };
    let mut pairs = Vec::new();
    for options in [own, own, own, ConnectOptions::default()] {
        let near = client.connect_with(peer, options, &brief).unwrap();
        let far = listener.accept().unwrap();
        assert_eq!(udp_ports(near.key()).0, udp_ports(far.key()).1);
        pairs.push((near, far));
    }
    let ports: BTreeSet<u16> = pairs.iter().map(|(near, _)| udp_ports(near.key()).0).collect();
    assert_eq!(ports.len(), 4, "{ports:?}");
    assert_eq!(udp_ports(pairs[3].0.key()).0, client.udp_port().unwrap());
    for round in 0..20 {
        for (near, far) in &pairs {
            exchange(near, far, &[round]);
        }
    }
    let shared = client.udp_port().unwrap();
    for (near, _) in pairs {
        near.close();
    }
    assert!(client.wait_closed() && server.wait_closed());
    let deadline = Instant::now() + PATIENCE;
    for port in ports.into_iter().filter(|&port| port != shared) {
        while UdpSocket::bind((address, port)).is_err() {
            assert!(Instant::now() < deadline, "UDP port {port} stays open");
            std::thread::sleep(LOOK);
        }
    }
    while client.connections_count() > 0 {
        assert!(Instant::now() < deadline, "a connection is not forgotten");
        std::thread::sleep(LOOK);
    }
}

const NEAR: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xa);
const FAR: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xb);

fn a_link_local_address_wants_its_interface<F: EndpointCalls>() {
    let client: F = open_endpoint(UDP, Ipv6Addr::UNSPECIFIED.into());
    let peer = Peer { address: FAR.into(), port: PORT, udp_port: 6_511 };
    let Err(error) = client.connect(peer, &config(2)) else { panic!("connected") };
    assert!(matches!(error, DccpError::NoScope(_)), "{error}");
    assert!(error.to_string().contains("fe80::b%eth0"), "{error}");
}

/// Sets `interface` up with one link-local address, which can be used at once.
fn set_up(interface: &str, address: Ipv6Addr) {
    ip(&format!("link set {interface} addrgenmode none up"));
    ip(&format!("addr add {address}/64 dev {interface} nodad"));
}

fn wait_until_up() {
    let deadline = Instant::now() + PATIENCE;
    while output("-o link").lines().any(|line| line.contains(": v") && !line.contains("state UP")) {
        assert!(Instant::now() < deadline, "{}", output("-o link"));
        std::thread::sleep(LOOK);
    }
}

/// Runs `near` and `far` in namespaces of their own with two cables between them, v0 and v1. All
/// ends of a side have the same address. `near` gets the first value that `far` sends, and `far`
/// may end when `near` is done.
fn over_two_cables<T: Send>(
    near: impl FnOnce(T) + Send,
    far: impl FnOnce(mpsc::Sender<T>, mpsc::Receiver<()>) + Send,
) {
    in_a_namespace(|| {
        let (namespace_sender, namespaces) = mpsc::channel();
        let (cable, cabled) = mpsc::channel();
        let (value_sender, values) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                netio::namespace::enter_new().unwrap();
                let this = std::fs::read_link("/proc/thread-self").unwrap();
                namespace_sender.send(format!("/proc/{}/ns/net", this.display())).unwrap();
                cabled.recv().unwrap();
                for end in ["v0", "v1"] {
                    set_up(end, FAR);
                }
                wait_until_up();
                far(value_sender, is_done);
            });
            let far_namespace = namespaces.recv().unwrap();
            for end in ["v0", "v1"] {
                ip(&format!("link add {end} type veth peer name {end} netns {far_namespace}"));
                set_up(end, NEAR);
            }
            cable.send(()).unwrap();
            let value = values.recv().unwrap();
            wait_until_up();
            near(value);
            done.send(()).unwrap();
        });
    });
}

/// Returns `address` with the index of the interface of this name in the caller's namespace.
fn scoped(address: Ipv6Addr, interface: &str) -> ScopedAddress {
    format!("{address}%{interface}").parse().unwrap()
}

fn link_local_addresses_of_two_interfaces_are_told_apart<F: EndpointCalls>() {
    for kind in [UDP, RAW] {
        over_two_cables(
            |udp_port| connect_over_both::<F>(kind, udp_port),
            |give: mpsc::Sender<u16>, is_done| {
                let any = Ipv6Addr::UNSPECIFIED.into();
                let ServerOf::<F> { listener, endpoint: server, .. } =
                    serve_endpoint(kind, any, &config(2));
                give.send(server.udp_port().unwrap_or(0)).unwrap();
                let accepted: Vec<_> = (0..2).map(|_| listener.accept().unwrap()).collect();
                let scopes: BTreeSet<u32> =
                    accepted.iter().map(|connection| connection.key().scope).collect();
                assert_eq!(scopes, ["v0", "v1"].map(|end| scoped(FAR, end).scope).into());
                for connection in &accepted {
                    while let Some(datagram) = connection.receive().unwrap() {
                        connection.send(&datagram).unwrap();
                    }
                }
                is_done.recv().unwrap();
            },
        );
        over_two_cables(
            |udp_port| connect_over_one::<F>(kind, udp_port),
            |give: mpsc::Sender<u16>, is_done| {
                let ScopedAddress { address, scope } = scoped(FAR, "v1");
                let carrier =
                    CarrierOptions { addresses: vec![address], scope, ..CarrierOptions::new(kind) };
                let server = F::open(&carrier);
                let listener = server.listen(&config(2));
                give.send(server.udp_port().unwrap_or(0)).unwrap();
                let accepted = listener.accept().unwrap();
                assert_eq!((accepted.key().local, accepted.key().scope), (address, scope));
                assert_eq!(accepted.receive().unwrap().unwrap(), b"bound");
                is_done.recv().unwrap();
            },
        );
    }
}

fn peer(udp_port: u16) -> Peer {
    Peer { address: FAR.into(), port: PORT, udp_port }
}

/// Connects over each cable, between the same addresses.
fn connect_over_both<F: EndpointCalls>(kind: CarrierKind, udp_port: u16) {
    let client: F = open_endpoint(kind, Ipv6Addr::UNSPECIFIED.into());
    let connections = ["v0", "v1"].map(|end| {
        let scope = scoped(NEAR, end).scope;
        let options = ConnectOptions { scope, ..ConnectOptions::default() };
        let connection = client.connect_with(peer(udp_port), options, &config(2)).unwrap();
        let key = connection.key();
        assert_eq!((key.local, key.remote, key.scope), (NEAR.into(), FAR.into(), scope));
        connection
    });
    for connection in connections {
        connection.send(b"there").unwrap();
        assert_eq!(connection.receive().unwrap().unwrap(), b"there");
        connection.close();
    }
    assert!(client.wait_closed());
}

/// Connects to a listener that is bound to the address of the second cable.
fn connect_over_one<F: EndpointCalls>(kind: CarrierKind, udp_port: u16) {
    let client: F = open_endpoint(kind, IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    let options = ConnectOptions { scope: scoped(NEAR, "v1").scope, has_own_udp_port: true };
    let connection = client.connect_with(peer(udp_port), options, &config(2)).unwrap();
    connection.send(b"bound").unwrap();
    connection.close();
    assert!(client.wait_closed());
}
