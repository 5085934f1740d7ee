//! DHCIDs: the content of a DNS record that identifies the client that owns a name (RFC 4701).

use core::fmt;

use base::Hex;
use sha2::{Digest, Sha256};

use crate::name::UpdateName;

/// Identifier type of a DHCID from hardware type and hardware address (RFC 4701 §3.3).
const FROM_HARDWARE: u8 = 0;
/// Identifier type of a DHCID from the data of the client identifier option of DHCPv4 (RFC 4701
/// §3.3).
const FROM_CLIENT_ID: u8 = 1;
/// Identifier type of a DHCID from a DUID (RFC 4701 §3.3).
const FROM_DUID: u8 = 2;
/// Digest type of a DHCID whose digest is SHA-256 (RFC 4701 §3.4).
const SHA_256: u8 = 1;
/// First byte of a DHCPv4 client identifier that has an IAID and a DUID (RFC 4361 §6.1).
const WITH_DUID: u8 = 255;
/// Length of that first byte and the IAID, in bytes.
const DUID_AT: usize = 5;
/// Maximum length of a DUID in a DHCPv4 client identifier in bytes, as Kea accepts it.
const DUID_MAX: usize = 130;

/// Content of a DHCID record (RFC 4701): type of the identifier, type of the digest, and a digest
/// over identifier and name. A DHCID from a request may have any content that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dhcid(Box<[u8]>);

impl Dhcid {
    /// Makes the DHCID of a client with a hardware address. Returns `None` if the address is empty.
    pub fn from_hardware(hardware_type: u8, address: &[u8], name: &UpdateName) -> Option<Self> {
        let has_address = !address.is_empty();
        has_address.then(|| Self::digest(FROM_HARDWARE, &[&[hardware_type], address], name))
    }

    /// Makes the DHCID of a client with a DHCPv4 client identifier (option 61). If the identifier
    /// contains a DUID (RFC 4361), the DHCID is the one of [`Dhcid::from_duid`], so that a client
    /// has the same in DHCPv4 and DHCPv6. Returns `None` if the identifier is empty, or if that
    /// DUID is empty or too long.
    pub fn from_client_id(client_id: &[u8], name: &UpdateName) -> Option<Self> {
        match client_id.first()? {
            &WITH_DUID => {
                let duid = client_id.get(DUID_AT..)?;
                (duid.len() <= DUID_MAX).then(|| Self::from_duid(duid, name))?
            }
            _ => Some(Self::digest(FROM_CLIENT_ID, &[client_id], name)),
        }
    }

    /// Makes the DHCID of a client with a DUID. Returns `None` if the DUID is empty.
    pub fn from_duid(duid: &[u8], name: &UpdateName) -> Option<Self> {
        (!duid.is_empty()).then(|| Self::digest(FROM_DUID, &[duid], name))
    }

    /// Makes a DHCID of the content of a DHCID record. Returns `None` if there is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    /// Returns the content of the DHCID record.
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn digest(identifier_type: u8, identifier: &[&[u8]], name: &UpdateName) -> Self {
        let mut digest = Sha256::new();
        identifier.iter().for_each(|part| digest.update(part));
        digest.update(name.canonical_wire());
        let digest = digest.finalize();
        let mut bytes = Vec::with_capacity(3 + digest.len());
        bytes.extend([0, identifier_type, SHA_256]);
        bytes.extend_from_slice(&digest);
        Self(bytes.into())
    }
}

/// Formats the DHCID in capital hexadecimal digits, as in a name change request.
impl fmt::Display for Dhcid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}", Hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> UpdateName {
        UpdateName::from_text(text).unwrap()
    }

    /// Examples of RFC 4701 §3.6, which has the records in Base64.
    #[test]
    fn examples_of_the_rfc_are_as_there() {
        let duid =
            [0x00, 0x01, 0x00, 0x06, 0x41, 0x2d, 0xf1, 0x66, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06];
        let from_duid = Dhcid::from_duid(&duid, &name("chi6.example.com")).unwrap();
        let expected = "000201636FC0B8271C82825BB1AC5C41CF5351AA69B4FEBD94E8F17CDB95000DA48C40";
        assert_eq!(from_duid.to_string(), expected);
        let client_id = [0x01, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c];
        let from_id = Dhcid::from_client_id(&client_id, &name("CHI.example.com.")).unwrap();
        let expected = "0001013920FE5D1DCEB3FD0BA3379756A70D73B17009F41D58BDDBFCD6A2503956D8DA";
        assert_eq!(from_id.to_string(), expected);
        let address = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06];
        let from_address = Dhcid::from_hardware(1, &address, &name("client.example.com")).unwrap();
        let expected = "000001C4B9A5B249651343158DDE7BCC77169841F7A4243A572B5C283FFFEDEB3F75E6";
        assert_eq!(from_address.to_string(), expected);
    }

    #[test]
    fn a_duid_in_a_client_identifier_counts_alone() {
        let name = name("chi6.example.com");
        let duid = [0, 3, 0, 1, 2, 3, 4, 5, 6, 7];
        let client_id = [&[255, 9, 9, 9, 9][..], &duid].concat();
        assert_eq!(Dhcid::from_client_id(&client_id, &name), Dhcid::from_duid(&duid, &name));
        for wrong in [&[][..], &[255], &[255, 1, 2, 3, 4], &[255; DUID_AT + DUID_MAX + 1]] {
            assert_eq!(Dhcid::from_client_id(wrong, &name), None, "{wrong:?}");
        }
        assert_eq!(Dhcid::from_hardware(1, &[], &name), None);
        assert_eq!(Dhcid::from_duid(&[], &name), None);
    }
}
