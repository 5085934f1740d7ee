//! Packet sockets (`packet(7)`) for datagrams that UDP sockets cannot get or send: those of stations
//! that have no IP address yet, and those that are answered at the hardware address that they came from.
//!
//! They are of the cooked kind: a packet begins with the IPv4 header, the kernel takes off and puts
//! on what lies in front of it. They are bound to IPv4, so they see packets behind bridges and VLAN
//! devices, on the interface where the machine itself would; frames of a VLAN that the machine is
//! not in count as another station's. What a packet says is left to others (`packet-wire`).
#![allow(unsafe_code, reason = "socket, bind, setsockopt, getsockopt")]

mod receive;
mod send;

pub use receive::{Packet, PacketRecvBatch};
pub use send::PacketSendBatch;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{NetError, check, filter, memory};

/// EtherType of IPv4 as `sockaddr_ll` has it.
const IPV4: u16 = (libc::ETH_P_IP as u16).to_be();
/// `PACKET_FANOUT_CBPF` with `PACKET_FANOUT_FLAG_UNIQUEID`: a program chooses, the kernel numbers.
const FANOUT_BY_PROGRAM: u32 = (6 | 0x2000) << 16;
/// `PACKET_FANOUT_DATA`.
const FANOUT_DATA: libc::c_int = 22;

/// How packet sockets are opened.
#[derive(Clone, Copy, Debug)]
pub struct PacketOptions {
    /// Index of the interface; `None` for all of them, those that come later too.
    pub interface: Option<u32>,
    /// UDP port whose datagrams are taken.
    pub port: u16,
    /// Offset in the payload of the four octets that spread datagrams over several sockets, as for
    /// [`crate::steer::Key::Payload`].
    pub payload_offset: u32,
    /// Receive buffer wanted, in octets of kernel memory.
    pub receive_buffer_bytes: usize,
    /// Send buffer wanted.
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

/// A non-blocking packet socket for IPv4.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Opens `count` sockets that share the broadcasts of one port: each packet reaches one.
    ///
    /// # Errors
    ///
    /// Which step failed on which interface; `EPERM` without the right to it (`CAP_NET_RAW`).
    pub fn open_group(options: &PacketOptions, count: u32) -> Result<Vec<Self>, NetError> {
        let sockets = Self::open_silent_group(options, count)?;
        for socket in &sockets {
            socket
                .filter(&filter::on_link_to(options.port, None))
                .map_err(NetError::on("filter", options.subject()))?;
        }
        Ok(sockets)
    }

    /// Opens `count` sockets that take nothing until [`set_unicast`](crate::filter::set_unicast) says
    /// which unicast datagrams they share: each packet reaches one.
    ///
    /// # Errors
    ///
    /// As of [`PacketSocket::open_group`].
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

    /// A bound socket that gets nothing yet.
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

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: `value` is readable for `size` octets during the call.
        check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), size) })
            .map(drop)
    }

    fn set_buffer(&self, forced: i32, capped: i32, bytes: usize) -> io::Result<()> {
        // The kernel doubles what it is given, to pay for its own bookkeeping.
        let value = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX / 2);
        self.set(libc::SOL_SOCKET, forced, value)
            .or_else(|_| self.set(libc::SOL_SOCKET, capped, value))
    }

    fn get<const N: usize>(&self, level: i32, option: i32) -> io::Result<[u32; N]> {
        let mut value = [0_u32; N];
        let mut size = size_of_val(&value) as libc::socklen_t;
        let (fd, place) = (self.fd.as_raw_fd(), value.as_mut_ptr().cast());
        // SAFETY: `place` is writable for `size` octets and `size` outlives the call.
        check(unsafe { libc::getsockopt(fd, level, option, place, &raw mut size) })?;
        Ok(value)
    }

    /// Number and kind of the socket's fanout group.
    fn group(&self) -> io::Result<libc::c_int> {
        Ok(self.get::<1>(libc::SOL_PACKET, libc::PACKET_FANOUT)?[0].cast_signed())
    }

    /// Changes the receive buffer, in octets of kernel memory. What waits stays, also when it is more.
    ///
    /// # Errors
    ///
    /// What `setsockopt(2)` reports.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        self.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)
    }

    /// Packets that the kernel dropped because the receive buffer was full, since the socket was
    /// opened, modulo 2^32.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn drops(&self) -> io::Result<u32> {
        memory::drops(self)
    }

    /// Octets of kernel memory that wait in the receive buffer now.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn receive_queued_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<9>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[0] as usize)
    }
}

/// Puts `sockets`, two or more, into one group (`PACKET_FANOUT`), in their order.
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

/// Hardware address `mac` behind interface `interface`.
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
