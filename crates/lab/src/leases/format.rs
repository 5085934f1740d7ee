//! Parser of servers' lease files and of the generator's lists of leases, line by line.

use std::net::IpAddr;

use crate::family::AddressFamily;

/// Address or delegated prefix in a server's lease file or the generator's list, with its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LeaseFileEntry {
    pub(super) address: IpAddr,
    /// Length of the leased prefix in bits; 32 or 128 for an address.
    pub(super) prefix_len: u8,
    /// Identifier of the lease's owner: for DHCPv4 the hardware address; for DHCPv6 the DUID
    /// followed by the four bytes of the IAID.
    pub(super) owner: Box<[u8]>,
}

impl LeaseFileEntry {
    /// Formats the lease as a line of the generator's list, without the prefix length and type that
    /// the address implies.
    pub(super) fn show(&self) -> String {
        let octets = |octets: &[u8]| {
            let hex: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            hex.join(":")
        };
        match (self.address, self.owner.split_last_chunk()) {
            (IpAddr::V6(address), Some((duid, iaid))) => {
                let iaid = u32::from_be_bytes(*iaid);
                format!("{address}/{},{},{iaid}", self.prefix_len, octets(duid))
            }
            (address, _) => format!("{address},{}", octets(&self.owner)),
        }
    }
}

/// Format of a server's lease file or of the generator's list of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseLineFormat {
    /// List that the generator writes: `address,mac` or `address,prefix_len,lease_type,duid,iaid`.
    List,
    /// Lease file of Kea in CSV: for DHCPv4 address and hardware address are the first two columns.
    Kea,
    /// Lease file of ISC dhcpd, dhcpd.leases(5).
    Dhcpd,
    /// Lease file of dnsmasq: `expiry MAC ADDRESS host client-id`, or `expiry IAID ADDRESS host
    /// DUID`.
    Dnsmasq,
}

/// Parser of one lease file of a server or one list of the generator.
#[derive(Debug)]
pub(super) struct LeaseLineParser {
    format: LeaseLineFormat,
    version: AddressFamily,
    block: Block,
}

impl LeaseLineParser {
    pub(super) fn new(format: LeaseLineFormat, version: AddressFamily) -> Self {
        Self { format, version, block: Block::default() }
    }

    /// Returns the lease that ends with `line`; `None` for headings and rows cut off in the middle.
    pub(super) fn parse_line(&mut self, line: &str) -> Option<LeaseFileEntry> {
        match (self.format, self.version) {
            (LeaseLineFormat::List | LeaseLineFormat::Kea, AddressFamily::V4) => two_columns(line),
            (LeaseLineFormat::List, AddressFamily::V6) => columns_v6(line, [0, 1, 2, 3, 4]),
            (LeaseLineFormat::Kea, AddressFamily::V6) => columns_v6(line, [0, 8, 6, 1, 7]),
            (LeaseLineFormat::Dhcpd, _) => self.block.parse_line(line),
            (LeaseLineFormat::Dnsmasq, version) => dnsmasq(line, version),
        }
    }
}

fn two_columns(line: &str) -> Option<LeaseFileEntry> {
    let (address, rest) = line.split_once(',')?;
    v4(address.trim(), rest.split([',', '\n']).next()?.trim())
}

/// Parses a DHCPv6 lease from the columns at the positions of address, prefix length, lease type,
/// DUID and IAID. Another column or the line's end must follow, as the last number may be cut off.
fn columns_v6(line: &str, positions: [usize; 5]) -> Option<LeaseFileEntry> {
    let columns: Vec<&str> = line.strip_suffix('\n')?.split(',').collect();
    let [address, length, kind, duid, iaid] = positions.map(|at| columns.get(at).copied());
    let (address, iaid) = (address?.parse().ok()?, iaid?.parse().ok()?);
    let prefix_len = if kind? == "0" { 128 } else { length?.parse().ok()? };
    Some(v6(address, prefix_len, parse_octets(duid?)?, iaid))
}

/// Parses a lease from a whole line of dnsmasq's lease file; `None` for leases of another family
/// (DHCPv4, DHCPv6) than `version`.
fn dnsmasq(line: &str, version: AddressFamily) -> Option<LeaseFileEntry> {
    let words: Vec<&str> = line.strip_suffix('\n')?.split(' ').collect();
    let &[_, first, address, _, last] = words.as_slice() else { return None };
    match version {
        AddressFamily::V4 => v4(address, first),
        AddressFamily::V6 => {
            let address = address.parse().ok().filter(IpAddr::is_ipv6)?;
            Some(v6(address, 128, parse_octets(last)?, first.parse().ok()?))
        }
    }
}

fn v4(address: &str, mac: &str) -> Option<LeaseFileEntry> {
    let address = address.parse().ok().filter(IpAddr::is_ipv4)?;
    let owner = parse_octets(mac).filter(|mac| mac.len() == 6)?;
    Some(LeaseFileEntry { address, prefix_len: 32, owner: owner.into() })
}

fn v6(address: IpAddr, prefix_len: u8, mut duid: Vec<u8>, iaid: u32) -> LeaseFileEntry {
    duid.extend_from_slice(&iaid.to_be_bytes());
    LeaseFileEntry { address, prefix_len, owner: duid.into() }
}

/// Parses bytes in hexadecimal digits, with or without colons between them.
fn parse_octets(text: &str) -> Option<Vec<u8>> {
    let mut digits = text.bytes().filter(|&octet| octet != b':');
    let mut octets = Vec::with_capacity(text.len().div_ceil(2));
    while let Some(high) = digits.next() {
        octets.push(hex_digit(high)? << 4 | hex_digit(digits.next()?)?);
    }
    (!octets.is_empty()).then_some(octets)
}

fn hex_digit(octet: u8) -> Option<u8> {
    // A digit is less than 16.
    char::from(octet).to_digit(16).map(|digit| digit as u8)
}

/// Block of dhcpd.leases(5), the lines of one lease, as far as it has been read, one statement per
/// line: `lease ADDRESS { binding state active; hardware ethernet MAC; }`, or `ia-na "IAID and
/// DUID" { iaaddr ADDRESS { binding state active; } }`, and likewise with `ia-pd` and `iaprefix`.
#[derive(Debug, Default)]
struct Block {
    address: Option<(IpAddr, u8)>,
    owner: Option<Vec<u8>>,
    is_active: bool,
}

impl Block {
    /// Reads a line of a block of dhcpd.leases(5); at the end of the block returns its lease, if
    /// that is active.
    fn parse_line(&mut self, line: &str) -> Option<LeaseFileEntry> {
        let line = line.trim();
        let opened = |name: &str| line.strip_prefix(name)?.strip_suffix(" {");
        if let Some(address) = opened("lease ") {
            *self = Self { address: parse_prefix(address), ..Self::default() };
        } else if let Some(rest) = line.strip_prefix("hardware ethernet ") {
            self.owner = rest.strip_suffix(';').and_then(parse_octets);
        } else if let Some(identity) = opened("ia-na ").or_else(|| opened("ia-pd ")) {
            *self = Self { owner: identity_association(identity), ..Self::default() };
        } else if let Some(address) = opened("iaaddr ").or_else(|| opened("iaprefix ")) {
            (self.address, self.is_active) = (parse_prefix(address), false);
        } else if line == "binding state active;" {
            self.is_active = true;
        } else if line == "}" {
            let (address, prefix_len) = self.address.take()?;
            let owner = self.owner.clone()?.into();
            return self.is_active.then_some(LeaseFileEntry { address, prefix_len, owner });
        }
        None
    }
}

fn parse_prefix(text: &str) -> Option<(IpAddr, u8)> {
    match text.split_once('/') {
        Some((address, length)) => Some((address.parse().ok()?, length.parse().ok()?)),
        None => {
            let address: IpAddr = text.parse().ok()?;
            Some((address, if address.is_ipv4() { 32 } else { 128 }))
        }
    }
}

/// Returns the DUID followed by the IAID from the quoted text of `ia-na` in dhcpd.leases(5), where
/// the IAID comes first, in the machine's own byte order.
fn identity_association(quoted: &str) -> Option<Vec<u8>> {
    let octets = unescape(quoted.strip_prefix('"')?.strip_suffix('"')?)?;
    let (iaid, duid) = octets.split_first_chunk()?;
    let mut owner = duid.to_vec();
    owner.extend_from_slice(&u32::from_ne_bytes(*iaid).to_be_bytes());
    Some(owner)
}

/// Decodes escapes of dhcpd.leases(5): `\ooo` is a byte in octal digits, `\` before another
/// character is that character.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            octets.push(first);
        } else if let Some(digits) = after.get(..3).filter(|d| d.iter().all(u8::is_ascii_digit)) {
            octets.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?);
            rest = &after[3..];
        } else {
            let (&character, after) = after.split_first()?;
            octets.push(character);
            rest = after;
        }
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leases_in(format: LeaseLineFormat, version: AddressFamily, text: &str) -> Vec<String> {
        let mut lines = LeaseLineParser::new(format, version);
        text.split_inclusive('\n')
            .filter_map(|line| lines.parse_line(line))
            .map(|lease| lease.show())
            .collect()
    }

    #[test]
    fn blocks_of_dhcpd_count_when_they_are_whole_and_active() {
        let text = "# The format of this file is documented in the dhcpd.leases(5) manual page.\n\
            authoring-byte-order little-endian;\n\n\
            lease 10.1.0.9 {\n  starts 6 2026/11/21 22:44:01;\n  binding state active;\n  \
            next binding state free;\n  hardware ethernet 02:00:00:00:00:01;\n  \
            uid \"\\001\\002\";\n}\n\
            lease 10.1.0.8 {\n  binding state free;\n  next binding state active;\n  \
            hardware ethernet 02:00:00:00:00:02;\n}\n\
            lease 10.1.0.7 {\n  binding state active;\n}\n\
            lease 10.1.0.6 {\n  binding state active;\n  hardware ethernet 02:00:00:00:00:03;\n";
        let leases = leases_in(LeaseLineFormat::Dhcpd, AddressFamily::V4, text);
        assert_eq!(leases, ["10.1.0.9,02:00:00:00:00:01"]);
    }

    #[test]
    fn blocks_of_dhcpd_for_dhcpv6_are_read_too() {
        // Written by dhcpd 4.4.3-P1 for a client of perfdhcp, then made inactive and cut off.
        let block = "ia-na \"\\001\\000\\000\\000\\000\\001\\000\\0012\\224\\351\\024\\000\\014\\001\
            \\002\\003\\004\" {\n  cltt 6 2026/11/21 23:43:16;\n  iaaddr 2001:db8::1:3c:f713 {\n    \
            binding state active;\n    preferred-life 3600;\n    max-life 3600;\n    \
            ends 0 2026/11/22 00:43:16;\n  }\n}\n";
        let one = "2001:db8::1:3c:f713/128,00:01:00:01:32:94:e9:14:00:0c:01:02:03:04,1";
        let text = format!(
            "server-duid \"\\000\\001\";\n{block}{}{}",
            block.replace("active", "expired"),
            &block[..block.len() - 6]
        );
        if cfg!(target_endian = "little") {
            assert_eq!(leases_in(LeaseLineFormat::Dhcpd, AddressFamily::V6, &text), [one]);
            let prefix = block.replace("ia-na", "ia-pd");
            let prefix = prefix.replace("iaaddr 2001:db8::1:3c:f713", "iaprefix 2001:db8:7::/56");
            let leases = leases_in(LeaseLineFormat::Dhcpd, AddressFamily::V6, &prefix);
            assert!(leases[0].starts_with("2001:db8:7::/56,00:01:"), "{leases:?}");
        }
        assert_eq!(unescape("a\\\"\\\\2\\0412").unwrap(), b"a\"\\2!2");
        assert_eq!(unescape("a\\"), None);
    }

    #[test]
    fn lines_of_dnsmasq_count_when_they_are_whole_and_of_the_family() {
        let text = "1795300000 02:00:00:00:00:01 10.1.0.9 * 01:02:00:00:00:00:01\n\
            duid 00:01:00:01:32:94:e9:22:52:95:48:35:12:43\n\
            1795308214 1 2001:db8::1:d:1581 * 00:01:00:01:32:94:e9:24:00:0c:01:02:03:17\n\n";
        let leases = leases_in(LeaseLineFormat::Dnsmasq, AddressFamily::V4, text);
        assert_eq!(leases, ["10.1.0.9,02:00:00:00:00:01"]);
        let leases = leases_in(LeaseLineFormat::Dnsmasq, AddressFamily::V6, text);
        let one = "2001:db8::1:d:1581/128,00:01:00:01:32:94:e9:24:00:0c:01:02:03:17,1";
        assert_eq!(leases, [one]);
        for version in [AddressFamily::V4, AddressFamily::V6] {
            let cut = text.lines().next_back().unwrap_or_default();
            assert!(leases_in(LeaseLineFormat::Dnsmasq, version, cut).is_empty());
        }
    }

    #[test]
    fn rows_of_kea_and_of_the_generator_are_the_same_leases() {
        let rows = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,\
            prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source\n\
            2001:db8::1:0:5,00:03:00:01:02:67,3600,1795308214,1,3600,0,7,128,0,0,,,0,,,\n\
            2001:db8:8::,00:03:00:01:02:67,3600,1795308214,1,3600,2,7,56,0,0,,,0,,,\n\
            2001:db8:9::,00:03:00:01:02:67,3600,1795308214,1,3600,2,7,5";
        let list = "2001:db8::1:0:5,128,0,00:03:00:01:02:67,7\n\
            2001:db8:8::,56,2,000300010267,7\n\
            2001:db8:9::,56,2,000300010267,";
        let leases = leases_in(LeaseLineFormat::Kea, AddressFamily::V6, rows);
        assert_eq!(leases, leases_in(LeaseLineFormat::List, AddressFamily::V6, list));
        assert_eq!(
            leases,
            ["2001:db8::1:0:5/128,00:03:00:01:02:67,7", "2001:db8:8::/56,00:03:00:01:02:67,7"]
        );
    }
}
