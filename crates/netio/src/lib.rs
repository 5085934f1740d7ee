//! Edge to the Linux kernel: batched UDP and raw sockets, TCP connections, sockets of the kernel's
//! DCCP, packet and frame sockets, TUN devices, routes, interfaces, clocks, wake-ups, readiness,
//! signals, processor placement, namespaces, the confinement of a process, its service manager, the
//! standard output and the terminal. All unsafe code of the project is in this crate, each block
//! with its argument; no module knows a protocol above UDP.
//!
//! Budget, per datagram of about 300 bytes on loopback or veth: the kernel's stack traversal costs
//! 1.0 to 1.7 µs to send and 0.4 µs to receive and batching does not change that; this crate adds
//! less than 20 ns and 1/64 of a system call. With segmentation ([`SendBatch`]) and coalescing
//! ([`RecvBatch`]) one traversal carries up to 64 datagrams: about 0.1 µs each.
//!
//! The crate supports Linux 4.18 and later; older kernels lack `UDP_SEGMENT`, newer ones nothing.

pub mod clock;
pub mod confine;
pub mod congestion;
mod control;
pub mod dccp;
mod error;
pub mod file;
pub mod file_limit;
pub mod filter;
pub mod foreign;
pub mod frame;
pub mod frame_outbox;
pub mod interface;
pub mod limit;
mod memory;
mod name;
pub mod namespace;
pub mod neighbor;
pub mod outbox;
pub mod packet;
pub mod path_error;
pub mod prefetch;
pub mod process;
pub mod raw;
pub mod ready;
pub mod ready_list;
pub mod receive;
pub mod resolve;
pub mod responder;
pub mod route;
pub mod scoped;
pub mod screen;
pub mod script_runner;
pub mod send;
pub mod service_manager;
pub mod signal;
pub mod silence;
mod slab;
mod slots;
mod socket_option;
pub mod stderr;
pub mod stdout;
pub mod steer;
pub mod tcp;
pub mod thread;
pub mod tun;
pub mod udp;
pub mod waker;
pub mod watch;

pub use clock::Clock;
pub use dccp::{DccpOptions, DccpSocket};
pub use error::NetError;
pub use frame::{
    FrameReceiver, FrameRing, FrameRingReceiver, FrameSender, Promiscuity, ReceivedFrame, RingSize,
    XdpSender,
};
pub use frame_outbox::FrameRoute;
pub use outbox::{MessageOutbox, MessageRoute};
pub use packet::{PacketOptions, PacketRecvBatch, PacketSendBatch, PacketSocket};
pub use prefetch::prefetch;
pub use raw::{RawOptions, RawSocket};
pub use ready::{PollFd, poll};
pub use ready_list::ReadyList;
pub use receive::{InboundDatagram, RecvBatch};
pub use scoped::{ScopedAddress, own_endpoint};
pub use screen::{Screen, ScreenSize};
pub use send::{FlushResult, SendBatch, SendSource};
pub use service_manager::ServiceManager;
pub use tun::{TunReceiver, TunSender};
pub use udp::{DatagramSocket, UdpOptions, UdpSocket};
pub use waker::Waker;
pub use watch::InterfaceWatch;

/// Converts the -1 that a system call returned into the error that it left in `errno`; returns
/// other results.
pub(crate) fn check(result: libc::c_int) -> std::io::Result<libc::c_int> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}
