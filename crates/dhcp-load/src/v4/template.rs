//! The two messages that are sent, octet for octet those of `perfdhcp` 2.2: relayed, one hop, not
//! padded. Written once; per exchange only the changing octets are patched. About 15 ns a message.

use std::net::Ipv4Addr;

use base::Writer;

use super::protocol::Offered;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// First octets (to the end of `chaddr`) and options of what `perfdhcp` 2.2.0 sent from
    /// 127.0.0.1 in its second exchange, captured; between them lie 192 zeros.
    const HEAD: &str = "0101060100000001000000000000000000000000000000007f000001000c010203050000\
                        0000000000000000";
    const DISCOVER_OPTIONS: &str = "638253633501013707011c02030f060c3d0701000c01020305ff";
    const REQUEST_OPTIONS: &str = "63825363350103\
         32040a0908073604\
         7f0000013707011c02030f060c3d0701000c01020305ff";
    const MAC: [u8; 6] = [0, 0x0c, 1, 2, 3, 5];

    fn captured(options: &str) -> Vec<u8> {
        let hex = format!("{HEAD}{}{options}", "00".repeat(192));
        let digits = hex.as_bytes().chunks(2);
        digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn both_messages_are_those_that_perfdhcp_sends() {
        let templates = Templates::new(Ipv4Addr::LOCALHOST);
        let mut buffer = [0xff; 300];
        let len = templates.discover(&mut buffer, 1, MAC);
        assert_eq!(buffer[..len], captured(DISCOVER_OPTIONS));
        let offered = Offered { address: Ipv4Addr::new(10, 9, 8, 7), server: Ipv4Addr::LOCALHOST };
        let len = templates.request(&mut buffer, 1, MAC, 0, offered);
        assert_eq!(buffer[..len], captured(REQUEST_OPTIONS));
        let len = templates.request(&mut buffer, 1, MAC, 0x0102, offered);
        let mut later = captured(REQUEST_OPTIONS);
        later[8..10].copy_from_slice(&[1, 2]);
        assert_eq!(buffer[..len], later);
    }
}
