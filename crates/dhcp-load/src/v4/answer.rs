//! Replies of a DHCPv4 server, as far as a load generator must read them, and checks for faults in
//! them.
//!
//! Reading is one pass over the options without allocation, about 30 ns. The parser accepts
//! everything that RFC 2131 and RFC 2132 allow, and reads options in `file` and `sname` (option 52,
//! RFC 2132 section 9.3).

use std::net::Ipv4Addr;

use base::ByteReader;

use crate::fault::{MalformedDhcpMessage, ReplyFault};

/// DHCPv4 message types that the load generator sends or checks (RFC 2132 section 9.6).
pub mod kind {
    /// Message type DHCPDISCOVER.
    pub const DISCOVER: u8 = 1;
    /// Message type DHCPOFFER.
    pub const OFFER: u8 = 2;
    /// Message type DHCPREQUEST.
    pub const REQUEST: u8 = 3;
    /// Message type DHCPACK.
    pub const ACK: u8 = 5;
    /// Message type DHCPNAK.
    pub const NAK: u8 = 6;
}

/// Parts of a DHCPv4 reply that the generator checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp4Reply<'a> {
    /// Operation of the message: 1 from a client, 2 from a server.
    pub op: u8,
    /// Hardware type and length of the client's hardware address in bytes.
    pub hardware: (u8, u8),
    /// Transaction identifier of the reply.
    pub xid: u32,
    /// Address that the server gives to the client.
    pub yiaddr: Ipv4Addr,
    /// Address of the relay that the reply goes through.
    pub giaddr: Ipv4Addr,
    /// Hardware address of the client: the first six bytes of `chaddr`.
    pub mac: [u8; 6],
    /// Message type (option 53); 0 when missing.
    pub kind: u8,
    /// Server identifier (option 54).
    pub server: Option<Ipv4Addr>,
    /// Time T1 of the lease in seconds (option 58).
    pub renewal_time_s: Option<u32>,
    /// Time T2 of the lease in seconds (option 59).
    pub rebinding_time_s: Option<u32>,
    /// Lease time in seconds (option 51).
    pub lease_time_s: Option<u32>,
    /// Client identifier (option 61).
    pub client_id: Option<&'a [u8]>,
}

const COOKIE: [u8; 4] = [0x63, 0x82, 0x53, 0x63];
const OVERLOAD: u8 = 52;

fn word(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

impl<'a> Dhcp4Reply<'a> {
    /// Reads a datagram as a DHCPv4 message.
    ///
    /// # Errors
    ///
    /// Fails when the datagram is shorter than the fixed part, lacks the magic cookie, or has an
    /// option that runs past the end.
    pub fn read(octets: &'a [u8]) -> Result<Self, MalformedDhcpMessage> {
        let (fixed, options) = octets.split_first_chunk::<240>().ok_or(MalformedDhcpMessage)?;
        if fixed[236..] != COOKIE {
            return Err(MalformedDhcpMessage);
        }
        let word = |at: usize| [fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]];
        let mut answer = Self {
            op: fixed[0],
            hardware: (fixed[1], fixed[2]),
            xid: u32::from_be_bytes(word(4)),
            yiaddr: Ipv4Addr::from(word(16)),
            giaddr: Ipv4Addr::from(word(24)),
            mac: [fixed[28], fixed[29], fixed[30], fixed[31], fixed[32], fixed[33]],
            kind: 0,
            server: None,
            renewal_time_s: None,
            rebinding_time_s: None,
            lease_time_s: None,
            client_id: None,
        };
        let overload = answer.read_options(options)?;
        // RFC 2132 section 9.3: 1 is `file`, 2 `sname`, 3 both, `file` first.
        if overload & 1 != 0 {
            answer.read_options(&octets[108..236])?;
        }
        if overload & 2 != 0 {
            answer.read_options(&octets[44..108])?;
        }
        Ok(answer)
    }

    /// Reads one field of DHCPv4 options up to its END option; returns the value of option 52.
    fn read_options(&mut self, field: &'a [u8]) -> Result<u8, MalformedDhcpMessage> {
        let mut reader = ByteReader::new(field);
        let mut overload = 0;
        while let Some(code) = reader.u8() {
            match code {
                0 => continue,
                255 => break,
                _ => {}
            }
            let len = reader.u8().ok_or(MalformedDhcpMessage)?;
            let value = reader.take(usize::from(len)).ok_or(MalformedDhcpMessage)?;
            match code {
                51 => self.lease_time_s = word(value),
                58 => self.renewal_time_s = word(value),
                59 => self.rebinding_time_s = word(value),
                OVERLOAD => overload = value.first().copied().unwrap_or(0),
                53 => self.kind = value.first().copied().unwrap_or(0),
                54 => {
                    self.server = <[u8; 4]>::try_from(value).ok().map(Ipv4Addr::from);
                }
                61 => self.client_id = Some(value),
                _ => {}
            }
        }
        Ok(overload)
    }

    /// Returns true when the reply names the client with this hardware address: in `chaddr`, and in
    /// the client identifier (RFC 6842) if the server echoes one.
    pub fn names_client(&self, mac: [u8; 6]) -> bool {
        let is_own_id = |id: &[u8]| id.split_first() == Some((&1, &mac));
        self.mac == mac && self.client_id.is_none_or(is_own_id)
    }

    /// Checks the header fields of a server's reply through the relay `giaddr`: `op`, hardware type
    /// and length, `giaddr`.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn check_header(&self, giaddr: Ipv4Addr) -> Result<(), ReplyFault> {
        let faults = [
            (self.op != 2, ReplyFault::Op),
            (self.hardware != (1, 6), ReplyFault::Hardware),
            (self.giaddr != giaddr, ReplyFault::Relay),
        ];
        faults.into_iter().find(|&(holds, _)| holds).map_or(Ok(()), |(_, fault)| Err(fault))
    }

    /// Returns address, server and lease time in seconds, which a DHCPOFFER or DHCPACK must carry
    /// (RFC 2131 table 3).
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn lease(&self) -> Result<(Ipv4Addr, Ipv4Addr, u32), ReplyFault> {
        if self.yiaddr.is_unspecified() {
            return Err(ReplyFault::NoAddress);
        }
        let server = self.server.ok_or(ReplyFault::NoServer)?;
        Ok((self.yiaddr, server, self.lease_time_s.ok_or(ReplyFault::NoLeaseTime)?))
    }
}

/// Returns true if a datagram is a DHCPDISCOVER, which begins an exchange.
pub fn is_discover(octets: &[u8]) -> bool {
    Dhcp4Reply::read(octets).is_ok_and(|message| message.kind == kind::DISCOVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [2, 0x67, 0, 0, 0, 5];
    const RELAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

    fn octets(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    /// Builds a message that Kea 2.2.0 sent to the relay 10.77.0.2, captured: 28 bytes, `chaddr`,
    /// and the options; between them are 202 zeros.
    fn from_kea(head: &str, mac: &str, options: &str) -> Vec<u8> {
        octets(&format!("{head}{mac}{}63825363{options}", "00".repeat(202)))
    }

    fn ack() -> Vec<u8> {
        from_kea(
            "02010601c0ffee0100000000000000000a800000000000000a4d0002",
            "026700000005",
            "3501050104ff00000003040a4d000106040a4d0001330400000e1036040a4d00013d0701026700000005ff",
        )
    }

    fn nak() -> Vec<u8> {
        from_kea(
            "02010601c0ffee01000000000000000000000000000000000a4d0002",
            "026700000006",
            "35010636040a4d00013d0701026700000006ff",
        )
    }

    #[test]
    fn what_kea_answers_is_read_and_accepted() {
        let octets = ack();
        assert_eq!(octets.len(), 283);
        let answer = Dhcp4Reply::read(&octets).unwrap();
        assert_eq!((answer.kind, answer.xid), (kind::ACK, 0xc0ff_ee01));
        assert!(answer.names_client(MAC) && !answer.names_client([2, 0x67, 0, 0, 0, 6]));
        assert_eq!(answer.check_header(RELAY), Ok(()));
        let server = Ipv4Addr::new(10, 77, 0, 1);
        assert_eq!(answer.lease(), Ok((Ipv4Addr::new(10, 128, 0, 0), server, 3_600)));
        let octets = nak();
        let answer = Dhcp4Reply::read(&octets).unwrap();
        assert_eq!((answer.kind, answer.check_header(RELAY)), (kind::NAK, Ok(())));
        assert_eq!(answer.lease(), Err(ReplyFault::NoAddress));
    }

    #[test]
    fn each_fault_is_found_where_it_is_planted() {
        let header = |at: usize, value: u8| {
            let mut octets = ack();
            octets[at] = value;
            Dhcp4Reply::read(&octets).unwrap().check_header(RELAY)
        };
        assert_eq!(header(0, 1), Err(ReplyFault::Op));
        assert_eq!(header(2, 5), Err(ReplyFault::Hardware));
        assert_eq!(header(27, 9), Err(ReplyFault::Relay));
        let lease = |code: u8, instead: u8| {
            let mut octets = ack();
            let at = (240..).find(|&at| octets[at] == code && octets[at + 1] == 4).unwrap();
            octets[at] = instead;
            Dhcp4Reply::read(&octets).unwrap().lease().map(drop)
        };
        assert_eq!(lease(51, 200), Err(ReplyFault::NoLeaseTime));
        assert_eq!(lease(54, 200), Err(ReplyFault::NoServer));
        assert_eq!(lease(3, 200), Ok(()));
        let mut other = ack();
        *other.last_chunk_mut::<2>().unwrap() = [6, 255];
        assert!(
            !Dhcp4Reply::read(&other).unwrap().names_client(MAC),
            "client identifier of another"
        );
    }

    #[test]
    fn no_cut_or_garbled_message_is_more_than_malformed() {
        let whole = ack();
        for len in 0..240 {
            assert_eq!(Dhcp4Reply::read(&whole[..len]), Err(MalformedDhcpMessage), "{len}");
        }
        let mut random = base::Random::from_seed(41);
        let mut refused = 0;
        for _ in 0..50_000 {
            let mut octets = whole.clone();
            octets.truncate(240 + random.below(44) as usize);
            for _ in 0..random.below(4) {
                let at = random.below(octets.len() as u64) as usize;
                octets[at] = random.next_u32() as u8;
            }
            refused += u32::from(Dhcp4Reply::read(&octets).is_err());
        }
        assert!((10_000..45_000).contains(&refused), "{refused}");
    }

    #[test]
    fn options_in_the_file_and_sname_fields_are_read() {
        let mut octets = ack();
        // Server identifier moves to `file`, lease time to `sname`.
        for (field, code) in [(108, 54_u8), (44, 51)] {
            let at = (240..).find(|&at| octets[at] == code && octets[at + 1] == 4).unwrap();
            let option: [u8; 6] = octets[at..at + 6].try_into().unwrap();
            octets[at] = 200;
            octets[field..field + 6].copy_from_slice(&option);
            octets[field + 6] = 255;
        }
        assert!(Dhcp4Reply::read(&octets).unwrap().lease().is_err());
        octets.pop();
        octets.extend([52, 1, 3, 255]);
        let server = Ipv4Addr::new(10, 77, 0, 1);
        let lease = Dhcp4Reply::read(&octets).unwrap().lease();
        assert_eq!(lease, Ok((Ipv4Addr::new(10, 128, 0, 0), server, 3_600)));
    }
}
