//! Applications at both ends, over both carriers and both versions of IP.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;

use std::net::IpAddr;
use std::time::Duration;

use common::{PATIENCE, PORT, RAW, Server, UDP, V4, V6, config, in_a_namespace, ip, open, serve};
use dccp_link::{CarrierKind, Config, Connection, Endpoint, LinkError, Peer, ResetCode};

/// Sends back every datagram until the other end closes; how many they were.
fn echo(connection: &Connection) -> usize {
    let mut count = 0;
    while let Some(datagram) = connection.receive().unwrap() {
        connection.send(&datagram).unwrap();
        count += 1;
    }
    count
}

/// Sends `datagram` until it comes back: a datagram may be lost even on loopback, when a queue is full.
fn exchange(connection: &mut Connection, datagram: &[u8]) {
    connection.set_receive_timeout(Some(PATIENCE));
    connection.send(datagram).unwrap();
    assert_eq!(connection.receive().unwrap().as_deref(), Some(datagram));
}

/// Connects, talks and closes with one congestion control.
fn talk(kind: CarrierKind, address: IpAddr, ccid: u8) {
    let Server { listener, endpoint: server, peer } = serve(kind, address, &config(ccid));
    let client = open(kind, address);
    std::thread::scope(|scope| {
        let echoed = scope.spawn(move || {
            let connection = listener.accept_within(PATIENCE).unwrap();
            assert_eq!(connection.ccids(), (ccid, ccid));
            let count = echo(&connection);
            drop(connection);
            assert!(server.wait_closed(PATIENCE));
            count
        });
        let mut connection = client.connect(peer, &config(ccid)).unwrap();
        assert_eq!(connection.ccids(), (ccid, ccid));
        exchange(&mut connection, b"first");
        exchange(&mut connection, b"");
        let longest = vec![7; connection.packet_bytes_max()];
        exchange(&mut connection, &longest);
        let longer = vec![7; longest.len() + 1];
        let error = connection.send(&longer).unwrap_err();
        assert!(matches!(error, LinkError::TooLong { len, max } if len == max + 1), "{error}");
        for number in 0..50_u32 {
            exchange(&mut connection, &number.to_be_bytes());
        }
        assert!(connection.rtt().is_some_and(|rtt| rtt < PATIENCE));
        connection.close();
        assert!(client.wait_closed(PATIENCE));
        assert_eq!(echoed.join().unwrap(), 53);
    });
}

#[test]
fn both_controls_over_udp_over_ipv4() {
    talk(UDP, V4, 2);
    talk(UDP, V4, 3);
}

#[test]
fn both_controls_over_udp_over_ipv6() {
    in_a_namespace(|| {
        talk(UDP, V6, 2);
        talk(UDP, V6, 3);
    });
}

#[test]
fn both_controls_over_ipv4() {
    in_a_namespace(|| {
        talk(RAW, V4, 2);
        talk(RAW, V4, 3);
    });
}

#[test]
fn both_controls_over_ipv6() {
    in_a_namespace(|| {
        talk(RAW, V6, 2);
        talk(RAW, V6, 3);
    });
}

#[test]
fn a_path_that_becomes_narrow_shortens_datagrams() {
    in_a_namespace(|| {
        let server = serve(UDP, V4, &config(3));
        let client = open(UDP, V4);
        let mut connection = client.connect(server.peer, &config(3)).unwrap();
        connection.set_send_timeout(Some(PATIENCE));
        let mut accepted = server.listener.accept_within(PATIENCE).unwrap();
        accepted.set_receive_timeout(Some(PATIENCE));
        assert!(connection.packet_bytes_max() > 8_000);
        ip("link set lo mtu 1500");
        let error = loop {
            if let Err(error) = connection.send(&[0; 8_000]) {
                break error;
            }
        };
        assert!(matches!(error, LinkError::TooLong { max: 1_424, .. }), "{error}");
        connection.send(&[1; 1_424]).unwrap();
        let datagram = accepted.receive().unwrap().unwrap();
        assert_eq!(datagram, [1; 1_424]);
    });
}

#[test]
fn a_port_that_nobody_has_is_told_by_the_network() {
    let client = open(UDP, V4);
    let mute = open_mute();
    let udp_port = mute.local_addr().unwrap().port();
    drop(mute);
    let peer = Peer { address: V4, port: PORT, udp_port };
    let config = Config { connect_timeout_ns: 5_000_000_000, ..config(2) };
    let Err(error) = client.connect(peer, &config) else { panic!("connected to nobody") };
    let LinkError::Unreachable { cause, .. } = &error else { panic!("{error}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(client.connections_count(), 0);
}

/// Asks a server for a port and a service that it may not have; the code of its Reset.
fn refusal(kind: CarrierKind, address: IpAddr, port: u16, service: &str) -> (ResetCode, String) {
    let server = serve(kind, address, &config(2));
    // A client does not answer for ports that it does not have.
    let client = open(if kind == UDP { UDP } else { RAW }, address);
    let asked = Config { service_code: service.parse().unwrap(), ..config(2) };
    let Err(error) = client.connect(Peer { port, ..server.peer }, &asked) else {
        panic!("connected to port {port} for {service}");
    };
    let LinkError::Refused { reset, .. } = error else { panic!("{error}") };
    assert_eq!(client.connections_count(), 1, "remembered for a while");
    (reset.code, error.to_string())
}

#[test]
fn where_nobody_listens_the_connection_is_refused_and_said_so() {
    let (code, text) = refusal(UDP, V4, PORT + 1, "SC:TEST");
    assert_eq!(code, ResetCode::ConnectionRefused);
    assert!(text.contains("127.0.0.1 port 5002") && text.contains("nobody listens"), "{text}");
    in_a_namespace(|| {
        let owner = CarrierKind::Raw { answers_all_ports: true };
        let (code, _) = refusal(owner, V4, PORT + 1, "SC:TEST");
        assert_eq!(code, ResetCode::ConnectionRefused);
    });
}

#[test]
fn a_service_that_nobody_offers_is_refused() {
    let (code, text) = refusal(UDP, V4, PORT, "SC:ELSE");
    assert_eq!(code, ResetCode::BadServiceCode);
    assert!(text.contains("Reset code 8") && text.contains("service code"), "{text}");
    in_a_namespace(|| {
        assert_eq!(refusal(RAW, V6, PORT, "7").0, ResetCode::BadServiceCode);
    });
}

#[test]
fn where_nobody_is_a_client_gives_up_in_time() {
    let client = open(UDP, V4);
    // A socket that never answers.
    let mute = open_mute();
    let udp_port = mute.local_addr().unwrap().port();
    let config = Config { connect_timeout_ns: 200_000_000, ..config(2) };
    let peer = Peer { address: V4, port: PORT, udp_port };
    let Err(error) = client.connect(peer, &config) else { panic!("connected to nobody") };
    assert!(matches!(error, LinkError::TimedOut(_)), "{error}");
    assert!(client.wait_closed(PATIENCE));
    assert_eq!(client.connections_count(), 0);
}

fn open_mute() -> std::net::UdpSocket {
    std::net::UdpSocket::bind((V4, 0)).unwrap()
}

#[test]
fn a_peer_that_vanishes_is_noticed_and_forgotten() {
    in_a_namespace(|| {
        let server = serve(UDP, V4, &config(2));
        let client = open(UDP, V4);
        let config = Config { close_timeout_ns: 300_000_000, ..config(2) };
        let mut connection = client.connect(server.peer, &config).unwrap();
        let accepted = server.listener.accept_within(PATIENCE).unwrap();
        ip("link set lo down");
        connection.set_send_timeout(Some(Duration::from_millis(100)));
        connection.set_receive_timeout(Some(Duration::from_millis(100)));
        let error = loop {
            if let Err(error) = connection.send(b"is somebody there?") {
                break error;
            }
        };
        assert!(matches!(error, LinkError::TimedOut(_)), "{error}");
        assert!(matches!(connection.receive(), Err(LinkError::TimedOut(_))));
        connection.abort();
        assert!(client.wait_closed(PATIENCE));
        accepted.abort();
        assert!(server.endpoint.wait_closed(PATIENCE));
        assert_eq!(client.connections_count(), 0);
        assert_eq!(server.endpoint.connections_count(), 0);
    });
}

#[test]
fn closing_towards_a_peer_that_vanished_ends_after_its_time() {
    in_a_namespace(|| {
        let server = serve(UDP, V4, &config(2));
        let client = open(UDP, V4);
        let config = Config { close_timeout_ns: 300_000_000, ..config(2) };
        let connection = client.connect(server.peer, &config).unwrap();
        let accepted = server.listener.accept_within(PATIENCE).unwrap();
        ip("link set lo down");
        connection.close();
        assert!(client.wait_closed(PATIENCE));
        assert_eq!(client.connections_count(), 0);
        accepted.abort();
    });
}

#[test]
fn a_hundred_connections_share_an_endpoint() {
    let Server { listener, endpoint: server, peer } = serve(UDP, V4, &config(2));
    let client = open(UDP, V4);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let accepted: Vec<_> =
                (0..100).map(|_| listener.accept_within(PATIENCE).unwrap()).collect();
            std::thread::scope(|scope| {
                for connection in &accepted {
                    scope.spawn(move || assert_eq!(echo(connection), 10));
                }
            });
            drop(accepted);
            assert!(server.wait_closed(PATIENCE));
        });
        let mut connections: Vec<_> =
            (0..100).map(|_| client.connect(peer, &config(2)).unwrap()).collect();
        for round in 0..10_u8 {
            for (index, connection) in connections.iter_mut().enumerate() {
                exchange(connection, &[round, index as u8]);
            }
        }
        drop(connections);
        assert!(client.wait_closed(PATIENCE));
    });
}

#[test]
fn what_nobody_reads_takes_no_more_room_than_agreed() {
    let small = Config { receive_queue_len: 8, ..config(2) };
    let server = serve(UDP, V4, &small);
    let client = open(UDP, V4);
    let connection = client.connect(server.peer, &config(2)).unwrap();
    let accepted = server.listener.accept_within(PATIENCE).unwrap();
    for number in 0..100_u8 {
        connection.send(&[number]).unwrap();
    }
    connection.close();
    assert!(client.wait_closed(PATIENCE));
    let mut read = 0;
    while let Some(datagram) = accepted.receive().unwrap() {
        assert_eq!(datagram.len(), 1);
        read += 1;
    }
    assert!((1..=8).contains(&read), "{read} datagrams waited");
}

#[test]
fn an_endpoint_that_goes_resets_its_connections() {
    let server = serve(UDP, V4, &config(3));
    let client: Endpoint = open(UDP, V4);
    let connection = client.connect(server.peer, &config(3)).unwrap();
    let mut accepted = server.listener.accept_within(PATIENCE).unwrap();
    accepted.set_receive_timeout(Some(PATIENCE));
    drop(client);
    let error = accepted.receive().unwrap_err();
    assert!(
        matches!(error, LinkError::Reset(reset) if reset.code == ResetCode::Aborted),
        "{error}"
    );
    assert!(matches!(connection.send(b"x"), Err(LinkError::Closed)));
    assert!(matches!(connection.receive(), Err(LinkError::Closed)));
}
