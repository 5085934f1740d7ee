//! Applications at both ends, over both carriers and both versions of IP, with both interfaces.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use crate::common::api::{
    ConnectionCalls, EndpointCalls, ListenerCalls, ServerOf, open_endpoint, serve_endpoint,
    with_both_apis,
};
use crate::common::{PATIENCE, PORT, RAW, UDP, V4, V6, config, in_a_namespace, ip};
use dccp::header::{DccpHeader, DccpPacket, Integrity, PacketType};
use dccp_link::{CarrierKind, ConnectionConfig, DccpError, Peer, ResetCode};

with_both_apis!(
    both_controls_over_udp_over_ipv4,
    both_controls_over_udp_over_ipv6,
    both_controls_over_ipv4,
    both_controls_over_ipv6,
    a_path_that_becomes_narrow_shortens_datagrams,
    a_port_that_nobody_has_is_told_by_the_network,
    where_nobody_listens_the_connection_is_refused_and_said_so,
    a_service_that_nobody_offers_is_refused,
    where_nobody_is_a_client_gives_up_in_time,
    a_server_that_is_silent_after_its_response_is_sent_to,
    a_peer_that_vanishes_is_noticed_and_forgotten,
    closing_towards_a_peer_that_vanished_ends_after_its_time,
    a_hundred_connections_share_an_endpoint,
    what_nobody_reads_takes_no_more_room_than_agreed,
    an_endpoint_that_goes_resets_its_connections,
);

/// Sends back every datagram of `connection` until the other end closes. Returns their count.
fn echo(connection: &impl ConnectionCalls) -> usize {
    let mut count = 0;
    while let Some(datagram) = connection.receive().unwrap() {
        connection.send(&datagram).unwrap();
        count += 1;
    }
    count
}

/// Sends `datagram` and waits for it to come back: nothing else is under way, so no queue is full.
fn exchange(connection: &impl ConnectionCalls, datagram: &[u8]) {
    connection.send(datagram).unwrap();
    assert_eq!(connection.receive().unwrap().as_deref(), Some(datagram));
}

/// Connects, sends datagrams and closes with one congestion control.
fn talk<F: EndpointCalls>(kind: CarrierKind, address: IpAddr, ccid: u8) {
    let ServerOf::<F> { listener, endpoint: server, peer } =
        serve_endpoint::<F>(kind, address, &config(ccid));
    let client = open_endpoint::<F>(kind, address);
    std::thread::scope(|scope| {
        let echoed = scope.spawn(move || {
            let connection = listener.accept().unwrap();
            assert_eq!(connection.ccids(), (ccid, ccid));
            let count = echo(&connection);
            drop(connection);
            assert!(server.wait_closed());
            count
        });
        let connection = client.connect(peer, &config(ccid)).unwrap();
        assert_eq!(connection.ccids(), (ccid, ccid));
        exchange(&connection, b"first");
        let mut buffer = b"what was here before".to_vec();
        connection.send(b"second").unwrap();
        assert!(connection.receive_into(&mut buffer).unwrap());
        assert_eq!(buffer, b"second");
        exchange(&connection, b"");
        let longest = vec![7; connection.packet_bytes_max()];
        exchange(&connection, &longest);
        let longer = vec![7; longest.len() + 1];
        let error = connection.send(&longer).unwrap_err();
        assert!(matches!(error, DccpError::TooLong { len, max } if len == max + 1), "{error}");
        for number in 0..50_u32 {
            exchange(&connection, &number.to_be_bytes());
        }
        assert!(connection.rtt().is_some());
        connection.close();
        assert!(client.wait_closed());
        assert_eq!(echoed.join().unwrap(), 54);
    });
}

fn both_controls_over_udp_over_ipv4<F: EndpointCalls>() {
    talk::<F>(UDP, V4, 2);
    talk::<F>(UDP, V4, 3);
}

fn both_controls_over_udp_over_ipv6<F: EndpointCalls>() {
    in_a_namespace(|| {
        talk::<F>(UDP, V6, 2);
        talk::<F>(UDP, V6, 3);
    });
}

fn both_controls_over_ipv4<F: EndpointCalls>() {
    in_a_namespace(|| {
        talk::<F>(RAW, V4, 2);
        talk::<F>(RAW, V4, 3);
    });
}

fn both_controls_over_ipv6<F: EndpointCalls>() {
    in_a_namespace(|| {
        talk::<F>(RAW, V6, 2);
        talk::<F>(RAW, V6, 3);
    });
}

fn a_path_that_becomes_narrow_shortens_datagrams<F: EndpointCalls>() {
    in_a_namespace(|| {
        let server = serve_endpoint::<F>(UDP, V4, &config(3));
        let client = open_endpoint::<F>(UDP, V4);
        let connection = client.connect(server.peer, &config(3)).unwrap();
        let accepted = server.listener.accept().unwrap();
        assert!(connection.packet_bytes_max() > 8_000);
        ip("link set lo mtu 1500");
        let error = loop {
            if let Err(error) = connection.send(&[0; 8_000]) {
                break error;
            }
        };
        assert!(matches!(error, DccpError::TooLong { max: 1_424, .. }), "{error}");
        connection.send(&[1; 1_424]).unwrap();
        let datagram = accepted.receive().unwrap().unwrap();
        assert_eq!(datagram, [1; 1_424]);
    });
}

fn a_port_that_nobody_has_is_told_by_the_network<F: EndpointCalls>() {
    // In the main namespace another program might take the port.
    in_a_namespace(|| {
        let client = open_endpoint::<F>(UDP, V4);
        let mute = open_mute();
        let udp_port = mute.local_addr().unwrap().port();
        drop(mute);
        let peer = Peer { address: V4, port: PORT, udp_port };
        let Err(error) = client.connect(peer, &config(2)) else { panic!("connected to nobody") };
        let DccpError::Unreachable { cause, .. } = &error else { panic!("{error}") };
        assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionRefused);
        assert_eq!(client.connections_count(), 0);
    });
}

/// Connects to a port or with a service code that the server does not have. Returns the code of its
/// Reset, and the message.
fn refusal<F: EndpointCalls>(
    kind: CarrierKind,
    address: IpAddr,
    port: u16,
    service: &str,
) -> (ResetCode, String) {
    let server = serve_endpoint::<F>(kind, address, &config(2));
    // A client does not answer for ports that it does not have.
    let client = open_endpoint::<F>(if kind == UDP { UDP } else { RAW }, address);
    let other_service = ConnectionConfig { service_code: service.parse().unwrap(), ..config(2) };
    let Err(error) = client.connect(Peer { port, ..server.peer }, &other_service) else {
        panic!("connected to port {port} for {service}");
    };
    let DccpError::Refused { reset, .. } = error else { panic!("{error}") };
    assert_eq!(client.connections_count(), 1, "remembered for a while");
    (reset.code, error.to_string())
}

fn where_nobody_listens_the_connection_is_refused_and_said_so<F: EndpointCalls>() {
    let (code, text) = refusal::<F>(UDP, V4, PORT + 1, "SC:TEST");
    assert_eq!(code, ResetCode::ConnectionRefused);
    assert!(text.contains("127.0.0.1 port 5002") && text.contains("no server listens"), "{text}");
    in_a_namespace(|| {
        let owner = CarrierKind::Raw { answers_all_ports: true };
        let (code, _) = refusal::<F>(owner, V4, PORT + 1, "SC:TEST");
        assert_eq!(code, ResetCode::ConnectionRefused);
    });
}

fn a_service_that_nobody_offers_is_refused<F: EndpointCalls>() {
    let (code, text) = refusal::<F>(UDP, V4, PORT, "SC:ELSE");
    assert_eq!(code, ResetCode::BadServiceCode);
    assert!(text.contains("Reset code 8") && text.contains("service code"), "{text}");
    in_a_namespace(|| {
        assert_eq!(refusal::<F>(RAW, V6, PORT, "7").0, ResetCode::BadServiceCode);
    });
}

fn where_nobody_is_a_client_gives_up_in_time<F: EndpointCalls>() {
    let client = open_endpoint::<F>(UDP, V4);
    // A socket that never answers.
    let mute = open_mute();
    let udp_port = mute.local_addr().unwrap().port();
    let config = ConnectionConfig { connect_timeout_ns: 200_000_000, ..config(2) };
    let peer = Peer { address: V4, port: PORT, udp_port };
    let Err(error) = client.connect(peer, &config) else { panic!("connected to nobody") };
    assert!(matches!(error, DccpError::TimedOut(_)), "{error}");
    assert!(client.wait_closed());
    assert_eq!(client.connections_count(), 0);
}

/// Answers a client's Request and then sends nothing, as a Linux server does. Returns the first
/// datagram that comes.
fn answer_once(socket: &std::net::UdpSocket) -> Vec<u8> {
    let mut octets = [0; 2_000];
    loop {
        let (len, client) = socket.recv_from(&mut octets).unwrap();
        let packet = DccpPacket::parse(&octets[..len], Integrity::Carrier).unwrap();
        match packet.header.packet_type {
            PacketType::Request => {
                let response = DccpHeader {
                    source_port: packet.header.destination_port,
                    destination_port: packet.header.source_port,
                    acknowledgement: Some(packet.header.sequence),
                    service_code: packet.header.service_code,
                    ..DccpHeader::new(PacketType::Response, 1_000)
                };
                // Ack Vectors both ways, as the Request has them.
                let agreed = [33, 5, 6, 1, 1, 35, 5, 6, 1, 1];
                let mut reply = [0; 200];
                let len = response.write(&agreed, &[], Integrity::Carrier, &mut reply).unwrap();
                socket.send_to(&reply[..len], client).unwrap();
            }
            PacketType::DataAck => return packet.data.to_vec(),
            _ => {}
        }
    }
}

fn a_server_that_is_silent_after_its_response_is_sent_to<F: EndpointCalls>() {
    let client = open_endpoint::<F>(UDP, V4);
    let socket = open_mute();
    let peer = Peer { address: V4, port: PORT, udp_port: socket.local_addr().unwrap().port() };
    std::thread::scope(|scope| {
        let came = scope.spawn(move || answer_once(&socket));
        let connection = client.connect(peer, &config(2)).unwrap();
        connection.send(b"first").unwrap();
        assert_eq!(came.join().unwrap(), b"first");
    });
    // The server is gone after its Response, and the client gives up in time.
    let socket = open_mute();
    let address = socket.local_addr().unwrap();
    let peer = Peer { udp_port: address.port(), ..peer };
    let limited = ConnectionConfig { connect_timeout_ns: 300_000_000, ..config(2) };
    std::thread::scope(|scope| {
        scope.spawn(move || answer_once(&socket));
        // A busy machine may hold the Response up until the client has given up.
        let deadline = Instant::now() + PATIENCE;
        let connection = loop {
            match client.connect(peer, &limited) {
                Ok(connection) => break connection,
                Err(error) => assert!(matches!(error, DccpError::TimedOut(_)), "{error}"),
            }
            assert!(Instant::now() < deadline, "no Response comes in time");
        };
        // It may hold the application up for that time, too.
        let error = match connection.send(b"first") {
            Ok(()) => connection.receive().unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, DccpError::Failed { .. }), "{error}");
        assert!(
            error.to_string().contains("answered the Request and sent nothing afterwards"),
            "{error}"
        );
        end_answers(address);
    });
}

/// Ends [`answer_once`] at `address` with a datagram, if no datagram of a connection has ended it.
fn end_answers(address: SocketAddr) {
    let header = DccpHeader { acknowledgement: Some(1), ..DccpHeader::new(PacketType::DataAck, 1) };
    let mut octets = [0; 200];
    let len = header.write(&[], b"end", Integrity::Carrier, &mut octets).unwrap();
    open_mute().send_to(&octets[..len], address).unwrap();
}

fn open_mute() -> std::net::UdpSocket {
    std::net::UdpSocket::bind((V4, 0)).unwrap()
}

fn a_peer_that_vanishes_is_noticed_and_forgotten<F: EndpointCalls>() {
    in_a_namespace(|| {
        let server = serve_endpoint::<F>(UDP, V4, &config(2));
        let client = open_endpoint::<F>(UDP, V4);
        let config = ConnectionConfig { close_timeout_ns: 300_000_000, ..config(2) };
        let mut connection = client.connect(server.peer, &config).unwrap();
        let accepted = server.listener.accept().unwrap();
        ip("link set lo down");
        connection.set_patience(Duration::from_millis(100));
        let error = loop {
            if let Err(error) = connection.send(b"is somebody there?") {
                break error;
            }
        };
        assert!(matches!(error, DccpError::TimedOut(_)), "{error}");
        assert!(matches!(connection.receive(), Err(DccpError::TimedOut(_))));
        connection.abort();
        assert!(client.wait_closed());
        accepted.abort();
        assert!(server.endpoint.wait_closed());
        assert_eq!(client.connections_count(), 0);
        assert_eq!(server.endpoint.connections_count(), 0);
    });
}

fn closing_towards_a_peer_that_vanished_ends_after_its_time<F: EndpointCalls>() {
    in_a_namespace(|| {
        let server = serve_endpoint::<F>(UDP, V4, &config(2));
        let client = open_endpoint::<F>(UDP, V4);
        let config = ConnectionConfig { close_timeout_ns: 300_000_000, ..config(2) };
        let connection = client.connect(server.peer, &config).unwrap();
        let accepted = server.listener.accept().unwrap();
        ip("link set lo down");
        connection.close();
        assert!(client.wait_closed());
        assert_eq!(client.connections_count(), 0);
        accepted.abort();
    });
}

fn a_hundred_connections_share_an_endpoint<F: EndpointCalls>() {
    let ServerOf::<F> { listener, endpoint: server, peer } =
        serve_endpoint::<F>(UDP, V4, &config(2));
    let client = open_endpoint::<F>(UDP, V4);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let accepted: Vec<_> = (0..100).map(|_| listener.accept().unwrap()).collect();
            std::thread::scope(|scope| {
                for connection in &accepted {
                    scope.spawn(move || assert_eq!(echo(connection), 10));
                }
            });
            drop(accepted);
            assert!(server.wait_closed());
        });
        let connections: Vec<_> =
            (0..100).map(|_| client.connect(peer, &config(2)).unwrap()).collect();
        for round in 0..10_u8 {
            for (index, connection) in connections.iter().enumerate() {
                exchange(connection, &[round, index as u8]);
            }
        }
        drop(connections);
        assert!(client.wait_closed());
    });
}

fn what_nobody_reads_takes_no_more_room_than_agreed<F: EndpointCalls>() {
    let small = ConnectionConfig { receive_queue_len: 8, ..config(2) };
    let server = serve_endpoint::<F>(UDP, V4, &small);
    let client = open_endpoint::<F>(UDP, V4);
    let connection = client.connect(server.peer, &config(2)).unwrap();
    let accepted = server.listener.accept().unwrap();
    for number in 0..100_u8 {
        connection.send(&[number]).unwrap();
    }
    connection.close();
    assert!(client.wait_closed());
    let mut read = 0;
    while let Some(datagram) = accepted.receive().unwrap() {
        assert_eq!(datagram.len(), 1);
        read += 1;
    }
    assert!((1..=8).contains(&read), "{read} datagrams waited");
}

fn an_endpoint_that_goes_resets_its_connections<F: EndpointCalls>() {
    let server = serve_endpoint::<F>(UDP, V4, &config(3));
    let client = open_endpoint::<F>(UDP, V4);
    let connection = client.connect(server.peer, &config(3)).unwrap();
    let accepted = server.listener.accept().unwrap();
    drop(client);
    let error = accepted.receive().unwrap_err();
    assert!(
        matches!(error, DccpError::Reset(reset) if reset.code == ResetCode::Aborted),
        "{error}"
    );
    assert!(matches!(connection.send(b"x"), Err(DccpError::Closed)));
    assert!(matches!(connection.receive(), Err(DccpError::Closed)));
}
