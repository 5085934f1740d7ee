//! DCCP checksums: covered bytes and pseudo-header (RFC 4340 §9), and the CRC-32C of the Data
//! Checksum option (§9.3).

use core::net::IpAddr;

use packet_wire::checksum::ChecksumAccumulator;
pub use packet_wire::checksum::crc32c;

/// IP protocol number of DCCP.
pub const PROTOCOL: u8 = 33;

/// Protection of a connection's packets: by the checksum of the DCCP header or by the carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// DCCP directly over IP: the checksum covers a pseudo-header with these addresses
    /// (RFC 4340 §9.1).
    Addresses {
        /// IP address of the packet's sender.
        source: IpAddr,
        /// IP address of the packet's receiver.
        destination: IpAddr,
    },
    /// DCCP inside of UDP: the UDP checksum protects the packet. Senders write 0 into the DCCP
    /// checksum, and receivers accept any value in it (RFC 6773).
    Carrier,
}

impl Integrity {
    /// Returns the protection of packets in the opposite direction: source and destination change
    /// places.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Addresses { source, destination } => {
                Self::Addresses { source: destination, destination: source }
            }
            Self::Carrier => Self::Carrier,
        }
    }

    /// Returns the checksum of the pseudo-header for a packet of `len` bytes; `None` when the
    /// carrier has its own checksum. `len` is the length of the whole packet, even if the checksum
    /// covers only part of it (RFC 4340 §9.1).
    ///
    /// # Panics
    ///
    /// Panics when one address is of IPv4 and the other of IPv6, or an IPv4 packet exceeds 65,535
    /// bytes.
    pub fn pseudo_header(self, len: usize) -> Option<ChecksumAccumulator> {
        let Self::Addresses { source, destination } = self else { return None };
        Some(match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let len = u16::try_from(len).expect("an IPv4 packet has at most 65,535 octets");
                ChecksumAccumulator::pseudo_v4(source, destination, PROTOCOL, len)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let len = u32::try_from(len).expect("an IPv6 packet has at most 2^32 octets");
                ChecksumAccumulator::pseudo_v6(source, destination, PROTOCOL, len)
            }
            _ => panic!("a packet has addresses of one family"),
        })
    }
}

/// Returns the number of bytes that the DCCP checksum covers in a packet with this header and data;
/// `None` when the coverage exceeds the data (RFC 4340 §9.2).
pub const fn covered_len(coverage: u8, header_len: usize, data_len: usize) -> Option<usize> {
    if coverage == 0 {
        return Some(header_len + data_len);
    }
    let covered_data = (coverage as usize - 1) * 4;
    if covered_data <= data_len { Some(header_len + covered_data) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_counts_words_of_data_from_one() {
        assert_eq!(covered_len(0, 24, 10), Some(34));
        assert_eq!(covered_len(1, 24, 10), Some(24));
        assert_eq!(covered_len(3, 24, 10), Some(32));
        assert_eq!(covered_len(4, 24, 10), None);
        assert_eq!(covered_len(15, 24, 56), Some(80));
    }
}
