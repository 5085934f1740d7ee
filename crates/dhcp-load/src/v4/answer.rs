//! What a server answered, as far as a load generator must read it, and what can be wrong with it.
//!
//! Reading is one pass over the options without allocation, about 30 ns. It accepts what RFC 2131
//! and RFC 2132 allow; options overloaded into `file` and `sname` (RFC 2132 section 9.3) are read.

use std::net::Ipv4Addr;

use base::Reader;

/// Why a datagram is no DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Message types that matter here (RFC 2132 section 9.6).
pub mod kind {
    /// DHCPDISCOVER.
    pub const DISCOVER: u8 = 1;
    /// DHCPOFFER.
    pub const OFFER: u8 = 2;
    /// DHCPREQUEST.
    pub const REQUEST: u8 = 3;
    /// DHCPACK.
    pub const ACK: u8 = 5;
    /// DHCPNAK.
    pub const NAK: u8 = 6;
}

/// The parts of an answer that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// 1 from a client, 2 from a server.
    pub op: u8,
    /// Hardware type and address length.
    pub hardware: (u8, u8),
    /// Transaction identifier.
    pub xid: u32,
    /// The client's address.
    pub yiaddr: Ipv4Addr,
    /// The relay's address.
    pub giaddr: Ipv4Addr,
    /// The first six octets of `chaddr`.
    pub mac: [u8; 6],
    /// Option 53; 0 when missing.
    pub kind: u8,
    /// Option 54.
    pub server: Option<Ipv4Addr>,
    /// Option 51, seconds.
    pub lease_time_s: Option<u32>,
    /// Option 61.
    pub client_id: Option<&'a [u8]>,
}

/// What can be wrong with an answer that belongs to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `op` is not BOOTREPLY.
    Op,
    /// Hardware type or length differ from the client's.
    Hardware,
    /// The relay address is not ours.
    Relay,
    /// Not the message type that this stage expects.
    Kind,
    /// No address, or 0.0.0.0.
    NoAddress,
    /// The ACK's address is not the offered one.
    AddressChanged,
    /// No server identifier.
    NoServer,
    /// The ACK's server identifier is not the offer's.
    ServerChanged,
    /// No lease time.
    NoLeaseTime,
}

impl Fault {
    /// All faults, by [`Fault::index`].
    pub const ALL: [Self; 9] = [
        Self::Op,
        Self::Hardware,
        Self::Relay,
        Self::Kind,
        Self::NoAddress,
        Self::AddressChanged,
        Self::NoServer,
        Self::ServerChanged,
        Self::NoLeaseTime,
    ];

    /// Position in [`Fault::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Hardware => "hardware",
            Self::Relay => "relay",
            Self::Kind => "message_type",
            Self::NoAddress => "no_address",
            Self::AddressChanged => "address_changed",
            Self::NoServer => "no_server_identifier",
            Self::ServerChanged => "server_identifier_changed",
            Self::NoLeaseTime => "no_lease_time",
        }
    }
}

const COOKIE: [u8; 4] = [0x63, 0x82, 0x53, 0x63];
const OVERLOAD: u8 = 52;

impl<'a> Answer<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    ///
    /// When it is shorter than the fixed part, lacks the magic cookie, or has an option that runs
    /// past its end.
    pub fn read(octets: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, options) = octets.split_first_chunk::<240>().ok_or(Malformed)?;
        if fixed[236..] != COOKIE {
            return Err(Malformed);
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

    /// Reads one options field up to its end option; returns the value of option 52.
    fn read_options(&mut self, field: &'a [u8]) -> Result<u8, Malformed> {
        let mut reader = Reader::new(field);
        let mut overload = 0;
        while let Some(code) = reader.u8() {
            match code {
                0 => continue,
                255 => break,
                _ => {}
            }
            let len = reader.u8().ok_or(Malformed)?;
            let value = reader.take(usize::from(len)).ok_or(Malformed)?;
            match code {
                51 => self.lease_time_s = value.try_into().ok().map(u32::from_be_bytes),
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

    /// True when the answer names the client with this hardware address: in `chaddr`, and in the
    /// client identifier (RFC 6842) where one is echoed.
    #[must_use]
    pub fn names(&self, mac: [u8; 6]) -> bool {
        let is_own_id = |id: &[u8]| id.split_first() == Some((&1, &mac));
        self.mac == mac && self.client_id.is_none_or(is_own_id)
    }

    /// What every answer from a server to the relay `giaddr` must satisfy.
    ///
    /// # Errors
    ///
    /// The first fault found.
    pub fn check_header(&self, giaddr: Ipv4Addr) -> Result<(), Fault> {
        let faults = [
            (self.op != 2, Fault::Op),
            (self.hardware != (1, 6), Fault::Hardware),
            (self.giaddr != giaddr, Fault::Relay),
        ];
        faults.into_iter().find(|&(holds, _)| holds).map_or(Ok(()), |(_, fault)| Err(fault))
    }

    /// What an OFFER or ACK must carry (RFC 2131 table 3): returns address, server and lease time.
    ///
    /// # Errors
    ///
    /// The first fault found.
    pub fn lease(&self) -> Result<(Ipv4Addr, Ipv4Addr, u32), Fault> {
        if self.yiaddr.is_unspecified() {
            return Err(Fault::NoAddress);
        }
        let server = self.server.ok_or(Fault::NoServer)?;
        Ok((self.yiaddr, server, self.lease_time_s.ok_or(Fault::NoLeaseTime)?))
    }
}
