//! DHCP unique identifiers, which tell clients and servers apart (RFC 9915 §11, RFC 6355).
//!
//! DUIDs are opaque: two are equal if their bytes are. Only people, and code that makes new DUIDs,
//! need their contents.

use base::{ByteReader, ByteWriter};

use super::NoRoom;

/// Minimum length of a DUID in bytes, its type included.
pub const LEN_MIN: usize = 3;
/// Maximum length of a DUID in bytes, its type included.
pub const LEN_MAX: usize = 130;
/// Time from which a DUID-LLT counts, 2000-01-01, in seconds since 1970.
pub const EPOCH_S: u64 = 946_684_800;

/// Contents of a DUID, a DHCP unique identifier (RFC 9915 §11), by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duid<'a> {
    /// DUID-LLT: link-layer address plus time (RFC 9915 §11.2).
    LinkLayerTime {
        /// Hardware type of the link-layer address (1 = Ethernet).
        hardware_type: u16,
        /// Time at which the DUID was made, in seconds since [`EPOCH_S`], modulo 2^32.
        time_s: u32,
        /// Link-layer address of one interface of the device.
        address: &'a [u8],
    },
    /// DUID-EN: identifier that the vendor assigned (RFC 9915 §11.3).
    Enterprise {
        /// Private enterprise number of the vendor.
        number: u32,
        /// Identifier of the device, which the vendor chose.
        identifier: &'a [u8],
    },
    /// DUID-LL: link-layer address (RFC 9915 §11.4).
    LinkLayer {
        /// Hardware type of the link-layer address (1 = Ethernet).
        hardware_type: u16,
        /// Link-layer address of one interface of the device.
        address: &'a [u8],
    },
    /// DUID-UUID: universally unique identifier (RFC 6355).
    Uuid(
        /// UUID of the device, 16 bytes.
        [u8; 16],
    ),
    /// DUID of any other type, or too short or too long for its type.
    Other(
        /// Bytes of the whole DUID, its type included.
        &'a [u8],
    ),
}

impl<'a> Duid<'a> {
    /// Reads the contents of a DUID, such as [`super::Message::client_id`].
    pub fn parse(octets: &'a [u8]) -> Self {
        Self::known(octets).unwrap_or(Self::Other(octets))
    }

    fn known(octets: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(octets);
        let duid = match reader.u16()? {
            1 => Self::LinkLayerTime {
                hardware_type: reader.u16()?,
                time_s: reader.u32()?,
                address: reader.rest(),
            },
            2 => Self::Enterprise { number: reader.u32()?, identifier: reader.rest() },
            3 => Self::LinkLayer { hardware_type: reader.u16()?, address: reader.rest() },
            4 => Self::Uuid(reader.rest().try_into().ok()?),
            _ => return None,
        };
        Some(duid)
    }

    /// Writes the DUID to the front of `buffer` and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// Returns [`NoRoom`] when it does not fit.
    pub fn write(&self, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        let mut writer = ByteWriter::new(buffer);
        match *self {
            Self::LinkLayerTime { hardware_type, time_s, address } => {
                writer.u16(1).u16(hardware_type).u32(time_s).put(address);
            }
            Self::Enterprise { number, identifier } => {
                writer.u16(2).u32(number).put(identifier);
            }
            Self::LinkLayer { hardware_type, address } => {
                writer.u16(3).u16(hardware_type).put(address);
            }
            Self::Uuid(uuid) => {
                writer.u16(4).put(&uuid);
            }
            Self::Other(octets) => {
                writer.put(octets);
            }
        }
        if writer.overflowed() { Err(NoRoom) } else { Ok(writer.len()) }
    }

    /// Returns the link-layer address in the DUID, with its hardware type; `None` when the DUID has
    /// none.
    pub const fn link_layer_address(&self) -> Option<(u16, &'a [u8])> {
        match *self {
            Self::LinkLayerTime { hardware_type, address, .. }
            | Self::LinkLayer { hardware_type, address } => Some((hardware_type, address)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_left_as_it_is() {
        for octets in [&[][..], &[0], &[0, 1, 0, 1, 0, 0, 0], &[0, 2, 0, 0, 1], &[0, 3, 0]] {
            assert_eq!(Duid::parse(octets), Duid::Other(octets));
        }
        for len in [15, 17] {
            let mut octets = [7; 19];
            octets[..2].copy_from_slice(&[0, 4]);
            assert_eq!(Duid::parse(&octets[..2 + len]), Duid::Other(&octets[..2 + len]));
        }
        let ethernet = Duid::LinkLayer { hardware_type: 1, address: &[2, 0, 0x5e, 0, 0, 1] };
        let mut buffer = [0; 10];
        assert_eq!(ethernet.write(&mut buffer[..9]), Err(NoRoom));
        assert_eq!(ethernet.write(&mut buffer), Ok(10));
        assert_eq!(buffer, [0, 3, 0, 1, 2, 0, 0x5e, 0, 0, 1]);
        assert_eq!(ethernet.link_layer_address(), Some((1, &[2, 0, 0x5e, 0, 0, 1][..])));
    }
}
