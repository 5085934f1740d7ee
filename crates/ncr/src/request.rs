//! Name change requests as values, and as datagrams.

use core::fmt::{self, Write};
use core::net::IpAddr;

use base::CivilTime;
use serde_json::Value;

use crate::dhcid::Dhcid;
use crate::name::UpdateName;

/// Length of the length in front of the JSON text, in bytes.
const PREFIX_LEN: usize = 2;
/// Text in place of that length until it is known.
const PREFIX_ROOM: &str = "\0\0";
/// Length that few datagrams exceed, in bytes.
const USUAL_LEN: usize = 512;

/// Kind of change that a name change request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameChangeKind {
    /// Addition of the records of a name, with replacement of the client's earlier ones.
    Add,
    /// Removal of the records of a name.
    Remove,
}

impl NameChangeKind {
    /// Returns the number of the change in `change-type`.
    pub const fn number(self) -> u8 {
        match self {
            Self::Add => 0,
            Self::Remove => 1,
        }
    }
}

/// Way in which an updater respects the records that others have under the name (RFC 4703; Kea's
/// `conflict-resolution-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictMode {
    /// The updater changes a name only if it is unused or has the DHCID of the client.
    #[default]
    CheckWithDhcid,
    /// The updater changes a name whatever it has, and adds the DHCID of the client.
    NoCheckWithDhcid,
    /// The updater changes a name only if it is unused or has any DHCID.
    CheckExistsWithDhcid,
    /// The updater changes a name whatever it has, and adds no DHCID.
    NoCheckWithoutDhcid,
}

impl ConflictMode {
    /// All modes.
    pub const ALL: [Self; 4] = [
        Self::CheckWithDhcid,
        Self::NoCheckWithDhcid,
        Self::CheckExistsWithDhcid,
        Self::NoCheckWithoutDhcid,
    ];

    /// Returns the name of the mode in configurations and requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CheckWithDhcid => "check-with-dhcid",
            Self::NoCheckWithDhcid => "no-check-with-dhcid",
            Self::CheckExistsWithDhcid => "check-exists-with-dhcid",
            Self::NoCheckWithoutDhcid => "no-check-without-dhcid",
        }
    }

    /// Returns the mode of a name in configurations and requests.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Request of a DHCP server to a DNS updater: add or remove the records of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameChangeRequest {
    /// Addition or removal.
    pub kind: NameChangeKind,
    /// True if the request is about the record from name to address (A or AAAA).
    pub forward: bool,
    /// True if the request is about the record from address to name (PTR).
    pub reverse: bool,
    /// Name of the client.
    pub name: UpdateName,
    /// Address of the lease.
    pub address: IpAddr,
    /// Identification of the client that owns the name.
    pub dhcid: Dhcid,
    /// Time to live of the records, in seconds (`lease-length`).
    pub ttl_s: u32,
    /// Way in which the updater respects records of others.
    pub conflict_mode: ConflictMode,
}

/// Reason why a datagram is no name change request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcrFault {
    /// Datagram whose length differs from the length in its first two bytes.
    Length,
    /// Text that is no JSON object.
    Json,
    /// Member that is missing.
    Missing(&'static str),
    /// Member of a wrong type or with a wrong value.
    Invalid(&'static str),
    /// Request for neither forward nor reverse records.
    NoDirection,
}

impl fmt::Display for NcrFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => {
                f.write_str("the length in the first two bytes is not that of the JSON")
            }
            Self::Json => f.write_str("the text is no JSON object"),
            Self::Missing(key) => write!(f, "`{key}` is missing"),
            Self::Invalid(key) => write!(f, "`{key}` has an invalid value"),
            Self::NoDirection => {
                f.write_str("`forward-change` and `reverse-change` are both false")
            }
        }
    }
}

impl NameChangeRequest {
    /// Returns the request as Kea sends it: a length of two bytes and a JSON object without spaces,
    /// with its members in Kea's order. `lease-expires-on`, which updaters up to Kea 3.0 require
    /// and none uses, is `now_unix_s` plus the time to live.
    pub fn to_datagram(&self, now_unix_s: u64) -> Vec<u8> {
        let ends_unix_s = now_unix_s.saturating_add(u64::from(self.ttl_s));
        let mut text = String::with_capacity(USUAL_LEN);
        text.push_str(PREFIX_ROOM);
        // A string takes all that is written to it.
        let _ = write!(
            text,
            "{{\"change-type\":{},\"forward-change\":{},\"reverse-change\":{},\"fqdn\":{},\
             \"ip-address\":\"{}\",\"dhcid\":\"{}\",\"lease-expires-on\":\"{}\",\
             \"lease-length\":{},\"conflict-resolution-mode\":\"{}\"}}",
            self.kind.number(),
            self.forward,
            self.reverse,
            Value::from(self.name.to_string()),
            self.address,
            self.dhcid,
            Digits(CivilTime::from_unix_s(i64::try_from(ends_unix_s).unwrap_or(i64::MAX))),
            self.ttl_s,
            self.conflict_mode.name(),
        );
        // A name has at most 1,016 bytes of text and a DHCID that we make 70; a longer one was
        // read from a datagram, whose length fits.
        let mut datagram = text.into_bytes();
        datagram.truncate(PREFIX_LEN + usize::from(u16::MAX));
        let len = (datagram.len() - PREFIX_LEN) as u16;
        datagram[..PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
        datagram
    }

    /// Reads a request from a datagram. As in Kea, bytes after the announced length and unknown
    /// members are ignored, and `use-conflict-resolution` counts if `conflict-resolution-mode` is
    /// missing.
    ///
    /// # Errors
    ///
    /// The first reason why the datagram is no request.
    pub fn from_datagram(datagram: &[u8]) -> Result<Self, NcrFault> {
        let (prefix, rest) = datagram.split_first_chunk::<PREFIX_LEN>().ok_or(NcrFault::Length)?;
        let len = usize::from(u16::from_be_bytes(*prefix));
        Self::from_json(rest.get(..len).ok_or(NcrFault::Length)?)
    }

    /// Reads a request from its JSON text, as [`NameChangeRequest::from_datagram`] does.
    ///
    /// # Errors
    ///
    /// The first reason why the text is no request.
    pub fn from_json(text: &[u8]) -> Result<Self, NcrFault> {
        let value = serde_json::from_slice(text)
            .or_else(|_| serde_json::from_slice(&double_backslashes(text)))
            .map_err(|_| NcrFault::Json)?;
        let members = Members(&value);
        let kind = match members.integer("change-type")? {
            0 => NameChangeKind::Add,
            1 => NameChangeKind::Remove,
            _ => return Err(NcrFault::Invalid("change-type")),
        };
        let request = Self {
            kind,
            forward: members.boolean("forward-change")?,
            reverse: members.boolean("reverse-change")?,
            name: members.parsed("fqdn", UpdateName::from_text)?,
            address: members.parsed("ip-address", |text| text.parse().ok())?,
            dhcid: members.parsed("dhcid", read_dhcid)?,
            ttl_s: u32::try_from(members.integer("lease-length")?)
                .map_err(|_| NcrFault::Invalid("lease-length"))?,
            conflict_mode: members.conflict_mode()?,
        };
        if request.forward || request.reverse { Ok(request) } else { Err(NcrFault::NoDirection) }
    }
}

/// Members of the JSON object of a request.
struct Members<'v>(&'v Value);

impl<'v> Members<'v> {
    fn get(&self, key: &'static str) -> Result<&'v Value, NcrFault> {
        let object = self.0.as_object().ok_or(NcrFault::Json)?;
        object.get(key).ok_or(NcrFault::Missing(key))
    }

    fn integer(&self, key: &'static str) -> Result<i64, NcrFault> {
        self.get(key)?.as_i64().ok_or(NcrFault::Invalid(key))
    }

    fn boolean(&self, key: &'static str) -> Result<bool, NcrFault> {
        self.get(key)?.as_bool().ok_or(NcrFault::Invalid(key))
    }

    fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, NcrFault> {
        self.get(key)?.as_str().and_then(parse).ok_or(NcrFault::Invalid(key))
    }

    fn conflict_mode(&self) -> Result<ConflictMode, NcrFault> {
        const OLD: &str = "use-conflict-resolution";
        match self.parsed("conflict-resolution-mode", ConflictMode::from_name) {
            Err(NcrFault::Missing(_)) => match self.boolean(OLD) {
                Ok(true) | Err(NcrFault::Missing(_)) => Ok(ConflictMode::CheckWithDhcid),
                Ok(false) => Ok(ConflictMode::NoCheckWithDhcid),
                Err(fault) => Err(fault),
            },
            mode => mode,
        }
    }
}

/// Reads the hexadecimal digits of a DHCID.
fn read_dhcid(text: &str) -> Option<Dhcid> {
    let digits = text.bytes().map(|digit| char::from(digit).to_digit(16));
    let digits = digits.collect::<Option<Vec<_>>>()?;
    if digits.len() % 2 != 0 {
        return None;
    }
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
    Dhcid::from_bytes(&bytes)
}

/// Returns the JSON text with each backslash doubled that begins no escape of JSON. Kea writes the
/// escapes of a domain name (`\032`) into its JSON as they are.
fn double_backslashes(text: &[u8]) -> Vec<u8> {
    let mut doubled = Vec::with_capacity(text.len() + 16);
    let mut octets = text.iter().copied().peekable();
    while let Some(octet) = octets.next() {
        doubled.push(octet);
        if octet != b'\\' {
            continue;
        }
        match octets.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u') => {
                doubled.extend(octets.next());
            }
            _ => doubled.push(b'\\'),
        }
    }
    doubled
}

/// Date and time of day as 14 digits: `20261126143000`.
struct Digits(CivilTime);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilTime { year, month, day, hour, minute, second } = self.0;
        write!(f, "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = concat!(
        r#"{"change-type":0,"forward-change":true,"reverse-change":false,"#,
        r#""fqdn":"pc.example.com.","ip-address":"10.0.0.100","dhcid":"00010139AF","#,
        r#""lease-expires-on":"20261126143000","lease-length":1333,"#,
        r#""conflict-resolution-mode":"check-exists-with-dhcid"}"#
    );
    /// 2026-11-26 14:30:00 less 1,333 seconds.
    const NOW_UNIX_S: u64 = 1_795_703_400 - 1_333;

    fn request() -> NameChangeRequest {
        NameChangeRequest {
            kind: NameChangeKind::Add,
            forward: true,
            reverse: false,
            name: UpdateName::from_text("pc.example.com").unwrap(),
            address: "10.0.0.100".parse().unwrap(),
            dhcid: Dhcid::from_bytes(&[0, 1, 1, 0x39, 0xaf]).unwrap(),
            ttl_s: 1_333,
            conflict_mode: ConflictMode::CheckExistsWithDhcid,
        }
    }

    #[test]
    fn a_request_is_written_as_kea_writes_it() {
        let datagram = request().to_datagram(NOW_UNIX_S);
        assert_eq!(datagram[..2], (TEXT.len() as u16).to_be_bytes());
        assert_eq!(core::str::from_utf8(&datagram[2..]).unwrap(), TEXT);
        assert_eq!(NameChangeRequest::from_datagram(&datagram), Ok(request()));
    }

    #[test]
    fn every_request_is_read_as_it_was_written() {
        for kind in [NameChangeKind::Add, NameChangeKind::Remove] {
            for conflict_mode in ConflictMode::ALL {
                for text in [r"a b\.c", "\u{e9}\"\\\\x", "x"] {
                    let request = NameChangeRequest {
                        kind,
                        conflict_mode,
                        name: UpdateName::from_text(text).unwrap(),
                        address: "2001:db8::1".parse().unwrap(),
                        reverse: true,
                        ..request()
                    };
                    let datagram = request.to_datagram(u64::MAX);
                    assert_eq!(NameChangeRequest::from_datagram(&datagram), Ok(request));
                }
            }
        }
    }

    #[test]
    fn faults_are_named() {
        let fault = |from: &str, to: &str| {
            let text = TEXT.replace(from, to);
            assert_ne!(text, TEXT, "{from}");
            NameChangeRequest::from_json(text.as_bytes()).unwrap_err()
        };
        assert_eq!(fault("{", "["), NcrFault::Json);
        assert_eq!(fault(":0,", ":2,"), NcrFault::Invalid("change-type"));
        assert_eq!(fault("true", "false"), NcrFault::NoDirection);
        assert_eq!(fault("true", "1"), NcrFault::Invalid("forward-change"));
        assert_eq!(fault("pc.example.com.", ""), NcrFault::Invalid("fqdn"));
        assert_eq!(fault("10.0.0.100", "10.0.0.256"), NcrFault::Invalid("ip-address"));
        assert_eq!(fault("39AF", "39A"), NcrFault::Invalid("dhcid"));
        assert_eq!(fault("00010139AF", ""), NcrFault::Invalid("dhcid"));
        assert_eq!(fault("1333", "-1"), NcrFault::Invalid("lease-length"));
        assert_eq!(fault("1333", "4294967296"), NcrFault::Invalid("lease-length"));
        assert_eq!(fault("check-", "cheque-"), NcrFault::Invalid("conflict-resolution-mode"));
        assert_eq!(fault("lease-length", "length"), NcrFault::Missing("lease-length"));
        for datagram in [&b""[..], b"\x00", b"\x00\x03{}"] {
            assert_eq!(NameChangeRequest::from_datagram(datagram), Err(NcrFault::Length));
        }
    }

    #[test]
    fn older_senders_are_understood() {
        let mode = |replacement: &str| {
            let text = TEXT
                .replace(r#""lease-expires-on":"20261126143000","#, "")
                .replace(r#","conflict-resolution-mode":"check-exists-with-dhcid""#, replacement);
            NameChangeRequest::from_json(text.as_bytes()).unwrap().conflict_mode
        };
        assert_eq!(mode(""), ConflictMode::CheckWithDhcid);
        let old = r#","use-conflict-resolution":"#;
        assert_eq!(mode(&format!("{old}true")), ConflictMode::CheckWithDhcid);
        assert_eq!(mode(&format!("{old}false")), ConflictMode::NoCheckWithDhcid);
        // Escapes of domain names that Kea does not escape again for JSON.
        let text = TEXT.replace("pc", r"a\032b\.\c");
        let name = NameChangeRequest::from_json(text.as_bytes()).unwrap().name;
        assert_eq!(name.to_string(), r"a\032b\.c.example.com.");
    }
}
