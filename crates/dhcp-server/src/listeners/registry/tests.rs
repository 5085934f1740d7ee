//! Delivery of messages to a registry's sockets, over loopback and over a link that the test makes.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::path::Path;
use std::process::Command;

use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use netio::packet::ReceivedPacket;
use netio::{PacketRecvBatch, PacketSendBatch, PollFd, RecvBatch, interface, namespace};
use packet_wire::frame;

use super::*;
use crate::listeners::STANDING_BYTES;
use crate::service::DaemonFamily;

/// Returns the messages that arrive at the first and at the express sockets of an endpoint with two
/// shards.
fn received_by_role(
    address: IpAddr,
    steering: Steering,
    messages: &[Vec<u8>],
) -> [Vec<Vec<u8>>; 2] {
    let endpoint = ListenerEndpoint { kind: ListenerSocketKind::Udp, device: None, address };
    // Another program may take a port that was free.
    let opened = (0..100).find_map(|_| {
        let free = std::net::UdpSocket::bind((address, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let registry = ListenerRegistry::new(ListenerSocketOptions {
            port,
            shards: 2,
            steering,
            coalesce: false,
            receive_buffer_bytes: STANDING_BYTES,
        });
        let pairs = registry.open_one(&endpoint).ok()?;
        Some((port, registry, pairs))
    });
    let (port, registry, pairs) = opened.unwrap();
    assert!(registry.open_one(&endpoint).is_err(), "the port is somebody's");
    let sender = std::net::UdpSocket::bind((address, 0)).unwrap();
    for message in messages {
        sender.send_to(message, (address, port)).unwrap();
    }
    let sockets_with_role = |of: fn(&Pair) -> &ListenerSocket| {
        let udp = |pair| match of(pair) {
            ListenerSocket::Udp(socket) => socket,
            ListenerSocket::Packet(_) => unreachable!("the place is of UDP"),
        };
        pairs.iter().map(udp).collect::<Vec<_>>()
    };
    let sockets_by_role = [
        sockets_with_role(|(socket, _)| socket),
        sockets_with_role(|(_, express)| express.as_ref().unwrap()),
    ];
    let mut received = [Vec::new(), Vec::new()];
    while received[0].len() + received[1].len() < messages.len() {
        let mut fds: Vec<_> =
            sockets_by_role.iter().flatten().map(|&s| PollFd::readable(s)).collect();
        assert!(netio::poll(&mut fds, Some(300_000_000_000)).unwrap() > 0, "some are missing");
        for (sockets, received) in sockets_by_role.iter().zip(&mut received) {
            for &socket in sockets {
                let mut batch = RecvBatch::default();
                batch.receive(socket).unwrap();
                received.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
            }
        }
    }
    received
}

fn v4(client: u8, kind: u8) -> Vec<u8> {
    let mut message = vec![0; 236];
    (message[0], message[33]) = (1, client);
    message.extend([99, 130, 83, 99, 53, 1, kind, 61, 1, client, 255]);
    message
}

fn v6(client: u8, kind: u8) -> Vec<u8> {
    vec![kind, 0, 0, client, 0, 1, 0, 1, client]
}

fn relayed(client: u8, message: &[u8]) -> Vec<u8> {
    let mut relayed = vec![12, 0];
    relayed.extend([0; 31]);
    relayed.push(client);
    relayed.extend([0, 18, 0, 4, 101, 116, 104, 48, 0, 9, 0, message.len() as u8]);
    relayed.extend(message);
    relayed
}

#[test]
fn what_goes_on_with_an_exchange_of_dhcpv4_has_a_socket_of_its_own() {
    let messages: Vec<_> = (0..40).map(|n| v4(n, [1, 3, 7, 8][usize::from(n % 4)])).collect();
    let [first, express] = received_by_role(Ipv4Addr::LOCALHOST.into(), V4::STEERING, &messages);
    assert_eq!((first.len(), express.len()), (10, 30));
    assert!(first.iter().all(|message| message[242] == 1));
}

#[test]
fn what_goes_on_with_an_exchange_of_dhcpv6_has_a_socket_of_its_own() {
    let kinds = [1, 3, 5, 11];
    let messages: Vec<_> = (0..40)
        .map(|n| {
            let once = relayed(n, &v6(n, kinds[usize::from(n % 4)]));
            if n < 20 { once } else { relayed(n, &once) }
        })
        .collect();
    let [first, express] = received_by_role(Ipv6Addr::LOCALHOST.into(), V6::STEERING, &messages);
    assert_eq!((first.len(), express.len()), (10, 30));
    let is_solicit = |message: &Vec<u8>| message[message.len() - 9] == 1;
    assert!(first.iter().all(is_solicit));
}

/// Runs `test` in a network namespace of its own with a link whose near end has `addresses`. Prints
/// a note where namespaces are not permitted.
fn on_a_link(addresses: &[Ipv4Addr], test: impl FnOnce() + Send) {
    let ip = |arguments: &str| {
        let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {output:?}");
    };
    let inside = || {
        if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
            return false;
        }
        ip("link add near0 type veth peer name far0");
        for address in addresses {
            ip(&format!("addr add {address}/24 dev near0"));
        }
        for name in ["near0", "far0"] {
            ip(&format!("link set {name} up"));
        }
        test();
        true
    };
    if !std::thread::scope(|scope| scope.spawn(inside).join().unwrap()) {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}

/// Returns the numbers of the messages that wait in the sockets of `listeners`.
fn waiting(listeners: &ListenerSet) -> Vec<u8> {
    let mut numbers = Vec::new();
    for listener in (0..3).flat_map(|shard| listeners.of_shard(shard)) {
        for socket in [Some(&listener.socket), listener.express.as_ref()].into_iter().flatten() {
            match socket {
                ListenerSocket::Udp(socket) => {
                    let mut batch = RecvBatch::default();
                    batch.receive(socket).unwrap();
                    numbers.extend(batch.iter().map(|datagram| datagram.octets[33]));
                }
                ListenerSocket::Packet(socket) => {
                    let mut batch = PacketRecvBatch::default();
                    batch.receive(socket).unwrap();
                    let number =
                        |packet: ReceivedPacket<'_>| packet.octets[frame::PACKET_HEADROOM + 33];
                    numbers.extend(batch.iter().map(number));
                }
            }
        }
    }
    numbers
}

/// Sends messages of a client on the link to `to` until one of them and one that was sent later
/// have arrived. Returns the number of copies of each message.
fn copies(sender: &PacketSocket, listeners: &ListenerSet, to: SocketAddrV4) -> Vec<usize> {
    let near = interface::named("near0").unwrap().mac.unwrap();
    let far = interface::named("far0").unwrap().index;
    let mut batch = PacketSendBatch::new(1, 1_500);
    let mut copies = Vec::new();
    while copies.iter().filter(|&&count| count > 0).count() < 2 {
        let number = u8::try_from(copies.len()).expect("one of so many messages arrives");
        copies.push(0);
        let (message, slot) = (v4(number, 3), batch.slot().unwrap());
        slot[frame::PACKET_HEADROOM..][..message.len()].copy_from_slice(&message);
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 9, 0, 250), 68);
        let len = frame::seal_packet(slot, message.len(), from, to);
        batch.commit(len, far, near);
        assert_eq!(batch.flush(sender).sent, 1);
        let all_listeners = (0..3).flat_map(|shard| listeners.of_shard(shard));
        let sockets =
            all_listeners.flat_map(|listener| [Some(&listener.socket), listener.express.as_ref()]);
        let mut fds: Vec<_> = sockets.flatten().map(PollFd::readable).collect();
        netio::poll(&mut fds, Some(1_000_000_000)).unwrap();
        for number in waiting(listeners) {
            copies[usize::from(number)] += 1;
        }
    }
    copies
}

#[test]
fn each_message_comes_once_where_the_kernel_has_no_room_for_filters() {
    let addresses: Vec<_> = (1..=120).map(|n| Ipv4Addr::new(10, 9, 0, n)).collect();
    on_a_link(&addresses, || {
        let limit = Path::new("/proc/sys/net/core/optmem_max");
        if !limit.exists() {
            testkit::skip_even_if_required("the kernel has one limit for all namespaces");
            return;
        }
        let device = InterfaceIdentity {
            name: "near0".to_owned(),
            index: interface::named("near0").unwrap().index,
        };
        let endpoint = |kind| ListenerEndpoint {
            kind,
            device: Some(device.clone()),
            address: Ipv4Addr::UNSPECIFIED.into(),
        };
        let endpoints =
            vec![endpoint(ListenerSocketKind::Packet), endpoint(ListenerSocketKind::Udp)];
        let plan = ListenerPlan { endpoints, own: addresses.clone(), ..ListenerPlan::default() };
        let options = PacketOptions {
            interface: Some(interface::named("far0").unwrap().index),
            port: 68,
            payload_offset: CLIENT_OFFSET,
            receive_buffer_bytes: 1 << 16,
            send_buffer_bytes: 1 << 16,
        };
        let sender = PacketSocket::open_group(&options, 1).unwrap().remove(0);
        let mut refused = Vec::new();
        // Each has a port of its own: a program that another test starts has a copy of each socket
        // until it runs.
        for (port, bytes) in (1_000_u16..).zip((1_000..8_000).step_by(250)) {
            fs::write(limit, bytes.to_string()).unwrap();
            let mut registry = ListenerRegistry::new(ListenerSocketOptions {
                port,
                shards: 3,
                steering: V4::STEERING,
                coalesce: false,
                receive_buffer_bytes: STANDING_BYTES,
            });
            let opening = registry.open(&plan);
            if opening.opened.len() < 2 {
                continue;
            }
            refused.push(!opening.problems.is_empty());
            let listeners = registry.listener_set(&plan, &[]);
            for to in [addresses[0], Ipv4Addr::BROADCAST] {
                let copies = copies(&sender, &listeners, SocketAddrV4::new(to, port));
                assert!(copies.iter().all(|&count| count <= 1), "{bytes}, {to}: {copies:?}");
            }
        }
        assert!(refused.contains(&true) && refused.contains(&false), "{refused:?}");
    });
}
