//! Packet sockets (`packet(7)`) for datagrams that UDP sockets cannot receive or send: those from
//! clients that have no IP address yet, and replies to the hardware address that a request came
//! from.
//!
//! The sockets are of the cooked kind: a packet begins with the IPv4 header, the kernel removes and
//! adds the headers before it. They are bound to IPv4, so they see packets behind bridges and VLAN
//! devices, on the interface where the machine itself would; frames of a VLAN that the machine is
//! not in count as another station's. `packet-wire` interprets packets.
#![allow(unsafe_code, reason = "socket, bind")]

mod receive;
mod send;

pub use receive::{PacketRecvBatch, ReceivedPacket};
pub use send::PacketSendBatch;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::socket_option::SocketOptions;
use crate::{NetError, check, filter, memory};

/// EtherType of IPv4 in the byte order of `sockaddr_ll`.
const IPV4: u16 = (libc::ETH_P_IP as u16).to_be();
/// Fanout mode `PACKET_FANOUT_CBPF` with `PACKET_FANOUT_FLAG_UNIQUEID`: a program chooses the
/// socket of a packet, the kernel numbers the group.
const FANOUT_BY_PROGRAM: u32 = (6 | 0x2000) << 16;
/// Socket option `PACKET_FANOUT_DATA`: program of a fanout group.
const FANOUT_DATA: libc::c_int = 22;

/// Options of a packet socket: interface, UDP port and buffers.
#[derive(Clone, Copy, Debug)]
pub struct PacketOptions {
    /// Index of the packet socket's interface; `None` for all interfaces, including later ones.
    pub interface: Option<u32>,
    /// UDP port whose datagrams the packet socket receives.
    pub port: u16,
    /// Offset in the UDP payload of the four bytes that spread datagrams over several sockets, as
    /// for [`crate::steer::SteeringKey::Payload`].
    pub payload_offset: u32,
    /// Size of the packet socket's receive buffer, in bytes of kernel memory.
    pub receive_buffer_bytes: usize,
    /// Size of the packet socket's send buffer, in bytes of kernel memory.
    pub send_buffer_bytes: usize,
}

impl PacketOptions {
    fn subject(&self) -> String {
        match self.interface {
            Some(index) => format!("a packet socket on interface {index}"),
            None => "a packet socket on all interfaces".to_owned(),
        }
    }
}

/// Non-blocking packet socket for IPv4.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Opens `count` packet sockets that share the broadcasts (255.255.255.255) to one UDP port:
    /// each packet reaches one of the sockets.
    ///
    /// # Errors
    ///
    /// The step that failed, and the interface; `EPERM` without the capability `CAP_NET_RAW`.
    pub fn open_group(options: &PacketOptions, count: u32) -> Result<Vec<Self>, NetError> {
        let sockets = Self::open_silent_group(options, count)?;
        for socket in &sockets {
            socket
                .filter(&filter::on_link_to(options.port, None))
                .map_err(NetError::on("filter", options.subject()))?;
        }
        Ok(sockets)
    }

    /// Opens `count` packet sockets that receive nothing until
    /// [`set_unicast`](crate::filter::set_unicast) sets the unicast datagrams that they share: each
    /// packet reaches one of the sockets.
    ///
    /// # Errors
    ///
    /// The errors of [`PacketSocket::open_group`].
    pub fn open_silent_group(options: &PacketOptions, count: u32) -> Result<Vec<Self>, NetError> {
        let subject = options.subject();
        let sockets: Vec<Self> =
            (0..count).map(|_| Self::open(options, &subject)).collect::<Result<_, _>>()?;
        if count > 1 {
            join(&sockets, options.payload_offset)
                .map_err(NetError::on("spread packets over", &subject))?;
        }
        Ok(sockets)
    }

    /// Opens a bound packet socket that receives nothing yet; errors name `subject`.
    fn open(options: &PacketOptions, subject: &str) -> Result<Self, NetError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Of no protocol, so that nothing comes in before there is a filter.
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
            .map_err(NetError::on("open", subject))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let socket = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        socket.filter(&filter::nothing()).map_err(NetError::on("filter", subject))?;
        let (forced, capped) = (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF);
        socket
            .set_receive_buffer(options.receive_buffer_bytes)
            .and_then(|()| socket.set_buffer(forced, capped, options.send_buffer_bytes))
            .map_err(NetError::on("set the buffers of", subject))?;
        socket
            .set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)
            .map_err(NetError::on("set PACKET_AUXDATA for", subject))?;
        socket
            .set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
            .map_err(NetError::on("set SO_TIMESTAMPNS for", subject))?;
        let address = link_address(options.interface.unwrap_or(0), [0; 6]);
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `size` octets and outlives the call.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), size) })
            .map_err(NetError::on("bind", subject))?;
        Ok(socket)
    }

    fn filter(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        filter::attach(self, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
    }

    /// Returns number and kind of the packet socket's fanout group, as the kernel encodes them.
    fn group(&self) -> io::Result<libc::c_int> {
        Ok(self.get::<1>(libc::SOL_PACKET, libc::PACKET_FANOUT)?[0].cast_signed())
    }

    /// Sets the size of the packet socket's receive buffer in bytes of kernel memory. Waiting
    /// packets stay, even if they are more.
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        self.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)
    }

    /// Returns the number of packets that the kernel dropped because the packet socket's receive
    /// buffer was full, since the socket was opened, modulo 2^32.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn drops(&self) -> io::Result<u32> {
        memory::drops(self)
    }

    /// Returns the bytes of kernel memory that the packets waiting in the socket use now.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn receive_queued_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<9>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[0] as usize)
    }
}

/// Joins `sockets`, two or more, to one fanout group (`PACKET_FANOUT`), in their order.
fn join(sockets: &[PacketSocket], payload_offset: u32) -> io::Result<()> {
    let (first, others) = sockets.split_first().expect("a group has members");
    first.set(libc::SOL_PACKET, libc::PACKET_FANOUT, FANOUT_BY_PROGRAM.cast_signed())?;
    let group = first.group()?;
    for socket in others {
        socket.set(libc::SOL_PACKET, libc::PACKET_FANOUT, group)?;
    }
    let program = filter::spread_packets(payload_offset, sockets.len() as u32);
    filter::attach(first, libc::SOL_PACKET, FANOUT_DATA, &program)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Converts the hardware address `mac` on the interface with index `interface` to the kernel's
/// layout.
fn link_address(interface: u32, mac: [u8; 6]) -> libc::sockaddr_ll {
    let mut octets = [0; 8];
    octets[..6].copy_from_slice(&mac);
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: IPV4,
        sll_ifindex: interface.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: octets,
    }
}
