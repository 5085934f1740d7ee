//! Offloaded work that kernels leave to devices: cutting a train (TCP segments or UDP datagrams
//! under one header) into packets, and filling in a checksum. A link that handled trains as one
//! packet would lose, delay and count forty packets as one.
//!
//! The pieces are those that the kernel's own segmentation makes: headers repeated, sequence
//! numbers, lengths and IPv4's identification continued, FIN and PSH on the last and CWR on the
//! first segment only (RFC 9293 §3.1, RFC 3168 §6.1.2, RFC 791, 768). Budget: one copy and one
//! checksum per packet that needs it, nothing allocated.

use std::net::{Ipv4Addr, Ipv6Addr};

use netio::frame::{PendingChecksum, ReceivedFrame, Train, TrainKind};
use packet_wire::checksum::{ChecksumAccumulator, checksum, crc32c};
use packet_wire::ethernet::{TYPE_IPV4, TYPE_IPV6};
use packet_wire::{ipv4, ipv6, protocol, udp};

use crate::ecn;

const TCP: u8 = 6;
const TCP_HEADER_LEN: usize = 20;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;
/// Protocol number of SCTP (RFC 9260), which has another kind of checksum.
const SCTP: u8 = 132;
const SCTP_CHECKSUM_AT: usize = 8;

/// Error: the offload header of a frame contradicts the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameDescriptionError;

/// Passes the packets of a frame to `each`, with their checksums and in order; a train (several
/// segments under one header) is cut into its segments. `scratch` has room for the longest frame.
pub(crate) fn unpack(
    frame: &ReceivedFrame<'_>,
    scratch: &mut [u8],
    mut each: impl FnMut(&[u8]),
) -> Result<(), FrameDescriptionError> {
    match (frame.train, frame.checksum) {
        (None, None) => each(frame.octets),
        (None, Some(pending)) => {
            let whole = scratch.get_mut(..frame.octets.len()).ok_or(FrameDescriptionError)?;
            whole.copy_from_slice(frame.octets);
            fill(whole, pending)?;
            each(whole);
        }
        (Some(train), Some(pending)) => {
            let layout = TrainLayout::from_frame(frame.octets, train, pending)?;
            layout.cut(frame.octets, scratch, each)?;
        }
        (Some(_), None) => return Err(FrameDescriptionError),
    }
    Ok(())
}

/// Fills in the checksum of a frame that the sender's kernel left out.
fn fill(frame: &mut [u8], pending: PendingChecksum) -> Result<(), FrameDescriptionError> {
    if pending.offset == SCTP_CHECKSUM_AT && transport(frame) == Some(SCTP) {
        let segment = frame.get_mut(pending.start..).ok_or(FrameDescriptionError)?;
        segment.get_mut(8..12).ok_or(FrameDescriptionError)?.fill(0);
        let sum = crc32c(segment);
        segment[8..12].copy_from_slice(&sum.to_le_bytes());
        return Ok(());
    }
    let segment = frame.get_mut(pending.start..).ok_or(FrameDescriptionError)?;
    let sum = settled(checksum(segment));
    let field = segment.get_mut(pending.offset..).and_then(|rest| rest.first_chunk_mut());
    *field.ok_or(FrameDescriptionError)? = sum.to_be_bytes();
    Ok(())
}

/// Returns a UDP checksum of 0 as 0xffff: 0 would mean that there is none (RFC 768), and both have
/// the same sum.
const fn settled(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

/// Returns the protocol number in the IP header of a frame.
fn transport(frame: &[u8]) -> Option<u8> {
    match ecn::network(frame)? {
        (TYPE_IPV4, at) => frame.get(at + 9).copied(),
        (TYPE_IPV6, at) => frame.get(at + 6).copied(),
        _ => None,
    }
}

/// Offsets of the headers in a frame that is a train of segments, in bytes.
#[derive(Clone, Copy, Debug)]
struct TrainLayout {
    train: Train,
    is_v4: bool,
    network_at: usize,
    transport_at: usize,
    payload_at: usize,
}

impl TrainLayout {
    fn from_frame(
        frame: &[u8],
        train: Train,
        pending: PendingChecksum,
    ) -> Result<Self, FrameDescriptionError> {
        let (kind, network_at) = ecn::network(frame).ok_or(FrameDescriptionError)?;
        let transport_at = pending.start;
        let (is_v4, least) = match kind {
            TYPE_IPV4 => (true, ipv4::HEADER_LEN),
            TYPE_IPV6 => (false, ipv6::HEADER_LEN),
            _ => return Err(FrameDescriptionError),
        };
        let header_len = match train.kind {
            TrainKind::Udp => udp::HEADER_LEN,
            TrainKind::Tcp => {
                let words = frame.get(transport_at + 12).ok_or(FrameDescriptionError)? >> 4;
                let len = usize::from(words) * 4;
                if len < TCP_HEADER_LEN {
                    return Err(FrameDescriptionError);
                }
                len
            }
        };
        let payload_at = transport_at + header_len;
        let is_sound = transport_at >= network_at + least
            && payload_at < frame.len()
            && train.payload_bytes > 0;
        if !is_sound {
            return Err(FrameDescriptionError);
        }
        Ok(Self { train, is_v4, network_at, transport_at, payload_at })
    }

    fn cut(
        &self,
        frame: &[u8],
        scratch: &mut [u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), FrameDescriptionError> {
        let (headers, payload) = frame.split_at(self.payload_at);
        let last = payload.len().div_ceil(self.train.payload_bytes) - 1;
        for (index, piece) in payload.chunks(self.train.payload_bytes).enumerate() {
            let packet =
                scratch.get_mut(..headers.len() + piece.len()).ok_or(FrameDescriptionError)?;
            packet[..headers.len()].copy_from_slice(headers);
            packet[headers.len()..].copy_from_slice(piece);
            self.write_network(packet, index)?;
            self.write_transport(packet, index, index == last);
            each(packet);
        }
        Ok(())
    }

    /// Writes the lengths of a segment's IP header and, for IPv4, identification and checksum.
    fn write_network(&self, packet: &mut [u8], index: usize) -> Result<(), FrameDescriptionError> {
        let len = packet.len() - self.network_at;
        let header = &mut packet[self.network_at..self.transport_at];
        if !self.is_v4 {
            put(header, 4, len - ipv6::HEADER_LEN);
            return Ok(());
        }
        put(header, 2, len);
        let identification = u16::from_be_bytes([header[4], header[5]]);
        put(header, 4, usize::from(identification.wrapping_add(index as u16)));
        put(header, 10, 0);
        let header_len = usize::from(header[0] & 0xf) * 4;
        let sum = checksum(header.get(..header_len).ok_or(FrameDescriptionError)?);
        put(header, 10, sum.into());
        Ok(())
    }

    /// Writes the TCP or UDP fields that differ from segment to segment, and the checksum.
    fn write_transport(&self, packet: &mut [u8], index: usize, is_last: bool) {
        let (headers, segment) = packet.split_at_mut(self.transport_at);
        let network = &headers[self.network_at..];
        let (number, checksum_at) = match self.train.kind {
            TrainKind::Udp => {
                let len = segment.len();
                put(segment, 4, len);
                (protocol::UDP, 6)
            }
            TrainKind::Tcp => {
                let first = segment.first_chunk::<8>().expect("the layout has a TCP header");
                let [.., a, b, c, d] = *first;
                let skipped = (index * self.train.payload_bytes) as u32;
                let sequence = u32::from_be_bytes([a, b, c, d]).wrapping_add(skipped);
                segment[4..8].copy_from_slice(&sequence.to_be_bytes());
                if !is_last {
                    segment[13] &= !(FIN | PSH);
                }
                if index > 0 {
                    segment[13] &= !CWR;
                }
                (TCP, 16)
            }
        };
        put(segment, checksum_at, 0);
        let sum = if self.is_v4 {
            let [source, destination] = [12, 16].map(|at| Ipv4Addr::from(array::<4>(network, at)));
            ChecksumAccumulator::pseudo_v4(source, destination, number, segment.len() as u16)
        } else {
            let [source, destination] = [8, 24].map(|at| Ipv6Addr::from(array::<16>(network, at)));
            ChecksumAccumulator::pseudo_v6(source, destination, number, segment.len() as u32)
        };
        put(segment, checksum_at, settled(sum.with(segment).finish()).into());
    }
}

/// Writes `value` as a 16-bit field of a header at the offset `at`, in network byte order.
fn put(header: &mut [u8], at: usize, value: usize) {
    header[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}

/// Returns `N` bytes at the offset `at` of an IP header whose length was checked.
fn array<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    *header[at..].first_chunk().expect("an IP header has its addresses")
}

#[cfg(test)]
mod tests;
