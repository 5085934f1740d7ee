//! Filters of sockets: small classic BPF programs (`SO_ATTACH_FILTER`, `socket(7)`) that decide
//! which datagrams a socket receives. A packet socket and the UDP sockets next to it receive
//! disjoint shares by filters with the same tests, [`Broadcasts`] and [`Unicast`].
//!
//! Budget: about 20 instructions, compiled by the kernel, for each packet that the interface
//! receives (packet socket) or each datagram of the port (UDP socket).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use crate::socket_option::SocketOptions;
use crate::steer::{self, instruction};
use crate::{PacketSocket, UdpSocket};

/// Link type of Ethernet and of similar devices (`ARPHRD_ETHER`).
const ETHERNET: u32 = 1;
/// Bytes of an Ethernet header without VLAN tags.
const ETHERNET_HEADER: u32 = 14;
/// Bytes of a UDP header, in front of a datagram's payload.
const UDP_HEADER: u32 = 8;
/// IPv4 address 255.255.255.255, the limited broadcast.
const EVERYONE: u32 = u32::MAX;
/// Mask of the first four bits of an IPv4 address; the next constant is their value in a multicast
/// address (RFC 1112 §4).
const CLASS_BITS: u32 = 0xf000_0000;
const GROUP_CLASS: u32 = 0xe000_0000;
/// Lowest IPv4 address that belongs to no single station: multicast, reserved addresses,
/// 255.255.255.255.
const LOWEST_GROUP: u32 = 0xe000_0000;
/// Longest datagram that a packet socket accepts, in bytes of UDP header and payload. Packet
/// sockets see fragments; UDP sockets see the reassembled datagram, which does not show that.
/// Longer datagrams, which may come in fragments, stay with UDP sockets (1,280: the least MTU of
/// links that carry IPv6, RFC 8200 §5).
const DIRECT_MAX: u32 = 1_280 - 20;
/// Kinds of packet (`sll_pkttype`, `packet(7)`): for a group of stations, and (next constant) sent
/// by this machine. The numbers of packets for this station and for all stations are lower, and the
/// number of packets for another station is between these two.
const KIND_MULTICAST: u32 = libc::PACKET_MULTICAST as u32;
const KIND_OUTGOING: u32 = libc::PACKET_OUTGOING as u32;

const LOAD_OCTET: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const ACCEPT: libc::sock_filter = instruction(libc::BPF_RET | libc::BPF_K, u32::MAX);
const DROP: libc::sock_filter = instruction(libc::BPF_RET | libc::BPF_K, 0);

/// Choice of the socket that receives a datagram to 255.255.255.255 or to a multicast group, among
/// the sockets that share a port. The kernel gives each of them a copy, regardless of
/// [`steer::spread`] and of the frame. It does this for datagrams to a subnet's broadcast address
/// as well, which a filter cannot recognize: the reader of the socket has to drop those copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadcastShare {
    /// Offset in the payload of the four bytes that choose the socket, as for
    /// [`steer::SteeringKey::Payload`].
    pub payload_offset: u32,
    /// Number of this socket among those that share the port, from 0.
    pub index: u32,
    /// Number of sockets that share the port.
    pub count: u32,
}

/// Unicast datagrams over Ethernet that a packet socket accepts and the UDP sockets next to it
/// drop: datagrams for one of `addresses` whose four bytes at `zero_offset` of the payload are 0.
/// Fragments and datagrams of more than 1,280 bytes stay with the UDP sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unicast<'a> {
    /// Own IPv4 addresses that the datagrams are for; the first [`Unicast::ADDRESSES_MAX`] count.
    pub addresses: &'a [Ipv4Addr],
    /// Offset in the payload of the four bytes that must be 0.
    pub zero_offset: u32,
}

impl Unicast<'_> {
    /// Largest number of addresses in one filter: the kernel bounds the memory of a socket's
    /// options (`net.core.optmem_max`).
    pub const ADDRESSES_MAX: usize = 128;

    /// Returns the least length in bytes of a matching datagram, from the UDP header to the end of
    /// the four bytes that must be 0.
    const fn len_min(&self) -> u32 {
        UDP_HEADER + self.zero_offset + 4
    }

    /// Returns the BPF steps that execute `ours` if the IPv4 address in the accumulator is one of
    /// `addresses`, else `other`.
    fn by_address(&self, ours: libc::sock_filter, other: libc::sock_filter) -> Steps {
        let known = self.addresses.iter().take(Self::ADDRESSES_MAX);
        let is_equal = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0);
        let test =
            |address: &Ipv4Addr| libc::sock_filter { k: address.to_bits(), jf: 1, ..is_equal };
        known.flat_map(|address| [test(address), ours]).chain([other]).collect()
    }
}

/// Broadcasts that a UDP socket accepts, and datagrams that the UDP socket leaves to a packet
/// socket next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broadcasts<'a> {
    /// True if the UDP socket leaves datagrams over Ethernet for 255.255.255.255 to the packet
    /// socket.
    pub leaves_limited_broadcasts: bool,
    /// Unicast datagrams that the UDP socket leaves to the packet socket as well.
    pub unicast_left: Option<Unicast<'a>>,
    /// Share of the other broadcasts that the UDP socket accepts; all of them if `None`.
    pub share: Option<BroadcastShare>,
}

/// Instructions of a BPF program in their order.
type Steps = Vec<libc::sock_filter>;

/// Builder of a BPF program: tests that drop or accept a packet, in order, and acceptance at the
/// end.
#[derive(Default)]
struct FilterBuilder(Steps);

/// Jump offset for which [`FilterBuilder::finish`] puts the distance to the end that drops the
/// packet.
const TO_DROP: u8 = u8::MAX;
const TO_ACCEPT: u8 = u8::MAX - 1;
/// Unconditional jump whose offset [`FilterBuilder::finish_with`] replaces by the distance to the
/// steps after the two ends.
const GO_ON: libc::sock_filter = instruction(libc::BPF_JMP | libc::BPF_JA, u32::MAX);

impl FilterBuilder {
    fn then(mut self, code: u32, k: u32) -> Self {
        self.0.push(instruction(code, k));
        self
    }

    /// Appends a load of a value that the kernel keeps next to the packet (ancillary data).
    fn load_ancillary(self, value: libc::c_int) -> Self {
        self.then(LOAD_WORD, (libc::SKF_AD_OFF + value).cast_unsigned())
    }

    fn jump(mut self, test: u32, k: u32, jt: u8, jf: u8) -> Self {
        let code = libc::BPF_JMP | test | libc::BPF_K;
        self.0.push(libc::sock_filter { jt, jf, ..instruction(code, k) });
        self
    }

    /// Appends a test that drops the packet unless the accumulator is `k`.
    fn require(self, k: u32) -> Self {
        self.jump(libc::BPF_JEQ, k, 0, TO_DROP)
    }

    /// Appends a jump to the steps that [`FilterBuilder::finish_with`] puts after the two ends.
    fn go_on(mut self) -> Self {
        self.0.push(GO_ON);
        self
    }

    /// Returns the program with its two ends (accept, drop) and `rest`, to which
    /// [`FilterBuilder::go_on`] jumps.
    fn finish_with(mut self, rest: Steps) -> Steps {
        let rest_at = self.0.len() + 2;
        let steps = self.0.iter_mut().enumerate();
        for (at, step) in steps.filter(|(_, step)| (step.code, step.k) == (GO_ON.code, GO_ON.k)) {
            step.k = (rest_at - at - 1) as u32;
        }
        let mut program = self.finish();
        program.extend(rest);
        program
    }

    /// Returns the program with its two ends (accept, drop).
    fn finish(mut self) -> Steps {
        let accept_at = self.0.len();
        for (at, step) in self.0.iter_mut().enumerate() {
            let ahead = (accept_at - at - 1) as u8;
            for jump in [&mut step.jt, &mut step.jf] {
                *jump = match *jump {
                    TO_ACCEPT => ahead,
                    TO_DROP => ahead + 1,
                    near => near,
                };
            }
        }
        self.0.extend([ACCEPT, DROP]);
        self.0
    }
}

/// Returns the filter of a packet socket whose packets begin with the IPv4 header. It accepts
/// complete UDP datagrams over Ethernet for `port`, in any frame: without `unicast` those for
/// 255.255.255.255, else those of `unicast`, and all from 0.0.0.0, since UDP sockets do not get
/// these. Frames for other stations and other VLANs are dropped.
pub(crate) fn on_link_to(port: u16, unicast: Option<Unicast<'_>>) -> Steps {
    let destination = 16;
    let program = FilterBuilder::default()
        .load_ancillary(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JGT, KIND_MULTICAST, TO_DROP, 0)
        .load_ancillary(libc::SKF_AD_HATYPE)
        .require(ETHERNET)
        .then(LOAD_OCTET, 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 2)
        .require(port.into());
    let Some(unicast) = unicast else {
        return program.then(LOAD_WORD, destination).require(EVERYONE).finish();
    };
    program
        .then(LOAD_WORD, 12)
        .jump(libc::BPF_JEQ, 0, 5, 0)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 4)
        .jump(libc::BPF_JGE, unicast.len_min(), 0, TO_DROP)
        .jump(libc::BPF_JGT, DIRECT_MAX, TO_DROP, 0)
        .then(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, UDP_HEADER + unicast.zero_offset)
        .require(0)
        .then(LOAD_WORD, destination)
        .go_on()
        .finish_with(unicast.by_address(ACCEPT, DROP))
}

/// Returns the filter of a packet socket of whole frames that accepts incoming datagrams for UDP
/// port `port` over IPv4, for any station and address, and with `takes_arp` all ARP. Fragments and
/// frames of VLANs are dropped.
pub(crate) fn datagrams_to(port: u16, takes_arp: bool) -> Steps {
    let arp_ends = if takes_arp { TO_ACCEPT } else { TO_DROP };
    FilterBuilder::default()
        .load_ancillary(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .load_ancillary(libc::SKF_AD_VLAN_TAG_PRESENT)
        .require(0)
        .then(LOAD_HALF, ETHERNET_HEADER - 2)
        .jump(libc::BPF_JEQ, libc::ETH_P_ARP as u32, arp_ends, 0)
        .require(libc::ETH_P_IP as u32)
        .then(LOAD_OCTET, ETHERNET_HEADER + 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_HEADER + 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, ETHERNET_HEADER)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, ETHERNET_HEADER + 2)
        .require(port.into())
        .finish()
}

/// Returns the filter of a packet socket that accepts frames which arrive through its interface,
/// and not those that the machine sends.
pub(crate) fn received() -> Steps {
    FilterBuilder::default()
        .load_ancillary(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .finish()
}

/// Returns the filter of a socket of whole frames that accepts incoming, complete UDP datagrams
/// from `port`, over IPv4 or over IPv6 without extension headers.
pub(crate) fn datagrams_from(port: u16) -> Steps {
    const ETHERNET_BYTES: u32 = 14;
    FilterBuilder::default()
        .load_ancillary(libc::SKF_AD_PKTTYPE)
        .jump(libc::BPF_JEQ, KIND_OUTGOING, TO_DROP, 0)
        .then(LOAD_HALF, 12)
        .jump(libc::BPF_JEQ, libc::ETH_P_IPV6 as u32, 0, 4)
        .then(LOAD_OCTET, ETHERNET_BYTES + 6)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_BYTES + 40)
        .jump(libc::BPF_JEQ, port.into(), TO_ACCEPT, TO_DROP)
        .require(libc::ETH_P_IP as u32)
        .then(LOAD_OCTET, ETHERNET_BYTES + 9)
        .require(libc::IPPROTO_UDP as u32)
        .then(LOAD_HALF, ETHERNET_BYTES + 6)
        .jump(libc::BPF_JSET, 0x3fff, TO_DROP, 0)
        .then(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, ETHERNET_BYTES)
        .then(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, ETHERNET_BYTES)
        .require(port.into())
        .finish()
}

/// Returns the filter of a socket that is to receive nothing yet; it drops every packet.
pub(crate) fn nothing() -> Steps {
    vec![DROP]
}

/// Returns the program for a group of packet sockets that share an interface. It chooses the socket
/// of a packet by the four bytes at `payload_offset` after IPv4 and UDP header.
pub(crate) fn spread_packets(payload_offset: u32, sockets: u32) -> Steps {
    let mut program = vec![
        instruction(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0),
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, UDP_HEADER + payload_offset),
    ];
    program.extend(steer::choose(sockets));
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    program
}

fn udp_program(broadcasts: Broadcasts<'_>) -> Steps {
    let mut program = FilterBuilder::default();
    let destination = (libc::SKF_NET_OFF + 16).cast_unsigned();
    if let Some(unicast) = broadcasts.unicast_left {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JGE, LOWEST_GROUP, 9, 0)
            .load_ancillary(libc::SKF_AD_HATYPE)
            .jump(libc::BPF_JEQ, ETHERNET, 0, TO_ACCEPT)
            .then(LOAD_HALF, 4)
            .jump(libc::BPF_JGE, unicast.len_min(), 0, TO_ACCEPT)
            .jump(libc::BPF_JGT, DIRECT_MAX, TO_ACCEPT, 0)
            .then(LOAD_WORD, UDP_HEADER + unicast.zero_offset)
            .jump(libc::BPF_JEQ, 0, 0, TO_ACCEPT)
            .then(LOAD_WORD, destination)
            .go_on();
    }
    if broadcasts.leaves_limited_broadcasts {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JEQ, EVERYONE, 0, 2)
            .load_ancillary(libc::SKF_AD_HATYPE)
            .jump(libc::BPF_JEQ, ETHERNET, TO_DROP, 0);
    }
    if let Some(share) = broadcasts.share {
        program = program
            .then(LOAD_WORD, destination)
            .jump(libc::BPF_JEQ, EVERYONE, 2, 0)
            .then(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, CLASS_BITS)
            .jump(libc::BPF_JEQ, GROUP_CLASS, 0, TO_ACCEPT)
            .then(LOAD_WORD, UDP_HEADER + share.payload_offset);
        program.0.extend(steer::choose(share.count));
        program = program.require(share.index);
    }
    match broadcasts.unicast_left {
        Some(unicast) => program.finish_with(unicast.by_address(DROP, ACCEPT)),
        None => program.finish(),
    }
}

/// Sets the unicast datagrams for `port` that the packet socket `socket` accepts from now on; it
/// accepts no broadcasts.
///
/// # Errors
///
/// The error of `setsockopt(2)`; the socket then accepts nothing.
pub fn set_unicast(socket: &PacketSocket, port: u16, unicast: Unicast<'_>) -> io::Result<()> {
    // The socket is never without a filter: it would get everything that the interface receives.
    replace(socket, &on_link_to(port, Some(unicast)))
        .inspect_err(|_| drop(replace(socket, &nothing())))
}

/// Sets the broadcasts that the UDP socket `socket` accepts from now on, and the unicast datagrams
/// that it drops.
///
/// # Errors
///
/// The error of `setsockopt(2)`. ENOMEM if the filter alone has more than `net.core.optmem_max`
/// bytes; the socket then has no filter and accepts everything.
pub fn set_broadcasts(socket: &UdpSocket, broadcasts: Broadcasts<'_>) -> io::Result<()> {
    replace(socket, &udp_program(broadcasts))
}

/// Makes `program` the filter of `socket`, instead of an earlier one. The kernel counts the memory
/// of both until the earlier one is gone, so if it has no room for two, the socket has no filter
/// for a moment.
fn replace(socket: &impl AsFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let attach = || attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program);
    attach().or_else(|error| {
        if error.raw_os_error() != Some(libc::ENOMEM) {
            return Err(error);
        }
        detach(socket);
        attach()
    })
}

/// Removes the filter of `socket`, if it has one.
fn detach(socket: &impl AsFd) {
    socket.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0).ok();
}

/// Makes `socket` drop all datagrams that arrive from now on, so that it only occupies its port.
///
/// # Errors
///
/// The error of `setsockopt(2)`.
pub fn take_nothing(socket: &UdpSocket) -> io::Result<()> {
    attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &nothing())
}

/// Attaches the BPF program `program` to the socket by the socket option `option`.
pub(crate) fn attach(
    socket: &impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    program: &[libc::sock_filter],
) -> io::Result<()> {
    let attached =
        libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // The kernel copies and checks the instructions, which outlive the call, and does not write
    // through the pointer.
    socket.set_struct(level, option, &attached)
}
