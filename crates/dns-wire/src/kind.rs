//! Types and classes of DNS records by number and mnemonic (RFC 1035 section 3.2, RFC 3597 section
//! 5, and the registry that RFC 6895 describes).

use core::fmt;
use core::str::FromStr;

/// Type of a DNS record or query ("RRTYPE", "QTYPE").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(pub u16);

/// All DNS record types in IANA's registry ("Resource Record (RR) TYPEs"), as number and mnemonic.
const NAMES: [(u16, &str); 97] = [
    (1, "A"),
    (2, "NS"),
    (3, "MD"),
    (4, "MF"),
    (5, "CNAME"),
    (6, "SOA"),
    (7, "MB"),
    (8, "MG"),
    (9, "MR"),
    (10, "NULL"),
    (11, "WKS"),
    (12, "PTR"),
    (13, "HINFO"),
    (14, "MINFO"),
    (15, "MX"),
    (16, "TXT"),
    (17, "RP"),
    (18, "AFSDB"),
    (19, "X25"),
    (20, "ISDN"),
    (21, "RT"),
    (22, "NSAP"),
    (23, "NSAP-PTR"),
    (24, "SIG"),
    (25, "KEY"),
    (26, "PX"),
    (27, "GPOS"),
    (28, "AAAA"),
    (29, "LOC"),
    (30, "NXT"),
    (31, "EID"),
    (32, "NIMLOC"),
    (33, "SRV"),
    (34, "ATMA"),
    (35, "NAPTR"),
    (36, "KX"),
    (37, "CERT"),
    (38, "A6"),
    (39, "DNAME"),
    (40, "SINK"),
    (41, "OPT"),
    (42, "APL"),
    (43, "DS"),
    (44, "SSHFP"),
    (45, "IPSECKEY"),
    (46, "RRSIG"),
    (47, "NSEC"),
    (48, "DNSKEY"),
    (49, "DHCID"),
    (50, "NSEC3"),
    (51, "NSEC3PARAM"),
    (52, "TLSA"),
    (53, "SMIMEA"),
    (55, "HIP"),
    (56, "NINFO"),
    (57, "RKEY"),
    (58, "TALINK"),
    (59, "CDS"),
    (60, "CDNSKEY"),
    (61, "OPENPGPKEY"),
    (62, "CSYNC"),
    (63, "ZONEMD"),
    (64, "SVCB"),
    (65, "HTTPS"),
    (66, "DSYNC"),
    (67, "HHIT"),
    (68, "BRID"),
    (99, "SPF"),
    (100, "UINFO"),
    (101, "UID"),
    (102, "GID"),
    (103, "UNSPEC"),
    (104, "NID"),
    (105, "L32"),
    (106, "L64"),
    (107, "LP"),
    (108, "EUI48"),
    (109, "EUI64"),
    (128, "NXNAME"),
    (249, "TKEY"),
    (250, "TSIG"),
    (251, "IXFR"),
    (252, "AXFR"),
    (253, "MAILB"),
    (254, "MAILA"),
    (255, "ANY"),
    (256, "URI"),
    (257, "CAA"),
    (258, "AVC"),
    (259, "DOA"),
    (260, "AMTRELAY"),
    (261, "RESINFO"),
    (262, "WALLET"),
    (263, "CLA"),
    (264, "IPN"),
    (32_768, "TA"),
    (32_769, "DLV"),
];

impl RecordType {
    /// DNS record type A (RFC 1035): an IPv4 address.
    pub const A: Self = Self(1);
    /// DNS record type CNAME (RFC 1035): the name for which the record's owner is an alias.
    pub const CNAME: Self = Self(5);
    /// DNS record type SOA (RFC 1035): the start of a zone.
    pub const SOA: Self = Self(6);
    /// DNS record type MX (RFC 1035): a host that accepts mail for the domain.
    pub const MX: Self = Self(15);
    /// DNS record type TXT (RFC 1035): text.
    pub const TXT: Self = Self(16);
    /// DNS record type AAAA (RFC 3596): an IPv6 address.
    pub const AAAA: Self = Self(28);
    /// DNS record type OPT: the pseudo-record of EDNS (RFC 6891).
    pub const OPT: Self = Self(41);
    /// DNS record type HTTPS: access data of a web server (RFC 9460).
    pub const HTTPS: Self = Self(65);
}

impl fmt::Display for RecordType {
    /// Writes the mnemonic of the record type, or `TYPE` and the number (RFC 3597 section 5).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "TYPE{}", self.0),
        }
    }
}

impl FromStr for RecordType {
    type Err = &'static str;

    /// Parses a record type from a mnemonic in any case, `*`, or `TYPE` and a number.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(Self(255));
        }
        if let Some((number, _)) = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)) {
            return Ok(Self(*number));
        }
        let digits = text.split_at_checked(4).filter(|(head, _)| head.eq_ignore_ascii_case("TYPE"));
        let number = digits.and_then(|(_, digits)| digits.parse().ok());
        number
            .map(Self)
            .ok_or("invalid record type: must be a mnemonic like AAAA, or TYPE and a number")
    }
}

/// Class of DNS records or queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordClass(pub u16);

impl RecordClass {
    /// DNS class IN (RFC 1035), the Internet.
    pub const INTERNET: Self = Self(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_and_numbers_go_both_ways() {
        assert_eq!("nsap-ptr".parse(), Ok(RecordType(23)));
        for number in 0..=u16::MAX {
            assert_eq!(RecordType(number).to_string().parse(), Ok(RecordType(number)));
        }
        assert_eq!("aaaa".parse(), Ok(RecordType::AAAA));
        assert_eq!("type65280".parse(), Ok(RecordType(65_280)));
        assert_eq!("*".parse(), "ANY".parse::<RecordType>());
        for wrong in ["", "TYPE", "TYPE65536", "TYPE-1", "AAAAA", "28"] {
            assert!(wrong.parse::<RecordType>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_table_ascends() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
