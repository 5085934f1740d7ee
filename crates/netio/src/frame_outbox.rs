//! UDP datagrams in frames of an interface by AF_XDP, past the kernel's UDP. A datagram sent this
//! way costs a third of one through a socket, and a batch is complete before the other end of a
//! veth pair has received its first frame, so that it gets one interrupt between processors instead
//! of one for each frame.
//!
//! Budget: one `sendto` per batch and about 60 ns per frame of our own; nothing is allocated after
//! construction. The kernel's routing, its filters and its fragmentation do not apply.

use std::io;
use std::net::{IpAddr, SocketAddr};

use base::ByteWriter;
use packet_wire::ethernet::{self, MacAddress};
use packet_wire::{ipv4, ipv6, protocol, udp};

use crate::frame::{RingSize, XdpSender};
use crate::outbox::{SEND_SLOTS, STALL_CHECK_NS, STALL_LIMIT_NS};
use crate::send::SendCounts;
use crate::{Clock, NetError, interface, neighbor, poll, route};

/// Size of the memory for the frames of an AF_XDP socket: 4,096 slots of 2,048 bytes.
const RING: RingSize = RingSize { bytes: 8 << 20, slot_bytes: 2_048 };

/// Least number of checks of a full ring before the ring counts as stalled, even when the checks
/// are far apart: a thread that did not run for a second has not waited for the interface.
const STALL_LOOKS_MIN: u32 = 100;

/// Route of frames through an interface to a server.
#[derive(Clone, Debug)]
pub struct FrameRoute {
    /// Name of the interface through which the frames leave.
    pub interface: String,
    /// Number of the transmit queue of the interface, which no other AF_XDP socket may use.
    pub queue: u32,
    /// Hardware address of the server, or of the router on the way to the server.
    pub destination_mac: [u8; 6],
    /// Own IP address that messages without a source of their own are sent from.
    pub source: IpAddr,
}

impl FrameRoute {
    /// Returns the route through the first queue of `interface` to `server`, by the hardware
    /// address `mac` or the one that the kernel knows, from `source` or the address that the kernel
    /// would choose; `None` if no hardware address is known ([`neighbor::unknown`] has the text for
    /// that).
    ///
    /// # Errors
    ///
    /// The kernel's ARP table cannot be read, or there is no route to the server.
    pub fn to(
        server: SocketAddr,
        interface: &str,
        mac: Option<[u8; 6]>,
        source: Option<IpAddr>,
    ) -> Result<Option<Self>, NetError> {
        let known = match mac {
            Some(mac) => Some(mac),
            None => neighbor::known(server.ip())?,
        };
        let Some(destination_mac) = known else { return Ok(None) };
        let source = match source {
            Some(source) => source,
            None => route::to(server)?.local,
        };
        Ok(Some(Self { interface: interface.to_owned(), queue: 0, destination_mac, source }))
    }
}

/// Batch of frames that wait to be passed to the kernel through AF_XDP.
pub(crate) struct FrameBatch {
    sender: XdpSender,
    ethernet: ethernet::EthernetHeader,
    source: SocketAddr,
    destination: SocketAddr,
    /// Number of frames that were committed since the last flush of the batch.
    queued: usize,
    /// Number of payload bytes of the last frame.
    last_bytes: u64,
    counts: SendCounts,
}

impl FrameBatch {
    /// Creates an empty batch on `route` for messages of up to `message_bytes` to `destination`.
    ///
    /// # Errors
    ///
    /// There is no such interface, it has no hardware address, messages may be too long for it
    /// (`EMSGSIZE`), or the kernel refuses the socket: see [`XdpSender::open`].
    pub(crate) fn open(
        route: &FrameRoute,
        destination: SocketAddr,
        message_bytes: usize,
    ) -> Result<Self, NetError> {
        let name = &route.interface;
        let interface = interface::named(name).map_err(NetError::on("find the interface", name))?;
        let sender = XdpSender::open(&interface, route.queue, RING)?;
        let without = || io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
        let mac = interface.mac.ok_or_else(without);
        let mac = mac.map_err(NetError::on("find the hardware address of", name))?;
        let ether_type =
            if destination.is_ipv4() { ethernet::TYPE_IPV4 } else { ethernet::TYPE_IPV6 };
        let ethernet = ethernet::EthernetHeader {
            destination: MacAddress(route.destination_mac),
            source: MacAddress(mac),
            tags: [None; ethernet::TAGS_MAX],
            ether_type,
        };
        let packet_bytes = headers_bytes(destination) - ethernet::HEADER_LEN + message_bytes;
        if packet_bytes > sender.mtu_bytes().min(RING.slot_bytes - ethernet::HEADER_LEN) {
            let cause = io::Error::from_raw_os_error(libc::EMSGSIZE);
            return Err(NetError::new("send the longest message unbroken by", name, cause));
        }
        let source = SocketAddr::new(route.source, 0);
        let counts = SendCounts::default();
        Ok(Self { sender, ethernet, source, destination, queued: 0, last_bytes: 0, counts })
    }

    pub(crate) const fn counts(&self) -> SendCounts {
        self.counts
    }

    pub(crate) fn leave_from(&mut self, source: SocketAddr) {
        let ip = if source.ip().is_unspecified() { self.source.ip() } else { source.ip() };
        self.source = SocketAddr::new(ip, source.port());
    }

    pub(crate) fn slot(&mut self) -> Option<&mut [u8]> {
        if self.queued == SEND_SLOTS {
            return None;
        }
        let at = headers_bytes(self.destination);
        Some(&mut self.sender.slot()?[at..])
    }

    /// Queues the first `len` bytes in the slot as the payload of a frame, with headers before
    /// them.
    pub(crate) fn commit(&mut self, len: usize, source: Option<IpAddr>) {
        let source =
            SocketAddr::new(source.unwrap_or_else(|| self.source.ip()), self.source.port());
        let at = headers_bytes(self.destination);
        let slot = self.sender.slot().expect("a message was written into a slot");
        let (headers, payload) = slot[..at + len].split_at_mut(at);
        let mut writer = ByteWriter::new(headers);
        self.ethernet.emit(&mut writer);
        let datagram_bytes = udp::HEADER_LEN + len;
        match (source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                ipv4::Header::new(protocol::UDP, from, to).emit(datagram_bytes, &mut writer);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                ipv6::Header::new(protocol::UDP, from, to).emit(datagram_bytes, &mut writer);
            }
            _ => unreachable!("own addresses are of the family of the server's"),
        }
        writer.put(&udp::header_for(source, self.destination, payload));
        self.sender.commit(at + len);
        self.last_bytes = len as u64;
        self.count_queued();
    }

    /// Queues the last committed frame once more, if a slot is free; returns true if it did.
    pub(crate) fn repeat(&mut self) -> bool {
        let is_queued = self.queued > 0 && self.queued < SEND_SLOTS && self.sender.repeat();
        if is_queued {
            self.count_queued();
        }
        is_queued
    }

    const fn count_queued(&mut self) {
        self.queued += 1;
        self.counts.sent_bytes += self.last_bytes;
    }

    /// Passes all waiting frames to the kernel, and waits until their slots are free again.
    pub(crate) fn flush(&mut self, now_ns: u64) -> io::Result<()> {
        if self.queued > 0 {
            self.counts.calls += 1;
            self.sender.flush()?;
            self.counts.sent += self.queued as u64;
            self.queued = 0;
        }
        let mut looks = 0;
        while self.sender.waiting() > 0 || self.sender.free() < SEND_SLOTS {
            self.counts.stalled += 1;
            looks += 1;
            if looks > STALL_LOOKS_MIN && Clock::mono_ns() - now_ns > STALL_LIMIT_NS {
                return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
            }
            poll(&mut [], Some(STALL_CHECK_NS / 20))?;
            self.sender.flush()?;
        }
        Ok(())
    }
}

/// Returns the number of header bytes before a payload to `destination`: Ethernet, IP and UDP.
const fn headers_bytes(destination: SocketAddr) -> usize {
    let ip_bytes = if destination.is_ipv4() { ipv4::HEADER_LEN } else { ipv6::HEADER_LEN };
    ethernet::HEADER_LEN + ip_bytes + udp::HEADER_LEN
}
