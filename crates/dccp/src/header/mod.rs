//! DCCP packets: [`DccpPacket::parse`] reads a checked view, [`DccpHeader::write`] writes
//! (RFC 4340 §5). [`crate::option`] reads the options inside; [`crate::connection`] interprets the
//! numbers.
//!
//! [`DccpPacket::parse`] is step 1 of RFC 4340 §8.5. It establishes everything that an accessor
//! relies on: the type is known, header, options and data lie within the packet, and the checksum
//! is right.

pub mod checksum;
mod malformed;
mod packet_type;
mod reset_code;
mod service_code;

use base::{ByteReader, ByteWriter};

pub use checksum::Integrity;
pub use malformed::DccpPacketDefect;
pub use packet_type::PacketType;
pub use reset_code::{Reset, ResetCode};
pub use service_code::ServiceCode;

/// Largest DCCP header with options, in bytes: 255 words of four (RFC 4340 §5.1).
pub const HEADER_LEN_MAX: usize = 1_020;
/// Bytes of options that fit after the fixed header of any packet type.
pub const OPTIONS_LEN_MAX: usize = HEADER_LEN_MAX - 28;
/// Mask of the 48 bits of a long sequence number.
const LONG_MASK: u64 = (1 << 48) - 1;

/// Fixed fields of a DCCP packet, with those that depend on its type. The X bit decides the width
/// of the sequence and acknowledgement numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DccpHeader {
    /// DCCP port of the packet's sender.
    pub source_port: u16,
    /// DCCP port of the packet's receiver.
    pub destination_port: u16,
    /// Four bits for the congestion control of the packet's sender (CCVal, RFC 4340 §5.1).
    pub ccval: u8,
    /// Checksum coverage of the packet (CsCov, RFC 4340 §9.2): 0 for all data, n for n - 1 words of
    /// data.
    pub coverage: u8,
    /// Type of the packet, such as Request or Data.
    pub packet_type: PacketType,
    /// True if the packet's sequence numbers have 48 bits (X = 1), false if 24.
    pub is_extended: bool,
    /// Sequence number as the packet has it, in 48 or 24 bits.
    pub sequence: u64,
    /// Acknowledgement number as the packet has it; on every type but Request and Data.
    pub acknowledgement: Option<u64>,
    /// Service code of the connection, on Request and Response.
    pub service_code: Option<ServiceCode>,
    /// Reset code with its data, on a Reset.
    pub reset: Option<Reset>,
}

impl DccpHeader {
    /// Returns a header with 48-bit numbers, full checksum coverage and no field that depends on
    /// the packet type.
    pub const fn new(packet_type: PacketType, sequence: u64) -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            ccval: 0,
            coverage: 0,
            packet_type,
            is_extended: true,
            sequence,
            acknowledgement: None,
            service_code: None,
            reset: None,
        }
    }

    /// Returns the length of the header before the options, in bytes.
    pub const fn fixed_len(&self) -> usize {
        self.packet_type.fixed_len(self.is_extended)
    }

    /// Writes a packet with its checksum to the front of `buffer`, and returns its length in bytes.
    /// Pads `options` to whole words. Returns `None` when the packet does not fit or the options
    /// are longer than Data Offset can express.
    ///
    /// # Panics
    ///
    /// Panics on mistakes of the caller: a field that the type needs is missing, the type may not
    /// be short, or the coverage covers more data than there is.
    #[must_use]
    pub fn write(
        &self,
        options: &[u8],
        data: &[u8],
        integrity: Integrity,
        buffer: &mut [u8],
    ) -> Option<usize> {
        assert!(self.is_extended || self.packet_type.may_be_short(), "X must be 1 (§5.1)");
        let header_len = self.fixed_len() + options.len().next_multiple_of(4);
        if header_len > HEADER_LEN_MAX {
            return None;
        }
        let mut writer = ByteWriter::new(buffer);
        self.write_generic(&mut writer, (header_len / 4) as u8);
        self.write_fields(&mut writer);
        writer.put(options).fill(0, header_len - self.fixed_len() - options.len()).put(data);
        if writer.overflowed() {
            return None;
        }
        let octets = writer.written();
        let covered = checksum::covered_len(self.coverage, header_len, data.len())
            .expect("the sender covers no more than it sends");
        if let Some(sum) = integrity.pseudo_header(octets.len()) {
            let checksum = sum.with(&octets[..covered]).finish();
            octets[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(octets.len())
    }

    fn write_generic(&self, writer: &mut ByteWriter<'_>, data_offset: u8) {
        writer.u16(self.source_port).u16(self.destination_port).u8(data_offset);
        writer.u8(self.ccval << 4 | self.coverage).u16(0);
        writer.u8(self.packet_type.number() << 1 | u8::from(self.is_extended));
        let sequence = self.sequence.to_be_bytes();
        if self.is_extended {
            writer.u8(0).put(&sequence[2..]);
        } else {
            writer.put(&sequence[5..]);
        }
    }

    fn write_fields(&self, writer: &mut ByteWriter<'_>) {
        if self.packet_type.has_acknowledgement() {
            let number = self.acknowledgement.expect("the type acknowledges").to_be_bytes();
            if self.is_extended {
                writer.u16(0).put(&number[2..]);
            } else {
                writer.u8(0).put(&number[5..]);
            }
        }
        if self.packet_type.has_service_code() {
            writer.u32(self.service_code.expect("the type has a service code").value());
        }
        if self.packet_type == PacketType::Reset {
            let reset = self.reset.expect("a Reset has a code");
            writer.u8(reset.code.number()).put(&reset.data);
        }
    }
}

/// Received DCCP packet that passed step 1 of RFC 4340 §8.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DccpPacket<'a> {
    /// Header fields of the packet, before its options.
    pub header: DccpHeader,
    /// Option area of the packet with its padding; read it with
    /// [`crate::option::DccpOptionIterator`].
    pub options: &'a [u8],
    /// Application data area of the packet.
    pub data: &'a [u8],
}

impl<'a> DccpPacket<'a> {
    /// Checks a packet as RFC 4340 §8.5 step 1 requires, and returns a view of it. Ignores reserved
    /// bits (§5.1).
    ///
    /// # Errors
    ///
    /// Returns the reason to drop the packet. The coverage is checked before the checksum, because
    /// it bounds the bytes to sum.
    pub fn parse(octets: &'a [u8], integrity: Integrity) -> Result<Self, DccpPacketDefect> {
        let (header, data_offset) = read_header(octets)?;
        if data_offset < header.fixed_len() || data_offset > octets.len() {
            return Err(DccpPacketDefect::DataOffset);
        }
        let (head, data) = octets.split_at(data_offset);
        let covered = checksum::covered_len(header.coverage, head.len(), data.len())
            .ok_or(DccpPacketDefect::Coverage)?;
        if let Some(sum) = integrity.pseudo_header(octets.len())
            && sum.with(&octets[..covered]).finish() != 0
        {
            return Err(DccpPacketDefect::Checksum);
        }
        Ok(Self { header, options: &head[header.fixed_len()..], data })
    }
}

/// Returns the fixed fields of a packet's header, and its Data Offset in bytes. Checks no other
/// part of the packet.
fn read_header(octets: &[u8]) -> Result<(DccpHeader, usize), DccpPacketDefect> {
    let [s0, s1, d0, d1, offset, ccval_coverage, _, _, type_x, n0, n1, n2] =
        *octets.first_chunk::<12>().ok_or(DccpPacketDefect::Truncated)?;
    let packet_type = PacketType::from_number(type_x >> 1 & 0xf).ok_or(DccpPacketDefect::Type)?;
    let is_extended = type_x & 1 == 1;
    if !is_extended && !packet_type.may_be_short() {
        return Err(DccpPacketDefect::ShortSequence);
    }
    if octets.len() < packet_type.fixed_len(is_extended) {
        return Err(DccpPacketDefect::Truncated);
    }
    let mut rest = ByteReader::new(&octets[if is_extended { 8 } else { 12 }..]);
    let sequence =
        if is_extended { long(&mut rest)? } else { u64::from(u32::from_be_bytes([0, n0, n1, n2])) };
    let mut header = DccpHeader {
        source_port: u16::from_be_bytes([s0, s1]),
        destination_port: u16::from_be_bytes([d0, d1]),
        ccval: ccval_coverage >> 4,
        coverage: ccval_coverage & 0xf,
        packet_type,
        is_extended,
        sequence,
        acknowledgement: None,
        service_code: None,
        reset: None,
    };
    if packet_type.has_acknowledgement() {
        header.acknowledgement = Some(if is_extended {
            long(&mut rest)?
        } else {
            u64::from(rest.u32().ok_or(DccpPacketDefect::Truncated)? & 0x00ff_ffff)
        });
    }
    if packet_type.has_service_code() {
        let code = rest.u32().ok_or(DccpPacketDefect::Truncated)?;
        header.service_code = Some(ServiceCode::new(code));
    }
    if packet_type == PacketType::Reset {
        let [code, data @ ..] = rest.array::<4>().ok_or(DccpPacketDefect::Truncated)?;
        header.reset = Some(Reset { code: ResetCode::from_number(code), data });
    }
    Ok((header, usize::from(offset) * 4))
}

/// Reads a sequence number of eight bytes, and returns its lower 48 bits.
fn long(reader: &mut ByteReader<'_>) -> Result<u64, DccpPacketDefect> {
    let octets = reader.array().ok_or(DccpPacketDefect::Truncated)?;
    Ok(u64::from_be_bytes(octets) & LONG_MASK)
}
