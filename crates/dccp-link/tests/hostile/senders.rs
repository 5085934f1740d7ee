//! Senders of the packets of [`super::forge`]: attackers in the name of others, and clients that
//! make a connection to abuse it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Random;
use dccp::header::{DccpHeader, DccpPacket, Integrity, PacketType, Reset, ResetCode};
use dccp::option::{DccpOption, DccpOptionIterator};
use dccp_link::ConnectionKey;
use netio::{PollFd, RawOptions, RawSocket, SendBatch, SendSource, UdpOptions, poll};

use super::attack_run::AttackSpeed;
use super::forge::{Attack, FORGED, ForgedEndpoints, PACKET_BYTES_MAX, bomb, forge};
use super::relay::UdpRelay;
use crate::common::{PORT, V4, service};

/// Number of packets that an attack hands to the kernel in one system call.
const SLOTS: usize = 64;
/// Number of UDP sockets from which an attack sends Requests.
const SOCKETS: usize = 8;

/// Connection under attack, and the ways to its server.
#[derive(Clone, Copy)]
pub(crate) struct AttackedConnection<'a> {
    /// Key of the connection, as its client sees it.
    pub(crate) key: ConnectionKey,
    /// Address of the server, inside of UDP.
    pub(crate) server: SocketAddr,
    /// Relay of the connection's packets, if they are inside of UDP.
    pub(crate) relay: Option<&'a UdpRelay>,
}

/// Kind of socket from which forged packets leave.
enum ForgerySocket {
    /// Socket of the relay, from which the connection's packets leave, too.
    Relay(Arc<netio::UdpSocket>),
    Udp(netio::UdpSocket),
    Raw(RawSocket),
}

impl ForgerySocket {
    fn raw() -> Self {
        let options = RawOptions {
            bind: V4,
            protocol: dccp::header::checksum::PROTOCOL,
            receive_buffer_bytes: 4_096,
            send_buffer_bytes: 1 << 20,
        };
        Self::Raw(RawSocket::open(&options).unwrap())
    }

    fn flush(&self, batch: &mut SendBatch) {
        loop {
            let left = match self {
                Self::Relay(socket) => batch.flush(&**socket).left,
                Self::Udp(socket) => batch.flush(socket).left,
                Self::Raw(socket) => batch.flush(socket).left,
            };
            if left == 0 {
                return;
            }
            let fd = match self {
                Self::Relay(socket) => PollFd::writable(&**socket),
                Self::Udp(socket) => PollFd::writable(socket),
                Self::Raw(socket) => PollFd::writable(socket),
            };
            poll(&mut [fd], Some(100_000_000)).unwrap();
        }
    }
}

/// Number of system calls with packets that each attack may make so far.
pub(crate) struct Permits(AtomicU64);

impl Permits {
    pub(crate) const fn new(speed: AttackSpeed) -> Self {
        Self(AtomicU64::new(match speed {
            AttackSpeed::WithTheFlow => 0,
            AttackSpeed::LineRate => FREE,
        }))
    }

    /// Adds a permit for one system call of each attack.
    pub(crate) fn give(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a guard that gives attacks permits without a limit when it is dropped, also after a
    /// failed test.
    pub(crate) const fn end(&self) -> impl Drop {
        struct PermitLimitGuard<'a>(&'a AtomicU64);
        impl Drop for PermitLimitGuard<'_> {
            fn drop(&mut self) {
                self.0.store(FREE, Ordering::Relaxed);
            }
        }
        PermitLimitGuard(&self.0)
    }

    /// Returns true if an attack that has sent `sent` packets may send more.
    pub(crate) fn are_unused_by(&self, sent: u64) -> bool {
        let permits = self.0.load(Ordering::Relaxed);
        permits < FREE && sent < permits * SLOTS as u64
    }

    fn wait_for(&self, count: u64) {
        while self.0.load(Ordering::Relaxed) < count {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// Number of permits that stands for no limit.
const FREE: u64 = 1 << 60;

/// Sends `packets` packets of an attack as fast as the kernel accepts them and the permits allow.
pub(crate) fn send_attack(
    attack: Attack,
    victim: AttackedConnection<'_>,
    packets: u64,
    sent: &AtomicU64,
    permits: &Permits,
) {
    let mut random = Random::from_seed(0xa77ac4 + attack as u64);
    let muzzles: Vec<_> = match (victim.relay, attack) {
        (None, _) => vec![ForgerySocket::raw()],
        (Some(_), Attack::Requests) => (0..SOCKETS)
            .map(|_| ForgerySocket::Udp(netio::UdpSocket::open(&UdpOptions::at((V4, 0))).unwrap()))
            .collect(),
        (Some(relay), _) => vec![ForgerySocket::Relay(Arc::clone(&relay.socket))],
    };
    let mut batch = SendBatch::new(SLOTS, PACKET_BYTES_MAX, victim.relay.is_some());
    for round in 0..packets.div_ceil(SLOTS as u64) {
        while let Some(slot) = batch.slot() {
            let (names, to, source) = aim(attack, victim, &mut random);
            let len = forge(attack, &mut random, &names, service(), slot);
            batch.commit(len, to, source);
        }
        permits.wait_for(round + 1);
        muzzles[round as usize % muzzles.len()].flush(&mut batch);
        sent.fetch_add(SLOTS as u64, Ordering::Relaxed);
    }
}

/// Returns the forged ends of an attack's packet, its destination, and the source to send it from,
/// if any.
fn aim(
    attack: Attack,
    victim: AttackedConnection<'_>,
    random: &mut Random,
) -> (ForgedEndpoints, SocketAddr, Option<SendSource>) {
    let AttackedConnection { key, server, relay } = victim;
    if attack == Attack::Requests {
        // Over IP the source is any address of loopback.
        let source = Ipv4Addr::from(0x7f00_0000 | random.next_u32() >> 8 | 2).into();
        let destination_port = if random.chance(1, 16) { PORT + 7 } else { PORT };
        let source_port = random.next_u32() as u16;
        let addresses = relay.is_none().then_some((source, V4));
        let names = ForgedEndpoints { addresses, source_port, destination_port };
        let source = addresses.map(|(address, _)| SendSource { address, interface: 0 });
        let to = if relay.is_some() { server } else { SocketAddr::new(V4, 0) };
        return (names, to, source);
    }
    let is_towards_server = random.chance(1, 2);
    let (source_port, destination_port) = if is_towards_server {
        (key.local_port, key.remote_port)
    } else {
        (key.remote_port, key.local_port)
    };
    let addresses = relay.is_none().then_some((V4, V4));
    let to = match relay {
        None => SocketAddr::new(V4, 0),
        Some(_) if is_towards_server => server,
        Some(relay) => relay.client().expect("the client has sent something"),
    };
    (ForgedEndpoints { addresses, source_port, destination_port }, to, None)
}

/// Time without an answer after which a client that abuses its connection repeats its Request.
const ANSWER: Duration = Duration::from_millis(100);

/// Connects repeatedly inside of UDP to `port`, each time to send packets with valid numbers and
/// random content. Returns the count of connections. A client has `patience` to connect.
pub(crate) fn abuse(server: SocketAddr, port: u16, clients: u32, patience: Duration) -> u32 {
    let mut random = Random::from_seed(0xabe5e);
    let socket = UdpSocket::bind((V4, 0)).unwrap();
    socket.set_read_timeout(Some(ANSWER)).unwrap();
    socket.connect(server).unwrap();
    let mut connected = 0;
    for client in 0..clients {
        let names = ForgedEndpoints {
            addresses: None,
            source_port: 1_024 + client as u16,
            destination_port: port,
        };
        connected += u32::from(abuse_once(&socket, &names, &mut random, patience));
    }
    connected
}

fn abuse_once(
    socket: &UdpSocket,
    names: &ForgedEndpoints,
    random: &mut Random,
    patience: Duration,
) -> bool {
    let mut sequence = random.below(1 << 48);
    let Some((number, cookie)) = request(socket, names, &mut sequence, patience) else {
        return false;
    };
    let mut buffer = [0; PACKET_BYTES_MAX];
    let mut send = |packet_type: PacketType, options: &[u8]| {
        let reset = Reset::plain(ResetCode::Aborted);
        let header = DccpHeader {
            acknowledgement: packet_type.has_acknowledgement().then_some(number),
            service_code: packet_type.has_service_code().then(service),
            reset: (packet_type == PacketType::Reset).then_some(reset),
            ..DccpHeader::new(packet_type, sequence & ((1 << 48) - 1))
        };
        sequence += 1;
        let len = names.write(header, options, FORGED, &mut buffer);
        // A full queue may lose the packet.
        let _ = socket.send(&buffer[..len]);
    };
    send(PacketType::Ack, &cookie);
    // A third of the clients reset the connection at once.
    let bombs = if random.chance(1, 3) { 0 } else { 30 };
    for _ in 0..bombs {
        let packet_type = *random.pick(&PacketType::ALL[2..]).expect("some");
        if packet_type != PacketType::Reset {
            send(packet_type, &bomb(random));
        }
    }
    // Some of the others leave without a Reset.
    if bombs == 0 || random.chance(1, 2) {
        send(PacketType::Reset, &[]);
    }
    true
}

/// Sends Requests, from sequence number `sequence` on, until there is a Response: on a busy machine
/// one may be late, and a Request is lost if a queue or the server is full.
fn request(
    socket: &UdpSocket,
    names: &ForgedEndpoints,
    sequence: &mut u64,
    patience: Duration,
) -> Option<(u64, Vec<u8>)> {
    let mut buffer = [0; PACKET_BYTES_MAX];
    let until = Instant::now() + patience;
    while Instant::now() < until {
        let number = *sequence & ((1 << 48) - 1);
        let header = DccpHeader {
            service_code: Some(service()),
            ..DccpHeader::new(PacketType::Request, number)
        };
        *sequence += 1;
        let len = names.write(header, &[], &[], &mut buffer);
        // A full queue may lose the packet.
        let _ = socket.send(&buffer[..len]);
        let answer = response(socket, names);
        if answer.is_some() {
            return answer;
        }
    }
    None
}

/// Returns the sequence number of the Response, and its Init Cookie as an option to return.
fn response(socket: &UdpSocket, names: &ForgedEndpoints) -> Option<(u64, Vec<u8>)> {
    let mut buffer = [0; 2_000];
    // Answers to earlier clients are skipped.
    for _ in 0..1_000 {
        let len = socket.recv(&mut buffer).ok()?;
        let Ok(packet) = DccpPacket::parse(&buffer[..len], Integrity::Carrier) else { continue };
        let header = packet.header;
        if header.packet_type != PacketType::Response
            || header.destination_port != names.source_port
        {
            continue;
        }
        let cookie = DccpOptionIterator::new(packet.options).find_map(|raw| match raw.option {
            DccpOption::InitCookie(octets) => {
                Some([&[36, octets.len() as u8 + 2], octets].concat())
            }
            _ => None,
        });
        return Some((header.sequence, cookie.unwrap_or_default()));
    }
    None
}

/// Returns an address with its port.
pub(crate) const fn at(address: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(address, port)
}
