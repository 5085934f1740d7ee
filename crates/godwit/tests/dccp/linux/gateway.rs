//! Gateway between DCCP in UDP (RFC 6773) and DCCP over IP, for the kernel, which does not support
//! the former. It forwards packets unchanged except for the checksum: over IP it covers the
//! addresses, inside UDP it is 0.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use netio::{PollFd, RawOptions, RawSocket, RecvBatch, SendBatch, UdpOptions, UdpSocket, poll};

use super::machine::{GUEST, HOST};

const PROTOCOL: u8 = 33;
const PACKET_BYTES_MAX: usize = 2_048;
/// Buffer size of the sockets. A UDP socket has room for about 275 of the datagrams here unless the
/// program requests more: 400 in a row lost 27 in this gateway while the machine was busy.
const BUFFER_BYTES: usize = 4 << 20;
/// Time after which the gateway notices a request to stop.
const LOOK_NS: u64 = 50_000_000;
/// UDP port of a server at this end, the default.
const SERVER_PORT: u16 = 6_511;

/// Gateway that ends with the value.
pub(super) struct Gateway {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
    /// Address at which it receives DCCP in UDP.
    pub(super) udp_address: SocketAddr,
}

impl Gateway {
    /// Starts the gateway in a namespace, at this end of the machine's interface.
    pub(super) fn start(namespace: &str, is_v6: bool) -> Self {
        let namespace_path = Path::new("/run/netns").join(namespace);
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            netio::namespace::enter(&namespace_path).expect("root enters namespaces");
            let mut translation = GatewayTranslator::open(is_v6);
            tell.send(translation.udp_address).expect("it waits");
            while !seen.load(Ordering::Acquire) {
                translation.turn();
            }
            translation.drops()
        });
        Self { stop, thread: Some(thread), udp_address: told.recv().expect("the gateway opens") }
    }
}

impl Gateway {
    /// Ends the gateway and returns how many packets its sockets have dropped.
    pub(super) fn end(mut self) -> u32 {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it runs until then");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

struct GatewayTranslator {
    udp: UdpSocket,
    udp_address: SocketAddr,
    raw: RawSocket,
    host: IpAddr,
    guest_address: IpAddr,
    receive: RecvBatch,
    send: SendBatch,
    /// Addresses of the clients at this end by their DCCP ports.
    clients: BTreeMap<u16, SocketAddr>,
}

impl GatewayTranslator {
    fn open(is_v6: bool) -> Self {
        let family = usize::from(is_v6);
        let [host, guest_address] =
            [HOST, GUEST].map(|ends| ends[family].parse().expect("an address"));
        let loopback: IpAddr =
            if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let udp = UdpSocket::open(&UdpOptions {
            receive_buffer_bytes: Some(BUFFER_BYTES),
            send_buffer_bytes: Some(BUFFER_BYTES),
            ..UdpOptions::at(SocketAddr::new(loopback, 0))
        });
        let udp = udp.expect("loopback has ports");
        let raw = RawSocket::open(&RawOptions {
            bind: host,
            protocol: PROTOCOL,
            receive_buffer_bytes: BUFFER_BYTES,
            send_buffer_bytes: BUFFER_BYTES,
        });
        Self {
            udp_address: udp.local_address().expect("it is bound"),
            udp,
            raw: raw.expect("root has raw sockets"),
            host,
            guest_address,
            receive: RecvBatch::new(64, PACKET_BYTES_MAX),
            send: SendBatch::new(1, PACKET_BYTES_MAX, false),
            clients: BTreeMap::new(),
        }
    }

    /// Returns the number of packets that did not fit into the receive buffers.
    fn drops(&self) -> u32 {
        let drops = [self.udp.drops(), self.raw.drops()];
        drops.into_iter().map(|count| count.expect("sockets know")).sum()
    }

    fn turn(&mut self) {
        let mut files = [PollFd::readable(&self.udp), PollFd::readable(&self.raw)];
        poll(&mut files, Some(LOOK_NS)).expect("sockets can be waited for");
        // Errors here concern earlier packets, and packets that the kernel refuses are lost, as on
        // the network.
        let _ = self.receive.receive(&self.udp);
        for datagram in self.receive.iter() {
            let mut packet = datagram.octets.to_vec();
            if packet.len() < 12 {
                continue;
            }
            self.clients.insert(u16::from_be_bytes([packet[0], packet[1]]), datagram.source);
            seal(&mut packet, self.host, self.guest_address);
            put(&mut self.send, &packet, SocketAddr::new(self.guest_address, 0));
            self.send.flush(&self.raw);
            self.send.discard();
        }
        let _ = self.receive.receive(&self.raw);
        for datagram in self.receive.iter() {
            let octets = datagram.octets;
            let header_length = match self.guest_address {
                IpAddr::V4(_) => octets.first().map_or(0, |first| usize::from(first & 0xf) * 4),
                IpAddr::V6(_) => 0,
            };
            let mut packet = octets.get(header_length..).unwrap_or_default().to_vec();
            if packet.len() < 12 || datagram.source.ip() != self.guest_address {
                continue;
            }
            packet[6..8].fill(0);
            let port = u16::from_be_bytes([packet[2], packet[3]]);
            let server = SocketAddr::new(self.udp_address.ip(), SERVER_PORT);
            let to = self.clients.get(&port).copied().unwrap_or(server);
            put(&mut self.send, &packet, to);
            self.send.flush(&self.udp);
            self.send.discard();
        }
    }
}

fn put(send: &mut SendBatch, packet: &[u8], to: SocketAddr) {
    let slot = send.slot().expect("it is flushed after each packet");
    slot[..packet.len()].copy_from_slice(packet);
    send.commit(packet.len(), to, None);
}

/// Writes the checksum of a packet over IP (RFC 4340 §9.1).
fn seal(packet: &mut [u8], source: IpAddr, destination: IpAddr) {
    packet[6..8].fill(0);
    let addresses = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            [source.octets(), destination.octets()].concat()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            [source.octets(), destination.octets()].concat()
        }
        _ => unreachable!("both are of one family"),
    };
    let header_length = usize::from(packet[4]) * 4;
    let covered = match usize::from(packet[5] & 0xf) {
        0 => packet.len(),
        coverage => (header_length + (coverage - 1) * 4).min(packet.len()),
    };
    let words = |octets: &[u8]| -> u64 {
        octets.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum()
    };
    let mut sum =
        words(&addresses) + u64::from(PROTOCOL) + packet.len() as u64 + words(&packet[..covered]);
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    packet[6..8].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
