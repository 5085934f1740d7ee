//! Tests of packet sockets and filters over a veth pair in a network namespace of their own.
#![allow(unsafe_code, reason = "a frame with a VLAN tag needs a raw socket")]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use netio::filter::{BroadcastShare, Broadcasts, Unicast, set_broadcasts, set_unicast};
use netio::steer::SteeringKey;
use netio::{
    InterfaceWatch, PacketOptions, PacketRecvBatch, PacketSendBatch, PacketSocket, PollFd,
    RecvBatch, UdpOptions, UdpSocket, interface, namespace, poll, steer,
};
use packet_wire::{ethernet, frame};

const PORT: u16 = 67;
const OFFSET: u32 = 4;
/// Timeout that no test reaches on any machine.
const LONG_NS: u64 = 300_000_000_000;
const EVERYONE: [u8; 6] = [0xff; 6];
const NEAR: &str = "near0";
const FAR: &str = "far0";
/// Address of the near end of the veth pair.
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Address of a station behind the far end of the veth pair.
const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 5);

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Waits until the kernel has noticed that the interfaces are up; until then it drops frames sent
/// there.
fn wait_until_up(names: &[&str]) {
    while names.iter().any(|name| !interface::named(name).unwrap().is_up) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `test` in a new namespace with a veth pair. Prints a note where that is not permitted.
fn on_a_link(test: impl FnOnce() + Send) {
    let is_allowed = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
                return false;
            }
            ip(&format!("link add {NEAR} type veth peer name {FAR}"));
            ip(&format!("addr add {OURS}/24 dev {NEAR}"));
            for name in [NEAR, FAR] {
                ip(&format!("link set {name} up"));
            }
            wait_until_up(&[NEAR, FAR]);
            test();
            true
        });
        inside.join().unwrap()
    });
    if !is_allowed {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}

fn options(name: &str) -> PacketOptions {
    PacketOptions {
        interface: Some(interface::named(name).unwrap().index),
        port: PORT,
        payload_offset: OFFSET,
        receive_buffer_bytes: 1 << 20,
        send_buffer_bytes: 1 << 20,
    }
}

fn packet_sockets(name: &str, count: u32) -> Vec<PacketSocket> {
    PacketSocket::open_group(&options(name), count).unwrap()
}

/// Opens a packet socket at the near end of the veth pair, with the filter `unicast` for unicast
/// datagrams.
fn packet_socket_for(unicast: Unicast<'_>) -> PacketSocket {
    let socket = PacketSocket::open_silent_group(&options(NEAR), 1).unwrap().remove(0);
    set_unicast(&socket, PORT, unicast).unwrap();
    socket
}

fn udp_sockets(count: u32, are_left: bool) -> Vec<UdpSocket> {
    let mut options = UdpOptions::at((Ipv4Addr::UNSPECIFIED, PORT));
    options.device = Some(NEAR.to_owned());
    options.reuse_port = count > 1;
    let sockets: Vec<_> = (0..count).map(|_| UdpSocket::open(&options).unwrap()).collect();
    if count > 1 {
        steer::spread(&sockets[0], SteeringKey::Payload(OFFSET), count, None).unwrap();
    }
    for (index, socket) in (0..).zip(&sockets) {
        let share = BroadcastShare { payload_offset: OFFSET, index, count };
        let share = (count > 1).then_some(share);
        set_broadcasts(
            socket,
            Broadcasts { leaves_limited_broadcasts: are_left, unicast_left: None, share },
        )
        .unwrap();
    }
    sockets
}

/// Sender of frames out of the far end of the veth pair.
struct FarEndSender {
    socket: PacketSocket,
    batch: PacketSendBatch,
}

impl FarEndSender {
    fn new() -> Self {
        let socket = packet_sockets(FAR, 1).remove(0);
        Self { socket, batch: PacketSendBatch::new(4, 1_500) }
    }

    /// Sends one datagram with `payload`, in a frame for `mac` through interface `through`.
    fn send_through(&mut self, through: &str, mac: [u8; 6], to: SocketAddrV4, payload: &[u8]) {
        self.send_packet(through, mac, &sealed(THEIRS, to, payload));
    }

    fn send_packet(&mut self, through: &str, mac: [u8; 6], packet: &[u8]) {
        let interface = interface::named(through).unwrap().index;
        // The queue of received packets belongs to the processor, so other namespaces can fill it;
        // the kernel counts a packet for which it is full as dropped before the call returns.
        loop {
            let dropped = tx_dropped(through);
            self.batch.slot().unwrap()[..packet.len()].copy_from_slice(packet);
            self.batch.commit(packet.len(), interface, mac);
            let sent = self.batch.flush(&self.socket);
            assert_eq!((sent.sent, sent.refused, sent.left), (1, 0, 0));
            if tx_dropped(through) == dropped {
                return;
            }
        }
    }

    fn send(&mut self, mac: [u8; 6], to: (Ipv4Addr, u16), payload: &[u8]) {
        self.send_through(FAR, mac, SocketAddrV4::new(to.0, to.1), payload);
    }
}

/// Returns the number of packets that an interface of this thread's namespace dropped instead of
/// sending them (proc_pid_net(5): the fourth of the eight counters after those of received
/// packets).
pub(super) fn tx_dropped(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let counters =
        table.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    counters.unwrap().split_whitespace().nth(11).unwrap().parse().unwrap()
}

/// Returns an IPv4 packet with `payload` from port 68 of `from`.
fn sealed(from: Ipv4Addr, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; frame::PACKET_HEADROOM + payload.len()];
    packet[frame::PACKET_HEADROOM..].copy_from_slice(payload);
    frame::seal_packet(&mut packet, payload.len(), SocketAddrV4::new(from, 68), to);
    packet
}

/// Splits the IPv4 packet `packet` into two fragments (RFC 791 §3.2).
fn fragments(packet: &[u8]) -> [Vec<u8>; 2] {
    let (header, data) = packet.split_at(20);
    let at = data.len() / 16 * 8;
    let fragment = |field: u16, data: &[u8]| {
        let mut octets = [header, data].concat();
        let len = octets.len() as u16;
        octets[2..4].copy_from_slice(&len.to_be_bytes());
        octets[4..6].copy_from_slice(&[0x17, 0x29]);
        octets[6..8].copy_from_slice(&field.to_be_bytes());
        octets[10..12].fill(0);
        let words = octets[..20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum::<u32>();
        let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        octets[10..12].copy_from_slice(&checksum.to_be_bytes());
        octets
    };
    [fragment(0x2000, &data[..at]), fragment((at / 8) as u16, &data[at..])]
}

/// Sends a broadcast with a VLAN tag out of the far end of the veth pair, as a whole frame. VLAN 0
/// is a priority tag: the frame belongs to no VLAN (IEEE 802.1Q).
fn send_tagged(vlan: u16, payload: &[u8]) {
    let mut octets = [0; 200];
    let header = ethernet::EthernetHeader {
        destination: ethernet::MacAddress::BROADCAST,
        source: ethernet::MacAddress([2, 8, 8, 8, 8, 8]),
        tags: [Some(ethernet::Tag { tag_type: ethernet::TYPE_VLAN, control: vlan }), None],
        ether_type: ethernet::TYPE_IPV4,
    };
    header.emit(&mut base::ByteWriter::new(&mut octets));
    let packet = &mut octets[header.len()..];
    packet[frame::PACKET_HEADROOM..][..payload.len()].copy_from_slice(payload);
    let source = SocketAddrV4::new(THEIRS, 68);
    let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT);
    let len = header.len() + frame::seal_packet(packet, payload.len(), source, everyone);
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
    assert!(fd >= 0);
    // SAFETY: the descriptor was just opened; an all-zero sockaddr_ll is valid.
    let (_owned, mut to) =
        unsafe { (OwnedFd::from_raw_fd(fd), std::mem::zeroed::<libc::sockaddr_ll>()) };
    to.sll_family = libc::AF_PACKET as u16;
    to.sll_ifindex = interface::named(FAR).unwrap().index.cast_signed();
    let (from, size) = (octets.as_ptr().cast(), size_of_val(&to) as libc::socklen_t);
    // SAFETY: `from` leads to `len` octets, `to` is an address of `size` octets.
    let sent = unsafe { libc::sendto(fd, from, len, 0, (&raw const to).cast(), size) };
    assert_eq!(sent, len as isize);
}

/// Returns the payloads that wait in a packet socket. A veth pair delivers before the sender's call
/// returns, but perhaps on another processor, so the function waits for `expected` of them.
fn packets(socket: &PacketSocket, expected: usize) -> Vec<Vec<u8>> {
    let (mut batch, mut payloads) = (PacketRecvBatch::default(), Vec::new());
    loop {
        batch.receive(socket).unwrap();
        payloads.extend(batch.iter().map(|packet| {
            let datagram = frame::open_packet(packet.octets).unwrap();
            assert!(packet.is_checksum_settled || datagram.is_checksum_right());
            datagram.payload.to_vec()
        }));
        if payloads.len() >= expected {
            return payloads;
        }
        assert_eq!(poll(&mut [PollFd::readable(socket)], Some(LONG_NS)).unwrap(), 1);
    }
}

fn datagrams(socket: &UdpSocket, expected: usize) -> Vec<Vec<u8>> {
    let (mut batch, mut payloads) = (RecvBatch::default(), Vec::new());
    loop {
        batch.receive(socket).unwrap();
        payloads.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
        if payloads.len() >= expected {
            return payloads;
        }
        assert_eq!(poll(&mut [PollFd::readable(socket)], Some(LONG_NS)).unwrap(), 1);
    }
}

/// Returns the datagrams that each of `sockets` gets of `expected` ones that they share.
fn shared(sockets: &[UdpSocket], expected: usize) -> Vec<Vec<Vec<u8>>> {
    let mut payloads = vec![Vec::new(); sockets.len()];
    while payloads.iter().map(Vec::len).sum::<usize>() < expected {
        let mut waiting: Vec<_> = sockets.iter().map(PollFd::readable).collect();
        assert!(poll(&mut waiting, Some(LONG_NS)).unwrap() > 0);
        for (socket, payloads) in sockets.iter().zip(&mut payloads) {
            payloads.extend(datagrams(socket, 0));
        }
    }
    payloads
}

#[test]
fn broadcasts_reach_the_packet_socket_and_all_else_the_udp_socket_each_once() {
    on_a_link(|| {
        let direct = packet_sockets(NEAR, 1).remove(0);
        let routed = udp_sockets(1, true).remove(0);
        let near = interface::named(NEAR).unwrap();
        let mac = near.mac.unwrap();
        let mut sender = FarEndSender::new();
        send_tagged(7, b"another VLAN");
        sender.send([2, 9, 9, 9, 9, 9], (Ipv4Addr::BROADCAST, PORT), b"another station");
        sender.send(EVERYONE, (Ipv4Addr::BROADCAST, PORT + 1), b"another port");
        send_tagged(0, b"urgent");
        sender.send(EVERYONE, (Ipv4Addr::BROADCAST, PORT), b"broadcast");
        sender.send(mac, (Ipv4Addr::BROADCAST, PORT), b"for all in a frame for us");
        sender.send(EVERYONE, (Ipv4Addr::new(10, 9, 0, 255), PORT), b"for the subnet");
        sender.send(mac, (OURS, PORT), b"unicast");
        // The last datagrams have arrived, so all earlier ones have, too.
        let expected = [&b"for the subnet"[..], b"unicast"];
        assert_eq!(datagrams(&routed, 2), expected);
        let expected = [&b"urgent"[..], b"broadcast", b"for all in a frame for us"];
        assert_eq!(packets(&direct, 3), expected);
        assert!(packets(&direct, 0).is_empty() && datagrams(&routed, 0).is_empty());
        // Without packet sockets the UDP socket receives everything.
        set_broadcasts(
            &routed,
            Broadcasts { leaves_limited_broadcasts: false, unicast_left: None, share: None },
        )
        .unwrap();
        sender.send(EVERYONE, (Ipv4Addr::BROADCAST, PORT), b"again");
        assert_eq!(datagrams(&routed, 1), [b"again"]);
    });
}

#[test]
fn a_socket_for_all_interfaces_knows_where_each_packet_came_from() {
    on_a_link(|| {
        let options = PacketOptions { interface: None, ..options(NEAR) };
        let all = PacketSocket::open_group(&options, 1).unwrap().remove(0);
        let mut sender = FarEndSender::new();
        // This interface is created later.
        ip("link add near1 type veth peer name far1");
        ip("link set near1 up");
        ip("link set far1 up");
        wait_until_up(&["near1", "far1"]);
        let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT);
        let mut seen = Vec::new();
        for (through, expected) in [(FAR, NEAR), ("far1", "near1")] {
            sender.send_through(through, EVERYONE, everyone, b"where");
            assert_eq!(poll(&mut [PollFd::readable(&all)], Some(LONG_NS)).unwrap(), 1);
            let mut batch = PacketRecvBatch::default();
            batch.receive(&all).unwrap();
            let from: Vec<u32> = batch.iter().map(|packet| packet.interface).collect();
            assert_eq!(from, [interface::named(expected).unwrap().index]);
            seen.extend(from);
        }
        assert_ne!(seen[0], seen[1]);
    });
}

#[test]
fn shards_get_the_same_clients_through_both_kinds_of_socket() {
    on_a_link(|| {
        let (count, clients) = (3, 120_u32);
        let direct = packet_sockets(NEAR, count);
        let routed = udp_sockets(count, true);
        let mac = interface::named(NEAR).unwrap().mac.unwrap();
        let mut sender = FarEndSender::new();
        for client in 0..clients {
            let mut payload = vec![0; OFFSET as usize];
            payload.extend(client.to_be_bytes());
            sender.send(EVERYONE, (Ipv4Addr::BROADCAST, PORT), &payload);
            sender.send(mac, (OURS, PORT), &payload);
        }
        let mut all = BTreeSet::new();
        for (direct, mut payloads) in direct.iter().zip(shared(&routed, clients as usize)) {
            payloads.sort();
            // Each client whose unicast reached this shard by UDP also sent a broadcast.
            let mut broadcast = packets(direct, payloads.len());
            broadcast.sort();
            assert_eq!(payloads, broadcast);
            assert!(payloads.len() > 20, "{}", payloads.len());
            all.extend(payloads);
        }
        assert_eq!(all.len(), clients as usize);
    });
}

#[test]
fn without_packet_sockets_each_broadcast_reaches_one_shard() {
    on_a_link(|| {
        let sockets = udp_sockets(2, false);
        let mut sender = FarEndSender::new();
        for client in 0..60_u32 {
            let mut payload = vec![0; OFFSET as usize];
            payload.extend(client.to_be_bytes());
            sender.send(EVERYONE, (Ipv4Addr::BROADCAST, PORT), &payload);
        }
        let seen = shared(&sockets, 60);
        assert_eq!(seen[0].len() + seen[1].len(), 60);
        assert!(seen.iter().all(|payloads| payloads.len() >= 10));
        assert!(seen[0].iter().all(|payload| !seen[1].contains(payload)));
    });
}

#[test]
fn the_frame_decides_nothing_but_the_ip_destination_does() {
    // Each run has a link of its own: a program that another test starts has a copy of each socket
    // until it runs, and until then the port has a further socket.
    for are_left in [false, true] {
        on_a_link(|| each_datagram_reaches_one_socket(are_left));
    }
}

fn each_datagram_reaches_one_socket(are_left: bool) {
    let near = interface::named(NEAR).unwrap().mac.unwrap();
    let mut sender = FarEndSender::new();
    let frames = [near, EVERYONE, [1, 0, 0x5e, 0, 0, 1]];
    // The third socket has a number that no broadcast is for, since the broadcasts are shared by
    // two.
    let count = 2;
    let sockets = udp_sockets(count + 1, are_left);
    for (index, socket) in (0..).zip(&sockets) {
        let share = Some(BroadcastShare { payload_offset: OFFSET, index, count });
        set_broadcasts(
            socket,
            Broadcasts { leaves_limited_broadcasts: are_left, unicast_left: None, share },
        )
        .unwrap();
    }
    let direct = are_left.then(|| packet_sockets(NEAR, 1).remove(0));
    let (mut unicast, mut to_all, mut to_group) = (Vec::new(), Vec::new(), Vec::new());
    for client in 0..60_u32 {
        let mac = frames[client as usize % 3];
        let mut payload = vec![0; OFFSET as usize];
        payload.extend(client.to_be_bytes());
        for (to, sent) in [
            (OURS, &mut unicast),
            (Ipv4Addr::BROADCAST, &mut to_all),
            (Ipv4Addr::new(224, 0, 0, 1), &mut to_group),
        ] {
            payload.truncate(OFFSET as usize + 4);
            payload.extend(to.octets());
            sender.send(mac, (to, PORT), &payload);
            sent.push(payload.clone());
        }
    }
    let mut expected = [unicast, to_group].concat();
    if let Some(direct) = &direct {
        assert_eq!(packets(direct, to_all.len()), to_all);
    } else {
        expected.extend(to_all);
    }
    let mut seen = shared(&sockets, expected.len()).concat();
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected, "each once, {are_left}");
}

/// Offset at which messages of relay agents have something other than zeros.
const ZERO_OFFSET: usize = 24;

#[test]
fn unicast_datagrams_reach_one_of_both_kinds_of_socket_by_what_they_hold() {
    on_a_link(|| {
        let second = Ipv4Addr::new(10, 9, 0, 2);
        let unknown = Ipv4Addr::new(10, 9, 0, 3);
        // The filters do not know the third address of the machine.
        ip(&format!("addr add {second}/24 dev {NEAR}"));
        ip(&format!("addr add {unknown}/24 dev {NEAR}"));
        let unicast = Unicast { addresses: &[OURS, second], zero_offset: ZERO_OFFSET as u32 };
        let broadcast = packet_sockets(NEAR, 1).remove(0);
        let direct = packet_socket_for(unicast);
        let routed = udp_sockets(1, true).remove(0);
        let broadcasts = Broadcasts {
            leaves_limited_broadcasts: true,
            unicast_left: Some(unicast),
            share: None,
        };
        set_broadcasts(&routed, broadcasts).unwrap();
        let near = interface::named(NEAR).unwrap().mac.unwrap();
        let mut sender = FarEndSender::new();
        let elsewhere = Ipv4Addr::new(10, 9, 7, 7);
        for mac in [near, EVERYONE, [1, 0, 0x5e, 0, 0, 1]] {
            let (mut to_all, mut by_packet, mut by_udp) = (Vec::new(), Vec::new(), Vec::new());
            for sent in UnicastCase::all([OURS, second], [unknown, elsewhere]) {
                let packet = sealed(sent.from, SocketAddrV4::new(sent.to, PORT), &sent.payload());
                if sent.is_fragmented {
                    for fragment in fragments(&packet) {
                        sender.send_packet(FAR, mac, &fragment);
                    }
                } else {
                    sender.send_packet(FAR, mac, &packet);
                }
                let fits = (28..=1_252).contains(&sent.len) && !sent.is_relayed;
                let is_known = [OURS, second].contains(&sent.to);
                // The kernel has no unicast from the unspecified address for UDP sockets.
                let is_nowhere = sent.from.is_unspecified();
                // Only packet sockets get broadcasts and packets from the unspecified address, and
                // they see no fragments.
                if sent.to.is_broadcast() {
                    to_all.extend((!sent.is_fragmented).then(|| sent.payload()));
                } else if is_known && (fits || is_nowhere) {
                    by_packet.extend((!sent.is_fragmented).then(|| sent.payload()));
                } else if sent.to != elsewhere && !is_nowhere {
                    by_udp.push(sent.payload());
                }
            }
            // The last datagrams have arrived, so all earlier ones have, too.
            sender.send(near, (OURS, PORT), &[1; 40]);
            sender.send(near, (OURS, PORT), &[0; 40]);
            by_udp.push(vec![1; 40]);
            by_packet.push(vec![0; 40]);
            let numbers = |payloads: &[Vec<u8>]| -> Vec<(u8, usize)> {
                payloads.iter().map(|octets| (octets[0], octets.len())).collect()
            };
            assert_eq!(numbers(&datagrams(&routed, by_udp.len())), numbers(&by_udp));
            assert_eq!(numbers(&packets(&direct, by_packet.len())), numbers(&by_packet));
            assert_eq!(numbers(&packets(&broadcast, to_all.len())), numbers(&to_all));
            let are_empty = packets(&direct, 0).is_empty() && packets(&broadcast, 0).is_empty();
            assert!(are_empty && datagrams(&routed, 0).is_empty());
        }
    });
}

/// Datagram that either a packet socket or a UDP socket has to receive, by its address.
struct UnicastCase {
    number: u8,
    from: Ipv4Addr,
    to: Ipv4Addr,
    len: usize,
    is_fragmented: bool,
    is_relayed: bool,
}

impl UnicastCase {
    /// Returns datagrams for addresses that the filters know, for others, and for all stations.
    fn all(known: [Ipv4Addr; 2], others: [Ipv4Addr; 2]) -> Vec<Self> {
        let mut all = Vec::new();
        for from in [THEIRS, Ipv4Addr::UNSPECIFIED] {
            for to in known.into_iter().chain(others).chain([Ipv4Addr::BROADCAST]) {
                let lengths = [(27, false), (28, false), (1_252, false), (1_253, true)];
                for (len, is_fragmented) in lengths {
                    for is_relayed in [false, true] {
                        let number = all.len() as u8;
                        all.push(Self { number, from, to, len, is_fragmented, is_relayed });
                    }
                }
            }
        }
        all
    }

    fn payload(&self) -> Vec<u8> {
        let mut payload = vec![0; self.len];
        payload[0] = self.number;
        payload[ZERO_OFFSET] = u8::from(self.is_relayed);
        payload
    }
}

#[test]
fn as_many_addresses_as_a_filter_has_room_for_are_told_apart() {
    let many = Unicast::ADDRESSES_MAX;
    for at in [0, many - 1, many] {
        on_a_link(|| the_address_at_is_told_apart(at));
    }
}

/// Checks that filters for a thousand addresses tell ours apart, which is at the position `at`
/// among them.
fn the_address_at_is_told_apart(at: usize) {
    let first = Ipv4Addr::new(10, 8, 0, 0).to_bits();
    let mut addresses: Vec<_> = (0..1_000).map(|n| Ipv4Addr::from_bits(first + n)).collect();
    addresses[at] = OURS;
    let unicast = Unicast { addresses: &addresses, zero_offset: ZERO_OFFSET as u32 };
    let direct = packet_socket_for(unicast);
    let routed = udp_sockets(1, true).remove(0);
    let share = Some(BroadcastShare { payload_offset: OFFSET, index: 0, count: 1 });
    let broadcasts =
        Broadcasts { leaves_limited_broadcasts: true, unicast_left: Some(unicast), share };
    // In the second round a program replaces the one of the first.
    for _ in 0..2 {
        set_unicast(&direct, PORT, unicast).unwrap();
        set_broadcasts(&routed, broadcasts).unwrap();
    }
    let mac = interface::named(NEAR).unwrap().mac.unwrap();
    FarEndSender::new().send(mac, (OURS, PORT), &[0; 40]);
    if at < Unicast::ADDRESSES_MAX {
        assert_eq!(packets(&direct, 1).len(), 1);
        assert!(datagrams(&routed, 0).is_empty());
    } else {
        assert_eq!(datagrams(&routed, 1).len(), 1);
        assert!(packets(&direct, 0).is_empty());
    }
}

#[test]
fn a_checksum_left_to_the_device_is_not_held_against_the_sender() {
    on_a_link(|| {
        let direct = packet_sockets(NEAR, 1).remove(0);
        ip(&format!("addr add 10.9.1.1/24 dev {FAR}"));
        let mut options = UdpOptions::at((Ipv4Addr::UNSPECIFIED, 68));
        options.device = Some(FAR.to_owned());
        options.broadcast = true;
        let client = UdpSocket::open(&options).unwrap();
        let mut batch = netio::SendBatch::new(1, 100, false);
        batch.slot().unwrap()[..5].copy_from_slice(b"hello");
        batch.commit(5, SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT), None);
        assert_eq!(batch.flush(&client).sent, 1);
        assert_eq!(poll(&mut [PollFd::readable(&direct)], Some(LONG_NS)).unwrap(), 1);
        let mut received = PacketRecvBatch::default();
        received.receive(&direct).unwrap();
        let packet = received.iter().next().unwrap();
        let datagram = frame::open_packet(packet.octets).unwrap();
        assert_eq!(datagram.payload, b"hello");
        // The sending kernel left the checksum to a device, but there is none.
        assert!(packet.is_checksum_settled && !datagram.is_checksum_right());
    });
}

#[test]
fn what_the_device_does_not_take_is_refused_and_the_rest_goes_on() {
    on_a_link(|| {
        let direct = packet_sockets(NEAR, 1).remove(0);
        let far = interface::named(FAR).unwrap().index;
        let socket = packet_sockets(FAR, 1).remove(0);
        let mut batch = PacketSendBatch::new(3, 2_000);
        let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT);
        for (payload_len, interface) in [(1_900, far), (10, far + 100), (10, far)] {
            let source = SocketAddrV4::new(OURS, 68);
            let len = frame::seal_packet(batch.slot().unwrap(), payload_len, source, everyone);
            batch.commit(len, interface, EVERYONE);
        }
        assert!(batch.is_full() && batch.slot().is_none());
        let sent = batch.flush(&socket);
        assert_eq!((sent.sent, sent.refused, sent.left), (1, 2, 0));
        assert!(batch.is_empty());
        assert_eq!(packets(&direct, 1).len(), 1);
    });
}

#[test]
fn changes_of_interfaces_and_addresses_are_noticed() {
    on_a_link(|| {
        let watch = InterfaceWatch::open().unwrap();
        // The kernel may still be reporting the link itself; after that there is nothing.
        while watch.drain() {}
        for change in [
            format!("addr add 10.9.2.1/24 dev {NEAR}"),
            format!("addr del 10.9.2.1/24 dev {NEAR}"),
            "link add late0 type veth peer name late1".to_owned(),
            "link del late0".to_owned(),
        ] {
            ip(&change);
            let ready = poll(&mut [PollFd::readable(&watch)], Some(LONG_NS)).unwrap();
            assert!(ready == 1 && watch.drain(), "{change}");
        }
        let names = || interface::list().unwrap().into_iter().map(|found| found.name);
        assert!(names().any(|name| name == NEAR) && !names().any(|name| name == "late0"));
    });
}
