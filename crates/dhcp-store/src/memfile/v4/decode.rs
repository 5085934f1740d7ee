//! Rows in: one line of text as a lease, or the reason why it is none.

use std::fmt;
use std::net::Ipv4Addr;

use dhcp_lease::identity::HARDWARE_ADDRESS_MAX;
use dhcp_lease::v4::{Lease, LeaseState};
use dhcp_lease::{ClientId, HardwareAddress};

use super::columns::Header;

/// Why a row is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFault {
    /// Octets that no lease file has: left by a crash of the machine in what was never flushed.
    Rubbish,
    /// Too few or too many values.
    ValueCount,
    /// The value of this column cannot be read.
    Value(&'static str),
    /// Neither hardware address nor client identifier, and not declined.
    NoClient,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rubbish => f.write_str("rubbish, as a power failure leaves it"),
            Self::ValueCount => f.write_str("number of values does not go with the header"),
            Self::Value(column) => write!(f, "cannot read {column}"),
            Self::NoClient => f.write_str("neither hwaddr nor client_id, and not declined"),
        }
    }
}

/// Reads the line of a file with this `header`, given without its line end. Rows may have fewer
/// values than the header names columns beyond the hostname, or more as far as they are known:
/// two versions of Kea may have taken turns on the file.
///
/// # Errors
///
/// The first fault met.
pub fn parse_row(line: &[u8], header: Header) -> Result<Lease, RowFault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Kea 2.2 writes control characters of a host name as they are, but never a zero.
    if line.contains(&0) {
        return Err(RowFault::Rubbish);
    }
    parse_text(line, header).map_err(|fault| match fault {
        _ if line.iter().any(|&octet| octet < 0x20 && octet != b'\t') => RowFault::Rubbish,
        fault => fault,
    })
}

fn parse_text(line: &[u8], header: Header) -> Result<Lease, RowFault> {
    let mut values = line.split(|&octet| octet == b',');
    let mut next = |column: &'static str| Value { text: values.next(), column };
    let address = next("address").address()?;
    let hardware = next("hwaddr").colon_hex()?;
    let client_id = next("client_id").colon_hex()?;
    let valid_lifetime_s = next("valid_lifetime").number()?;
    let expire_s: u64 = next("expire").number()?;
    let subnet_id = next("subnet_id").number()?;
    let fqdn_fwd = next("fqdn_fwd").flag()?;
    let fqdn_rev = next("fqdn_rev").flag()?;
    let hostname = next("hostname").hostname()?;
    let state = next("state").or("0").state()?;
    let user_context = next("user_context").or("").json()?;
    let pool_id = next("pool_id").or("0").number()?;
    if values.count() + 12 > header.most_values() {
        return Err(RowFault::ValueCount);
    }
    if hardware.octets().len() > HARDWARE_ADDRESS_MAX {
        return Err(RowFault::Value("hwaddr"));
    }
    if hardware.is_empty() && client_id.is_empty() && state != LeaseState::Declined {
        return Err(RowFault::NoClient);
    }
    Ok(Lease {
        address,
        hardware: match hardware.octets() {
            [] => HardwareAddress::default(),
            octets => HardwareAddress::new(1, octets),
        },
        client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id.octets())),
        valid_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        fqdn_fwd,
        fqdn_rev,
        hostname: hostname.to_ascii_lowercase().into_boxed_str(),
        state,
        user_context: user_context.into_boxed_str(),
        pool_id,
    })
}

/// Octets of an identity: at most 255.
struct Octets {
    octets: [u8; 255],
    len: usize,
}

impl Octets {
    fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// One value of a row; `None` when the row has ended before.
#[derive(Clone, Copy)]
struct Value<'a> {
    text: Option<&'a [u8]>,
    column: &'static str,
}

impl<'a> Value<'a> {
    fn or(self, default: &'a str) -> Self {
        Self { text: Some(self.text.unwrap_or(default.as_bytes())), ..self }
    }

    const fn fault(self) -> RowFault {
        RowFault::Value(self.column)
    }

    fn octets(self) -> Result<&'a [u8], RowFault> {
        self.text.ok_or(RowFault::ValueCount)
    }

    fn address(self) -> Result<Ipv4Addr, RowFault> {
        let text = self.octets()?;
        let text = std::str::from_utf8(text).map_err(|_| self.fault())?;
        text.parse().map_err(|_| self.fault())
    }

    fn number<T: TryFrom<u64>>(self) -> Result<T, RowFault> {
        let text = self.octets()?;
        if text.is_empty() {
            return Err(self.fault());
        }
        let mut value: u64 = 0;
        for &digit in text {
            if !digit.is_ascii_digit() {
                return Err(self.fault());
            }
            let more =
                value.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(digit - b'0')));
            value = more.ok_or_else(|| self.fault())?;
        }
        T::try_from(value).map_err(|_| self.fault())
    }

    fn flag(self) -> Result<bool, RowFault> {
        match self.octets()? {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.fault()),
        }
    }

    fn state(self) -> Result<LeaseState, RowFault> {
        LeaseState::from_number(self.number()?).ok_or_else(|| self.fault())
    }

    /// Octets of one or two digits, parted by colons.
    fn colon_hex(self) -> Result<Octets, RowFault> {
        let text = self.octets()?;
        let mut octets = Octets { octets: [0; 255], len: 0 };
        if text.is_empty() {
            return Ok(octets);
        }
        for digits in text.split(|&octet| octet == b':') {
            let value = match *digits {
                [low] => hex_digit(low),
                [high, low] => hex_digit(high).zip(hex_digit(low)).map(|(h, l)| h << 4 | l),
                _ => None,
            };
            let slot = octets.octets.get_mut(octets.len).ok_or_else(|| self.fault())?;
            *slot = value.ok_or_else(|| self.fault())?;
            octets.len += 1;
        }
        Ok(octets)
    }

    fn unescaped(self) -> Result<String, RowFault> {
        let text = self.octets()?;
        if !text.contains(&b'&') {
            return Ok(String::from_utf8_lossy(text).into_owned());
        }
        let mut octets = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((&first, after)) = rest.split_first() {
            let escape = rest.strip_prefix(b"&#x").and_then(|digits| {
                let (&[high, low], after) = digits.split_first_chunk::<2>()?;
                Some((hex_digit(high)? << 4 | hex_digit(low)?, after))
            });
            let (octet, after) = escape.unwrap_or((first, after));
            octets.push(octet);
            rest = after;
        }
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    /// At most as long as a name can be (RFC 1035 §2.3.4).
    fn hostname(self) -> Result<String, RowFault> {
        let name = self.unescaped()?;
        if name.len() <= 255 { Ok(name) } else { Err(self.fault()) }
    }

    fn json(self) -> Result<String, RowFault> {
        let text = self.unescaped()?;
        if text.is_empty() || text.trim_start().starts_with('{') {
            Ok(text)
        } else {
            Err(self.fault())
        }
    }
}

const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Columns;
    use super::super::encode::{encode_row, row_of};
    use super::*;

    const HEADER: Header = Header { columns: Columns::NEWEST, unknown: 0 };

    fn parse(line: &str) -> Result<Lease, RowFault> {
        parse_row(line.as_bytes(), HEADER)
    }

    /// Rows and verdicts of kea-lfc 2.2.0, but where the comment says otherwise.
    #[test]
    fn rows_are_judged_as_kea_judges_them() {
        let good = [
            "10.0.0.1,02:00:00:00:00:01,,3600,1795297386,7,0,1,a&#x2cb&#x26c&#xff,0,{ \"a\": \"x&#x2cy\" },5",
            "10.0.0.2,,01:02,3600,1795297386,7,0,1,,1,,5",
            "10.0.0.4,,01:02:03,3600,1795297386,7,1,1,nohw,0,,5",
            "10.0.0.6,02:00:00:00:00:01,,3600,1795297386,7,0,1,neg,0,",
            "10.0.0.7,02:00:00:00:00:01,,3600,1795297386,7,0,1,\"quo\"\"ted\",0,,0",
            "10.0.0.9,2:0:0:0:0:1,,3600,1795297386,7,0,1,x,0,,0",
            "10.0.0.7,3a:35:c9:8c:7f:49,,60,1800027019,1709558924,1,1,x\u{1}\u{7f}y,0,",
            "10.0.0.16,02:00:00:00:00:01,,3600,1795297386,7,0,1,CR,0,,0\r",
        ];
        for line in good {
            parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        }
        let long_name = format!("10.0.0.1,02:00,,3600,1795297386,7,0,1,{},0,,0", "x".repeat(256));
        let bad = [
            ("10.0.0.5,,,3600,1795297386,7,1,1,nohw,2,,5", RowFault::NoClient),
            ("10.0.0.8,02-00,,3600,1795297386,7,1,1,x,0,,0", RowFault::Value("hwaddr")),
            ("10.0.0.10,020000000001,0102,3600,1,7,0,1,x,9,,0", RowFault::Value("hwaddr")),
            ("10.0.0.11,02:00,,3600, 1795297386,7,0,1,x,0,,0", RowFault::Value("expire")),
            ("10.0.0.12,02:00,,3600,1795297386,7,0,1,x,0,null,0", RowFault::Value("user_context")),
            // Kea takes this for an infinite lifetime.
            ("10.0.0.14,02:00,,-1,1795297386,7,0,1,x,0,,0", RowFault::Value("valid_lifetime")),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1", RowFault::ValueCount),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1,x,0,,0,0", RowFault::ValueCount),
            (long_name.as_str(), RowFault::Value("hostname")),
            ("10.0.0.15\0,02:00,,3600,1795297386,7,0,1,x,0,,0", RowFault::Rubbish),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1,x,0,,4294967296", RowFault::Value("pool_id")),
        ];
        for (line, fault) in bad {
            assert_eq!(parse(line), Err(fault), "{line}");
        }
    }

    #[test]
    fn every_value_is_read() {
        let lease = parse(
            "10.0.0.1,02:00:00:00:00:0a,01:aB,4294967295,6090261088,7,0,1,A&#x2cb&#xzz,3,{ \"a\": 1 },5",
        );
        let expected = Lease {
            address: Ipv4Addr::new(10, 0, 0, 1),
            hardware: HardwareAddress::new(1, &[2, 0, 0, 0, 0, 10]),
            client_id: Some(ClientId::new(&[1, 0xab])),
            valid_lifetime_s: u32::MAX,
            cltt_s: 1_795_293_793,
            subnet_id: 7,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "a,b&#xzz".into(),
            state: LeaseState::Released,
            user_context: "{ \"a\": 1 }".into(),
            pool_id: 5,
        };
        assert_eq!(lease, Ok(expected));
    }

    #[test]
    fn a_row_survives_writing_and_reading() {
        let mut random = base::Random::from_seed(5);
        for _ in 0..500 {
            let mut octets = [0; 255];
            random.fill(&mut octets);
            let client_id = &octets[..random.below(256) as usize];
            let lease = Lease {
                address: Ipv4Addr::from_bits(random.next_u32()),
                hardware: HardwareAddress::new(1, &octets[..1 + random.below(20) as usize]),
                client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id)),
                valid_lifetime_s: random.next_u32(),
                cltt_s: u64::from(random.next_u32()),
                subnet_id: random.next_u32(),
                fqdn_fwd: random.chance(1, 2),
                fqdn_rev: random.chance(1, 2),
                hostname: String::from_utf8_lossy(&octets[..80]).to_ascii_lowercase().into(),
                state: LeaseState::from_number(random.below(4) as u8).unwrap(),
                user_context: "{ \"name\": \"ä,&\" }".into(),
                pool_id: random.next_u32(),
            };
            let mut line = Vec::new();
            encode_row(&row_of(&lease), Columns::NEWEST, &mut line);
            assert_eq!(parse_row(line.strip_suffix(b"\n").unwrap(), HEADER), Ok(lease));
        }
    }
}
