//! Limit responder: sends each datagram back with the same content and size, knows no protocol and
//! does nothing else. The kernel's UDP path lets no server with the same system calls be faster.
//!
//! Budget: that of [`crate::responder`] and one copy of the payload.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use crate::responder::{self, Loop, REPLY_BYTES_MAX, ReplyBatch, Respond};
use crate::{InboundDatagram, NetError, UdpOptions, UdpSocket};

const BUFFER_BYTES: usize = 16 << 20;

/// Counts of datagrams from a run of the limit responder, a program that returns every datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Number of datagrams that the limit responder (which returns every datagram) received from
    /// its socket.
    pub received: u64,
    /// Number of the limit responder's replies that the kernel accepted.
    pub sent: u64,
    /// Number of the limit responder's replies that the kernel refused, or that were given up
    /// because the socket stayed full.
    pub refused: u64,
    /// Number of datagrams that the kernel dropped because the socket's receive buffer was full.
    pub socket_drops: u64,
}

/// Options of the limit responder, which returns every datagram: its address, and its use of
/// segmentation.
#[derive(Clone, Copy, Debug)]
pub struct LimitOptions {
    /// Address and port on which the limit responder receives. With an IPv6 group and the scope of
    /// an interface the responder joins the group on that interface and replies from an address of
    /// that interface.
    pub listen: SocketAddr,
    /// True to group replies to one source (`UDP_SEGMENT`) and to receive trains (`UDP_GRO`). Its
    /// rate is then higher: compare it only with servers that do the same.
    pub segmentation: bool,
}

/// Runs the limit responder on the address `listen` ([`LimitOptions::listen`]) until `stop` is set,
/// without segmentation.
///
/// # Errors
///
/// The socket cannot be opened or fails.
pub fn run(listen: SocketAddr, stop: &AtomicBool) -> Result<LimitCounts, NetError> {
    run_with(LimitOptions { listen, segmentation: false }, stop)
}

/// Runs the limit responder with `options` until `stop` is set.
///
/// # Errors
///
/// The socket cannot be opened or fails.
pub fn run_with(options: LimitOptions, stop: &AtomicBool) -> Result<LimitCounts, NetError> {
    let group = match options.listen {
        SocketAddr::V6(listen) if listen.ip().is_multicast() => Some(listen),
        _ => None,
    };
    let bind = match group {
        Some(group) => (Ipv6Addr::UNSPECIFIED, group.port()).into(),
        None => options.listen,
    };
    let socket = UdpSocket::open(&UdpOptions {
        receive_buffer_bytes: Some(BUFFER_BYTES),
        send_buffer_bytes: Some(BUFFER_BYTES),
        coalesce: options.segmentation,
        ..UdpOptions::at(bind)
    })?;
    if let Some(group) = group {
        socket
            .join_group(*group.ip(), group.scope_id())
            .map_err(NetError::on("join", group.to_string()))?;
    }
    answer(&socket, options.segmentation, stop)
        .map_err(NetError::on("answer on", options.listen.to_string()))
}

/// Runs the limit responder on an open socket until `stop` is set.
///
/// # Errors
///
/// The kernel's error for the socket.
pub fn answer(
    socket: &UdpSocket,
    segmentation: bool,
    stop: &AtomicBool,
) -> io::Result<LimitCounts> {
    let how = Loop { segmentation, ..Loop::default() };
    let counts = responder::answer(socket, how, &mut LimitResponder, stop)?;
    Ok(LimitCounts {
        received: counts.received,
        sent: counts.sends.sent,
        refused: counts.sends.refused,
        socket_drops: counts.socket_drops,
    })
}

/// Responder of [`crate::responder`] that sends every datagram back unchanged.
struct LimitResponder;

impl Respond for LimitResponder {
    const REPLIES_MAX: usize = 1;

    fn handle_datagram(
        &mut self,
        _now_ns: u64,
        datagram: &InboundDatagram<'_>,
        replies: &mut ReplyBatch<'_>,
    ) {
        let octets = &datagram.octets[..datagram.octets.len().min(REPLY_BYTES_MAX)];
        replies.push(datagram.source, octets.len(), |room| room.copy_from_slice(octets));
    }
}
