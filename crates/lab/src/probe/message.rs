//! Messages of the DHCP client that probes whether a server answers, through a relay: DISCOVER and
//! REQUEST (RFC 2131 section 4.4.1), SOLICIT and REQUEST in a RELAY-FORW (RFC 9915 sections 18.2
//! and 19.1), and the parts of an answer that the second message needs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::ByteWriter;

/// Hardware address of the probe's client, with a prefix that no generator uses.
const MAC: [u8; 6] = [0x02, 0x67, 0x77, 0xff, 0x00, 0x00];
/// Identifier (IAID) of the identity association of the probe's DHCPv6 client.
const IAID: u32 = 0x6777_ff00;

const MAGIC: [u8; 4] = [99, 130, 83, 99];
const V4_HEADER: usize = 240;
/// Length of the header of RELAY-FORW and RELAY-REPL, in bytes: type, hop count, link address, peer
/// address.
const RELAY_HEADER: usize = 34;
const RELAY_FORW: u8 = 12;
const RELAY_MSG: u16 = 9;

/// Makes the first message of the probe: for DHCPv4 a DISCOVER with `link` as giaddr, for DHCPv6 a
/// SOLICIT in a RELAY-FORW with `link` as link-address.
pub(super) fn first(link: IpAddr, xid: u32) -> Vec<u8> {
    match link {
        IpAddr::V4(giaddr) => bootp(giaddr, xid, &[53, 1, 1, 55, 2, 1, 51]),
        IpAddr::V6(link) => {
            let mut options = [0; 64];
            let mut writer = ByteWriter::new(&mut options);
            // A client identifier from the hardware address (RFC 9915 section 11.4), an elapsed
            // time of 0, and one identity association without preferences.
            writer.u16(1).u16(10).u16(3).u16(1).put(&MAC);
            writer.u16(8).u16(2).u16(0);
            writer.u16(3).u16(12).u32(IAID).u32(0).u32(0);
            let len = writer.len();
            relayed(link, 1, xid, &options[..len])
        }
    }
}

/// Makes the second message of the probe, the REQUEST for the offer (OFFER, ADVERTISE) in `answer`;
/// `None` when `answer` is no offer.
pub(super) fn second(link: IpAddr, xid: u32, answer: &[u8]) -> Option<Vec<u8>> {
    match link {
        IpAddr::V4(giaddr) => {
            let address = answer.get(16..20)?;
            if answer[0] != 2 {
                return None;
            }
            let server = option_v4(answer, 54).filter(|server| server.len() == 4)?;
            let mut options = vec![53, 1, 3, 50, 4];
            options.extend_from_slice(address);
            options.extend_from_slice(&[54, 4]);
            options.extend_from_slice(server);
            Some(bootp(giaddr, xid, &options))
        }
        IpAddr::V6(link) => {
            let message = relay_message(answer)?;
            // An ADVERTISE has all that its REQUEST must have: both identifiers and the addresses.
            (message.first() == Some(&2)).then(|| relayed(link, 3, xid, &message[4..]))
        }
    }
}

/// Returns the transaction identifier of a DHCPv4 or DHCPv6 message.
pub(super) fn transaction_id(link: IpAddr, message: &[u8]) -> Option<u32> {
    match link {
        IpAddr::V4(_) => Some(u32::from_be_bytes(message.get(4..8)?.try_into().ok()?)),
        IpAddr::V6(_) => {
            let inner = relay_message(message)?;
            let &[_, a, b, c, ..] = inner else { return None };
            Some(u32::from_be_bytes([0, a, b, c]))
        }
    }
}

/// Makes a DHCPv4 message of 300 bytes, the least of BOOTP (RFC 1542 section 2.1), that was relayed
/// once by `giaddr`.
fn bootp(giaddr: Ipv4Addr, xid: u32, options: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 300];
    let mut writer = ByteWriter::new(&mut octets);
    writer.put(&[1, 1, 6, 1]).u32(xid).fill(0, 16).put(&giaddr.octets()).put(&MAC);
    writer.fill(0, 10 + 64 + 128).put(&MAGIC).put(options).u8(255);
    octets
}

/// Makes a DHCPv6 message of type `kind` in a RELAY-FORW with `link` as link-address.
fn relayed(link: Ipv6Addr, kind: u8, xid: u32, options: &[u8]) -> Vec<u8> {
    let len = 4 + options.len();
    let mut octets = vec![0; RELAY_HEADER + 4 + len];
    let mut writer = ByteWriter::new(&mut octets);
    let client = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x6777, 0xff00);
    writer.u8(RELAY_FORW).u8(0).put(&link.octets()).put(&client.octets());
    writer.u16(RELAY_MSG).u16(len as u16).u32(xid & 0x00ff_ffff | u32::from(kind) << 24);
    writer.put(options);
    octets
}

/// Returns the content of a relayed DHCPv6 message.
fn relay_message(message: &[u8]) -> Option<&[u8]> {
    let mut rest = message.get(RELAY_HEADER..)?;
    while let &[a, b, c, d, ref tail @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([c, d]));
        let value = tail.get(..len)?;
        if u16::from_be_bytes([a, b]) == RELAY_MSG {
            return Some(value).filter(|value| value.len() >= 4);
        }
        rest = &tail[len..];
    }
    None
}

fn option_v4(message: &[u8], expected_code: u8) -> Option<&[u8]> {
    let mut rest = message.get(V4_HEADER..)?;
    loop {
        match *rest {
            [0, ref tail @ ..] => rest = tail,
            [255, ..] | [] | [_] => return None,
            [code, len, ref tail @ ..] => {
                let value = tail.get(..usize::from(len))?;
                if code == expected_code {
                    return Some(value);
                }
                rest = &tail[usize::from(len)..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 255, 254));
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xffff));

    #[test]
    fn an_offer_is_requested_from_who_made_it() {
        let mut offer = first(V4, 7);
        assert_eq!((offer.len(), transaction_id(V4, &offer)), (300, Some(7)));
        assert_eq!(second(V4, 8, &offer), None, "an echo is no offer");
        offer[0] = 2;
        offer[16..20].copy_from_slice(&[10, 1, 0, 9]);
        assert_eq!(second(V4, 8, &offer), None, "no server identifier");
        offer[240..251].copy_from_slice(&[0, 53, 1, 2, 54, 4, 10, 0, 0, 1, 255]);
        let request = second(V4, 8, &offer).expect("an offer");
        assert_eq!(transaction_id(V4, &request), Some(8));
        assert_eq!(request[24..28], [10, 0, 255, 254]);
        assert_eq!(request[240..256], [53, 1, 3, 50, 4, 10, 1, 0, 9, 54, 4, 10, 0, 0, 1, 255]);
        assert_eq!(second(V4, 8, &[2, 1]), None);
    }

    #[test]
    fn an_advertise_is_requested_with_all_that_it_holds() {
        let mut advertise = first(V6, 0x0102_0304);
        assert_eq!(transaction_id(V6, &advertise), Some(0x02_0304));
        assert_eq!(second(V6, 8, &advertise), None, "an echo is no ADVERTISE");
        advertise[0] = 13;
        advertise[38] = 2;
        let request = second(V6, 8, &advertise).expect("an ADVERTISE");
        assert_eq!((request[0], request[38], transaction_id(V6, &request)), (12, 3, Some(8)));
        assert_eq!(request[42..], advertise[42..]);
        assert_eq!(transaction_id(V6, &advertise[..50]), None, "cut off");
    }
}
