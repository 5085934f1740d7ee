//! Packets that belong to no connection, and connections that an endpoint makes from them (RFC 4340
//! §8.1.3, §8.1.4, §8.3.1, §8.5 steps 2 and 3; RFC 6773).

use dccp::connection::{ConnectionConfig, ConnectionEvent, ConnectionState, Ecn};
use dccp::endpoint::{Carrier, ConnectionKey, Endpoint, EndpointLimits, Listener, SipHashKey};
use dccp::header::{DccpHeader, DccpPacket, PacketType, ResetCode, ServiceCode};
use dccp::option::number;

use crate::conformance::world::{DevicePacket, MS, SECOND, config_2};

const SERVICE: ServiceCode = ServiceCode::new(7);

/// Endpoint of the device D with a listener at port 5001, and the tester T, which writes packets by
/// hand.
struct DeviceEndpoint {
    d: Endpoint,
    now_ns: u64,
}

/// Returns the key of the tester T at this address and port, as the device D sees it.
fn key(host: u32, port: u16) -> ConnectionKey {
    ConnectionKey {
        local: [10, 0, 0, 2].into(),
        remote: core::net::Ipv4Addr::from(0x0b00_0000 + host).into(),
        carrier: Carrier::Ip,
        local_port: 5_001,
        remote_port: port,
        scope: 0,
    }
}

impl DeviceEndpoint {
    fn new(limits: EndpointLimits, uses_init_cookies: bool) -> Self {
        let mut d = Endpoint::new(SipHashKey::new([3, 4]), limits);
        let service_codes = vec![ServiceCode::new(1), SERVICE];
        d.listen(5_001, Listener { config: config_2(), service_codes, uses_init_cookies });
        Self { d, now_ns: SECOND }
    }

    fn plain() -> Self {
        Self::new(EndpointLimits::default(), false)
    }

    fn give(&mut self, key: ConnectionKey, header: DccpHeader, options: &[u8], data: &[u8]) {
        let header =
            DccpHeader { source_port: key.remote_port, destination_port: key.local_port, ..header };
        let mut buffer = [0; 2_000];
        let integrity = key.path().integrity.reversed();
        let len = header.write(options, data, integrity, &mut buffer).unwrap();
        self.d.handle_datagram(self.now_ns, key, Ecn::NotCapable, &buffer[..len]);
    }

    fn take(&mut self) -> Vec<(ConnectionKey, DevicePacket)> {
        let mut packets = Vec::new();
        let mut buffer = [0; 2_000];
        while let Some((key, transmit)) = self.d.poll_transmit(self.now_ns, &mut buffer) {
            let octets = buffer[..transmit.len].to_vec();
            let packet = DccpPacket::parse(&octets, key.path().integrity).unwrap();
            let (header, options) = (packet.header, packet.options.to_vec());
            let data = packet.data.to_vec();
            packets.push((key, DevicePacket { header, options, data, octets, transmit }));
        }
        packets
    }

    fn take_one(&mut self) -> DevicePacket {
        let mut packets = self.take();
        assert_eq!(packets.len(), 1, "{packets:?}");
        packets.remove(0).1
    }

    fn events(&mut self) -> Vec<(ConnectionKey, ConnectionEvent)> {
        core::iter::from_fn(|| self.d.poll_event()).collect()
    }
}

fn request(sequence: u64) -> DccpHeader {
    DccpHeader { service_code: Some(SERVICE), ..DccpHeader::new(PacketType::Request, sequence) }
}

fn acknowledging(packet_type: PacketType, sequence: u64, number: u64) -> DccpHeader {
    DccpHeader { acknowledgement: Some(number), ..DccpHeader::new(packet_type, sequence) }
}

/// RFC 4340 §8.1.2 to §8.1.5: a listener makes a connection for a Request.
#[test]
fn con_01_a_listener_makes_a_connection() {
    let mut device = DeviceEndpoint::plain();
    device.give(key(1, 40_000), request(100), &[], &[]);
    let response = device.take_one();
    assert_eq!(response.packet_type(), PacketType::Response);
    let number = response.header.sequence;
    device.give(key(1, 40_000), acknowledging(PacketType::DataAck, 101, number), &[], b"hello");
    let expected = [ConnectionEvent::Connected, ConnectionEvent::Received(b"hello".to_vec())];
    assert_eq!(device.events(), expected.map(|event| (key(1, 40_000), event)));
}

/// RFC 4340 §8.1.3, §8.3.1: the device D refuses a Request to a port without a listener.
#[test]
fn con_02_a_closed_port_refuses() {
    let mut device = DeviceEndpoint::plain();
    device.give(ConnectionKey { local_port: 5_002, ..key(1, 40_000) }, request(100), &[], &[]);
    let reset = device.take_one();
    assert_eq!(reset.reset(), (ResetCode::ConnectionRefused, [0; 3]));
    assert_eq!((reset.header.sequence, reset.header.acknowledgement), (0, Some(100)));
    assert_eq!((reset.header.source_port, reset.header.destination_port), (5_002, 40_000));
    assert_eq!(device.d.connections_count(), 0);
}

/// RFC 4340 §8.1.2: the device D refuses a service code that its listener does not have.
#[test]
fn con_03_another_service_is_refused() {
    for code in [8, u32::MAX, 0] {
        let mut device = DeviceEndpoint::plain();
        let header = DccpHeader { service_code: Some(ServiceCode::new(code)), ..request(100) };
        device.give(key(1, 40_000), header, &[], &[]);
        assert_eq!(device.take_one().reset().0, ResetCode::BadServiceCode);
    }
}

/// RFC 4340 §8.1.3: the device D refuses a Request when it has the most connections allowed.
#[test]
fn con_04_a_full_server_is_too_busy() {
    let limits = EndpointLimits { connections: 2, ..EndpointLimits::default() };
    let mut device = DeviceEndpoint::new(limits, false);
    for host in 1..=2 {
        device.give(key(host, 40_000), request(100), &[], &[]);
        assert_eq!(device.take_one().packet_type(), PacketType::Response);
    }
    device.give(key(3, 40_000), request(100), &[], &[]);
    assert_eq!(device.take_one().reset().0, ResetCode::TooBusy);
    // A repeated Request of a client makes no new connection.
    device.give(key(1, 40_000), request(101), &[], &[]);
    assert_eq!(device.take_one().packet_type(), PacketType::Response);
    assert_eq!(device.d.connections_count(), 2);
}

/// RFC 4340 §8.1.4: a server with many half-open connections keeps no state of further Requests,
/// but their clients can connect.
#[test]
fn con_04_a_crowded_server_gives_cookies() {
    let limits = EndpointLimits { half_open: 2, ..EndpointLimits::default() };
    let mut device = DeviceEndpoint::new(limits, false);
    for host in 1..=2 {
        device.give(key(host, 40_000), request(100), &[], &[]);
        assert_eq!(device.take_one().option(number::INIT_COOKIE), None);
    }
    device.give(key(3, 40_000), request(100), &[], &[]);
    let response = device.take_one();
    assert_eq!(device.d.connections_count(), 2);
    let cookie = response.option(number::INIT_COOKIE).unwrap();
    let cookie_option = [&[36, cookie.len() as u8 + 2][..], &cookie].concat();
    let header = acknowledging(PacketType::DataAck, 101, response.header.sequence);
    device.give(key(3, 40_000), header, &cookie_option, b"hello");
    let expected = [ConnectionEvent::Connected, ConnectionEvent::Received(b"hello".to_vec())];
    assert_eq!(device.events(), expected.map(|event| (key(3, 40_000), event)));
    device.take();
    // These options do not fit into a cookie.
    device.give(key(4, 40_000), request(100), &[0; 232], &[]);
    assert_eq!(device.take_one().reset().0, ResetCode::TooBusy);
    let answers = *device.d.answers();
    assert_eq!(
        (answers.accepted, answers.cookies, answers.restored, answers.refused),
        (2, 1, 1, 1)
    );
}

/// RFC 4340 §8.3: a connection in TIMEWAIT makes room for a new one, the oldest first.
#[test]
fn con_04_time_wait_keeps_nobody_out() {
    let limits = EndpointLimits { connections: 3, ..EndpointLimits::default() };
    let mut device = DeviceEndpoint::new(limits, false);
    for host in 1..=1_000 {
        device.give(key(host, 40_000), request(100), &[], &[]);
        let number = device.take_one().header.sequence;
        device.give(key(host, 40_000), acknowledging(PacketType::Ack, 101, number), &[], &[]);
        let reset = Some(dccp::header::Reset::plain(ResetCode::Aborted));
        let header = acknowledging(PacketType::Reset, 102, number);
        device.give(key(host, 40_000), DccpHeader { reset, ..header }, &[], &[]);
        assert_eq!(device.events().len(), 2);
        device.now_ns += MS;
    }
    let occupancy = device.d.occupancy();
    assert_eq!((occupancy.connections, occupancy.half_open, occupancy.time_wait), (3, 0, 3));
    let left: Vec<_> = device.d.states().map(|(key, _)| key).collect();
    assert_eq!(left, [998, 999, 1_000].map(|host| key(host, 40_000)));
    // Connections that are not over stay.
    for host in 2_001..=2_004 {
        device.give(key(host, 40_000), request(100), &[], &[]);
    }
    assert!(device.d.states().all(|(_, state)| state == ConnectionState::Respond));
    assert_eq!(device.take().last().unwrap().1.packet_type(), PacketType::Response);
    let occupancy = device.d.occupancy();
    assert_eq!((occupancy.connections, occupancy.half_open, occupancy.time_wait), (3, 3, 0));
    assert_eq!(device.d.answers().refused, 1);
}

/// RFC 4340 §8.1.4: the server keeps no state, and restores all of it from the cookie.
#[test]
fn con_08_a_server_with_cookies_keeps_nothing_until_one_comes_back() {
    let mut device = DeviceEndpoint::new(EndpointLimits::default(), true);
    let options = [32, 9, 3, 0, 0, 0, 0, 4, 0, 34, 4, 6, 1];
    device.give(key(1, 40_000), request(100), &options, &[]);
    let response = device.take_one();
    assert_eq!(response.option(35), Some(vec![3, 0, 0, 0, 0, 4, 0]));
    let cookie = response.option(number::INIT_COOKIE).unwrap();
    assert_eq!((device.d.connections_count(), device.d.poll_timeout()), (0, None));
    device.now_ns += 100 * MS;
    let number = response.header.sequence;
    let cookie_option = [&[36, cookie.len() as u8 + 2][..], &cookie].concat();
    let header = acknowledging(PacketType::DataAck, 101, number);
    device.give(key(1, 40_000), header, &cookie_option, b"hello");
    let events: Vec<_> = device.events().into_iter().map(|(_, event)| event).collect();
    assert_eq!(events, [ConnectionEvent::Connected, ConnectionEvent::Received(b"hello".to_vec())]);
    let connection = device.d.connection(&key(1, 40_000)).unwrap();
    let window = dccp::feature::Feature::remote(dccp::feature::number::SEQUENCE_WINDOW);
    assert_eq!(
        (connection.state(), connection.features().value(window)),
        (ConnectionState::Open, 1_024)
    );
    assert_eq!(connection.greatest_numbers().0.value(), number);
}

/// RFC 4340 §8.1.4: a packet that the network repeats makes no connection again after its
/// connection has ended.
#[test]
fn con_08_a_cookie_makes_one_connection() {
    let mut device = DeviceEndpoint::new(EndpointLimits::default(), true);
    device.give(key(1, 40_000), request(100), &[], &[]);
    let response = device.take_one();
    let cookie = response.option(number::INIT_COOKIE).unwrap();
    let cookie_option = [&[36, cookie.len() as u8 + 2][..], &cookie].concat();
    let header = acknowledging(PacketType::DataAck, 101, response.header.sequence);
    device.give(key(1, 40_000), header, &cookie_option, b"hello");
    device.d.with(&key(1, 40_000), dccp::connection::Connection::abort);
    assert_eq!(device.take_one().reset().0, ResetCode::Aborted);
    assert_eq!((device.events().len(), device.d.connections_count()), (2, 0));
    device.give(key(1, 40_000), header, &cookie_option, b"hello");
    assert_eq!(device.take_one().reset().0, ResetCode::NoConnection);
    assert_eq!((device.events(), device.d.connections_count()), (Vec::new(), 0));
}

/// RFC 4340 §8.1.4: the device D resets a packet with a changed cookie.
#[test]
fn con_09_a_changed_cookie_is_reset() {
    let mut device = DeviceEndpoint::new(EndpointLimits::default(), true);
    device.give(key(1, 40_000), request(100), &[], &[]);
    let response = device.take_one();
    let cookie = response.option(number::INIT_COOKIE).unwrap();
    let number = response.header.sequence;
    let ack = acknowledging(PacketType::Ack, 101, number);
    let mut changed = [&[36, cookie.len() as u8 + 2][..], &cookie].concat();
    changed[9] ^= 1;
    device.give(key(1, 40_000), ack, &changed, &[]);
    assert_eq!(device.take_one().reset().0, ResetCode::BadInitCookie);
    // D resets a packet with another client's cookie, too, and one without a cookie belongs to no
    // connection.
    changed[9] ^= 1;
    device.give(key(2, 40_000), ack, &changed, &[]);
    assert_eq!(device.take_one().reset().0, ResetCode::BadInitCookie);
    device.give(key(1, 40_000), ack, &[], &[]);
    assert_eq!(device.take_one().reset().0, ResetCode::NoConnection);
    assert_eq!(device.d.connections_count(), 0);
}

/// RFC 4340 §8.1.2: if the network repeats a Request long after its connection, the device D makes
/// another one, until the client resets that. D does not deliver the data of the Request again.
#[test]
fn con_17_data_of_a_repeated_request_waits_for_its_client() {
    let mut device = DeviceEndpoint::plain();
    device.give(key(1, 40_000), request(100), &[], b"hello");
    let response = device.take_one();
    assert_eq!(device.events(), []);
    let reset = DccpHeader {
        acknowledgement: Some(response.header.sequence),
        reset: Some(dccp::header::Reset::plain(ResetCode::NoConnection)),
        ..DccpHeader::new(PacketType::Reset, 101)
    };
    device.give(key(1, 40_000), reset, &[], &[]);
    let events: Vec<_> = device.events().into_iter().map(|(_, event)| event).collect();
    assert_eq!(
        events,
        [ConnectionEvent::Reset(dccp::header::Reset::plain(ResetCode::NoConnection))]
    );
}

/// RFC 4340 §8.5 step 3: a listener resets all packets but Requests and Resets.
#[test]
fn con_19_a_listener_resets_everything_but_requests_and_resets() {
    for packet_type in PacketType::ALL {
        let mut device = DeviceEndpoint::plain();
        let header = DccpHeader {
            service_code: packet_type.has_service_code().then_some(SERVICE),
            acknowledgement: packet_type.has_acknowledgement().then_some(9),
            reset: (packet_type == PacketType::Reset)
                .then(|| dccp::header::Reset::plain(ResetCode::Closed)),
            ..DccpHeader::new(packet_type, 100)
        };
        device.give(key(1, 40_000), header, &[], &[]);
        match packet_type {
            PacketType::Reset => assert!(device.take().is_empty()),
            PacketType::Request => assert!(device.take_one().header.reset.is_none()),
            _ => assert_eq!(device.take_one().reset().0, ResetCode::NoConnection),
        }
    }
}

/// RFC 6773 §3: the UDP ports are part of a connection's identification.
#[test]
fn enc_01_connections_inside_of_udp_have_six_numbers() {
    let mut device = DeviceEndpoint::plain();
    let udp = |remote_port| ConnectionKey {
        carrier: Carrier::Udp { local_port: 6_511, remote_port },
        ..key(1, 40_000)
    };
    for (outer, sequence) in [(udp(1_111), 100), (udp(2_222), 900), (key(1, 40_000), 500)] {
        device.give(outer, request(sequence), &[], &[]);
        let (to, response) = device.take().remove(0);
        assert_eq!((to, response.header.acknowledgement), (outer, Some(sequence)));
    }
    assert_eq!(device.d.connections_count(), 3);
}

/// RFC 6773 §3: after a NAT has chosen another port, a packet belongs to no connection, and the
/// client learns that it must connect again.
#[test]
fn enc_02_another_udp_port_is_another_connection() {
    let mut device = DeviceEndpoint::plain();
    let udp = |remote_port| ConnectionKey {
        carrier: Carrier::Udp { local_port: 6_511, remote_port },
        ..key(1, 40_000)
    };
    device.give(udp(1_111), request(100), &[], &[]);
    let number = device.take_one().header.sequence;
    device.give(udp(1_111), acknowledging(PacketType::Ack, 101, number), &[], &[]);
    device.take();
    device.give(udp(3_333), acknowledging(PacketType::DataAck, 102, number), &[], b"moved");
    let (to, reset) = device.take().remove(0);
    assert_eq!((to, reset.reset().0), (udp(3_333), ResetCode::NoConnection));
    assert_eq!(device.events(), [(udp(1_111), ConnectionEvent::Connected)]);
}

/// RFC 6773 §3.6: the ECN mark of the outer IP header, which the carrier passes on, is the
/// packet's.
#[test]
fn enc_03_a_mark_of_the_outer_header_counts() {
    let mut device = DeviceEndpoint::plain();
    let udp = ConnectionKey {
        carrier: Carrier::Udp { local_port: 6_511, remote_port: 1_111 },
        ..key(1, 40_000)
    };
    device.give(udp, request(100), &[34, 4, 6, 1], &[]);
    let number = device.take_one().header.sequence;
    device.give(udp, acknowledging(PacketType::Ack, 101, number), &[], &[]);
    device.take();
    let header = DccpHeader {
        source_port: udp.remote_port,
        destination_port: udp.local_port,
        ..DccpHeader::new(PacketType::Data, 102)
    };
    let mut buffer = [0; 100];
    let len = header.write(&[], b"x", udp.path().integrity, &mut buffer).unwrap();
    device.d.handle_datagram(device.now_ns, udp, Ecn::Marked, &buffer[..len]);
    let vector = device.take_one().option(number::ACK_VECTOR_0).unwrap();
    assert_eq!(vector[0], 64);
}

/// RFC 4340 §8.1.4: Requests from many addresses leave no state.
#[test]
fn dos_01_a_flood_of_requests_leaves_no_state_with_cookies() {
    let mut device = DeviceEndpoint::new(EndpointLimits::default(), true);
    for host in 0..100_000 {
        device.give(key(host, host as u16), request(u64::from(host)), &[], &[]);
        device.now_ns += 10_000;
        assert_eq!(device.take().len(), 1);
    }
    assert_eq!((device.d.connections_count(), device.d.poll_timeout()), (0, None));
    // A listener without `uses_init_cookies` sends some, too, when too many connections are
    // half-open.
    let limits = EndpointLimits { half_open: 100, ..EndpointLimits::default() };
    let mut device = DeviceEndpoint::new(limits, false);
    for host in 0..1_000 {
        device.give(key(host, host as u16), request(u64::from(host)), &[], &[]);
        device.take();
    }
    let occupancy = device.d.occupancy();
    assert_eq!((occupancy.connections, occupancy.half_open, occupancy.replies), (100, 100, 0));
    assert_eq!(device.d.answers().cookies, 900);
}

/// RFC 4340 §8.3.1: the device D sends at most `resets_per_s` Resets per second.
#[test]
fn dos_02_resets_are_limited() {
    let limits = EndpointLimits { resets_per_s: 50, ..EndpointLimits::default() };
    let mut device = DeviceEndpoint::new(limits, false);
    let mut resets = 0;
    for packet in 0..2_000_u32 {
        let ack = acknowledging(PacketType::Ack, 1, 2);
        device.give(key(packet, 1), ack, &[], &[]);
        device.now_ns += MS;
        resets += device.take().len();
    }
    assert_eq!(resets, 100);
}

/// RFC 4340 §7.2: first numbers differ by connection and increase with time.
#[test]
fn first_numbers_cannot_be_foretold_and_go_on() {
    let first = |host, now_ns| {
        let mut device = DeviceEndpoint::plain();
        device.now_ns = now_ns;
        device.give(key(host, 40_000), request(1), &[], &[]);
        device.take_one().header.sequence
    };
    assert_eq!(first(1, 9 * SECOND) - first(1, 5 * SECOND), 1_000_000);
    assert!(first(1, SECOND).abs_diff(first(2, SECOND)) > 1 << 24);
}

/// A client and a server of two endpoints connect and close; neither endpoint keeps state.
#[test]
fn two_endpoints_connect_and_forget() {
    let mut device = DeviceEndpoint::plain();
    let mut client = Endpoint::new(SipHashKey::new([5, 6]), EndpointLimits::default());
    let there = key(1, 40_000);
    let here = ConnectionKey {
        local: there.remote,
        remote: there.local,
        local_port: there.remote_port,
        remote_port: there.local_port,
        ..there
    };
    let config = ConnectionConfig { service_code: SERVICE, ..config_2() };
    assert!(client.connect(device.now_ns, here, config.clone(), &[]));
    assert!(!client.connect(device.now_ns, here, config, &[]), "the ports are taken");
    let mut buffer = [0; 2_000];
    let mut received = Vec::new();
    for round in 0..2_000 {
        let now_ns = device.now_ns;
        if round == 10 {
            client.with(&here, |connection| connection.send(b"hello", 0)).unwrap().unwrap();
        }
        if round == 20 {
            client.with(&here, |connection| connection.close(now_ns));
        }
        while let Some((_, transmit)) = client.poll_transmit(now_ns, &mut buffer) {
            device.d.handle_datagram(now_ns, there, Ecn::NotCapable, &buffer[..transmit.len]);
        }
        for (_, out) in device.take() {
            client.handle_datagram(now_ns, here, Ecn::NotCapable, &out.octets);
        }
        while client.poll_event().is_some() {}
        received.extend(
            device.events().into_iter().filter(|(_, e)| matches!(e, ConnectionEvent::Received(_))),
        );
        device.now_ns += 200 * MS;
        client.handle_timeout(device.now_ns);
        device.d.handle_timeout(device.now_ns);
    }
    assert_eq!(received, [(there, ConnectionEvent::Received(b"hello".to_vec()))]);
    assert_eq!((client.connections_count(), device.d.connections_count()), (0, 0));
    assert_eq!((client.poll_timeout(), device.d.poll_timeout()), (None, None));
}
