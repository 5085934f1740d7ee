//! Reader of pcapng files (draft-ietf-opsawg-pcapng): sections of blocks that describe interfaces,
//! and packets that refer to them. Blocks of other kinds are skipped.

use alloc::vec::Vec;

use base::time::NS_PER_S;

use super::reader::{CapturedPacket, word};
use super::{ByteOrder, LINK_ETHERNET, LINK_UNKNOWN, PcapError, SNAP_LEN};

/// First bytes of a pcapng file: the type of the block that heads a section, equal in both byte
/// orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Word after type and length of a pcapng section header, which shows the byte order.
const ORDER: u32 = 0x1a2b_3c4d;
/// Types of pcapng blocks: section header (here), and the next constants.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;
/// Bytes of a pcapng block before its body (type and length); `TAIL_BYTES` are those after the body
/// (a length).
const HEAD_BYTES: usize = 8;
const TAIL_BYTES: usize = 4;
/// Options of a pcapng interface: end of the options (here), unit of its time stamps, and seconds
/// to be added to its time stamps.
const END: u16 = 0;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

/// Number of time stamp units in a second, unless the interface names another number.
const UNITS_PER_S: u64 = 1_000_000;

/// Interface that a pcapng section describes.
#[derive(Clone, Copy, Debug)]
struct CaptureInterface {
    link_type: u32,
    /// Greatest number of bytes that the capture kept of a packet; 0 for all.
    snap_len: u32,
    /// Number of units in a second of the interface's time stamps.
    units_per_s: u64,
    offset_s: i64,
}

/// Blocks of a pcapng file that were not read yet, and the state that earlier blocks have set.
#[derive(Clone, Debug)]
pub(super) struct PcapngBlocks<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    /// Interfaces of the current section, in their order.
    interfaces: Vec<CaptureInterface>,
    link_type: u32,
    /// Time of the last packet in nanoseconds since 1970, which a packet without a time stamp
    /// takes.
    last_ns: u64,
}

impl<'a> PcapngBlocks<'a> {
    /// Creates the reader of `file`, and reads ahead up to the first interface for the link type.
    ///
    /// # Errors
    ///
    /// [`PcapError::Truncated`], [`PcapError::Magic`], [`PcapError::Version`],
    /// [`PcapError::Length`].
    pub(super) fn new(file: &'a [u8]) -> Result<Self, PcapError> {
        let mut blocks = Self {
            rest: file,
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            link_type: LINK_ETHERNET,
            last_ns: 0,
        };
        let mut ahead = blocks.clone();
        let (kind, body) = ahead.block()?.ok_or(PcapError::Truncated)?;
        ahead.take(kind, body)?;
        blocks.order = ahead.order;
        while ahead.interfaces.is_empty() {
            match ahead.block() {
                Ok(Some((kind, body))) => ahead.take(kind, body).map(drop)?,
                // Without an interface there is no packet.
                Ok(None) | Err(PcapError::Truncated) => return Ok(blocks),
                Err(error) => return Err(error),
            }
        }
        blocks.link_type = ahead.interfaces[0].link_type;
        Ok(blocks)
    }

    pub(super) const fn order(&self) -> ByteOrder {
        self.order
    }

    pub(super) const fn link_type(&self) -> u32 {
        self.link_type
    }

    /// Returns the next packet of the file; `None` at the end.
    pub(super) fn record(&mut self) -> Result<Option<CapturedPacket<'a>>, PcapError> {
        while let Some((kind, body)) = self.block()? {
            if let Some(record) = self.take(kind, body)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Discards the rest of the file, so that no packet follows.
    pub(super) const fn end(&mut self) {
        self.rest = &[];
    }

    /// Returns type and body of the next block; `None` at the end of the file.
    fn block(&mut self) -> Result<Option<(u32, &'a [u8])>, PcapError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let head = self.rest.get(..HEAD_BYTES).ok_or(PcapError::Truncated)?;
        if head[..4] == MAGIC {
            let order = self.rest.get(HEAD_BYTES..HEAD_BYTES + 4).ok_or(PcapError::Truncated)?;
            self.order = match word(order, 0, ByteOrder::Big) {
                ORDER => ByteOrder::Big,
                other if other.swap_bytes() == ORDER => ByteOrder::Little,
                _ => return Err(PcapError::Magic),
            };
        }
        let (kind, len) = (word(head, 0, self.order), word(head, 4, self.order) as usize);
        if len < HEAD_BYTES + TAIL_BYTES || !len.is_multiple_of(4) {
            return Err(PcapError::Length);
        }
        let (block, rest) = self.rest.split_at_checked(len).ok_or(PcapError::Truncated)?;
        self.rest = rest;
        Ok(Some((kind, &block[HEAD_BYTES..len - TAIL_BYTES])))
    }

    /// Applies the state that a block of type `kind` sets, or returns the packet of the block.
    fn take(&mut self, kind: u32, body: &'a [u8]) -> Result<Option<CapturedPacket<'a>>, PcapError> {
        match kind {
            SECTION => {
                let version = body.get(4..6).ok_or(PcapError::Length)?;
                if half(version, 0, self.order) != 1 {
                    return Err(PcapError::Version);
                }
                self.interfaces.clear();
                Ok(None)
            }
            INTERFACE => {
                let interface = interface(body, self.order)?;
                self.interfaces.push(interface);
                Ok(None)
            }
            PACKET => {
                let interface = self.word_of(body, 0)?;
                self.packet(interface, body).map(Some)
            }
            OLD_PACKET => {
                let interface = body.get(..2).ok_or(PcapError::Length)?;
                self.packet(half(interface, 0, self.order).into(), body).map(Some)
            }
            SIMPLE_PACKET => self.simple_packet(body).map(Some),
            _ => Ok(None),
        }
    }

    fn word_of(&self, body: &[u8], at: usize) -> Result<u32, PcapError> {
        body.get(at..at + 4).map(|octets| word(octets, 0, self.order)).ok_or(PcapError::Length)
    }

    /// Returns the interface with this number, which a packet names. An interface that the file
    /// does not describe has an unknown link type, so that its packets are counted and the others
    /// are read.
    fn interface(&self, number: u32) -> CaptureInterface {
        let unknown = CaptureInterface {
            link_type: LINK_UNKNOWN,
            snap_len: 0,
            units_per_s: UNITS_PER_S,
            offset_s: 0,
        };
        self.interfaces.get(number as usize).copied().unwrap_or(unknown)
    }

    /// Returns the packet of a block whose body has the time and both lengths after its first four
    /// bytes.
    fn packet(&mut self, interface: u32, body: &'a [u8]) -> Result<CapturedPacket<'a>, PcapError> {
        let interface = self.interface(interface);
        let [high, low, len, original_len] = [4, 8, 12, 16].map(|at| self.word_of(body, at));
        let units = u64::from(high?) << 32 | u64::from(low?);
        self.last_ns = interface.time_ns(units);
        let octets = body.get(20..).ok_or(PcapError::Length)?;
        self.record_of(interface.link_type, octets, len?, original_len?)
    }

    fn simple_packet(&self, body: &'a [u8]) -> Result<CapturedPacket<'a>, PcapError> {
        let interface = self.interface(0);
        let original_len = self.word_of(body, 0)?;
        let len = match interface.snap_len {
            0 => original_len,
            most => original_len.min(most),
        };
        let octets = body.get(4..).ok_or(PcapError::Length)?;
        self.record_of(interface.link_type, octets, len, original_len)
    }

    fn record_of(
        &self,
        link_type: u32,
        octets: &'a [u8],
        len: u32,
        original_len: u32,
    ) -> Result<CapturedPacket<'a>, PcapError> {
        if len > SNAP_LEN || len > original_len {
            return Err(PcapError::Length);
        }
        let octets = octets.get(..len as usize).ok_or(PcapError::Length)?;
        Ok(CapturedPacket { time_ns: self.last_ns, original_len, link_type, octets })
    }
}

impl CaptureInterface {
    /// Returns a time stamp of the interface as nanoseconds since 1970; 0 for times before.
    fn time_ns(&self, units: u64) -> u64 {
        let ns = i128::from(units) * i128::from(NS_PER_S) / i128::from(self.units_per_s);
        let ns = ns + i128::from(self.offset_s) * i128::from(NS_PER_S);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

fn interface(body: &[u8], order: ByteOrder) -> Result<CaptureInterface, PcapError> {
    let head = body.get(..8).ok_or(PcapError::Length)?;
    let mut interface = CaptureInterface {
        link_type: half(head, 0, order).into(),
        snap_len: word(head, 4, order),
        units_per_s: UNITS_PER_S,
        offset_s: 0,
    };
    let mut rest = &body[8..];
    while let Some((head, more)) = rest.split_first_chunk::<4>() {
        let (code, len) = (half(head, 0, order), usize::from(half(head, 2, order)));
        let value = more.get(..len).ok_or(PcapError::Length)?;
        match (code, value) {
            (END, _) => break,
            (RESOLUTION, &[exponent]) => {
                interface.units_per_s = units_per_s(exponent).ok_or(PcapError::Resolution)?;
            }
            (OFFSET, &[_, _, _, _, _, _, _, _]) => {
                let words = [word(value, 0, order), word(value, 4, order)].map(u64::from);
                let (high, low) = match order {
                    ByteOrder::Big => (words[0], words[1]),
                    ByteOrder::Little => (words[1], words[0]),
                };
                interface.offset_s = (high << 32 | low).cast_signed();
            }
            _ => {}
        }
        rest = more.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(interface)
}

/// Returns the time stamp units per second from the option's value: a negative power of ten, or of
/// two with the highest bit set.
fn units_per_s(exponent: u8) -> Option<u64> {
    match exponent {
        0..=19 => Some(10_u64.pow(exponent.into())),
        0x80..=0xbf => Some(1 << (exponent & 0x7f)),
        _ => None,
    }
}

/// Returns the number of two bytes at `at`, which is inside `octets`.
const fn half(octets: &[u8], at: usize, order: ByteOrder) -> u16 {
    let half = [octets[at], octets[at + 1]];
    match order {
        ByteOrder::Big => u16::from_be_bytes(half),
        ByteOrder::Little => u16::from_le_bytes(half),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::{CaptureReader, Resolution};
    use super::*;

    /// Returns a block in the byte order of the test.
    fn block(is_big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
        let put = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        let padded = body.len().next_multiple_of(4);
        let len = put((padded + HEAD_BYTES + TAIL_BYTES) as u32);
        let mut octets = [&put(kind)[..], &len, body].concat();
        octets.resize(HEAD_BYTES + padded, 0);
        octets.extend(len);
        octets
    }

    /// Returns the body of a block: words, and bytes after them, in the byte order of the test.
    fn body(is_big: bool, words: &[u32], octets: &[u8]) -> Vec<u8> {
        let put = |word: &u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        words.iter().flat_map(put).chain(octets.iter().copied()).collect()
    }

    fn section(is_big: bool) -> Vec<u8> {
        let version = if is_big { 0x0001_0000 } else { 1 };
        block(is_big, SECTION, &body(is_big, &[ORDER, version, u32::MAX, u32::MAX], &[]))
    }

    /// Returns a block that describes an interface with the options `options`, in words.
    fn described(is_big: bool, link_type: u32, options: &[u32]) -> Vec<u8> {
        let first = if is_big { link_type << 16 } else { link_type };
        block(is_big, INTERFACE, &body(is_big, &[&[first, 0][..], options].concat(), &[]))
    }

    fn option(is_big: bool, code: u32, len: u32) -> u32 {
        if is_big { code << 16 | len } else { len << 16 | code }
    }

    #[test]
    fn blocks_of_every_kind_and_length_are_read_or_refused() {
        for is_big in [false, true] {
            let start = [section(is_big), described(is_big, LINK_ETHERNET, &[])].concat();
            for kind in [SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET, 4, 5, 10] {
                // Lengths and options of zero, of the largest number, and of a number between.
                for (len, octet) in
                    (0..=64).flat_map(|len| [0, 1, 4, 0xff].map(|octet| (len, octet)))
                {
                    let file = [&start[..], &block(is_big, kind, &vec![octet; len])].concat();
                    let Ok(reader) = CaptureReader::new(&file) else { continue };
                    assert!(reader.count() <= 1, "kind {kind}, {len} octets of {octet}");
                    for cut in start.len()..file.len() {
                        let _ = CaptureReader::new(&file[..cut]).map(Iterator::count);
                    }
                }
            }
        }
    }

    #[test]
    fn packets_of_both_byte_orders_have_their_times() {
        for is_big in [false, true] {
            let octet = |octet: u8| {
                let word = [octet, 0, 0, 0];
                if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
            };
            let nanoseconds = [option(is_big, 9, 1), octet(9), 0];
            // 2^-10 seconds, and an hour to add.
            let offset = if is_big { [0, 3_600] } else { [3_600, 0] };
            let (unit, hour) = (option(is_big, 9, 1), option(is_big, 14, 8));
            let halves = [&[unit, octet(0x8a), hour][..], &offset, &[0]].concat();
            let file = [
                section(is_big),
                described(is_big, 1, &nanoseconds),
                described(is_big, 1, &halves),
                block(is_big, 5, &[1; 8]),
                block(is_big, PACKET, &body(is_big, &[0, 1, 5, 3, 9], b"abc")),
                block(is_big, PACKET, &body(is_big, &[1, 0, 1_536, 2, 2], b"de")),
                block(is_big, SIMPLE_PACKET, &body(is_big, &[1], b"f")),
                // A section of its own, whose interface counts microseconds.
                section(!is_big),
                described(!is_big, 1, &[]),
                block(!is_big, PACKET, &body(!is_big, &[0, 0, 7, 1, 1], b"g")),
            ]
            .concat();
            let reader = CaptureReader::new(&file).unwrap();
            let facts = (reader.link_type(), reader.resolution());
            assert_eq!(facts, (LINK_ETHERNET, Resolution::Nanoseconds));
            let records: Vec<_> = reader.map(|record| record.unwrap()).collect();
            let fields: Vec<_> =
                records.iter().map(|r| (r.time_ns, r.original_len, r.octets)).collect();
            let half_hour_ns = 3_601_500_000_000;
            assert_eq!(
                fields,
                [
                    ((1 << 32) + 5, 9, &b"abc"[..]),
                    (half_hour_ns, 2, &b"de"[..]),
                    (half_hour_ns, 1, &b"f"[..]),
                    (7_000, 1, &b"g"[..]),
                ]
            );
            for cut in 1..file.len() {
                if let Ok(reader) = CaptureReader::new(&file[..cut]) {
                    let whole = reader.clone().filter(Result::is_ok).count();
                    let after = reader.skip(whole).collect::<Vec<_>>();
                    assert!(after.is_empty() || after == [Err(PcapError::Truncated)], "{cut}");
                }
            }
        }
    }

    #[test]
    fn packets_have_the_link_types_of_their_interfaces() {
        let packet =
            |interface: u32| block(false, PACKET, &body(false, &[interface, 0, 0, 1, 1], b"a"));
        let file = [
            section(false),
            described(false, 1, &[]),
            packet(0),
            described(false, 276, &[]),
            packet(1),
            packet(0),
        ];
        let file = file.concat();
        let records: Vec<_> =
            CaptureReader::new(&file).unwrap().map(|record| record.unwrap().link_type).collect();
        assert_eq!(records, [1, 276, 1]);
    }

    #[test]
    fn a_packet_of_an_interface_that_is_not_described_has_an_unknown_link_type() {
        let packet = |interface, octets: &[u8]| {
            block(false, PACKET, &body(false, &[interface, 0, 7, 1, 1], octets))
        };
        let file = [
            section(false),
            described(false, 1, &[]),
            packet(0, b"a"),
            packet(7, b"b"),
            packet(0, b"c"),
        ];
        let file = file.concat();
        let records: Vec<_> = CaptureReader::new(&file).unwrap().map(Result::unwrap).collect();
        assert_eq!(
            records.iter().map(|one| one.link_type).collect::<Vec<_>>(),
            [1, LINK_UNKNOWN, 1]
        );
        assert_eq!(records[1].time_ns, 7_000);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_ends_the_file() {
        let first = [section(false), described(false, 1, &[])].concat();
        let packet =
            |words: &[u32], octets: &[u8]| block(false, PACKET, &body(false, words, octets));
        let error = |behind: Vec<u8>| {
            let file = [first.clone(), behind].concat();
            let read: Vec<_> = CaptureReader::new(&file).unwrap().collect();
            assert_eq!(read.len(), 1);
            read[0].unwrap_err()
        };
        assert_eq!(error(packet(&[0, 0, 0, 9, 9], b"a")), PcapError::Length);
        assert_eq!(error(packet(&[0, 0, 0, 1, 0], b"a")), PcapError::Length);
        assert_eq!(error(packet(&[0, 0], b"")), PcapError::Length);
        assert_eq!(error(vec![6, 0, 0, 0, 13, 0, 0, 0]), PcapError::Length);
        let unit = described(false, 1, &[option(false, 9, 1), 20, 0]);
        assert_eq!(error(unit), PcapError::Resolution);
        let mut odd = section(false);
        odd[8] = 0;
        assert_eq!(CaptureReader::new(&odd).unwrap_err(), PcapError::Magic);
        let mut later = section(false);
        later[12] = 2;
        assert_eq!(CaptureReader::new(&later).unwrap_err(), PcapError::Version);
        assert!(
            CaptureReader::new(&section(false)).unwrap().next().is_none(),
            "no interface, no packet"
        );
    }
}
