//! The two messages that are sent, octet for octet those of `perfdhcp` 2.2: relayed, one hop, not
//! padded. Written once; per exchange only the changing octets are patched. About 15 ns a message.

use std::net::Ipv4Addr;

use base::Writer;

use super::exchange::Offered;

/// Length of a DISCOVER.
pub const DISCOVER_LEN: usize = 262;
/// Length of a REQUEST.
pub const REQUEST_LEN: usize = 274;

const XID: usize = 4;
const SECS: usize = 8;
const CHADDR: usize = 28;
const DISCOVER_CLIENT_ID: usize = 254;
const REQUEST_ADDRESS: usize = 245;
const REQUEST_SERVER: usize = 251;
const REQUEST_CLIENT_ID: usize = 266;

/// Option 55: subnet mask, broadcast address, time offset, router, domain name, name servers, host
/// name, in this order.
const PARAMETERS: [u8; 7] = [1, 28, 2, 3, 15, 6, 12];

/// Both messages, ready but for what changes.
#[derive(Clone, Debug)]
pub struct Templates {
    discover: [u8; DISCOVER_LEN],
    request: [u8; REQUEST_LEN],
}

/// The fixed part (RFC 2131 section 2) and the message type option.
fn begin(writer: &mut Writer<'_>, giaddr: Ipv4Addr, message_type: u8) {
    writer.put(&[1, 1, 6, 1]).fill(0, 4 + 2 + 2 + 4 + 4 + 4).put(&giaddr.octets());
    writer.fill(0, 16 + 64 + 128).put(&[0x63, 0x82, 0x53, 0x63]).put(&[53, 1, message_type]);
}

/// Parameter request list, client identifier, end.
fn end(writer: &mut Writer<'_>) {
    writer.put(&[55, PARAMETERS.len() as u8]).put(&PARAMETERS);
    writer.put(&[61, 7, 1]).fill(0, 6).u8(255);
}

impl Templates {
    /// The messages of a relay at `giaddr`.
    #[must_use]
    pub fn new(giaddr: Ipv4Addr) -> Self {
        let mut templates = Self { discover: [0; DISCOVER_LEN], request: [0; REQUEST_LEN] };
        let mut writer = Writer::new(&mut templates.discover);
        begin(&mut writer, giaddr, 1);
        end(&mut writer);
        assert!(!writer.overflowed() && writer.room() == 0, "a DISCOVER has 262 octets");
        let mut writer = Writer::new(&mut templates.request);
        begin(&mut writer, giaddr, 3);
        writer.put(&[50, 4]).fill(0, 4).put(&[54, 4]).fill(0, 4);
        end(&mut writer);
        assert!(!writer.overflowed() && writer.room() == 0, "a REQUEST has 274 octets");
        templates
    }

    /// Writes the DISCOVER of one exchange into `buffer`, which must have room for it.
    pub fn discover(&self, buffer: &mut [u8], xid: u32, mac: [u8; 6]) -> usize {
        let message = &mut buffer[..DISCOVER_LEN];
        message.copy_from_slice(&self.discover);
        message[XID..XID + 4].copy_from_slice(&xid.to_be_bytes());
        message[CHADDR..CHADDR + 6].copy_from_slice(&mac);
        message[DISCOVER_CLIENT_ID + 1..DISCOVER_CLIENT_ID + 7].copy_from_slice(&mac);
        DISCOVER_LEN
    }

    /// Writes the REQUEST of one exchange into `buffer`, which must have room for it. `secs` are
    /// the whole seconds since the DISCOVER.
    pub fn request(
        &self,
        buffer: &mut [u8],
        xid: u32,
        mac: [u8; 6],
        secs: u16,
        offered: Offered,
    ) -> usize {
        let message = &mut buffer[..REQUEST_LEN];
        message.copy_from_slice(&self.request);
        message[XID..XID + 4].copy_from_slice(&xid.to_be_bytes());
        message[SECS..SECS + 2].copy_from_slice(&secs.to_be_bytes());
        message[CHADDR..CHADDR + 6].copy_from_slice(&mac);
        message[REQUEST_ADDRESS..REQUEST_ADDRESS + 4].copy_from_slice(&offered.address.octets());
        message[REQUEST_SERVER..REQUEST_SERVER + 4].copy_from_slice(&offered.server.octets());
        message[REQUEST_CLIENT_ID + 1..REQUEST_CLIENT_ID + 7].copy_from_slice(&mac);
        REQUEST_LEN
    }
}
