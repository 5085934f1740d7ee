//! Frame sockets (`packet(7)`, `SOCK_RAW`) that receive and send every Ethernet frame of one
//! interface, whole, for programs between two links.
//!
//! Work that the kernel leaves to devices is reported, not done: a frame from a veth pair or
//! through a coalescing device may lack its checksum, and may be a train of segments under one
//! header. The socket gets both in the form of virtio (`PACKET_VNET_HDR`, Virtual I/O Device 1.2
//! §5.1.6); a VLAN tag that the kernel took off is put back. This module does not interpret frames.
//! [`XdpSender`] sends by a socket of another kind, AF_XDP.
#![allow(unsafe_code, reason = "socket, bind, getsockname, ioctl")]

mod receive;
mod ring;
mod ring_receive;
mod send;
mod train;
mod xdp;

pub use receive::{FrameReceiver, ReceivedFrame};
pub use ring::{FrameRing, RingSize};
pub use ring_receive::FrameRingReceiver;
pub use send::FrameSender;
pub use train::{PendingChecksum, Train, TrainKind};
pub use xdp::{XDP_FRAME_BYTES_MAX, XdpSender, transmit_queues};

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::interface::Interface;
use crate::socket_option::SocketOptions;
use crate::{NetError, check, filter};

/// Length of the longest frame in bytes: an IP packet of 65,535 bytes, an Ethernet header and two
/// VLAN tags.
pub const FRAME_BYTES_MAX: usize = 65_535 + 14 + 2 * 4;
/// Greatest number of frames per batch of a frame socket.
const SLOTS: usize = 64;
/// Size of a frame socket's buffer in bytes of kernel memory, for frames that wait in the socket.
const BUFFER_BYTES: usize = 32 << 20;

/// Open packet socket of whole Ethernet frames.
#[derive(Debug)]
struct FrameSocket {
    fd: OwnedFd,
}

impl FrameSocket {
    /// Opens a frame socket that is bound to no interface and receives nothing; errors name
    /// `subject`.
    fn open(subject: &str) -> Result<Self, NetError> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
            .map_err(NetError::on("open", subject))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Binds the frame socket to an interface; with protocol 0 the socket only sends.
    fn bind(&self, interface: u32, protocol: libc::c_int) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = interface.cast_signed();
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `size` octets and outlives the call.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), size) })
            .map(drop)
    }

    /// Makes the interface receive frames for all stations (promiscuous mode), as long as the
    /// socket is open.
    fn be_promiscuous(&self, interface: u32) -> io::Result<()> {
        let wanted = libc::packet_mreq {
            mr_ifindex: interface.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set_struct(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &wanted)
    }

    fn filter(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        filter::attach(self, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
    }

    /// Returns the number of frames that the kernel dropped since the last call because the socket
    /// was full.
    fn take_drops(&self) -> io::Result<u64> {
        // `struct tpacket_stats`: packets, drops.
        let [_, drops] = self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(drops.into())
    }

    /// Returns true if the socket's interface was removed: the kernel has then unbound the socket.
    fn is_unbound(&self) -> io::Result<bool> {
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let (fd, pointer) = (self.fd.as_raw_fd(), (&raw mut address).cast());
        // SAFETY: `pointer` is writable for `size` octets and both outlive the call.
        check(unsafe { libc::getsockname(fd, pointer, &raw mut size) })?;
        Ok(address.sll_ifindex <= 0)
    }

    /// Returns the length in bytes of the largest IP packet of the interface called `name` (MTU).
    fn mtu_bytes(&self, name: &str) -> io::Result<usize> {
        let mut request = request(name);
        // SAFETY: `request` is an ifreq whose name ends in a zero; it outlives the call.
        check(unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request)
        })?;
        // SAFETY: the kernel has filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu }.max(0) as usize)
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Guard that keeps an interface promiscuous, without getting any of its frames, until it is
/// dropped.
#[derive(Debug)]
pub struct Promiscuity {
    _socket: FrameSocket,
}

impl Promiscuity {
    /// Makes `interface` promiscuous, so that it receives frames for all stations, until the guard
    /// is dropped.
    ///
    /// # Errors
    ///
    /// The step that failed; `EPERM` without the capability `CAP_NET_RAW`.
    pub fn enable(interface: &Interface) -> Result<Self, NetError> {
        let subject = &subject(interface);
        let socket = FrameSocket::open(subject)?;
        socket
            .be_promiscuous(interface.index)
            .map_err(NetError::on("see frames for all stations by", subject))?;
        Ok(Self { _socket: socket })
    }
}

/// Returns a request for `ioctl(2)` about the interface called `name`.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: an all-zero ifreq is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let targets = request.ifr_name.split_last_mut().map(|(_, targets)| targets);
    for (target, octet) in targets.into_iter().flatten().zip(name.bytes()) {
        *target = octet as libc::c_char;
    }
    request
}

fn subject(interface: &Interface) -> String {
    format!("a frame socket on {}", interface.name)
}
