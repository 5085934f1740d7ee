//! Replies of a DHCPv6 server, as far as a load generator must read them.
//!
//! This parser shares no code with the project's server (`dhcp-wire`), so that one misunderstanding
//! cannot hide in both. Reading walks the options without allocation and establishes that every
//! option, also those inside identity associations, lies within its parent.

use std::net::Ipv6Addr;

use base::ByteReader;

use super::client::Dhcp6LeasedResource;
use crate::fault::MalformedDhcpMessage;

/// DHCPv6 message types that the load generator sends or checks (RFC 9915 §7.3).
pub mod kind {
    /// Message type SOLICIT.
    pub const SOLICIT: u8 = 1;
    /// Message type ADVERTISE.
    pub const ADVERTISE: u8 = 2;
    /// Message type REQUEST.
    pub const REQUEST: u8 = 3;
    /// Message type CONFIRM.
    pub const CONFIRM: u8 = 4;
    /// Message type RENEW.
    pub const RENEW: u8 = 5;
    /// Message type REBIND.
    pub const REBIND: u8 = 6;
    /// Message type REPLY.
    pub const REPLY: u8 = 7;
    /// Message type RELEASE.
    pub const RELEASE: u8 = 8;
    /// Message type DECLINE.
    pub const DECLINE: u8 = 9;
    /// Message type INFORMATION-REQUEST.
    pub const INFORMATION_REQUEST: u8 = 11;
    /// Message type RELAY-FORW.
    pub const RELAY_FORW: u8 = 12;
    /// Message type RELAY-REPL.
    pub const RELAY_REPL: u8 = 13;
}

/// DHCPv6 option codes that the load generator sends or checks (RFC 9915 §21).
pub mod code {
    /// Code of the Client Identifier option.
    pub const CLIENT_ID: u16 = 1;
    /// Code of the Server Identifier option.
    pub const SERVER_ID: u16 = 2;
    /// Code of the option Identity Association for Non-temporary Addresses.
    pub const IA_NA: u16 = 3;
    /// Code of the IA Address option.
    pub const IAADDR: u16 = 5;
    /// Code of the Option Request option.
    pub const ORO: u16 = 6;
    /// Code of the Elapsed Time option.
    pub const ELAPSED_TIME: u16 = 8;
    /// Code of the Relay Message option.
    pub const RELAY_MSG: u16 = 9;
    /// Code of the Status Code option.
    pub const STATUS_CODE: u16 = 13;
    /// Code of the Rapid Commit option.
    pub const RAPID_COMMIT: u16 = 14;
    /// Code of the option Identity Association for Prefix Delegation.
    pub const IA_PD: u16 = 25;
    /// Code of the IA Prefix option.
    pub const IAPREFIX: u16 = 26;
}

/// Header of a relayed DHCPv6 message (RFC 9915 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp6RelayHeader {
    /// Message type of the relayed message: RELAY-FORW or RELAY-REPL.
    pub kind: u8,
    /// Hop count of the relayed message.
    pub hops: u8,
    /// Link address of the relayed message: an address on the client's link.
    pub link: [u8; 16],
    /// Peer address of the relayed message: the address of the client or the next relay.
    pub peer: [u8; 16],
}

/// Parts of a DHCPv6 reply that the generator checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp6Reply<'a> {
    /// Header of the relayed message around the reply; `None` when it came without a relay.
    pub relay: Option<Dhcp6RelayHeader>,
    /// Type of the reply, such as [`kind::ADVERTISE`].
    pub kind: u8,
    /// Transaction identifier of the reply, 24 bits.
    pub xid: u32,
    /// Client's DUID (option 1).
    pub client_id: Option<&'a [u8]>,
    /// Server's DUID (option 2).
    pub server_id: Option<&'a [u8]>,
    /// Status code of the reply itself; 0 when it has none.
    pub status: u16,
    /// True if the reply has the Rapid Commit option (14).
    pub has_rapid_commit: bool,
    /// Bytes of the reply itself, without the relay's header and options.
    pub message: &'a [u8],
    options: &'a [u8],
}

/// Identity association in a DHCPv6 reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyIa<'a> {
    /// True if the identity association is for prefixes, not addresses.
    pub is_prefix: bool,
    /// Number of the identity association (IAID).
    pub iaid: u32,
    /// Time T1 of the identity association, in seconds.
    pub t1_s: u32,
    /// Time T2 of the identity association, in seconds.
    pub t2_s: u32,
    /// Status code of the identity association; 0 when it has none.
    pub status: u16,
    /// Options inside the identity association.
    pub options: &'a [u8],
}

/// Address or prefix of an identity association, with its lifetimes and status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyIaLease {
    /// Address or prefix that the server leases.
    pub leased: Dhcp6LeasedResource,
    /// Preferred lifetime of the address or prefix, in seconds.
    pub preferred_s: u32,
    /// Valid lifetime of the address or prefix, in seconds.
    pub valid_s: u32,
    /// Status code of the address or prefix; 0 when it has none.
    pub status: u16,
}

/// Reads the next DHCPv6 option and returns its code and value.
fn next_option<'a>(reader: &mut ByteReader<'a>) -> Result<(u16, &'a [u8]), MalformedDhcpMessage> {
    let code = reader.u16().ok_or(MalformedDhcpMessage)?;
    let len = reader.u16().ok_or(MalformedDhcpMessage)?;
    Ok((code, reader.take(usize::from(len)).ok_or(MalformedDhcpMessage)?))
}

/// Returns the DHCPv6 options of a field whose lengths have been checked, as code and value.
pub fn options(field: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut reader = ByteReader::new(field);
    std::iter::from_fn(move || next_option(&mut reader).ok())
}

/// Checks that DHCPv6 options fill `field` and returns the status code among them; 0 when there is
/// none.
fn check(field: &[u8]) -> Result<u16, MalformedDhcpMessage> {
    let (mut reader, mut status) = (ByteReader::new(field), 0);
    while !reader.is_empty() {
        if let (code::STATUS_CODE, value) = next_option(&mut reader)? {
            status = status_of(value)?;
        }
    }
    Ok(status)
}

fn status_of(value: &[u8]) -> Result<u16, MalformedDhcpMessage> {
    ByteReader::new(value).u16().ok_or(MalformedDhcpMessage)
}

/// Splits an identity association into its fixed part and checked options.
fn read_ia(is_prefix: bool, value: &[u8]) -> Result<ReplyIa<'_>, MalformedDhcpMessage> {
    let mut reader = ByteReader::new(value);
    let mut word = || reader.u32().ok_or(MalformedDhcpMessage);
    let (iaid, t1_s, t2_s) = (word()?, word()?, word()?);
    let options = reader.rest();
    Ok(ReplyIa { is_prefix, iaid, t1_s, t2_s, status: check(options)?, options })
}

/// Reads the value of an IA Address or IA Prefix option.
fn read_lease(is_prefix: bool, value: &[u8]) -> Result<ReplyIaLease, MalformedDhcpMessage> {
    let mut reader = ByteReader::new(value);
    let (mut address, mut prefix_len) = (None, 128);
    if !is_prefix {
        address = reader.array::<16>();
    }
    let preferred_s = reader.u32().ok_or(MalformedDhcpMessage)?;
    let valid_s = reader.u32().ok_or(MalformedDhcpMessage)?;
    if is_prefix {
        prefix_len = reader.u8().ok_or(MalformedDhcpMessage)?;
        address = reader.array::<16>();
    }
    if prefix_len > 128 {
        return Err(MalformedDhcpMessage);
    }
    let address = Ipv6Addr::from(address.ok_or(MalformedDhcpMessage)?);
    let leased = Dhcp6LeasedResource { address, prefix_len, is_prefix };
    Ok(ReplyIaLease { leased, preferred_s, valid_s, status: check(reader.rest())? })
}

impl<'a> ReplyIa<'a> {
    fn item_code(&self) -> u16 {
        if self.is_prefix { code::IAPREFIX } else { code::IAADDR }
    }

    /// Returns the option code of the identity association.
    pub const fn code(&self) -> u16 {
        if self.is_prefix { code::IA_PD } else { code::IA_NA }
    }

    /// Returns the values of the IA Address or IA Prefix options, without the option headers.
    pub fn items(self) -> impl Iterator<Item = &'a [u8]> {
        let item_code = self.item_code();
        options(self.options).filter(move |&(code, _)| code == item_code).map(|(_, value)| value)
    }

    /// Returns the addresses or prefixes of the identity association.
    pub fn leases(self) -> impl Iterator<Item = ReplyIaLease> {
        self.items().filter_map(move |value| read_lease(self.is_prefix, value).ok())
    }
}

impl<'a> Dhcp6Reply<'a> {
    /// Reads a datagram as a DHCPv6 message, bare or with one relay header.
    ///
    /// # Errors
    ///
    /// Fails when the datagram is shorter than its header, an option runs past its parent's end or
    /// is shorter than its fields, or a relayed message holds none.
    pub fn read(octets: &'a [u8]) -> Result<Self, MalformedDhcpMessage> {
        let mut reader = ByteReader::new(octets);
        let first = *octets.first().ok_or(MalformedDhcpMessage)?;
        if first != kind::RELAY_FORW && first != kind::RELAY_REPL {
            return Self::read_message(None, octets);
        }
        let [kind, hops] = reader.array().ok_or(MalformedDhcpMessage)?;
        let link = reader.array().ok_or(MalformedDhcpMessage)?;
        let peer = reader.array().ok_or(MalformedDhcpMessage)?;
        let mut message = None;
        while !reader.is_empty() {
            if let (code::RELAY_MSG, value) = next_option(&mut reader)? {
                message = Some(value);
            }
        }
        Self::read_message(
            Some(Dhcp6RelayHeader { kind, hops, link, peer }),
            message.ok_or(MalformedDhcpMessage)?,
        )
    }

    fn read_message(
        relay: Option<Dhcp6RelayHeader>,
        octets: &'a [u8],
    ) -> Result<Self, MalformedDhcpMessage> {
        let mut reader = ByteReader::new(octets);
        let [kind, a, b, c] = reader.array().ok_or(MalformedDhcpMessage)?;
        let mut answer = Self {
            relay,
            kind,
            xid: u32::from_be_bytes([0, a, b, c]),
            client_id: None,
            server_id: None,
            status: 0,
            has_rapid_commit: false,
            message: octets,
            options: reader.rest(),
        };
        while !reader.is_empty() {
            let (code, value) = next_option(&mut reader)?;
            match code {
                code::CLIENT_ID => answer.client_id = Some(value),
                code::SERVER_ID => answer.server_id = Some(value),
                code::STATUS_CODE => answer.status = status_of(value)?,
                code::RAPID_COMMIT => answer.has_rapid_commit = true,
                code::IA_NA | code::IA_PD => {
                    let ia = read_ia(code == code::IA_PD, value)?;
                    for item in ia.items() {
                        read_lease(ia.is_prefix, item)?;
                    }
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Returns the identity associations of the reply for addresses and prefixes, in order.
    pub fn ias(&self) -> impl Iterator<Item = ReplyIa<'a>> {
        options(self.options).filter_map(|(code, value)| match code {
            code::IA_NA => read_ia(false, value).ok(),
            code::IA_PD => read_ia(true, value).ok(),
            _ => None,
        })
    }
}

/// Returns true if a datagram is a SOLICIT, which begins an exchange, bare or with one relay
/// header.
pub fn is_solicit(octets: &[u8]) -> bool {
    Dhcp6Reply::read(octets).is_ok_and(|message| message.kind == kind::SOLICIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REPLY that Kea 2.2.0 sent through the relay 2001:db8:f::2, captured.
    const REPLY: &str = "0d0020010db8000f0000000000000000000220010db8000f000000000000000000020009007e0700\
         00010001000e000100013294eb8f000c010203040002000b0002000009bfc0ffee00010003002800\
         0000010000070800000b400005001820010db8000f0000000000000001000000000e1000001c2000\
         190029000000010000070800000b40001a001900000e1000001c203820010db88000000000000000\
         00000000";

    fn reply() -> Vec<u8> {
        let digits = REPLY.as_bytes().chunks(2);
        digits.map(|d| u8::from_str_radix(str::from_utf8(d).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn what_kea_replies_is_read() {
        let octets = reply();
        let answer = Dhcp6Reply::read(&octets).unwrap();
        let relay = answer.relay.unwrap();
        assert_eq!((relay.kind, relay.hops, relay.link), (kind::RELAY_REPL, 0, relay.peer));
        assert_eq!(Ipv6Addr::from(relay.link).to_string(), "2001:db8:f::2");
        assert_eq!((answer.kind, answer.xid, answer.status), (kind::REPLY, 1, 0));
        assert_eq!(answer.client_id.unwrap()[8..], [0, 12, 1, 2, 3, 4]);
        assert_eq!(answer.server_id.unwrap().len(), 11);
        let all: Vec<_> = answer.ias().flat_map(|ia| ia.leases().map(move |g| (ia, g))).collect();
        let [(na, address), (pd, prefix)] = all[..] else { panic!("{all:?}") };
        assert_eq!((na.iaid, na.t1_s, na.t2_s, na.status), (1, 1_800, 2_880, 0));
        assert!(!na.is_prefix && pd.is_prefix);
        assert_eq!(address.leased.address.to_string(), "2001:db8:f::1:0");
        assert_eq!((address.preferred_s, address.valid_s), (3_600, 7_200));
        assert_eq!(prefix.leased.prefix_len, 56);
        assert_eq!(prefix.leased.address.to_string(), "2001:db8:8000::");
        assert_eq!((prefix.preferred_s, prefix.valid_s), (3_600, 7_200));
    }

    #[test]
    fn bare_messages_are_read_too() {
        let octets = reply();
        let bare = Dhcp6Reply::read(&octets[38..]).unwrap();
        assert_eq!((bare.relay, bare.kind, bare.ias().count()), (None, kind::REPLY, 2));
    }

    #[test]
    fn a_cut_is_malformed_and_garbling_never_more() {
        let whole = reply();
        for len in 0..whole.len() {
            assert_eq!(Dhcp6Reply::read(&whole[..len]), Err(MalformedDhcpMessage), "{len}");
        }
        let mut random = base::Random::from_seed(61);
        let mut refused = 0;
        for _ in 0..50_000 {
            let mut octets = whole.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(octets.len() as u64) as usize;
                octets[at] = random.next_u32() as u8;
            }
            match Dhcp6Reply::read(&octets) {
                Ok(answer) => {
                    std::hint::black_box(answer.ias().map(|ia| ia.leases().count()).sum::<usize>());
                }
                Err(MalformedDhcpMessage) => refused += 1,
            }
        }
        assert!((10_000..45_000).contains(&refused), "{refused}");
    }
}
