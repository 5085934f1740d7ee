//! Header that the kernel and a frame socket exchange before each frame (`struct virtio_net_hdr`,
//! Virtual I/O Device 1.2 §5.1.6): checksums that are left to a device, and trains of segments.

/// Size of `struct virtio_net_hdr` before each frame, in bytes.
pub(super) const HEAD_BYTES: usize = 10;
/// Flag `VIRTIO_NET_HDR_F_NEEDS_CSUM` of `struct virtio_net_hdr`: a checksum has to be computed.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of trains in `struct virtio_net_hdr` (`VIRTIO_NET_HDR_GSO_…`): none (here), TCP over IPv4,
/// TCP over IPv6, UDP; the last constant is the mark for ECN.
const KIND_NONE: u8 = 0;
const KIND_TCP_V4: u8 = 1;
const KIND_TCP_V6: u8 = 4;
const KIND_UDP: u8 = 5;
const KIND_ECN: u8 = 0x80;
/// Bytes of a UDP header; the next constant is the offset of its checksum.
const UDP_BYTES: usize = 8;
const UDP_CHECKSUM_AT: usize = 6;

/// Checksum of a frame that has to be computed: the checksum field holds the sum of the
/// pseudo-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingChecksum {
    /// Offset of the transport header in the frame; the checksum covers all bytes from there to the
    /// end of the frame.
    pub start: usize,
    /// Offset of the checksum field in the transport header.
    pub offset: usize,
}

/// Train: TCP segments or UDP datagrams that share the headers of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Transport protocol of the train's segments.
    pub kind: TrainKind,
    /// Payload bytes of each segment of the train; the last segment may have fewer.
    pub payload_bytes: usize,
}

/// Transport protocols whose segments kernels join to trains (GSO, GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainKind {
    /// Segments of a TCP connection.
    Tcp,
    /// UDP datagrams of equal size (`UDP_SEGMENT`).
    Udp,
}

/// Properties of a frame in addition to its bytes: a checksum to compute, and the segments that it
/// stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameProperties {
    pub(super) len: usize,
    pub(super) checksum: Option<PendingChecksum>,
    pub(super) train: Option<Train>,
}

/// Returns the properties in the header `head` of a frame of `len` bytes, to which a VLAN tag of
/// `tag_bytes` is added; `None` if the header is not supported.
pub(super) fn read_head(
    head: &[u8; HEAD_BYTES],
    len: usize,
    tag_bytes: usize,
) -> Option<FrameProperties> {
    let half = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let is_pending = head[0] & NEEDS_CHECKSUM != 0;
    let checksum =
        is_pending.then(|| PendingChecksum { start: half(6) + tag_bytes, offset: half(8) });
    let kind = match head[1] & !KIND_ECN {
        KIND_NONE => None,
        KIND_TCP_V4 | KIND_TCP_V6 => Some(TrainKind::Tcp),
        KIND_UDP => Some(TrainKind::Udp),
        _ => return None,
    };
    let train = kind.map(|kind| Train { kind, payload_bytes: half(4) });
    Some(FrameProperties { len: len + tag_bytes, checksum, train })
}

/// Returns the header (`struct virtio_net_hdr`) of a train of UDP datagrams of `payload_bytes`
/// each, whose UDP header begins at byte `transport_at` of the frame.
pub(super) fn udp_head(transport_at: usize, payload_bytes: usize) -> [u8; HEAD_BYTES] {
    let mut head = [NEEDS_CHECKSUM, KIND_UDP, 0, 0, 0, 0, 0, 0, 0, 0];
    let halves = [transport_at + UDP_BYTES, payload_bytes, transport_at, UDP_CHECKSUM_AT];
    for (target, half) in head[2..].chunks_exact_mut(2).zip(halves) {
        target.copy_from_slice(&(half as u16).to_ne_bytes());
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(flags: u8, kind: u8, halves: [u16; 4]) -> [u8; HEAD_BYTES] {
        let mut head = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (target, half) in head[2..].chunks_exact_mut(2).zip(halves) {
            target.copy_from_slice(&half.to_ne_bytes());
        }
        head
    }

    #[test]
    fn places_move_behind_a_tag_that_is_put_back() {
        let plain = read_head(&head(0, 0, [0; 4]), 60, 0).unwrap();
        assert_eq!((plain.len, plain.checksum, plain.train), (60, None, None));
        let tagged = read_head(&head(1, 0x81, [54, 1_448, 34, 16]), 9_000, 4).unwrap();
        assert_eq!(tagged.len, 9_004);
        assert_eq!(tagged.checksum, Some(PendingChecksum { start: 38, offset: 16 }));
        let train = Train { kind: TrainKind::Tcp, payload_bytes: 1_448 };
        assert_eq!(tagged.train, Some(train));
        assert!(read_head(&head(1, 3, [0; 4]), 9_000, 0).is_none(), "trains of fragments");
    }

    #[test]
    fn a_train_that_is_sent_reads_as_one_that_is_received() {
        assert_eq!(udp_head(34, 43), head(1, 5, [42, 43, 34, 6]));
        let placed = read_head(&udp_head(54, 1_232), 9_000, 0).unwrap();
        assert_eq!(placed.checksum, Some(PendingChecksum { start: 54, offset: 6 }));
        assert_eq!(placed.train, Some(Train { kind: TrainKind::Udp, payload_bytes: 1_232 }));
    }
}
